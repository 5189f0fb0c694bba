"""Figures of indexes and evaluators: heat maps, pivots and trade-offs show the computed values."""

import math
from dataclasses import replace

import numpy as np
import pytest

from goldrank import Gold, stats
from goldrank.analysis.headline import HeadlineReading
from goldrank.analysis.meta import Table, meta
from goldrank.analysis.model_orders import Difference, OrderAgreement, Swap
from goldrank.analysis.sensitivity import ModelSensitivity, Sensitivity, Variant
from goldrank.comparing import compare_hits
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.reporting.figures.costs import index_trade_off
from goldrank.reporting.figures.evaluators import (
    meta_heat_map,
    meta_pivot,
    model_places,
    order_heat_map,
    sensitivity_maps,
)
from goldrank.reporting.figures.heat_map import DIVERGING, HeatCell, HeatMap, interpolate_colour
from goldrank.reporting.render.matplotlib_files import draw
from goldrank.reporting.render.plotly_figure import to_plotly
from goldrank.runs.run import Measures
from goldrank.scoring import Bootstrap

NAN = math.nan


def heat_map(values=(0.1, NAN), **changes):
    usual = {
        "name": "map", "title": "T", "caption": "C", "measure": "m", "rows": ("r",), "columns": ("c", "d"),
        "cells": (tuple(HeatCell(value, "a", "b") for value in values),),
    }  # fmt: skip
    return HeatMap(**{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "../map"}, "cannot be the name of a file"),
        ({"rows": ()}, "nothing to show"),
        ({"values": (0.1,)}, "do not go together"),
        ({"values": (0.1, math.inf)}, "infinite"),
        ({"low": 1.0, "high": 1.0}, "cannot go from"),
    ],
)
def test_a_heat_map_that_cannot_be_drawn_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        heat_map(**changes)


def test_colours_span_the_values_and_writing_can_be_read_on_them():
    figure = heat_map(values=(0.1, 0.9))
    assert figure.limits == (0.1, 0.9)
    assert (figure.ink(0.1, "x"), figure.ink(0.9, "x"), figure.ink(NAN, "x")) == ("#1a1a1a", "#ffffff", "x")
    assert heat_map().limits == (-0.4, 0.6), "one value has a range around it"
    assert heat_map(values=(NAN, NAN)).limits == (0.0, 1.0)
    assert interpolate_colour(DIVERGING, -3) == interpolate_colour(DIVERGING, 0)


def test_a_sensitivity_map_has_a_cell_for_every_variant_and_the_best_in_bold():
    values = {("cosine", "none"): 0.5, ("cosine", "center"): 0.6, ("l2", "none"): 0.4}
    variants = [Variant(s, t, {"sts": HeadlineReading(v, v - 0.1, v + 0.1, "key")}) for (s, t), v in values.items()]
    (figure,) = sensitivity_maps(ModelSensitivity("glove", variants, frozenset()))
    assert (figure.rows, figure.columns) == (("cosine", "l2"), ("none", "center"))
    assert [cell.value for cell in figure.cells[0]] == [0.5, 0.6]
    assert math.isnan(figure.cells[1][1].value)
    assert figure.cells[0][0].detail == "[0.400, 0.600]"
    assert [[cell.bold for cell in row] for row in figure.cells] == [[False, True], [False, False]]
    (turned,) = sensitivity_maps(ModelSensitivity("glove", variants, frozenset({"sts"})))
    assert [[cell.bold for cell in row] for row in turned.cells] == [[False, False], [True, False]]
    assert "Lower is better" in turned.caption


def orders_of(models, tau, interval, answer="cannot tell"):
    """Return a comparison of settings in which some models change order, with the fields that figures read."""
    values = {
        "cosine": dict(zip(models, (0.5, 0.4, 0.3), strict=False)),
        "l2": dict(zip(models, (0.4, 0.5, 0.3), strict=False)),
    }
    rows = [
        ModelSensitivity(
            name,
            [Variant(s, "none", {"sts": HeadlineReading(v[name], None, None, "key")}) for s, v in values.items()],
            frozenset(),
        )
        for name in models
    ]
    around = stats.Interval(*interval, 0.95, "percentile")
    differences = [
        Difference(0.1, 0.05, 0.15, 0.001),
        Difference(-0.1, -0.15, -0.05, 0.001),
        Difference(-0.2, -0.25, -0.15, 0.001),
    ]
    swap = Swap("a", "b", *differences, 0.001, 0.003 if answer == "reordered" else 0.5, 0.05)
    order = OrderAgreement("sts", "cosine, none", "l2, none", True, len(models), tau, around, 0.2, (swap,))
    assert order.answer == answer
    places = {"sts": [[(1.0, 2.0)] * len(models)] * 2}
    return Sensitivity(rows, [order], [], [], [], Measures(), {"sts": "pairs"}, places)


def test_a_map_of_orders_says_tau_its_interval_and_what_cannot_be_told():
    figure = order_heat_map(orders_of(["a", "b", "c"], 1 / 3, (-1 / 3, 1.0)))
    assert (figure.rows, figure.columns) == (("cosine → l2 (none)",), ("sts",))
    assert figure.cells == ((HeatCell(1 / 3, "0.33 ?", "[−0.33, 1.00]"),),)
    assert "Kendall's tau-b between the orders of 3 models before and after each change" in figure.caption
    sure = order_heat_map(orders_of(["a", "b", "c"], 1 / 3, (1 / 3, 1 / 3), "reordered"))
    assert (sure.cells[0][0].text, sure.cells[0][0].bold) == ("0.33", True)
    two = order_heat_map(orders_of(["a", "b"], -1.0, (-1.0, 1.0)))
    assert two.cells[0][0].detail == "same in 20%", "the interval of two models holds both values there are"


