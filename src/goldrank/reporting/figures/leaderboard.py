"""The leaderboard as a dot plot, and the groups of runs that cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Mapping

from goldrank.comparing import Comparison
from goldrank.metrics import Metric
from goldrank.reporting.figures.captions import (
    BETTER,
    describe_conventions,
    describe_intervals,
    describe_queries,
    describe_range,
)
from goldrank.reporting.figures.description import Axis, Bracket, Figure, LeftOut, Series
from goldrank.reporting.text.verdicts import name_test
from goldrank.scoring import Scores, best_first

_MOST_METRICS = 4
_MOST_GROUPS = 20


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


def significance_groups(compared: Comparison) -> Figure | LeftOut:
    """Plot the runs by the first metric, joining those that its test cannot tell apart: any two runs of a bar."""
    name, first = "significance-groups", next(iter(compared.scores.values()))
    metric, order = first.metrics[0], compared.order(str(first.metrics[0]))
    tested = [pair for pair in compared.pairs if pair.metric == str(metric) and not pair.unfit]
    if len(order) < 3:
        return LeftOut(name, "it needs three runs or more; the paired figures compare two")
    if metric.definition.direction == "neither":
        return LeftOut(name, f"no direction of {metric} is the better one")
    if any(math.isnan(pair.adjusted) for pair in tested):
        why = next((pair.note for pair in tested if pair.note), "there are too few queries")
        return LeftOut(name, f"not every pair was tested on {metric}: {why}")
    groups = compared.groups(str(metric))
    if len(groups) > _MOST_GROUPS:
        return LeftOut(name, f"the runs form {len(groups)} groups, more than can be shown")
    values = [compared.scores[run][str(metric)].value for run in order]
    apart, brackets = 0.035 * (max(values) - min(values) or 1.0), list[Bracket]()
    for group in groups:
        # Beside the dots of its runs, and beside the bar before.
        members = tuple(order.index(run) for run in group)
        beside = max([*(values[at] for at in range(members[0], members[-1] + 1)), *(each.at for each in brackets)])
        brackets.append(Bracket(members, beside + apart))
    queries = describe_range({pair.queries for pair in tested}, "query", "queries")
    joined = (
        "Any two runs that a bar joins cannot be told apart, and any two that no bar joins differ significantly"
        if groups
        else "Any two runs differ significantly"
    )
    left_out = [run for run in compared.scores if run not in order]
    return Figure(
        name,
        f"Which runs can be told apart on {metric}?",
        f"Dots are {_averages([metric])} over {queries}. {joined} ({name_test(compared)}{_family(compared)}, α = "
        f"{compared.alpha:g}); {describe_conventions(first)}.",
        Axis(f"{metric} ({BETTER[metric.definition.direction]})"),
        Axis("run", categories=tuple(order)),
        (Series(str(metric), tuple(values), tuple(range(len(order))), mark="points"),),
        note=f"Broken, and not compared: {', '.join(left_out)}." if left_out else "",
        brackets=tuple(brackets),
    )


def _family(compared: Comparison) -> str:
    if compared.correction in ("none", "tukey"):
        return ""
    return " over the pairs of the metric" if compared.family == "metric" else " over all pairs and metrics"


def _scale(metric: Metric) -> tuple[str, str, bool]:
    definition = metric.definition
    return definition.range, definition.direction, definition.aggregate == "sum"


def _averages(metrics: list[Metric]) -> str:
    kinds = {metric.definition.aggregate for metric in metrics}
    words = {"mean": "means", "geometric": "geometric means", "median": "medians", "sum": "sums", "nauc": "areas"}
    return " or ".join(words[kind] for kind in words if kind in kinds)
