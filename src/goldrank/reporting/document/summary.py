"""The summary of a report on several tasks: every run by its headline on every task, and its mean rank."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import rankdata

from goldrank.comparing import Comparison
from goldrank.errors import counts
from goldrank.reporting.document.sections import Headline, HeadlineValue, Section
from goldrank.reporting.render.themes import colour_name
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.results import plain, score_cell
from goldrank.reporting.text.verdicts import broken_lines, name_test
from goldrank.scoring import Score

_ALIKE = "≈"
_MOST_NAMES = 4


@dataclass(frozen=True)
class Summary:
    """What comes before the sections."""

    verdict: str
    table: Grid
    palette: Mapping[str, int]
    """The number of the look of each run, as in the sections."""


def headline_of(compared: Comparison) -> Headline:
    """Return the first metric of each run, and which runs the test cannot tell from the best."""
    first = next(iter(compared.scores.values()))
    metric = str(first.metrics[0])
    direction, order = first.metrics[0].definition.direction, compared.order(metric)
    leader = order[0] if len(order) > 1 and direction != "neither" else None
    beaten = () if leader is None else compared.better_than(metric, leader)
    return Headline(
        metric,
        first.profile.name,
        direction,
        {name: _headline_value(scores[metric]) for name, scores in compared.scores.items()},
        leader,
        frozenset(run for run in order if run != leader and run not in beaten) if leader is not None else frozenset(),
        f"{name_test(compared)}, α = {compared.alpha:g}" if leader is not None else "",
        " ".join(broken_lines(compared)),
    )


def _headline_value(score: Score) -> HeadlineValue:
    cell = score_cell(score)
    return HeadlineValue(score.value, cell.text, cell.detail)


def summarise(sections: Sequence[Section]) -> Summary | None:
    """Return the summary of several sections, or None if no run is in two of them."""
    headlines = {name: section.headline for name, section in zip(_task_names(sections), sections, strict=True)}
    known = {name: headline for name, headline in headlines.items() if headline is not None}
    tasks_of = Counter(run for headline in known.values() for run in headline.values)
    if max(tasks_of.values(), default=0) < 2:
        return None
    ranks = _mean_ranks(known)
    palette = {name: number for section in reversed(sections) for name, number in section.palette.items()}
    return Summary(_verdict(known, ranks), _table(known, ranks), palette)


def as_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as JSON data, its looks as the names of colours."""
    palette = {name: colour_name(number) for name, number in summary.palette.items()}
    return {"verdict": summary.verdict, "table": plain(summary.table), "palette": palette}


def _task_names(sections: Sequence[Section]) -> list[str]:
    """Return the tasks, numbered where one has several sections, because its runs were on different data."""
    total, seen = Counter(section.task for section in sections), Counter[str]()
    names = []
    for section in sections:
        seen[section.task] += 1
        names.append(f"{section.task} ({seen[section.task]})" if total[section.task] > 1 else section.task)
    return names


def _mean_ranks(headlines: Mapping[str, Headline]) -> dict[str, float]:
    """Return the mean ranks of the runs with a value on every task, best first; none if they are fewer than two."""
    runs = [
        run
        for run in next(iter(headlines.values())).values
        if all(run in of.values and math.isfinite(of.values[run].value) for of in headlines.values())
    ]
    if len(runs) < 2 or any(of.direction == "neither" for of in headlines.values()):
        return {}
    totals = dict.fromkeys(runs, 0.0)
    for of in headlines.values():
        sign = 1 if of.direction == "lower" else -1
        for run, rank in zip(runs, rankdata([sign * of.values[run].value for run in runs]), strict=True):
            totals[run] += float(rank)
    means = {run: total / len(headlines) for run, total in totals.items()}
    return dict(sorted(means.items(), key=lambda entry: entry[1]))


