"""Figures of quality against cost: runs by a metric and their seconds, and indexes against exact search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldrank.analysis.audit import Audit
from goldrank.errors import counts
from goldrank.reporting.figures.captions import describe_conventions, describe_queries
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Scale, Series
from goldrank.scoring import Scores
from goldrank.stats import Interval

_WIDE = 8
"""Seconds whose highest is more than this many times the lowest have a logarithmic axis."""


def metric_by_seconds(scores: Mapping[str, Scores], seconds: Mapping[str, float]) -> Figure | LeftOut:
    """Plot the first metric of each run against the duration of the run, with the Pareto front."""
    name, first = "metric-by-seconds", next(iter(scores.values()))
    metric = first.metrics[0]
    known = [run for run in scores if seconds.get(run, 0) > 0]
    if len(known) < 2:
        return LeftOut(name, "the seconds of fewer than two runs are known")
    if metric.definition.direction == "neither":
        return LeftOut(name, f"no direction of {metric} is the better one")
    scored = {run: scores[run][str(metric)] for run in known}
    series = [
        Series.with_intervals(run, [seconds[run]], [score.value], [score.interval], "points")
        for run, score in scored.items()
    ]
    cost, means = [seconds[run] for run in known], [score.value for score in scored.values()]
    front = pareto_front(cost, means, lower=metric.definition.direction == "lower")
    if len(front) > 1:
        x, y = (tuple(column[at] for at in front) for column in (cost, means))
        series.append(Series("Pareto front", x, y, faint=True))
    scale: Scale = "log" if max(cost) > _WIDE * min(cost) else "linear"
    missing = len(scores) - len(known)
    return Figure(
        name,
        f"What does {metric} cost?",
        f"Mean over {describe_queries(first)} with its {first.bootstrap.level:.0%} interval; "
        "no run is both cheaper and better than one on the Pareto front. Seconds count as if nothing had been cached, "
        "loading included; a fusion costs at least its parts. "
        f"{describe_conventions(first).capitalize()}.",
        Axis("seconds for the whole run (less is cheaper)", scale),
        Axis(str(metric)),
        tuple(series),
        note=f"{counts(missing, 'run')} of unknown cost left out." if missing else "",
    )


def pareto_front(costs: Sequence[float], values: Sequence[float], *, lower: bool = False) -> list[int]:
    """Return the positions that no other beats in both cost and value, the cheapest first.

    >>> pareto_front([1, 2, 3, 4], [0.2, 0.5, 0.4, 0.6])
    [0, 1, 3]
    """
    sign = 1 if lower else -1
    front: list[int] = []
    for at in sorted(range(len(costs)), key=lambda at: (costs[at], sign * values[at])):
        if not front or sign * values[at] < sign * values[front[-1]]:
            front.append(at)
    return front


def index_trade_off(audit: Audit) -> list[Figure]:
    """Plot what approximate indexes lose against their speed: a figure for each metric, and one for recall."""
    speed = Axis("speed, as a multiple of exact search (more is faster)", "log")
    caption = (
        f"{counts(audit.queries, 'query', 'queries')}, {counts(audit.items, 'item')}, {audit.similarity}. "
        f"Lines are {audit.exact.bootstrap.level:.0%} intervals: bootstrap over queries."
    )
    figures = []
    for at, metric in enumerate(audit.metrics):
        pairs = [index.pairs[at] for index in audit.indexes]
        losses = [(pair.difference, pair.interval) for pair in pairs]
        figures.append(
            Figure(
                f"index-trade-off-{at + 1}",
                f"Does the index hurt {metric}?",
                f"{metric} with the index minus that of exact search: an interval that holds 0 shows no loss. "
                f"{caption}",
                speed,
                Axis(f"{metric}: index − exact", line=0),
                _by_speed(audit, 0.0, losses),
            )
        )
    recall = Figure(
        "index-recall",
        f"How many of the exact {audit.k} nearest does an index find?",
        f"Share of the exact top {audit.k} that is in the index's top {audit.k}. {caption}",
        speed,
        Axis(f"recall@{audit.k} of the exact neighbours", line=1),
        _by_speed(audit, 1.0, [(index.recall, index.recall_interval) for index in audit.indexes]),
    )
    return [*figures, recall]


def _by_speed(audit: Audit, exact: float, values: Sequence[tuple[float, Interval | None]]) -> tuple[Series, ...]:
    """Return the value of each index as a series of one point, and that of exact search in the background."""
    return (
        Series("exact search", (1.0,), (exact,), mark="points", faint=True),
        *(
            Series.with_intervals(index.factory, [index.speed], [value], [interval], "points")
            for index, (value, interval) in zip(audit.indexes, values, strict=True)
        ),
    )
