"""Paired tests: agreement with oracles, and symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from goldrank import native, stats
from goldrank.errors import InputError
from goldrank.native.fallback import resampling as fallback
from profiles import examples

differences = st.lists(st.floats(-1, 1), min_size=0, max_size=9).map(np.array)
# Sums of tenths that are equal in arithmetic may differ in floating point.
tenths = st.lists(st.integers(-4, 4).map(lambda k: k / 10), min_size=1, max_size=10).map(np.array)


@pytest.mark.oracle
@examples(0.25)
@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8).map(lambda v: np.array(v, dtype=float)))
def test_the_exact_randomisation_test_is_scipys(d):
    theirs = scipy_stats.permutation_test(
        (d, np.zeros(len(d))),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="two-sided",
    )
    # scipy doubles the smaller tail; the law is symmetric, so the two agree unless the mean is 0.
    assert stats.randomisation_test(d).p == pytest.approx(min(theirs.pvalue, 1.0))


def test_enumeration_finds_all_patterns_of_a_worked_example():
    # |±1 ±2 ±3| ≥ 4: 6, 4 and their mirror images, of 8 patterns.
    assert stats.randomisation_test(np.array([1.0, -0.0, 3.0, 0.0])).p == 0.5
    assert stats.randomisation_test(np.array([-1.0, 2.0, 3.0])).p == 0.5
    assert stats.randomisation_test(np.array([1.0, 2.0, 3.0])).p == 0.25


@given(tenths)
def test_equal_sums_count_as_equal_despite_rounding(d):
    whole = np.rint(d * 10)
    assert stats.randomisation_test(d).p == stats.randomisation_test(whole).p


@given(differences, st.randoms())
def test_the_randomisation_p_ignores_the_order_of_queries_and_of_systems(d, random):
    shuffled = np.array(random.sample(list(d), len(d)))
    p = stats.randomisation_test(d).p
    assert 0 < p <= 1
    assert stats.randomisation_test(shuffled).p == p
    assert stats.randomisation_test(-d).p == p
    assert stats.randomisation_test(np.append(d, [0.0, 0.0])).p == p


def test_the_sampled_p_ignores_the_order_of_queries_and_of_systems():
    rng = np.random.default_rng(0)
    d = rng.normal(0.2, 1, 100)
    p = stats.randomisation_test(d, resamples=5000).p
    assert stats.randomisation_test(rng.permutation(-d), resamples=5000).p == p
    assert stats.randomisation_test(d * 1e-200, resamples=5000).p == p


@pytest.mark.parametrize("n", [21, 33, 48, 57])
def test_the_sampled_p_estimates_the_exact_one(n):
    """Equal differences make the exact law binomial: the sum of n signs."""
    wins = n // 2 + 6
    d = np.repeat([0.1, -0.1], [wins, n - wins])
    exact = scipy_stats.binomtest(wins, n).pvalue
    sampled = stats.randomisation_test(d, resamples=100_000, seed=n).p
    assert abs(sampled - exact) < 4 * math.sqrt(exact * (1 - exact) / 100_000) + 1e-5


def test_enumeration_and_sampling_agree_at_their_border():
    d = np.random.default_rng(1).normal(0.3, 1, 20)
    exact = stats.randomisation_test(d)
    # A difference too small to matter tips the count of non-zero differences over the limit.
    sampled = stats.randomisation_test(np.append(d, 1e-9))
    assert "all patterns" in exact.method
    assert "100000 random patterns" in sampled.method
    assert abs(exact.p - sampled.p) < 4 * math.sqrt(exact.p / 100_000)


@pytest.mark.oracle
def count_by_definition(d: np.ndarray, resamples: int, seed: int) -> int:
    """Count the sums with random signs that are at least as far from 0 as that of d, adding up each sum separately."""
    sizes = np.sort(np.abs(d[d != 0]))
    bits, signs = np.random.SFC64(seed), []
    for start in range(0, len(sizes), 16):
        words = np.asarray(bits.random_raw(-(-resamples // 4)), "<u8").view("<u2")[:resamples]
        width = min(16, len(sizes) - start)
        signs.append((words[:, None] >> np.arange(16 - width, 16)) & 1)
    sums = np.where(np.concatenate(signs, axis=1) == 1, sizes, -sizes).sum(axis=1)
    return int((np.abs(sums) >= abs(math.fsum(d)) - 1e-10 * math.fsum(sizes)).sum())


@pytest.mark.parametrize("compiled", [True, False])
def test_the_sampled_p_is_that_of_the_definition_also_for_many_tests_at_once(compiled, monkeypatch):
    if not compiled:
        for name in ("draw_bit_counts", "add_weighted_sums", "add_signed_sums"):
            monkeypatch.setattr(native, name, getattr(fallback, name))
    rng = np.random.default_rng(12)
    columns = []
    for n in (45, 64, 511, 513, 900):
        normal = rng.normal(0.05, 1, n)
        columns += [
            normal,
            normal - normal.mean(),  # no sum is nearer to 0
            rng.choice([-1.0, 0.0, 1.0], n),  # sums that equal the observed one
            np.append(rng.choice([-1, -0.5, 0.0, 0.5, 1], n), np.ones(21)),
            1 / rng.integers(1, 11, n) - 1 / rng.integers(1, 11, n),
            rng.standard_cauchy(n),  # one size is nearly the total
            np.append(rng.normal(0, 1e-9, n), 1.0),
            1e300 * rng.random(n),
        ]
    for resamples in (1, 401):
        expected = [(1 + count_by_definition(d, resamples, 5)) / (1 + resamples) for d in columns]
        assert [result.p for result in stats.randomisation_tests(columns, resamples=resamples, seed=5)] == expected
    assert [stats.randomisation_test(d, resamples=401, seed=5).p for d in columns] == expected


def test_on_many_normal_differences_the_randomisation_p_is_near_the_t_tests():
    d = np.random.default_rng(2).normal(0.03, 1, 5000)
    assert stats.randomisation_test(d).p == pytest.approx(stats.t_test(d).p, rel=0.1)


def test_under_the_hypothesis_p_is_uniform():
    rng = np.random.default_rng(3)
    p = np.array([stats.randomisation_test(rng.normal(size=30), resamples=400, seed=s).p for s in range(400)])
    assert scipy_stats.kstest(p, "uniform").pvalue > 1e-3


def test_p_is_never_zero():
    d = np.full(1000, 1.0)
    assert stats.randomisation_test(d, resamples=99).p == 1 / 100
    assert stats.randomisation_test(d[:20]).p == 2 / 2**20


def test_the_sampled_test_is_deterministic_and_seeded():
    d = np.random.default_rng(4).normal(size=50)
    assert stats.randomisation_test(d) == stats.randomisation_test(d)
    assert stats.randomisation_test(d).p != stats.randomisation_test(d, seed=1).p


@pytest.mark.parametrize("d", [[], [0.0], [0.0] * 50])
def test_no_difference_at_all_gives_one(d):
    d = np.array(d)
    result = stats.randomisation_test(d)
    assert (result.statistic, result.p) == (0.0, 1.0)
    assert stats.wilcoxon(d).p == 1
    assert stats.mcnemar(d, d).p == 1
    assert stats.t_test(d).p == 1 or len(d) < 2


def test_one_difference_cannot_be_significant():
    assert stats.randomisation_test(np.array([0.7])).p == 1
    assert math.isnan(stats.t_test(np.array([0.7])).p)
    assert stats.wilcoxon(np.array([0.7])).p == 1


@pytest.mark.oracle
@examples(0.5)
@given(st.integers(2, 200), st.integers(0, 10**6))
def test_t_is_scipys(n, seed):
    a, b = np.random.default_rng(seed).random((2, n))
    ours, theirs = stats.t_test(a - b), scipy_stats.ttest_rel(a, b)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_a_constant_difference_is_infinitely_many_errors_away():
    assert stats.t_test(np.full(5, -0.5)).statistic == -math.inf


@pytest.mark.oracle
@pytest.mark.parametrize("n", [3, 10, 40, 80, 500])
@pytest.mark.parametrize("grid", [None, 1])
def test_wilcoxon_is_scipys(n, grid):
    d = np.random.default_rng(n).normal(0.3, 1, n)
    d = d if grid is None else np.round(d, grid)
    ours, theirs = stats.wilcoxon(d), scipy_stats.wilcoxon(d)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_wilcoxon_ties_survive_rounding():
    tied = np.array([1, 1, 2, -1, 3, 1, -2, 4], dtype=float)
    assert stats.wilcoxon((10 + tied) / 10 - 1).p == stats.wilcoxon(tied).p


@pytest.mark.oracle
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5))
def test_mcnemar_is_the_binomial_test_of_the_discordant_pairs(wins, losses, ties):
    a = np.repeat([1.0, 0.0, 1.0], [wins, losses, ties])
    b = np.repeat([0.0, 1.0, 1.0], [wins, losses, ties])
    expected = scipy_stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert stats.mcnemar(a, b).p == pytest.approx(expected)
    assert stats.mcnemar(a, b).p == stats.mcnemar(b, a).p


def test_the_dispatcher_reaches_every_test():
    a = np.random.default_rng(5).integers(0, 2, 60).astype(float)
    b = np.random.default_rng(6).integers(0, 2, 60).astype(float)
    d = a - b
    expected = {
        "randomisation": stats.randomisation_test(d, seed=7),
        "t": stats.t_test(d),
        "wilcoxon": stats.wilcoxon(d),
        "mcnemar": stats.mcnemar(a, b),
    }
    assert set(expected) == set(stats.TESTS)
    assert {name: stats.paired_test(name, d, a, b, 7) for name in stats.TESTS} == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: stats.paired_test("wilcoxn", x, x, x), "did you mean 'wilcoxon'"),
        (lambda x: stats.mcnemar(x / 2, x), "McNemar's test needs values that are 0 or 1"),
        (lambda x: stats.mcnemar(x[:1], x), "differ in number: 1 and 2"),
        (lambda x: stats.randomisation_test(x * np.nan), "finite"),
        (lambda x: stats.t_test(x * np.nan), "finite"),
        (lambda x: stats.wilcoxon(x * np.inf), "finite"),
        (lambda x: stats.randomisation_test(x, resamples=0), "at least one"),
    ],
)
def test_bad_input_is_refused_with_the_reason(call, message):
    with pytest.raises(InputError, match=message):
        call(np.array([1.0, 1.0]))
