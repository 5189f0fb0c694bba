"""Read and write TREC runs (six columns, optionally with text after the tag) and qrels (four columns)."""

from __future__ import annotations

import numpy as np

from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import non_finite, not_a_number, parse_values
from goldrank.io.columns import (
    VALUE_WORD,
    Columns,
    TableKind,
    expand_subtopics,
    group,
    number_text,
    refuse_empty_queries,
)
from goldrank.io.formats import TREC_LAYOUT
from goldrank.io.memory_mapping import MappedFile
from goldrank.native import RowFault, parse_trec

_SHAPE: dict[TableKind, str] = {
    "gold": "TREC qrels have 4 (query 0 item grade)",
    "run": "a TREC run has 6 (query Q0 item rank score tag)",
}

_STRINGS = "ids are strings: use str(…)"


def load(data: bytes | MappedFile, kind: TableKind, name: str, format: str = "trec") -> Columns:
    """Read qrels or a run; blank lines are skipped, and a line that begins with ``#`` is data like any other."""
    if format == "diversity":
        if kind != "gold":
            raise InputError("diversity qrels are gold, not a run", where=name, remedy="name the run's own format")
        return _load_subtopics(data, name)
    width, value_column = TREC_LAYOUT[kind]
    try:
        queries, starts, items, values, ranks, _ = parse_trec(data, width, value_column)
    except RowFault as fault:
        if kind == "gold" and fault.kind == "duplicate" and _repeats_with_other_subtopic(data, fault):
            return _load_subtopics(data, name)
        raise fault_to_error(fault, name, kind) from None
    return Columns(
        queries,
        np.frombuffer(starts, np.int64),
        items,
        np.frombuffer(values, np.float64),
        name,
        ranks=np.frombuffer(ranks, np.float64) if kind == "run" else None,
    )


def _load_subtopics(data: bytes | MappedFile, name: str) -> Columns:
    """Read TREC diversity qrels: ``query subtopic item grade``."""
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(bytes(data).split(b"\n"), start=1):
        try:
            cells = [cell.decode() for cell in line.split()]
        except UnicodeDecodeError:
            raise fault_to_error(RowFault(number, "encoding"), name, "gold") from None
        if not cells:
            continue
        if len(cells) != TREC_LAYOUT["gold"][0]:
            raise fault_to_error(RowFault(number, "columns", len(cells)), name, "gold")
        rows.append(cells)
        lines.append(number)

    def place(row: int) -> str:
        return f"{name}:{lines[row]}"

    queries, subtopics, items, grades = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
    values = parse_values(grades, value="grade", place=place)
    return group(queries, items, values, "gold", source=name, place=place, subtopics=subtopics)


def _repeats_with_other_subtopic(data: bytes | MappedFile, fault: RowFault) -> bool:
    """Return True if the rows of the item that is repeated for a query differ in their second column."""
    item, query = (str(detail).encode() for detail in fault.details)
    cells = (line.split() for line in bytes(data).split(b"\n", fault.line)[: fault.line])
    return len({row[1] for row in cells if len(row) == 4 and (row[0], row[2]) == (query, item)}) > 1


def load_head(data: bytes | MappedFile, name: str, rows: int) -> Columns:
    """Read about the first *rows* rows of a run."""
    size = rows * 64
    first = bytes(data[:size])
    return load(first if len(first) < size else first[: first.rfind(b"\n") + 1], "run", name)


def fault_to_error(fault: RowFault, name: str, kind: TableKind) -> InputError:
    """Return the error for a fault that the native parser reports in the file or (at line 0) the mapping *name*."""
    details, value = fault.details, VALUE_WORD[kind]
    if fault.line == 0:
        return _mapping_error(fault, name, value)
    where = f"{name}:{fault.line}"
    if fault.kind in ("columns", "comment"):
        width, comment = int(details[0]), fault.kind == "comment"
        return InputError(
            f"the line {'begins with # and ' * comment}has {counts(width, 'column')}, {_SHAPE[kind]}",
            where=where,
            remedy="remove it if it is a comment, which TREC files do not have" if comment else _remedy(width, kind),
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


def _remedy(columns: int, kind: TableKind) -> str:
    if kind == "run" and columns == TREC_LAYOUT["gold"][0]:
        return "this may be the gold: give the run here, or add the missing columns"
    if kind == "gold" and columns == TREC_LAYOUT["run"][0]:
        return "this may be a run: give the qrels here"
    width = TREC_LAYOUT[kind][0]
    if columns < width:
        return "add the missing column" + ("s" if width - columns > 1 else "")
    return "an id with a space counts as two columns: use csv or json for such ids"


def dump(columns: Columns, kind: TableKind, format: str = "trec", tag: str = "goldrank") -> bytes:
    """Return the text of the file: rows in their order, the ranks of a run by score and then id, both descending."""
    if format == "diversity" and columns.subtopics is None:
        raise InputError("there are no subtopics to write", where=columns.source, remedy="write trec instead")
    refuse_empty_queries(columns, "TREC")
    _refuse_unwritable("query", columns.queries, columns.source)
    _refuse_unwritable("item", columns.items, columns.source)
    subtopics = ["0"] * len(columns.items)
    if columns.subtopics is not None:
        columns, subtopics = expand_subtopics(columns)
        _refuse_unwritable("subtopic", subtopics, columns.source)
    if kind == "run" and (not tag or tag.split() != [tag] or not tag.isprintable()):
        raise InputError(f"the tag {shorten(tag)} is not one word", remedy="choose a tag without white space")
    lines = []
    values = columns.values.tolist()
    for query, rows in columns.rows_by_query():
        items, scores = columns.items[rows], values[rows]
        if kind == "gold":
            lines += [
                f"{query} {subtopic} {item} {number_text(grade, kind)}\n"
                for subtopic, item, grade in zip(subtopics[rows], items, scores, strict=True)
            ]
        else:
            lines += [
                f"{query} Q0 {item} {rank} {score!r} {tag}\n"
                for item, rank, score in zip(items, _ranks(items, scores), scores, strict=True)
            ]
    return "".join(lines).encode()


def _ranks(items: list[str], values: list[float]) -> list[int]:
    # Python orders strings by code point, which is the order of their UTF-8 bytes.
    best_first = sorted(range(len(items)), key=lambda row: (values[row], items[row]), reverse=True)
    ranks = [0] * len(items)
    for rank, row in enumerate(best_first, start=1):
        ranks[row] = rank
    return ranks


def _refuse_unwritable(role: str, ids: list[str], source: str) -> None:
    # split() knows all white space of Unicode; readers differ in where they split.
    if " ".join(ids).split() == ids and "\0" not in "".join(ids):
        if role != "query":
            return
        bad = next((text for text in ids if text.startswith("\ufeff")), None)
        reason = "starts with a byte order mark"
    else:
        bad = next(text for text in ids if text.split() != [text] or "\0" in text)
        reason = "holds white space" if bad.split() != [bad] else "holds a NUL character"
    if bad is not None:
        raise InputError(
            f"the {role} id {shorten(bad)} {reason}, which a TREC file cannot hold",
            where=source,
            remedy="write csv, json, jsonl or parquet instead",
        )
