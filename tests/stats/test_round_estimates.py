"""Test limits of combined rounds: equality with the formula, and the share of streams with any wrong limit."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import halfnorm

from goldrank.stats.round_estimates import RoundEstimates, martingale_radius


@pytest.mark.parametrize("variance", [30.0, 1e3, 2e5])
@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_the_mixture_reaches_one_over_alpha_at_the_radius(variance, alpha):
    radius = float(martingale_radius(np.array([variance]), alpha)[0])
    capital = np.mean(
        [
            quad(
                lambda x, scale=scale: (
                    np.exp(x * radius - x**2 * variance / 2) * halfnorm.pdf(x, scale=1 / np.sqrt(scale))
                ),
                0,
                np.inf,
                points=None,
                limit=500,
            )[0]
            for scale in (1e2, 1e3, 1e4, 1e5)
        ]
    )
    assert capital == pytest.approx(1 / alpha, rel=1e-4)


def test_limits_are_rarely_wrong_at_any_of_many_looks():
    """The errors are skewed and the weights vary; each limit may be wrong in 5% of the streams."""
    rng = np.random.default_rng(0)
    streams, rounds, truth = 2000, 60, 0.1
    estimates = RoundEstimates(streams)
    for _ in range(rounds):
        spread = 0.05 * rng.uniform(0.5, 2, streams)
        errors = (rng.gamma(4, 1, streams) - 4) / 2  # with the mean 0 and the variance 1
        estimates.add(truth + spread * errors, spread**2, spread**2)
    low, high = estimates.limits(0.05)
    for wrong in ((low > truth).mean(), (high < truth).mean()):
        assert 0 < wrong < 0.05
    assert (estimates.mean - truth).std() == pytest.approx(float(np.sqrt(estimates.variance.mean())), rel=0.05)
    assert (high - low).mean() < 0.06


def test_limits_only_get_narrower():
    estimates = RoundEstimates(1)
    assert (estimates.limits(0.05)[0][0], estimates.limits(0.05)[1][0]) == (-1.0, 1.0)
    assert np.isnan(estimates.mean[0])
    limits = []
    for value in (0.5, -0.5, 0.5, 0.4):
        estimates.add(np.array([value]), np.array([0.01]), np.array([0.01]))
        limits.append([float(limit[0]) for limit in estimates.limits(0.05)])
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(limits))


def test_rounds_with_a_small_expected_variance_count_more():
    estimates = RoundEstimates(1)
    estimates.add(np.array([0.2]), np.array([0.01]), np.array([0.01]))
    estimates.add(np.array([0.5]), np.array([0.03]), np.array([0.03]))
    assert estimates.mean[0] == pytest.approx((0.2 * 3 + 0.5) / 4)
    assert estimates.variance[0] == pytest.approx(0.01 * 9 / 16 + 0.03 / 16)
    assert len(estimates) == 2


def test_the_variance_of_all_rounds_is_at_least_the_expected_one():
    estimates = RoundEstimates(2)
    for variance in (0.0, 0.03):
        estimates.add(np.zeros(2), np.full(2, 0.01), np.array([0.0, variance]))
    assert estimates.variance == pytest.approx([0.01 / 2, 0.03 / 4])
