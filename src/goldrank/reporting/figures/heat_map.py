"""Describe heat maps independently of a renderer: a table whose values are also colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from goldrank.reporting.figures.description import is_file_name

# Light to dark, and red over white to blue: readers who are colour-blind or print in grey can tell them apart.
SEQUENTIAL = ("#f3f7fb", "#c6dbef", "#7fb6d9", "#3584bc", "#08407e")
DIVERGING = ("#b2182b", "#ef8a62", "#f7f7f7", "#67a9cf", "#2166ac")
_DARK = 0.5
"""Below this luminance, white text is easier to read than black text."""


@dataclass(frozen=True)
class HeatCell:
    """A cell: its value (NaN if there is none), its text, and a smaller second line."""

    value: float
    text: str
    detail: str = ""
    bold: bool = False
    """Whether it is emphasised; the caption says why."""


@dataclass(frozen=True)
class HeatMap:
    """A table of rows by columns whose cells are coloured by their values."""

    name: str
    """The name of its file, without a suffix."""
    title: str
    caption: str
    measure: str
    """What the values are, with their unit."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[HeatCell, ...], ...]
    """The cells of each row, the top row first."""
    row_label: str = ""
    column_label: str = ""
    low: float | None = None
    """The value of the first colour; by default the smallest value."""
    high: float | None = None
    diverging: bool = False
    """Whether the colours diverge from the middle."""
    note: str = ""

    def __post_init__(self) -> None:
        if not is_file_name(self.name):
            raise ValueError(f"{self.name!r} cannot be the name of a file")
        if not self.rows or not self.columns:
            raise ValueError(f"{self.name}: there is nothing to show")
        if len(self.cells) != len(self.rows) or any(len(row) != len(self.columns) for row in self.cells):
            raise ValueError(f"{self.name}: rows, columns and cells do not go together")
        if any(math.isinf(cell.value) for row in self.cells for cell in row):
            raise ValueError(f"{self.name}: a value is infinite")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"{self.name}: the colours cannot go from {self.low} to {self.high}")

    @property
    def stops(self) -> tuple[str, ...]:
        """The colours, from the lowest value to the highest."""
        return DIVERGING if self.diverging else SEQUENTIAL

    @property
    def limits(self) -> tuple[float, float]:
        """The values of the first and the last colour."""
        values = [cell.value for row in self.cells for cell in row if not math.isnan(cell.value)]
        low = min(values, default=0.0) if self.low is None else self.low
        high = max(values, default=1.0) if self.high is None else self.high
        return (low, high) if low < high else (low - 0.5, low + 0.5)

    def ink(self, value: float, otherwise: str) -> str:
        """Return the text colour that is legible on the cell of a *value*; *otherwise* if it is NaN."""
        if math.isnan(value):
            return otherwise
        low, high = self.limits
        return (
            "#ffffff" if _luminance(interpolate_colour(self.stops, (value - low) / (high - low))) < _DARK else "#1a1a1a"
        )


def interpolate_colour(stops: Sequence[str], share: float) -> tuple[float, float, float]:
    """Return the colour at a share of the way through *stops*, as red, green and blue from 0 to 1.

    >>> interpolate_colour(("#000000", "#ffffff"), 0.5)
    (0.5, 0.5, 0.5)
    """
    colours = [tuple(int(stop[at : at + 2], 16) / 255 for at in (1, 3, 5)) for stop in stops]
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    first, second = list(pairwise(colours))[min(int(place), len(colours) - 2)]
    part = place - min(int(place), len(colours) - 2)
    red, green, blue = (a + (b - a) * part for a, b in zip(first, second, strict=True))
    return red, green, blue


def _luminance(colour: tuple[float, float, float]) -> float:
    """Return the perceived brightness of a colour, from 0 to 1."""
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))
