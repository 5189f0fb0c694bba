"""The results of `goldrank judge leaderboard` and `goldrank judge next`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from goldrank.errors import counts
from goldrank.judging.estimates import DifferenceEstimate, JudgedEstimate, JudgedLeaderboard, SystemEstimate
from goldrank.judging.next_labels import NextLabels
from goldrank.judging.progress import command
from goldrank.metrics import Metric
from goldrank.reporting.text import formatting
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View


def view(result: JudgedLeaderboard | NextLabels) -> View:
    """Return a result in all its forms."""
    if isinstance(result, NextLabels):
        return _next_view(result)
    return View(
        lambda: asdict(result),
        lambda: _rows([*map(_system_row, result.systems), *map(_difference_row, result.differences)]),
        lambda: _leaderboard_grids(result),
        lead=lambda: list(result.sentences),
        schema="judge-leaderboard",
    )


def _system_row(entry: SystemEstimate) -> dict[str, Any]:
    row = {"metric": entry.metric, "system": entry.system, "less": ""}
    return row | _columns(entry.human, entry.model, entry.corrected, entry.weight) | {"p": None, "verdict": ""}


def _difference_row(entry: DifferenceEstimate) -> dict[str, Any]:
    row = {"metric": entry.metric, "system": entry.system, "less": entry.other}
    columns = _columns(entry.human, entry.model, entry.corrected, entry.weight)
    return row | columns | {"p": entry.p, "verdict": entry.verdict}


def _columns(
    human: JudgedEstimate, model: float | None, corrected: JudgedEstimate | None, weight: float | None
) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for name, estimate in (("human", human), ("corrected", corrected)):
        row[name] = None if estimate is None else estimate.value
        row |= {f"{name}_{side}": None if estimate is None else getattr(estimate, side) for side in ("low", "high")}
    return row | {"model": model, "weight": weight}


def _rows(rows: list[dict[str, Any]]) -> list[list[Any]]:
    return [list(rows[0]), *(list(row.values()) for row in rows)]


def _leaderboard_grids(result: JudgedLeaderboard) -> list[Grid]:
    grids = []
    for name in dict.fromkeys(entry.metric for entry in result.systems):
        metric = Metric.parse(name)
        systems = [entry for entry in result.systems if entry.metric == name]
        systems.sort(key=lambda entry: -entry.believed(result.believe).value)
        leader = systems[0].system
        differences = {
            frozenset((entry.system, entry.other)): entry for entry in result.differences if entry.metric == name
        }
        rows = []
        for entry in systems:
            cells = [
                Cell(entry.system),
                _cell(metric, entry.human, best=result.believe == "human" and entry is systems[0]),
            ]
            if result.judge is not None:
                cells.append(Cell("–" if entry.model is None else formatting.value(metric, entry.model)))
            if result.believe == "corrected":
                cells.append(_cell(metric, entry.corrected, best=entry is systems[0]))
            other = differences.get(frozenset((leader, entry.system)))
            cells.append(Cell("–") if other is None else _behind(metric, other, leader, result))
            cells.append(Cell("" if other is None else formatting.p_value(other.p)))
            rows.append(cells)
        headings = [formatting.heading(metric), "human", *(["model only"] if result.judge is not None else [])]
        headings += ["corrected"] if result.believe == "corrected" else []
        grids.append(Grid([*headings, "behind the first", "p"], rows))
    notes = _notes(result)
    grids[-1] = Grid(grids[-1].headings, grids[-1].rows, notes=notes)
    if result.outside:
        rows = [
            [
                Cell(entry.system),
                Cell(formatting.heading(metric)),
                Cell(f"{entry.unjudged:.0%}"),
                Cell(formatting.value(metric, entry.none_relevant)),
                Cell(formatting.value(metric, entry.all_relevant)),
            ]
            for entry in result.outside
            for metric in [Metric.parse(entry.metric)]
        ]
        title = "Not in the pool: no estimate"
        headings = ["system", "metric", "unjudged results", "if none is relevant", "if all are relevant"]
        grids.append(Grid(headings, rows, title=title, text_columns=2, key_columns=2))
    return grids


def _cell(metric: Metric, estimate: JudgedEstimate | None, *, best: bool) -> Cell:
    if estimate is None:
        return Cell("–")
    limits = f"[{formatting.value(metric, estimate.low)}, {formatting.value(metric, estimate.high)}]"
    return Cell(formatting.value(metric, estimate.value), limits, best=best)


def _behind(metric: Metric, entry: DifferenceEstimate, leader: str, result: JudgedLeaderboard) -> Cell:
    """Return by how much a system is behind the leading one."""
    estimate = entry.believed(result.believe)
    sign = 1 if entry.system == leader else -1
    low, high = sorted((sign * estimate.low, sign * estimate.high))
    limits = f"[{formatting.signed(metric, low)}, {formatting.signed(metric, high)}]"
    return Cell(formatting.signed(metric, sign * estimate.value), limits, "" if entry.verdict == "cannot_tell" else "*")


def _notes(result: JudgedLeaderboard) -> list[str]:
    target = "queries like these" if result.target == "queries" else "these queries"
    notes = [
        f"Means over {target}, with the labels that people would give to the whole pool; {result.level:.0%} intervals "
        f"from {counts(result.judged, 'judged query', 'judged queries')}. p and * after Holm over all pairs.",
    ]
    if result.unclear:
        notes.append(f"{counts(result.unclear, 'item')} that nobody could judge counts as not relevant.")
    return notes


def _next_view(result: NextLabels) -> View:
    return View(
        lambda: _next_content(result),
        lambda: _rows([asdict(entry) for entry in result.differences]),
        lambda: [_race_grid(result)],
        lead=lambda: list(result.sentences),
        tail=lambda: (
            [f"next: {command('serve', result.folder)}"] if result.decision in ("continue", "judge_planned") else []
        ),
        schema="judge-next",
    )


def _next_content(result: NextLabels) -> dict[str, Any]:
    content = asdict(result)
    content["added"] = [{"query": unit.query, "labels": len(unit.items)} for unit in result.added]
    content["added_labels"] = result.added_labels
    return content


def _race_grid(result: NextLabels) -> Grid:
    metric = Metric.parse(result.metric)
    rows = [
        [
            Cell(f"{entry.system} − {entry.other}"),
            Cell(formatting.signed(metric, entry.value)),
            Cell(f"[{formatting.signed(metric, entry.low)}, {formatting.signed(metric, entry.high)}]"),
            Cell("" if entry.other in result.remaining else "dropped"),
        ]
        for entry in result.differences
    ]
    notes = [
        f"{result.labels} of {counts(result.pairs, 'label')}. The intervals stay valid however often they are looked "
        "at; each is for one difference."
    ]
    if result.dropped:
        notes.append(f"Dropped, as significantly worse than another: {', '.join(result.dropped)}.")
    return Grid([formatting.heading(metric), "difference", "95% interval", ""], rows, notes=notes)
