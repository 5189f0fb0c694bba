"""Draws a described figure with matplotlib, for print.

The plot area has a fixed size; title, legend and caption are measured and set around it, and the sheet grows as they
need, so that nothing is ever laid over anything else.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from goldrank.errors import MissingExtraError, unknown_name
from goldrank.io.text import counts
from goldrank.report.figure import Axis, Figure, Series, compact_number

if TYPE_CHECKING:
    from goldrank.io.files import PathLike

Theme = Literal["light", "dark"]
Size = Literal["single", "double"]

_DPI = 200
_PAD = 0.08
_MARKERS = "osD^vPX<>"
_STYLES = ("-", "--", "-.", ":")
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "++")
_AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_PLACES = tuple((across, up, away) for away in (4.5, 12.0, 20.0, 30.0) for across, up in _AROUND)
"""Where the label of a point may stand: to which side, and how many points of type away, the best first."""


@dataclass(frozen=True)
class _Colours:
    paper: str
    ink: str
    quiet: str
    """For the caption: less than ink, and still easily read."""
    faint: str
    series: tuple[str, ...]


# The palette of Okabe and Ito, which the colour-blind can tell apart, without the colour that the paper swallows.
THEMES = {
    "light": _Colours(
        "#ffffff",
        "#1a1a1a",
        "#575757",
        "#8a8a8a",
        ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    ),
    "dark": _Colours(
        "#16181d",
        "#eceff4",
        "#b4bcc8",
        "#7d8590",
        ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#ffffff"),
    ),
}


@dataclass(frozen=True)
class _Format:
    """Inches and points of one column of a paper, or of two."""

    width: float
    height: float
    row: float
    """The height of one category where they run from the top down."""
    text: float
    title: float
    caption: float
    name: int
    """How many characters of a name are shown."""


SIZES = {
    "single": _Format(3.5, 2.1, 0.16, 7.0, 8.5, 6.0, 26),
    "double": _Format(7.2, 3.4, 0.2, 8.0, 10.5, 7.0, 48),
}


def require_matplotlib() -> None:
    """Raise now, before long work, if there is nothing to draw with."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("a plot", "matplotlib", "plot") from None


def draw(figure: Figure, path: PathLike, theme: Theme = "light", size: Size = "double") -> None:
    """Draw *figure* into a .png, .pdf or .svg file, completely or not at all; equal figures give equal bytes.

    Args:
        figure: what to draw.
        path: the file; its suffix names the format.
        theme: ``light`` for paper, ``dark`` for dark slides and pages.
        size: as wide as one column of a paper (``single``, 3.5 inches) or as two (``double``, 7.2 inches).
    """
    from goldrank.io.files import write_atomically
    from goldrank.meta.figures import check_image

    if theme not in THEMES:
        raise unknown_name("theme", theme, THEMES, ", ".join(THEMES))
    if size not in SIZES:
        raise unknown_name("size", size, SIZES, ", ".join(SIZES))
    format = check_image(path)
    require_matplotlib()
    # A date would make every file another one.
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with _settings(figure.name):
        sheet = _Sheet(figure, THEMES[theme], SIZES[size]).finished()
        write_atomically(path, lambda out: sheet.savefig(out, dpi=_DPI, format=format, metadata=dates.get(format)))


@contextmanager
def _settings(salt: str) -> Iterator[None]:
    import matplotlib as mpl

    settings = {"svg.hashsalt": salt, "pdf.fonttype": 42, "font.family": ["DejaVu Sans"], "hatch.linewidth": 0.6}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes, which says enough.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        yield


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """Names on one line and no longer than *limit*, by their start and end, and still told apart.

    >>> short_names(["fill-mask:roberta-base", "fill-mask:roberta-large", "bm25"], 12)
    ['fill-…a-base', 'fill-…-large', 'bm25']
    """
    made: list[str] = []
    for name in names:
        line = " ".join(name.split())
        short = line if len(line) <= limit else f"{line[: (limit - 1) // 2]}…{line[-(limit // 2) :]}"
        number = 2
        while short in made:
            short, number = f"{short.removesuffix(f' #{number - 1}')} #{number}", number + 1
        made.append(short)
    return made


