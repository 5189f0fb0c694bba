"""The description of a heat map, a table whose numbers are colours too: every renderer draws the same one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from goldrank.reporting.figures.description import is_file_name

# Light to dark, and red over white to blue: both can be told apart by the colour-blind, and in grey.
SEQUENTIAL = ("#f3f7fb", "#c6dbef", "#7fb6d9", "#3584bc", "#08407e")
DIVERGING = ("#b2182b", "#ef8a62", "#f7f7f7", "#67a9cf", "#2166ac")
_DARK = 0.5
"""Below this luminance white writing is easier to read than black."""


@dataclass(frozen=True)
class HeatMap:
    """Rows by columns, each cell with a value, what is written in it, and a smaller second line."""

    name: str
    """What its file is called, without a suffix."""
    title: str
    caption: str
    measure: str
    """What the values are, with their unit."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    """A row of values for each row, the top one first; NaN where there is none."""
    texts: tuple[tuple[str, ...], ...]
    details: tuple[tuple[str, ...], ...]
    row_label: str = ""
    column_label: str = ""
    bold: frozenset[tuple[int, int]] = frozenset()
    """Cells that are to stand out, by row and column; the caption says why."""
    low: float | None = None
    """The value of the first colour; by default the least."""
    high: float | None = None
    diverging: bool = False
    """Whether the colours part in the middle."""
    note: str = ""

    def __post_init__(self) -> None:
        if not is_file_name(self.name):
            raise ValueError(f"{self.name!r} is no name for a file")
        if not self.rows or not self.columns:
            raise ValueError(f"{self.name}: there is nothing to show")
        for table in (self.values, self.texts, self.details):
            if len(table) != len(self.rows) or any(len(row) != len(self.columns) for row in table):
                raise ValueError(f"{self.name}: rows, columns and cells do not go together")
        if any(math.isinf(value) for row in self.values for value in row):
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
        found = [value for row in self.values for value in row if not math.isnan(value)]
        low = min(found, default=0.0) if self.low is None else self.low
        high = max(found, default=1.0) if self.high is None else self.high
        return (low, high) if low < high else (low - 0.5, low + 0.5)

    def ink(self, value: float, otherwise: str) -> str:
        """In which colour to write on the cell of a *value*; *otherwise* where it has none."""
        if math.isnan(value):
            return otherwise
        low, high = self.limits
        return "#ffffff" if luminance(between(self.stops, (value - low) / (high - low))) < _DARK else "#1a1a1a"


def between(stops: Sequence[str], share: float) -> tuple[float, float, float]:
    """The colour at a share of the way through *stops*, as red, green and blue from 0 to 1.

    >>> between(("#000000", "#ffffff"), 0.5)
    (0.5, 0.5, 0.5)
    """
    colours = [tuple(int(stop[at : at + 2], 16) / 255 for at in (1, 3, 5)) for stop in stops]
    place = min(max(share, 0.0), 1.0) * (len(colours) - 1)
    first, second = list(pairwise(colours))[min(int(place), len(colours) - 2)]
    part = place - min(int(place), len(colours) - 2)
    red, green, blue = (a + (b - a) * part for a, b in zip(first, second, strict=True))
    return red, green, blue


def luminance(colour: tuple[float, float, float]) -> float:
    """How bright a colour looks, from 0 to 1."""
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))
