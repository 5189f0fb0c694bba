"""Who leads, and who cannot be told apart: the leaderboard as dots, and the critical-difference diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from goldrank.comparing import Comparison
from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.reporting.figures.captions import BETTER, conventions_of, first_of, intervals_of, metric_of, queries_of
from goldrank.reporting.figures.description import Axis, Bracket, Figure, LeftOut, Series
from goldrank.reporting.figures.ranks import ends
from goldrank.reporting.text import formatting
from goldrank.scoring import Scores, best_first

_MOST_METRICS = 4


def leaderboard(scores: Mapping[str, Scores]) -> Figure:
    """Every run with its means as dots and their intervals, the best by the first metric on top.

    Metrics that are read on another scale than the first, or the other way round, are left out and named.
    """
    first = next(iter(scores.values()))
    alike = [metric for metric in first.metrics if _scale(metric) == _scale(first.metrics[0])]
    shown, hidden = alike[:_MOST_METRICS], [m for m in first.metrics if m not in alike[:_MOST_METRICS]]
    order = list(best_first(scores))
    series = []
    for metric in shown:
        values = [scores[run][str(metric)] for run in order]
        low, high = ends([one.interval for one in values])
        series.append(
            Series(str(metric), tuple(one.value for one in values), tuple(range(len(order))), low, high, "points")
        )
    named = str(shown[0]) if len(shown) == 1 else "value"
    return Figure(
        "leaderboard",
        f"Which run leads on {shown[0]}?",
        f"Dots are {_averages(shown)} over {queries_of(first)}, the best by {shown[0]} on top; "
        f"{conventions_of(first)}. Lines are {intervals_of(first.bootstrap)}.",
        Axis(f"{named} ({BETTER[shown[0].definition.direction]})"),
        Axis("run", categories=tuple(order)),
        tuple(series),
        note=f"On another scale, or without room: {', '.join(map(str, hidden))}." if hidden else "",
    )


def critical_difference(comparison: Comparison, metric: str | None = None) -> Figure | LeftOut:
    """The critical-difference diagram: mean ranks of the runs over queries, with those joined that are not told apart.

    Friedman's test asks whether the runs differ at all; Nemenyi's critical difference then says how far two mean
    ranks have to lie apart.
    """
    name, chosen = "critical-difference", metric_of(comparison, metric)
    found = mean_ranks(comparison, chosen)
    if isinstance(found, str):
        return LeftOut(name, found)
    runs = sorted(found.ranks, key=lambda run: found.ranks[run])
    ranks = [found.ranks[run] for run in runs]
    groups = _groups(ranks, found.difference if found.differ else math.inf)
    apart, brackets = 0.035 * (ranks[-1] - ranks[0] or 1.0), list[Bracket]()
    for first, last in groups:
        # To the right of its runs, whose ranks are at most that of the last, and of the bracket before.
        beside = max([ranks[last], *(one.at for one in brackets)])
        brackets.append(Bracket(first, last, beside + apart))
    said = (
        f"Runs joined by a bar lie closer than Nemenyi's critical difference of {found.difference:.2f}: the data "
        "cannot tell them apart"
        if found.differ
        else "All are joined, because Friedman's test finds no difference among them"
    )
    return Figure(
        name,
        f"Which runs can be told apart on {chosen}?",
        f"Mean rank of each run over {counts(found.queries, 'query', 'queries')}, equal values sharing their ranks. "
        f"{said} (Friedman p {_p(found.p)}, α = {comparison.alpha:g}); {conventions_of(first_of(comparison))}.",
        Axis("mean rank over queries (1 is best)"),
        Axis("run", categories=tuple(runs)),
        (Series(f"mean rank by {chosen}", tuple(ranks), tuple(range(len(runs))), mark="points"),),
        note=found.note,
        brackets=tuple(brackets),
    )


@dataclass(frozen=True)
class MeanRanks:
    """How runs stand to each other, query by query."""

    ranks: dict[str, float]
    queries: int
    p: float
    """Of Friedman's test."""
    difference: float
    """Nemenyi's: what two mean ranks have to differ by."""
    differ: bool
    note: str = ""


def mean_ranks(comparison: Comparison, metric: Metric) -> MeanRanks | str:
    """The mean rank of every run by *metric*, with the tests; or why there are none."""
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    runs, sign = list(comparison.scores), {"higher": -1.0, "lower": 1.0}.get(metric.definition.direction)
    if len(runs) < 3:
        return "it needs three runs or more; the paired figures compare two"
    if sign is None:
        return f"no direction of {metric} is the better one"
    values = np.column_stack([comparison.scores[run][str(metric)].values for run in runs])
    complete = ~np.isnan(values).any(axis=1)
    values = values[complete]
    if len(values) < 2:
        return f"fewer than two queries have a value of {metric} in every run"
    if (values == values[:, :1]).all():
        return f"all runs have the same value of {metric} on every query"
    count, size = values.shape
    p = float(friedmanchisquare(*values.T).pvalue)
    spread = float(studentized_range.ppf(1 - comparison.alpha, size, math.inf)) / math.sqrt(2)
    ranked = rankdata(sign * values, axis=1).mean(axis=0)
    left = int((~complete).sum())
    return MeanRanks(
        dict(zip(runs, ranked.tolist(), strict=True)),
        count,
        p,
        spread * math.sqrt(size * (size + 1) / (6 * count)),
        p <= comparison.alpha,
        f"{counts(left, 'query', 'queries')} without a value in some run left out." if left else "",
    )


def _groups(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """The longest stretches of sorted mean ranks that lie within *difference*, none inside another.

    >>> _groups([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for start in range(len(ranks)):
        last = max(at for at in range(start, len(ranks)) if ranks[at] - ranks[start] <= difference)
        if last > start and (not found or last > found[-1][1]):
            found.append((start, last))
    return found


def _scale(metric: Metric) -> tuple[str, str, bool]:
    definition = metric.definition
    return definition.range, definition.direction, definition.aggregate == "sum"


def _averages(metrics: list[Metric]) -> str:
    kinds = {metric.definition.aggregate for metric in metrics}
    words = {"mean": "means", "geometric": "geometric means", "median": "medians", "sum": "sums", "nauc": "areas"}
    return " or ".join(words[kind] for kind in words if kind in kinds)


def _p(value: float) -> str:
    written = formatting.p_value(value)
    return written.replace("<", "< ") if written.startswith("<") else f"= {written}"