def _plain(text: str) -> str:
    """Text in which matplotlib sees no formulas."""
    return text.replace("$", r"\$")


class _Box(NamedTuple):
    """A rectangle on the sheet, in pixels."""

    left: float
    low: float
    right: float
    high: float

    @classmethod
    def of(cls, drawn: Any) -> _Box:
        extent = drawn.get_window_extent()
        return cls(extent.x0, extent.y0, extent.x1, extent.y1)

    def meets(self, other: _Box) -> bool:
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high

    def within(self, other: _Box) -> bool:
        return (
            other.left <= self.left and self.right <= other.right and other.low <= self.low and self.high <= other.high
        )


class _Sheet:
    """One figure on its way to paper."""

    def __init__(self, figure: Figure, colours: _Colours, format: _Format) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        self.figure, self.colours, self.format = figure, colours, format
        self.canvas: Any = Canvas(figsize=(format.width, 2 * format.height), dpi=_DPI, facecolor=colours.paper)
        FigureCanvasAgg(self.canvas)
        self.axes: Any = self.canvas.add_axes((0.2, 0.2, 0.7, 0.7), facecolor=colours.paper)
        self.height = format.height
        if figure.horizontal:
            bars = sum(series.mark == "bars" for series in figure.series)
            lines = len(figure.y.categories) * max(1.25, 0.75 * bars + 0.5)
            self.height = format.row * lines + 0.1
        elif figure.diagonal:
            self.height = min(1.15 * format.height, format.width * 0.72)
        self.handles: list[Any] = []
        self.tips: list[tuple[str, float, float]] = []
        """Labels of bars, with where the bars end."""
        self.taken: list[_Box] = []

    def finished(self) -> Any:
        """The canvas with everything in its place."""
        self._axis(self.axes.xaxis, self.figure.x)
        self._axis(self.axes.yaxis, self.figure.y)
        self._frame()
        for number, series in enumerate(self.figure.series):
            self.handles.append(self._series(number, series))
        self._range()
        if self.figure.diagonal:
            self.axes.axline((0, 0), slope=1, color=self.colours.faint, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
        self._arrange(hidden=0)
        self._uncrowd()
        self._arrange(hidden=0)
        if hidden := self._label():
            self._arrange(hidden)
        return self.canvas

    def _axis(self, axis: Any, described: Axis) -> None:
        from matplotlib import ticker

        room = 0.75 * self.format.width if axis is self.axes.xaxis else max(self.height, 1.0)
        label = self._wrapped(described.label, room, self.format.text)
        axis.set_label_text(label, fontsize=self.format.text, color=self.colours.ink)
        axis.set_tick_params(labelsize=self.format.text - 0.5, colors=self.colours.ink, width=0.6, length=2.5)
        if described.categories:
            names = [_plain(name) for name in short_names(described.categories, self.format.name)]
            axis.set_ticks(range(len(names)), names)
            axis.set_tick_params(length=0)
            return
        if described.scale == "log":
            (self.axes.set_xscale if axis is self.axes.xaxis else self.axes.set_yscale)("log")
            low, high = self._extent(axis is self.axes.xaxis)
            axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high / low < 500 else (1,), numticks=12))
            axis.set_minor_formatter(ticker.NullFormatter())
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: compact_number(value)))
        elif described.percent:
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))
            axis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        else:
            whole = all(value == int(value) for value in self._values(axis is self.axes.xaxis))
            axis.set_major_locator(ticker.MaxNLocator(7, integer=whole, steps=[1, 2, 2.5, 5, 10]))
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: compact_number(value)))

    def _values(self, along_x: bool) -> list[float]:
        """Every value on an axis, with the finite limits of intervals."""
        found: list[float] = []
        for series in self.figure.series:
            found += series.x if along_x else series.y
            if along_x == self.figure.horizontal:
                found += [end for end in (*(series.low or ()), *(series.high or ())) if math.isfinite(end)]
        return found

    def _extent(self, along_x: bool) -> tuple[float, float]:
        values = self._values(along_x)
        return min(values), max(values)

    def _frame(self) -> None:
        self.axes.spines[["top", "right"]].set_visible(False)
        for spine in self.axes.spines.values():
            spine.set(color=self.colours.faint, linewidth=0.6)
        self.axes.grid(axis="x" if self.figure.horizontal else "y", color=self.colours.faint, alpha=0.25, linewidth=0.5)
        self.axes.set_axisbelow(True)

    def _range(self) -> None:
        for described, along_x in ((self.figure.x, True), (self.figure.y, False)):
            set_range = self.axes.set_xlim if along_x else self.axes.set_ylim
            if described.categories:
                last = len(described.categories) - 0.4
                set_range((-0.6, last) if along_x else (last, -0.6))
                continue
            low, high = self._extent(along_x)
            labelled = any(series.labels and series.mark in ("bars", "points") for series in self.figure.series)
            share = 0.14 if labelled and along_x else 0.05
            if described.scale == "log":
                room = max((high / low) ** share, 1.06)
                low, high = low / room, high * room
            else:
                room = (high - low or abs(high) or 1) * share
                low, high = low - room, high + room
            set_range(
                low if described.low is None else described.low, high if described.high is None else described.high
            )

    def _series(self, number: int, series: Series) -> Any:
        """Draw one series; returns what stands for it in the legend."""
        colour = self.colours.series[number % len(self.colours.series)]
        marker = _MARKERS[number % len(_MARKERS)]
        style = _STYLES[number % len(_STYLES)]
        if series.mark == "bars":
            return self._bars(number, series, colour)
        if series.mark == "steps":
            few = len(self.figure.series) == 1
            self.axes.fill_between(series.x, series.y, step="post", color=colour, alpha=0.25 if few else 0.06, lw=0)
            return self.axes.step(series.x, series.y, where="post", color=colour, linestyle=style, linewidth=1.2)[0]
        x, y = self._dodged(number, series)
        size = self.format.text * 0.5
        joined = series.mark == "line" and len(x) > 1
        if joined and series.low is not None:
            self.axes.fill_between(x, series.low, series.high, color=colour, alpha=self._faintness(), linewidth=0)
        elif series.low is not None:
            self._whiskers(series, x, y, colour)
        return self.axes.plot(
            x,
            y,
            color=colour,
            marker=marker,
            markersize=size,
            linestyle=style if joined else "none",
            linewidth=1.2,
            markevery=max(1, len(x) // 12),
            zorder=3,
            clip_on=not self._inside(series),
        )[0]

    def _inside(self, series: Series) -> bool:
        """Whether no value lies beyond an axis, so that marks on its very end can be drawn whole."""
        return all(
            (axis.low is None or axis.low <= min(values)) and (axis.high is None or max(values) <= axis.high)
            for axis, values in ((self.figure.x, series.x), (self.figure.y, series.y))
        )

    def _faintness(self) -> float:
        return 0.18 if len(self.figure.series) <= 4 else 0.08

    def _dodged(self, number: int, series: Series) -> tuple[Sequence[float], Sequence[float]]:
        """The values, moved aside within their category where another series has a value there too."""
        axis = 0 if self.figure.x.categories else 1
        if not (self.figure.x.categories or self.figure.y.categories):
            return series.x, series.y
        others = [(one.x, one.y)[axis] for at, one in enumerate(self.figure.series) if at != number]
        moved = [series.x, series.y]
        if any(set(moved[axis]) & set(other) for other in others):
            count = len(self.figure.series)
            step = (number - (count - 1) / 2) * 0.6 / count
            moved[axis] = tuple(value + step for value in moved[axis])
        return moved[0], moved[1]

    def _bars(self, number: int, series: Series, colour: str) -> Any:
        across = [at for at, one in enumerate(self.figure.series) if one.mark == "bars"]
        positions, lengths = (series.y, series.x) if self.figure.horizontal else (series.x, series.y)
        spread = sorted(set(positions))
        step = min((after - before for before, after in pairwise(spread)), default=1.0)
        wide = 0.8 * step / len(across)
        start = -(len(across) - 1) / 2 + across.index(number)
        places = [position + start * wide for position in positions]
        drawn = (self.axes.barh if self.figure.horizontal else self.axes.bar)(
            places,
            lengths,
            wide * 0.94,
            color=colour,
            hatch=_HATCHES[number % len(_HATCHES)],
            edgecolor=self.colours.paper,
            linewidth=0,
        )
        if series.low is not None:
            x, y = (lengths, places) if self.figure.horizontal else (places, lengths)
            self._whiskers(series, x, y, self.colours.ink)
        if series.labels is not None:
            limits = series.high or lengths
            ends = [length if math.isnan(limit) else limit for length, limit in zip(lengths, limits, strict=True)]
            x, y = (ends, places) if self.figure.horizontal else (places, ends)
            self.tips += zip(series.labels, x, y, strict=True)
        return drawn

    def _whiskers(self, series: Series, x: Sequence[float], y: Sequence[float], colour: str) -> None:
        assert series.low is not None
        assert series.high is not None
        draw_lines = self.axes.hlines if self.figure.horizontal else self.axes.vlines
        draw_lines(y if self.figure.horizontal else x, series.low, series.high, color=colour, linewidth=0.9, zorder=2.5)

    def _words(self, hidden: int) -> tuple[Any, Any, Any]:
        """Title, legend and caption, not yet in their places."""
        for old in (*self.canvas.texts, *self.canvas.legends):
            old.remove()
        format, room = self.format, self.format.width - 2 * _PAD
        title = self._text(self._wrapped(self.figure.title, room, format.title), format.title, self.colours.ink)
        left_out = [f"{counts(hidden, 'label')} had no room."] if hidden else []
        below = " ".join(part for part in (self.figure.caption, self.figure.note, *left_out) if part)
        caption = self._text(self._wrapped(below, room, format.caption), format.caption, self.colours.quiet)
        return title, self._legend(room), caption

    def _text(self, text: str, size: float, colour: str) -> Any:
        return self.canvas.text(0, 0, text, fontsize=size, color=colour, va="top", ha="left", linespacing=1.25)

    def _legend(self, room: float) -> Any:
        """The legend in as many columns as fit, its names as long as one column lets them be."""
        names = [series.name for series in self.figure.series]
        limit = 2 * self.format.name
        while True:
            labels = [_plain(name) for name in short_names(names, limit)]
            for columns in range(min(len(labels), 5), 0, -1):
                legend = self.canvas.legend(
                    self.handles,
                    labels,
                    loc="upper left",
                    ncols=columns,
                    frameon=False,
                    fontsize=self.format.text,
                    labelcolor=self.colours.ink,
                    handlelength=2.6,
                    columnspacing=1.2,
                    borderpad=0,
                    borderaxespad=0,
                )
                if legend.get_window_extent(self._renderer()).width <= room * _DPI or (columns == 1 and limit <= 8):
                    return legend
                legend.remove()
            limit -= 4

    def _arrange(self, hidden: int) -> None:
        """Set the words around the plot area, and make the sheet as high as all of it."""
        title, legend, caption = self._words(hidden)
        width = self.format.width
        high = [drawn.get_window_extent(self._renderer()).height / _DPI for drawn in (title, legend, caption)]
        # The first setting moves the ticks, and thereby the margins that the second one needs.
        for _ in range(3):
            tight, box = self.axes.get_tightbbox(self._renderer()), self.axes.get_window_extent()
            left, right = (box.x0 - tight.x0) / _DPI + _PAD, (tight.x1 - box.x1) / _DPI + 2 * _PAD
            above, below = (tight.y1 - box.y1) / _DPI + _PAD, (box.y0 - tight.y0) / _DPI + _PAD
            tall = self.height + above + below + sum(high) + 5 * _PAD
            self.canvas.set_size_inches(width, tall)
            bottom = tall - 2 * _PAD - high[0] - above - self.height
            self.axes.set_position((left / width, bottom / tall, (width - left - right) / width, self.height / tall))
        top = bottom - below - _PAD
        title.set_position((_PAD / width, 1 - _PAD / tall))
        legend.set_bbox_to_anchor((_PAD / width, top / tall))
        caption.set_position((_PAD / width, (top - high[1] - _PAD) / tall))

    def _renderer(self) -> Any:
        return self.canvas.canvas.get_renderer()

    def _extent_of(self, text: str, size: float) -> tuple[float, float]:
        """The width and height of one line, in pixels."""
        from matplotlib.font_manager import FontProperties

        font = FontProperties(family=["DejaVu Sans"], size=size)
        width, height, _ = self._renderer().get_text_width_height_descent(text, font, ismath=False)
        return float(width), float(height)

    def _wrapped(self, text: str, room: float, size: float) -> str:
        """Text in lines no wider than *room* inches; a word that is wider goes on in the next line."""

        def fits(line: str) -> bool:
            return self._extent_of(line, size)[0] <= room * _DPI

        lines = [""]
        for word in text.split():
            if fits(longer := f"{lines[-1]} {word}".strip()):
                lines[-1] = longer
                continue
            rest = word
            while not fits(rest):
                length = next((length for length in range(len(rest), 1, -1) if fits(rest[:length])), 1)
                lines.append(rest[:length])
                rest = rest[length:]
            lines.append(rest)
        return _plain("\n".join(line for line in lines if line))

    def _uncrowd(self) -> None:
        """Turn the names along the x axis where they meet, and show only some where even that is too tight."""
        labels = [label for label in self.axes.get_xticklabels() if label.get_text()]
        boxes = [_Box.of(label) for label in labels]
        if not any(a._replace(right=a.right + 4).meets(b) for a, b in pairwise(boxes)):
            return
        for label in labels:
            label.set(rotation=40, ha="right", rotation_mode="anchor")
        apart = self.axes.get_window_extent().width / len(labels)
        every = math.ceil(1.8 * self.format.text / 72 * _DPI / apart)
        if self.figure.x.categories and every > 1:
            for at, label in enumerate(labels):
                label.set_visible(at % every == 0)

    def _label(self) -> int:
        """Write the labels of points and bars where nothing else stands; returns how many found no room."""
        wanted = [series for series in self.figure.series if series.labels and series.mark == "points"]
        if wanted:
            self.taken += [box for at, one in enumerate(self.figure.series) for box in self._obstacles(at, one)]
        hidden = 0
        for series in wanted:
            at = self.figure.series.index(series)
            for text, x, y in zip(series.labels or (), *self._dodged(at, series), strict=True):
                hidden += not self._write(text, x, y, _PLACES)
        for text, x, y in self.tips:
            hidden += not self._write(text, x, y, ((1, 0, 2.5),) if self.figure.horizontal else ((0, 1, 2.5),))
        return hidden

    def _obstacles(self, number: int, series: Series) -> Iterator[_Box]:
        """What a label may not cover: the points of a series and their whiskers."""
        half = self.format.text * 0.3 / 72 * _DPI
        x, y = self._dodged(number, series)
        to_pixels = self.axes.transData.transform
        for at, point in enumerate(zip(x, y, strict=True)):
            across, up = to_pixels(point)
            yield _Box(across - half, up - half, across + half, up + half)
            if series.low is None or series.high is None or not math.isfinite(series.low[at]):
                continue
            limits = series.low[at], series.high[at]
            ends = [(end, point[1]) if self.figure.horizontal else (point[0], end) for end in limits]
            (left, low), (right, high) = to_pixels(ends)
            yield _Box(left - 2, low - 2, right + 2, high + 2)

    def _write(self, text: str, x: float, y: float, places: Sequence[tuple[int, int, float]]) -> bool:
        """Write a label at the first free place around a point; one that is further off gets a line to it."""
        (short,) = short_names([text], self.format.name)
        size = self.format.text - 1
        (width, height), (at_x, at_y) = self._extent_of(short, size), self.axes.transData.transform((x, y))
        sheet = _Box.of(self.axes)
        for across, up, away in places:
            # A label hangs by the end that is nearer to its point, or by its middle.
            left = at_x + away * across / 72 * _DPI - width * (1 - across) / 2
            low = at_y + away * up / 72 * _DPI - height * (1 - up) / 2
            box = _Box(left, low, left + width, low + height)
            if not box.within(sheet) or any(box.meets(other) for other in self.taken):
                continue
            self.taken.append(box)
            line = {"arrowstyle": "-", "color": self.colours.faint, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
            self.axes.annotate(
                _plain(short),
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
