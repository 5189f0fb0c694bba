"""Sequential tests of a mean that stay valid however often the data are looked at, and their confidence sequences."""

from __future__ import annotations

import math

import numpy as np

from goldrank.errors import InputError
from goldrank.stats.intervals import Interval, check_level
from goldrank.stats.resampling import Floats

_CAP = 0.95
"""The largest share of the capital that one observation can lose."""
_PRIOR = 0.25
"""The sum of squares before the first observation, so that the variance is never 0."""
_GRID, _ROUNDS = 65, 4
"""Means that are tested at once for a limit, and how often the gap between two of them is searched again."""


def log_capital(y: Floats, lowest: Floats | float, *, planned: int, alpha: float) -> Floats:
    """Return the logarithm of the largest capital that bets against E[y] ≤ 0 have reached in each stream.

    A gambler begins with the capital 1 and stakes a part of it on each observation: W_t = W_{t-1}·(1 + λ_t·y_t), where
    λ_t ≥ 0 depends on the earlier observations only and is so small that W_t stays positive. If the mean of y given
    the past is at most 0, W is a supermartingale, and by Ville's inequality it ever reaches 1/α with probability at
    most α, whatever the distribution and however many looks [1]_ [2]_. So min(1, 1/capital) is a p-value at any time.

    The stakes decide the power only. They aim at the capital 1/α before the planned end, as those that replicate an
    option which pays 1/α when the sum of y, a Brownian motion in the limit, reaches a barrier (compare [3]_). With
    p = α·W, its probability of doing so by chance, and z = Φ⁻¹(1 − p/2), they are λ = 2φ(z) / (p·σ·√(planned − t)).

    Args:
        y: (…, n) observations in their order; each row is a stream.
        lowest: The smallest value that y can take, below 0; one number or one for each stream.
        planned: The number of observations at which betting ends; fixed before the first one is seen.
        alpha: The level at which the test is going to be decided.

    References:
        .. [1] J. Ville, Étude critique de la notion de collectif (1939).
        .. [2] I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024),
           1-27.
        .. [3] S. Browne, "Reaching goals by a deadline: digital options and continuous-time active portfolio
           management", Advances in Applied Probability 31 (1999), 551-577.

    >>> gains, ties = np.full(200, 0.1), np.zeros(200)
    >>> [bool(reached) for reached in log_capital(np.stack([gains, ties]), -1.0, planned=200, alpha=0.05) > np.log(20)]
    [True, False]
    """
    y = np.asarray(y, dtype=np.float64)
    if y.shape[-1] > planned:
        what = f"there are {y.shape[-1]} queries, and {planned} were planned"
        raise InputError(what, remedy="plan as many before the first look")
    bets = Bets(y.shape[:-1], planned=planned, alpha=alpha)
    for t in range(y.shape[-1]):
        bets.observe(y[..., t], lowest)
    return bets.largest


class Bets:
    """Bets of `log_capital`, one observation after another; each may have another lowest value.

    >>> bets = Bets((), planned=200, alpha=0.05)
    >>> for _ in range(200):
    ...     bets.observe(np.array(0.1), -1.0)
    >>> bool(bets.largest > np.log(20))
    True
    """

    def __init__(self, shape: tuple[int, ...], *, planned: int, alpha: float) -> None:
        self._goal, self._planned, self._count = math.log(1 / alpha), planned, 0
        self._log: Floats = np.zeros(shape)
        self._sums: Floats = np.zeros(shape)
        self._squares: Floats = np.full(shape, _PRIOR)
        self.largest: Floats = np.zeros(shape)
        """The logarithm of the largest capital so far."""

    def observe(self, y: Floats, lowest: Floats | float) -> None:
        """Bet on an observation that cannot be below *lowest*, which is below 0 and known before."""
        from scipy.special import ndtri

        t, most = self._count, _CAP / -np.asarray(lowest, dtype=np.float64)
        p = np.exp(np.clip(self._log - self._goal, -600, 0))
        z = ndtri(p / 2)
        spread = np.sqrt((self._squares - self._sums**2 / (t + 1)) / (t + 1) * (self._planned - t))
        stake = np.minimum(math.sqrt(2 / math.pi) * np.exp(-z * z / 2) / (p * spread), most)
        self._log = self._log + np.log1p(np.where(self._log >= self._goal, 0.0, stake) * y)
        self.largest = np.maximum(self.largest, self._log)
        self._sums, self._squares, self._count = self._sums + y, self._squares + y**2, t + 1


def confidence_sequence(d: Floats, *, planned: int, level: float = 0.95) -> Interval:
    """Compute the interval of the mean of differences between -1 and 1 that holds at all times together.

    It consists of the means that neither of two tests by `log_capital`, one on each side, has rejected so far. The
    probability that the interval ever leaves out the true mean, at any of many looks, is at most 1 − level.

    Args:
        d: (n,) differences in the order in which they were observed.
        planned: As in `log_capital`.
        level: The confidence level.

    >>> interval = confidence_sequence(np.tile([0.1, -0.1, 0.0], 100), planned=300)
    >>> interval.low < 0 < interval.high, interval.method
    (True, 'betting')
    """
    check_level(level)
    d = np.asarray(d, dtype=np.float64)
    alpha = (1 - level) / 2
    low = _lower_limit(d, planned, alpha)
    return Interval(low, 0.0 - _lower_limit(-d, planned, alpha), level, "betting")


def _lower_limit(d: Floats, planned: int, alpha: float) -> float:
    """Return the largest mean below which every mean is rejected, on a grid that is refined."""
    low, high = -1.0, 1.0
    for _ in range(_ROUNDS):
        means = np.linspace(low, high, _GRID)[1:-1]
        rejected = log_capital(d - means[:, None], -1 - means, planned=planned, alpha=alpha) >= math.log(1 / alpha)
        first = int(np.argmin(rejected)) if not rejected.all() else len(means)
        low, high = (
            means[first - 1] if first else low,
            means[first] if first < len(means) else high,
        )
    return float(low)
