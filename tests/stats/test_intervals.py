"""Intervals: nominal coverage, agreement with scipy, and edge cases."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from goldrank.errors import InputError
from goldrank.stats import GEOMETRIC_FLOOR, Interval, Sample, aggregate, bootstrap_aggregates, intervals, wilson
from goldrank.stats.intervals import _acceleration, _ratio
from profiles import examples

finite = st.floats(-1e6, 1e6)


def interval_of(values, **options):
    sample = {k: options.pop(k) for k in ("weights", "how", "proportion") if k in options}
    [interval] = intervals([Sample(np.asarray(values, dtype=float), **sample)], **options)
    return interval


def test_aggregates_follow_their_definitions():
    v = np.array([0.2, np.nan, 0.8, 0.5])
    w = np.array([1.0, 100.0, 2.0, 1.0])
    assert aggregate(v) == pytest.approx(0.5)
    assert aggregate(v, w) == pytest.approx((0.2 + 1.6 + 0.5) / 4)
    assert aggregate(v, how="geometric") == pytest.approx(math.exp(np.log([0.2, 0.8, 0.5]).mean()))
    assert aggregate(v, how="median") == 0.5
    assert aggregate(v, how="sum") == pytest.approx(1.5)
    assert aggregate(np.array([0.0, 0.0]), how="geometric") == pytest.approx(GEOMETRIC_FLOOR)


@pytest.mark.parametrize("how", ["mean", "geometric", "median", "sum"])
@pytest.mark.parametrize("values", [[], [np.nan], [np.nan, np.nan]])
def test_an_aggregate_of_nothing_is_nan(how, values):
    assert math.isnan(aggregate(np.array(values), how=how))


def test_an_aggregate_with_no_weight_at_all_is_nan():
    assert math.isnan(aggregate(np.array([1.0, 2.0]), np.zeros(2)))


@given(st.lists(finite, min_size=1, max_size=30), st.randoms())
def test_the_order_of_the_queries_does_not_change_an_aggregate(values, random):
    shuffled = random.sample(values, len(values))
    for how in ("mean", "geometric", "median", "sum"):
        assert aggregate(np.array(values), how=how) == aggregate(np.array(shuffled), how=how)


@given(st.lists(st.tuples(finite, st.integers(0, 5)), min_size=1, max_size=20))
def test_an_integer_weight_is_a_repetition(pairs):
    values, weights = np.array(pairs).T
    repeated = aggregate(np.repeat(values, weights.astype(int)))
    assert aggregate(values, weights) == pytest.approx(repeated, rel=1e-12, abs=1e-9, nan_ok=True)


def test_bca_covers_as_often_as_it_says_on_skewed_values():
    """400 samples of 50 exponential values, on which BCa truly covers about 93 %.

    By the binomial law 400 trials at 0.93 fall outside these bounds about once in a thousand times.
    """
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(50, 400))
    results = intervals([Sample(column) for column in samples.T], resamples=2000)
    covered = np.mean([i.low <= 1 <= i.high for i in results])
    assert 0.885 <= covered <= 0.97


def test_bca_misses_on_both_sides_more_evenly_than_the_percentile_interval():
    """On skewed values, the percentile interval misses nearly always on one side; BCa corrects this."""
    rng = np.random.default_rng(1)
    columns = [Sample(column) for column in rng.lognormal(sigma=1, size=(40, 400)).T]
    truth = math.exp(0.5)

    def imbalance(method):
        results = intervals(columns, resamples=2000, method=method)
        return sum(i.high < truth for i in results) - sum(i.low > truth for i in results)

    assert 0 < imbalance("bca") < imbalance("percentile")


@pytest.mark.oracle
@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("n", [12, 60, 400])
def test_limits_agree_with_scipy_up_to_monte_carlo_error(method, n):
    values = np.random.default_rng(n).gamma(0.5, size=n)
    ours = interval_of(values, method=method, resamples=40_000)
    theirs = scipy_stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=40_000,
        batch=2000,
        method={"bca": "BCa"}.get(method, method),
        random_state=np.random.default_rng(0),
    ).confidence_interval
    # A 2.5 % quantile of 40,000 draws has a standard error of 0.013 standard deviations; two of them, and z0.
    tolerance = 0.1 * values.std() / math.sqrt(n)
    assert ours.method == method
    assert abs(ours.low - theirs.low) < tolerance
    assert abs(ours.high - theirs.high) < tolerance


@pytest.mark.oracle
def test_weighted_limits_agree_with_scipys_on_pairs():
    rng = np.random.default_rng(2)
    values, weights = rng.gamma(0.5, size=80), rng.integers(0, 6, 80).astype(float)
    ours = interval_of(values, weights=weights, resamples=40_000)
    theirs = scipy_stats.bootstrap(
        (values, weights),
        lambda v, w, axis: (v * w).sum(axis) / w.sum(axis),
        paired=True,
        n_resamples=40_000,
        batch=2000,
        random_state=np.random.default_rng(0),
    )
    assert abs(ours.low - theirs.confidence_interval.low) < 0.1 * theirs.standard_error
    assert abs(ours.high - theirs.confidence_interval.high) < 0.1 * theirs.standard_error


@pytest.mark.oracle
def test_tied_resamples_count_half_as_in_scipy():
    """Six values on a binary grid, where scipy's sums are exact too: one mean in eleven is a tie."""
    values = np.array([0.0, 0.5, 0.5, 1.0, 4.0, 0.0])
    ours = interval_of(values, resamples=100_000)
    theirs = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=100_000, batch=10_000, random_state=np.random.default_rng(0)
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.high, abs=0.01)


