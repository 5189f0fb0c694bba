"""Test Kendall's tau between orders of models: its value, its interval, and which swaps are significant."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from goldrank import stats
from goldrank.analysis.model_orders import compare_orders, kendall_from_signs, order_notes, place_intervals
from goldrank.scoring import Bootstrap

SETTINGS = [("cosine", "none"), ("l2", "none")]


def compare(before, after, resamples=1000, alpha=0.05):
    """Compare two settings, given the values of queries (rows) by models (columns)."""
    samples = [stats.Sample(column) for values in (before, after) for column in np.asarray(values, float).T]
    bootstrap = Bootstrap(resamples)
    resampled = stats.bootstrap_aggregates(samples, resamples=resamples).reshape(resamples, 2, -1)
    values = np.array([np.mean(before, axis=0), np.mean(after, axis=0)])
    models = [f"m{at}" for at in range(values.shape[1])]
    (agreement,) = compare_orders("task mrr", models, SETTINGS, values, resampled, bootstrap, alpha)
    return agreement


def noisy(means, queries=200, spread=0.1, seed=0):
    return np.array(means) + spread * np.random.default_rng(seed).normal(size=(queries, len(means)))


def test_tau_is_that_of_scipy_with_ties():
    rng = np.random.default_rng(1)
    pairs = list(combinations(range(7), 2))
    for _ in range(50):
        x, y = rng.integers(0, 4, (2, 7))
        signs = [np.array([np.sign(side[a] - side[b]) for a, b in pairs], np.int8) for side in (x, y)]
        assert float(kendall_from_signs(*signs)) == pytest.approx(kendalltau(x, y).statistic)


def test_models_far_apart_that_keep_their_order_are_the_same_order():
    agreement = compare(noisy([0.3, 0.5, 0.7]), noisy([0.1, 0.2, 0.6], seed=1))
    assert (agreement.tau, agreement.interval.low, agreement.interval.high, agreement.same) == (1.0, 1.0, 1.0, 1.0)
    assert (agreement.answer, agreement.swaps) == ("same order", ())


def test_a_large_swap_is_significant_and_named_with_both_differences():
    agreement = compare(noisy([0.3, 0.5, 0.7]), noisy([0.5, 0.3, 0.7], seed=1))
    assert agreement.tau == pytest.approx(1 / 3)
    (swap,) = agreement.swaps
    assert (swap.ahead, swap.behind) == ("m1", "m0")
    assert swap.before.value == pytest.approx(0.2, abs=0.03)
    assert swap.after.value == pytest.approx(-0.2, abs=0.03)
    assert swap.moved.value == pytest.approx(swap.after.value - swap.before.value)
    # The smallest p that 1,000 resamples can show, times the three pairs of models.
    assert swap.p == pytest.approx(2 / 1001)
    assert swap.adjusted == pytest.approx(6 / 1001)
    assert (swap.verdict, agreement.answer) == ("significant", "reordered")


def test_a_swap_within_noise_cannot_be_told():
    values = noisy([0.0, 0.0], queries=30)
    values += np.array([0.01, 0.0]) - values.mean(axis=0)
    agreement = compare(values, values[:, ::-1])
    assert agreement.tau == -1
    (swap,) = agreement.swaps
    assert (swap.significant, swap.verdict, agreement.answer) == (False, "within noise", "cannot tell")
    assert swap.before.low < 0 < swap.before.high


def test_a_gap_that_surely_moves_is_not_yet_a_swap():
    # Queries vary far more than settings: each order is uncertain, but the effect of the setting is not.
    shared = np.random.default_rng(3).normal(size=(100, 1))
    noise = np.column_stack([shared, -shared])
    noise -= noise.mean(axis=0)
    agreement = compare(noise + np.array([0.02, 0.0]), noise + np.array([-0.02, 0.0]))
    (swap,) = agreement.swaps
    assert swap.verdict == "the gap moves, the order is not certain"
    assert (swap.moved.low, swap.moved.high) == pytest.approx((-0.04, -0.04))
    assert agreement.answer == "cannot tell"


def test_an_order_that_chance_could_change_is_not_called_the_same():
    agreement = compare(noisy([0.5, 0.5], queries=30, seed=5), noisy([0.5, 0.5], queries=30, seed=6))
    assert agreement.answer == "cannot tell"
    assert 0.2 < agreement.same < 0.9


def test_all_models_tied_leave_tau_undefined():
    agreement = compare(np.ones((10, 3)), noisy([0.1, 0.2, 0.3], queries=10))
    assert math.isnan(agreement.tau)
    assert agreement.answer == "cannot tell"


def test_settings_without_an_effect_give_tau_1_in_every_resample():
    values = noisy([0.5, 0.5, 0.5, 0.5], queries=20)
    agreement = compare(values, values)
    assert (agreement.tau, agreement.same, agreement.interval.method) == (1.0, 1.0, "constant")


def test_false_swaps_are_as_rare_as_alpha_says():
    """Three equal models under two settings of independent noise: any significant swap is false."""
    reordered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        agreement = compare(rng.normal(size=(50, 3)), rng.normal(size=(50, 3)), resamples=200)
        reordered += agreement.answer == "reordered"
    assert reordered <= 10


def test_places_have_limits_over_resamples_and_ties_share_theirs():
    resampled = np.array([[[0.3, 0.2, 0.2]], [[0.1, 0.2, 0.2]]] * 50)
    assert place_intervals(resampled, 0.95) == [[(1.0, 3.0), (1.5, 2.5), (1.5, 2.5)]]


def test_few_models_are_told_what_they_cannot_show():
    (two,) = order_notes(2)
    assert two.startswith("Two models have one pair, so that tau is either 1 (same order) or −1 (swapped)")
    (five,) = order_notes(5)
    assert five.startswith("5 models have 10 pairs, so that tau moves in steps of 0.20.")
    assert order_notes(10) == []
