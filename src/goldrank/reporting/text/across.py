"""A comparison across tasks as people read it: the verdict, and a table of models by tasks; or as JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from goldrank.analysis.across import AcrossComparison, Standing, TaskScores
from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.verdicts import broken_lines, name_test
from goldrank.reporting.text.views import View

_ALIKE = "≈"
_MOST_NAMES = 4


def view(result: AcrossComparison) -> View:
    """Return the comparison in all its forms."""
    return View(
        lambda: as_json(result),
        lambda: _rows(result),
        lambda: [grid(result)],
        lambda: [verdict(result)],
        schema="across",
    )


def verdict(result: AcrossComparison) -> str:
    """Return which runs are broken, who leads where, and which models may be the best across tasks."""
    led: dict[str, list[str]] = {}
    for task in result.tasks:
        if task.leader is not None:
            led.setdefault(task.leader, []).append(task.task)
    parts = [
        f"{run} leads on {f'all {len(tasks)} tasks' if len(tasks) == len(result.tasks) else _listed(tasks)}"
        for run, tasks in sorted(led.items(), key=lambda entry: -len(entry[1]))
    ]
    broken = [f"{task.task}: {line}" for task in result.tasks if (line := _broken(task))]
    return " ".join(filter(None, [*broken, _across(result), f"{'; '.join(parts)}." if parts else ""]))


def _across(result: AcrossComparison) -> str:
    if not result.standings:
        return f"No model is called better across tasks: {result.reason}."
    first, *others = result.standings
    basis = "mean" if result.by_mean else "win rate"
    value = formatting.number(first.mean) if first.mean is not None else f"{first.win_rate:.1%}"
    tasks = counts(len(result.compared_tasks), "task")
    alike = [model for model in result.first if model != first.model]
    if not alike:
        return (
            f"{first.model} has the best {basis} over {tasks} ({value}), significantly better than every other model."
        )
    beaten = len(others) - len(alike)
    more = f" It is significantly better than {counts(beaten, 'other model')}." if beaten else ""
    return (
        f"The data cannot tell which model is the best over {tasks}: {first.model} has the best {basis} ({value}), but "
        f"{_listed(alike)} may be as good.{more}"
    )


def grid(result: AcrossComparison) -> Grid:
    """Return the table: models by tasks, then their means, ranks and win rates."""
    standings = {standing.model: standing for standing in result.standings}
    others = dict.fromkeys(model for task in result.tasks for model in task.values if model not in standings)
    letters = formatting.letters(len(result.groups))
    marks = {
        model: "".join(letter for letter, group in zip(letters, result.groups, strict=True) if model in group)
        for model in standings
    }
    best = result.standings[0] if result.standings else None
    rows = []
    for model in [*standings, *others]:
        row = [Cell(model, name=model), *(_cell(task, model) for task in result.tasks)]
        if best is not None:
            row += _standing_cells(standings.get(model), best, marks.get(model, ""))
        rows.append(row)
    headings = ["run", *(f"{task.task}: {task.metric}{formatting.ARROWS[task.direction]}" for task in result.tasks)]
    if best is not None:
        headings += ["mean"] if best.mean is not None else []
        headings += ["rank", "win rate↑", "Borda↑", "Bradley–Terry↑"]
    return Grid(headings, rows, title="All tasks", notes=_notes(result))


def _standing_cells(standing: Standing | None, best: Standing, marks: str) -> list[Cell]:
    if standing is None:
        return [Cell("–")] * (5 if best.mean is not None else 4)
    superscript = marks.translate(formatting.SUPERSCRIPTS)
    cells = []
    if standing.mean is not None:
        text, limits = formatting.number(standing.mean), formatting.bounds(standing.interval)
        cells.append(Cell(text, limits, superscript, best=standing.mean == best.mean))
    limits = f"[{standing.best_rank}, {standing.worst_rank}]"
    cells.append(Cell(str(standing.rank), limits, "" if cells else superscript, best=standing.rank == 1))
    cells.append(Cell(f"{standing.win_rate:.1%}", formatting.bounds(standing.win_rate_interval, "{:.1%}".format)))
    cells.append(Cell(f"{standing.borda:g}"))
    log_odds = partial(formatting.signed_number, digits=2)
    cells.append(Cell(log_odds(standing.strength), formatting.bounds(standing.strength_interval, log_odds)))
    return cells


def _cell(task: TaskScores, model: str) -> Cell:
    entry = task.values.get(model)
    if entry is None:
        return Cell("–")
    if task.profile:
        metric = Metric.parse(task.metric)
        text, detail = formatting.value(metric, entry.value), formatting.interval(metric, entry.interval)
    else:
        text, detail = formatting.number(entry.value), formatting.bounds(entry.interval)
    return Cell(text, detail, _ALIKE if model in task.alike else "", best=model == task.leader)


def _broken(task: TaskScores) -> str:
    return "" if task.comparison is None else " ".join(broken_lines(task.comparison))


def _tested(task: TaskScores) -> str:
    if not task.tested:
        return ""
    name = "the task's own paired test, Holm" if task.comparison is None else name_test(task.comparison)
    return f"{name}, α = {task.alpha:g}"


def _notes(result: AcrossComparison) -> list[str]:
    tests = dict.fromkeys(filter(None, map(_tested, result.tasks)))
    alike = f" {_ALIKE}: the data cannot tell the run from the best one ({'; '.join(tests)})." if tests else ""
    notes = [f"Bold: the best value of each task.{alike}"]
    if result.missing:
        cells = _listed([f"{model} on {task}" for model, task in result.missing])
        notes.append(f"Missing or broken: {cells}. No mean is over different tasks{_left_out(result)}.")
    if not result.standings:
        return [*notes, f"No comparison across tasks: {result.reason}."]
    tasks, how = result.compared_tasks, result.bootstrap
    unit = (
        f"tasks as a sample of {len(tasks)}"
        if result.resample_tasks
        else f"{how.resamples} resamples of the queries within tasks (seed {how.seed})"
    )
    metrics = list(dict.fromkeys(task.metric for task in tasks))
    if result.by_mean:
        same = f"of {metrics[0]}" if len(metrics) == 1 else f"of different metrics ({_listed(metrics)})"
        basis = f"Mean {same}: every task counts the same, whatever its number of queries"
    else:
        basis = "The metrics of the tasks have no common scale, so that models are ranked by their win rates"
    notes.append(f"{basis}; {how.level:.0%} intervals, {unit}.")
    shared = " Models that share a superscript cannot be separated." if result.groups else ""
    notes.append(
        f"Rank: with the ranks that paired t tests of all {counts(len(result.pairs), 'pair')} allow together "
        f"(Bonferroni, α = {result.alpha:g}).{shared}"
    )
    prior = "; with one tied contest added to each pair, because some models win all contests" * result.regularised
    notes.append(
        "Win rate: the share of the other models that a model beats on a query, where a tie is half a win. Borda: the "
        "number of models that it beats on a task, added up, without a test. Bradley–Terry: log-odds of winning "
        f"against the average model, from the win rates{prior}."
    )
    return notes


def _left_out(result: AcrossComparison) -> str:
    left = result.left_out_tasks or result.left_out_models
    what = "task" if result.left_out_tasks else "model"
    return f": without the {what}{'s' if len(left) > 1 else ''} {_listed(left)}" if left else ""


def _listed(names: Sequence[str]) -> str:
    return formatting.enumerate_names(names, _MOST_NAMES)


def as_json(result: AcrossComparison) -> dict[str, Any]:
    """Return the comparison unrounded."""
    return {
        "verdict": verdict(result),
        "cannot_tell": len(result.first) != 1,
        "reason": result.reason or None,
        "ranked_by": None if not result.standings else "mean" if result.by_mean else "win_rate",
        "resampled": "tasks" if result.resample_tasks else "queries",
        "alpha": result.alpha,
        "level": result.bootstrap.level,
        "resamples": result.bootstrap.resamples,
        "seed": result.bootstrap.seed,
        "tasks": [
            {
                "name": task.task,
                "metric": task.metric,
                "profile": task.profile or None,
                "direction": task.direction,
                "leader": task.leader,
                "alike": sorted(task.alike),
                "scores": {
                    model: {"value": entry.value, **results.limits(entry.interval)}
                    for model, entry in task.values.items()
                },
            }
            for task in result.tasks
        ],
        "missing": [{"model": model, "task": task} for model, task in result.missing],
        "left_out_models": list(result.left_out_models),
        "left_out_tasks": list(result.left_out_tasks),
        "models": [_standing_json(standing) for standing in result.standings],
        "groups": result.groups,
        "pairs": [
            {**{name: getattr(pair, name) for name in ("better", "worse", "difference", "low", "high")},
             "p_adjusted": pair.adjusted, "significant": pair.adjusted <= result.alpha}
            for pair in result.pairs
        ],
        "bradley_terry_regularised": result.regularised,
    }  # fmt: skip


def _standing_json(standing: Standing) -> dict[str, Any]:
    return {
        "name": standing.model,
        "mean": standing.mean,
        **results.limits(standing.interval),
        "rank": standing.rank,
        "rank_low": standing.best_rank,
        "rank_high": standing.worst_rank,
        "win_rate": {"value": standing.win_rate, **results.limits(standing.win_rate_interval)},
        "borda": standing.borda,
        "mean_rank": standing.mean_rank,
        "bradley_terry": {"value": standing.strength, **results.limits(standing.strength_interval)},
    }


def _rows(result: AcrossComparison) -> list[list[Any]]:
    """Return one row per model."""
    tasks = list(result.tasks)
    names = ["mean", "low", "high", "rank", "rank_low", "rank_high", "win_rate", "borda", "mean_rank", "bradley_terry"]
    standings = {standing.model: _standing_json(standing) for standing in result.standings}
    lines: list[list[Any]] = [["run", *(f"{task.task}: {task.metric}" for task in tasks), *names]]
    for model in dict.fromkeys([*standings, *(model for task in tasks for model in task.values)]):
        entry = standings.get(model, {})
        cells = [entry.get(name) for name in names]
        values = [task.values[model].value if model in task.values else None for task in tasks]
        lines.append([model, *values, *(cell["value"] if isinstance(cell, dict) else cell for cell in cells)])
    return lines
