"""Read tables of scores with the columns model, evaluator and value, or logs with a task and a metric per line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from goldrank.analysis.meta.logs import is_log, log_rows
from goldrank.analysis.meta.table import KINDS, ScoreRow, Table
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.checks import is_missing, is_number
from goldrank.io.column_names import listing, normal
from goldrank.io.files import PathLike, display_name, is_parquet, read_bytes
from goldrank.io.formats.delimited import table_records
from goldrank.io.formats.json_files import decode
from goldrank.io.formats.parquet import parquet_table

# One line of a table with its place.
Record = tuple[str, Mapping[str, Any]]
_NEEDED = ("model", "evaluator", "value")


def read_table(path: PathLike, where: Mapping[str, Sequence[str]] | None = None) -> Table:
    """Read a table from CSV, TSV, JSON(L) or Parquet, compressed or not.

    A tidy table has the columns ``model``, ``evaluator`` and ``value``, and may have ``kind`` (intrinsic or
    downstream) and ``family``. A log table has ``model``, ``task``, ``metric`` and ``value``, and may have
    ``task_type``, ``level``, ``similarity``, ``run_dist_metric``, ``post_processing``, ``model_id`` and ``log``.
    An empty value is a missing one.

    Args:
        path: the file; "-" is standard input.
        where: by column, what its cells must be, as names or patterns; other rows are left out.
    """
    name = display_name(path)
    records = list(_records(read_bytes(path), name))
    if not records:
        raise InputError("the file holds no rows", where=name, remedy="check that it was written completely")
    kept = _kept(records, where or {}, name)
    columns = list(records[0][1])
    if is_log(columns):
        return log_rows(((place, record, _value(record, place)) for place, record in kept), name)
    for needed in _NEEDED:
        if needed not in columns:
            raise InputError(
                f"there is no column {needed} (columns: {listing(columns)})",
                where=f"{name}:1" if records[0][0] == f"{name}:2" else name,
                remedy="name the columns model, evaluator, value; or, in a log table, model, task, metric, value",
            )
    return Table.of((_row(record, place) for place, record in kept), name)


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


def _kept(records: Sequence[Record], where: Mapping[str, Sequence[str]], name: str) -> list[Record]:
    columns = list(records[0][1])
    for column, wanted in where.items():
        if normal(column) not in columns:
            raise unknown_name("column", column, columns, listing(columns), where=name)
        kept = [entry for entry in records if any(_fits(entry[1], normal(column), one) for one in wanted)]
        if not kept:
            there = sorted({_text(record, normal(column)) for _, record in records})
            raise InputError(
                f"no row has {column}={','.join(wanted)}", where=name, remedy=f"that column holds {listing(there)}"
            )
        records = kept
    return list(records)


def _fits(record: Mapping[str, Any], column: str, wanted: str) -> bool:
    return _text(record, column) == wanted or fnmatchcase(_text(record, column), wanted)


def _records(data: bytes, name: str) -> Iterator[Record]:
    if is_parquet(data):
        yield from _parquet(data, name)
        return
    text = data.decode()
    if text.lstrip()[:1] in ("{", "["):
        yield from _json(text, name)
        return
    for place, record in table_records(data, name, "tsv" if "\t" in text.partition("\n")[0] else "csv"):
        yield place, {normal(column): cell for column, cell in record.items()}


def _json(text: str, name: str) -> Iterator[Record]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and all(line.strip()[0] + line.strip()[-1] == "{}" for _, line in lines[:2]):
        found = [(f"{name}:{number}", decode(line, name, first_line=number)) for number, line in lines]
    else:
        content = decode(text, name, first_line=1)
        listed = content if isinstance(content, list) else [content]
        found = [(f"{name}: record {number}", record) for number, record in enumerate(listed, 1)]
    for place, record in found:
        if not isinstance(record, dict):
            raise InputError(
                f"{shorten(record)} is no record",
                where=place,
                remedy='write {"model": "…", "evaluator": "…", "value": 0.5}',
            )
        yield place, {normal(key): value for key, value in record.items()}


def _parquet(data: bytes, name: str) -> Iterator[Record]:
    table = parquet_table(data, name)
    for number, record in enumerate(table.to_pylist(), 1):
        yield f"{name}: row {number}", {normal(key): value for key, value in record.items()}
