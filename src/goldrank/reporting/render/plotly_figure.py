"""Convert described figures to the JSON that plotly.js draws on pages; title and caption are left to the page.

The results are plain dicts, so that no library is needed. plotly reads texts as HTML and hover texts as templates:
every text that comes from data is escaped for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from goldrank.reporting.figures.description import Axis, Bracket, Figure, Numbers, Series, compact_number
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.layout import (
    SeriesLook,
    areas,
    bar_places,
    dodged,
    log_marks,
    look_of,
    range_on,
    whole_on,
)
from goldrank.reporting.render.plotly_common import Json, base_layout, config, escaped, faded, in_lines, rounded
from goldrank.reporting.render.plotly_heat_map import heat_map_plot
from goldrank.reporting.render.plotly_labels import SHORT, is_labelled, sides
from goldrank.reporting.render.themes import THEMES, Colours, Theme, colour_name, find_colours, short_name, short_names

_NAME = 32
"""Maximum number of characters of the names of series."""
_LEGEND_NAME = 64
_LABELLED = 24
"""More labels of bars than this appear only under a pointer."""
_COLOUR_NAMES = replace(
    THEMES["light"],
    ink="ink",
    grey="grey",
    series=tuple(colour_name(number) for number, _ in enumerate(THEMES["light"].series)),
)


@dataclass(frozen=True)
class LegendEntry:
    """A series in the legend that a page writes below a figure."""

    name: str
    """As it was given: the page must show it as text."""
    group: str
    """The ``legendgroup`` of its traces."""
    colour: str
    """The name of a colour: ``series-1`` and so on, ``grey`` or ``ink``; `tokens_css` defines them for both themes."""
    mark: str
    """``line``, ``points``, ``bars`` or ``steps``."""
    marker: str
    dash: str
    pattern: str
    hollow: bool


def legend_of(figure: Figure | HeatMap) -> list[LegendEntry]:
    """Return the entries of the legend; a figure with one series needs none, because its axes say what it shows."""
    if isinstance(figure, HeatMap) or len(figure.series) < 2:
        return []
    names = short_names([series.name for series in figure.series], _LEGEND_NAME)
    return [_legend_entry(figure, number, name) for number, name in enumerate(names)]


def _legend_entry(figure: Figure, number: int, name: str) -> LegendEntry:
    series, look = figure.series[number], look_of(figure, number, _COLOUR_NAMES)
    mark = "points" if series.mark == "line" and len(series.x) < 2 else series.mark
    marker = "" if series.faint and mark == "line" else look.marker
    return LegendEntry(name, str(number), look.colour, mark, marker, look.dash, look.pattern, series.hollow)


def to_plotly(figure: Figure | HeatMap, theme: Theme = "light") -> Json:
    """Return the figure as ``{"data": …, "layout": …, "config": …}``, ready for ``Plotly.newPlot`` and for JSON.

    Args:
        figure: what to draw; the page shows its title, caption and note.
        theme: ``light`` or ``dark``; the background is transparent.
    """
    colours = find_colours(theme)
    return heat_map_plot(figure, colours) if isinstance(figure, HeatMap) else _Plot(figure, colours).render()


class _Plot:
    """The traces and the layout of a figure."""

    def __init__(self, figure: Figure, colours: Colours) -> None:
        self.figure, self.colours = figure, colours
        self.names = [escaped(name) for name in short_names([series.name for series in figure.series], _NAME)]
        self.data: list[Json] = []

    def render(self) -> Json:
        if self.figure.diagonal:
            self._diagonal()
        for number, series in enumerate(self.figure.series):
            self._series(number, series)
        for bracket in self.figure.brackets:
            self._bracket(bracket)
        return {"data": self.data, "layout": self._layout(), "config": config(self.figure.name)}

    def _layout(self) -> Json:
        return {
            **base_layout(self.colours, self._height()),
            **({"barmode": "overlay"} if any(series.mark == "bars" for series in self.figure.series) else {}),
            "xaxis": self._axis(self.figure.x, along_x=True),
            "yaxis": self._axis(self.figure.y, along_x=False),
            "shapes": [
                self._rule(axis.line, along_x=along_x) for axis, along_x in self._axes() if axis.line is not None
            ],
        }

    def _rule(self, at: float, *, along_x: bool) -> Json:
        own, other = ("x", "y") if along_x else ("y", "x")
        ends = {f"{own}0": at, f"{own}1": at, f"{other}0": 0, f"{other}1": 1, f"{other}ref": "paper"}
        return {"type": "line", "layer": "below", "line": {"color": self.colours.grey, "width": 1.2}, **ends}

    def _bracket(self, bracket: Bracket) -> None:
        looks: list[tuple[tuple[float, float], Json]] = [(place, {"width": 4}) for place in bracket.spans]
        looks += [(place, {"width": 1.5, "dash": "dot"}) for place in bracket.gaps]
        for place, look in looks:
            places, across = list(place), [bracket.at, bracket.at]
            x, y = (across, places) if self.figure.horizontal else (places, across)
            self.data.append(_plain_line(x, y, {"color": self.colours.ink, **look}))

    def _height(self) -> int:
        rows = len(self.figure.y.categories)
        bars = sum(series.mark == "bars" for series in self.figure.series)
        return max(220, 130 + round(rows * max(26, 16 * bars + 8))) if rows else 440 if self.figure.diagonal else 400

    def _axis(self, axis: Axis, *, along_x: bool) -> Json:
        # The categories of a vertical axis explain themselves, and on a telephone their names need the room.
        label = "" if axis.categories and not along_x else in_lines(axis.label)
        layout: Json = {
            "title": {"text": label, "standoff": 8, "font": {"size": 13}},
            "automargin": True,
            "zeroline": False,
            "showgrid": along_x == self.figure.horizontal,
            "gridcolor": faded(self.colours.grey, 0.25),
            "linecolor": self.colours.grey,
            "showline": True,
            "ticks": "" if axis.categories else "outside",
            "tickcolor": self.colours.grey,
            "ticklen": 4,
        }
        low, high = range_on(self.figure, along_x=along_x)
        if axis.categories:
            names = [escaped(name) for name in short_names(axis.categories, _NAME if along_x else SHORT)]
            if along_x:
                # Names that have no room beside each other are turned as a whole, so that none is cut off.
                layout |= {"tickfont": {"size": 11}, "autotickangles": [0, -90]}
                names = [name.replace(" ", "<br>", 1) for name in names]
            ends = [low, high] if along_x else [high, low]
            return layout | {"range": ends, "tickvals": list(range(len(names))), "ticktext": names}
        if axis.scale == "log":
            marks = log_marks(low, high)
            layout |= {"type": "log", "tickvals": marks, "ticktext": [compact_number(mark) for mark in marks]}
            low, high = math.log10(low), math.log10(high)
        else:
            whole = whole_on(self.figure, along_x=along_x) and high - low > 4
            layout |= {"tickformat": ".4~p" if axis.percent else ",d" if whole else ",.4~r", "nticks": 6}
        # A mark on the very end of an axis would be cut in half.
        slack = (high - low) * 0.015
        low, high = low - slack * (axis.low is not None), high + slack * (axis.high is not None)
        return layout | {"range": [low, high]}

    def _diagonal(self) -> None:
        ends = [range_on(self.figure, along_x=along_x) for along_x in (True, False)]
        span = [max(low for low, _ in ends), min(high for _, high in ends)]
        self.data.append(_plain_line(span, span, {"color": self.colours.grey, "width": 1.2, "dash": "dash"}))

    def _axes(self) -> list[tuple[Axis, bool]]:
        return [(self.figure.x, True), (self.figure.y, False)]

    def _series(self, number: int, series: Series) -> None:
        look = look_of(self.figure, number, self.colours)
        make = self._bars if series.mark == "bars" else self._line
        name = self.names[number]
        trace = make(number, series, look) | {"name": name, "legendgroup": str(number)} | self._hover(name, series)
        if look.values is None:
            self.data.append(trace)
            return
        # The intervals of a trace have one colour, so that each value becomes a trace of its own.
        for at, colour in enumerate(look.values):
            self.data.append(_coloured(_value_of(trace, at, len(look.values)), colour))

    def _bars(self, number: int, series: Series, look: SeriesLook) -> Json:
        places, width = bar_places(self.figure, number)
        lengths = series.x if self.figure.horizontal else series.y
        x, y = (lengths, places) if self.figure.horizontal else (places, lengths)
        trace: Json = {
            "type": "bar",
            "orientation": "h" if self.figure.horizontal else "v",
            "x": rounded(x),
            "y": rounded(y),
            "width": 0.94 * width,
            "marker": {
                "color": look.colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": look.pattern,
                    "bgcolor": look.colour,
                    "fgcolor": self.colours.raised,
                    "size": 6,
                    "solidity": 0.2,
                },
            },
        }
        if series.labels is not None and len(series.labels) <= _LABELLED:
            trace |= {"textposition": "outside", "cliponaxis": False, "texttemplate": "%{text}"}
        return trace | self._errors(series, self.colours.ink)

    def _line(self, number: int, series: Series, look: SeriesLook) -> Json:
        x, y = dodged(self.figure, number)
        steps, joined = series.mark == "steps", series.mark == "line" and len(x) > 1
        size = 5.0 if look.crowded or series.faint else 8.0
        bare = steps or (joined and (look.crowded or series.faint))
        trace: Json = {
            "type": "scatter",
            "mode": "lines" if bare else "lines+markers" if joined else "markers",
            "x": rounded(x),
            "y": rounded(y),
            "line": {"color": look.colour, "width": 2, "dash": look.dash},
            "marker": {
                "color": look.colour,
                "symbol": f"{look.marker}-open" if series.hollow else look.marker,
                "size": size if series.sizes is None else _diameters(series.sizes, size),
                "opacity": 0.35 if look.crowded else 0.7 if series.sizes is not None else 1,
                "line": {"width": 1.5 if series.hollow else 0},
            },
        }
        if steps:
            trace["line"] |= {"shape": "hv"}
            return trace | {"fill": "tozeroy", "fillcolor": faded(look.colour, look.step_opacity)}
        if joined and series.low is not None and not self.figure.horizontal:
            self._band(number, series, look)
            return trace
        if is_labelled(self.figure, series):
            trace |= {"mode": "markers+text", "textposition": sides(self.figure, x), "texttemplate": "%{text}"}
        return trace | self._errors(series, look.colour)

    def _band(self, number: int, series: Series, look: SeriesLook) -> None:
        """Add the intervals of a line as an area behind it, in pieces if some are missing."""
        x: list[float | None] = []
        y: list[float | None] = []
        for piece in _pieces(series):
            x += [across for across, _, _ in (*piece, *reversed(piece))]
            y += [*(high for _, _, high in piece), *(low for _, low, _ in reversed(piece))]
            x.append(None)
            y.append(None)
        fill = {"fill": "toself", "fillcolor": faded(look.colour, look.band_opacity), "legendgroup": str(number)}
        self.data.append(_plain_line(rounded(x[:-1]), rounded(y[:-1]), {"width": 0}) | fill)

    def _errors(self, series: Series, colour: str) -> Json:
        if series.low is None or series.high is None:
            return {}
        values = series.x if self.figure.horizontal else series.y
        above = [high - value for value, high in zip(values, series.high, strict=True)]
        below = [value - low for value, low in zip(values, series.low, strict=True)]
        bars = {"type": "data", "symmetric": False, "array": rounded(above), "arrayminus": rounded(below)}
        look = {"color": colour, "thickness": 1.4, "width": 0}
        return {"error_x" if self.figure.horizontal else "error_y": bars | look}

    def _hover(self, name: str, series: Series) -> Json:
        """Return what a pointer on a value shows: the series, the label, and both values with their axes."""
        lines = [f"<b>{name}</b>"]
        texts: Json = {}
        if series.labels is not None:
            limit = SHORT if is_labelled(self.figure, series) else 2 * _NAME
            texts["text"] = [escaped(short_name(label, limit)) for label in series.labels]
            lines.append("%{text}")
        for axis, along_x in self._axes():
            letter, own = ("x", series.x) if along_x else ("y", series.y)
            measured = along_x == self.figure.horizontal
            if axis.categories:
                texts["customdata"] = [escaped(axis.categories[int(at)]) for at in own]
                lines.append(f"{escaped(axis.label)}: %{{customdata}}")
                continue
            shown = f"%{{{letter}:{_number_format(axis, own)}}}"
            if measured and series.low is not None and series.high is not None:
                texts["hovertext"] = [
                    _interval(axis, low, high) for low, high in zip(series.low, series.high, strict=True)
                ]
                shown += " %{hovertext}"
            lines.append(f"{escaped(axis.label)}: {shown}")
        if series.sizes is not None:
            texts["hovertext"] = [compact_number(size) for size in series.sizes]
            lines.append("stands for %{hovertext}")
        return texts | {"hovertemplate": "<br>".join(lines) + "<extra></extra>"}


def _value_of(trace: Json, at: int, count: int) -> Json:
    """Return the trace with one of its values only."""

    def single(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: single(value) for name, value in part.items()}
        return [part[at]] if isinstance(part, list) and len(part) == count else part

    return {name: single(part) for name, part in trace.items()}


def _coloured(trace: Json, colour: str) -> Json:
    """Return the trace with its marks and intervals in another colour."""
    marker = trace["marker"] | {"color": colour}
    if "pattern" in marker:
        marker["pattern"] = marker["pattern"] | {"bgcolor": colour}
        return trace | {"marker": marker}
    bars = {name: trace[name] | {"color": colour} for name in ("error_x", "error_y") if name in trace}
    return trace | {"marker": marker, "line": trace["line"] | {"color": colour}} | bars


def _plain_line(x: Sequence[float | None], y: Sequence[float | None], line: Json) -> Json:
    """Return a trace without a hover text and an entry in the legend."""
    quiet = {"hoverinfo": "skip", "showlegend": False}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, **quiet}


def _diameters(sizes: Numbers, least: float) -> list[float | None]:
    return rounded(math.sqrt(area) for area in areas(sizes, least**2, 25 * least**2))


def _number_format(axis: Axis, values: Numbers) -> str:
    whole = all(value == int(value) for value in values)
    return ".2~%" if axis.percent else ",d" if whole else ",.4~r"


def _interval(axis: Axis, low: float, high: float) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    first, last = (
        f"{100 * end:.2f}".rstrip("0").rstrip(".") + "%" if axis.percent else f"{end:.4g}" for end in (low, high)
    )
    return f"[{first}, {last}]".replace("%", "&#37;").replace("-", "−")


def _pieces(series: Series) -> list[list[tuple[float, float, float]]]:
    """Return the parts of a line that have intervals: places with their limits."""
    assert series.low is not None
    assert series.high is not None
    pieces: list[list[tuple[float, float, float]]] = [[]]
    for place in zip(series.x, series.low, series.high, strict=True):
        if all(map(math.isfinite, place)):
            pieces[-1].append(place)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]
