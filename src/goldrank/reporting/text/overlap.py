"""A rank-biased overlap of two runs as a table and as data."""

from __future__ import annotations

from goldrank.analysis.rank_overlap import RankOverlap
from goldrank.errors import counts
from goldrank.reporting.text import formatting
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.stats import aggregate


def view(overlap: RankOverlap) -> View:
    """Return the overlap of two runs in all its forms."""
    columns = (overlap.values.tolist(), overlap.low.tolist(), overlap.residual.tolist())
    return View(
        overlap.to_dict,
        lambda: [["query", "rbo", "min", "residual"], *map(list, zip(overlap.queries, *columns, strict=True))],
        lambda: [_grid(overlap)],
    )


def _grid(overlap: RankOverlap) -> Grid:
    row = [
        Cell(formatting.number(overlap.mean), formatting.bounds(overlap.interval)),
        Cell(f"{aggregate(overlap.low):.4f}"),
        Cell(f"{aggregate(overlap.residual):.4f}"),
        Cell(str(len(overlap.queries))),
    ]
    deep = "" if overlap.depth is None else f", depth {overlap.depth}"
    notes = [f"p = {overlap.p:g}{deep}; equal scores are tied; the overlap lies between min and min + residual."]
    for name, number in zip(("first", "second"), overlap.left_out, strict=True):
        if number:
            notes.append(f"{counts(number, 'query', 'queries')} with results in the {name} run only: left out.")
    return Grid(["RBO", "min", "residual", "queries"], [row], notes=notes, text_columns=0)
