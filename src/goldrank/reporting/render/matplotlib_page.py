"""A sheet of paper under matplotlib: a plot area with title, legend and caption around it.

The plot area has a fixed size; the words are measured and set around it, and the sheet grows as they need, so that
nothing is ever laid over anything else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from goldrank.errors import counts
from goldrank.reporting.render.themes import Colours, Format, short_names

DPI = 200
_PAD = 0.08


def plain(text: str) -> str:
    """Text in which matplotlib sees no formulas."""
    return text.replace("$", r"\$")


class Box(NamedTuple):
    """A rectangle on the sheet, in pixels."""

    left: float
    low: float
    right: float
    high: float

    @classmethod
    def of(cls, drawn: Any) -> Box:
        """Where something stands that is drawn."""
        extent = drawn.get_window_extent()
        return cls(extent.x0, extent.y0, extent.x1, extent.y1)

    def meets(self, other: Box) -> bool:
        """Whether the two have room in common."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high

    def within(self, other: Box) -> bool:
        """Whether the other holds all of this one."""
        return (
            other.left <= self.left and self.right <= other.right and other.low <= self.low and self.high <= other.high
        )


class Words(NamedTuple):
    """What is written around a plot."""

    title: str
    caption: str
    note: str


class Sheet:
    """The paper, with the words of one figure."""

    def __init__(self, words: Words, colours: Colours, format: Format, height: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        self.words, self.colours, self.format, self.height = words, colours, format, height
        self.canvas: Any = Canvas(figsize=(format.width, 2 * format.height), dpi=DPI, facecolor=colours.raised)
        FigureCanvasAgg(self.canvas)
        self.axes: Any = self.canvas.add_axes((0.2, 0.2, 0.7, 0.7), facecolor=colours.raised)
        self.handles: list[Any] = []
        """What stands for each series in the legend."""
        self.names: list[str] = []

    def _written(self, hidden: int) -> tuple[Any, Any, Any]:
        """Title, legend and caption, not yet in their places."""
        for old in (*self.canvas.texts, *self.canvas.legends):
            old.remove()
        format, room = self.format, self.format.width - 2 * _PAD
        title = self._text(self.wrapped(self.words.title, room, format.title), format.title, self.colours.ink)
        left_out = [f"{counts(hidden, 'label')} had no room."] if hidden else []
        below = " ".join(part for part in (self.words.caption, self.words.note, *left_out) if part)
        caption = self._text(self.wrapped(below, room, format.caption), format.caption, self.colours.soft)
        return title, self._legend(room), caption

    def _text(self, text: str, size: float, colour: str) -> Any:
        return self.canvas.text(0, 0, text, fontsize=size, color=colour, va="top", ha="left", linespacing=1.25)

    def _legend(self, room: float) -> Any:
        """The legend in as many columns as fit, its names as long as one column lets them be."""
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
        """Set the words around the plot area, and make the sheet as high as all of it."""
        title, legend, caption = self._written(hidden)
        width = self.format.width
        high = [
            0.0 if drawn is None else drawn.get_window_extent(self.renderer()).height / DPI
            for drawn in (title, legend, caption)
        ]
        # The first setting moves the ticks, and thereby the margins that the second one needs.
        for _ in range(3):
            tight, box = self.axes.get_tightbbox(self.renderer()), self.axes.get_window_extent()
            left, right = (box.x0 - tight.x0) / DPI + _PAD, (tight.x1 - box.x1) / DPI + 2 * _PAD
            above, below = (tight.y1 - box.y1) / DPI + _PAD, (box.y0 - tight.y0) / DPI + _PAD
            tall = self.height + above + below + sum(high) + 5 * _PAD
            self.canvas.set_size_inches(width, tall)
            bottom = tall - 2 * _PAD - high[0] - above - self.height
            self.axes.set_position((left / width, bottom / tall, (width - left - right) / width, self.height / tall))
        top = bottom - below - _PAD
        title.set_position((_PAD / width, 1 - _PAD / tall))
        if legend is not None:
            legend.set_bbox_to_anchor((_PAD / width, top / tall))
        caption.set_position((_PAD / width, (top - high[1] - _PAD) / tall))

    def renderer(self) -> Any:
        """What measures texts."""
        return self.canvas.canvas.get_renderer()

    def extent_of(self, text: str, size: float) -> tuple[float, float]:
        """The width and height of one line, in pixels."""
        from matplotlib.font_manager import FontProperties

        font = FontProperties(family=["DejaVu Sans"], size=size)
        width, height, _ = self.renderer().get_text_width_height_descent(text, font, ismath=False)
        return float(width), float(height)

    def wrapped(self, text: str, room: float, size: float) -> str:
        """Text in lines no wider than *room* inches; a word that is wider goes on in the next line."""

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
