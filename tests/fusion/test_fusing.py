"""Test fused rankings against an implementation with plain dictionaries, and the properties of every method."""

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.fusion import METHODS, NORMALISATIONS, fuse
from goldrank.hits import Gold, Run
from profiles import examples

SCORES = st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.1, 0.2, 0.3, 1.0, 2.5, 7.0])
RANKINGS = st.dictionaries(st.sampled_from("abcdefgé東"), SCORES, max_size=7)
RUNS = st.lists(st.dictionaries(st.sampled_from(["q1", "q2"]), RANKINGS, min_size=1), min_size=1, max_size=4)
WEIGHTS = st.lists(st.sampled_from([0.1, 0.2, 0.3, 1.0, 2.0]), min_size=4, max_size=4)
OF_SCORES = ("sum", "combsum", "combmnz", "gmnz", "min", "max", "med", "anz")
SETTINGS = [(name, None) for name in ("rrf", "borda", "condorcet", "isr", "rbc")] + [
    (name, scale) for name in OF_SCORES for scale in (None, *NORMALISATIONS)
]
EVERY = pytest.mark.parametrize(("method", "normalise"), SETTINGS)


def in_order(ranking):
    """Return the items by descending score, ties by descending id."""
    return sorted(sorted(ranking, key=lambda item: item.encode(), reverse=True), key=lambda item: -ranking[item])


def normalised(ranking, normalise):
    low, high, n = min(ranking.values()), max(ranking.values()), len(ranking)
    if normalise == "none":
        return dict(ranking), min(0.0, low)
    if normalise == "rank":
        return {item: 1 - at / n for at, item in enumerate(in_order(ranking))}, 0.0
    if low == high:
        return {item: {"minmax": 1.0, "zscore": 0.0, "sum": 1 / n}[normalise] for item in ranking}, 0.0
    if normalise == "minmax":
        return {item: (score - low) / (high - low) for item, score in ranking.items()}, 0.0
    if normalise == "sum":
        total = math.fsum(score - low for score in ranking.values())
        return {item: (score - low) / total for item, score in ranking.items()}, 0.0
    mean = math.fsum(ranking.values()) / n
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in ranking.values()) / n)
    scores = {item: (score - mean) / spread for item, score in ranking.items()}
    return scores, min(scores.values())


def reference(rankings, weights, method, normalise, k=60):
    """Return the expected fused scores of one query's non-empty rankings."""
    union = sorted(set().union(*rankings))
    orders = [in_order(ranking) for ranking in rankings]
    if method == "rrf":
        return {
            item: math.fsum(w / (k + o.index(item) + 1) for o, w in zip(orders, weights, strict=True) if item in o)
            for item in union
        }
    if method in ("isr", "rbc"):
        worth = {"isr": lambda at: 1 / (at + 1) ** 2, "rbc": lambda at: 0.1 * 0.9**at}[method]
        return {
            item: math.fsum(w * worth(o.index(item)) for o, w in zip(orders, weights, strict=True) if item in o)
            * (sum(item in o for o in orders) if method == "isr" else 1)
            for item in union
        }
    if method in ("min", "max", "med", "anz"):
        reduce = {"min": min, "max": max, "med": statistics.median, "anz": statistics.fmean}[method]
        scales = [normalised(ranking, normalise or "minmax")[0] for ranking in rankings]
        return {
            item: reduce([w * scores[item] for scores, w in zip(scales, weights, strict=True) if item in scores])
            for item in union
        }
    if method in OF_SCORES:
        scales = [normalised(ranking, normalise or "minmax") for ranking in rankings]
        fused = {
            item: math.fsum(w * scores.get(item, low) for (scores, low), w in zip(scales, weights, strict=True))
            for item in union
        }
        if method in ("combmnz", "gmnz"):
            power = 2 if method == "gmnz" else 1
            runs = {item: sum(item in ranking for ranking in rankings) for item in union}
            fused = {item: score * runs[item] ** power for item, score in fused.items()}
        return fused
    n = len(union)
    borda = dict.fromkeys(union, 0.0)
    for order, weight in zip(orders, weights, strict=True):
        left = [n - at for at in range(len(order), n)]
        for item in union:
            borda[item] += weight * (n - order.index(item) if item in order else sum(left) / len(left))
    if method == "borda":
        return borda
    copeland = dict.fromkeys(union, 0)
    for first, second in itertools.permutations(union, 2):
        margin = math.fsum(
            weight * ((first in o and (second not in o or o.index(first) < o.index(second)))
                      - (second in o and (first not in o or o.index(second) < o.index(first))))
            for o, weight in zip(orders, weights, strict=True)
        )  # fmt: skip
        copeland[first] += 0 if abs(margin) < 1e-9 else int(math.copysign(1, margin))
    return {item: copeland[item] + borda[item] / (2 * n * sum(weights)) for item in union}


