"""Means over tasks: the t test of two models, coverage of rank intervals in simulations, and Bradley-Terry."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import rankdata

from goldrank.errors import InputError
from goldrank.stats.mean_ranks import TaskSample, bradley_terry, compare_means, mean_intervals


def sampled(values, resamples=400, seed=0):
    """Return the sample of (queries, models) values."""
    n = len(values)
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    return TaskSample(values.mean(axis=0), counts @ values / n, n)


def of_tasks(values):
    return [TaskSample(row, np.zeros((0, len(row))), 0) for row in np.asarray(values, float)]


def test_two_models_over_tasks_are_compared_by_the_paired_t_test():
    values = np.random.default_rng(1).normal(size=(7, 2))
    result, peer = compare_means(of_tasks(values), resample_tasks=True), stats.ttest_rel(*values.T)
    assert result.adjusted[0, 1] == pytest.approx(peer.pvalue)
    assert (result.low[0, 1], result.high[0, 1]) == pytest.approx(peer.confidence_interval())


def test_two_models_over_the_queries_of_one_task_are_nearly_compared_by_the_paired_t_test():
    values = np.random.default_rng(2).normal(size=(40, 2))
    result, peer = compare_means([sampled(values, 20_000)]), stats.ttest_rel(*values.T)
    assert result.adjusted[0, 1] == pytest.approx(peer.pvalue, rel=0.05)
    mean = stats.ttest_1samp(values[:, 0], 0).confidence_interval()
    assert (result.intervals[0].low, result.intervals[0].high) == pytest.approx(mean, abs=0.01)


def test_every_task_counts_the_same():
    random = np.random.default_rng(3)
    small, large = random.random((5, 3)), random.random((500, 3))
    result = compare_means([sampled(small), sampled(large)])
    assert result.means == pytest.approx((small.mean(axis=0) + large.mean(axis=0)) / 2)


def test_ranks_tests_and_intervals_of_differences_agree():
    random = np.random.default_rng(4)
    for _ in range(20):
        strengths = random.choice([0.0, 0.1, 0.4], size=6)
        result = compare_means([sampled(strengths + random.normal(0, 0.5, (25, 6))) for _ in range(3)])
        better = (result.adjusted <= 0.05) & (result.means[:, None] > result.means)
        assert (better == (result.low > 0)).all()
        assert result.best_ranks.tolist() == (1 + better.sum(axis=0)).tolist()
        assert result.worst_ranks.tolist() == (6 - better.sum(axis=1)).tolist()
        observed = rankdata(-result.means)
        assert ((result.best_ranks <= observed) & (observed <= result.worst_ranks)).all()


def test_equal_models_and_constant_differences_need_no_standard_error():
    values = np.random.default_rng(5).random((4, 1)) + np.array([0.0, 0.0, 0.5])
    result = compare_means([sampled(values)])
    assert result.adjusted[0, 1] == 1.0
    assert result.adjusted[0, 2] == 3 * 2.0**-3  # the sign test of four queries, for three pairs
    assert np.isnan(result.low[0, 2])
    many = compare_means([sampled(np.tile(values, (5, 1)))])
    assert many.best_ranks.tolist() == [2, 2, 1]


def test_too_few_tasks_or_queries_are_refused():
    with pytest.raises(InputError, match="tasks cannot be resampled if there are 2"):
        compare_means(of_tasks([[1, 2], [2, 3]]), resample_tasks=True)
    with pytest.raises(InputError, match="a task has 1 values"):
        compare_means([sampled(np.array([[0.1, 0.2]]))])


def test_strengths_give_the_win_rates_back_and_follow_their_order():
    rates = np.array([0.9, 0.55, 0.45, 0.1])
    fitted = bradley_terry(rates, 100)
    chances = 1 / (1 + np.exp(fitted.strengths - fitted.strengths[:, None]))
    assert (chances.sum(axis=1) - 0.5) / 3 == pytest.approx(rates)
    assert fitted.strengths.sum() == pytest.approx(0)
    assert not fitted.regularised
    moved = bradley_terry(rates + 1e-6 * np.array([1, -1, 0, 0]), 100).strengths - fitted.strengths
    assert fitted.derivative @ np.array([1, -1, 0, 0]) == pytest.approx(moved / 1e-6, rel=1e-3)


@pytest.mark.parametrize("rates", [[1.0, 0.25, 0.25], [0.75, 0.75, 0.0], [1.0, 0.5, 0.0]])
def test_models_that_win_everything_have_finite_strengths_that_say_so(rates):
    fitted = bradley_terry(np.array(rates), 50)
    assert fitted.regularised
    assert np.isfinite(fitted.strengths).all()
    assert (np.diff(fitted.strengths)[np.diff(rates) < 0] < 0).all()


def simulate(truth, sizes, draw, repetitions=500, *, resample_tasks=False, seed=0):
    """Return how often all rank intervals contain the true ranks, and how often naive percentiles of ranks do."""
    random, models = np.random.default_rng(seed), len(truth)
    best = 1 + (truth[:, None] < truth).sum(axis=1)
    worst = models - (truth[:, None] > truth).sum(axis=1)
    covered = means = naive = 0
    for _ in range(repetitions):
        samples = [sampled(draw(random, truth, n), 400, int(random.integers(2**31))) for n in sizes]
        result = compare_means(samples, resample_tasks=resample_tasks)
        covered += bool(((result.best_ranks <= best) & (result.worst_ranks >= worst)).all())
        means += (
            sum(interval.low <= value <= interval.high for interval, value in zip(result.intervals, truth, strict=True))
            / models
        )
        ranks = rankdata(-np.mean([sample.replicates for sample in samples], axis=0), axis=1)
        low, high = np.percentile(ranks, [2.5, 97.5], axis=0)
        naive += float(((low <= best) & (high >= worst)).mean())
    return covered / repetitions, means / repetitions, naive / repetitions


def normal(random, truth, n):
    scale = np.linspace(0.5, 1.5, len(truth))
    return truth + 0.2 * random.normal(size=(n, 1)) + 0.15 * scale * random.normal(size=(n, len(truth)))


def with_task_effects(random, truth, n):
    return normal(random, truth + random.normal(0, 0.05, len(truth)), n)


def reciprocal_ranks(random, truth, n):
    rate = np.exp(0.8 * (random.normal(size=(n, 1)) + random.normal(size=(n, len(truth)))) - 6 * (truth - 0.5))
    return 1 / (1 + random.poisson(rate))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "sizes", "draw", "by_tasks"),
    [
        (np.full(8, 0.5), [10, 10, 10], normal, False),
        (np.full(8, 0.5), [30, 20, 50], reciprocal_ranks, False),
        (0.5 + 0.002 * np.arange(8), [30, 20, 50], normal, False),
        (np.array([0.5, 0.5, 0.5, 0.53, 0.53, 0.6]), [40, 40], normal, False),
        (np.full(6, 0.5), [20] * 5, with_task_effects, True),
        (0.5 + 0.02 * np.arange(6), [20] * 12, with_task_effects, True),
    ],
    ids=["equal", "equal reciprocal ranks", "close order", "groups", "equal over 5 tasks", "order over 12 tasks"],
)
def test_rank_intervals_contain_the_true_ranks_together_in_94_of_100_simulations(truth, sizes, draw, by_tasks):
    covered, means, naive = simulate(truth, sizes, draw, resample_tasks=by_tasks)
    # Where models are equal, this is one less the type I error.
    assert covered >= 0.94
    if draw is not reciprocal_ranks:
        assert means == pytest.approx(0.95, abs=0.025)
    if 0 < np.ptp(truth) < 0.02:
        assert naive < 0.92  # percentiles of resampled ranks, although each is taken by itself


@pytest.mark.slow
def test_models_that_differ_clearly_are_separated():
    random, truth = np.random.default_rng(7), 0.5 + 0.06 * np.arange(5)
    results = [compare_means([sampled(normal(random, truth, 200)) for _ in range(3)]) for _ in range(100)]
    exact = [(result.best_ranks == result.worst_ranks).mean() for result in results]
    assert np.mean(exact) > 0.9


def test_win_rates_have_intervals_by_the_delta_method():
    samples = [sampled(np.random.default_rng(8).random((50, 3)))]
    doubled = mean_intervals(samples, derivative=2 * np.eye(3), centre=np.zeros(3))
    plain = mean_intervals(samples)
    assert [interval.high for interval in doubled] == pytest.approx(
        [interval.high - interval.low for interval in plain]
    )
