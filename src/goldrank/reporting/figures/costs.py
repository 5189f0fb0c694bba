"""What quality costs: a metric against seconds, memory or dimension, and indexes against exact search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldrank.analysis.audit import Audit
from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.reporting.figures.captions import conventions_of, queries_of
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Scale, Series
from goldrank.reporting.figures.ranks import ends
from goldrank.scoring import Scores

COSTS = {
    "seconds": "seconds for the whole run (less is cheaper)",
    "memory": "memory in bytes (less is cheaper)",
    "dimension": "dimensions of a vector (fewer are cheaper)",
}
_WIDE = 8
"""A range of costs with a larger ratio than this is drawn on a logarithmic axis."""


def metric_by_cost(
    scores: Mapping[str, Scores], costs: Mapping[str, float], what: str = "seconds", metric: str | None = None
) -> Figure | LeftOut:
    """A metric of each run against what the run costs, with the front of those that no other run beats on both.

    Args:
        scores: the runs as they were scored.
        costs: of each run, where known.
        what: one of ``COSTS``, or any other cost with its unit.
        metric: by default the first.
    """
    name, first = f"metric-by-{what if what in COSTS else 'cost'}", next(iter(scores.values()))
    chosen = first.metrics[0] if metric is None else first[metric].metric
    known = [run for run in scores if costs.get(run, 0) > 0]
    if len(known) < 2:
        return LeftOut(name, f"the {what} of fewer than two runs are known")
    if chosen.definition.direction == "neither":
        return LeftOut(name, f"no direction of {chosen} is the better one")
    values = [scores[run][str(chosen)] for run in known]
    cost, means = [costs[run] for run in known], [one.value for one in values]
    low, high = ends([one.interval for one in values])
    runs = Series("runs", tuple(cost), tuple(means), low, high, "points", labels=tuple(known))
    front = pareto_front(cost, means, lower=chosen.definition.direction == "lower")
    series = [runs]
    if len(front) > 1:
        line = Series(
            "Pareto front", tuple(cost[at] for at in front), tuple(means[at] for at in front), mark="line", faint=True
        )
        series.append(line)
    scale: Scale = "log" if max(cost) > _WIDE * min(cost) else "linear"
    missing = len(scores) - len(known)
    return Figure(
        name,
        f"What does {chosen} cost?",
        f"Mean over {queries_of(first)} with its {first.bootstrap.level:.0%} interval; "
        "no run is both cheaper and better than one on the Pareto front. "
        f"{conventions_of(first).capitalize()}.",
        Axis(COSTS.get(what, what), scale),
        Axis(str(chosen)),
        tuple(series),
        note=f"{counts(missing, 'run')} of unknown cost left out." if missing else "",
    )


def pareto_front(costs: Sequence[float], values: Sequence[float], *, lower: bool = False) -> list[int]:
    """The positions that no other beats on both, the cheapest first.

    >>> pareto_front([1, 2, 3, 4], [0.2, 0.5, 0.4, 0.6])
    [0, 1, 3]
    """
    sign = 1 if lower else -1
    front: list[int] = []
    for at in sorted(range(len(costs)), key=lambda at: (costs[at], sign * values[at])):
        if not front or sign * values[at] < sign * values[front[-1]]:
            front.append(at)
    return front


def index_trade_off(made: Audit) -> list[Figure]:
    """What approximate indexes lose against what they gain: a figure for each metric, and one for recall."""
    speed = Axis("speed, as a multiple of exact search (more is faster)", "log")
    caption = (
        f"{counts(made.queries, 'query', 'queries')}, {counts(made.items, 'item')}, {made.similarity}. "
        f"Lines are {made.exact.bootstrap.level:.0%} intervals: bootstrap over queries."
    )
    figures = [_loss(made, at, metric, speed, caption) for at, metric in enumerate(made.metrics)]
    series = [_exact(1.0)]
    for one in made.indexes:
        low, high = ends([one.recall_interval])
        series.append(Series(one.factory, (one.speed,), (one.recall,), low, high, "points"))
    recall = Figure(
        "index-recall",
        f"How many of the exact {made.k} nearest does an index find?",
        f"Share of the exact top {made.k} that is in the index's top {made.k}. {caption}",
        speed,
        Axis(f"recall@{made.k} of the exact neighbours", line=1),
        tuple(series),
    )
    return [*figures, recall]


def _loss(made: Audit, at: int, metric: Metric, speed: Axis, caption: str) -> Figure:
    series = [_exact(0.0)]
    for one in made.indexes:
        low, high = ends([one.pairs[at].interval])
        series.append(Series(one.factory, (one.speed,), (one.pairs[at].difference,), low, high, "points"))
    return Figure(
        f"index-trade-off-{at + 1}",
        f"Does the index hurt {metric}?",
        f"{metric} with the index minus that of exact search: an interval that holds 0 shows no loss. {caption}",
        speed,
        Axis(f"{metric}: index − exact", line=0),
        tuple(series),
    )


def _exact(value: float) -> Series:
    return Series("exact search", (1.0,), (value,), mark="points", faint=True)
