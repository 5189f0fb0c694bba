"""The section of runs that are measurements: their values side by side, and whose headline is really better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.errors import GoldrankError
from goldrank.reporting.document import provenance
from goldrank.reporting.document.sections import Section
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.runs.run import Measures
from goldrank.runs.stored_scores import distinct_names
from goldrank.store import StoredRun
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.measurement import MeasurementTask

Pairs = Mapping[tuple[str, str], float]


def measured_section(runs: Mapping[str, StoredRun], measures: Measures) -> Section:
    """What there is to say of measurements of one task."""
    names = distinct_names(runs)
    headlines = {key: next(iter(run.measured.values()))["value"] for key, run in runs.items()}
    ordered = {key: runs[key] for key in stats.best_first(headlines)}
    named = {names[key]: run for key, run in ordered.items()}
    tested, why_not = _p_values(named)
    headline = next(iter(next(iter(named.values())).measured))
    figure = _dots(named, headline)
    return Section(
        task=next(iter(runs.values())).task,
        kind="measured",
        runs=tuple(provenance.about(run, names[key]) for key, run in ordered.items()),
        verdicts=tuple(_verdicts(named, headline, tested, measures.alpha)),
        tables=(_table(named, headline, tested, measures.alpha),),
        numbers=_numbers(named, tested),
        figures=(figure,) if isinstance(figure, Figure) else (),
        left_out=(figure,) if isinstance(figure, LeftOut) else (),
        cases=(),
        quality=(*provenance.remarks(ordered, names), *why_not),
        conventions=tuple(_conventions(named, tested, measures.alpha)),
        commands=provenance.commands(ordered.values()),
    )


def _p_values(named: Mapping[str, StoredRun]) -> tuple[Pairs, list[str]]:
    """The p-value of every two, the better first, after Holm; or why there is none."""
    if len(named) > 1 and any(run.predictions_checksum is None for run in named.values()):
        return {}, ["The predictions were not stored, so the models could not be tested against each other."]
    try:
        task = find_task(next(iter(named.values())).task)
        return (task.compare_all(named) if isinstance(task, MeasurementTask) else {}), []
    except GoldrankError as error:
        return {}, [f"The models could not be tested against each other: {error}."] if len(named) > 1 else []


def _verdicts(named: Mapping[str, StoredRun], headline: str, tested: Pairs, alpha: float) -> list[str]:
    best, *others = named
    leading = named[best].measured[headline]
    reached = f"{_value(leading)} {results.value_bounds(leading)}".rstrip()
    if not others:
        return [f"{best} reaches {headline} {reached} over {leading['count']} pairs or examples."]
    said = [f"{best} leads on {headline} with {reached}."]
    for other in others:
        if (p := tested.get((best, other))) is None:
            continue
        by = f"{leading['value'] - named[other].measured[headline]['value']:.4f}"
        shown = formatting.p_value(p)
        shown = f"p {shown}" if shown.startswith("<") else f"p = {shown}"
        if p <= alpha:
            said.append(f"{best} beats {other} on {headline} by {by}, {shown} after Holm.")
        else:
            said.append(f"On {headline} the data cannot tell {best} from {other}: {by} apart, {shown} after Holm.")
    return said


def _table(named: Mapping[str, StoredRun], headline: str, tested: Pairs, alpha: float) -> Grid:
    columns = list(dict.fromkeys(name for run in named.values() for name in run.measured if ":" not in name))
    letters = dict(zip(named, formatting.letters(len(named)), strict=True))
    rows = []
    for name, run in named.items():
        beaten = [letters[worse] for (better, worse), p in tested.items() if better == name and p <= alpha]
        marks = "".join(sorted(beaten)).translate(formatting.SUPERSCRIPTS)
        cells = [
            Cell(_value(run.measured[one]), results.value_bounds(run.measured[one]), marks if one == headline else "")
            if one in run.measured
            else Cell("–")
            for one in columns
        ]
        rows.append([Cell(f"{letters[name]} {name}" if len(named) > 1 else name), *cells])
    note = f"Superscripts: {headline} significantly better than that model's (paired, after Holm, α = {alpha:g})."
    return Grid(["run", *columns], rows, title="Leaderboard", notes=[note] if tested else [])


def _value(entry: Mapping[str, Any]) -> str:
    value = entry["value"]
    return "–" if value is None or not np.isfinite(value) else f"{value:.4f}".replace("-", "−")


def _numbers(named: Mapping[str, StoredRun], tested: Pairs) -> dict[str, Any]:
    return {
        "runs": [{"name": name, "measured": dict(run.measured)} for name, run in named.items()],
        "pairs": [{"better": better, "worse": worse, "p_adjusted": p} for (better, worse), p in tested.items()],
    }


def _conventions(named: Mapping[str, StoredRun], tested: Pairs, alpha: float) -> list[str]:
    measured = next(iter(named.values())).measured
    counts = ", ".join(f"{name} over {one['count']}" for name, one in measured.items() if ":" not in name)
    methods = dict.fromkeys(one["method"] for one in measured.values() if one.get("method"))
    lines = [f"Values: {counts}."]
    if methods:
        lines.append(f"Intervals: {', '.join(methods)}.")
    return [*lines, *([f"Pairs: the task's own paired test, two-sided, after Holm, α = {alpha:g}."] if tested else [])]


def _dots(named: Mapping[str, StoredRun], headline: str) -> Figure | LeftOut:
    """The headline of each model with its interval."""
    found = {name: run.measured[headline] for name, run in named.items() if headline in run.measured}
    found = {name: one for name, one in found.items() if one["value"] is not None and np.isfinite(one["value"])}
    if not found:
        return LeftOut("values", "no headline is a number")
    nan = float("nan")
    bounds = [(one["low"], one["high"]) if one["low"] is not None else (nan, nan) for one in found.values()]
    series = Series(
        headline,
        tuple(one["value"] for one in found.values()),
        tuple(range(len(found))),
        tuple(low for low, _ in bounds),
        tuple(high for _, high in bounds),
        "points",
    )
    counted = next(iter(found.values()))["count"]
    caption = f"Over {counted} pairs or examples; bars are the stored intervals."
    return Figure(
        "values", f"{headline} of each model", caption, Axis(headline), Axis("", categories=tuple(found)), (series,)
    )
