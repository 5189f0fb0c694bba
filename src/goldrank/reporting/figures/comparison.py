"""Which figures suit runs that were compared: the set that the report, the explorer and `goldrank plot` show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from goldrank.comparing import Comparison
from goldrank.hits import Hits
from goldrank.reporting.figures.captions import first_of
from goldrank.reporting.figures.costs import metric_by_cost
from goldrank.reporting.figures.curves import metric_by_cutoff, precision_recall
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.figures.leaderboard import critical_difference, leaderboard
from goldrank.reporting.figures.paired import differences, paired_scatter
from goldrank.reporting.figures.ranks import DRAWN, rank_curve, rank_histogram
from goldrank.scoring import Bootstrap, best_first

NAMES = (
    "rank-curve", "leaderboard", "critical-difference", "paired-scatter", "differences", "metric-by-cutoff",
    "precision-recall", "rank-histogram", "metric-by-seconds",
)  # fmt: skip
"""The figures of a comparison, in the order in which they are shown."""
OF_ONE = ("rank-curve", "metric-by-cutoff", "precision-recall", "rank-histogram")
"""Those that a single run has too."""
_WORK = 10_000_000
"""Queries times resamples, over all runs, that the bands of one figure may take."""


def comparison_figures(
    comparison: Comparison,
    hits: Mapping[str, Hits],
    *,
    seconds: Mapping[str, float] | None = None,
    how: Bootstrap | None = None,
) -> list[Figure]:
    """The figures that the compared runs allow; arguments as in `figures_or_reasons`."""
    made = figures_or_reasons(comparison, hits, seconds=seconds, how=how)
    return [one for one in made if isinstance(one, Figure)]


def figures_or_reasons(
    comparison: Comparison,
    hits: Mapping[str, Hits],
    *,
    seconds: Mapping[str, float] | None = None,
    how: Bootstrap | None = None,
    names: tuple[str, ...] = NAMES,
) -> list[Figure | LeftOut]:
    """Every figure of a comparison, or why there is none.

    The paired figures show the best run by the first metric against the next one.

    Args:
        comparison: the runs, scored; the figures read the scores and the level of significance, not the pairs.
        hits: the same runs, under the same names.
        seconds: what each run took, where known.
        how: how the bands of curves are made; by default with fewer resamples the more queries there are, since
            nobody reads their width off to the third digit.
        names: which figures to make.
    """
    return list(_made(comparison, hits, seconds or {}, how or drawn(hits), names))


def drawn(hits: Mapping[str, Hits]) -> Bootstrap:
    """How the bands of curves are made for that many queries."""
    queries = sum(len(one.queries) for one in hits.values())
    return replace(DRAWN, resamples=max(200, min(DRAWN.resamples, _WORK // max(queries, 1))))


def _made(
    comparison: Comparison,
    hits: Mapping[str, Hits],
    seconds: Mapping[str, float],
    how: Bootstrap,
    names: tuple[str, ...],
) -> Iterator[Figure | LeftOut]:
    first = first_of(comparison)
    scores = best_first(comparison.scores)
    order = list(scores)
    kept = {run: hits[run] for run in order}
    if comparison.reduced_to_common:
        kept = _answered(kept)
    conventions = first.conventions.as_dict()
    a, b = (order[1], order[0]) if len(order) > 1 else ("", "")
    makers: dict[str, Callable[[], Figure | LeftOut]] = {
        "rank-curve": lambda: rank_curve(kept, first.profile, how, **conventions),
        "leaderboard": lambda: leaderboard(scores),
        "critical-difference": lambda: critical_difference(comparison),
        "paired-scatter": lambda: paired_scatter(comparison, a, b),
        "differences": lambda: differences(comparison, a, b),
        "metric-by-cutoff": lambda: metric_by_cutoff(scores, kept, how=how),
        "precision-recall": lambda: precision_recall(scores, kept, how),
        "rank-histogram": lambda: rank_histogram(kept, first.profile, how, **conventions),
        "metric-by-seconds": lambda: metric_by_cost(scores, seconds),
    }
    for name in names:
        alone = len(order) < 2 and name not in OF_ONE
        yield LeftOut(name, "there is one run, and two are needed") if alone else makers[name]()


def _answered(hits: Mapping[str, Hits]) -> dict[str, Hits]:
    """Only the queries for which every run has results, as the comparison took them."""
    keep = np.logical_and.reduce([one.depth > 0 for one in hits.values()])
    return {run: one.keep_queries(keep) for run, one in hits.items()}
