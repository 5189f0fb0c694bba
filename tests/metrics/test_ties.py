"""Test every tie policy against brute force over all orders of the tied items."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr

METRICS = [
    "precision@3", "precision", "recall@2", "recall(cap=k)@2", "hit_rate@1", "hit_rate@3", "f1@3", "r_precision",
    "judged@2", "mrr", "mrr@2", "mrr(origin=0)", "mrr(origin=0,worst=queries)", "mrr(unfound=skip)", "map", "map@3",
    "map(denominator=min)@3", "map(denominator=hits)@3", "map(denominator=hits)", "map(rel=2)@4", "ndcg@3", "ndcg",
    "ndcg(gain=exp)@4", "ndcg(gain=binary)@2", "ndcg(ideal=retrieved)@3", "ndcg(ideal=full)@2",
    "ndcg(gains=1:2/2:2.5/3:9)@3", "dcg(gains=1:0)", "dcg@2", "bpref", "bpref(negative=unjudged)", "rbp",
    "rbp(p=0.5)@2", "rbp(gain=linear)@3", "rbp(gain=relative)", "rbp_residual",
    "rbp_residual(negative=unjudged,tail=if_unjudged)", "err", "err@2", "err(max=5)@3",
    "mean_rank(of=first,unfound=last)", "auc(unfound=skip)", "auc(unfound=last)", "set_f", "num_rel_ret@2",
]  # fmt: skip
POOLED = ["hits@2", "mrr(of=all)@3", "mean_rank(unfound=skip)", "mpr(over=list,unfound=last)"]
NOT_EXPECTED = ["iprec@0.3", "11pt", "infap"]


@st.composite
def tied_rankings(draw):
    """Draw a short ranking with ties and graded gold, some of it unranked."""
    items = [f"d{i}" for i in range(draw(st.integers(1, 6)))]
    scores = {item: draw(st.sampled_from([0.0, 1.0, 2.0])) for item in items}
    gold = draw(st.dictionaries(st.sampled_from([*items, "x", "y"]), st.sampled_from([-1, 0, 1, 2, 3]), min_size=1))
    return scores, gold


def orders(scores):
    ties = [[item for item in scores if scores[item] == level] for level in sorted(set(scores.values()), reverse=True)]
    for parts in itertools.product(*(itertools.permutations(tie) for tie in ties)):
        ranking = [item for part in parts for item in part]
        yield {item: float(len(ranking) - place) for place, item in enumerate(ranking)}


def value(gold, scores, metric, **conventions):
    return float(gr.score({"q": gold}, {"q": scores}, metric, **conventions)[metric].values[0])


@given(tied_rankings(), st.sampled_from(METRICS + POOLED))
def test_expected_is_the_mean_over_all_orders(case, metric):
    scores, gold = case
    all_values = [value(gold, order, metric) for order in itertools.islice(orders(scores), 720)]
    np.testing.assert_allclose(value(gold, scores, metric, ties="expected"), np.mean(all_values), atol=1e-12)


# The metrics left out are not monotone: the order with the gold first is not always their best one.
MONOTONE = [m for m in METRICS if not any(part in m for part in ("residual", "judged", "denominator=hits"))]


@given(tied_rankings(), st.sampled_from(MONOTONE))
def test_optimistic_and_pessimistic_bound_what_any_order_gives(case, metric):
    scores, gold = case
    low, high = (value(gold, scores, metric, ties=ties) for ties in ("pessimistic", "optimistic"))
    if gr.Metric.parse(metric).definition.direction == "lower":
        low, high = high, low
    for order in itertools.islice(orders(scores), 720):
        score = value(gold, order, metric)
        assert np.isnan(score) or low - 1e-12 <= score <= high + 1e-12


@given(tied_rankings(), st.sampled_from(METRICS + NOT_EXPECTED))
def test_optimistic_is_an_order_and_so_reached(case, metric):
    scores, gold = case
    reached = [value(gold, order, metric) for order in itertools.islice(orders(scores), 720)]
    for ties in ("optimistic", "pessimistic", "docid", "input"):
        score = value(gold, scores, metric, ties=ties)
        assert any(np.isclose(score, other, atol=1e-12, equal_nan=True) for other in reached)


def test_docid_breaks_ties_by_descending_bytes():
    run = {"é": 1.0, "z": 1.0, "a": 1.0, "Z": 1.0}
    ranks = {item: 1 / value({item: 1}, run, "mrr") for item in run}
    assert ranks == {"é": 1, "z": 2, "a": 3, "Z": 4}


def test_input_keeps_the_order_of_the_run():
    run = {"b": 1.0, "c": 1.0, "a": 1.0, "top": 2.0}
    ranks = {item: round(1 / value({item: 1}, run, "mrr", ties="input")) for item in run}
    assert ranks == {"b": 2, "c": 3, "a": 4, "top": 1}


@pytest.mark.parametrize("metric", NOT_EXPECTED)
def test_metrics_without_a_closed_form_refuse_expected_ties_and_say_so(metric):
    with pytest.raises(gr.InputError, match="no closed form"):
        value({"a": 1}, {"a": 1.0}, metric, ties="expected")


CONSTANT = {"q": {f"d{i:03}": 7.0 for i in range(100)}}


def test_a_constant_scorer_gets_exactly_chance_under_expected_ties():
    gold = {"q": {"d042": 1}}
    chance = sum(1 / rank for rank in range(1, 101)) / 100
    scores = gr.score(gold, CONSTANT, ["mrr", "hits@1", "hit_rate@10", "auc", "mean_rank"], ties="expected")
    assert scores["mrr"].mean == pytest.approx(chance, abs=1e-12)
    assert scores["hits@1"].mean == pytest.approx(0.01)
    assert scores["hit_rate@10"].mean == pytest.approx(0.1)
    assert scores["auc"].mean == 0.5
    assert scores["mean_rank"].mean == 50.5


def test_a_constant_scorer_gets_chance_on_average_under_the_default_policy():
    """The policy docid is a fixed order, so the mean over all ids of the gold item is that of chance, not 1."""
    means = [gr.score({"q": {item: 1}}, CONSTANT, "mrr")["mrr"].mean for item in CONSTANT["q"]]
    assert np.mean(means) == pytest.approx(sum(1 / rank for rank in range(1, 101)) / 100)
    assert gr.score({"q": {"d000": 1}}, CONSTANT, "mrr")["mrr"].mean == pytest.approx(1 / 100)


def test_only_optimistic_ties_flatter_a_constant_scorer():
    gold = {"q": {"d042": 1}}
    means = {ties: gr.score(gold, CONSTANT, "mrr", ties=ties)["mrr"].mean for ties in ("optimistic", "pessimistic")}
    assert means == {"optimistic": 1.0, "pessimistic": 0.01}


def test_two_tied_gold_items_cannot_both_be_first_except_where_each_is_asked_for_alone():
    gold, run = {"a": 1, "b": 1}, {"a": 1.0, "b": 1.0, "c": 1.0}
    assert value(gold, run, "recall@1", ties="optimistic") == 0.5
    assert value(gold, run, "hits@1", ties="optimistic") == 1.0
    assert value(gold, run, "mean_rank", ties="pessimistic") == 3.0


def test_expected_ties_stay_exact_at_the_scale_of_a_corpus():
    """The closed form for a million tied items equals the explicit sum."""
    n = 1_000_000
    hits = gr.Hits(
        ["q"], np.array([0, 1]), ["g"], np.ones(1), np.array([10]), np.array([n - 1]), np.array([0]), np.array([0]),
        np.array([n + 10]),
    )  # fmt: skip
    ranks = np.arange(11, n + 11)
    scores = gr.score_hits(hits, ["mrr", "ndcg", "map", "mean_rank"], ties="expected")
    assert scores["mrr"].mean == pytest.approx(np.mean(1 / ranks), rel=1e-12)
    assert scores["ndcg"].mean == pytest.approx(np.mean(1 / np.log2(ranks + 1)), rel=1e-12)
    assert scores["map"].mean == pytest.approx(np.mean(1 / ranks), rel=1e-12)
    assert scores["mean_rank"].mean == ranks.mean()
