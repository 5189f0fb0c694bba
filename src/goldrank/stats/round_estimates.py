"""Combine unbiased estimates of the same means from rounds, with limits that may be looked at after every round."""

from __future__ import annotations

import math

import numpy as np

from goldrank.stats.resampling import Floats

_INFORMATION = np.array([1e2, 1e3, 1e4, 1e5])
"""The limits are narrow where the inverse variance is about one of these: standard errors from 0.1 to 0.003."""
_BISECTIONS = 50


def martingale_radius(variance: Floats, alpha: float) -> Floats:
    """Return the height that a sum of errors reaches at any time with probability at most *alpha*.

    The errors have the mean 0 given those before, and *variance* is the sum of their variances so far. For normal
    errors, exp(λS − λ²V/2) is a martingale for every λ. Its mean over positive λ from half-normal distributions, one
    for each of `_INFORMATION`, is one too, and by Ville's inequality it reaches 1/α with probability at most α [1]_.
    For other errors this holds in the limit of many small ones [2]_.

    Args:
        variance: The sums of variances.
        alpha: The probability, on this side.

    References:
        .. [1] S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence
           sequences", Annals of Statistics 49 (2021), 1055-1080.
        .. [2] I. Waudby-Smith, D. Arbour, R. Sinha, E. Kennedy, A. Ramdas, "Time-uniform central limit theory and
           asymptotic confidence sequences", Annals of Statistics 52 (2024), 2613-2640.

    >>> martingale_radius(np.array([100.0, 10000.0]), 0.05).round(1)
    array([ 39.8, 306.1])
    """
    from scipy.special import log_ndtr, logsumexp

    total = np.asarray(variance, np.float64)[..., None] + _INFORMATION
    shrinkage = 0.5 * np.log(_INFORMATION / total)
    goal = math.log(len(_INFORMATION) / alpha)
    low = np.zeros(total.shape[:-1])
    high: Floats = np.sqrt(2 * total * (goal - shrinkage)).min(axis=-1)
    for _ in range(_BISECTIONS):
        height = (low + high) / 2
        s = height[..., None]
        reached = logsumexp(math.log(2) + shrinkage + s**2 / (2 * total) + log_ndtr(s / np.sqrt(total)), axis=-1) > goal
        low, high = np.where(reached, low, height), np.where(reached, height, high)
    return high


class RoundEstimates:
    """Estimates of the same means from rounds, each unbiased given the rounds before.

    >>> estimates = RoundEstimates(1)
    >>> for value in (0.30, 0.28, 0.31):
    ...     estimates.add(np.array([value]), np.array([0.001]), np.array([0.001]))
    >>> estimates.mean.round(3), [limit.round(2) for limit in estimates.limits(0.025)]
    (array([0.297]), [array([0.24]), array([0.36])])
    """

    def __init__(self, means: int) -> None:
        self._means = means
        self._rounds: list[Floats] = []

    def __len__(self) -> int:
        return len(self._rounds)

    def add(self, values: Floats, expected_variance: Floats, variance: Floats) -> None:
        """Add a round.

        Args:
            values: (means,) the estimates of this round.
            expected_variance: (means,) their variance as expected before the round, whose inverse is their weight.
            variance: (means,) their variance as estimated after it.
        """
        weight = 1 / expected_variance
        self._rounds.append(np.stack([weight, weight * values, weight**2 * variance]))

    @property
    def sums(self) -> Floats:
        """The sums of weights, weighted values and their variances after each round, as (3, rounds, means).

        The variances of few rounds may be estimated as far too small, so that their sum is at least the expected one.
        """
        sums: Floats = np.cumsum(np.reshape(self._rounds, (-1, 3, self._means)), axis=0).swapaxes(0, 1)
        sums[2] = np.maximum(sums[2], sums[0])  # the expected variance of a value times its weight is its weight
        return sums

    @property
    def mean(self) -> Floats:
        """The weighted means of all rounds; NaN without any."""
        if not self._rounds:
            return np.full(self._means, math.nan)
        weights, total, _ = self.sums[:, -1]
        mean: Floats = total / weights
        return mean

    @property
    def variance(self) -> Floats:
        """The estimated variances of the weighted means; infinite without any."""
        if not self._rounds:
            return np.full(self._means, math.inf)
        weights, _, variance = self.sums[:, -1]
        result: Floats = variance / weights**2
        return result

    def limits(self, alpha: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits; each is ever wrong with probability at most *alpha*, at any of many looks."""
        weights, total, variance = self.sums
        radius = martingale_radius(variance, alpha)
        low, high = (total - radius) / weights, (total + radius) / weights
        return low.max(axis=0, initial=-1.0), high.min(axis=0, initial=1.0)
