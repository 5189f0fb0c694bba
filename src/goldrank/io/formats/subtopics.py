"""Gold judged by subtopic: rows of (query, subtopic, item, grade) to one row per item and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten
from goldrank.io.columns import Columns, Place, group, refuse_non_finite, row_queries


def group_subtopics(
    queries: Sequence[str],
    subtopics: Sequence[str],
    items: Sequence[str],
    grades: NDArray[np.float64],
    *,
    source: str,
    place: Place,
    listed: Iterable[str] = (),
) -> Columns:
    """Group gold that has a row for each query, subtopic and item: one row per item, with its grade by subtopic.

    Arguments as in `columns.group`. An item that is listed twice for a query and subtopic is refused.
    """
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
        value="grade",
        source=source,
        place=lambda row: place(first_row[row]),
        listed=listed,
    )
    rows = zip(row_queries(columns), columns.items, strict=True)
    return replace(columns, subtopics=[judged[row] for row in rows])


def expand_subtopics(columns: Columns) -> tuple[Columns, list[str]]:
    """One row for each query, item and subtopic, and the subtopic of each row: what a file of rows holds."""
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
