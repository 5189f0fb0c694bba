"""Rank-biased overlaps of runs as tables and as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldrank.analysis.rank_overlap import RankOverlap
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.stats import aggregate

Overlaps = Mapping[tuple[str, str], RankOverlap]
"""By the names of the two runs."""


def view(overlap: RankOverlap) -> View:
    """Return the overlap of two runs in all its forms."""
    return overlaps_view({("first", "second"): overlap})


def overlaps_view(overlaps: Overlaps, *, per_query: bool = False) -> View:
    """Return the overlaps of several runs in all their forms."""
    return View(
        lambda: {
            "pairs": [
                {"a": a, "b": b, **overlap.to_dict(), **({"per_query": overlap.per_query} if per_query else {})}
                for (a, b), overlap in overlaps.items()
            ]
        },
        lambda: _table(overlaps, per_query),
        lambda: [*(_per_query(pair, overlap) for pair, overlap in overlaps.items() if per_query), _grid(overlaps)],
        schema="rbo",
    )


def _table(overlaps: Overlaps, per_query: bool) -> list[list[Any]]:
    if per_query:
        return [
            ["a", "b", "query", "rbo", "min", "residual"],
            *([*pair, *row] for pair, overlap in overlaps.items() for row in _rows(overlap)),
        ]
    lines: list[list[Any]] = [["a", "b", "rbo", "low", "high", "min", "residual", "queries"]]
    for pair, overlap in overlaps.items():
        result = overlap.to_dict()
        lines.append([*pair, *result["rbo"].values(), result["min"], result["residual"], result["queries"]])
    return lines


def _rows(overlap: RankOverlap) -> list[tuple[str, float, float, float]]:
    columns = (overlap.values.tolist(), overlap.low.tolist(), overlap.residual.tolist())
    return list(zip(overlap.queries, *columns, strict=True))


def _grid(overlaps: Overlaps) -> Grid:
    rows, notes = [], []
    for (a, b), overlap in overlaps.items():
        interval = overlap.interval
        rows.append(
            [
                Cell(f"{a}, {b}"),
                Cell(f"{overlap.mean:.4f}", "" if interval is None else f"[{interval.low:.4f}, {interval.high:.4f}]"),
                Cell(f"{aggregate(overlap.low):.4f}"),
                Cell(f"{aggregate(overlap.residual):.4f}"),
                Cell(str(len(overlap.queries))),
            ]
        )
        for name, number in zip((a, b), overlap.left_out, strict=True):
            if number:
                notes.append(f"{a}, {b}: {number} queries that only {name} has results for are left out.")
    deep = "" if overlap.depth is None else f", depth {overlap.depth}"
    how = f"p = {overlap.p:g}{deep}; equal scores are tied; the overlap lies between min and min + residual."
    return Grid(["runs", "RBO", "min", "residual", "queries"], rows, notes=[how, *notes])


def _per_query(pair: tuple[str, str], overlap: RankOverlap) -> Grid:
    rows = [[Cell(query), *(Cell(f"{number:.4f}") for number in numbers)] for query, *numbers in _rows(overlap)]
    return Grid(["query", "RBO", "min", "residual"], rows, title=", ".join(pair))
