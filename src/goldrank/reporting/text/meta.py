"""A meta-evaluation as tables and as data."""

from __future__ import annotations

from typing import Any

from goldrank.analysis.meta import MetaResult
from goldrank.analysis.meta.result import Extreme, bounds, or_lowest, signed
from goldrank.errors import counts
from goldrank.reporting.text import formatting
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.stats import Interval

_SHOWN = 12


def view(result: MetaResult) -> View:
    """Return the result in all its forms; for people the verdict comes first."""
    return View(
        lambda: as_json(result),
        lambda: _rows(result),
        lambda: [_cell_grid(result), *([_difference_grid(result)] if len(result.intrinsic) > 1 else [])],
        lambda: ["\n".join(result.verdicts())],
        schema="meta",
    )


def as_json(result: MetaResult) -> dict[str, Any]:
    """Return every correlation, mean and difference, unrounded, with the settings."""
    return {
        "verdicts": result.verdicts(),
        "warnings": list(result.warnings),
        "reading": result.table.reading,
        "kind": result.kind,
        "models": result.models,
        "families": result.families,
        "clustered": result.clustered,
        "missing": result.missing,
        "lower": list(result.lower),
        "level": result.level,
        "alpha": result.alpha,
        "resamples": result.resamples,
        "seed": result.seed,
        "evaluators": [
            {
                "evaluator": name,
                "mean": result.overall[name].mean,
                **_ends(result.overall[name].interval),
                "tasks": result.overall[name].tasks,
                **_left_out(result.overall[name].lowest, result.overall[name].highest),
            }
            for name in result.ranked
        ],
        "cells": [
            {
                "intrinsic": cell.intrinsic,
                "downstream": cell.downstream,
                "value": cell.value,
                **_ends(cell.interval),
                "models": cell.models,
                "p": cell.p,
                "p_adjusted": cell.adjusted,
                "cannot_tell": not cell.adjusted < result.alpha,
                **_left_out(cell.lowest, cell.highest),
            }
            for cell in result.cells.values()
        ],
        "differences": [
            {
                "first": difference.first,
                "second": difference.second,
                "difference": difference.difference,
                **_ends(difference.interval),
                "p": difference.p,
                "p_adjusted": difference.adjusted,
                "cannot_tell": not difference.adjusted < result.alpha,
                "williams": difference.williams,
            }
            for difference in result.differences
        ],
    }


def _ends(interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {"low": None, "high": None, "method": None}
    return {"low": interval.low, "high": interval.high, "method": interval.method}


def _left_out(lowest: Extreme, highest: Extreme) -> dict[str, Any]:
    return {
        "left_out_low": lowest[0],
        "left_out_low_model": lowest[1],
        "left_out_high": highest[0],
        "left_out_high_model": highest[1],
    }


def _cell_grid(result: MetaResult) -> Grid:
    best = {
        column: max(or_lowest(result.cells[row, column].value) for row in result.intrinsic)
        for column in result.downstream
    }
    rows = []
    for name in result.ranked:
        overall = result.overall[name]
        cells = [result.cells[name, column] for column in result.downstream]
        rows.append(
            [
                Cell(name),
                Cell(signed(overall.mean), bounds(overall.interval), best=name == result.ranked[0]),
                *(
                    Cell(
                        signed(cell.value),
                        bounds(cell.interval),
                        "*" if cell.adjusted < result.alpha else "",
                        best=cell.value == best[cell.downstream],
                    )
                    for cell in cells
                ),
                Cell(_extreme(overall.lowest), f"to {_extreme(overall.highest)}"),
            ]
        )
    return Grid(["evaluator", "mean", *result.downstream, "one model left out"], rows, notes=_notes(result))


def _notes(result: MetaResult) -> list[str]:
    sizes = {cell.models for cell in result.cells.values()}
    over = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{max(sizes)}"
    resampled = f"{len(set(result.families.values()))} families" if result.clustered else "models"
    notes = [
        f"{result.kind.capitalize()} correlation over {over} models; {result.level:.0%} intervals, bootstrap over "
        f"{resampled} ({result.resamples} resamples, seed {result.seed}). * p < {result.alpha:g} by permutation "
        f"after Holm over {len(result.cells)} cells. One model left out: the lowest and highest mean."
    ]
    if result.lower:
        notes.append(f"Less is better, so taken with the opposite sign: {', '.join(result.lower)}.")
    if result.missing:
        notes.append(f"{result.missing} values are missing; each cell is over the models that have both.")
    neither = [e for e in result.table.evaluators if e not in result.intrinsic and e not in result.downstream]
    if neither:
        notes.append(f"Left out: {', '.join(neither[:_SHOWN])}{' …' if len(neither) > _SHOWN else ''}.")
    return notes + [remark[:1].upper() + remark[1:] + "." for remark in result.table.remarks]


def _difference_grid(result: MetaResult) -> Grid:
    best = result.ranked[0]
    rows = [
        [
            Cell(f"{best} − {difference.second}"),
            Cell(_plus(difference.difference), bounds(difference.interval)),
            Cell(formatting.p_value(difference.p)),
            Cell(formatting.p_value(difference.adjusted), best=difference.adjusted < result.alpha),
            Cell(f"{sum(p < result.alpha for p in difference.williams.values())} of {len(difference.williams)}"),
        ]
        for difference in result.against(best)
    ]
    notes = [
        "p: bootstrap over the same resamples, two-sided. Holm: over "
        f"{counts(len(result.differences), 'pair')} of evaluators. Williams: tasks on which Williams' test of the two "
        f"dependent correlations gives p < {result.alpha:g}, in either direction, uncorrected."
    ]
    return Grid(["mean correlation", "difference", "p", "p after Holm", "Williams"], rows, notes=notes)


def _plus(value: float) -> str:
    return "+" * (value > 0) + signed(value)


def _extreme(extreme: Extreme) -> str:
    return signed(extreme[0])


def _rows(result: MetaResult) -> list[list[Any]]:
    content = as_json(result)
    fields = ["intrinsic", "downstream", "value", "low", "high", "models", "p", "p_adjusted"]
    fields += ["left_out_low", "left_out_low_model", "left_out_high", "left_out_high_model"]
    lines: list[list[Any]] = [[*fields, "kind", "level"]]
    for row in content["cells"]:
        lines.append([*(row[name] for name in fields), result.kind, result.level])
    for row in content["evaluators"]:
        filled = {**row, "intrinsic": row["evaluator"], "downstream": "mean", "value": row["mean"]}
        filled["models"] = len(result.models)
        lines.append([*(filled.get(name) for name in fields), result.kind, result.level])
    return lines
