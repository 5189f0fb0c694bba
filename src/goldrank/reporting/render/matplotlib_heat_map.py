"""Draw described heat maps with matplotlib: coloured cells with their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.matplotlib_page import Sheet, plain
from goldrank.reporting.render.themes import Colours, Format, short_names

_ROWS = 2.4
"""The height of a cell, which has two lines, in rows of a list."""


class HeatMapSheet(Sheet):
    """The sheet of a heat map."""

    figure: HeatMap

    def __init__(self, figure: HeatMap, colours: Colours, format: Format) -> None:
        super().__init__(figure, colours, format, format.row * _ROWS * len(figure.rows))

    def draw(self) -> Any:
        """Draw everything and return the canvas."""
        from matplotlib.colors import LinearSegmentedColormap

        low, high = self.figure.limits
        colours = LinearSegmentedColormap.from_list("stops", self.figure.stops)
        values = np.array([[cell.value for cell in row] for row in self.figure.cells])
        self.axes.imshow(values, cmap=colours, vmin=low, vmax=high, aspect="auto")
        self._frame()
        self.arrange(hidden=0)
        self._turn_names()
        self.arrange(hidden=0)
        self._write()
        return self.canvas

    def _frame(self) -> None:
        axes, size, ink = self.axes, self.format.text, self.colours.ink
        columns, rows = len(self.figure.columns), len(self.figure.rows)
        limit = self.format.name
        axes.set_xticks(range(columns), [plain(name) for name in short_names(self.figure.columns, limit)])
        axes.set_yticks(range(rows), [plain(name) for name in short_names(self.figure.rows, limit)])
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0, labelsize=size - 0.5, colors=ink)
        axes.set_xlabel(plain(self.figure.column_label), fontsize=size, color=ink)
        axes.set_ylabel(plain(self.figure.row_label), fontsize=size, color=ink)
        axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color=self.colours.raised, linewidth=1.5)
        axes.tick_params(which="minor", length=0)
        axes.spines[:].set_visible(False)

    def _turn_names(self) -> None:
        """Rotate the names of columns if they are wider than the columns."""
        room = self.axes.get_window_extent().width / len(self.figure.columns)
        labels = self.axes.get_xticklabels()
        if any(label.get_window_extent(self.renderer()).width > 0.94 * room for label in labels):
            for label in labels:
                label.set(rotation=40, ha="left", rotation_mode="anchor")

    def _write(self) -> None:
        room = 0.92 * self.axes.get_window_extent().width / len(self.figure.columns)
        cells = [cell for row in self.figure.cells for cell in row]
        large = self._fitting([cell.text for cell in cells], room, self.format.text)
        # Text below four points is illegible; the intervals are then left to tables and pages.
        small = self._fitting([cell.detail for cell in cells], room, self.format.text - 1.5)
        both = any(cell.detail for cell in cells) and small >= 4
        for row, line in enumerate(self.figure.cells):
            for column, cell in enumerate(line):
                look = {"color": self.figure.ink(cell.value, self.colours.ink), "ha": "center", "va": "center"}
                weight = "bold" if cell.bold else "normal"
                height = row - 0.17 if both and cell.detail else row
                self.axes.text(column, height, plain(cell.text), fontsize=large, fontweight=weight, **look)
                if both:
                    self.axes.text(column, row + 0.25, plain(cell.detail), fontsize=small, **look)

    def _fitting(self, texts: list[str], room: float, size: float) -> float:
        """Return the font size, *size* at most, at which every text fits a cell."""
        widest = max((self.extent_of(text, size)[0] for text in texts if text), default=0.0)
        # Bold letters are slightly wider than the measured ones.
        return size if widest * 1.1 <= room else size * room / (widest * 1.1)
