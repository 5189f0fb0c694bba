"""Figures of ranks, for whatever has hits: how much of the gold is found how early, and where the rest lies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from goldrank.errors import counts
from goldrank.hits import Hits
from goldrank.metrics import Profile
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Mark, Numbers, Series, compact_number
from goldrank.scoring import Bootstrap, Scores, score_hits
from goldrank.stats import Interval, Sample

DRAWN = Bootstrap(resamples=2000)
"""How intervals are made: what further resamples would change cannot be seen in a figure."""
_CUTOFFS = 30
_STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def rank_curve(
    runs: Mapping[str, Hits], profile: str | Profile = "standard", how: Bootstrap = DRAWN, **conventions: Any
) -> Figure | LeftOut:
    """The gold-rank curve: the share of gold items found at rank k or better, a line for each run.

    Args:
        runs: hits by name; a line ends where the run's rankings do.
        profile: the conventions by which ranks are read.
        how: how the intervals are made, which resample queries.
        conventions: single ones that differ from the profile's.
    """
    name, deepest = "rank-curve", {run: int(hits.depth.max(initial=0)) for run, hits in runs.items()}
    if reason := _too_shallow(deepest):
        return LeftOut(name, reason)
    chosen = cutoffs(max(deepest.values()))
    series = []
    for run, hits in runs.items():
        # Its own last rank is a cutoff too, or the line would end before its rankings do.
        own = sorted({k for k in chosen if k <= deepest[run]} | {deepest[run]} - {0})
        if own:
            scores = score_hits(hits, at_cutoffs(own), profile=profile, bootstrap=how, **conventions)
            series.append(shares(run, own, scores))
    return Figure(
        name,
        "Where did the right answer land? Gold found by rank",
        caption(runs, how, scores),
        Axis("rank k", "log", low=1),
        Axis("gold found at rank k or better", percent=True, low=0),
        tuple(series),
    )


def rank_histogram(
    runs: Mapping[str, Hits], profile: str | Profile = "standard", how: Bootstrap = DRAWN, **conventions: Any
) -> Figure | LeftOut:
    """The share of gold items in each range of ranks, and of those not ranked; arguments as in `rank_curve`."""
    name, deepest = "rank-histogram", max((int(hits.depth.max(initial=0)) for hits in runs.values()), default=0)
    if reason := _too_shallow({"": deepest}):
        return LeftOut(name, reason)
    edges = rank_edges(deepest)
    series = []
    for run, hits in runs.items():
        scores = score_hits(hits, at_cutoffs(edges), profile=profile, bootstrap=how, **conventions)
        within = [score.values for score in scores.values()]
        weights = next(iter(scores.values())).weights
        # A query without gold has no place in any range, not even among the unranked.
        whole = np.ones_like(within[-1])
        columns = [
            first_part - before for before, first_part in zip([0 * whole, *within], [*within, whole], strict=True)
        ]
        samples = [Sample(column, weights) for column in columns]
        limits = how.intervals(samples)
        means = [_mean(sample) for sample in samples]
        series.append(_with_limits(run, range(len(means)), means, limits, "bars"))
    return Figure(
        name,
        "Where did the right answer land? Gold by range of ranks",
        caption(runs, how, scores),
        Axis("rank", categories=_ranges(edges)),
        Axis("share of gold", percent=True, low=0),
        tuple(series),
    )


def _mean(sample: Sample) -> float:
    from goldrank.stats import aggregate

    # Differences of shares may miss 0 by the rounding of a sum.
    return max(aggregate(sample.values, sample.weights), 0.0)


def at_cutoffs(ks: Sequence[int]) -> list[str]:
    """The metrics that give the share of gold within each cutoff."""
    return [f"hits@{k}" for k in ks]


def shares(name: str, x: Sequence[float], scores: Scores, mark: Mark = "line") -> Series:
    """The metrics of *scores* as one series with intervals, at *x*."""
    return _with_limits(name, x, [score.value for score in scores.values()], scores.intervals, mark)


def _with_limits(
    name: str, x: Sequence[float], y: Sequence[float], limits: Sequence[Interval | None], mark: Mark
) -> Series:
    low, high = ends(limits)
    return Series(name, tuple(x), tuple(y), low, high, mark)


def ends(limits: Sequence[Interval | None]) -> tuple[Numbers, Numbers]:
    """The lower and the upper limits, NaN where there is no interval."""
    return (
        tuple(math.nan if one is None else one.low for one in limits),
        tuple(math.nan if one is None else one.high for one in limits),
    )


def cutoffs(deepest: int) -> list[int]:
    """Ranks at which a curve is drawn: all as long as they are few, else evenly over the logarithms.

    >>> cutoffs(5), cutoffs(1000)[:12], len(cutoffs(1_000_000))
    ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 7, 9, 11, 14, 17, 22, 28], 30)
    """
    if deepest <= _CUTOFFS:
        return list(range(1, deepest + 1))
    return sorted({round(k) for k in np.geomspace(1, deepest, _CUTOFFS).tolist()})


def rank_edges(deepest: int) -> list[int]:
    """The last rank of each range.

    >>> rank_edges(7), rank_edges(30_000)
    ([1, 2, 3, 5, 7], [1, 2, 3, 5, 10, 100, 1000, 10000, 30000])
    """
    steps = _STEPS
    if deepest > _STEPS[-1]:
        steps = (*_STEPS[:5], *(10**power for power in range(2, int(math.log10(deepest)) + 1)))
    return [*(edge for edge in steps if edge < deepest), deepest]


def _ranges(edges: Sequence[int]) -> tuple[str, ...]:
    starts = [1, *(edge + 1 for edge in edges[:-1])]
    written = [
        compact_number(edge) if start == edge else f"{compact_number(start)}–{compact_number(edge)}"
        for start, edge in zip(starts, edges, strict=True)
    ]
    return (*written, "not ranked")


def _too_shallow(deepest: Mapping[str, int]) -> str | None:
    if max(deepest.values(), default=0) < 2:
        return "the rankings hold one item at most"
    return None


def caption(runs: Mapping[str, Hits], how: Bootstrap, scores: Scores) -> str:
    """What the shares are of, and what their intervals are."""
    gold, queries = {len(hits) for hits in runs.values()}, {len(hits.queries) for hits in runs.values()}
    over = f"{span(gold, 'gold item')} of {span(queries, 'query', 'queries')}"
    return (
        f"{over}; profile {scores.profile.name}, ties {scores.conventions.ties}. {how.level:.0%} intervals: bootstrap "
        f"over queries ({how.resamples} resamples, seed {how.seed})."
    )


def span(numbers: set[int], noun: str, plural: str | None = None) -> str:
    """One number, or the least and the most, with what is counted.

    >>> span({3}, "mask"), span({3, 7}, "query", "queries")
    ('3 masks', '3 to 7 queries')
    """
    most = counts(max(numbers), noun, plural)
    return most if len(numbers) == 1 else f"{min(numbers)} to {most}"
