"""TREC files: runs of six columns and qrels of four, separated by white space."""

from __future__ import annotations

import numpy as np

from goldrank.errors import InputError, shorten
from goldrank.io.columns import VALUE_WORD, Columns, Kind, non_finite, not_a_number
from goldrank.io.files import MappedFile
from goldrank.io.formats import TREC_LAYOUT
from goldrank.io.text import counts, number_text, refuse_empty_queries
from goldrank.native import RowFault, trec_columns

_SHAPE: dict[Kind, str] = {
    "gold": "TREC qrels have 4 (query 0 item grade)",
    "run": "a TREC run has 6 (query Q0 item rank score tag)",
}

_STRINGS = "ids are strings: use str(…)"


def load(data: bytes | MappedFile, kind: Kind, name: str) -> Columns:
    """Read qrels or a run; blank lines and lines that start with ``#`` are skipped."""
    width, value_column = TREC_LAYOUT[kind]
    try:
        queries, starts, items, values = trec_columns(data, width, value_column)
    except RowFault as fault:
        raise fault_to_error(fault, name, kind) from None
    return Columns(queries, np.frombuffer(starts, np.int64), items, np.frombuffer(values, np.float64), name)


def fault_to_error(fault: RowFault, name: str, kind: Kind) -> InputError:
    """The sentence for what the native part found wrong in the file or (at line 0) the mapping *name*."""
    details, value = fault.details, VALUE_WORD[kind]
    if fault.line == 0:
        return _mapping_error(fault, name, value)
    where = f"{name}:{fault.line}"
    if fault.kind == "columns":
        found = int(details[0])
        return InputError(
            f"the line has {counts(found, 'column')}, {_SHAPE[kind]}",
            where=where,
            remedy=_remedy(found, kind),
        )
    if fault.kind == "number":
        return not_a_number(str(details[0]), value=value, where=where)
    if fault.kind == "nonfinite":
        return non_finite(str(details[0]), value=value, where=where)
    if fault.kind == "duplicate":
        item, query = details
        return InputError(
            f"the item {shorten(item)} is listed twice for query {shorten(query)}",
            where=where,
            remedy="keep one row per query and item",
        )
    return InputError("the text is not valid UTF-8", where=where, remedy="save it as UTF-8")


def _mapping_error(fault: RowFault, name: str, value: str) -> InputError:
    query, *rest = map(str, fault.details)
    at_query = f"{name}: query {shorten(query)}"
    if fault.kind == "query_type":
        return InputError(f"the query id {query} is not a string", where=name, remedy=_STRINGS)
    if fault.kind == "item_type":
        return InputError(f"the item id {rest[0]} is not a string", where=at_query, remedy=_STRINGS)
    if fault.kind == "mapping_type":
        return InputError(
            f"the query holds a {rest[0]}, not its items",
            where=at_query,
            remedy=f'write {{"item": {value}}}',
        )
    at_item = f"{at_query}, item {shorten(rest[0])}"
    if fault.kind == "score_type":
        return InputError(
            f"the {value} is of type {rest[1]}, not a number",
            where=at_item,
            remedy=f"every {value} must be a real number: convert it with int() or float()",
        )
    return InputError(
        f"the {value} is not a finite number",
        where=at_item,
        remedy=f"every {value} must be a finite decimal number",
    )


def _remedy(found: int, kind: Kind) -> str:
    if kind == "run" and found == TREC_LAYOUT["gold"][0]:
        return "this may be the gold: give the run here, or add the missing columns"
    if kind == "gold" and found == TREC_LAYOUT["run"][0]:
        return "this may be a run: give the qrels here"
    width = TREC_LAYOUT[kind][0]
    if found < width:
        return "add the missing column" + ("s" if width - found > 1 else "")
    return "an id with a space counts as two columns: use csv or json for such ids"


def dump(columns: Columns, kind: Kind, tag: str = "goldrank") -> bytes:
    """The text of the file: rows in their order, a run's ranks by score and then id, both descending."""
    refuse_empty_queries(columns, "TREC")
    _refuse_ids(columns)
    if kind == "run" and (not tag or tag.split() != [tag] or not tag.isprintable()):
        raise InputError(f"the tag {shorten(tag)} is not one word", remedy="choose a tag without white space")
    lines = []
    values = columns.values.tolist()
    bounds = columns.starts.tolist()
    for query, start, end in zip(columns.queries, bounds[:-1], bounds[1:], strict=True):
        if kind == "gold":
            rows = range(start, end)
            lines += [f"{query} 0 {columns.items[row]} {number_text(values[row], kind)}\n" for row in rows]
        else:
            ranks = _ranks(columns.items[start:end], values[start:end])
            lines += [
                f"{query} Q0 {item} {rank} {value!r} {tag}\n"
                for item, rank, value in zip(columns.items[start:end], ranks, values[start:end], strict=True)
            ]
    return "".join(lines).encode()


def _ranks(items: list[str], values: list[float]) -> list[int]:
    # Python orders strings by code point, which is the order of their UTF-8 bytes.
    best_first = sorted(range(len(items)), key=lambda row: (values[row], items[row]), reverse=True)
    ranks = [0] * len(items)
    for rank, row in enumerate(best_first, start=1):
        ranks[row] = rank
    return ranks


def _refuse_ids(columns: Columns) -> None:
    for role, ids in (("query", columns.queries), ("item", columns.items)):
        # split() knows the white space of every script; readers differ in which of it they split at.
        if " ".join(ids).split() == ids and "\0" not in "".join(ids):
            if role == "item":
                return
            bad = next((text for text in ids if text.startswith(("#", "\ufeff"))), None)
            reason = "starts like a comment"
        else:
            bad = next(text for text in ids if text.split() != [text] or "\0" in text)
            reason = "holds white space" if bad.split() != [bad] else "holds a NUL character"
        if bad is not None:
            raise InputError(
                f"the {role} id {shorten(bad)} {reason}, which a TREC file cannot hold",
                where=columns.source,
                remedy="write csv, json, jsonl or parquet instead",
            )
