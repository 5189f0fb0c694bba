"""Draw described figures with matplotlib: axes, series, lines, and labels where they cover nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from goldrank.reporting.figures.description import Axis, Figure, Numbers, Series, compact_number
from goldrank.reporting.render.layout import (
    DASHES,
    MARKERS,
    PATTERNS,
    SeriesLook,
    areas,
    bar_places,
    dodged,
    has_point_labels,
    log_marks,
    look_of,
    range_on,
    whole_on,
)
from goldrank.reporting.render.matplotlib_page import DPI, Box, Sheet, plain
from goldrank.reporting.render.themes import Colours, Format, short_name, short_names

_MARKERS = dict(zip(MARKERS, "osD^vPX<>", strict=True))
_STYLES = dict(zip(DASHES, ("-", "--", "-.", ":"), strict=True))
_HATCHES = dict(zip(PATTERNS, ("", "///", "...", "\\\\\\", "xxx", "---", "++"), strict=True))
_LABELLED = 100
"""Series with more points than this have no labels."""
_PIECE = 6
"""The distance in pixels of the points of a line that labels must not cover."""
_AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_PLACES = tuple((across, up, away) for away in (4.5, 12.0, 20.0, 30.0) for across, up in _AROUND)
"""Positions of the label of a point, the best first: the side, and the distance in typographic points."""


def _height(figure: Figure, format: Format) -> float:
    """Return the height of the plot area in inches."""
    if figure.horizontal:
        bars = sum(series.mark == "bars" for series in figure.series)
        lines = len(figure.y.categories) * max(1.25, 0.75 * bars + 0.5)
        return format.row * lines + 0.1
    return min(1.15 * format.height, format.width * 0.72) if figure.diagonal else format.height


class FigureSheet(Sheet):
    """The sheet of a figure."""

    figure: Figure

    def __init__(self, figure: Figure, colours: Colours, format: Format) -> None:
        super().__init__(figure, colours, format, _height(figure, format))
        self.names = [series.name for series in figure.series]
        self.tips: list[tuple[str, float, float]] = []
        """Labels of bars, with the ends of the bars."""
        self.obstacles: list[Box] = []
        """What labels must not cover."""

    def draw(self) -> Any:
        """Draw everything and return the canvas."""
        self._axis(self.axes.xaxis, self.figure.x)
        self._axis(self.axes.yaxis, self.figure.y)
        self._frame()
        for number, series in enumerate(self.figure.series):
            self.handles.append(self._series(number, series))
        self._range()
        self._reference_lines()
        self.arrange(hidden=0)
        self._uncrowd()
        self.arrange(hidden=0)
        if hidden := self._label():
            self.arrange(hidden)
        return self.canvas

    def _axis(self, axis: Any, described: Axis) -> None:
        from matplotlib import ticker

        room = 0.75 * self.format.width if axis is self.axes.xaxis else max(self.height, 1.0)
        label = self.wrapped(described.label, room, self.format.text)
        axis.set_label_text(label, fontsize=self.format.text, color=self.colours.ink)
        axis.set_tick_params(labelsize=self.format.text - 0.5, colors=self.colours.ink, width=0.6, length=2.5)
        if described.categories:
            names = [plain(name) for name in short_names(described.categories, self.format.name)]
            axis.set_ticks(range(len(names)), names)
            axis.set_tick_params(length=0)
            return
        if described.scale == "log":
            (self.axes.set_xscale if axis is self.axes.xaxis else self.axes.set_yscale)("log")
            marks = log_marks(*range_on(self.figure, along_x=axis is self.axes.xaxis))
            axis.set_major_locator(ticker.FixedLocator(marks))
            axis.set_minor_locator(ticker.NullLocator())
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: compact_number(value)))
        elif described.percent:
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))
            axis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        else:
            whole = whole_on(self.figure, along_x=axis is self.axes.xaxis)
            axis.set_major_locator(ticker.MaxNLocator(7, integer=whole, steps=[1, 2, 2.5, 5, 10]))
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: compact_number(value)))

    def _frame(self) -> None:
        self.axes.spines[["top", "right"]].set_visible(False)
        for spine in self.axes.spines.values():
            spine.set(color=self.colours.grey, linewidth=0.6)
        self.axes.grid(axis="x" if self.figure.horizontal else "y", color=self.colours.grey, alpha=0.25, linewidth=0.5)
        self.axes.set_axisbelow(True)

    def _range(self) -> None:
        for described, along_x in ((self.figure.x, True), (self.figure.y, False)):
            set_range = self.axes.set_xlim if along_x else self.axes.set_ylim
            labelled = any(map(self._is_labelled, self.figure.series)) or self.tips
            low, high = range_on(self.figure, along_x=along_x, share=0.14 if labelled and along_x else 0.05)
            set_range((high, low) if described.categories and not along_x else (low, high))

    def _reference_lines(self) -> None:
        """Draw the diagonal, the lines of the axes, and the bars that join categories."""
        thin = {"color": self.colours.grey, "linewidth": 0.8, "zorder": 1}
        if self.figure.diagonal:
            self.axes.axline((0, 0), slope=1, linestyle=(0, (4, 3)), **thin)
        if self.figure.x.line is not None:
            self.axes.axvline(self.figure.x.line, **thin)
        if self.figure.y.line is not None:
            self.axes.axhline(self.figure.y.line, **thin)
        join = self.axes.vlines if self.figure.horizontal else self.axes.hlines
        for bracket in self.figure.brackets:
            for start, end in bracket.spans:
                join(bracket.at, start, end, color=self.colours.ink, linewidth=2.4, zorder=2)
            for start, end in bracket.gaps:
                join(bracket.at, start, end, color=self.colours.ink, linewidth=1.0, linestyle=(0, (1, 2)), zorder=2)

    def _is_labelled(self, series: Series) -> bool:
        return has_point_labels(series) and len(series.x) <= _LABELLED

    def _series(self, number: int, series: Series) -> Any:
        """Draw a series and return its handle for the legend."""
        look = look_of(self.figure, number, self.colours)
        colour, style = look.colour, _STYLES[look.dash]
        if series.mark == "bars":
            return self._bars(number, series, look)
        if series.mark == "steps":
            self.axes.fill_between(series.x, series.y, step="post", color=colour, alpha=look.step_opacity, lw=0)
            return self.axes.step(series.x, series.y, where="post", color=colour, linestyle=style, linewidth=1.2)[0]
        x, y = dodged(self.figure, number)
        joined = series.mark == "line" and len(x) > 1
        if joined and series.low is not None and not self.figure.horizontal:
            self.axes.fill_between(x, series.low, series.high, color=colour, alpha=look.band_opacity, linewidth=0)
        elif series.low is not None:
            self._whiskers(series, x, y, colour if look.values is None else look.values)
        look_of_marks: dict[str, Any] = {
            "color": colour,
            "marker": "" if series.faint and joined else _MARKERS[look.marker],
            "zorder": 1.5 if series.faint else 3,
            "clip_on": not self._inside(series),
        }
        if series.hollow:
            look_of_marks["markerfacecolor"] = self.colours.raised
        if not joined and (series.sizes is not None or look.crowded):
            return self._crowd(series, x, y, look.crowded, look_of_marks)
        look_of_marks |= {
            "markersize": self.format.text * (0.35 if series.faint else 0.5),
            "linestyle": style if joined else "none",
            "linewidth": 1.2,
            "markevery": max(1, len(x) // 12) if joined else None,
        }
        if look.values is None or joined:
            return self.axes.plot(x, y, **look_of_marks)[0]
        for across, up, own in zip(x, y, look.values, strict=True):
            self.axes.plot([across], [up], **{**look_of_marks, "color": own})
        # The legend says what the values have in common; in the plot its handle would change the extent of that.
        from matplotlib.lines import Line2D

        return Line2D([], [], **look_of_marks)

    def _crowd(self, series: Series, x: Numbers, y: Numbers, many: bool, look: dict[str, Any]) -> Any:
        """Draw points that may overlap: transparent, and with areas in proportion to their sizes."""
        from matplotlib.lines import Line2D

        least = (self.format.text * (0.22 if many else 0.4)) ** 2
        sizes = least if series.sizes is None else areas(series.sizes, least, 60 * least)
        self.axes.scatter(x, y, s=sizes, alpha=0.3 if many else 0.6, linewidths=0, **look)
        return Line2D(
            [], [], color=look["color"], marker=look["marker"], linestyle="none", markersize=math.sqrt(least) * 1.2
        )

    def _inside(self, series: Series) -> bool:
        """Return True if no value lies beyond an axis, so that marks at its end can be drawn whole."""
        return all(
            (axis.low is None or axis.low <= min(values)) and (axis.high is None or max(values) <= axis.high)
            for axis, values in ((self.figure.x, series.x), (self.figure.y, series.y))
        )

    def _bars(self, number: int, series: Series, look: SeriesLook) -> Any:
        places, width = bar_places(self.figure, number)
        lengths = series.x if self.figure.horizontal else series.y
        handle = (self.axes.barh if self.figure.horizontal else self.axes.bar)(
            places,
            lengths,
            width * 0.94,
            color=look.values or look.colour,
            hatch=_HATCHES[look.pattern],
            edgecolor=self.colours.raised,
            linewidth=0,
        )
        if series.low is not None:
            x, y = (lengths, places) if self.figure.horizontal else (places, lengths)
            self._whiskers(series, x, y, self.colours.ink)
        if series.labels is not None:
            limits = series.high or lengths
            ends = [length if math.isnan(limit) else limit for length, limit in zip(lengths, limits, strict=True)]
            across, up = (ends, places) if self.figure.horizontal else (places, ends)
            self.tips += zip(series.labels, across, up, strict=True)
        return handle

    def _whiskers(self, series: Series, x: Numbers, y: Numbers, colour: str | Sequence[str]) -> None:
        assert series.low is not None
        assert series.high is not None
        draw_lines = self.axes.hlines if self.figure.horizontal else self.axes.vlines
        draw_lines(y if self.figure.horizontal else x, series.low, series.high, color=colour, linewidth=0.9, zorder=2.5)

    def _uncrowd(self) -> None:
        """Rotate the names along the x axis if they overlap, and show only some if they still do."""
        labels = [label for label in self.axes.get_xticklabels() if label.get_text()]
        boxes = [Box.of(label) for label in labels]
        if not any(a._replace(right=a.right + 4).overlaps(b) for a, b in pairwise(boxes)):
            return
        for label in labels:
            label.set(rotation=40, ha="right", rotation_mode="anchor")
        apart = self.axes.get_window_extent().width / len(labels)
        every = math.ceil(1.8 * self.format.text / 72 * DPI / apart)
        if self.figure.x.categories and every > 1:
            for at, label in enumerate(labels):
                label.set_visible(at % every == 0)

    def _label(self) -> int:
        """Write the labels of points and bars where they cover nothing; return the number of labels without room."""
        labelled = [number for number, series in enumerate(self.figure.series) if self._is_labelled(series)]
        if labelled:
            for number, series in enumerate(self.figure.series):
                self.obstacles += self._boxes_of(number, series)
        hidden, tip = 0, ((1, 0, 2.5),) if self.figure.horizontal else ((0, 1, 2.5),)
        for at in labelled:
            series = self.figure.series[at]
            for text, x, y in zip(series.labels or (), *dodged(self.figure, at), strict=True):
                hidden += not self._write_somewhere(text, x, y, _PLACES)
        for text, x, y in self.tips:
            hidden += not self._write_somewhere(text, x, y, tip)
        return hidden

    def _write_somewhere(self, text: str, x: float, y: float, places: Sequence[tuple[int, int, float]]) -> bool:
        """Write a label, shortened if it has no room otherwise; return False if it has none."""
        limits = (self.format.name, self.format.name // 2)
        return any(self._write(short_name(text, limit), x, y, places) for limit in limits)

    def _boxes_of(self, number: int, series: Series) -> Iterator[Box]:
        """Yield what labels must not cover: the points of a series, their whiskers, and the line between them."""
        half = self.format.text * 0.3 / 72 * DPI
        x, y = dodged(self.figure, number)
        to_pixels = self.axes.transData.transform
        for at, point in enumerate(zip(x, y, strict=True)):
            across, up = to_pixels(point)
            yield Box(across - half, up - half, across + half, up + half)
            if series.low is None or series.high is None or not math.isfinite(series.low[at]):
                continue
            limits = series.low[at], series.high[at]
            ends = [(end, point[1]) if self.figure.horizontal else (point[0], end) for end in limits]
            (left, low), (right, high) = to_pixels(ends)
            yield Box(left - 2, low - 2, right + 2, high + 2)
        if series.mark == "line":
            for start, end in pairwise(to_pixels(list(zip(x, y, strict=True)))):
                pieces = max(int(math.dist(start, end) / _PIECE), 1)
                for at in range(pieces):
                    across, up = start + (end - start) * at / pieces
                    yield Box(across - 2, up - 2, across + 2, up + 2)

    def _write(self, text: str, x: float, y: float, places: Sequence[tuple[int, int, float]]) -> bool:
        """Write a label at the first free place around a point, with a line to it if it is far away."""
        size = self.format.text - 1
        (width, height), (at_x, at_y) = self.extent_of(text, size), self.axes.transData.transform((x, y))
        plot_area = Box.of(self.axes)
        for across, up, away in places:
            # A label is anchored at the end nearer to its point, or in its middle.
            left = at_x + away * across / 72 * DPI - width * (1 - across) / 2
            low = at_y + away * up / 72 * DPI - height * (1 - up) / 2
            box = Box(left, low, left + width, low + height)
            if not box.within(plot_area) or any(box.overlaps(other) for other in self.obstacles):
                continue
            self.obstacles.append(box)
            line = {"arrowstyle": "-", "color": self.colours.grey, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
            self.axes.annotate(
                plain(text),
                (x, y),
                (away * across, away * up),
                textcoords="offset points",
                ha={1: "left", 0: "center", -1: "right"}[across],
                va={1: "bottom", 0: "center", -1: "top"}[up],
                fontsize=size,
                color=self.colours.ink,
                arrowprops=line if away > _PLACES[0][2] else None,
            )
            return True
        return False
