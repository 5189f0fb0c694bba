"""Read tables of scores: tidy tables (model, evaluator, value) and logs (model, task, metric, value)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from goldrank.analysis.meta.logs import COLUMNS as LOG_COLUMNS
from goldrank.analysis.meta.logs import is_log, log_rows
from goldrank.analysis.meta.table import KINDS, ScoreRow, Table
from goldrank.data.collections.records import PlacedRecord, placed_rows
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.checks import find_duplicate, is_missing, is_number
from goldrank.io.column_names import FieldRoles, listing, normal
from goldrank.io.files import PathLike, display_name, is_parquet, read_bytes
from goldrank.io.formats.delimited import table_records
from goldrank.io.formats.json_files import decode
from goldrank.io.formats.parquet import parquet_table

_NEEDED = ("model", "evaluator", "value")
_COLUMNS = (*_NEEDED, "kind", "family")


def read_table(path: PathLike, where: Mapping[str, Sequence[str]] | None = None) -> Table:
    """Read a table from CSV, TSV, JSON(L) or Parquet, compressed or not.

    A tidy table has the columns ``model``, ``evaluator`` and ``value``, and may have ``kind`` (intrinsic or
    downstream) and ``family``. A log table has ``model``, ``task``, ``metric`` and ``value``, and may have
    ``task_type``, ``level``, ``similarity``, ``run_dist_metric``, ``post_processing``, ``model_id`` and ``log``.
    An empty value is missing.

    Args:
        path: the file; "-" is standard input.
        where: the names or patterns, by column, that a row must match to be read.
    """
    name = display_name(path)
    return _table(_records(read_bytes(path), name), where, name)


def table_from(data: Any, where: Mapping[str, Sequence[str]] | None = None) -> Table:
    """Return the table of a data frame or of a list of records, with the columns of `read_table`."""
    rows = data.to_dict("records") if hasattr(data, "to_dict") else list(data)
    if not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            f"{shorten(data)} is not a table of scores", remedy="give a file, a Store, a data frame or a list of dicts"
        )
    records = [(f"row {number}", {str(name): cell for name, cell in row.items()}) for number, row in enumerate(rows)]
    return _table(records, where, "the table")


def _table(written: Iterable[PlacedRecord], where: Mapping[str, Sequence[str]] | None, name: str) -> Table:
    fields = FieldRoles(name)
    records = [(place, _normalised(record, place, fields)) for place, record in written]
    if not records:
        raise InputError("the file holds no rows", where=name, remedy="check that it was written completely")
    conditions = {normal(column): values for column, values in (where or {}).items()}
    selected = _select(records, conditions, name)
    columns = list(records[0][1])
    known = LOG_COLUMNS if is_log(columns) else _COLUMNS
    used = dict.fromkeys(conditions, "where") | {column: column for column in known}
    fields.add(list(fields.roles), {field: used[normal(field)] for field in fields.roles if normal(field) in used})
    if is_log(columns):
        entries = ((place, record, _value(record, place)) for place, record in selected)
        return replace(log_rows(entries, name), reading=fields.reading)
    for needed in _NEEDED:
        if needed not in columns:
            raise InputError(
                f"there is no column {needed} (columns: {listing(columns)})",
                where=f"{name}:1" if records[0][0] == f"{name}:2" else name,
                remedy="name the columns model, evaluator, value; or, in a log table, model, task, metric, value",
            )
    table = Table.of((_row(record, place) for place, record in selected), name)
    return replace(table, reading=fields.reading)


def _normalised(record: Mapping[str, Any], place: str, fields: FieldRoles) -> dict[str, Any]:
    """Return a record under normalised names; its names as they are written are added to *fields*."""
    fields.add(record, {})
    names = [normal(name) for name in record]
    if repeated := find_duplicate(names):
        raise InputError(f"two columns are called {shorten(names[repeated[0]])}", where=place, remedy="rename one")
    return dict(zip(names, record.values(), strict=True))


def _row(record: Mapping[str, Any], place: str) -> ScoreRow:
    kind = _text(record, "kind").lower()
    if kind and kind not in KINDS:
        raise InputError(f"the kind {shorten(kind)} is neither intrinsic nor downstream", where=place, remedy="use one")
    model, evaluator = (_name(record, column, place) for column in ("model", "evaluator"))
    return ScoreRow(model, evaluator, _value(record, place), kind, _text(record, "family"), place=place)


def _name(record: Mapping[str, Any], column: str, place: str) -> str:
    if text := _text(record, column):
        return text
    raise InputError(f"the {column} is missing", where=place, remedy="name it, or drop the row")


def _text(record: Mapping[str, Any], column: str) -> str:
    cell = record.get(column)
    return "" if is_missing(cell) else str(cell).strip()


def _value(record: Mapping[str, Any], place: str) -> float:
    cell = record.get("value")
    if is_missing(cell) or (isinstance(cell, str) and cell.strip().lower() in ("", "nan", "na", "null", "none")):
        return math.nan
    written = str(cell).strip()
    if isinstance(cell, bool) or not is_number(written):
        raise InputError(f"the value {shorten(cell)} is not a number", where=place, remedy="write a decimal number")
    value = float(written)
    if math.isinf(value):
        raise InputError(f"the value {shorten(cell)} is infinite", where=place, remedy="write a decimal number")
    return value


def _select(records: Sequence[PlacedRecord], where: Mapping[str, Sequence[str]], name: str) -> list[PlacedRecord]:
    columns = list(records[0][1])
    for column, wanted in where.items():
        if column not in columns:
            raise unknown_name("column", column, columns, listing(columns), where=name)
        matching = [entry for entry in records if any(_fits(entry[1], column, pattern) for pattern in wanted)]
        if not matching:
            cells = sorted({_text(record, column) for _, record in records})
            raise InputError(
                f"no row has {column}={','.join(wanted)}", where=name, remedy=f"that column holds {listing(cells)}"
            )
        records = matching
    return list(records)


def _fits(record: Mapping[str, Any], column: str, wanted: str) -> bool:
    return _text(record, column) == wanted or fnmatchcase(_text(record, column), wanted)


def _records(data: bytes, name: str) -> Iterable[PlacedRecord]:
    """Return each row with its place."""
    if is_parquet(data):
        return placed_rows(parquet_table(data, name).to_pylist(), name)
    if (text := data.decode()).lstrip()[:1] in ("{", "["):
        return _json(text, name)
    return table_records(data, name, "tsv" if "\t" in text.partition("\n")[0] else "csv")


def _json(text: str, name: str) -> Iterator[PlacedRecord]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and all(line.strip()[0] + line.strip()[-1] == "{}" for _, line in lines[:2]):
        records = [(f"{name}:{number}", decode(line, name, first_line=number)) for number, line in lines]
    else:
        content = decode(text, name, first_line=1)
        listed = content if isinstance(content, list) else [content]
        records = [(f"{name}: record {number}", record) for number, record in enumerate(listed, 1)]
    for place, record in records:
        if not isinstance(record, dict):
            raise InputError(
                f"{shorten(record)} is not a record",
                where=place,
                remedy='write {"model": "…", "evaluator": "…", "value": 0.5}',
            )
        yield place, record