def _table(headlines: Mapping[str, Headline], ranks: Mapping[str, float]) -> Grid:
    others = dict.fromkeys(run for of in headlines.values() for run in of.values if run not in ranks)
    runs = [*ranks, *others]
    best_rank = min(ranks.values(), default=math.nan)
    mean = _same_metric(headlines) is not None
    averages = {run: sum(of.values[run].value for of in headlines.values()) / len(headlines) for run in ranks}
    lower = next(iter(headlines.values())).direction == "lower"
    best_mean = (min if lower else max)(averages.values(), default=math.nan)
    rows = []
    for run in runs:
        row = [Cell(run), *(_cell(of, run) for of in headlines.values())]
        if ranks:
            row.append(Cell(f"{ranks[run]:.2f}", best=ranks[run] == best_rank) if run in ranks else Cell("–"))
            if mean:
                row.append(Cell(f"{averages[run]:.4f}", best=averages[run] == best_mean) if run in ranks else Cell("–"))
        rows.append(row)
    arrows = {"higher": "↑", "lower": "↓", "neither": ""}
    headings = ["run", *(f"{task}: {of.metric}{arrows[of.direction]}" for task, of in headlines.items())]
    headings += ["mean rank↓", *(["mean"] if mean else [])] if ranks else []
    return Grid(headings, rows, title="All tasks", notes=_notes(headlines, ranks, list(others)))


def _cell(headline: Headline, run: str) -> Cell:
    value = headline.values.get(run)
    if value is None:
        return Cell("–")
    alike = run in headline.alike
    return Cell(value.text, value.detail, _ALIKE if alike else "", best=run == headline.leader)


def _same_metric(headlines: Mapping[str, Headline]) -> str | None:
    """Return the metric of all tasks, or None if they differ."""
    metrics = {(of.metric, of.profile) for of in headlines.values()}
    return next(iter(metrics))[0] if len(metrics) == 1 else None


def _notes(headlines: Mapping[str, Headline], ranks: Mapping[str, float], others: Sequence[str]) -> list[str]:
    tests = dict.fromkeys(of.tested for of in headlines.values() if of.tested)
    alike = f" {_ALIKE}: the data cannot tell the run from the best one ({'; '.join(tests)})." if tests else ""
    notes = [f"Bold: the best value of each task.{alike}"]
    if not ranks:
        return [*notes, "No mean rank: fewer than two runs have a value on every task."]
    metric = _same_metric(headlines)
    compared = (
        f"Every task counts the same in the mean of {metric}, whatever its number of queries"
        if metric
        else "The tasks differ in their metrics or conventions, so that a mean of their values would mean nothing"
    )
    notes.append(
        f"Mean rank: the mean of the places of {counts(len(ranks), 'run')} on {len(headlines)} tasks, 1 is best; it "
        f"says nothing about the size of a difference, and no test stands behind it. {compared}."
    )
    if others:
        notes.append(f"Without a mean rank, because a task is missing: {_listed(others)}.")
    return notes


def _verdict(headlines: Mapping[str, Headline], ranks: Mapping[str, float]) -> str:
    """Return which runs are broken, who leads where, whether it is significant, and who has the best mean rank."""
    led: dict[str, list[str]] = {}
    for task, of in headlines.items():
        if of.leader is not None:
            led.setdefault(of.leader, []).append(task)
    parts = [
        f"{run} leads on {f'all {len(tasks)} tasks' if len(tasks) == len(headlines) else _listed(tasks)}"
        for run, tasks in sorted(led.items(), key=lambda entry: -len(entry[1]))
    ]
    ahead = [task for task, of in headlines.items() if of.leader is not None and of.tested and not of.alike]
    significant = (
        f"the lead is significant over every other run on {_listed(ahead)}"
        if ahead
        else "on no task is the lead significant over every other run"
    )
    broken = [f"{task}: {of.broken}" for task, of in headlines.items() if of.broken]
    sentence = " ".join([*broken, f"{'; '.join(parts)}; {significant}." if parts else ""])
    if ranks:
        first = [run for run, rank in ranks.items() if rank == min(ranks.values())]
        verb = "has" if len(first) == 1 else "share"
        sentence += f" {_listed(first)} {verb} the best mean rank, {min(ranks.values()):.2f}."
    return sentence.strip()


def _listed(names: Sequence[str]) -> str:
    shown = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} others"] if len(names) > _MOST_NAMES else names
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
