"""Test the changes of trec_eval 10 against an independent implementation of its documented rules."""

import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr

ITEMS = [f"d{i:02}" for i in range(16)]


@st.composite
def judged_rankings(draw):
    """Draw a ranking and grades of some items; a negative grade marks a pooled item that was not judged."""
    ranking = draw(st.permutations(ITEMS))[: draw(st.integers(1, len(ITEMS)))]
    grades = draw(st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([-1, 0, 1, 1, 2, 3])))
    return ranking, {**grades, draw(st.sampled_from(ITEMS)): draw(st.integers(1, 3))}


def value(ranking, grades, metric, **options):
    run = {item: float(len(ranking) - place) for place, item in enumerate(ranking)}
    return gr.score({"q": grades}, {"q": run}, metric, **{"profile": "trec_eval", **options})[metric].value


def interpolated(ranking, grades, level):
    """Return the highest precision from the rank that reaches the recall level, rounded half up to whole items."""
    relevant = sum(grade > 0 for grade in grades.values())
    needed = int(Decimal(level * relevant).quantize(Decimal(1), ROUND_HALF_UP))
    hits, precisions = 0, []
    for rank, item in enumerate(ranking, 1):
        hits += grades.get(item, 0) > 0
        precisions.append((hits, hits / rank))
    return max((precision for hits, precision in precisions if hits >= needed), default=0.0)


@given(judged_rankings(), st.integers(0, 20))
def test_recall_levels_are_rounded_to_the_nearest_item(case, twentieth):
    level = twentieth / 20
    assert value(*case, f"iprec@{level}") == pytest.approx(interpolated(*case, level))


@given(judged_rankings())
def test_the_eleven_point_average_rounds_likewise(case):
    expected = sum(interpolated(*case, level / 10) for level in range(11)) / 11
    assert value(*case, "11pt") == pytest.approx(expected)


def test_version_9_rounds_up_where_version_10_rounds_down():
    ranking, grades = ["a", "x", "b", "c"], dict.fromkeys("abc", 1)
    # Recall 0.4 of three items is 1.2 items, which version 9 rounds to two and version 10 to one.
    assert value(ranking, grades, "iprec@0.4") == 1.0
    assert value(ranking, grades, "iprec@0.4", profile="trec_eval9") == 0.75
    assert value(ranking, grades, "11pt") == pytest.approx((5 * 1 + 6 * 0.75) / 11)
    assert value(ranking, grades, "11pt", profile="trec_eval9") == pytest.approx((4 * 1 + 7 * 0.75) / 11)


@given(judged_rankings(), st.sampled_from([None, 0.5, 0.95]))
def test_rank_biased_precision_has_persistence_point_nine_and_grades_scaled_to_one(case, p):
    ranking, grades = case
    persistence = 0.9 if p is None else p
    highest = max(1, *grades.values())
    expected = sum(max(grades.get(item, 0), 0) / highest * persistence**place for place, item in enumerate(ranking)) * (
        1 - persistence
    )
    assert value(*case, "rbp" if p is None else f"rbp.p={p}") == pytest.approx(expected)


@given(judged_rankings())
def test_the_residual_counts_unjudged_results_and_the_rest_only_where_there_are_any(case):
    ranking, grades = case
    unjudged = [place for place, item in enumerate(ranking) if grades.get(item, -1) < 0]
    expected = 0.9 ** len(ranking) + 0.1 * sum(0.9**place for place in unjudged) if unjudged else 0.0
    assert value(*case, "rbp_resid") == pytest.approx(expected, abs=1e-12)


def test_a_relevance_level_leaves_metrics_of_gain_as_they_are():
    ranking, grades = ["a", "b", "c"], {"a": 1, "b": 2, "c": 3}
    for metric in ("rbp", "ndcg", "ndcg@2", "rbp_resid", "err"):
        assert value(ranking, grades, metric, relevance_level=2) == value(ranking, grades, metric)
    assert value(ranking, grades, "map", relevance_level=2) == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_scores_are_compared_in_double_precision():
    gold, run = {"q": {"a": 1}}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    assert gr.score(gold, run, "recip_rank", profile="trec_eval")["mrr"].mean == 1.0
    assert math.isclose(gr.score(gold, run, "recip_rank", profile="trec_eval9")["mrr"].mean, 0.5)
