"""Scores as the commands show them: grids for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

import numpy as np

from goldrank.data_warnings import name_some
from goldrank.errors import DataWarning
from goldrank.escaping import escape_cell, escape_json
from goldrank.metrics import find_profile
from goldrank.reporting.text import formatting
from goldrank.reporting.text.grids import Cell, Grid, Note
from goldrank.reporting.text.views import View
from goldrank.schemas import identify
from goldrank.scoring import Score, Scores, all_warnings, have_same_queries, share_resamples
from goldrank.stats import Interval


def conventions_line(scores: Scores) -> str:
    """Return the conventions, with the parameters of the metrics, in one line."""
    parts = [f"{name}={value}" for name, value in scores.conventions.as_dict().items() if value is not None]
    parts += [_written(metric.name, metric.parameters) for metric in scores.applied if _set(metric.parameters)]
    return f"Profile {scores.profile.name}: " + ", ".join(dict.fromkeys(parts)) + "."


def conventions_note(scores: Scores) -> Note:
    """Return the conventions as a note, whose brief form names those that are not standard."""
    standard = find_profile("standard")
    usual, own = standard.conventions.as_dict(), scores.conventions.as_dict()
    special = [f"{name}={value}" for name, value in own.items() if value not in (usual[name], None)]
    number = len(_set(own))
    for metric, applied in zip(scores.metrics, scores.applied, strict=True):
        parameters, number = applied.parameters, number + len(_set(applied.parameters))
        expected = standard.apply(metric, scores.conventions.relevance_level).parameters
        if other := {name: value for name, value in _set(parameters).items() if value != expected[name]}:
            special.append(_written(applied.name, other))
    name = scores.profile.name
    profile = "Standard conventions" if name == standard.name else f"Profile {name}: standard conventions"
    different = f" except {', '.join(dict.fromkeys(special))}" if special else ""
    return Note(conventions_line(scores), f"{profile}{different}; --verbose shows all {number}.")


def _set(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _written(metric: str, parameters: Mapping[str, Any]) -> str:
    return f"{metric}({', '.join(f'{name}={value}' for name, value in _set(parameters).items())})"


def warning_lines(warnings: Sequence[DataWarning]) -> str:
    """Return the paragraph of warnings that stands above a table."""
    return "\n".join(f"Warning: {warning}" for warning in warnings)


def view(scores: Scores) -> View:
    """Return the scores of one run in all their forms."""
    return scores_view([scores])


def scores_view(all_scores: Sequence[Scores], *, intervals: bool = True, per_query: bool = False) -> View:
    """Return the scores of runs in all their forms."""
    return View(
        lambda: scores_json(all_scores, intervals=intervals, per_query=per_query),
        lambda: scores_rows(all_scores, intervals=intervals, per_query=per_query),
        lambda: [
            *(per_query_grid(scores) for scores in all_scores if per_query),
            score_grid(all_scores, intervals=intervals),
        ],
        lambda: [warning_lines(all_warnings(all_scores))],
        schema="score",
    )


def counts_lines(all_scores: Sequence[Scores]) -> list[str]:
    """Return what was left out or scored as missing: a line for each run with remarks, or one if all are the same."""
    lines: dict[str, str] = {}
    for scores in all_scores:
        counts = scores.counts
        remarks = [
            f"{counts.missing} gold queries without results ({_MISSING[scores.conventions.missing]}): "
            f"{name_some(counts.missing_queries)}" * (counts.missing > 0),
            f"{counts.ignored} queries of the run not in the gold (ignored)" * (counts.ignored > 0),
            f"{counts.no_relevant} queries with nothing relevant (score 0)" * (counts.no_relevant > 0),
            f"{counts.self_dropped} self-matches dropped" * (counts.self_dropped > 0),
            f"{counts.outside} gold items outside the corpus ({scores.conventions.outside})" * (counts.outside > 0),
            f"{counts.flattened} gold items judged for several subtopics ({_FLATTENED})" * (counts.flattened > 0),
        ]
        if scores.conventions.outside != "keep" and scores.placement.candidates is None:
            remarks.append("the corpus is not known, so gold outside it counts as missed (give --corpus)")
        line = "; ".join(filter(None, remarks))
        if line:
            lines[scores.name] = line
    if len(all_scores) > 1 and len(lines) == len(all_scores) and len(set(lines.values())) == 1:
        return [f"Every run: {line}."]
    return [f"{name}: {line}." for name, line in lines.items()]


_FLATTENED = "metrics without subtopics read the highest grade"
_MISSING = {"zero": "scored 0", "skip": "left out", "error": "refused"}


def basis_line(scores: Scores, *, intervals: bool, others: Sequence[Scores] = ()) -> str:
    """Return the number of queries and the kind of intervals; *others* are in the same table."""
    counts = [each.counts.queries for each in (scores, *others)]
    line = f"{counts[0]} queries" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)} queries"
    undefined = {str(score.metric): left for score in scores.values() if (left := int(np.isnan(score.values).sum()))}
    line += "".join(f", {count} of them undefined for {metric}" for metric, count in undefined.items())
    if intervals:
        how = scores.bootstrap
        line += f"; {how.level:.0%} intervals, bootstrap of {how.resamples} resamples (seed {how.seed})"
        line += ", Wilson for proportions" * any(score.metric.definition.proportion for score in scores.values())
    return line + "."


def score_grid(
    all_scores: Sequence[Scores],
    *,
    intervals: bool,
    marks: Mapping[tuple[str, str], str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Grid:
    """Return a table of runs by metrics with means and intervals; the best is bold if all have the same queries."""
    first = all_scores[0]
    if intervals:
        share_resamples(all_scores)
    comparable = have_same_queries(all_scores)
    names = list(first)
    cells = {
        (scores.name, name): score_cell(
            scores[name],
            best=comparable and _is_best(scores[name], all_scores),
            marks=(marks or {}).get((scores.name, name), ""),
            interval=intervals,
        )
        for scores in all_scores
        for name in names
    }
    labels = labels or {scores.name: scores.name for scores in all_scores}
    basis = basis_line(first, intervals=intervals, others=all_scores[1:])
    notes = [basis, conventions_note(first), *counts_lines(all_scores)]
    queries = [] if comparable else [Cell(str(scores.counts.queries)) for scores in all_scores]
    headings = {name: formatting.heading(first[name].metric) for name in names}
    if len(all_scores) == 1:
        columns = 3 if intervals else 2
        of_metrics = [(headings[name], cells[first.name, name]) for name in names]
        rows = [[Cell(heading), Cell(cell.text), Cell(cell.detail)][:columns] for heading, cell in of_metrics]
        return Grid(["metric", labels[first.name], "interval"][:columns], rows, notes=notes)
    if len(names) > 7 and len(all_scores) <= 7:
        rows = [[Cell(headings[name]), *(cells[scores.name, name] for scores in all_scores)] for name in names]
        rows = [[Cell("queries"), *queries], *rows] if queries else rows
        return Grid(["metric", *(labels[scores.name] for scores in all_scores)], rows, notes=notes)
    rows = [
        [
            Cell(labels[scores.name], name=scores.name),
            *queries[place : place + 1],
            *(cells[scores.name, name] for name in names),
        ]
        for place, scores in enumerate(all_scores)
    ]
    return Grid(["run", *(["queries"] if queries else []), *headings.values()], rows, notes=notes)


def score_cell(score: Score, *, best: bool = False, marks: str = "", interval: bool = True) -> Cell:
    """Return the cell of a score: its value, with its interval below."""
    detail = formatting.interval(score.metric, score.interval) if interval else ""
    return Cell(formatting.value(score.metric, score.value), detail, marks, best)


def limits(interval: Interval | None) -> dict[str, float | None]:
    """Return the limits of an interval as fields, None if there is no interval."""
    return {"low": None, "high": None} if interval is None else {"low": interval.low, "high": interval.high}


def _is_best(score: Score, all_scores: Sequence[Scores]) -> bool:
    direction = score.metric.definition.direction
    if len(all_scores) < 2 or direction == "neither":
        return False
    rivals = [other[str(score.metric)].value for other in all_scores]
    return score.value == (max if direction == "higher" else min)(rivals)


def per_query_grid(scores: Scores) -> Grid:
    """Return a table of queries by metrics."""
    names = list(scores)
    rows = [
        [
            Cell(query),
            *(Cell(formatting.value(scores[name].metric, float(scores[name].values[i]))) for name in names),
        ]
        for i, query in enumerate(scores.placement.queries)
    ]
    return Grid(["query", *(formatting.heading(scores[name].metric) for name in names)], rows, title=scores.name)


def scores_json(all_scores: Sequence[Scores], *, intervals: bool, per_query: bool) -> dict[str, Any]:
    """Return the scores as JSON data: warnings, the profile with its conventions, and the runs."""
    first = all_scores[0]
    if intervals:
        share_resamples(all_scores)
    return {
        "warnings": [warning.to_dict() for warning in all_warnings(all_scores)],
        "profile": first.profile.name,
        "conventions": first.conventions.as_dict(),
        "parameters": {str(m): a.parameters for m, a in zip(first.metrics, first.applied, strict=True)},
        "runs": [_run_json(scores, intervals, per_query) for scores in all_scores],
    }


def _run_json(scores: Scores, intervals: bool, per_query: bool) -> dict[str, Any]:
    counts = scores.counts
    entry: dict[str, Any] = {
        "name": scores.name,
        "queries": counts.queries,
        "missing": counts.missing,
        "missing_queries": list(counts.missing_queries),
        "depth": counts.deepest,
        "ignored": counts.ignored,
        "no_relevant": counts.no_relevant,
        "self_dropped": counts.self_dropped,
        "outside": counts.outside,
        "flattened": counts.flattened,
        "scores": {name: score_json(score, intervals) for name, score in scores.items()},
    }
    if per_query:
        entry["per_query"] = {
            query: {name: float(score.values[i]) for name, score in scores.items()}
            for i, query in enumerate(scores.placement.queries)
        }
    return entry


def score_json(score: Score, intervals: bool) -> dict[str, Any]:
    """Return the value of a metric as JSON data, with its interval."""
    entry: dict[str, Any] = {"value": score.value}
    if score.metric.definition.aggregate == "mean":
        entry["mean"] = entry["value"]
    if intervals and (bounds := score.interval) is not None:
        entry |= {"low": bounds.low, "high": bounds.high, "method": bounds.method}
    return entry


def value_bounds(value: Mapping[str, Any]) -> str:
    """Return the interval of a stored measured value, or "" if it has none."""
    if value["low"] is None or value["high"] is None:
        return ""
    return f"[{value['low']:.4f}, {value['high']:.4f}]".replace("-", "−")


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: dataclasses as objects, arrays as lists, undefined numbers as null.

    >>> plain({"values": np.array([0.5, np.nan]), 1: ("a", True, None)})
    {'values': [0.5, None], '1': ['a', True, None]}
    """
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    elif is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple, frozenset)):
        return [plain(entry) for entry in (sorted(value) if isinstance(value, frozenset) else value)]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, (str, int)) else str(value)