def test_rounding_does_not_break_ties_between_resamples_and_estimate():
    """Tenths are not exact in binary, but their sums must tie where those of integers tie."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        values = rng.integers(0, 10, 9).astype(float)
        whole, tenths = interval_of(values, resamples=2000), interval_of(values / 10, resamples=2000)
        assert (tenths.low, tenths.high) == pytest.approx((whole.low / 10, whole.high / 10), abs=1e-9)


def test_the_acceleration_is_that_of_the_jackknife_done_one_by_one():
    rng = np.random.default_rng(12)
    values, weights = rng.gamma(0.5, size=30), rng.integers(0, 4, 30).astype(float)
    left_out = np.array([aggregate(np.delete(values, i), np.delete(weights, i)) for i in range(30)])
    pull = left_out.mean() - left_out
    expected = (pull**3).sum() / (6 * (pull**2).sum() ** 1.5)
    assert _acceleration(_ratio(values, weights)) == pytest.approx(expected)


def test_missing_values_are_the_same_as_weight_zero():
    rng = np.random.default_rng(3)
    values, missing = rng.random(40), rng.random(40) < 0.3
    holes = np.where(missing, np.nan, values)
    assert interval_of(holes) == interval_of(values, weights=(~missing).astype(float))
    assert interval_of(holes) == interval_of(holes, weights=np.where(missing, np.nan, 1.0))


def test_only_the_proportions_of_the_weights_matter():
    rng = np.random.default_rng(4)
    values, weights = rng.random(40), rng.random(40)
    assert interval_of(values, weights=weights) == interval_of(values, weights=weights * 1024)
    assert interval_of(values, weights=np.full(40, 7.0)) == interval_of(values)


@examples(0.25)
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=30), st.integers(-100, 100), st.integers(0, 6))
def test_intervals_follow_a_shift_and_a_power_of_two(values, shift, power):
    values = np.array(values, dtype=float)
    plain, moved = interval_of(values, resamples=300), interval_of(values * 2**power + shift, resamples=300)
    assert plain.method == moved.method
    assert moved.low == pytest.approx(plain.low * 2**power + shift, abs=1e-9)
    assert moved.high == pytest.approx(plain.high * 2**power + shift, abs=1e-9)


def test_a_geometric_mean_has_the_interval_of_the_mean_logarithm():
    values = np.random.default_rng(5).random(60)
    geometric, logs = interval_of(values, how="geometric"), interval_of(np.log(values))
    assert geometric.low == pytest.approx(math.exp(logs.low))
    assert geometric.high == pytest.approx(math.exp(logs.high))
    assert geometric.low < aggregate(values, how="geometric") < geometric.high


def test_a_median_gets_a_percentile_interval_and_says_so():
    values = np.random.default_rng(6).exponential(size=201)
    interval = interval_of(values, how="median")
    assert interval.method == "percentile"
    assert interval.low < np.median(values) < interval.high
    # The distribution-free interval from order statistics, which the bootstrap approximates for large n.
    low, high = scipy_stats.binom.ppf([0.025, 0.975], 201, 0.5).astype(int)
    ordered = np.sort(values)
    assert ordered[low - 4] < interval.low < ordered[low + 4]
    assert ordered[high - 4] < interval.high < ordered[high + 4]


def test_columns_do_not_influence_each_other():
    rng = np.random.default_rng(7)
    columns = [
        Sample(rng.random(30)),
        Sample(rng.random(30), weights=rng.random(30)),
        Sample(rng.random(30), how="geometric"),
        Sample(rng.random(30), how="median"),
        Sample((rng.random(30) < 0.5).astype(float), proportion=True),
        Sample(rng.random(30), how="sum"),
    ]
    assert intervals(columns) == [intervals([column])[0] for column in columns]


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, np.nan], [1.0, np.nan, np.nan]])
@pytest.mark.parametrize("proportion", [False, True])
def test_fewer_than_two_values_have_no_interval(values, proportion):
    assert interval_of(values, proportion=proportion) is None


def test_a_sum_has_no_interval():
    assert interval_of([1.0, 2.0, 3.0], how="sum") is None


@pytest.mark.parametrize("how", ["mean", "geometric", "median"])
def test_constant_values_have_a_degenerate_interval(how):
    values = np.array([0.1, np.nan, 0.1, 0.1])
    number = aggregate(values, how=how)
    assert interval_of(values, how=how) == Interval(number, number, 0.95, "constant")


def test_values_below_the_geometric_floor_are_constant():
    assert interval_of([0.0, 1e-7, 1e-6], how="geometric").method == "constant"


def test_two_values_have_an_interval_within_them():
    interval = interval_of([0.0, 1.0])
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_bca_falls_back_to_percentile_where_it_is_undefined_and_says_so():
    # Nearly all weight on the largest value: no resampled mean exceeds the estimate, the bias is infinite.
    interval = interval_of([5.0, 1.0, 1.0, 1.0], weights=[1e300, 1e-300, 0.0, 0.0])
    assert interval.method == "percentile"


def test_zero_one_values_get_wilson_only_when_they_are_a_proportion():
    values = [1.0, 1.0, 0.0, 1.0, np.nan]
    assert interval_of(values, proportion=True) == wilson(3, 4)
    assert interval_of(values).method == "bca"
    assert interval_of([1.0, 0.5, 0.0], proportion=True).method == "bca"
    assert interval_of([1.0, 1.0, 0.0], proportion=True, weights=np.ones(3)).method == "bca"
    assert interval_of([1.0] * 10, proportion=True) == wilson(10, 10)


@pytest.mark.oracle
@given(st.integers(1, 2000), st.data())
@examples(0.3)
def test_wilson_is_scipys(n, data):
    k = data.draw(st.integers(0, n))
    ours = wilson(k, n, level=0.9)
    theirs = scipy_stats.binomtest(k, n).proportion_ci(0.9, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= ours.low <= k / n <= ours.high <= 1


def test_a_higher_level_is_wider():
    values = np.random.default_rng(8).random(50)
    narrow, wide = interval_of(values, level=0.8), interval_of(values, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_the_same_seed_gives_the_same_interval_and_another_does_not():
    values = np.random.default_rng(9).random(50)
    assert interval_of(values) == interval_of(values) != interval_of(values, seed=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interval_of([1.0, 2.0], method="bac"), "did you mean 'bca'"),
        (lambda: interval_of([1.0, 2.0], level=95), "level 95"),
        (lambda: interval_of([1.0, np.inf]), "infinite"),
        (lambda: interval_of([1.0, 2.0], how="avg"), "no aggregate 'avg'"),
        (lambda: interval_of([1.0, 2.0], weights=[1.0, -1.0]), "weight"),
        (lambda: interval_of([1.0, 2.0], weights=[1.0, np.nan]), "weight"),
        (lambda: interval_of([1.0, 2.0], weights=[1.0]), "1 weights for 2 queries"),
        (lambda: aggregate(np.ones(2), np.ones(2), "median"), "median does not take weights"),
        (lambda: intervals([Sample(np.ones(2)), Sample(np.ones(3))]), "different numbers of queries"),
        (lambda: wilson(3, 2), "3 successes in 2"),
        (lambda: wilson(0, 0), "0 successes in 0"),
    ],
)
def test_bad_input_is_refused_with_the_reason(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.oracle
def test_intervals_take_a_small_share_of_scipys_time():
    """A benchmark tests the documented speed (20 times, 7,000 × 5 × 10,000); this tests the order of magnitude."""
    columns = np.random.default_rng(10).random((5, 7000))
    start = time.process_time()
    intervals([Sample(column) for column in columns], resamples=1000)
    ours = time.process_time() - start
    start = time.process_time()
    for column in columns:
        scipy_stats.bootstrap((column,), np.mean, n_resamples=1000, batch=100, vectorized=True, method="percentile")
    assert time.process_time() - start > 5 * ours


def test_columns_resampled_together_share_their_resamples_and_follow_their_aggregates():
    values = np.array([0.2, 0.4, np.nan, 0.9, 0.5])
    weights = np.array([1.0, 3.0, 1.0, 2.0, 1.0])
    samples = [
        Sample(values),
        Sample(values + 1),
        Sample(values, weights),
        Sample(values, how="median"),
        Sample(values, how="geometric"),
        Sample(values, how="sum"),
        Sample(np.full(5, np.nan)),
    ]
    replicates = bootstrap_aggregates(samples, resamples=4000)
    # A resample that contains only the query without a value is undefined.
    np.testing.assert_allclose((replicates[:, 1] - replicates[:, 0])[~np.isnan(replicates[:, 0])], 1)
    assert np.isnan(replicates[:, 6]).all()
    # All aggregates use the same resamples: a resample of one value only has that value in every column.
    single = np.abs(replicates[:, 0] - 0.9) < 1e-12
    assert single.any()
    np.testing.assert_allclose(replicates[single][:, 2:5], 0.9)
    for at, sample in enumerate(samples[:6]):
        defined = replicates[:, at][~np.isnan(replicates[:, at])]
        assert defined.mean() == pytest.approx(aggregate(sample.values, sample.weights, sample.how), abs=0.08)
    with pytest.raises(InputError, match="an area under the abstention curve cannot be resampled beside others"):
        bootstrap_aggregates([Sample(values, weights, "nauc")])