@EVERY
@given(runs=RUNS, weights=WEIGHTS)
@examples(0.3)
def test_every_method_equals_its_definition_over_plain_dictionaries(method, normalise, runs, weights):
    weights = weights[: len(runs)]
    fused = fuse([Run(run) for run in runs], method, weights=weights, normalise=normalise).to_dict()
    assert set(fused) == set().union(*runs)
    for query, ranking in fused.items():
        held = [(run[query], weight) for run, weight in zip(runs, weights, strict=True) if run.get(query)]
        expected = reference([r for r, _ in held], [w for _, w in held], method, normalise) if held else {}
        assert ranking == pytest.approx(expected, abs=1e-12, rel=1e-12)
        assert list(ranking) == in_order(ranking)


@EVERY
@given(runs=RUNS, weights=WEIGHTS, data=st.data())
@examples(0.2)
def test_the_order_of_the_runs_changes_no_bit(method, normalise, runs, weights, data):
    weights = weights[: len(runs)]
    straight = fuse([Run(run) for run in runs], method, weights=weights, normalise=normalise)
    mixed = data.draw(st.permutations(range(len(runs))))
    other = fuse([Run(runs[i]) for i in mixed], method, weights=[weights[i] for i in mixed], normalise=normalise)
    assert straight.to_dict() == other.to_dict()


@EVERY
@given(run=st.dictionaries(st.sampled_from(["q1", "q2"]), RANKINGS, min_size=1))
@examples(0.3)
def test_one_run_alone_keeps_its_order(method, normalise, run):
    fused = fuse([Run(run)], method, normalise=normalise).to_dict()
    for query, ranking in run.items():
        order = in_order(ranking)
        tied = normalise == "zscore" or method in OF_SCORES
        if tied:  # equal scores stay equal
            assert list(fused[query]) == order
        else:
            assert [*fused[query]] == order
            assert len(set(fused[query].values())) == len(order)


@EVERY
@given(runs=RUNS)
@examples(0.3)
def test_the_order_of_items_within_the_input_changes_nothing(method, normalise, runs):
    reversed_runs = [{query: dict(reversed(ranking.items())) for query, ranking in run.items()} for run in runs]
    straight, other = ([Run(rankings) for rankings in some] for some in (runs, reversed_runs))
    assert fuse(straight, method, normalise=normalise) == fuse(other, method, normalise=normalise)


@EVERY
def test_a_run_of_weight_0_is_ignored(method, normalise):
    first, second = Run({"q": {"a": 2.0, "b": 1.0}}), Run({"q": {"c": 5.0, "b": 4.0}, "only": {"x": 1.0}})
    fused = fuse([first, second], method, weights=[1, 0], normalise=normalise)
    assert fused == fuse([first], method, normalise=normalise)


@EVERY
def test_a_query_missing_in_a_run_is_fused_from_the_others(method, normalise):
    first, second = Run({"q": {"a": 2.0, "b": 1.0}}), Run({"p": {"b": 4.0, "a": 3.0, "c": 1.0}, "q": {}})
    fused = fuse([first, second], method, normalise=normalise)
    assert list(fused["p"]) == ["b", "a", "c"]
    assert list(fused["q"]) == ["a", "b"]


def test_an_empty_ranking_stays_one():
    assert fuse([Run({"q": {}, "p": {"a": 1.0}}), Run({"q": {}})])["q"] == {}


@EVERY
def test_the_depth_keeps_the_best_and_breaks_the_tie_at_the_cut_by_descending_id(method, normalise):
    flat = Run({"q": dict.fromkeys("abcdef", 1.0)})
    assert list(fuse([flat, flat], method, normalise=normalise, depth=2)["q"]) == ["f", "e"]
    full = fuse([flat, flat], method, normalise=normalise)["q"]
    assert fuse([flat, flat], method, normalise=normalise, depth=99)["q"] == full