def test_places_are_lines_that_cross_where_models_swap_with_their_intervals():
    figure = model_places(orders_of(["a", "b", "c"], 1 / 3, (-1 / 3, 1.0)), "sts")
    assert {series.name: series.x for series in figure.series} == {"a": (1, 2), "b": (2, 1), "c": (3, 3)}
    assert figure.y.categories == ("cosine, none", "l2, none")
    data = to_plotly(figure)["data"]
    assert len(data) == 3, "intervals of lines from the top down are bars, not an area"
    assert data[0]["error_x"]["array"] == [1, 0]


def test_one_model_has_no_order_to_draw():
    sensitivity = orders_of(["a", "b"], -1.0, (-1.0, 1.0))
    alone = replace(sensitivity, models=sensitivity.models[:1], orders=[])
    assert order_heat_map(alone).reason == "there is no order of fewer than two models"
    assert model_places(alone, "sts").reason == "there is no order of fewer than two models"


@pytest.fixture(scope="module")
def evaluated():
    rng = np.random.default_rng(0)
    models = [f"m{at}" for at in range(12)]
    truth = rng.normal(size=12)
    columns = {"sts": truth + 0.1 * rng.normal(size=12), "noise": rng.normal(size=12), "down": truth}
    table = Table(models, list(columns), np.column_stack(list(columns.values())))
    return meta(table, ["sts", "noise"], ["down"], bootstrap=Bootstrap(200))


def test_the_meta_heat_map_has_every_correlation_with_the_best_evaluator_on_top(evaluated):
    figure = meta_heat_map(evaluated)
    assert (figure.rows, figure.columns) == (("sts", "noise"), ("mean", "down"))
    assert figure.cells[0][1].value == evaluated.cells["sts", "down"].value
    assert (figure.low, figure.high, figure.diverging) == (-1.0, 1.0, True)
    assert "12 models" in figure.caption


def test_the_drawn_meta_heat_map_holds_every_value(evaluated, tmp_path):
    mpl = pytest.importorskip("matplotlib")
    with mpl.rc_context({"svg.fonttype": "none"}):
        draw(meta_heat_map(evaluated), tmp_path / "map.svg")
    svg = (tmp_path / "map.svg").read_text()
    assert all(f"{cell.value:.2f}".replace("-", "−") in svg for cell in evaluated.cells.values())


def test_the_pivot_gives_every_model_its_place_by_every_evaluator(evaluated):
    figure = meta_pivot(evaluated, "down")
    assert sorted(figure.y.categories) == sorted(evaluated.models)
    own, *others = figure.series
    assert (own.name, own.x, own.faint) == ("down", tuple(range(1, 13)), True)
    assert [series.name.split()[0] for series in others] == ["sts", "noise"]
    for series in others:
        assert series.y == tuple(range(12))
        assert sorted(series.x) == list(range(1, 13))


def test_the_pivot_leaves_out_models_without_a_value():
    truth = np.random.default_rng(1).normal(size=12)
    values = truth.copy()
    values[int(np.argmax(truth))] = np.nan
    columns = {"sts": values, "whole": -truth, "down": truth}
    table = Table([f"m{at}" for at in range(12)], list(columns), np.column_stack(list(columns.values())))
    _, series, whole = meta_pivot(meta(table, ["sts", "whole"], ["down"], bootstrap=Bootstrap(50)), "down").series
    assert whole.x == tuple(range(12, 0, -1))
    assert series.y == tuple(range(1, 12)), "the best model by the downstream score has no reading"
    assert series.x == tuple(range(1, 12))


def test_a_pivot_needs_one_downstream_score(evaluated):
    with pytest.raises(InputError, match="'sts' is not one of the downstream scores; pivot on one of down"):
        meta_pivot(evaluated, "sts")


def test_the_pivot_of_a_loss_puts_the_lowest_first():
    truth = np.random.default_rng(1).normal(size=12)
    columns = {"loss": -truth, "down": truth}
    table = Table([f"m{at}" for at in range(12)], list(columns), np.column_stack(list(columns.values())))
    _, series = meta_pivot(meta(table, ["loss"], ["down"], lower=["loss"], bootstrap=Bootstrap(50)), "down").series
    assert series.x == tuple(range(1, 13))


def test_an_audit_is_drawn_against_exact_search():
    from goldrank.analysis.audit import Audit, Audited, Cost

    gold = Gold({f"q{at}": {f"d{at}": 1} for at in range(20)})
    run = {f"q{at}": {f"d{at}": 1.0, "x": 0.5} for at in range(20)}
    worse = {query: dict(zip(items, (0.1, 0.5), strict=True)) for query, items in run.items()}
    compared = compare_hits({"exact": Run(run).hits(gold), "HNSW8": Run(worse).hits(gold)}, "mrr", test="t")
    interval = stats.Interval(0.6, 0.8, 0.95, "bca")
    cost = Cost(1.0, 100.0, 10)
    audited = Audited("HNSW8", compared.scores["HNSW8"], compared.pairs, 0.7, interval, cost, 3.5)
    loss, recall = index_trade_off(Audit(compared.scores["exact"], cost, [audited], 10, 100, 20, 20, "cosine"))
    assert [(series.name, series.x, series.y) for series in loss.series] == [
        ("exact search", (1.0,), (0.0,)),
        ("HNSW8", (3.5,), (-0.5,)),
    ]
    assert (loss.y.line, recall.y.line, loss.x.scale) == (0, 1, "log")
    assert (recall.series[1].low, recall.series[1].high) == ((0.6,), (0.8,))
    assert "20 queries" in loss.caption
