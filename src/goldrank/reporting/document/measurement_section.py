"""The section of measurements: values, paired tests of the headline, and a dot plot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.analysis.across import TaskScores
from goldrank.reporting.document import provenance
from goldrank.reporting.document.sections import Section
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series, split_left_out
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.verdicts import measured_statement
from goldrank.runs.run import Measures
from goldrank.runs.stored_scores import compare_measured, distinct_names
from goldrank.store import StoredRun
from goldrank.tasks.measurement import MeasuredValue

Pairs = Mapping[tuple[str, str], float]


def measured_section(runs: Mapping[str, StoredRun], measures: Measures) -> Section:
    """Return the section of measurements of one task."""
    names = distinct_names(runs)
    headlines = {key: next(iter(run.measured.values()))["value"] for key, run in runs.items()}
    ordered = {key: runs[key] for key in stats.best_first(headlines)}
    named = {names[key]: run for key, run in ordered.items()}
    tested, why_not = compare_measured(named)
    headline = next(iter(next(iter(named.values())).measured))
    values = {name: MeasuredValue(**run.measured[headline]) for name, run in named.items()}
    figures, left_out = split_left_out([_dots(named, headline)])
    return Section(
        task=next(iter(runs.values())).task,
        kind="measured",
        runs=provenance.origins(ordered, names),
        verdicts=(measured_statement(values, tested, measures.alpha, headline),),
        tables=(_table(named, headline, tested, measures.alpha),),
        numbers=_numbers(named, tested),
        figures=figures,
        left_out=left_out,
        cases=(),
        quality=(*provenance.remarks(ordered, names), *why_not),
        conventions=tuple(_conventions(named, tested, measures.alpha)),
        commands=provenance.commands(ordered.values()),
        headline=TaskScores.of_measurements(next(iter(runs.values())).task, named, tested, measures),
    )


def _table(named: Mapping[str, StoredRun], headline: str, tested: Pairs, alpha: float) -> Grid:
    columns = list(dict.fromkeys(name for run in named.values() for name in run.measured if ":" not in name))
    letters = dict(zip(named, formatting.letters(len(named)), strict=True))
    rows = []
    for name, run in named.items():
        beaten = [letters[worse] for (better, worse), p in tested.items() if better == name and p <= alpha]
        marks = "".join(sorted(beaten)).translate(formatting.SUPERSCRIPTS)
        cells = [
            Cell(formatting.number(value["value"]), results.value_bounds(value), marks if column == headline else "")
            if (value := run.measured.get(column)) is not None
            else Cell("–")
            for column in columns
        ]
        rows.append([Cell(f"{letters[name]} {name}" if len(named) > 1 else name), *cells])
    note = f"Superscripts: {headline} significantly better than that model's (paired, after Holm, α = {alpha:g})."
    return Grid(["run", *columns], rows, title="Leaderboard", notes=[note] if tested else [])


def _numbers(named: Mapping[str, StoredRun], tested: Pairs) -> dict[str, Any]:
    return {
        "runs": [{"name": name, "measured": dict(run.measured)} for name, run in named.items()],
        "pairs": [{"better": better, "worse": worse, "p_adjusted": p} for (better, worse), p in tested.items()],
    }


def _conventions(named: Mapping[str, StoredRun], tested: Pairs, alpha: float) -> list[str]:
    measured = next(iter(named.values())).measured
    counts = ", ".join(f"{name} over {value['count']}" for name, value in measured.items() if ":" not in name)
    methods = dict.fromkeys(value["method"] for value in measured.values() if value.get("method"))
    lines = [f"Values: {counts}."]
    if methods:
        lines.append(f"Intervals: {', '.join(methods)}.")
    return [*lines, *([f"Pairs: the task's own paired test, two-sided, after Holm, α = {alpha:g}."] if tested else [])]


def _dots(named: Mapping[str, StoredRun], headline: str) -> Figure | LeftOut:
    """Plot the headline of each model with its interval."""
    values = {name: run.measured[headline] for name, run in named.items() if headline in run.measured}
    values = {name: of for name, of in values.items() if of["value"] is not None and np.isfinite(of["value"])}
    if not values:
        return LeftOut("values", "no headline is a number")
    low, high = (tuple(np.nan if of["low"] is None else of[end] for of in values.values()) for end in ("low", "high"))
    x, y = tuple(of["value"] for of in values.values()), tuple(range(len(values)))
    caption = f"Over {next(iter(values.values()))['count']} pairs or examples; bars are the stored intervals."
    return Figure(
        "values",
        f"{headline} of each model",
        caption,
        Axis(headline),
        Axis("", categories=tuple(values)),
        (Series(headline, x, y, low, high, "points"),),
    )
