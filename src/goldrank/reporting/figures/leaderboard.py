"""The leaderboard as a dot plot, and the critical-difference diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.reporting.figures.captions import (
    BETTER,
    describe_conventions,
    describe_intervals,
    describe_queries,
)
from goldrank.reporting.figures.description import Axis, Bracket, Figure, LeftOut, Series
from goldrank.reporting.text import formatting
from goldrank.scoring import Scores, best_first

_MOST_METRICS = 4


def leaderboard(scores: Mapping[str, Scores]) -> Figure:
    """Plot the means of every run with their intervals, the best run by the first metric on top.

    Metrics with another scale or direction than the first are left out and named in the note.
    """
    first = next(iter(scores.values()))
    alike = [metric for metric in first.metrics if _scale(metric) == _scale(first.metrics[0])]
    shown, hidden = alike[:_MOST_METRICS], [m for m in first.metrics if m not in alike[:_MOST_METRICS]]
    order = list(best_first(scores))
    series = []
    for metric in shown:
        values = [scores[run][str(metric)] for run in order]
        means, intervals = [score.value for score in values], [score.interval for score in values]
        series.append(Series.with_intervals(str(metric), means, range(len(order)), intervals, "points"))
    named = str(shown[0]) if len(shown) == 1 else "value"
    return Figure(
        "leaderboard",
        f"Which run leads on {shown[0]}?",
        f"Dots are {_averages(shown)} over {describe_queries(first)}, the best by {shown[0]} on top; "
        f"{describe_conventions(first)}. Lines are {describe_intervals(first.bootstrap)}.",
        Axis(f"{named} ({BETTER[shown[0].definition.direction]})"),
        Axis("run", categories=tuple(order)),
        tuple(series),
        note=f"On another scale, or without room: {', '.join(map(str, hidden))}." if hidden else "",
    )


def critical_difference(scores: Mapping[str, Scores], alpha: float = 0.05) -> Figure | LeftOut:
    """Plot mean ranks of the runs by the first metric, joining runs that do not differ significantly.

    Friedman's test decides whether the runs differ at all; Nemenyi's critical difference is the least difference of
    two mean ranks that is significant.
    """
    name, first = "critical-difference", next(iter(scores.values()))
    metric = first.metrics[0]
    result = mean_ranks(scores, metric, alpha)
    if isinstance(result, str):
        return LeftOut(name, result)
    runs = sorted(result.ranks, key=lambda run: result.ranks[run])
    ranks = [result.ranks[run] for run in runs]
    groups = _groups(ranks, result.difference if result.differ else math.inf)
    apart, brackets = 0.035 * (ranks[-1] - ranks[0] or 1.0), list[Bracket]()
    for start, last in groups:
        # To the right of its runs, whose ranks are at most that of the last, and of the bracket before.
        beside = max([ranks[last], *(bracket.at for bracket in brackets)])
        brackets.append(Bracket(start, last, beside + apart))
    joined = (
        f"Runs joined by a bar lie closer than Nemenyi's critical difference of {result.difference:.2f}: the data "
        "cannot tell them apart"
        if result.differ
        else "All are joined, because Friedman's test finds no difference among them"
    )
    return Figure(
        name,
        f"Which runs can be told apart on {metric}?",
        f"Mean rank of each run over {counts(result.queries, 'query', 'queries')}, equal values sharing their ranks. "
        f"{joined} (Friedman p {_p(result.p)}, α = {alpha:g}); {describe_conventions(first)}.",
        Axis("mean rank over queries (1 is best)"),
        Axis("run", categories=tuple(runs)),
        (Series(f"mean rank by {metric}", tuple(ranks), tuple(range(len(runs))), mark="points"),),
        note=result.note,
        brackets=tuple(brackets),
    )


@dataclass(frozen=True)
class MeanRanks:
    """The mean ranks of runs over queries, with the tests of their differences."""

    ranks: dict[str, float]
    queries: int
    p: float
    """The p-value of Friedman's test."""
    difference: float
    """Nemenyi's critical difference of two mean ranks."""
    differ: bool
    note: str = ""


def mean_ranks(scores: Mapping[str, Scores], metric: Metric, alpha: float) -> MeanRanks | str:
    """Return the mean rank of every run by *metric* with the tests, or the reason why there are none."""
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    runs, sign = list(scores), {"higher": -1.0, "lower": 1.0}.get(metric.definition.direction)
    if len(runs) < 3:
        return "it needs three runs or more; the paired figures compare two"
    if sign is None:
        return f"no direction of {metric} is the better one"
    values = np.column_stack([of_run[str(metric)].values for of_run in scores.values()])
    complete = ~np.isnan(values).any(axis=1)
    values = values[complete]
    if len(values) < 2:
        return f"fewer than two queries have a value of {metric} in every run"
    if (values == values[:, :1]).all():
        return f"all runs have the same value of {metric} on every query"
    count, size = values.shape
    p = float(friedmanchisquare(*values.T).pvalue)
    spread = float(studentized_range.ppf(1 - alpha, size, math.inf)) / math.sqrt(2)
    ranked = rankdata(sign * values, axis=1).mean(axis=0)
    left = int((~complete).sum())
    return MeanRanks(
        dict(zip(runs, ranked.tolist(), strict=True)),
        count,
        p,
        spread * math.sqrt(size * (size + 1) / (6 * count)),
        p <= alpha,
        f"{counts(left, 'query', 'queries')} without a value in some run left out." if left else "",
    )


def _groups(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """Return the longest intervals of sorted mean ranks that lie within *difference*, none inside another.

    >>> _groups([1.0, 1.5, 2.2, 4.0], 1.0)
    [(0, 1), (1, 2)]
    """
    groups: list[tuple[int, int]] = []
    for start in range(len(ranks)):
        last = max(at for at in range(start, len(ranks)) if ranks[at] - ranks[start] <= difference)
        if last > start and (not groups or last > groups[-1][1]):
            groups.append((start, last))
    return groups


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
