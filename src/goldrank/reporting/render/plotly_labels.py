"""Where the labels of points have room on a page, whose size is not known when a figure is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from goldrank.reporting.figures.description import Figure, Numbers, Series
from goldrank.reporting.figures.layout import range_on
from goldrank.reporting.render.themes import short_name

SHORT = 22
"""How many characters of the names of points and categories are shown."""
_LETTER, _LINE = 0.011, 0.05
"""How wide a letter and how high a line are, at most, in shares of a plot area of usual size."""
_MOST = 30
"""More labels than this are never written."""
_RIGHT = 0.6
"""Labels of points further to the right than this stand on their left."""


def is_labelled(figure: Figure, series: Series) -> bool:
    """Whether its labels are written: only where all points have room for theirs; else a pointer shows them."""
    written = [
        one
        for one in figure.series
        if one.labels is not None and one.mark == "points" and not one.faint and one.sizes is None
    ]
    few = sum(len(one.x) for one in written) <= _MOST
    return few and series in written and _have_room([box for one in written for box in _boxes(figure, one)])


def _boxes(figure: Figure, series: Series) -> list[tuple[float, float, float]]:
    """Of each label the left end, the right end and the height, in shares of the plot area."""
    x = _shares(figure, series.x, along_x=True)
    y = _shares(figure, series.y, along_x=False)
    names = [short_name(label, SHORT) for label in series.labels or ()]
    ends = [at - _LETTER * len(name) if at > _RIGHT else at for at, name in zip(x, names, strict=True)]
    return [(end, end + _LETTER * len(name), height) for end, name, height in zip(ends, names, y, strict=True)]


def _shares(figure: Figure, values: Numbers, *, along_x: bool) -> list[float]:
    """Where values lie on an axis, from 0 to 1."""
    axis = figure.x if along_x else figure.y
    low, high = (-0.6, len(axis.categories) - 0.4) if axis.categories else range_on(figure, along_x=along_x)
    if axis.scale == "log":
        low, high, values = math.log(low), math.log(high), tuple(map(math.log, values))
    return [(value - low) / (high - low) for value in values]


def sides(figure: Figure, x: Numbers) -> list[str]:
    """On which side labels stand: on the right, but on the left of points far to the right.

    Where intervals run from left to right they stand above.
    """
    if figure.horizontal:
        return ["top center"] * len(x)
    return [f"middle {'left' if at > _RIGHT else 'right'}" for at in _shares(figure, x, along_x=True)]


def _have_room(boxes: Sequence[tuple[float, float, float]]) -> bool:
    """Whether no label meets another."""
    return not any(
        left < other_right and other_left < right and abs(height - other_height) < _LINE
        for (left, right, height), (other_left, other_right, other_height) in combinations(boxes, 2)
    )
