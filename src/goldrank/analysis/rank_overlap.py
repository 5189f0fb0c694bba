"""Rank-biased overlap of two runs: how alike their rankings are, without gold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.analysis.alignment import Alignment, align, count_to_depth
from goldrank.errors import InputError
from goldrank.hits import Floats
from goldrank.metrics.overlap import RankBiasedOverlap, rank_biased_overlap
from goldrank.presentation import Result
from goldrank.scoring import Bootstrap


@dataclass(frozen=True, eq=False, repr=False)
class RankOverlap(Result):
    """The rank-biased overlap of two runs, query by query.

    >>> result = rbo({"q1": {"a": 3, "b": 2, "c": 1}}, {"q1": {"a": 3, "c": 2, "b": 1}})
    >>> round(result.mean, 4)
    0.955
    """

    p: float
    depth: int | None
    queries: list[str]
    values: Floats
    """RBO_ext of each query: the observed agreement is assumed to continue below the lists."""
    low: Floats
    """RBO_min of each query: the lower bound over all possible continuations of the lists."""
    residual: Floats
    """RBO_res of each query: the upper bound minus ``low``."""
    left_out: tuple[int, int]
    """The number of queries that only the first, and only the second run has."""
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    @cached_property
    def mean(self) -> float:
        """The mean of RBO_ext over the queries that both runs have."""
        return stats.aggregate(self.values)

    @cached_property
    def interval(self) -> stats.Interval | None:
        """The bootstrap interval of the mean; None for fewer than two queries."""
        (interval,) = self.bootstrap.intervals([stats.Sample(self.values)])
        return interval

    @property
    def per_query(self) -> dict[str, float]:
        """RBO_ext of each query."""
        return dict(zip(self.queries, self.values.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the means, the interval and the queries left out, for JSON."""
        interval = self.interval
        return {
            "p": self.p,
            "depth": self.depth,
            "queries": len(self.queries),
            "only_first": self.left_out[0],
            "only_second": self.left_out[1],
            "rbo": {
                "mean": self.mean,
                "low": None if interval is None else interval.low,
                "high": None if interval is None else interval.high,
            },
            "min": stats.aggregate(self.low),
            "residual": stats.aggregate(self.residual),
        }


def rbo(
    first: Any,
    second: Any,
    p: float = 0.9,
    *,
    depth: int | None = None,
    scores: str | None = None,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> RankOverlap:
    """Compare two runs by rank-biased overlap, without gold.

    1 means identical rankings, 0 that they have no item in common; the first ranks weigh most. Items with equal scores
    are tied and share the rank of the first of them.

    Args:
        first: a Run, a file, or anything a Run is built from.
        second: the same.
        p: persistence, above 0 and below 1; with 0.9 the first 10 ranks have 86% of the weight, with 0.98 the
            first 50.
        depth: how many items of each ranking to read; a tie across this depth is cut by descending id.
        scores: the meaning of the scores of both runs: ``similarity``, ``distance`` or ``ignore`` (use the listed
            order); by default a run whose order contradicts its scores is refused.
        bootstrap: how the interval is computed.

    >>> rbo({"q1": {"a": 2, "b": 1}}, {"q1": {"c": 2, "d": 1}}).mean
    0.0
    """
    refuse_persistence(p)
    aligned = align(first, second, depth=depth, scores=scores)
    overlap = aligned_overlap(aligned, p)
    left_out = (len(aligned.only[0]), len(aligned.only[1]))
    return RankOverlap(
        p, depth, aligned.queries, overlap.extrapolated, overlap.low, overlap.residual, left_out, bootstrap
    )


def refuse_persistence(p: float) -> None:
    """Raise InputError unless *p* is a persistence."""
    if not 0 < p < 1:
        raise InputError(f"the persistence p={p:g} is not between 0 and 1", remedy="give one such as 0.9")


def aligned_overlap(aligned: Alignment, p: float) -> RankBiasedOverlap:
    """Compute the rank-biased overlap of each query of two aligned runs."""
    a, b = aligned.sides
    lengths = np.maximum(a.sizes, b.sizes)
    both = count_to_depth(aligned.common_query, aligned.common_rank, lengths)
    each = [count_to_depth(side.query, side.rank, lengths) for side in (a, b)]
    return rank_biased_overlap((a.sizes, b.sizes), (each[0], each[1], both), p)
