"""Test the abstention metric nauc: its values, its names, and data for which it is undefined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from goldrank.metrics import Metric
from goldrank.metrics.abstention import confidences
from goldrank.stats import aggregate, intervals
from goldrank.stats.intervals import Sample
from profiles import examples

VALUES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 1.0, 2.0, 3.0])), min_size=2, max_size=25
)


def area(values, confidence):
    return aggregate(np.array(values), np.array(confidence), "nauc")


@given(VALUES)
def test_the_oracle_has_1_no_confidence_has_more_and_a_constant_one_0(rows):
    values, confidence = map(np.array, zip(*rows, strict=True))
    result = area(values, confidence)
    if len(set(values)) == 1:
        assert math.isnan(result)
        return
    if math.isnan(result):  # the oracle's mean is the same at every abstention rate
        return
    assert result <= 1 + 1e-9
    assert area(values, values) == pytest.approx(1)
    assert area(values, np.zeros(len(values))) == pytest.approx(0, abs=1e-9)


@given(VALUES, st.randoms(use_true_random=False))
@examples(0.6)
def test_neither_the_order_of_queries_nor_the_scale_of_the_confidence_matters(rows, random):
    mixed = rows[:]
    random.shuffle(mixed)
    expected, other = (area(*map(np.array, zip(*examples, strict=True))) for examples in (rows, mixed))
    scaled = area([value for value, _ in rows], [3 * sure + 1 for _, sure in rows])
    assert other == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert scaled == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_the_area_is_that_of_the_curve_drawn_by_hand():
    values, confidence = [1.0, 0.0], [2.0, 1.0]
    # From a rate of 0.3 on, one of the two queries is left out: 0.25 · 2 = 0.5 rounds to 0, 0.3 · 2 = 0.6 to 1.
    rates = np.linspace(0, 1, 11)[:-1]
    curve = [0.5 if round(2 * rate) == 0 else 1.0 for rate in rates]
    constant, best = 0.5 * 0.9, float(np.trapezoid(curve, rates))
    worst = float(np.trapezoid([0.5 if round(2 * rate) == 0 else 0.0 for rate in rates], rates))
    assert area(values, confidence) == pytest.approx(1.0)
    assert area(values, [1.0, 2.0]) == pytest.approx((worst - constant) / (best - constant))


def test_the_interval_holds_the_area_and_is_the_same_every_time():
    rng = np.random.default_rng(0)
    values = rng.random(60)
    sample = Sample(values, values + rng.normal(0, 0.3, 60), "nauc")
    (first,), (again,) = (intervals([sample], resamples=500, seed=4) for _ in range(2))
    assert first == again
    assert first.low < area(sample.values, sample.weights) < first.high
    assert intervals([Sample(values[:1], values[:1], "nauc")]) == [None]


GOLD = {f"q{i}": {"right": 1} for i in range(6)}
RUN = {
    f"q{i}": {"right" if place == i else f"w{place}": (10 - i) / (1 + place) for place in range(5)} for i in range(6)
}


def test_confidences_are_the_highest_score_the_spread_and_the_lead():
    run = gr.Run({"q": {"a": 3.0, "q": 7.0, "b": 1.0}, "one": {"a": 2.0}, "empty": {}})
    result = confidences(run, ["q", "one", "empty", "none"], drop_self=False)
    assert result.tolist() == [[7, 2, 0, 0], [pytest.approx(np.std([3, 7, 1])), 0, 0, 0], [4, 0, 0, 0]]
    assert confidences(run, ["q"], drop_self=True).tolist() == [[3], [1], [2]]


def test_a_run_that_is_surest_where_it_is_right_reaches_1():
    scores = gr.score(GOLD, RUN, ["nauc(of=mrr)", "nauc(of=mrr,confidence=std)", "nauc_mrr_at_10_diff1"])
    assert [score.value for score in scores.values()] == pytest.approx([1, 1, 1])
    # The same rankings with confidence inverted: right queries get low scores.
    doubtful = {
        query: {item: score / (10 - i) ** 2 for item, score in RUN[query].items()} for i, query in enumerate(RUN)
    }
    inverted = gr.score(GOLD, doubtful, "nauc(of=mrr)")["nauc(of=mrr)"]
    assert inverted.value < 0
    assert inverted.per_query == gr.score(GOLD, RUN, "mrr")["mrr"].per_query


def test_names_as_mteb_writes_them_are_read_as_it_means_them():
    for name in ("ndcg", "map", "recall", "precision", "mrr"):
        for confidence in ("max", "std", "diff1"):
            written = str(Metric.parse(f"nauc_{name}_at_100_{confidence}"))
            assert written == f"nauc(of={name}@100,confidence={confidence})"
            assert str(Metric.parse(written)) == written
    assert str(Metric.parse("nauc")) == "nauc"


def test_the_profile_and_the_missing_queries_count_as_in_the_inner_metric():
    gold = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1, "b": 3}, "q3": {"a": 1}}
    run = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"a": 1.0, "b": 0.5}}
    name = "nauc(of=ndcg@10)"
    for profile in ("standard", "sentence-transformers", "trec_eval"):
        scores = gr.score(gold, run, [name, "ndcg@10"], profile=profile)
        assert scores[name].per_query == scores["ndcg@10"].per_query


def test_what_has_no_area_is_refused_with_the_reason():
    with pytest.raises(gr.InputError, match="needs the scores of the run's results"):
        gr.score_hits(gr.Run(RUN).hits(gr.Gold(GOLD)), "nauc")
    with pytest.raises(gr.InputError, match="cannot be computed for gmap"):
        Metric.parse("nauc(of=gmap)")
    with pytest.raises(gr.InputError, match="pools gold items"):
        gr.score(GOLD, RUN, "nauc(of=hits@1)")
    with pytest.raises(gr.InputError, match="there is no metric 'ndgc'"):
        Metric.parse("nauc(of=ndgc@10)")
    with pytest.raises(gr.InputError, match="nauc has no closed form"):
        gr.score(GOLD, RUN, "nauc", ties="expected")


def test_two_runs_have_a_difference_but_no_paired_test():
    (pair,) = gr.compare(GOLD, {"a": RUN, "b": {q: dict.fromkeys(r, 1.0) for q, r in RUN.items()}}, "nauc").pairs
    assert math.isnan(pair.p)
    assert "area under the abstention curve has no paired test" in pair.note


def test_an_evaluation_is_scored_by_its_own_rankings():
    scores = gr.evaluate("bm25", "questions", limit=15).score(["nauc", "ndcg@10"])
    assert scores["nauc"].per_query == scores["ndcg@10"].per_query
    assert scores["nauc"].value <= 1
