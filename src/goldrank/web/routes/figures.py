"""Figures for the page: what plotly.js draws, with the words that belong to them."""

from __future__ import annotations

from typing import Any

from goldrank.reporting.figures.description import Figure
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.plotly_figure import to_plotly
from goldrank.web.dependencies import ThemeName


def drawn(figure: Figure | HeatMap, theme: ThemeName) -> dict[str, Any]:
    """A figure with its title, its caption, and what was left out of it."""
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "note": figure.note,
        "plotly": to_plotly(figure, theme),
    }
