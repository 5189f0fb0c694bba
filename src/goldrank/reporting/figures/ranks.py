"""Figures of the ranks of gold items, for anything that has hits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from goldrank.hits import Hits
from goldrank.metrics import Profile
from goldrank.reporting.figures.captions import describe_conventions, describe_intervals, describe_range
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series, compact_number
from goldrank.scoring import Bootstrap, Scores, score_hits
from goldrank.stats import Sample, aggregate

FIGURE_BOOTSTRAP = Bootstrap(resamples=2000)
"""The bootstrap of figures: what more resamples would change is too small to see."""
TOO_SHALLOW = "the rankings hold one item at most"
_NOTHING_RELEVANT = "no judged item is relevant under these conventions"
_CUTOFFS = 30
_MOST_RUNS = 6
"""The number of runs whose bars stand beside each other."""
_STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def rank_curve(
    runs: Mapping[str, Hits],
    profile: str | Profile = "standard",
    how: Bootstrap = FIGURE_BOOTSTRAP,
    **conventions: Any,
) -> Figure | LeftOut:
    """Plot the gold-rank curve: the share of gold items found at rank k or better, a line for each run.

    Args:
        runs: hits by name; a line ends where the rankings of the run end.
        profile: the conventions by which ranks are read.
        how: the bootstrap of the intervals, which resamples queries.
        conventions: single conventions that differ from those of the profile.
    """
    name, depths = "rank-curve", {run: int(hits.depth.max(initial=0)) for run, hits in runs.items()}
    deepest = max(depths.values(), default=0)
    if deepest < 2:
        return LeftOut(name, TOO_SHALLOW)
    series = []
    for run, hits in runs.items():
        # The last rank of the run is a cutoff too, or the line would end before its rankings do.
        ks = sorted({k for k in cutoffs(deepest) if k <= depths[run]} | {depths[run]} - {0})
        if ks:
            scores = score_hits(hits, hits_at(ks), profile=profile, bootstrap=how, **conventions)
            if _are_undefined(scores):
                return LeftOut(name, _NOTHING_RELEVANT)
            series.append(score_series(run, ks, scores))
    return Figure(
        name,
        "Where did the right answer land? Gold found by rank",
        _caption(runs, how, scores),
        Axis("rank k", "log", low=1),
        Axis("gold found at rank k or better", percent=True, low=0),
        tuple(series),
    )


def rank_histogram(
    runs: Mapping[str, Hits],
    profile: str | Profile = "standard",
    how: Bootstrap = FIGURE_BOOTSTRAP,
    **conventions: Any,
) -> Figure | LeftOut:
    """Plot the share of gold items in each range of ranks, and of those not ranked; arguments as in `rank_curve`.

    More bars than those of the first six runs could not be told apart.
    """
    all_runs, runs = runs, dict(list(runs.items())[:_MOST_RUNS])
    name, deepest = "rank-histogram", max((int(hits.depth.max(initial=0)) for hits in runs.values()), default=0)
    if deepest < 2:
        return LeftOut(name, TOO_SHALLOW)
    edges = rank_edges(deepest)
    series = []
    for run, hits in runs.items():
        scores = score_hits(hits, hits_at(edges), profile=profile, bootstrap=how, **conventions)
        if _are_undefined(scores):
            return LeftOut(name, _NOTHING_RELEVANT)
        within = [score.values for score in scores.values()]
        weights = next(iter(scores.values())).weights
        # A query without gold is in no range, not even among the unranked.
        whole = np.ones_like(within[-1])
        starts, ends = [0 * whole, *within], [*within, whole]
        samples = [Sample(end - start, weights) for start, end in zip(starts, ends, strict=True)]
        # Differences of shares may miss 0 by the rounding of a sum.
        means = [max(aggregate(sample.values, sample.weights), 0.0) for sample in samples]
        series.append(Series.with_intervals(run, range(len(means)), means, how.intervals(samples), "bars"))
    return Figure(
        name,
        "Where did the right answer land? Gold by range of ranks",
        _caption(runs, how, scores),
        Axis("rank", categories=_ranges(edges)),
        Axis("share of gold", percent=True, low=0),
        tuple(series),
        note=f"The first {len(runs)} of {len(all_runs)} runs." if len(runs) < len(all_runs) else "",
    )


def _are_undefined(scores: Scores) -> bool:
    return any(math.isnan(score.value) for score in scores.values())


def hits_at(ks: Iterable[int]) -> list[str]:
    """Return the metrics that give the share of gold within each cutoff."""
    return [f"hits@{k}" for k in ks]


def score_series(name: str, x: Sequence[float], scores: Scores, *, hollow: bool = False) -> Series:
    """Return the metrics of *scores* as a line with intervals at the places *x*."""
    return Series.with_intervals(name, x, [score.value for score in scores.values()], scores.intervals, hollow=hollow)


def cutoffs(deepest: int) -> list[int]:
    """Return the ranks at which a curve has points: all if they are few, else evenly over the logarithms.

    >>> cutoffs(5), cutoffs(1000)[:12], len(cutoffs(1_000_000))
    ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 7, 9, 11, 14, 17, 22, 28], 30)
    """
    if deepest <= _CUTOFFS:
        return list(range(1, deepest + 1))
    return sorted({round(k) for k in np.geomspace(1, deepest, _CUTOFFS).tolist()})


def rank_edges(deepest: int) -> list[int]:
    """Return the last rank of each range of a histogram.

    >>> rank_edges(7), rank_edges(30_000)
    ([1, 2, 3, 5, 7], [1, 2, 3, 5, 10, 100, 1000, 10000, 30000])
    """
    steps = _STEPS
    if deepest > _STEPS[-1]:
        steps = (*_STEPS[:5], *(10**power for power in range(2, int(math.log10(deepest)) + 1)))
    return [*(edge for edge in steps if edge < deepest), deepest]


def _ranges(edges: Sequence[int]) -> tuple[str, ...]:
    starts = [1, *(edge + 1 for edge in edges[:-1])]
    names = [
        compact_number(edge) if start == edge else f"{compact_number(start)}–{compact_number(edge)}"
        for start, edge in zip(starts, edges, strict=True)
    ]
    return (*names, "not ranked")


def _caption(runs: Mapping[str, Hits], how: Bootstrap, scores: Scores) -> str:
    gold = describe_range({len(hits) for hits in runs.values()}, "gold item")
    queries = describe_range({len(hits.queries) for hits in runs.values()}, "query", "queries")
    return f"{gold} of {queries}; {describe_conventions(scores)}. {describe_intervals(how)}."
