"""Describe figures independently of a renderer: axes, series, captions.

Values are plain tuples of numbers, so that a description can be compared, hashed and written as JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from goldrank.stats import Interval

Scale = Literal["linear", "log"]
Mark = Literal["line", "points", "bars", "steps"]
Numbers = tuple[float, ...]

SCALES = ("linear", "log")
MARKS = ("line", "points", "bars", "steps")
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class Axis:
    """An axis: what it measures, with its unit, and its range if the values do not determine it."""

    label: str
    scale: Scale = "linear"
    categories: tuple[str, ...] = ()
    """Names instead of numbers; a value on this axis is then the position of its category, from 0."""
    low: float | None = None
    high: float | None = None
    percent: bool = False
    """Whether values are shares, to be shown in per cent."""
    line: float | None = None
    """A value to draw a thin line at, such as the 0 of differences."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(map(str, self.categories)))
        if self.scale not in SCALES:
            raise ValueError(f"there is no scale {self.scale!r}")
        if self.categories and (self.scale == "log" or self.percent or (self.low, self.high) != (None, None)):
            raise ValueError("an axis of categories has no scale, percentage or range")
        if len(set(self.categories)) < len(self.categories):
            raise ValueError("a category is named twice")
        ends = [end for end in (self.low, self.high) if end is not None]
        if not all(math.isfinite(end) for end in ends) or (len(ends) == 2 and ends[0] >= ends[1]):
            raise ValueError(f"the axis cannot go from {self.low} to {self.high}")
        if self.scale == "log" and any(end <= 0 for end in ends):
            raise ValueError("a logarithmic axis has no 0 and nothing below")
        if self.line is not None and (self.scale == "log" or self.categories or not math.isfinite(self.line)):
            raise ValueError("a line is drawn at a number on a linear axis")

    def check(self, values: Numbers) -> None:
        """Raise ValueError if a value has no place on this axis."""
        if not all(map(math.isfinite, values)):
            raise ValueError(f"{self.label}: a value is not finite")
        if self.scale == "log" and any(value <= 0 for value in values):
            raise ValueError(f"{self.label}: a value has no place on a logarithmic axis")
        if self.categories and not all(value in range(len(self.categories)) for value in values):
            raise ValueError(f"{self.label}: a value is the position of no category")


@dataclass(frozen=True)
class Series:
    """Values that belong together, with the limits of their intervals."""

    name: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    """The lower limit of each value, NaN where there is none; the value is x where y has categories, else y."""
    high: Numbers | None = None
    mark: Mark = "line"
    """``steps``: a value holds from its x to the next one's."""
    labels: tuple[str, ...] | None = None
    """A text for each value, shown beside points and bars where there is room, and on hover."""
    sizes: Numbers | None = None
    """The weight of each point, shown as its area."""
    faint: bool = False
    """Whether it is drawn in grey behind the other series, with labels on hover only."""
    hollow: bool = False
    """Whether it is a variant of the series before it, drawn in the same colour with empty marks."""
    runs: tuple[str, ...] | None = None
    """The runs that decide its colours, one for all values or for each; None if its name or categories name them."""

    def __post_init__(self) -> None:
        for name in ("x", "y", "low", "high", "sizes"):
            values: Iterable[float] | None = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, tuple(map(float, values)))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(map(str, self.labels)))
        if self.mark not in MARKS:
            raise ValueError(f"there is no mark {self.mark!r}")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"{self.name}: an interval has two limits")
        if self.sizes is not None and (self.mark != "points" or not all(0 < size < math.inf for size in self.sizes)):
            raise ValueError(f"{self.name}: only points have sizes, all above 0")
        given = (self.y, self.low, self.high, self.labels, self.sizes)
        columns = [column for column in given if column is not None]
        if not self.x or any(len(column) != len(self.x) for column in columns):
            raise ValueError(f"{self.name}: the columns have no values, or not equally many")
        if any(low > high for low, high in zip(self.low or (), self.high or (), strict=True)):
            raise ValueError(f"{self.name}: a lower limit is greater than the upper one")
        if self.runs is not None and len(self.runs) not in (1, len(self.x)):
            raise ValueError(f"{self.name}: it shows one run, or one for each value")

    @classmethod
    def with_intervals(
        cls,
        name: str,
        x: Iterable[float],
        y: Iterable[float],
        intervals: Sequence[Interval | None],
        mark: Mark = "line",
        **options: Any,
    ) -> Series:
        """Return a series whose limits are those of *intervals*, NaN where there is none; *options* are fields."""
        low, high = (
            tuple(math.nan if interval is None else getattr(interval, end) for interval in intervals)
            for end in ("low", "high")
        )
        return cls(name, tuple(x), tuple(y), low, high, mark, **options)


