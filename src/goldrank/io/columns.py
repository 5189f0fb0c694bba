"""The one shape every reader returns: rows of (query, item, value), grouped by query and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten

Kind = Literal["gold", "run"]
Place = Callable[[int], str]

VALUE_WORD: dict[Kind, str] = {"gold": "grade", "run": "score"}


@dataclass(frozen=True)
class Columns:
    """Rows grouped by query: queries in order of first appearance, each query's items in input order.

    The rows of query *i* are ``starts[i]:starts[i + 1]``; a query that was listed without items has none.
    *source* names where they came from, for messages. *ranks* are those of a run whose file has a column for
    them, NaN where it holds no number. *unnamed* says that no header calls the values scores or grades.
    """

    queries: list[str]
    starts: NDArray[np.int64]
    items: list[str]
    values: NDArray[np.float64]
    source: str
    subtopics: list[dict[str, float]] | None = None
    """Of gold judged by subtopic: for each row the grade for each subtopic. The row's value is the highest of them."""
    ranks: NDArray[np.float64] | None = None
    unnamed: bool = False
    by_position: bool = False
    """Whether the queries had no ids and were counted from 0."""


def group(
    queries: Sequence[str],
    items: Sequence[str],
    values: NDArray[np.float64],
    *,
    value: str,
    source: str,
    place: Place,
    listed: Iterable[str] = (),
    ranks: NDArray[np.float64] | None = None,
) -> Columns:
    """Group flat rows by query and refuse values that are not finite and items listed twice for a query.

    *value* is the word for the third column in messages ("score" or "grade"); ``place(row)`` says where a
    row stands ("bm25.run:17"). *listed* are the queries in order where some of them may have no row. *ranks* come
    from a rank column.
    """
    refuse_non_finite(values, value=value, place=place)
    codes = {query: code for code, query in enumerate(dict.fromkeys(listed))}
    code_of_row = np.fromiter((codes.setdefault(q, len(codes)) for q in queries), np.int64, len(queries))
    starts = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(np.bincount(code_of_row, minlength=len(codes)), out=starts[1:])
    # Most files are grouped already, and reordering a list of strings costs more than reading it.
    if (code_of_row[1:] >= code_of_row[:-1]).all():
        order, grouped = np.arange(len(items)), list(items)
    else:
        order = np.argsort(code_of_row, kind="stable")
        grouped, values = [items[row] for row in order.tolist()], values[order]
        ranks = None if ranks is None else ranks[order]
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if len(set(grouped[start:end])) != end - start:
            rows = order[start:end].tolist()
            _refuse_duplicate(grouped[start:end], queries[rows[0]], rows, place)
    return Columns(list(codes), starts, grouped, values, source, ranks=ranks)


def refuse_non_finite(values: NDArray[np.float64], *, value: str, place: Place) -> None:
    """Raise for the first value that is NaN or infinite."""
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise non_finite(str(values[row]), value=value, where=place(row))


def non_finite(token: str, *, value: str, where: str) -> InputError:
    """The error for a value that is NaN, infinite or too large for a double."""
    return InputError(
        f"the {value} {shorten(token)} is not a finite number",
        where=where,
        remedy=f"every {value} must be a finite decimal number",
    )


def not_a_number(token: str, *, value: str, where: str) -> InputError:
    """The error for a value that is no decimal number at all."""
    return InputError(
        f"the {value} {shorten(token)} is not a number",
        where=where,
        remedy=f"write the {value} as a decimal number such as 1 or 0.25",
    )


def _refuse_duplicate(items: list[str], query: str, rows: list[int], place: Place) -> None:
    first: dict[str, int] = {}
    for item, row in zip(items, rows, strict=True):
        if item in first:
            raise InputError(
                f"the item {shorten(item)} is listed twice for query {shorten(query)} (first at {place(first[item])})",
                where=place(row),
                remedy="keep one row per query and item",
            )
        first[item] = row


def number_text(value: float, kind: Kind) -> str:
    """The shortest decimal that reads back as the same double; a whole grade is written as an integer.

    >>> number_text(2.0, "gold"), number_text(2.0, "run")
    ('2', '2.0')
    """
    return repr(value).removesuffix(".0") if kind == "gold" else repr(value)


def row_queries(columns: Columns) -> list[str]:
    """The query of every row."""
    sizes = (columns.starts[1:] - columns.starts[:-1]).tolist()
    return [query for query, size in zip(columns.queries, sizes, strict=True) for _ in range(size)]


def refuse_empty_queries(columns: Columns, format: str) -> None:
    """Raise for a query without items, which would vanish from a file that holds one row per item."""
    sizes = columns.starts[1:] - columns.starts[:-1]
    if len(sizes) and not sizes.all():
        raise InputError(
            f"the query {shorten(columns.queries[int(sizes.argmin())])} has no items, "
            f"which a {format} file cannot hold",
            where=columns.source,
            remedy="write json instead, or leave the query out",
        )
