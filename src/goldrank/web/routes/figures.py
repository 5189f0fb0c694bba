"""Render figures for plotly.js."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from goldrank.reporting.figures.description import Figure
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.plotly_figure import legend_of, to_plotly
from goldrank.web.dependencies import ThemeName


def render_figure(figure: Figure | HeatMap, theme: ThemeName) -> dict[str, Any]:
    """Return a figure with its title, its caption, its legend, and a note on what was left out."""
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "note": figure.note,
        "legend": [asdict(entry) for entry in legend_of(figure)],
        "plotly": to_plotly(figure, theme),
    }
