"""A meta-evaluation as programs read it."""

from __future__ import annotations

from typing import Any

from goldrank.analysis.meta import MetaResult
from goldrank.analysis.meta.result import Extreme
from goldrank.reporting.text import results
from goldrank.stats import Interval


def as_json(made: MetaResult) -> dict[str, Any]:
    """Every correlation, mean and difference, unrounded, with what was done to get them."""
    return {
        "verdicts": made.verdicts(),
        "warnings": list(made.warnings),
        "kind": made.kind,
        "models": made.models,
        "families": made.families,
        "clustered": made.clustered,
        "missing": made.missing,
        "lower": list(made.lower),
        "level": made.level,
        "alpha": made.alpha,
        "resamples": made.resamples,
        "seed": made.seed,
        "evaluators": [
            {
                "evaluator": name,
                "mean": results.number(made.overall[name].mean),
                **_ends(made.overall[name].interval),
                "tasks": made.overall[name].tasks,
                **_left_out(made.overall[name].lowest, made.overall[name].highest),
            }
            for name in made.ranked
        ],
        "cells": [
            {
                "intrinsic": cell.intrinsic,
                "downstream": cell.downstream,
                "value": results.number(cell.value),
                **_ends(cell.interval),
                "models": cell.models,
                "p": results.number(cell.p),
                "p_adjusted": results.number(cell.adjusted),
                **_left_out(cell.lowest, cell.highest),
            }
            for cell in made.cells.values()
        ],
        "differences": [
            {
                "first": one.first,
                "second": one.second,
                "difference": results.number(one.difference),
                **_ends(one.interval),
                "p": results.number(one.p),
                "p_adjusted": results.number(one.adjusted),
                "williams": {task: results.number(p) for task, p in one.williams.items()},
            }
            for one in made.differences
        ],
    }


def _ends(interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {"low": None, "high": None, "method": None}
    return {"low": results.number(interval.low), "high": results.number(interval.high), "method": interval.method}


def _left_out(lowest: Extreme, highest: Extreme) -> dict[str, Any]:
    return {
        "left_out_low": results.number(lowest[0]),
        "left_out_low_model": lowest[1],
        "left_out_high": results.number(highest[0]),
        "left_out_high_model": highest[1],
    }
