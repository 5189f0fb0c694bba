"""A model has the same colour in every figure, task and page, and different models have different looks."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stored_examples as examples
from goldrank.reporting.document.content import content_of
from goldrank.reporting.figures.description import Axis, Figure, Series
from goldrank.reporting.figures.palette import number_runs
from goldrank.reporting.plots import plot
from goldrank.reporting.render.layout import look_of
from goldrank.reporting.render.plotly_figure import legend_of, to_plotly
from goldrank.reporting.render.themes import THEMES
from goldrank.scoring import Bootstrap
from goldrank.store import Store

COLOURS = len(THEMES["light"].series)
QUICK = Bootstrap(resamples=200)
names = st.lists(st.sampled_from([f"m{number}" for number in range(30)]), max_size=12, unique=True)


def colours_of(figure, theme="light"):
    """Return the colour of each run in a figure."""
    run_colours = {}
    for number, series in enumerate(figure.series):
        look = look_of(figure, number, THEMES[theme])
        runs = series.runs or ((series.name,) if series.name in figure.palette else None)
        if runs is None and look.values is not None:
            categories = figure.x.categories or figure.y.categories
            runs = [categories[int(place)] for place in (series.x if figure.x.categories else series.y)]
        colours = look.values or [look.colour] * len(runs or ())
        run_colours |= {name: colour for name, colour in zip(runs or (), colours, strict=True) if not series.faint}
    return run_colours


@given(st.lists(names, max_size=4), names)
def test_models_have_one_number_everywhere_and_share_no_look(groups, models):
    palettes = number_runs([{name: name for name in group} for group in groups], models)
    numbers = {}
    for palette in palettes:
        for name, number in palette.items():
            assert numbers.setdefault(name, number) == number
    assert len(set(numbers.values())) == len(numbers)
    if len(numbers) <= COLOURS:
        assert len({number % COLOURS for number in numbers.values()}) == len(numbers)


@given(names, st.data())
def test_a_part_of_the_runs_has_the_colours_of_all_while_the_store_has_no_more_models_than_colours(models, data):
    models = models[:COLOURS]
    part = data.draw(st.lists(st.sampled_from(models), unique=True)) if models else []
    (whole,) = number_runs([{name: name for name in models}], models)
    (some,) = number_runs([{name: name for name in part}], models)
    assert some.items() <= whole.items()


def test_runs_of_one_model_differ_and_the_first_keeps_the_colour_of_the_model():
    settings = {"a, k=1": "a", "a, k=2": "a", "b": "b"}
    assert number_runs([{"a": "a"}, settings]) == [{"a": 0}, {"a, k=1": 0, "a, k=2": 2, "b": 1}]


def test_more_runs_than_colours_still_look_different():
    count = 3 * COLOURS
    for mark in ("line", "bars"):
        series = tuple(Series(f"m{at}", (1, 2), (at + 1, at + 2), mark=mark) for at in range(count))
        (palette,) = number_runs([{entry.name: entry.name for entry in series}])
        figure = Figure("many", "Many", "C", Axis("x"), Axis("y"), series, palette=palette)
        looks = [look_of(figure, number, THEMES["light"]) for number in range(count)]
        distinct_looks = {(look.colour, look.pattern if mark == "bars" else (look.marker, look.dash)) for look in looks}
        assert len(distinct_looks) == count


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store.open(tmp_path_factory.mktemp("palette") / "store")
    examples.save_ranked(store, {"weak": 1, "strong": 9, "middle": 4})
    examples.save_ranked(store, {"middle": 4, "strong": 9, "weak": 1}, task="other")
    examples.save_measured(store, {"strong": 0.8, "weak": 0.2})
    return store


def test_a_run_has_one_colour_in_all_figures_and_sections_of_a_report(store):
    sections = content_of(store.list(), store, bootstrap=QUICK, worst=0)
    assert len(sections) == 3
    for theme in THEMES:
        run_colours = {}
        for figure in (figure for section in sections for figure in section.figures):
            colours = colours_of(figure, theme)
            assert colours, figure.name
            for name, colour in colours.items():
                assert run_colours.setdefault(name, colour) == colour, figure.name
        assert len(set(run_colours.values())) == len(run_colours) == 3


def test_a_report_on_some_runs_and_the_figures_of_plot_have_the_same_colours(store):
    (whole, *_), (some,) = (
        content_of(store.list(task="*"), store, bootstrap=QUICK, worst=0),
        content_of([run for run in store.list(task="other") if run.model != "weak"], store, bootstrap=QUICK, worst=0),
    )
    assert some.palette.items() <= whole.palette.items()
    (curve,) = plot([run.key for run in store.list(task="other")], figures=["rank-curve"], store=store).figures
    assert dict(curve.palette) == dict(whole.palette)


def test_values_of_different_runs_are_drawn_in_their_colours_with_their_intervals():
    series = (Series("mrr", (0.3, 0.2), (0, 1), (0.2, 0.1), (0.5, 0.4), "points"),)
    runs = Axis("run", categories=("a", "b"))
    figure = Figure("dots", "Dots", "C", Axis("mrr"), runs, series, palette={"a": 3, "b": 0})
    first, second = to_plotly(figure)["data"]
    palette = THEMES["light"].series
    assert (first["marker"]["color"], first["error_x"]["color"]) == (palette[3], palette[3])
    assert (second["marker"]["color"], second["error_x"]["array"]) == (palette[0], pytest.approx([0.2]))
    assert (second["x"], second["y"], second["customdata"]) == ([0.2], [1], ["b"])
    assert legend_of(figure) == []


def test_the_legend_names_each_series_with_the_look_of_its_traces():
    series = (Series("<b>", (1, 2), (1, 2)), Series("bars", (1, 2), (1, 2), mark="bars"))
    figure = Figure("both", "Both", "C", Axis("x"), Axis("y"), (*series, Series("grey", (1, 2), (2, 1), faint=True)))
    figure = replace(figure, palette={"<b>": COLOURS + 1, "bars": 1})
    line, bars, grey = legend_of(figure)
    assert (line.name, line.colour, line.mark) == ("<b>", "series-2", "line")
    assert (bars.colour, bars.pattern, grey.colour, grey.marker) == ("series-2", "/", "grey", "")
    plotly_figure = to_plotly(figure)
    assert {trace.get("legendgroup") for trace in plotly_figure["data"]} == {"0", "1", "2"}
    assert not plotly_figure["layout"]["showlegend"]
