"""Detect runs whose listed order contradicts their scores, and order a run by scores, distances or as listed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from goldrank.errors import InputError
from goldrank.native.fallback.hit_counting import ORDER_DEPTH, order_of

if TYPE_CHECKING:
    from goldrank.io.columns import Columns
    from goldrank.io.packed import PackedRun

SCORE_READINGS: dict[str, str] = {
    "similarity": "a higher score is better, also if the listed order contradicts it",
    "distance": "a lower score is better",
    "ignore": "the scores are ignored: the rank column orders the run, or the listed order if there is none",
}
CHOICES_TEXT = "similarity (higher is better), distance (lower is better) or ignore (take the listed order)"
LEAST_RISING_PAIRS = 5
"""Without ranks, this many pairs of neighbours must rise, and two per list: lists of two items may rise by chance."""


@dataclass(frozen=True)
class ListedOrder:
    """The agreement of the rank column or the listed order with the scores, summed over the queries of a run.

    Only the first 20 results of each query count; `goldrank.native.fallback.hit_counting.order_of` gives the rules.
    """

    varied: int = 0
    """Queries whose scores are not all equal."""
    contradicting: int = 0
    """Of these, queries in which the ranks or the list put lower scores first."""
    rising: int = 0
    """Pairs of neighbouring results in contradicting queries whose score rises."""
    by_rank: int = 0
    """Contradicting queries that have a rank column."""
    rank_like: int = 0
    """Contradicting queries whose scores are 0, 1, 2 … or 1, 2, 3 …, like ranks."""
    long_lines: int = 0
    """Lines of a TREC run with text after the tag."""
    unnamed: bool = False
    """Whether the scores come from a table without a header, where they are often ranks (query, item, rank)."""

    @property
    def contradicts(self) -> bool:
        """Whether the order contradicts the scores in most queries.

        >>> ListedOrder(varied=9, contradicting=5, rising=9, by_rank=5).contradicts
        True
        >>> ListedOrder(varied=9, contradicting=9, rising=9).contradicts  # lists of two items
        False
        """
        if 2 * self.contradicting <= self.varied:
            return False
        if 2 * self.by_rank > self.contradicting:
            return True
        enough = self.rising >= max(LEAST_RISING_PAIRS, 2 * self.contradicting)
        return enough or (self.unnamed and self.looks_like_ranks)

    @property
    def looks_like_ranks(self) -> bool:
        """Whether the scores of most contradicting queries count up from 0 or 1."""
        return 2 * self.rank_like > self.contradicting

    @property
    def sentence(self) -> str:
        """The contradiction as a sentence without a full stop."""
        what = "the rank column puts" if 2 * self.by_rank > self.contradicting else "the list puts"
        counts = f"in {self.contradicting} of {self.varied} queries {what} lower scores first"
        ranks = ", and these values look like ranks (they count up from 0 or 1)" * self.looks_like_ranks
        return f"the order contradicts the scores: {counts}{ranks}"

    def refuse(self, where: str, how: str = "--scores, in Python scores=") -> None:
        """Raise if the order contradicts the scores; *how* names the option that decides."""
        if self.contradicts:
            raise InputError(self.sentence, where=where, remedy=f"say what the scores are with {how}: {CHOICES_TEXT}")


def listed_order(columns: Columns | PackedRun) -> ListedOrder:
    """Return how the ranks of *columns*, or the order of their rows, agree with the scores."""
    sums = np.zeros(5, np.int64)
    for start, end in zip(columns.starts[:-1].tolist(), columns.starts[1:].tolist(), strict=True):
        first = slice(start, min(end, start + ORDER_DEPTH))
        ranks = () if columns.ranks is None else columns.ranks[first].tolist()
        sums += order_of(columns.values[first].tolist(), ranks)
    varied, contradicting, rising, by_rank, rank_like = sums.tolist()
    return ListedOrder(varied, contradicting, rising, by_rank, rank_like, unnamed=columns.unnamed)


def order_by(columns: Columns, scores: str) -> Columns:
    """Return the same rows with scores of which the higher is better; *scores* is a key of ``SCORE_READINGS``."""
    if scores == "distance":
        return replace(columns, values=-columns.values)
    if scores != "ignore":
        return columns
    if columns.ranks is None:
        positions = np.arange(len(columns.items)) - np.repeat(columns.starts[:-1], np.diff(columns.starts))
        return replace(columns, values=np.asarray(-1 - positions, np.float64))
    if np.isnan(columns.ranks).any():
        row = int(np.isnan(columns.ranks).argmax())
        query = columns.queries[int(np.searchsorted(columns.starts, row, side="right")) - 1]
        raise InputError(
            f"the rank of the item {columns.items[row]!r} of query {query!r} is not a number",
            where=columns.source,
            remedy="write whole numbers from 1 up in the rank column, or let the scores decide",
        )
    return replace(columns, values=-columns.ranks, ranks=None)
