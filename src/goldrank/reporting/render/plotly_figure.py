"""Turns a described figure into what plotly.js draws, for pages; title and caption are left to the page.

Plain dicts are made, not plotly's own objects, so that a page or an answer of the API needs no library to hold them.
plotly reads texts as a small HTML and hover texts as templates: every text that came from data is escaped for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from goldrank.errors import unknown_name
from goldrank.reporting.figures.description import Axis, Bracket, Figure, Numbers, Series, compact_number
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.figures.layout import areas, bar_places, dodged, log_marks, look_of, range_on, whole_on
from goldrank.reporting.render.plotly_common import Json, base_layout, config, escaped, faded, in_lines, rounded
from goldrank.reporting.render.plotly_heat_map import heat_map_plot
from goldrank.reporting.render.plotly_labels import SHORT, is_labelled, sides
from goldrank.reporting.render.themes import THEMES, Theme, short_name, short_names

_SYMBOLS = (
    "circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "triangle-left", "triangle-right",
)  # fmt: skip
_DASHES = ("solid", "dash", "dashdot", "dot")
_PATTERNS = ("", "/", ".", "\\", "x", "-", "+")
_NAME = 32
"""How many characters of the names of series are shown."""
_MANY = 300
"""More points than this are drawn small and faint, so that where they crowd can be seen."""
_FEW = 40
"""More bars than this are too narrow for patterns."""
_LABELLED = 24
"""More labels of bars than this are left to a pointer."""


def to_plotly(figure: Figure | HeatMap, theme: Theme = "light") -> Json:
    """The figure as ``{"data": …, "layout": …, "config": …}``, ready for ``Plotly.newPlot`` and for JSON.

    Args:
        figure: what to draw; its title, caption and note are for the page to show.
        theme: ``light`` or ``dark``; the background is the page's.
    """
    if theme not in THEMES:
        raise unknown_name("theme", theme, THEMES, ", ".join(THEMES))
    if isinstance(figure, HeatMap):
        return heat_map_plot(figure, THEMES[theme])
    return _Plot(figure, theme).finished()


class _Plot:
    """One figure on its way to a page."""

    def __init__(self, figure: Figure, theme: Theme) -> None:
        self.figure, self.colours = figure, THEMES[theme]
        self.names = [escaped(name) for name in short_names([one.name for one in figure.series], _NAME)]
        self.data: list[Json] = []

    def finished(self) -> Json:
        if self.figure.diagonal:
            self._diagonal()
        for number, series in enumerate(self.figure.series):
            self._series(number, series)
        for one in self.figure.brackets:
            self._bracket(one)
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

    def _bracket(self, one: Bracket) -> None:
        places, across = [one.first - 0.2, one.last + 0.2], [one.at, one.at]
        x, y = (across, places) if self.figure.horizontal else (places, across)
        line = {"color": self.colours.ink, "width": 4}
        quiet = {"hoverinfo": "skip", "showlegend": False}
        self.data.append({"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, **quiet})

    def _height(self) -> int:
        rows = len(self.figure.y.categories)
        bars = sum(series.mark == "bars" for series in self.figure.series)
        return max(220, 130 + round(rows * max(26, 16 * bars + 8))) if rows else 440 if self.figure.diagonal else 400

    def _axis(self, axis: Axis, *, along_x: bool) -> Json:
        # Categories that run from the top down say what they are, and on a telephone their names need the room.
        label = "" if axis.categories and not along_x else in_lines(axis.label)
        made: Json = {
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
        if axis.categories:
            names = [escaped(name) for name in short_names(axis.categories, _NAME if along_x else SHORT)]
            ends = [-0.6, len(names) - 0.4]
            made |= {"range": ends if along_x else ends[::-1], "tickvals": list(range(len(names))), "ticktext": names}
            return made
        low, high = range_on(self.figure, along_x=along_x)
        if axis.scale == "log":
            marks = log_marks(low, high)
            made |= {"type": "log", "tickvals": marks, "ticktext": [compact_number(mark) for mark in marks]}
            low, high = math.log10(low), math.log10(high)
        elif axis.percent:
            made |= {"tickformat": ".4~p", "nticks": 6}
        else:
            made |= {
                "tickformat": ",d" if whole_on(self.figure, along_x=along_x) and high - low > 4 else ",.4~r",
                "nticks": 6,
            }
        # A mark on the very end of an axis would be cut in half.
        slack = (high - low) * 0.015
        low, high = low - slack * (axis.low is not None), high + slack * (axis.high is not None)
        return {**made, "range": [low, high]}

    def _diagonal(self) -> None:
        ends = [range_on(self.figure, along_x=along_x) for along_x in (True, False)]
        span = [max(low for low, _ in ends), min(high for _, high in ends)]
        line = {"color": self.colours.grey, "width": 1.2, "dash": "dash"}
        self.data.append(
            {"type": "scatter", "mode": "lines", "x": span, "y": span, "line": line, "hoverinfo": "skip"}
            | {"showlegend": False}
        )

    def _axes(self) -> list[tuple[Axis, bool]]:
        return [(self.figure.x, True), (self.figure.y, False)]

    def _series(self, number: int, series: Series) -> None:
        look = look_of(self.figure, number)
        colour = self.colours.grey if series.faint else self.colours.series[look % len(self.colours.series)]
        make = self._bars if series.mark == "bars" else self._line
        trace = make(number, series, colour)
        name = self.names[number]
        self.data.append({**trace, "name": name, "legendgroup": str(number), **self._hover(name, series)})

    def _bars(self, number: int, series: Series, colour: str) -> Json:
        places, width = bar_places(self.figure, number)
        lengths = series.x if self.figure.horizontal else series.y
        x, y = (lengths, places) if self.figure.horizontal else (places, lengths)
        pattern = _PATTERNS[look_of(self.figure, number) % len(_PATTERNS)] if len(places) <= _FEW else ""
        made: Json = {
            "type": "bar",
            "orientation": "h" if self.figure.horizontal else "v",
            "x": rounded(x),
            "y": rounded(y),
            "width": 0.94 * width,
            "marker": {
                "color": colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "bgcolor": colour,
                    "fgcolor": self.colours.raised,
                    "size": 6,
                    "solidity": 0.2,
                },
            },
        }
        if series.labels is not None and len(series.labels) <= _LABELLED:
            made |= {"textposition": "outside", "cliponaxis": False, "texttemplate": "%{text}"}
        return made | self._errors(series, self.colours.ink)

    def _line(self, number: int, series: Series, colour: str) -> Json:
        x, y = dodged(self.figure, number)
        steps, joined = series.mark == "steps", series.mark == "line" and len(x) > 1
        many, look = len(x) > _MANY, look_of(self.figure, number)
        sized = 5.0 if many or series.faint else 8.0
        bare = steps or (joined and (many or series.faint))
        dash = "solid" if series.faint else "dot" if series.hollow else _DASHES[look % len(_DASHES)]
        symbol = "circle" if series.faint else _SYMBOLS[look % len(_SYMBOLS)]
        made: Json = {
            "type": "scatter",
            "mode": "lines" if bare else "lines+markers" if joined else "markers",
            "x": rounded(x),
            "y": rounded(y),
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {
                "color": colour,
                "symbol": f"{symbol}-open" if series.hollow else symbol,
                "size": sized if series.sizes is None else _diameters(series.sizes, sized),
                "opacity": 0.35 if many else 0.7 if series.sizes is not None else 1,
                "line": {"width": 1.5 if series.hollow else 0},
            },
        }
        if steps:
            few = len(self.figure.series) == 1
            made["line"] |= {"shape": "hv"}
            return made | {"fill": "tozeroy", "fillcolor": faded(colour, 0.25 if few else 0.06)}
        if joined and series.low is not None and not self.figure.horizontal:
            self._band(number, series, colour)
            return made
        if is_labelled(self.figure, series):
            made |= {"mode": "markers+text", "textposition": sides(self.figure, x), "texttemplate": "%{text}"}
        return made | self._errors(series, colour)

    def _band(self, number: int, series: Series, colour: str) -> None:
        """The intervals of a line as an area behind it, in pieces where some are missing."""
        x: list[float | None] = []
        y: list[float | None] = []
        for piece in _pieces(series):
            x += [across for across, _, _ in (*piece, *reversed(piece))]
            y += [*(high for _, _, high in piece), *(low for _, low, _ in reversed(piece))]
            x.append(None)
            y.append(None)
        self.data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": rounded(x[:-1]),
                "y": rounded(y[:-1]),
                "fill": "toself",
                "fillcolor": faded(colour, 0.18 if len(self.figure.series) <= 4 else 0.08),
                "line": {"width": 0},
                "hoverinfo": "skip",
                "showlegend": False,
                "legendgroup": str(number),
            }
        )

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
        """What a pointer on a value shows: the series, the label, and both values with what they are."""
        lines = [f"<b>{name}</b>"]
        made: Json = {}
        if series.labels is not None:
            limit = SHORT if is_labelled(self.figure, series) else 2 * _NAME
            made["text"] = [escaped(short_name(label, limit)) for label in series.labels]
            lines.append("%{text}")
        for axis, along_x in self._axes():
            letter, own = ("x", series.x) if along_x else ("y", series.y)
            measured = along_x == self.figure.horizontal
            if axis.categories:
                made["customdata"] = [escaped(axis.categories[int(at)]) for at in own]
                lines.append(f"{escaped(axis.label)}: %{{customdata}}")
                continue
            shown = f"%{{{letter}:{_number_format(axis, own)}}}"
            if measured and series.low is not None and series.high is not None:
                made["hovertext"] = [
                    _interval(axis, low, high) for low, high in zip(series.low, series.high, strict=True)
                ]
                shown += " %{hovertext}"
            lines.append(f"{escaped(axis.label)}: {shown}")
        if series.sizes is not None:
            made["hovertext"] = [compact_number(size) for size in series.sizes]
            lines.append("stands for %{hovertext}")
        return made | {"hovertemplate": "<br>".join(lines) + "<extra></extra>"}


def _diameters(sizes: Numbers, least: float) -> list[float | None]:
    return rounded(math.sqrt(area) for area in areas(sizes, least**2, 25 * least**2))


def _whole(values: Sequence[float]) -> bool:
    return all(value == int(value) for value in values)


def _number_format(axis: Axis, values: Numbers) -> str:
    return ".2~%" if axis.percent else ",d" if _whole(values) else ",.4~r"


def _interval(axis: Axis, low: float, high: float) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    first, last = (
        f"{100 * end:.2f}".rstrip("0").rstrip(".") + "%" if axis.percent else f"{end:.4g}" for end in (low, high)
    )
    return f"[{first}, {last}]".replace("%", "&#37;").replace("-", "−")


def _pieces(series: Series) -> list[list[tuple[float, float, float]]]:
    """The stretches of a line that have intervals: places with their limits."""
    assert series.low is not None
    assert series.high is not None
    pieces: list[list[tuple[float, float, float]]] = [[]]
    for place in zip(series.x, series.low, series.high, strict=True):
        if all(map(math.isfinite, place)):
            pieces[-1].append(place)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]
