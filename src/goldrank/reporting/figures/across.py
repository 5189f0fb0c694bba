"""The ranks of models across tasks, with the intervals that the tests of all pairs allow."""

from __future__ import annotations

from goldrank.analysis.across import AcrossComparison
from goldrank.errors import counts
from goldrank.reporting.figures.description import Axis, Bracket, Figure, LeftOut, Series
from goldrank.stats import Interval

_MOST_GROUPS = 20


def ranks_across(result: AcrossComparison) -> Figure | LeftOut:
    """Plot the mean of each model over tasks (or its win rate), joining models that the data cannot separate."""
    name = "across-tasks"
    if not result.standings:
        return LeftOut(name, result.reason)
    groups, order = result.groups, [standing.model for standing in result.standings]
    if len(groups) > _MOST_GROUPS:
        return LeftOut(name, f"the models form {len(groups)} groups, more than can be shown")
    what = "mean" if result.by_mean else "win rate"
    intervals: list[Interval | None] = [
        standing.interval if result.by_mean else standing.win_rate_interval for standing in result.standings
    ]
    values = [standing.win_rate if standing.mean is None else standing.mean for standing in result.standings]
    ends = [value if interval is None else interval.high for value, interval in zip(values, intervals, strict=True)]
    apart, brackets = 0.035 * (max(ends) - min(values) or 1.0), list[Bracket]()
    for group in groups:
        members = tuple(order.index(model) for model in group)
        beside = max([*ends[members[0] : members[-1] + 1], *(each.at for each in brackets)])
        brackets.append(Bracket(members, beside + apart))
    labels = tuple(
        f"rank {low}" if low == high else f"rank {low} to {high}"
        for low, high in ((standing.best_rank, standing.worst_rank) for standing in result.standings)
    )
    tasks = result.compared_tasks
    unit = "tasks" if result.resample_tasks else "the queries within tasks"
    lower = result.by_mean and tasks[0].direction == "lower"
    return Figure(
        name,
        "Which model is best across tasks?",
        f"Dots are {what}s over {counts(len(tasks), 'task')}, the best on top; lines are {result.bootstrap.level:.0%} "
        f"intervals from resampling {unit}. A bar joins models that the data cannot separate (paired t tests of all "
        f"pairs, Bonferroni, α = {result.alpha:g}); the ranks are those that these tests allow.",
        Axis(f"{what} over tasks ({'lower' if lower else 'higher'} is better)"),
        Axis("run", categories=tuple(order)),
        (Series.with_intervals(what, values, range(len(order)), intervals, "points", labels=labels),),
        note=f"Left out: {', '.join(result.left_out_models)}." if result.left_out_models else "",
        brackets=tuple(brackets),
    )
