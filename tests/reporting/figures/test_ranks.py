"""The gold-rank curve and the rank histogram agree with the metrics, and with each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank import Gold, Run
from goldrank.reporting.figures.description import LeftOut
from goldrank.reporting.figures.ranks import cutoffs, rank_curve, rank_edges, rank_histogram
from goldrank.scoring import score_hits


def hits_of(seed, depth, queries=30, items=200):
    rng = np.random.default_rng(seed)
    gold = {f"q{at}": {f"d{item}": 1 for item in rng.choice(items, 3, replace=False)} for at in range(queries)}
    run = {
        query: {f"d{item}": float(depth - place) for place, item in enumerate(rng.permutation(items)[:depth])}
        for query in gold
    }
    return Run(run).hits(Gold(gold), corpus=items)


@pytest.fixture(scope="module")
def runs():
    return {"deep": hits_of(1, 150), "shallow": hits_of(2, 20)}


def test_the_curve_is_hits_at_k_and_ends_where_the_rankings_do(runs):
    figure = rank_curve(runs)
    deep, shallow = figure.series
    assert (figure.x.scale, deep.x[0], deep.x[-1], shallow.x[-1]) == ("log", 1, 150, 20)
    assert deep.y == tuple(sorted(deep.y))
    assert deep.y[-1] == score_hits(runs["deep"], "hits@150")["hits@150"].mean
    assert all(low <= y <= high for low, y, high in zip(deep.low, deep.y, deep.high, strict=True))
    assert figure.caption.startswith("90 gold items of 30 queries; profile standard, ties docid. 95% intervals")


def test_the_histogram_holds_every_gold_item_once_and_adds_up_to_the_curve(runs):
    figure = rank_histogram(runs)
    assert figure.x.categories[:6] == ("1", "2", "3", "4–5", "6–10", "11–20")
    assert figure.x.categories[-2:] == ("101–150", "not ranked")
    for series, hits in zip(figure.series, runs.values(), strict=True):
        assert sum(series.y) == pytest.approx(1)
        assert sum(series.y[:5]) == pytest.approx(score_hits(hits, "hits@10")["hits@10"].mean)
        assert series.y[-1] == pytest.approx(1 - hits.found.mean())
    assert figure.series[1].y[6:-1] == (0, 0, 0)


def test_queries_without_gold_do_not_count_as_unranked(runs):
    hits = runs["deep"]
    subset = hits.keep_rows(hits.query_index < 10)
    assert sum(rank_histogram({"some": subset}).series[0].y) == pytest.approx(1)
    assert rank_histogram({"some": subset}).series[0].y[-1] == pytest.approx(1 - subset.found.mean())


def test_conventions_are_followed_and_named():
    hits = Run({"q": {"a": 1.0, "b": 1.0}}).hits(Gold({"q": {"a": 1}}))
    figure = rank_curve({"tied": hits}, ties="expected")
    assert figure.series[0].y == (0.5, 1.0)
    assert "ties expected" in figure.caption
    assert all(np.isnan(figure.series[0].low))  # one query has no interval


def test_rankings_of_one_item_give_no_figure():
    hits = Run({"q": {"a": 1.0}}).hits(Gold({"q": {"a": 1}}))
    assert rank_curve({"one": hits}) == LeftOut("rank-curve", "the rankings hold one item at most")
    assert isinstance(rank_histogram({"one": hits}), LeftOut)


@given(st.integers(1, 10**9))
def test_cutoffs_and_edges_rise_from_the_first_rank_to_the_last(deepest):
    for ranks in (cutoffs(deepest), rank_edges(deepest)):
        assert ranks == sorted(set(ranks))
        assert (ranks[0], ranks[-1]) == (1, deepest)
        assert len(ranks) <= 31


def test_a_histogram_of_many_runs_has_the_first_six_and_says_so(runs):
    many = {f"run {number}": runs["shallow"] for number in range(8)}
    figure = rank_histogram(many)
    assert [series.name for series in figure.series] == list(many)[:6]
    assert figure.note == "The first 6 of 8 runs."
    assert rank_histogram(runs).note == ""


def test_a_level_of_relevance_that_no_item_reaches_leaves_the_figures_of_ranks_out(runs):
    for make in (rank_curve, rank_histogram):
        left_out = make(runs, relevance_level=50)
        assert left_out.reason == "no judged item is relevant under these conventions"
