"""Rank-biased overlap of two rankings, and the metrics that compare a ranking with the ideal one: rbo and compat."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.metrics.definition import Definition, Parameter, Values, register
from goldrank.metrics.placement import Placement


@dataclass(frozen=True, eq=False)
class RankBiasedOverlap:
    """The rank-biased overlap of pairs of rankings of which only the top is known, one value per pair."""

    extrapolated: Floats
    """RBO_ext: assumes that the agreement stays the same below the known part."""
    low: Floats
    """RBO_min: assumes that the rankings have nothing in common below."""
    residual: Floats
    """RBO_res: how much higher than ``low`` it is if the rankings agree below."""


def rank_biased_overlap(sizes: tuple[Ints, Ints], counts: tuple[Ints, Ints, Ints], p: float) -> RankBiasedOverlap:
    """Compute the rank-biased overlap of pairs of rankings, which may differ in length [1]_.

    Items with equal scores share the rank of the first of them, so that a prefix contains all of a tie or none of it:
    the agreement at depth d is 2 |common| / (|prefix of the first| + |prefix of the second|).

    Args:
        sizes: The lengths of the first and of the second ranking of each pair, at least 1.
        counts: For each depth from 1 to the longer length, one pair after the other: how many items of the first
            ranking, of the second ranking and of both rankings have at most this rank.
        p: The persistence, above 0 and below 1: the probability that a reader goes on to the next rank.

    References:
        .. [1] W. Webber, A. Moffat, J. Zobel, "A similarity measure for indefinite rankings", ACM Transactions on
           Information Systems 28 (2010), equations 11, 28, 30 and 32.

    >>> same = np.arange(1, 4)
    >>> rank_biased_overlap((np.array([3]), np.array([3])), (same, same, same), 0.5).extrapolated.tolist()
    [1.0]
    """
    short, long = np.minimum(*sizes), np.maximum(*sizes)
    starts = np.concatenate(([0], np.cumsum(long)))[:-1]
    depth = np.arange(len(counts[2])) - np.repeat(starts, long) + 1
    agreement = 2.0 * counts[2] / (np.maximum(counts[0], depth) + np.maximum(counts[1], depth))
    overlap = agreement * depth
    weights = np.power(p, np.arange(1, int(long.max()) + 1))[depth - 1]
    at_short, at_long = overlap[starts + short - 1], overlap[starts + long - 1]
    below = np.maximum(depth - np.repeat(short, long), 0) * np.repeat(at_short / short, long) / depth
    seen = (1.0 - p) / p * np.add.reduceat((agreement + below) * weights, starts)
    extrapolated = seen + ((at_long - at_short) / long + at_short / short) * np.power(p, long)
    missing = np.add.reduceat((agreement - np.repeat(at_long, long) / depth) * weights, starts)
    low = (1.0 - p) / p * (missing - at_long * math.log1p(-p))
    return RankBiasedOverlap(np.minimum(extrapolated, 1.0), low, _residual(short, long, at_long, p))


def _residual(short: Ints, long: Ints, overlap: Floats, p: float) -> Floats:
    full = np.ceil(long + short - overlap).astype(np.int64)
    table = _table(p, int(full.max()))
    inner = short * (table[full] - table[short]) + long * (table[full] - table[long])
    inner += overlap * (-math.log1p(-p) - table[full])
    powers = np.power(p, short) + np.power(p, long) - np.power(p, full)
    return np.maximum(powers - (1.0 - p) / p * inner, 0.0)


def _persistence(default: float) -> Parameter:
    return Parameter(
        "p", "persistence: the chance that a reader goes on to the next rank", default, number="float", low=0.000001,
        high=0.999999,
    )  # fmt: skip


@dataclass(frozen=True)
class _Ideal:
    """The relevant results compared with the ideal ranking: gold by grade, equal grades in the order of the run."""

    query: Ints
    both: Ints
    """For each relevant result the depth from which on it is in both rankings."""
    relevant: Ints
    """Relevant items of the gold, by query."""


def _against_ideal(placement: Placement) -> _Ideal:
    rank = np.full(len(placement.gold_grade), np.inf)
    rank[placement.row] = placement.start + 1
    rows = np.flatnonzero(placement.gold_grade > 0)
    rows = rows[np.lexsort((rank[rows], -placement.gold_grade[rows], placement.gold_query[rows]))]
    query = placement.gold_query[rows]
    ideal = np.arange(len(rows)) - np.searchsorted(query, query) + 1
    ranked = np.isfinite(rank[rows])
    both = np.maximum(ideal[ranked], rank[rows][ranked]).astype(np.int64)
    return _Ideal(query[ranked], both, np.bincount(query, minlength=placement.count))


def _table(p: float, depth: int) -> Floats:
    """Compute the sums of p^d / d over the depths up to 0, 1, … *depth*."""
    depths = np.arange(1, depth + 1)
    return np.concatenate(([0.0], np.cumsum(np.power(p, depths) / depths)))


def _powers(p: float, depth: Ints) -> Floats:
    """Compute the sum of p^d over the depths from 1 to *depth*."""
    total: Floats = p * (1.0 - np.power(p, depth)) / (1.0 - p)
    return total


def _compat(placement: Placement, k: int | None, p: float, normalize: bool) -> Values:
    ideal = _against_ideal(placement)
    depth = np.maximum(placement.depth, ideal.relevant) if k is None else np.full(placement.count, k)
    table = _table(p, int(depth.max(initial=0)))
    within = ideal.both <= depth[ideal.query]
    query, both = ideal.query[within], ideal.both[within]
    overlap = placement.total(query, table[depth[query]] - table[both - 1])
    # The ideal ranking agrees with itself: its item j is in both from depth j on.
    listed = np.minimum(ideal.relevant, depth)
    sums = np.concatenate(([0.0], np.cumsum(table)))
    best = listed * table[depth] - sums[listed] if normalize else _powers(p, depth)
    return Values(np.divide(overlap, best, out=np.zeros(placement.count), where=(best > 0) & (ideal.relevant > 0)))


def _rbo(placement: Placement, k: int | None, p: float) -> Values:
    ideal = _against_ideal(placement)
    limit = np.iinfo(np.int64).max if k is None else k
    ranked, listed = np.minimum(placement.depth, limit), np.minimum(ideal.relevant, limit)
    short, long = np.minimum(ranked, listed), np.maximum(ranked, listed)
    table = _table(p, int(long.max(initial=0)))
    within = ideal.both <= limit
    query, both = ideal.query[within], ideal.both[within]
    seen = placement.total(query, table[long[query]] - table[both - 1])
    at_short = placement.total(query, both <= short[query]) / np.maximum(short, 1)
    at_long = placement.total(query) / np.maximum(long, 1)
    beyond = at_short * (_powers(p, long) - _powers(p, short) - short * (table[long] - table[short]))
    end = at_long + at_short * (1.0 - short / np.maximum(long, 1))
    values = (1.0 - p) / p * (seen + beyond) + end * np.power(p, long)
    return Values(np.where(short > 0, np.minimum(values, 1.0), 0.0))


register(
    Definition(
        "compat",
        "Compatibility: how much of the rank-biased overlap with its best ideal ranking a run reaches",
        "RBO with the ideal ranking of the relevant items / RBO of that ranking with itself",
        _compat,
        parameters=(
            _persistence(0.95),
            Parameter("normalize", "divide by the RBO of the ideal ranking with itself", True, (True, False)),
        ),
        expected=False,
        aliases=("compatibility",),
        cite="Clarke, Vtyurina & Smucker, 2021",
        tools=(("ir_measures", "Compat(p=0.95)"), ("compatibility.py", "compat@1000")),
        notes="The ideal ranking lists the relevant items by grade and equal grades in the order of the run, which "
        "maximises the overlap. It is read to the cutoff, by default as far as the longer of run and ideal ranking. "
        "ir_measures orders items of equal grade that are not in the run, or tied in it, by the gold file.",
    )
)
register(
    Definition(
        "rbo",
        "Rank-biased overlap with the ideal ranking, extrapolated",
        "(1 − p) Σ over depths d of p^(d − 1) · |run's first d ∩ ideal's first d| / d, extrapolated (RBO_ext)",
        _rbo,
        parameters=(_persistence(0.9),),
        expected=False,
        cite="Webber, Moffat & Zobel, 2010",
        notes="The ideal ranking is that of `compat`. Two runs are compared without gold by `goldrank diff` and "
        "`goldrank.rbo`.",
    )
)