@dataclass(frozen=True)
class Bracket:
    """Categories joined by a bar; the caption says what they have in common."""

    members: tuple[int, ...]
    """The positions of the categories, in their order; the bar is dotted across categories between them."""
    at: float
    """Where the bar stands on the axis of values."""

    def joins(self, categories: int) -> bool:
        """Return True if this joins two or more of *categories* categories, at a finite place."""
        ordered = all(before < after for before, after in pairwise(self.members))
        inside = len(self.members) > 1 and self.members[0] >= 0 and self.members[-1] < categories
        return ordered and inside and math.isfinite(self.at)

    @property
    def spans(self) -> list[tuple[float, float]]:
        """The solid parts of the bar: one for each run of neighbouring members, a little longer than these."""
        starts = [at for at in self.members if at - 1 not in self.members]
        ends = [at for at in self.members if at + 1 not in self.members]
        return [(start - 0.2, end + 0.2) for start, end in zip(starts, ends, strict=True)]

    @property
    def gaps(self) -> list[tuple[float, float]]:
        """The dotted parts of the bar, across categories that do not belong to it."""
        return [(before[1], after[0]) for before, after in pairwise(self.spans)]


@dataclass(frozen=True)
class Figure:
    """A figure with its title, caption, axes and all values."""

    name: str
    """The name of its file, without a suffix."""
    title: str
    caption: str
    """The conventions, the number of queries or other units, and the kind of intervals."""
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    diagonal: bool = False
    """Whether to draw the line on which both axes agree."""
    note: str = ""
    """What was left out, and why."""
    brackets: tuple[Bracket, ...] = ()
    palette: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The number of the colour and mark of each run, the same in all figures; a series without a run has those of its
    position."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "series", tuple(self.series))
        if not is_file_name(self.name):
            raise ValueError(f"{self.name!r} cannot be the name of a file")
        if not self.series:
            raise ValueError(f"{self.name}: there is nothing to show")
        if len({series.name for series in self.series}) < len(self.series):
            raise ValueError(f"{self.name}: two series have the same name")
        if self.x.categories and self.y.categories:
            raise ValueError(f"{self.name}: two axes cannot both have categories")
        if self.diagonal and (self.x.categories or self.y.categories):
            raise ValueError(f"{self.name}: a diagonal needs two axes of numbers")
        for series in self.series:
            self.x.check(series.x)
            self.y.check(series.y)
        categories = len(self.x.categories or self.y.categories)
        if not all(each.joins(categories) for each in self.brackets):
            raise ValueError(f"{self.name}: a bracket joins no categories")

    @property
    def horizontal(self) -> bool:
        """True if values run from left to right and their categories from the top down."""
        return bool(self.y.categories)

    def numbers_of(self, series: Series) -> tuple[int, ...]:
        """Return the numbers of the runs that a series shows: one, one for each value, or none if it shows no run."""
        names = series.runs
        if names is None and series.name in self.palette:
            names = (series.name,)
        if names is None and series.mark in ("points", "bars"):
            categories, places = (self.x.categories, series.x) if self.x.categories else (self.y.categories, series.y)
            names = tuple(categories[int(place)] for place in places) if categories else ()
        if series.faint or not names or not all(name in self.palette for name in names):
            return ()
        return tuple(self.palette[name] for name in names)


@dataclass(frozen=True)
class LeftOut:
    """A figure that cannot be made from the data, and why."""

    name: str
    reason: str


def split_left_out(figures: Iterable[Figure | LeftOut]) -> tuple[tuple[Figure, ...], tuple[LeftOut, ...]]:
    """Separate the figures from those that could not be made."""
    figures = list(figures)
    return (
        tuple(figure for figure in figures if isinstance(figure, Figure)),
        tuple(figure for figure in figures if isinstance(figure, LeftOut)),
    )


def is_file_name(name: str) -> bool:
    """Return True if a figure and its file may have this name.

    >>> is_file_name("rank-curve"), is_file_name("../rank")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def compact_number(value: float) -> str:
    """Format a number of any size in few characters.

    >>> [compact_number(value) for value in (0.05, 1, 2500, 20_000, 110e6, 1.3e9, 7e12)]
    ['0.05', '1', '2500', '20k', '110M', '1.3B', '7T']
    """
    if abs(value) < 10_000:
        return f"{value:.4g}"
    power = min(int(math.log10(abs(value)) // 3), 4)
    return f"{value / 1000**power:.3g}{' kMBT'[power]}"
