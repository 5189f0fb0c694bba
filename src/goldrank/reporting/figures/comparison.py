"""The figures of runs that rank, as the report, the explorer and `goldrank plot` show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from goldrank.comparing import Comparison
from goldrank.hits import Hits
from goldrank.reporting.figures.costs import metric_by_seconds
from goldrank.reporting.figures.curves import metric_by_cutoff, precision_recall
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.figures.leaderboard import leaderboard, significance_groups
from goldrank.reporting.figures.paired import differences, paired_scatter
from goldrank.reporting.figures.ranks import FIGURE_BOOTSTRAP, rank_curve, rank_histogram
from goldrank.scoring import Bootstrap, best_first

NAMES = (
    "rank-curve", "leaderboard", "significance-groups", "paired-scatter", "differences", "metric-by-cutoff",
    "precision-recall", "rank-histogram", "metric-by-seconds",
)  # fmt: skip
"""The figures of several runs, in the order in which they are shown."""
OF_ONE = ("rank-curve", "metric-by-cutoff", "rank-histogram", "precision-recall")
"""The figures of a single run, in the order in which they are shown."""
_MOST_WORK = 10_000_000
"""Maximum of queries times resamples, over all runs, for the bands of one figure."""


def make_figures(
    compared: Comparison,
    hits: Mapping[str, Hits],
    *,
    seconds: Mapping[str, float] | None = None,
    how: Bootstrap | None = None,
    names: Sequence[str] = NAMES,
) -> list[Figure | LeftOut]:
    """Return every figure of compared runs, or the reason why it cannot be made.

    The paired figures show the best run by the first metric against the second best; both can be compared.

    Args:
        compared: the comparison of the runs, whose test decides which can be told apart; also of a single run.
        hits: the hits of the same runs, under the same names.
        seconds: the duration of each run, if known.
        how: the bootstrap of the bands; by default with fewer resamples the more queries there are.
        names: which figures to make.
    """
    scores = best_first(compared.scores)
    hits = {run: hits[run] for run in scores}
    how = how or _bootstrap_for(hits)
    first = next(iter(scores.values()))
    conventions = first.conventions.as_dict()
    order = compared.order(str(first.metrics[0]))
    best, second = [*order, "", ""][:2]
    makers: dict[str, Callable[[], Figure | LeftOut]] = {
        "rank-curve": lambda: rank_curve(hits, first.profile, how, **conventions),
        "leaderboard": lambda: leaderboard(scores),
        "significance-groups": lambda: significance_groups(compared),
        "paired-scatter": lambda: paired_scatter(scores, second, best),
        "differences": lambda: differences(scores, second, best),
        "metric-by-cutoff": lambda: metric_by_cutoff(scores, hits, how),
        "precision-recall": lambda: precision_recall(scores, hits, how),
        "rank-histogram": lambda: rank_histogram(hits, first.profile, how, **conventions),
        "metric-by-seconds": lambda: metric_by_seconds(scores, seconds or {}),
    }
    if len(scores) < 2:
        for name in set(NAMES) - set(OF_ONE):
            makers[name] = partial(LeftOut, name, "there is one run, and two are needed")
    elif len(order) < 2:
        for name in ("paired-scatter", "differences"):
            makers[name] = partial(LeftOut, name, "fewer than two runs can be compared, because others are broken")
    return [makers[name]() for name in names]


def _bootstrap_for(hits: Mapping[str, Hits]) -> Bootstrap:
    """Return the bootstrap of the bands; the third digit of their width, which needs many resamples, is not visible."""
    queries = sum(len(of_run.queries) for of_run in hits.values())
    resamples = max(200, min(FIGURE_BOOTSTRAP.resamples, _MOST_WORK // max(queries, 1)))
    return replace(FIGURE_BOOTSTRAP, resamples=resamples)
