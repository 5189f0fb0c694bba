"""Differences of runs as sentences, tables and data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from goldrank.analysis.rank_changes import STATUSES
from goldrank.analysis.rank_diff import BY_DEPTH, Diff, Measure
from goldrank.errors import counts, shorten
from goldrank.reporting.text.formatting import truncate
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.results import limits
from goldrank.reporting.text.views import View

_OVERALL = ("rbo", "rbo_min", "rbo_residual", "tau")
_TEXT_SHOWN = 60


def view(diff: Diff) -> View:
    """Return the differences of two runs in all their forms."""
    return diffs_view([diff])


def diffs_view(diffs: Sequence[Diff], *, per_query: bool = False, worst: int = 10) -> View:
    """Return the differences of several pairs of runs in all their forms.

    Args:
        diffs: The differences of each pair.
        per_query: Whether to list every query.
        worst: How many of the most changed queries to list for a single pair.
    """
    return View(
        lambda: {"pairs": [_content(diff, per_query, worst) for diff in diffs]},
        lambda: _rows(diffs, per_query),
        lambda: _grids(diffs, per_query, worst),
        lambda: [*map(sentence, diffs)],
        schema="diff",
    )


def sentence(diff: Diff) -> str:
    """Say whether two runs differ, and in how many queries."""
    a, b = diff.names
    total, number = counts(len(diff.queries), "query", "queries"), diff.counts
    if diff.status == "same":
        return f"{a} and {b} rank the same items in the same order ({total})."
    if diff.status == "ties":
        return f"{a} and {b} differ only in the order of equal scores ({number['ties']} of {total})."
    tolerance = f"at most {diff.tolerance:g} of the largest score"
    if diff.status == "noise":
        return (
            f"{a} and {b} differ only by score noise ({number['noise']} of {total}; score differences of {tolerance})."
        )
    parts = [f"{number['changed']} of {total} changed"] if number["changed"] else []
    for name, queries in zip(diff.names, diff.only, strict=True):
        if queries:
            parts.append(f"{counts(len(queries), 'query has', 'queries have')} results in {name} only")
    if number["ties"]:
        parts.append(f"{number['ties']} differ only in the order of equal scores")
    if number["noise"]:
        parts.append(f"{number['noise']} differ only by score noise")
    return f"{a} and {b} differ: {'; '.join(parts)}."


def _content(diff: Diff, per_query: bool, worst: int) -> dict[str, Any]:
    content: dict[str, Any] = {
        "a": diff.names[0],
        "b": diff.names[1],
        "status": diff.status,
        "differs": diff.differs,
        "verdict": sentence(diff),
        "queries": {"both": len(diff.queries), **{str(status): number for status, number in diff.counts.items()}},
        "only_a": diff.only[0],
        "only_b": diff.only[1],
        "p": diff.p,
        "depth": diff.depth,
        "tolerance": diff.tolerance,
        "measures": {name: _numbers(diff[name]) for name in _OVERALL},
        "by_depth": [
            {"depth": depth, **{name: _numbers(diff[f"{name}@{depth}"]) for name in BY_DEPTH}} for depth in diff.depths
        ],
        "listed_depth": diff.listed_depth,
        "most_changed": [
            {
                "query": change.query,
                "text": change.text,
                "measures": dict(change.values),
                "entered": list(change.entered),
                "left": list(change.left),
            }
            for change in diff.most_changed(worst)
        ],
        "notes": list(diff.notes),
    }
    if per_query:
        content["per_query"] = {query: dict(zip(names, row, strict=True)) for query, names, row in _per_query(diff)}
    return content


def _numbers(measure: Measure) -> dict[str, Any]:
    return {"mean": measure.mean, **limits(measure.interval), "queries": measure.queries}


def _per_query(diff: Diff) -> list[tuple[str, list[str], list[Any]]]:
    """Return each query with the names and values of its status and measures."""
    names = ["status", *diff.values]
    rows = zip(diff.statuses, *(values.tolist() for values in diff.values.values()), strict=True)
    return [(query, names, list(row)) for query, row in zip(diff.queries, rows, strict=True)]


def _rows(diffs: Sequence[Diff], per_query: bool) -> list[list[Any]]:
    if per_query:
        names = list(dict.fromkeys(name for diff in diffs for name in diff.values))
        rows: list[list[Any]] = [["a", "b", "query", "status", *names]]
        for diff in diffs:
            for query, own, (status, *values) in _per_query(diff):
                by_name = dict(zip(own[1:], values, strict=True))
                rows.append([*diff.names, query, status, *map(by_name.get, names)])
        return rows
    return [
        ["a", "b", "status", "measure", "mean", "low", "high", "queries"],
        *(
            [*diff.names, diff.status, name, *_numbers(measure).values()]
            for diff in diffs
            for name, measure in diff.measures.items()
        ),
    ]


def _grids(diffs: Sequence[Diff], per_query: bool, worst: int) -> list[Grid]:
    grids = [_query_grid(diff) for diff in diffs if per_query]
    if len(diffs) > 1:
        return [*grids, _overall_grid(diffs)]
    return [*grids, _overall_grid(diffs), _depth_grid(diffs[0]), *_changed_grids(diffs[0], worst)]


def _cell(measure: Measure, digits: int = 4) -> Cell:
    interval = measure.interval
    detail = "" if interval is None else f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
    return Cell(_number(measure.mean, digits), detail)


def _number(value: float, digits: int = 4) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _overall_grid(diffs: Sequence[Diff]) -> Grid:
    rows = [
        [Cell(", ".join(diff.names)), _cell(diff["rbo"]), _cell(diff["tau"])]
        + [Cell(_number(diff[name].mean)) for name in ("rbo_min", "rbo_residual")]
        + [Cell(str(diff.counts[status])) for status in STATUSES]
        for diff in diffs
    ]
    deep = "" if diffs[0].depth is None else f", depth {diffs[0].depth}"
    how = (
        f"RBO with p = {diffs[0].p:g}{deep}, between min and min + residual; tau-b of the common items. Queries by "
        "their strongest difference: none, order of equal scores, noise (score differences of at most "
        f"{diffs[0].tolerance:g} of the largest score), or changed."
    )
    notes = [how]
    for diff in diffs:
        notes += [f"{', '.join(diff.names)}: {note}" if len(diffs) > 1 else note for note in diff.notes]
        for name, queries in zip(diff.names, diff.only, strict=True):
            if queries:
                shown = ", ".join(map(shorten, queries[:5])) + (", …" if len(queries) > 5 else "")
                notes.append(f"Left out of the means, as only {name} has results: {shown} ({len(queries)}).")
    headings = ["runs", "RBO", "tau", "RBO min", "residual", *STATUSES]
    return Grid(headings, rows, notes=notes)


def _depth_grid(diff: Diff) -> Grid:
    rows = [
        [Cell(str(depth)), _cell(diff[f"overlap@{depth}"]), *(_cell(diff[f"{n}@{depth}"], 2) for n in BY_DEPTH[1:])]
        for depth in diff.depths
    ]
    note = "Items per query that entered, left, or changed their order among the common items; real changes only."
    return Grid(["depth", *BY_DEPTH], rows, title="By depth", notes=[note])


def _changed_grids(diff: Diff, worst: int) -> list[Grid]:
    changes = diff.most_changed(worst)
    if not changes:
        return []
    depth, has_texts = diff.listed_depth, any(change.text for change in changes)
    rows = []
    for change in changes:
        texts = [Cell(change.query), *([Cell(_short(change.text or ""))] if has_texts else [])]
        values = [change.values[name] for name in ("rbo", "tau", f"overlap@{depth}")]
        items = [Cell(_short(", ".join(names))) for names in (change.entered, change.left)]
        rows.append([*texts, *items, *(Cell(_number(value)) for value in values)])
    headings = ["query", *(["text"] if has_texts else []), f"entered the first {depth}", f"left the first {depth}"]
    title = f"The queries that changed most (of {diff.counts['changed']})"
    return [Grid([*headings, "RBO", "tau", f"overlap@{depth}"], rows, title=title, text_columns=len(headings))]


def _query_grid(diff: Diff) -> Grid:
    names = ("rbo", "tau", *(f"overlap@{depth}" for depth in diff.depths))
    rows = [
        [Cell(query), Cell(status), *(Cell(_number(float(diff.values[name][at]))) for name in names)]
        for at, (query, status) in enumerate(zip(diff.queries, diff.statuses, strict=True))
    ]
    return Grid(["query", "status", *names], rows, title=", ".join(diff.names), text_columns=2)


def _short(text: str) -> str:
    return truncate(" ".join(text.split()), _TEXT_SHOWN)
