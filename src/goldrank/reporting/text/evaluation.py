"""The evaluation of one model on one task as tables and as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from goldrank.reporting.text import results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.tasks.measurement import MeasurementEvaluation
from goldrank.tasks.ranking.evaluation import RankingEvaluation


def view(evaluation: RankingEvaluation | MeasurementEvaluation) -> View:
    """Return the evaluation in all its forms."""
    task, model = evaluation.data.task.name, evaluation.model.spec
    about = {"task": task, "model": model, "seconds": evaluation.seconds, "remarks": list(evaluation.remarks)}
    notes = [f"{remark.removesuffix('.')}." for remark in evaluation.remarks]

    def titled(grid: Grid) -> Grid:
        return replace(grid, title=f"{model} on {task}", notes=[*grid.notes, *notes])

    if isinstance(evaluation, MeasurementEvaluation):
        values = {name: asdict(value) for name, value in evaluation.scores.items()}
        return View(
            lambda: {**about, "measured": values},
            lambda: [
                ["task", "model", "measure", "value", "count", "low", "high", "method"],
                *([task, model, name, *value.values()] for name, value in values.items()),
            ],
            lambda: [titled(measured_grid(values))],
        )
    scores = results.scores_view([evaluation.scores])
    return View(
        lambda: {**about, **scores.content()},
        lambda: [["task", *scores.rows()[0]], *([task, *row] for row in scores.rows()[1:])],
        lambda: [titled(grid) for grid in scores.grids()],
        lambda: [results.warning_lines(evaluation.warnings), *scores.lead()],
    )


def measured_grid(values: Mapping[str, Mapping[str, Any]]) -> Grid:
    """Return the measured values of a model, by name as they are stored."""
    rows = [
        [
            Cell(name),
            Cell(f"{value['value']:.4f}"),
            Cell(results.value_bounds(value)),
            Cell(str(value["count"])),
            Cell(value["method"]),
        ]
        for name, value in values.items()
    ]
    return Grid(["measure", "value", "interval", "over", "by"], rows)
