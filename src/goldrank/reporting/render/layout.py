"""Compute what both renderers share: the ranges, ticks and positions of a figure, and the look of its series."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from goldrank.reporting.figures.description import Figure, Numbers, Series
from goldrank.reporting.render.themes import Colours

MARKERS = (
    "circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "triangle-left", "triangle-right",
)  # fmt: skip
DASHES = ("solid", "dash", "dashdot", "dot")
PATTERNS = ("", "/", ".", "\\", "x", "-", "+")
_PATTERNED = 40
"""More bars than this are too narrow for patterns."""
_CROWDED = 300
"""More points than this are drawn small and faint, so that their density is visible."""
_SPREAD = 0.6
"""The share of a category's width that the values of several series take together."""


def values_on(figure: Figure, *, along_x: bool) -> list[float]:
    """Return all values on an axis, with the finite limits of intervals, lines, brackets, and the ends of bars."""
    values: list[float] = []
    axis = figure.x if along_x else figure.y
    measured = along_x == figure.horizontal
    for number, series in enumerate(figure.series):
        values += series.x if along_x else series.y
        if series.mark == "bars" and not measured:
            places, width = bar_places(figure, number)
            values += [min(places) - width / 2, max(places) + width / 2]
        if measured:
            values += [end for end in (*(series.low or ()), *(series.high or ())) if math.isfinite(end)]
    if measured:
        values += [bracket.at for bracket in figure.brackets]
        values += [0.0] if _has_bars(figure) and axis.scale == "linear" else []
    return values if axis.line is None else [*values, axis.line]


def whole_on(figure: Figure, *, along_x: bool) -> bool:
    """Return True if all values on an axis are whole numbers, such as counts; ticks are then whole numbers too."""
    columns = [series.x if along_x else series.y for series in figure.series]
    if along_x == figure.horizontal:
        columns += [end for series in figure.series for end in (series.low or (), series.high or ())]
    return all(value == int(value) for column in columns for value in column if math.isfinite(value))


def range_on(figure: Figure, *, along_x: bool, share: float = 0.05) -> tuple[float, float]:
    """Return the range of an axis: its own limits, else its values with a margin of a *share* of them."""
    axis = figure.x if along_x else figure.y
    if axis.categories:
        return -0.6, len(axis.categories) - 0.4
    values = values_on(figure, along_x=along_x)
    if axis.scale == "log":
        # A lower limit of 0 has no place here; its interval then runs out of the picture.
        positive = [value for value in values if value > 0]
        room = max((max(positive) / min(positive)) ** share, 1.06)
        low, high = min(positive) / room, max(positive) * room
    else:
        room = (max(values) - min(values) or abs(max(values)) or 1) * share
        # Bars stand on the axis.
        grounded = along_x == figure.horizontal and _has_bars(figure) and min(values) == 0
        low, high = min(values) - room * (not grounded), max(values) + room
    return low if axis.low is None else axis.low, high if axis.high is None else axis.high


def _has_bars(figure: Figure) -> bool:
    return any(series.mark == "bars" for series in figure.series)


@dataclass(frozen=True)
class SeriesLook:
    """The colour, marker, line style and pattern of a series, under the names of plotly."""

    colour: str
    values: tuple[str, ...] | None
    """The colour of each value, if they show different runs; *colour* is then for what they have in common."""
    marker: str
    dash: str
    pattern: str
    crowded: bool
    """Whether points are drawn small and faint because they are many."""
    band_opacity: float
    step_opacity: float


