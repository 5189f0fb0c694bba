"""Tables and data of the progress of a judging project, and of imports."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from goldrank.errors import counts
from goldrank.judging.imports import Import
from goldrank.judging.labels import SOURCES
from goldrank.judging.plans import DESIGNS
from goldrank.judging.progress import JudgingStatus
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.units import format_duration

_STARTED = (
    *("folder", "systems", "pooling", "depth", "queries", "pairs", "design", "allocation", "strata", "budget"),
    *("units", "planned", "advice", "next"),
)
"""What is said of a project that was created or resumed."""


def view(status: JudgingStatus) -> View:
    """Return the status in all its forms."""
    columns = ["judge", "source", "labels", "unclear", "seconds"]
    rows = [asdict(judge) for judge in status.judges]
    rows += [
        {"judge": model.judge, "source": "model", "labels": model.grades, "unclear": model.unparsed, "seconds": None}
        for model in status.model_judges
    ]
    return View(
        lambda: _content(status),
        lambda: [columns, *([row[name] for name in columns] for row in rows)],
        lambda: [_grid(status), *([_strata(status)] if status.strata else []), *([_judges(rows)] if rows else [])],
        tail=lambda: _tail(status),
        schema="judge-status",
    )


def started_view(status: JudgingStatus, *, resumed: bool) -> View:
    """Return what `goldrank judge start` says of the project that it created or resumed."""
    return View(
        lambda: {"resumed": resumed, **{name: value for name, value in _content(status).items() if name in _STARTED}},
        lambda: [["field", "value"], *_facts(status)],
        lambda: [_grid(status), *([_strata(status)] if status.strata else [])],
        lead=lambda: [f"{'Resumed' if resumed else 'Created'} the judging project in {status.folder}."],
        tail=lambda: _tail(status),
        schema="judge-start",
    )


def import_view(result: Import) -> View:
    """Return what was imported."""
    sentence = (
        f"{counts(result.added, 'label')} added, {result.repeated} known already, "
        f"{result.outside} of pairs outside of the pool"
        + (f", {counts(result.negative, 'grade')} below 0 read as 0" if result.negative else "")
        + "."
    )
    return View(
        lambda: asdict(result),
        lambda: [list(asdict(result)), list(asdict(result).values())],
        lambda: [],
        lead=lambda: [sentence],
        schema="judge-import",
    )


def _content(status: JudgingStatus) -> dict[str, Any]:
    steps = [{"command": command, "purpose": purpose} for command, purpose in status.next_steps.items()]
    return {**asdict(status), "seconds_left": status.seconds_left, "next": steps}


def _facts(status: JudgingStatus) -> list[list[str]]:
    planned = f"{counts(status.planned, 'label')} for {_units(status)}"
    budget = "" if status.budget is None else f", with a budget of {status.budget}"
    strata = f", {status.allocation} over {len(status.strata)} strata" if status.strata else ""
    return [
        ["systems", ", ".join(status.systems)],
        ["pool", f"{counts(status.pairs, 'item')} of {counts(status.queries, 'query', 'queries')}, "
                 f"{status.pooling} {status.depth}"],
        ["plan", f"{planned}{budget}: {DESIGNS[status.design]}{strata}" if status.units else "nothing yet"],
        *([["rounds", f"{status.rounds} of goldrank judge next"]] if status.rounds else []),
    ]  # fmt: skip


def _units(status: JudgingStatus) -> str:
    """Return the number of units, which are whole queries unless there are rounds."""
    return counts(status.units, "unit") if status.rounds else counts(status.units, "query", "queries")


def _grid(status: JudgingStatus) -> Grid:
    facts = _facts(status)
    done = status.planned - status.missing - status.missing_second
    if any(status.labels.values()):
        facts.append(["complete", f"{status.complete} of {_units(status)}"])
        facts.append(["judged", f"{done} of {counts(status.planned, 'label')}"])
    if status.seconds_left:
        facts.append(["time left", f"about {format_duration(status.seconds_left)}"])
    return Grid(["judging", status.folder], [[Cell(text) for text in row] for row in facts], text_columns=2)


def _strata(status: JudgingStatus) -> Grid:
    cells = [
        [Cell(part.stratum), *(Cell(str(n)) for n in (part.queries, part.units, part.complete, part.missing))]
        for part in status.strata
    ]
    return Grid(["stratum", "queries", "planned", "complete", "labels missing"], cells)


def _judges(rows: list[dict[str, Any]]) -> Grid:
    cells = [
        [
            Cell(row["judge"]),
            Cell(row["source"]),
            Cell(str(row["labels"])),
            Cell(str(row["unclear"])),
            Cell("–" if row["seconds"] is None else format_duration(row["seconds"])),
        ]
        for row in rows
    ]
    used = dict.fromkeys(row["source"] for row in rows)
    meanings = {**SOURCES, "model": "graded by a model judge"}
    notes = [f"{source}: {meanings[source]}." for source in used]
    return Grid(["judge", "source", "labels", "without grade", "per label"], cells, notes=notes, text_columns=2)


def _tail(status: JudgingStatus) -> list[str]:
    steps = [f"next: {command} ({purpose})" for command, purpose in status.next_steps.items()]
    return [*status.advice, "\n".join(steps)] if steps else list(status.advice)
