"""Render figures for plotly.js."""

from __future__ import annotations

from typing import Any

from goldrank.reporting.figures.description import Figure
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.plotly_figure import to_plotly
from goldrank.web.dependencies import ThemeName


def render_figure(figure: Figure | HeatMap, theme: ThemeName) -> dict[str, Any]:
    """Return a figure with its title, its caption and a note on what was left out."""
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "note": figure.note,
        "plotly": to_plotly(figure, theme),
    }