def look_of(figure: Figure, number: int, colours: Colours) -> SeriesLook:
    """Return the look of a series: that of its run, else by its position among those that are not faint.

    A hollow series looks like the one before it. The values of different runs have the colours of their runs.
    """
    series = figure.series[number]
    position = sum(not (other.faint or other.hollow) for other in figure.series[:number]) - series.hollow
    runs = figure.numbers_of(series)
    several = len(runs) > 1
    at = runs[0] if len(runs) == 1 else position
    palette = colours.series
    return SeriesLook(
        colours.grey if series.faint else colours.ink if several else palette[at % len(palette)],
        tuple(palette[run % len(palette)] for run in runs) if several else None,
        "circle" if series.faint else MARKERS[at % len(MARKERS)],
        "solid" if series.faint else "dot" if series.hollow else DASHES[at % len(DASHES)],
        # As many patterns as colours: where the colours repeat, the patterns are shifted.
        PATTERNS[(at + at // len(palette)) % len(PATTERNS)] if len(series.x) <= _PATTERNED else "",
        len(series.x) > _CROWDED,
        0.18 if len(figure.series) <= 4 else 0.08,
        0.25 if len(figure.series) == 1 else 0.06,
    )


def has_point_labels(series: Series) -> bool:
    """Return True if its labels belong beside its points, rather than to a pointer only."""
    return series.labels is not None and series.mark == "points" and not series.faint and series.sizes is None


def areas(sizes: Numbers, smallest: float, largest: float) -> list[float]:
    """Return the areas of points for *sizes*: in proportion, but none too small to see.

    >>> areas((1, 4), 1.0, 100.0), areas((1, 1000), 1.0, 100.0)
    ([1.0, 4.0], [1.0, 100.0])
    """
    unit = min(smallest, largest / max(sizes))
    return [max(unit * size, smallest) for size in sizes]


def log_marks(low: float, high: float) -> list[float]:
    """Return the ticks of a logarithmic axis: 1, 2, 5, 10 … or, if it is long, powers of ten.

    An axis too short for three such ticks has ticks at round numbers in even steps.

    >>> log_marks(0.9, 60), log_marks(1, 1e6), log_marks(2.9, 3.9)
    ([1, 2, 5, 10, 20, 50], [1, 10, 100, 1000, 10000, 100000, 1000000], [3.0, 3.2, 3.4, 3.6, 3.8])
    """
    factors = (1, 2, 5) if high / low < 500 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # An integer power keeps 1000 from becoming 999.999….
    marks = [factor * 10**power if power >= 0 else factor / 10**-power for power in powers for factor in factors]
    inside = [mark for mark in marks if low * 0.999 <= mark <= high * 1.001]
    return inside if len(inside) > 2 else _even_marks(low, high)


def _even_marks(low: float, high: float) -> list[float]:
    """Return four to eight round numbers in even steps."""
    rough = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [float(f"{at * step:.6g}") for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def dodged(figure: Figure, number: int) -> tuple[Numbers, Numbers]:
    """Return the values of a series, moved aside within their category if another series has a value there too."""
    series = figure.series[number]
    if not (figure.x.categories or figure.y.categories):
        return series.x, series.y
    axis = 0 if figure.x.categories else 1
    moved = [series.x, series.y]
    others = [(other.x, other.y)[axis] for at, other in enumerate(figure.series) if at != number]
    if any(set(moved[axis]) & set(other) for other in others):
        count = len(figure.series)
        step = (number - (count - 1) / 2) * _SPREAD / count
        moved[axis] = tuple(value + step for value in moved[axis])
    return moved[0], moved[1]


def bar_places(figure: Figure, number: int) -> tuple[Numbers, float]:
    """Return the middles of a series' bars along the axis they stand on, and their width.

    Bars of several series stand beside each other, unless no two of them have a place in common.
    """
    columns = {
        at: series.y if figure.horizontal else series.x
        for at, series in enumerate(figure.series)
        if series.mark == "bars"
    }
    every = [place for column in columns.values() for place in set(column)]
    shared = len(set(every)) < len(every)
    places = sorted(set(every))
    step = min((after - before for before, after in pairwise(places)), default=1.0)
    width = 0.8 * step / (len(columns) if shared else 1)
    start = list(columns).index(number) - (len(columns) - 1) / 2 if shared else 0.0
    return tuple(place + start * width for place in columns[number]), width
