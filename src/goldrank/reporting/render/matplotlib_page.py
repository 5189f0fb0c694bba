"""Lay out a matplotlib figure: a plot area of fixed size with title, legend and caption around it.

The texts are measured and the height of the sheet follows from them, so that nothing overlaps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from goldrank.errors import counts
from goldrank.reporting.figures.description import Figure
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.themes import Colours, Format, short_names

DPI = 200
_PAD = 0.08


def plain(text: str) -> str:
    """Escape text for matplotlib, which reads formulas between dollar signs."""
    return text.replace("$", r"\$")


class Box(NamedTuple):
    """A rectangle on the sheet, in pixels."""

    left: float
    low: float
    right: float
    high: float

    @classmethod
    def of(cls, artist: Any) -> Box:
        """Return the extent of an artist of matplotlib."""
        extent = artist.get_window_extent()
        return cls(extent.x0, extent.y0, extent.x1, extent.y1)

    def overlaps(self, other: Box) -> bool:
        """Return True if the two have an area in common."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high

    def within(self, other: Box) -> bool:
        """Return True if the other contains all of this one."""
        return (
            other.left <= self.left and self.right <= other.right and other.low <= self.low and self.high <= other.high
        )


class Sheet:
    """A figure of matplotlib with one plot area and the texts around it."""

    def __init__(self, figure: Figure | HeatMap, colours: Colours, format: Format, height: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        self.figure, self.colours, self.format, self.height = figure, colours, format, height
        self.canvas: Any = Canvas(figsize=(format.width, 2 * format.height), dpi=DPI, facecolor=colours.raised)
        FigureCanvasAgg(self.canvas)
        self.axes: Any = self.canvas.add_axes((0.2, 0.2, 0.7, 0.7), facecolor=colours.raised)
        self.handles: list[Any] = []
        """The entries of the series in the legend."""
        self.names: list[str] = []

    def _add_texts(self, hidden: int) -> tuple[Any, Any, Any]:
        """Add title, legend and caption, not yet in their places."""
        for old in (*self.canvas.texts, *self.canvas.legends):
            old.remove()
        format, room = self.format, self.format.width - 2 * _PAD
        title = self._text(self.wrapped(self.figure.title, room, format.title), format.title, self.colours.ink)
        left_out = [f"{counts(hidden, 'label')} had no room."] if hidden else []
        below = " ".join(part for part in (self.figure.caption, self.figure.note, *left_out) if part)
        caption = self._text(self.wrapped(below, room, format.caption), format.caption, self.colours.soft)
        return title, self._legend(room), caption

    def _text(self, text: str, size: float, colour: str) -> Any:
        return self.canvas.text(0, 0, text, fontsize=size, color=colour, va="top", ha="left", linespacing=1.25)

    def _legend(self, room: float) -> Any:
        """Add the legend in as many columns as fit, with its names as long as one column allows."""
        if not self.handles:
            return None
        limit = 2 * self.format.name
        while True:
            labels = [plain(name) for name in short_names(self.names, limit)]
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
                if legend.get_window_extent(self.renderer()).width <= room * DPI or (columns == 1 and limit <= 8):
                    return legend
                legend.remove()
            limit -= 4

    def arrange(self, hidden: int) -> None:
        """Put the texts around the plot area, and set the height of the sheet; *hidden* labels are mentioned."""
        title, legend, caption = self._add_texts(hidden)
        width = self.format.width
        heights = [
            0.0 if text is None else text.get_window_extent(self.renderer()).height / DPI
            for text in (title, legend, caption)
        ]
        # Each layout moves the ticks, and thereby the margins of the next one.
        for _ in range(3):
            tight, box = self.axes.get_tightbbox(self.renderer()), self.axes.get_window_extent()
            left, right = (box.x0 - tight.x0) / DPI + _PAD, (tight.x1 - box.x1) / DPI + 2 * _PAD
            above, below = (tight.y1 - box.y1) / DPI + _PAD, (box.y0 - tight.y0) / DPI + _PAD
            tall = self.height + above + below + sum(heights) + 5 * _PAD
            self.canvas.set_size_inches(width, tall)
            bottom = tall - 2 * _PAD - heights[0] - above - self.height
            self.axes.set_position((left / width, bottom / tall, (width - left - right) / width, self.height / tall))
        top = bottom - below - _PAD
        title.set_position((_PAD / width, 1 - _PAD / tall))
        if legend is not None:
            legend.set_bbox_to_anchor((_PAD / width, top / tall))
        caption.set_position((_PAD / width, (top - heights[1] - _PAD) / tall))

    def renderer(self) -> Any:
        """Return the renderer, which measures texts."""
        return self.canvas.canvas.get_renderer()

    def extent_of(self, text: str, size: float) -> tuple[float, float]:
        """Return the width and height of one line, in pixels."""
        from matplotlib.font_manager import FontProperties

        font = FontProperties(family=["DejaVu Sans"], size=size)
        width, height, _ = self.renderer().get_text_width_height_descent(text, font, ismath=False)
        return float(width), float(height)

    def wrapped(self, text: str, room: float, size: float) -> str:
        """Wrap text into lines no wider than *room* inches; longer words are broken."""

        def fits(line: str) -> bool:
            return self.extent_of(line, size)[0] <= room * DPI

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
        return plain("\n".join(line for line in lines if line))
