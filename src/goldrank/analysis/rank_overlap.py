"""Rank-biased overlap of two runs: how alike their rankings are, without gold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Floats, Ints, Run
from goldrank.metrics.overlap import RankBiasedOverlap, rank_biased_overlap
from goldrank.ordering import SCORE_READINGS
from goldrank.presentation import Result
from goldrank.scoring import Bootstrap, as_run


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
    if not 0 < p < 1:
        raise InputError(f"the persistence p={p:g} is not between 0 and 1", remedy="give one such as 0.9")
    if depth is not None and depth < 1:
        raise InputError(f"the depth {depth} is not a rank", remedy="give a whole number of at least 1")
    if scores is not None and scores not in SCORE_READINGS:
        raise unknown_name("value of scores", scores, SCORE_READINGS, f"one of {', '.join(SCORE_READINGS)}")
    runs = [as_run(first), as_run(second)]
    for run, name in zip(runs, ("the first run", "the second run"), strict=True):
        if scores is None:
            run.order.refuse(name)
    rankings = [_rankings(run.ordered_by(scores or "similarity")) for run in runs]
    common = [query for query in rankings[0] if query in rankings[1]]
    if not common:
        names = [shorten(next(iter(ranking), "")) for ranking in rankings]
        raise InputError(
            f"the two runs have no query in common (the first has {names[0]}, the second {names[1]})",
            remedy="check that both use the same query ids",
        )
    overlaps = [_overlap(rankings[0][query], rankings[1][query], p, depth) for query in common]
    return RankOverlap(
        p,
        depth,
        common,
        np.array([overlap.extrapolated for overlap in overlaps]),
        np.array([overlap.low for overlap in overlaps]),
        np.array([overlap.residual for overlap in overlaps]),
        (len(rankings[0]) - len(common), len(rankings[1]) - len(common)),
        bootstrap,
    )


def _rankings(run: Run) -> dict[str, dict[str, float]]:
    """Return the validated rankings of the queries that have results."""
    return {query: ranking for query, ranking in Run.from_columns(run.columns).to_dict().items() if ranking}


def _overlap(first: dict[str, float], second: dict[str, float], p: float, depth: int | None) -> RankBiasedOverlap:
    ranks = [_tied_ranks(ranking, depth) for ranking in (first, second)]
    shared = [item for item in ranks[0] if item in ranks[1]]
    whole = [np.array(list(rank.values()), np.int64) for rank in ranks]
    both = [np.array([rank[item] for item in shared], np.int64) for rank in ranks]
    return rank_biased_overlap(whole[0], whole[1], (both[0], both[1]), p)


def _tied_ranks(ranking: dict[str, float], depth: int | None) -> dict[str, int]:
    """Return the rank of each item from 1, best first; items of equal score share the rank of the first of them."""
    items = sorted(ranking, key=lambda item: (ranking[item], item), reverse=True)[:depth]
    scores: Floats = np.array([ranking[item] for item in items])
    starts: Ints = np.maximum.accumulate(
        np.where(np.diff(scores, prepend=np.inf) != 0, np.arange(1, len(items) + 1), 0)
    )
    return dict(zip(items, starts.tolist(), strict=True))
