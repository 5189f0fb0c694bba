"""Align the rankings of two runs: common queries, ranks with ties, and the items that both runs list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Floats, Ints
from goldrank.io.columns import Columns
from goldrank.ordering import SCORE_READINGS
from goldrank.scoring import as_run


@dataclass(frozen=True, eq=False)
class Side:
    """The rankings of one run for the aligned queries, as flat rows: best first, equal scores in the listed order."""

    starts: Ints
    """The rows of query *i* are ``starts[i]:starts[i + 1]``."""
    query: Ints
    """The number of the query of each row."""
    item: Ints
    """The number of the item of each row in `Alignment.items`."""
    score: Floats
    rank: Ints
    """From 1; items with equal scores share the rank of the first of them."""

    @property
    def sizes(self) -> Ints:
        """The number of results of each query."""
        return np.diff(self.starts)

    @property
    def group(self) -> Ints:
        """The row at which the group of equal scores of each row begins."""
        group: Ints = self.starts[self.query] + self.rank - 1
        return group

    def take(self, keep: NDArray[np.bool_]) -> Side:
        """Return the side with some of its rows; the ranks stay the same."""
        query = self.query[keep]
        starts = np.searchsorted(query, np.arange(len(self.starts)))
        return Side(starts, query, self.item[keep], self.score[keep], self.rank[keep])


@dataclass(frozen=True, eq=False)
class Alignment:
    """Two runs over the queries for which both have results."""

    queries: list[str]
    only: tuple[list[str], list[str]]
    """The queries for which only the first, and only the second run has results."""
    items: list[str]
    sides: tuple[Side, Side]
    common: tuple[Ints, Ints]
    """The rows of the items that both runs list for a query, in the first side (ascending) and in the second."""

    @property
    def common_query(self) -> Ints:
        """The number of the query of each common row."""
        query: Ints = self.sides[0].query[self.common[0]]
        return query

    @property
    def common_rank(self) -> Ints:
        """The depth from which on each common item is in both rankings."""
        ranks = [side.rank[rows] for side, rows in zip(self.sides, self.common, strict=True)]
        return np.maximum(ranks[0], ranks[1])


def align(
    first: Any,
    second: Any,
    *,
    depth: int | None = None,
    scores: str | None = None,
    restrict_to: Collection[str] | None = None,
) -> Alignment:
    """Align two runs.

    Args:
        first: A Run, a file, or anything a Run is built from.
        second: The same.
        depth: How many results of each query to read; a tie across this depth is cut by descending id.
        scores: The meaning of the scores, a key of ``SCORE_READINGS``; by default a run whose order contradicts its
            scores is refused.
        restrict_to: The queries to align; None for all.

    Raises:
        InputError: An argument is out of its range, or the runs have no query in common.
    """
    if depth is not None and depth < 1:
        raise InputError(f"the depth {depth} is not a rank", remedy="give a whole number of at least 1")
    if scores is not None and scores not in SCORE_READINGS:
        raise unknown_name("value of scores", scores, SCORE_READINGS, f"one of {', '.join(SCORE_READINGS)}")
    columns = []
    for run, name in ((as_run(first), "the first run"), (as_run(second), "the second run")):
        if scores is None:
            run.order.refuse(name)
        columns.append(run.ordered_by(scores or "similarity").columns)
    answered = [dict.fromkeys(_answered(side, restrict_to)) for side in columns]
    queries = [query for query in answered[0] if query in answered[1]]
    if not queries:
        names = [shorten(next(iter(side), "")) for side in answered]
        raise InputError(
            f"the two runs have no query in common (the first has {names[0]}, the second {names[1]})",
            remedy="check that both use the same query ids",
        )
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    a, b = (_side(side, queries, numbers) for side in columns)
    items = list(numbers)
    if depth is not None:
        a, b = (_cut(side, items, depth) for side in (a, b))
    only = tuple([query for query in answered[at] if query not in answered[1 - at]] for at in (0, 1))
    return Alignment(queries, (only[0], only[1]), items, (a, b), _common_rows(a, b, len(items)))


def _answered(columns: Columns, restrict_to: Collection[str] | None) -> list[str]:
    """Return the queries that have results, all or those to restrict to."""
    answered = [columns.queries[at] for at in np.flatnonzero(np.diff(columns.starts)).tolist()]
    return answered if restrict_to is None else [query for query in answered if query in restrict_to]


def _side(columns: Columns, queries: list[str], numbers: defaultdict[str, int]) -> Side:
    place = {query: at for at, query in enumerate(columns.queries)}
    chosen = np.fromiter((place[query] for query in queries), np.int64, len(queries))
    sizes = np.diff(columns.starts)[chosen]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    query = np.repeat(np.arange(len(queries)), sizes)
    rows = np.arange(starts[-1]) + (columns.starts[chosen] - starts[:-1])[query]
    item = np.fromiter(map(numbers.__getitem__, columns.items), np.int64, len(columns.items))[rows]
    score = columns.values[rows] + 0.0  # -0.0 and 0.0 are equal scores
    inside = query[1:] == query[:-1]
    if (inside & (score[1:] > score[:-1])).any():
        order = np.lexsort((-score, query))
        item, score = item[order], score[order]
    is_first = np.concatenate(([True], ~inside | (score[1:] != score[:-1])))
    group = np.maximum.accumulate(np.where(is_first, np.arange(len(query)), 0))
    return Side(starts, query, item, score, group - starts[query] + 1)


def _cut(side: Side, items: list[str], depth: int) -> Side:
    """Return the first *depth* results of each query; of a tie across this depth those with the highest ids."""
    position = np.arange(len(side.query)) - side.starts[side.query]
    keep = position < depth
    beyond = np.flatnonzero(~keep & (side.rank <= depth))
    for start in np.unique(side.group[beyond]).tolist():
        end = int(np.searchsorted(side.group, start, side="right"))
        by_id = sorted(range(start, end), key=lambda row: items[side.item[row]], reverse=True)
        keep[start:end] = False
        keep[by_id[: depth + 1 - int(side.rank[start])]] = True
    return side if keep.all() else side.take(keep)


def _common_rows(a: Side, b: Side, items: int) -> tuple[Ints, Ints]:
    keys = [side.query * items + side.item for side in (a, b)]
    order = np.argsort(keys[1])
    ordered = keys[1][order]
    at = np.minimum(np.searchsorted(ordered, keys[0]), len(ordered) - 1)
    rows = np.flatnonzero(ordered[at] == keys[0])
    return rows, order[at[rows]]


def count_to_depth(query: Ints, rank: Ints, lengths: Ints) -> Ints:
    """Count the rows of each query down to each depth from 1 to its length; flat, one query after the other.

    >>> count_to_depth(np.array([0, 0, 1]), np.array([1, 3, 2]), np.array([3, 2])).tolist()
    [1, 1, 2, 0, 1]
    """
    starts = np.concatenate(([0], np.cumsum(lengths)))
    counted = np.cumsum(np.bincount(starts[query] + rank - 1, minlength=starts[-1]))
    before = np.concatenate(([0], counted))[starts[:-1]]
    result: Ints = counted - np.repeat(before, lengths)
    return result
