"""Decide where the labels of points fit on a page, whose size is not known when a figure is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from goldrank.reporting.figures.description import Figure, Numbers, Series
from goldrank.reporting.render.layout import has_point_labels, range_on
from goldrank.reporting.render.themes import short_name

SHORT = 22
"""Maximum number of characters of the names of points and categories."""
_LETTER, _LINE = 0.011, 0.05
"""Maximum width of a letter and height of a line, as shares of a plot area of usual size."""
_MOST = 30
"""More labels than this are never shown beside their points."""
_RIGHT = 0.6
"""Points further to the right than this have their labels on the left."""


def is_labelled(figure: Figure, series: Series) -> bool:
    """Return True if the labels are shown beside the points: only if all points of the figure have room for theirs."""
    labelled = [each for each in figure.series if has_point_labels(each)]
    few = sum(len(each.x) for each in labelled) <= _MOST
    return few and series in labelled and _have_room([box for each in labelled for box in _boxes(figure, each)])


def _boxes(figure: Figure, series: Series) -> list[tuple[float, float, float]]:
    """Return the left end, the right end and the height of each label, as shares of the plot area."""
    x = _shares(figure, series.x, along_x=True)
    y = _shares(figure, series.y, along_x=False)
    names = [short_name(label, SHORT) for label in series.labels or ()]
    ends = [at - _LETTER * len(name) if at > _RIGHT else at for at, name in zip(x, names, strict=True)]
    return [(end, end + _LETTER * len(name), height) for end, name, height in zip(ends, names, y, strict=True)]


def _shares(figure: Figure, values: Numbers, *, along_x: bool) -> list[float]:
    """Return where values lie on an axis, from 0 to 1."""
    low, high = range_on(figure, along_x=along_x)
    if (figure.x if along_x else figure.y).scale == "log":
        low, high, values = math.log(low), math.log(high), tuple(map(math.log, values))
    return [(value - low) / (high - low) for value in values]


def sides(figure: Figure, x: Numbers) -> list[str]:
    """Return the side of each label: on the right, but on the left of points far to the right.

    If intervals run from left to right, labels are above the points.
    """
    if figure.horizontal:
        return ["top center"] * len(x)
    return [f"middle {'left' if at > _RIGHT else 'right'}" for at in _shares(figure, x, along_x=True)]


def _have_room(boxes: Sequence[tuple[float, float, float]]) -> bool:
    """Return True if no label overlaps another."""
    return not any(
        left < other_right and other_left < right and abs(height - other_height) < _LINE
        for (left, right, height), (other_left, other_right, other_height) in combinations(boxes, 2)
    )
