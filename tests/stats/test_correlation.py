"""Correlations: equality with scipy, invariances, coverage of intervals and validity of tests."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from goldrank import stats
from goldrank.errors import InputError

SCIPY = {
    "pearson": scipy_stats.pearsonr,
    "spearman": scipy_stats.spearmanr,
    "kendall": scipy_stats.kendalltau,
}
# Values on a grid produce ties.
pairs = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), min_size=3, max_size=40)


def columns(rows):
    x, y = np.array(rows, dtype=float).T
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    return x, y


def sample(n, rho=0.5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n)


def permutation_p(x, y, kind, **options):
    return stats.permutation_p_values(x[:, None], y[:, None], kind, **options)[0, 0]


@pytest.mark.oracle
@pytest.mark.parametrize("kind", stats.CORRELATIONS)
@given(pairs)
def test_every_correlation_is_scipys(kind, rows):
    x, y = columns(rows)
    assert stats.correlation(x, y, kind) == pytest.approx(SCIPY[kind](x, y).statistic, abs=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", stats.CORRELATIONS)
@pytest.mark.parametrize("n", [299, 301, 1500])
def test_every_correlation_is_scipys_on_many_pairs_with_a_large_offset(kind, n):
    x, y = sample(n)
    assert stats.correlation(x + 1e6, y, kind) == pytest.approx(SCIPY[kind](x + 1e6, y).statistic, abs=1e-12)


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
@given(pairs, st.randoms())
def test_the_order_of_the_pairs_and_of_the_two_sides_does_not_matter(kind, rows, random):
    x, y = columns(rows)
    shuffled = list(rows)
    random.shuffle(shuffled)
    first, second = columns(shuffled)
    assert stats.correlation(first, second, kind) == pytest.approx(stats.correlation(x, y, kind), abs=1e-12)
    assert stats.correlation(y, x, kind) == pytest.approx(stats.correlation(x, y, kind), abs=1e-12)


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
@given(pairs, st.floats(0.01, 100), st.floats(-100, 100))
def test_scale_and_offset_do_not_matter_and_a_negative_scale_turns_the_sign(kind, rows, scale, offset):
    x, y = columns(rows)
    expected = stats.correlation(x, y, kind)
    assert stats.correlation(scale * x + offset, y, kind) == pytest.approx(expected, abs=1e-9)
    assert stats.correlation(-scale * x + offset, y, kind) == pytest.approx(-expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@given(pairs)
def test_a_monotone_map_does_not_change_a_rank_correlation(kind, rows):
    x, y = columns(rows)
    assert stats.correlation(np.exp(x / 10), y**3, kind) == stats.correlation(x, y, kind)


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_a_constant_side_or_too_few_pairs_have_no_correlation(kind):
    for x, y in (([1, 1, 1], [1, 2, 3]), ([1], [2]), ([], [])):
        assert math.isnan(stats.correlation(x, y, kind))
        assert stats.correlation_interval(x, y, kind).method == "undefined"
    assert math.isnan(permutation_p(np.ones(3), np.arange(3.0), kind))


@pytest.mark.oracle
@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_a_resample_correlates_as_if_its_rows_were_written_out(kind):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 6, (15, 3)).astype(float), rng.normal(size=(15, 2))
    counts = rng.multinomial(15, [1 / 15] * 15, size=40).T
    result = stats.weighted_correlations(x, y, counts, kind)
    for number, column in enumerate(counts.T):
        rows = np.repeat(np.arange(15), column)
        for i in range(3):
            for d in range(2):
                expected = SCIPY[kind](x[rows, i], y[rows, d]).statistic
                assert result[number, i, d] == pytest.approx(expected, abs=1e-12)


def test_kendall_by_pairs_and_by_sorting_agree(monkeypatch):
    from goldrank.stats import correlated_resamples

    x, y = (column.round(1)[:, None] for column in sample(40))
    by_pairs = stats.bootstrap_correlations(x, y, "kendall", resamples=50)
    p = stats.permutation_p_values(x, y, "kendall", resamples=200)
    monkeypatch.setattr(correlated_resamples, "_PAIRWISE_LIMIT", 10)
    assert stats.bootstrap_correlations(x, y, "kendall", resamples=50) == pytest.approx(by_pairs, abs=1e-12)
    assert stats.permutation_p_values(x, y, "kendall", resamples=200) == pytest.approx(p)


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_a_resample_of_one_value_is_undefined_and_left_out_of_the_interval(kind):
    x, y = np.array([[1.0], [1.1], [3.0]]), np.array([[2.0], [1.0], [5.0]])
    counts = np.array([[3, 1], [0, 1], [0, 1]])
    result = stats.weighted_correlations(x, y, counts, kind).ravel()
    assert math.isnan(result[0])
    assert not math.isnan(result[1])
    interval = stats.correlation_interval([1, 1.1, 3], [2, 1, 5], kind, method="bootstrap", resamples=200)
    assert -1 <= interval.low <= interval.high <= 1


def test_families_are_drawn_whole_and_absent_rows_are_left_out():
    x, y = (column[:, None] for column in sample(12))
    clusters = np.repeat(np.arange(6), 2)
    doubled = stats.bootstrap_correlations(x[::2].repeat(2, 0), y[::2].repeat(2, 0), "pearson", resamples=50,
                                           clusters=clusters)  # fmt: skip
    single = stats.bootstrap_correlations(x[::2], y[::2], "pearson", resamples=50)
    assert doubled == pytest.approx(single, abs=1e-12, nan_ok=True)
    present = np.arange(12) < 8
    x[8:] = 1e6
    result = stats.bootstrap_correlations(x, y, "spearman", resamples=50, rows=present)
    counts = np.concatenate([c.copy() for c in stats.resampling.count_chunks(12, resamples=50)], axis=1)
    again = stats.weighted_correlations(x[:8], y[:8], counts[:8], "spearman")
    assert result == pytest.approx(again, nan_ok=True)


@pytest.mark.oracle
def test_fishers_interval_of_pearson_is_scipys():
    x, y = sample(40)
    theirs = scipy_stats.pearsonr(x, y).confidence_interval(0.9)
    interval = stats.correlation_interval(x, y, "pearson", level=0.9)
    assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_fishers_intervals_of_ranks_have_the_variances_of_bonett_and_wright(kind):
    x, y = sample(40)
    observed, interval = stats.correlation(x, y, kind), stats.correlation_interval(x, y, kind)
    low, high = math.atanh(interval.low), math.atanh(interval.high)
    variance = (1 + observed**2 / 2) / 37 if kind == "spearman" else 0.437 / 36
    assert (low + high) / 2 == pytest.approx(math.atanh(observed))
    assert ((high - low) / 2 / 1.959964) ** 2 == pytest.approx(variance, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fisher", "bootstrap"])
@pytest.mark.parametrize(("kind", "true"), [("pearson", 0.5), ("spearman", 0.4826), ("kendall", 1 / 3)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(kind, true, method):
    # 6 / π · asin(0.5 / 2) and 2 / π · asin(0.5) are the rank correlations of a normal pair with rho 0.5.
    covered = 0
    for seed in range(300):
        interval = stats.correlation_interval(*sample(40, seed=seed), kind, method=method, resamples=400)
        covered += interval.low <= true <= interval.high
    assert 0.90 <= covered / 300 <= 0.98


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_the_bootstrap_is_the_same_for_the_same_seed_and_follows_the_order_of_values(kind):
    x, y = sample(30)
    options = {"method": "bootstrap", "resamples": 300}
    assert stats.correlation_interval(x, y, kind, **options) == stats.correlation_interval(x, y, kind, **options)
    assert stats.correlation_interval(x, y, kind, **options, seed=1) != stats.correlation_interval(
        x, y, kind, **options
    )
    wide = stats.correlation_interval(x, y, kind, **options, level=0.99)
    narrow = stats.correlation_interval(x, y, kind, **options, level=0.8)
    assert wide.low < narrow.low < stats.correlation(x, y, kind) < narrow.high < wide.high


def test_a_perfect_order_has_nothing_to_resample():
    interval = stats.correlation_interval(range(9), range(9), method="bootstrap", resamples=200)
    assert (interval.low, interval.high, interval.method) == (1, 1, "constant")
    assert stats.correlation_interval(range(9), range(9)).low == 1
    assert stats.correlation_interval([1, 2, 3], [1, 3, 2]).low == -1


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_all_permutations_of_few_pairs_are_tried(kind):
    x, y = np.array([1.0, 2, 3, 4, 5, 6]), np.array([2.0, 1, 4, 3, 6, 5])
    from itertools import permutations

    observed = abs(stats.correlation(x, y, kind))
    reached = [abs(stats.correlation(np.array(p), y, kind)) >= observed - 1e-10 for p in permutations(x)]
    assert permutation_p(x, y, kind) == pytest.approx(np.mean(reached))


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_random_permutations_come_near_the_asymptotic_p(kind):
    x, y = sample(50, rho=0.3, seed=2)
    assert permutation_p(x, y, kind) == pytest.approx(SCIPY[kind](x, y).pvalue, abs=0.01)
    assert permutation_p(np.arange(50.0), np.arange(50.0), kind) == 1 / 10_001


def test_permutation_p_values_are_uniform_without_a_relation():
    p = [permutation_p(*sample(12, rho=0, seed=seed), "spearman", resamples=199) for seed in range(300)]
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.08


def test_williams_worked_by_hand():
    # t = 0.4 · sqrt(19 · 1.6 / (2 · 19/17 · 0.12 + 0.49 · 0.064)) = 4.029297 with 17 degrees of freedom.
    p = float(stats.williams(np.array(0.9), np.array(0.5), np.array(0.6), 20))
    assert p == pytest.approx(2 * scipy_stats.t.sf(4.029297, 17), rel=1e-4)


@pytest.mark.parametrize("method", ["williams", "bootstrap"])
def test_a_comparison_holds_its_level_and_finds_what_is_there(method):
    rng = np.random.default_rng(1)
    false, true = 0, 0
    for _ in range(200):
        gold = rng.normal(size=40)
        a, b = gold + rng.normal(size=40), gold + rng.normal(size=40)
        false += stats.compare_correlations(gold, a, b, "pearson", method=method, resamples=300) < 0.05
        noisy = gold + 4 * rng.normal(size=40)
        true += stats.compare_correlations(gold, a, noisy, "pearson", method=method, resamples=300) < 0.05
    assert false / 200 <= 0.09
    assert true / 200 >= 0.6


@pytest.mark.parametrize("method", ["williams", "bootstrap"])
@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_a_comparison_is_the_same_from_both_sides_and_1_with_itself(kind, method):
    gold, a = sample(25)
    b = sample(25, seed=4)[1]
    options = {"method": method, "resamples": 200}
    forward = stats.compare_correlations(gold, a, b, kind, **options)
    assert forward == pytest.approx(stats.compare_correlations(gold, b, a, kind, **options))
    assert stats.compare_correlations(gold, a, a, kind, **options) == 1
    assert stats.compare_correlations(gold, a, 3 * a + 1, kind, **options) == 1
    assert math.isnan(stats.compare_correlations(gold, a, np.ones(25), kind, **options))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.correlation([1, 2], [1, 2, 3]), r"the shapes \(2,\) and \(3,\)"),
        (lambda: stats.correlation([1, math.nan], [1, 2]), "not a finite number"),
        (lambda: stats.correlation([1, 2], [1, 2], "spearmann"), "did you mean 'spearman'"),
        (lambda: stats.correlation_interval([1, 2], [1, 2], method="fischer"), "did you mean 'fisher'"),
        (lambda: stats.correlation_interval([1, 2], [1, 2], level=95), "not between 0 and 1"),
        (lambda: stats.compare_correlations([1, 2], [1, 2], [2, 1], method="william"), "did you mean 'williams'"),
    ],
)
def test_bad_input_is_refused_with_the_reason(call, message):
    with pytest.raises(InputError, match=message):
        call()
