"""Plotly figures of pages have all described values, never read user text as markup, and name no other host."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.reporting.figures.description import Axis, Bracket, Figure, Series
from goldrank.reporting.figures.heat_map import HeatCell, HeatMap
from goldrank.reporting.render.plotly_common import escaped
from goldrank.reporting.render.plotly_figure import to_plotly
from goldrank.reporting.render.themes import THEMES

NAN = math.nan
HOSTILE = '<img src=x onerror="alert(1)"> & %{x} <a href="javascript:alert(1)">go</a>'
SHARE = Axis("accuracy", percent=True, low=0)


def curves():
    line = Series("bm25", (1, 10, 100), (0.1, 0.4, 0.6), (0.05, 0.3, 0.5), (0.2, 0.5, 0.7))
    gap = Series("tfidf", (1, 2, 10, 20, 100), (0.1, 0.2, 0.3, 0.4, 0.5), (0, 0.1, NAN, 0.3, 0.4), (1, 1, NAN, 1, 1))
    return Figure("curves", "Curves", "C", Axis("rank k", "log", low=1), SHARE, (line, gap))


def dots():
    points = Series("mrr", (0.3, 0.2), (0, 1), (0.2, NAN), (0.5, NAN), "points", labels=("best", "worst"))
    brackets = (Bracket((0, 1), 0.4),)
    runs = Axis("run", categories=("a", "b"))
    return Figure("dots", "Dots", "C", Axis("mrr"), runs, (points,), brackets=brackets)


def heat_map(**more):
    cells = (
        (HeatCell(0.9, "0.90", "[0.8, 1.0]", bold=True), HeatCell(NAN, "–")),
        (HeatCell(-0.5, "−0.50"), HeatCell(0.1, "0.10")),
    )
    return HeatMap("map", "Map", "C", "rho", ("r1", "r2"), ("c1", "c2"), cells, **more)


def strings(value):
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("figure", [curves(), dots(), heat_map()], ids=lambda figure: figure.name)
@pytest.mark.parametrize("theme", THEMES)
def test_a_figure_is_plain_json_on_a_transparent_ground(figure, theme):
    plotly_figure = to_plotly(figure, theme)
    assert json.loads(json.dumps(plotly_figure, allow_nan=False)) == plotly_figure
    assert set(plotly_figure) == {"data", "layout", "config"}
    assert plotly_figure["layout"]["paper_bgcolor"] == plotly_figure["layout"]["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert plotly_figure["layout"]["font"]["color"] == THEMES[theme].ink
    assert "title" not in plotly_figure["layout"]


def test_nothing_can_be_sent_to_another_host():
    config = to_plotly(curves())["config"]
    assert (config["showSendToCloud"], config["plotlyServerURL"], config["displaylogo"]) == (False, "", False)
    assert config["responsive"]
    assert config["modeBarButtons"] == [["toImage", "resetScale2d"]]


def test_values_axes_and_bands_are_those_described():
    plotly_figure = to_plotly(curves())
    band, line, pieces, _ = plotly_figure["data"]
    assert (line["x"], line["y"]) == ([1, 10, 100], [0.1, 0.4, 0.6])
    assert (band["x"], band["y"]) == ([1, 10, 100, 100, 10, 1], [0.2, 0.5, 0.7, 0.5, 0.3, 0.05])
    assert (band["fill"], band["legendgroup"], band["hoverinfo"]) == ("toself", line["legendgroup"], "skip")
    assert pieces["x"] == [1, 2, 2, 1, None, 20, 100, 100, 20]
    axis = plotly_figure["layout"]["xaxis"]
    assert (axis["type"], axis["ticktext"]) == ("log", ["1", "2", "5", "10", "20", "50", "100"])
    low, high = axis["range"]
    assert (-0.1 < low < 0, 2 < high < 2.2) == (True, True)
    assert plotly_figure["layout"]["yaxis"]["tickformat"].endswith("p")


def test_series_differ_in_more_than_colour():
    count = 6
    series = tuple(Series(f"run {at}", (1, 2), (at, at + 1)) for at in range(count))
    plotly_figure = to_plotly(Figure("many", "Many", "C", Axis("x"), Axis("y"), series))
    looks = {(trace["marker"]["symbol"], trace["line"]["dash"]) for trace in plotly_figure["data"]}
    assert len(looks) == count


def test_intervals_of_dots_are_lines_and_missing_ones_are_left_out():
    plotly_figure = to_plotly(dots())
    points, bracket = plotly_figure["data"]
    assert points["error_x"]["array"] == [0.2, None]
    assert points["error_x"]["arrayminus"] == [0.1, None]
    assert points["hovertext"] == ["[0.2, 0.5]", ""]
    assert points["customdata"] == ["a", "b"]
    assert (bracket["x"], bracket["y"]) == ([0.4, 0.4], [-0.2, 1.2])
    low, high = plotly_figure["layout"]["yaxis"]["range"]
    assert low > high, "the first category is on top"


def test_bars_of_several_series_stand_beside_each_other_unless_they_share_no_place():
    def drawn(second):
        series = (Series("a", (0, 1), (1, 2), mark="bars"), Series("b", second, (3, 4), mark="bars"))
        trace, other_trace = to_plotly(Figure("bars", "Bars", "C", Axis("x"), Axis("y"), series))["data"]
        return trace["x"], other_trace["x"], trace["width"]

    first, second, width = drawn((0, 1))
    assert all(abs(a - b) >= width for a, b in zip(first, second, strict=True))
    assert drawn((2, 3))[:2] == ([0, 1], [2, 3])


def test_faint_series_take_no_colour_from_the_others_and_sizes_are_areas():
    crowd = Series("crowd", (1, 2), (1, 2), mark="points", faint=True)
    sized = Series("sized", (1, 2), (2, 1), mark="points", sizes=(1, 4))
    plotly_figure = to_plotly(Figure("map", "Map", "C", Axis("x"), Axis("y", line=0), (crowd, sized)))
    grey, first = (trace["marker"] for trace in plotly_figure["data"])
    assert (grey["color"], first["color"]) == (THEMES["light"].grey, THEMES["light"].series[0])
    assert first["size"][1] == pytest.approx(2 * first["size"][0])
    (line,) = plotly_figure["layout"]["shapes"]
    assert (line["y0"], line["y1"], line["xref"]) == (0, 0, "paper")


def test_labels_are_written_only_where_they_do_not_meet():
    def mode(x):
        series = (Series("runs", x, (0.5, 0.5), mark="points", labels=("one", "other")),)
        return to_plotly(Figure("cost", "Cost", "C", Axis("s", low=0, high=1), Axis("mrr"), series))["data"][0]["mode"]

    assert mode((0.1, 0.4)) == "markers+text"
    assert mode((0.1, 0.11)) == "markers"


def test_equal_labels_stay_as_they_are():
    series = (Series("items", (1, 2), (2, 1), mark="points", labels=("Untitled", "Untitled"), faint=True),)
    plotly_figure = to_plotly(Figure("map", "Map", "C", Axis("x"), Axis("y"), series))
    assert plotly_figure["data"][0]["text"] == ["Untitled", "Untitled"]


def test_user_text_is_never_markup_nor_template():
    series = (
        Series(HOSTILE, (0.1,), (0,), (0.0,), (0.2,), "points", (HOSTILE,)),
        Series("other", (0.1,), (0,), mark="bars", labels=(HOSTILE,)),
    )
    figure = Figure("x", HOSTILE, HOSTILE, Axis(HOSTILE), Axis(HOSTILE, categories=(HOSTILE,)), series)
    cells = ((HeatCell(1.0, HOSTILE, HOSTILE),),)
    hostile_map = HeatMap("m", "T", "C", HOSTILE, (HOSTILE,), (HOSTILE,), cells, HOSTILE, HOSTILE)
    for plotly_figure in (to_plotly(figure), to_plotly(hostile_map)):
        for text in strings(plotly_figure):
            assert "<img" not in text
            assert "<a" not in text
            assert "%{x} " not in text


@given(st.text())
def test_escaped_text_has_no_sign_that_plotly_reads(text):
    result = escaped(text)
    assert not re.search(r"[<>%\n]|&(?!amp;|lt;|gt;|#37;)", result)


def test_a_heat_map_has_its_values_texts_and_readable_writing():
    plotly_figure = to_plotly(heat_map(low=-1.0, high=1.0, diverging=True))
    (trace,) = plotly_figure["data"]
    assert trace["z"] == [[0.9, None], [-0.5, 0.1]]
    assert (trace["zmin"], trace["zmax"]) == (-1.0, 1.0)
    first, missing, *_ = plotly_figure["layout"]["annotations"]
    assert first["text"].startswith("<b>0.90</b><br>")
    assert "[0.8, 1.0]" in first["text"]
    assert (first["font"]["color"], missing["font"]["color"]) == ("#ffffff", THEMES["light"].ink)
    assert plotly_figure["layout"]["yaxis"]["range"] == [1.5, -0.5]


def test_an_unknown_theme_is_refused():
    with pytest.raises(InputError, match="there is no theme 'sepia'"):
        to_plotly(curves(), "sepia")
