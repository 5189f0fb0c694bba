"""Columns: checked rows of (query, item, value) grouped by query, which every reader of gold and runs returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten
from goldrank.io.checks import (
    Place,
    find_duplicate,
    id_strings,
    numeric_values,
    parse_ranks,
    parse_values,
    refuse_non_finite,
    refuse_rounded,
)

TableKind = Literal["gold", "run"]

VALUE_WORD: dict[TableKind, str] = {"gold": "grade", "run": "score"}


@dataclass(frozen=True)
class Columns:
    """Rows grouped by query: queries in order of first appearance, the items of each query in input order.

    The rows of query *i* are ``starts[i]:starts[i + 1]``; a query without items has none. *source* is the origin of
    the rows, for messages. *ranks* are the ranks of a run whose file has a column for them, NaN for cells without a
    number. *unnamed* says that no header calls the values scores or grades.
    """

    queries: list[str]
    starts: NDArray[np.int64]
    items: list[str]
    values: NDArray[np.float64]
    source: str
    subtopics: list[dict[str, float]] | None = None
    """For gold judged by subtopic: the grade of each row for each subtopic. The value of the row is the highest one."""
    ranks: NDArray[np.float64] | None = None
    unnamed: bool = False
    by_position: bool = False
    """Whether the queries had no ids and were numbered from 0."""
    reading: str = ""
    """A line that says what each column of the table was read as; empty for a layout without names."""
    chunks: list[str] | None = None
    """Of a run that ranked documents by their best chunk: the id of that chunk, for each row."""

    def rows_by_query(self) -> Iterator[tuple[str, slice]]:
        """Yield each query with the slice of its rows."""
        bounds = self.starts.tolist()
        for query, start, end in zip(self.queries, bounds[:-1], bounds[1:], strict=True):
            yield query, slice(start, end)

    def rows(self) -> Iterator[tuple[str, str, float]]:
        """Yield the query, the item and the value of each row."""
        return zip(row_queries(self), self.items, self.values.tolist(), strict=True)


def group(
    queries: Sequence[str],
    items: Sequence[str],
    values: NDArray[np.float64],
    kind: TableKind,
    *,
    source: str,
    place: Place,
    listed: Iterable[str] = (),
    ranks: NDArray[np.float64] | None = None,
    subtopics: Sequence[str] | None = None,
) -> Columns:
    """Group flat rows by query; refuse values that are not finite and items listed twice for a query.

    Args:
        queries: The query of each row.
        items: The item of each row.
        values: The score or grade of each row.
        kind: What the values are.
        source: Where the rows come from, for messages.
        place: Where a row is, for messages.
        listed: The queries in order, if some of them may have no row.
        ranks: The rank of each row, from the rank column of a run.
        subtopics: The subtopic of each row of gold; an item then has a row for each of its subtopics.
    """
    if subtopics is not None:
        return _group_subtopics(queries, subtopics, items, values, source=source, place=place, listed=listed)
    refuse_non_finite(values, value=VALUE_WORD[kind], place=place)
    codes = {query: code for code, query in enumerate(dict.fromkeys(listed))}
    code_of_row = np.fromiter((codes.setdefault(q, len(codes)) for q in queries), np.int64, len(queries))
    starts = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(np.bincount(code_of_row, minlength=len(codes)), out=starts[1:])
    # Most files are already grouped, and reordering a list of strings costs more than reading it.
    if (code_of_row[1:] >= code_of_row[:-1]).all():
        order, grouped = np.arange(len(items)), list(items)
    else:
        order = np.argsort(code_of_row, kind="stable")
        grouped, values = [items[row] for row in order.tolist()], values[order]
        ranks = None if ranks is None else ranks[order]
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if duplicate := find_duplicate(grouped[start:end]):
            first, again = (int(order[start + at]) for at in duplicate)
            raise InputError(
                f"the item {shorten(items[again])} is listed twice for query {shorten(queries[again])} "
                f"(first at {place(first)})",
                where=place(again),
                remedy="keep one row per query and item",
            )
    return Columns(list(codes), starts, grouped, values, source, ranks=ranks)


def columns_of_cells(
    cells: Sequence[Sequence[object]], kind: TableKind, *, source: str, place: Place, as_text: bool = False
) -> Columns:
    """Check the cells of a table and group its rows.

    Args:
        cells: The columns in the order of `find_columns`: query, item, value, and optionally the subtopic of gold or
            the rank of a run.
        kind: What the values are.
        source: Where the table comes from, for messages.
        place: Where a row is, for messages.
        as_text: The cells are text, whose numbers are parsed; else ids may be integers, and values are numbers.
    """
    queries = id_strings(cells[0], role="query", integers=not as_text, place=place)
    items = id_strings(cells[1], role="item", integers=not as_text, place=place)
    if as_text:
        refuse_rounded(queries, role="query", place=place)
        refuse_rounded(items, role="item", place=place)
        values = parse_values(cast(Sequence[str], cells[2]), value=VALUE_WORD[kind], place=place)
    else:
        values = numeric_values(cells[2], value=VALUE_WORD[kind], place=place)
    ranks = subtopics = None
    if len(cells) > 3 and kind == "gold":
        subtopics = id_strings(cells[3], role="subtopic", integers=not as_text, place=place)
    elif len(cells) > 3:
        ranks = parse_ranks(cells[3])
    return group(queries, items, values, kind, source=source, place=place, ranks=ranks, subtopics=subtopics)


def _group_subtopics(
    queries: Sequence[str],
    subtopics: Sequence[str],
    items: Sequence[str],
    grades: NDArray[np.float64],
    *,
    source: str,
    place: Place,
    listed: Iterable[str],
) -> Columns:
    """Group gold that has a row for each query, subtopic and item: one row per item, with its grade by subtopic."""
    refuse_non_finite(grades, value="grade", place=place)
    judged: dict[tuple[str, str], dict[str, float]] = {}
    first_row: list[int] = []
    for row, (query, subtopic, item, grade) in enumerate(zip(queries, subtopics, items, grades.tolist(), strict=True)):
        by_subtopic = judged.setdefault((query, item), {})
        if not by_subtopic:
            first_row.append(row)
        if subtopic in by_subtopic:
            raise InputError(
                f"the item {shorten(item)} is listed twice for query {shorten(query)} and subtopic {shorten(subtopic)}",
                where=place(row),
                remedy="keep one row per query, subtopic and item",
            )
        by_subtopic[subtopic] = grade
    columns = group(
        [query for query, _ in judged],
        [item for _, item in judged],
        np.array([max(by_subtopic.values()) for by_subtopic in judged.values()], np.float64),
        "gold",
        source=source,
        place=lambda row: place(first_row[row]),
        listed=listed,
    )
    rows = zip(row_queries(columns), columns.items, strict=True)
    return replace(columns, subtopics=[judged[row] for row in rows])


def expand_subtopics(columns: Columns) -> tuple[Columns, list[str]]:
    """Return one row for each query, item and subtopic, and the subtopic of each row."""
    assert columns.subtopics is not None
    sizes = np.fromiter(map(len, columns.subtopics), np.int64, len(columns.subtopics))
    ends = np.concatenate(([0], np.cumsum(sizes)))
    expanded = Columns(
        columns.queries,
        ends[columns.starts],
        [item for item, size in zip(columns.items, sizes.tolist(), strict=True) for _ in range(size)],
        np.array([grade for judged in columns.subtopics for grade in judged.values()], np.float64),
        columns.source,
    )
    return expanded, [subtopic for judged in columns.subtopics for subtopic in judged]


def number_text(value: float, kind: TableKind) -> str:
    """Return the shortest decimal that reads back as the same double; a whole grade is written as an integer.

    >>> number_text(2.0, "gold"), number_text(2.0, "run")
    ('2', '2.0')
    """
    return repr(value).removesuffix(".0") if kind == "gold" else repr(value)


def row_queries(columns: Columns) -> list[str]:
    """Return the query of each row."""
    sizes = (columns.starts[1:] - columns.starts[:-1]).tolist()
    return [query for query, size in zip(columns.queries, sizes, strict=True) for _ in range(size)]


def refuse_empty_queries(columns: Columns, format: str) -> None:
    """Raise InputError for a query without items, which a file with one row per item cannot hold."""
    sizes = columns.starts[1:] - columns.starts[:-1]
    if len(sizes) and not sizes.all():
        raise InputError(
            f"the query {shorten(columns.queries[int(sizes.argmin())])} has no items, "
            f"which a {format} file cannot hold",
            where=columns.source,
            remedy="write json instead, or leave the query out",
        )
