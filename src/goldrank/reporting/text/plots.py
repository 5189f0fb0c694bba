"""The figures of a plot as a table."""

from __future__ import annotations

from itertools import zip_longest

from goldrank.reporting.plots import Plots
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View


def view(plots: Plots) -> View:
    """Return which figures were drawn, where, and which were left out."""
    rows = [
        [figure.name, figure.title, "" if path is None else str(path)]
        for figure, path in zip_longest(plots.figures, plots.paths)
    ]
    return View(
        lambda: {
            "figures": [dict(zip(("name", "title", "path"), row, strict=True)) for row in rows],
            "left_out": [vars(figure) for figure in plots.left_out],
            "notes": list(plots.notes),
        },
        lambda: [["name", "title", "path"], *rows],
        lambda: [
            Grid(
                ["figure", "title", "file"],
                [[Cell(text) for text in row] for row in rows],
                notes=[f"Left out {figure.name}: {figure.reason}." for figure in plots.left_out],
                text_columns=3,
            )
        ],
    )
