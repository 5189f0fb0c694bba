"""Test rank-biased overlap and compatibility against plain sums, with bounds, ties and the ideal ranking."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from profiles import examples

LISTS = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1, max_size=8)
P = st.sampled_from([0.3, 0.5, 0.8, 0.9])
TIED = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([1.0, 2.0, 3.0]), min_size=1)


def ranked(items):
    return {"q": {item: float(-place) for place, item in enumerate(items)}}


def term_by_term(first, second, p, depth):
    """Return the RBO of two lists to *depth* by equation 4 of the paper; lower ranks have negligible weight."""
    shares = (len({*first[:d]} & {*second[:d]}) / d for d in range(1, depth + 1))
    return (1 - p) * sum(p ** (d - 1) * share for d, share in enumerate(shares, start=1))


def continued(first, second, tails):
    """Return both lists extended to a length below which ranks have negligible weight."""
    first, second = [*first], [*second]
    size = 700
    if tails == "apart":
        return [*first, *range(size)], [*second, *range(-size, 0)]
    # For maximal overlap each list continues with the items only the other one has, then both with equal items.
    missing = [item for item in second if item not in first], [item for item in first if item not in second]
    return [*first, *missing[0], *range(size)], [*second, *missing[1], *range(size)]


@given(LISTS, LISTS, P)
@examples(0.8)
def test_min_and_residual_are_the_overlap_of_the_worst_and_the_best_continuation(first, second, p):
    result = gr.rbo(ranked(first), ranked(second), p)
    worst = term_by_term(*continued(first, second, "apart"), p, 600)
    assert result.low[0] == pytest.approx(worst, abs=1e-9)
    best = term_by_term(*continued(first, second, "together"), p, 600)
    assert result.low[0] + result.residual[0] == pytest.approx(best, abs=1e-9)
    assert result.low[0] - 1e-12 <= result.values[0] <= result.low[0] + result.residual[0] + 1e-9


def test_the_extrapolated_value_is_that_of_the_formula_worked_by_hand():
    # Agreements 1, 1/2 and 1: 0.1 (1 + 0.9/2 + 0.81) + 0.729.
    assert gr.rbo(ranked("abc"), ranked("acb"), 0.9).mean == pytest.approx(0.955, abs=1e-12)
    # Lists of 1 and 2 items, equation 32: 0.5/0.5 (0.5 · 1 + 0.25 · 1/2 + 0.25 · 1 · 1/2) + ((1 - 1)/2 + 1) 0.25.
    assert gr.rbo(ranked("a"), ranked("ab"), 0.5).mean == pytest.approx(1.0, abs=1e-12)
    # A tie of a and b on ranks 1 and 2, equation 28: agreements 2/3 and 1.
    tied = {"q": {"a": 2.0, "b": 2.0}}
    assert gr.rbo(tied, ranked("ab"), 0.5).mean == pytest.approx(0.5 * 2 / 3 + 0.25 + 0.25, abs=1e-12)


@given(TIED, TIED, P)
@examples(0.8)
def test_the_overlap_is_symmetric_within_bounds_and_1_for_the_same_ranking(first, second, p):
    forward, backward = gr.rbo({"q": first}, {"q": second}, p), gr.rbo({"q": second}, {"q": first}, p)
    assert forward.mean == pytest.approx(backward.mean, abs=1e-12)
    assert forward.residual[0] == pytest.approx(backward.residual[0], abs=1e-9)
    assert -1e-12 <= forward.low[0] <= forward.mean + 1e-9
    assert forward.mean <= 1
    assert gr.rbo({"q": first}, {"q": first}, p).mean == pytest.approx(1.0, abs=1e-12)


def test_ties_share_a_rank_whatever_the_ids_and_the_order_of_the_input():
    values = {
        gr.rbo({"q": dict(items)}, {"q": {"a": 2.0, "b": 1.0}}).mean
        for items in itertools.permutations({"a": 1.0, "b": 1.0, "c": 1.0}.items())
    }
    assert len(values) == 1


def test_queries_of_one_run_only_are_counted_and_two_runs_without_a_common_query_refused():
    result = gr.rbo({"q": {"a": 1}, "p": {"a": 1}, "empty": {}}, {"q": {"a": 1}, "r": {"b": 1}, "s": {"b": 1}})
    assert (result.queries, result.left_out) == (["q"], (1, 2))
    with pytest.raises(gr.InputError, match="no query in common"):
        gr.rbo({"q": {"a": 1}}, {"r": {"a": 1}})
    for p in (0, 1, 1.5, float("nan")):
        with pytest.raises(gr.InputError, match="persistence"):
            gr.rbo({"q": {"a": 1}}, {"q": {"a": 1}}, p)
    with pytest.raises(gr.InputError, match="depth"):
        gr.rbo({"q": {"a": 1}}, {"q": {"a": 1}}, depth=0)
    with pytest.raises(gr.InputError, match="finite"):
        gr.rbo({"q": {"a": float("nan")}}, {"q": {"a": 1}})


def test_the_depth_cuts_both_rankings():
    deep = gr.rbo(ranked("abcd"), ranked("abdc"), depth=2)
    assert deep.values.tolist() == gr.rbo(ranked("ab"), ranked("ab")).values.tolist()


GOLD = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2), min_size=1)


def ideal_rankings(gold):
    by_grade = sorted({grade for grade in gold.values() if grade > 0}, reverse=True)
    blocks = [itertools.permutations(sorted(i for i in gold if gold[i] == grade)) for grade in by_grade]
    return [list(itertools.chain(*parts)) for parts in itertools.product(*blocks)]


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2), min_size=1), LISTS, P)
@examples(0.6)
def test_the_ideal_ranking_of_compat_and_rbo_is_the_one_that_overlaps_most(gold, ranking, p):
    compat, rbo = f"compat(p={p},normalize=False)", f"rbo(p={p})"
    scores = gr.score({"q": gold}, ranked(ranking), [compat, f"compat(p={p})", rbo])
    ideals = [ideal for ideal in ideal_rankings(gold) if ideal]
    if not ideals:
        assert [score.value for score in scores.values()] == [0, 0, 0]
        return
    depth = max(len(ranking), len(ideals[0]))
    most = max(term_by_term(ranking, ideal, p, depth) for ideal in ideals)
    assert scores[compat].value == pytest.approx(most / (1 - p**depth), abs=1e-9)
    best = term_by_term(ideals[0], ideals[0], p, depth)
    assert scores[f"compat(p={p})"].value == pytest.approx(most / best, abs=1e-9)
    assert scores[rbo].value == pytest.approx(
        max(gr.rbo(ranked(ranking), ranked(ideal), p).mean for ideal in ideals), abs=1e-9
    )


@given(GOLD, LISTS)
@examples(0.6)
def test_compat_and_rbo_are_shares_and_1_for_an_ideal_ranking(gold, ranking):
    names = ["compat", "compat@3", "rbo", "rbo@3"]
    scores = gr.score({"q": gold}, ranked(ranking), names)
    assert all(0 <= score.value <= 1 + 1e-12 for score in scores.values())
    relevant = sorted((item for item in gold if gold[item] > 0), key=lambda item: -gold[item])
    if relevant:
        perfect = gr.score({"q": gold}, ranked(relevant), names)
        assert [score.value for score in perfect.values()] == pytest.approx([1, 1, 1, 1])


def test_a_query_without_results_scores_0():
    scores = gr.score({"q": {"a": 1}, "r": {"a": 1}}, ranked("a"), ["compat", "rbo"])
    assert [score.per_query["r"] for score in scores.values()] == [0, 0]
    assert np.isfinite([score.value for score in scores.values()]).all()


def test_rbo_refuses_distances_until_it_is_told_what_they_are():
    run = {query: {item: 1 - place / 10 for place, item in enumerate("abcdef")} for query in ("q1", "q2", "q3")}
    distances = {query: {item: 1 - score for item, score in ranking.items()} for query, ranking in run.items()}
    with pytest.raises(gr.InputError, match=r"^the second run: the order contradicts the scores.*--scores"):
        gr.rbo(run, distances)
    assert gr.rbo(distances, distances, scores="distance").mean == pytest.approx(1)
    assert gr.rbo(run, distances, scores="ignore").mean == pytest.approx(1)
    assert gr.rbo(run, distances, scores="similarity").mean < 0.8
    with pytest.raises(gr.InputError, match="no value of scores 'distances'"):
        gr.rbo(run, distances, scores="distances")