def to_json(content: Any, schema: str | None = None) -> str:
    """Return indented JSON with undefined numbers as null and control characters escaped.

    Args:
        content: The data; a mapping if there is a schema.
        schema: The name of the schema of an output, which becomes its first field.
    """
    content = plain(content if schema is None else identify(schema, content))
    return escape_json(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def scores_rows(all_scores: Sequence[Scores], *, intervals: bool, per_query: bool) -> list[list[Any]]:
    """Return one row per run and metric, or per run, query and metric; every row has the conventions."""
    if per_query:
        lines: list[list[Any]] = [["run", "query", "metric", "value", "profile", "conventions"]]
        lines += [
            [scores.name, query, name, value, scores.profile.name, conventions_line(scores)]
            for scores in all_scores
            for name, score in scores.items()
            for query, value in score.per_query.items()
        ]
        return lines
    lines = [["run", "metric", "value", "low", "high", "queries", "missing", "profile", "conventions"]]
    for scores in all_scores:
        for name, score in scores.items():
            low_high = limits(score.interval if intervals else None).values()
            counts = scores.counts
            lines.append(
                [scores.name, name, score.value, *low_high, counts.queries, counts.missing,
                 scores.profile.name, conventions_line(scores)]
            )  # fmt: skip
    return lines


def to_csv(lines: Sequence[Sequence[Any]]) -> str:
    """Return a report as comma-separated values, with an apostrophe before what a spreadsheet takes for a formula.

    Reports are opened in spreadsheets. Files that goldrank reads back (`Run.write`, `Gold.write`, ``runs export``) keep
    every id exact instead.
    """
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([_csv_cell(cell) for cell in line] for line in lines)
    return stream.getvalue().rstrip("\n")


def _csv_cell(cell: Any) -> Any:
    return "" if isinstance(cell, float) and not math.isfinite(cell) else escape_cell(cell)