@EVERY
@pytest.mark.parametrize(
    "scores", [[5.0], [0.1, 0.1, 0.1], [1e308, -1e308], [5e-324, 0.0], [1e-200, 2e-200, 3e-200], [1e308, 1e308]]
)
def test_single_constant_huge_and_tiny_scores_give_finite_numbers_in_the_same_order(method, normalise, scores):
    run = {"q": {f"d{at}": score for at, score in enumerate(scores)}}
    # The methods min, max and med do not add scores, so they cannot overflow.
    if normalise == "none" and scores == [1e308, 1e308] and method not in ("min", "max", "med"):
        with pytest.raises(InputError, match="query 'q' are too large to be added; choose a normalisation"):
            fuse([Run(run)] * 2, method, normalise=normalise)
        return
    fused = fuse([Run(run)], method, normalise=normalise)["q"]
    assert all(map(math.isfinite, fused.values()))
    assert list(fused) == in_order(run["q"])


def test_rounded_weights_make_no_majority():
    first, second, third = ({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}})
    fused = fuse([Run(first), Run(second), Run(third)], "condorcet", weights=[0.1, 0.2, 0.3])["q"]
    assert fused["a"] == pytest.approx(fused["b"], abs=1e-12)


def test_condorcet_puts_the_item_that_beats_all_others_first_though_borda_does_not():
    orders = ["abc"] * 3 + ["bca"] * 2
    runs = [Run({"q": {item: float(-at) for at, item in enumerate(order)}}) for order in orders]
    assert next(iter(fuse(runs, "condorcet")["q"])) == "a"
    assert next(iter(fuse(runs, "borda")["q"])) == "b"


def test_pairs_are_counted_right_across_the_blocks_of_the_matrix():
    rng = np.random.default_rng(3)
    ids = [f"d{at:04}" for at in range(1300)]
    runs = [dict(zip(ids, rng.permutation(1300).tolist(), strict=True)) for _ in range(3)]
    fused = fuse([Run({"q": run}) for run in runs], "condorcet")["q"]
    places = np.array([[run[item] for item in ids] for run in runs])
    margins = sum(np.sign(place[:, None] - place[None, :]) for place in places)
    wins = np.sign(margins).sum(axis=1)
    for item, expected in zip(ids, wins.tolist(), strict=True):
        assert 0 < fused[item] - expected <= 0.5


def test_reciprocal_rank_fusion_of_a_worked_example():
    first, second = Run({"q": {"a": 9.0, "b": 8.0}}), Run({"q": {"b": 0.5, "c": 0.4}})
    assert fuse([first, second])["q"] == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62}, abs=1e-15)
    assert fuse([first, second], k=0, weights=[3, 1])["q"] == pytest.approx({"b": 2.5, "a": 3.0, "c": 0.5})


def test_a_fused_run_is_scored_like_any_other():
    first, second = Run({"q": {"a": 9.0, "b": 8.0}}), Run({"q": {"b": 0.5, "c": 0.4}})
    assert fuse([first, second]).hits(Gold({"q": {"b": 1, "c": 1}})).above.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "rff"}, "no fusion method 'rff'; did you mean 'rrf'"),
        ({"normalise": "minmax"}, "no scores to normalise"),
        ({"method": "sum", "normalise": "min-max"}, "did you mean 'minmax'"),
        ({"weights": [1.0]}, "1 weights for 2 runs"),
        ({"weights": [1.0, -1.0]}, "the weight -1.0 is not a number from 0 up"),
        ({"weights": [1.0, float("nan")]}, "the weight nan"),
        ({"weights": [1.0, float("inf")]}, "the weight inf"),
        ({"weights": ["x", 1.0]}, "not all numbers"),
        ({"weights": [0, 0]}, "all weights are 0"),
        ({"k": -1}, "k=-1 is not a whole number from 0 up"),
        ({"k": 2.5}, "k=2.5"),
        ({"depth": 0}, "depth=0"),
    ],
)
def test_invalid_options_are_refused(given, message):
    with pytest.raises(InputError) as caught:
        fuse([Run({"q": {"a": 1.0}})] * 2, **given)
    assert message in str(caught.value)


def test_no_runs_cannot_be_fused():
    with pytest.raises(InputError, match="no run to fuse"):
        fuse([])


def test_every_method_and_normalisation_has_a_summary():
    for entry in (*METHODS.values(), *NORMALISATIONS.values()):
        assert len(entry.summary) > 20
    # Some methods have two names.
    assert {METHODS[method].summary for method, _ in SETTINGS} == {method.summary for method in METHODS.values()}
