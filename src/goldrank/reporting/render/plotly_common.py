"""Shared parts of plotly figures: layout, configuration, escaped texts and rounded numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any

from goldrank.reporting.render.themes import FONTS, Colours

Json = dict[str, Any]

_DIGITS = 7


def escaped(text: str) -> str:
    """Escape text for the labels and the hover templates of plotly.

    >>> escaped("<b>50 %{x}</b> & more")
    '&lt;b&gt;50 &#37;{x}&lt;/b&gt; &amp; more'
    """
    line = " ".join(text.split())
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("%", "&#37;")):
        line = line.replace(sign, entity)
    return line


def in_lines(text: str, width: int = 38) -> str:
    """Return escaped text in lines that fit on a telephone.

    >>> in_lines("one two three", 8)
    'one two<br>three'
    """
    return "<br>".join(escaped(line) for line in textwrap.wrap(text, width))


def faded(colour: str, opacity: float) -> str:
    """Return the colour ``#rrggbb`` with an opacity.

    >>> faded("#0072B2", 0.2)
    'rgba(0,114,178,0.2)'
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def base_layout(colours: Colours, height: int) -> Json:
    """Return the layout that all figures share: fonts, colours and margins; the page writes the legend itself."""
    font = {"family": FONTS["sans"], "size": 13, "color": colours.ink}
    nothing = "rgba(0,0,0,0)"
    return {
        "autosize": True,
        "height": height,
        "margin": {"l": 56, "r": 40, "t": 12, "b": 48, "pad": 2},
        "paper_bgcolor": nothing,
        "plot_bgcolor": nothing,
        "font": font,
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "bgcolor": colours.raised, "bordercolor": colours.grey, "font": font},
        # plotly takes the room of a legend away from the plot, on a telephone most of it.
        "showlegend": False,
        # In the margin on the right, where it does not cover the plot.
        "modebar": {"orientation": "v", "bgcolor": nothing, "color": colours.grey, "activecolor": colours.ink},
    }


def config(name: str) -> Json:
    """Return the configuration: a figure fits its page, is saved under *name*, and sends no data anywhere."""
    return {
        "responsive": True,
        "displaylogo": False,
        "typesetMath": False,
        # plotly.js 4 offers to upload the data of a chart unless told not to.
        "showSendToCloud": False,
        "plotlyServerURL": "",
        # Dragging zooms and a double click goes back; fewer buttons cover less of a small page.
        "modeBarButtons": [["toImage", "resetScale2d"]],
        "toImageButtonOptions": {"format": "svg", "filename": name},
    }


def rounded(values: Iterable[float | None]) -> list[float | None]:
    """Return numbers with as many digits as can be seen, and None for undefined ones."""
    return [None if value is None or not math.isfinite(value) else float(f"{value:.{_DIGITS}g}") for value in values]
