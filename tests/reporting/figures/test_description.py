"""The description of a figure is validated, so that every renderer can rely on it."""

import math

import numpy as np
import pytest

from goldrank.reporting.figures.description import Axis, Bracket, Figure, Series, compact_number

X, Y = Axis("rank k", "log"), Axis("share", percent=True)


def line(**changes):
    values = {"name": "bm25", "x": (1, 10), "y": (0.1, 0.4)} | changes
    return Series(**values)


def figure(**changes):
    values = {"name": "curve", "title": "T", "caption": "C", "x": X, "y": Y, "series": (line(),)} | changes
    return Figure(**values)


def test_arrays_and_lists_become_plain_tuples_so_that_equal_figures_are_equal():
    series = line(x=np.array([1, 10]), y=[0.1, 0.4], low=np.zeros(2), high=np.ones(2), labels=["a", "b"])
    assert series == line(low=(0, 0), high=(1, 1), labels=("a", "b"))
    assert all(type(value) is float for value in (*series.x, *series.low))
    assert hash(figure(series=[series])) == hash(figure(series=(series,)))


def test_an_interval_that_is_not_known_is_nan():
    series = line(low=(math.nan, 0.3), high=(math.nan, 0.5))
    assert math.isnan(figure(series=[series]).series[0].low[0])


@pytest.mark.parametrize(
    "changes",
    [
        {"y": (0.1,)},
        {"x": (), "y": ()},
        {"low": (0, 0)},
        {"low": (0.2, 0.2), "high": (0.3, 0.1)},
        {"low": (0.2,), "high": (0.3,)},
        {"labels": ("one",)},
        {"mark": "pie"},
        {"sizes": (1, 2)},
        {"sizes": (1, 0), "mark": "points"},
        {"sizes": (1,), "mark": "points"},
    ],
)
def test_a_series_that_does_not_fit_together_is_refused(changes):
    with pytest.raises(ValueError, match=r"bm25|pie"):
        line(**changes)


@pytest.mark.parametrize(
    "given",
    [
        {"scale": "square"},
        {"categories": ("a", "a")},
        {"categories": ("a", "b"), "scale": "log"},
        {"categories": ("a", "b"), "low": 0},
        {"low": 1, "high": 1},
        {"low": math.nan},
        {"scale": "log", "low": 0},
        {"scale": "log", "line": 1},
        {"line": math.inf},
    ],
)
def test_an_impossible_axis_is_refused(given):
    with pytest.raises(ValueError, match=r"axis|scale|category"):
        Axis("label", **given)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../curve"},
        {"brackets": (Bracket((0, 1), 1.0),)},
        {"name": ""},
        {"series": ()},
        {"series": (line(), line())},
        {"series": (line(x=(0, 1)),)},
        {"series": (line(y=(math.nan, 1)),)},
        {"x": Axis("type", categories=("a", "b"))},
        {"x": Axis("a", categories=("a",)), "y": Axis("b", categories=("b",))},
        {"x": Axis("type", categories=("a", "b")), "series": (line(x=(0, 1)),), "diagonal": True},
    ],
)
def test_a_figure_whose_values_have_no_place_is_refused(changes):
    with pytest.raises(ValueError, match=r"."):
        figure(**changes)


def test_categories_from_the_top_down_make_a_horizontal_figure():
    down = figure(x=Y, y=Axis("run", categories=("a", "b")), series=[line(x=(0.1, 0.4), y=(0, 1))])
    assert down.horizontal
    assert not figure().horizontal


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-3, "-3"), (9999, "9999"), (10_001, "10k"), (355e6, "355M"), (2e15, "2e+03T")]
)
def test_numbers_of_any_size_are_written_in_few_characters(value, text):
    assert compact_number(value) == text
