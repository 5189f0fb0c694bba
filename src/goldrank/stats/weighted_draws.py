"""Sequential tests of differences over a finite population from which queries are drawn with unequal probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError
from goldrank.stats.intervals import Interval, check_level
from goldrank.stats.resampling import Floats
from goldrank.stats.sequential import Bets

_RIDGE = 4.0
"""The slope of the predictions is shrunk to 0 as if so many queries had shown that."""
_STEEPEST = 1.5
_LEAST = 1e-9
_GRID, _ROUNDS = 33, 3


@dataclass(frozen=True, eq=False)
class Draws:
    """Differences of queries that were drawn one by one without replacement.

    Attributes:
        values: (draws, streams) the differences of the drawn queries in their order, between -1 and 1. From the first
            NaN of a stream on, nothing more is learned about it.
        drawn: (draws,) the positions of the queries in the population.
        probability: (draws,) of drawing this query, given those before it.
        floor: (draws,) a number that no query left had a smaller probability than, known before the draw.
        predicted: (population, streams) predictions of the differences, fixed before the first draw.
        bounds: (population, streams) how far below 0 a difference can be, whatever the labels.
    """

    values: Floats
    drawn: NDArray[np.int64]
    probability: Floats
    floor: Floats
    predicted: Floats
    bounds: Floats

    def __post_init__(self) -> None:
        if len(np.unique(self.drawn)) < len(self.drawn):
            raise InputError("a query was drawn twice", remedy="draw without replacement")

    def select(self, streams: NDArray[np.int64]) -> Draws:
        """Return some of the streams."""
        return Draws(
            self.values[:, streams], self.drawn, self.probability, self.floor,
            self.predicted[:, streams], self.bounds[:, streams],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SequentialResult:
    """What the draws show."""

    log_capital: Floats
    """The logarithm of the largest capital against each mean; infinite if it is excluded with certainty."""
    value: Floats
    """The estimated mean of each stream."""


def bet_on_draws(draws: Draws, means: Floats, alpha: float) -> SequentialResult:
    """Bet that the mean over the population is above each of *means*, and return the largest capital.

    Let K be the sum of the known differences of the queries drawn before, R the queries left, m the predictions and q
    the probability of the query i that is drawn. Then::

        Z = (K + Σ_R λm + (d_i − λm_i) / q_i) / N

    has the population mean as its expected value given the past, whatever λ and q, if both depend on the past only [1]_
    [2]_. Its spread falls with the share of queries left, so Z less the tested mean is divided by that share before
    `Bets` are placed on it. The capital reaches 1/α with probability at most α if the mean is not above the tested one.

    Args:
        draws: The draws.
        means: (…, streams) the tested means.
        alpha: The level at which the test is going to be decided.

    References:
        .. [1] S. Shekhar, Z. Xu, Z. Lipton, P. Liang, A. Ramdas, "Risk-limiting financial audits via weighted sampling
           without replacement", UAI 2023.
        .. [2] I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024).

    >>> n = 40
    >>> gains = np.full((n, 1), 0.3)
    >>> draws = Draws(gains, np.arange(n), 1 / np.arange(n, 0, -1), 1 / np.arange(n, 0, -1), gains * 0, gains * 0 + 1)
    >>> bet_on_draws(draws, np.zeros(1), 0.05).log_capital  # all is known at the end
    array([inf])
    """
    population, streams = draws.predicted.shape
    bets = Bets(np.broadcast_shapes(means.shape, (streams,)), planned=population, alpha=alpha)
    left, known, stopped = np.ones(population, bool), np.zeros(streams), np.zeros(streams, bool)
    slope = _Slope(draws.predicted)
    total, weights = np.zeros(streams), np.zeros(streams)
    for t, at in enumerate(draws.drawn):
        stopped |= np.isnan(draws.values[t])
        value = np.where(stopped, 0.0, draws.values[t])
        control = slope.value * draws.predicted
        share = left.sum() / population
        base = (known + control[left].sum(axis=0)) / population
        estimate = base + (value - control[at]) / (draws.probability[t] * population)
        lowest = base - np.maximum(0, (draws.bounds + control)[left].max(axis=0)) / (draws.floor[t] * population)
        bets.observe(np.where(stopped, 0.0, (estimate - means) / share), np.minimum((lowest - means) / share, -_LEAST))
        total += np.where(stopped, 0.0, estimate / share**2)
        weights += np.where(stopped, 0.0, 1 / share**2)
        known += value
        left[at] = False
        slope.add(value, draws.predicted[at])
    surely = (known - draws.bounds[left].sum(axis=0)) / population > means + _LEAST
    capital = np.where(surely & ~stopped, math.inf, bets.largest)
    mean = np.divide(total, weights, out=np.full(streams, math.nan), where=weights > 0)
    return SequentialResult(capital, np.where(stopped | left.any(), mean, known / population))


class _Slope:
    """The slope of the differences on their predictions, from the draws so far."""

    def __init__(self, predicted: Floats) -> None:
        self._ridge = _RIDGE * (predicted**2).mean(axis=0)
        self._products, self._squares = np.zeros(predicted.shape[1]), np.zeros(predicted.shape[1])

    def add(self, value: Floats, predicted: Floats) -> None:
        self._products += value * predicted
        self._squares += predicted**2

    @property
    def value(self) -> Floats:
        total = self._squares + self._ridge
        slope = np.divide(self._products, total, out=np.zeros(total.shape), where=total > 0)
        clipped: Floats = np.clip(slope, 0.0, _STEEPEST)
        return clipped


def sequential_intervals(draws: Draws, reverse: Draws, *, level: float = 0.95) -> list[Interval]:
    """Compute intervals of the means that hold at all times together.

    Args:
        draws: The draws.
        reverse: The same with the opposite signs, and the bounds of the other side.
        level: The confidence level of each interval.
    """
    check_level(level)
    alpha = (1 - level) / 2
    low, high = _lower_limits(draws, alpha), -_lower_limits(reverse, alpha)
    return [Interval(float(a), float(b), level, "betting") for a, b in zip(low, high, strict=True)]


def _lower_limits(draws: Draws, alpha: float) -> Floats:
    """Return the largest means below which every mean is rejected, on grids that are refined."""
    streams = draws.predicted.shape[1]
    low, high = np.full(streams, -1.0), np.full(streams, 1.0)
    for _ in range(_ROUNDS):
        means = np.linspace(low, high, _GRID)
        rejected = bet_on_draws(draws, means, alpha).log_capital >= math.log(1 / alpha)
        first = np.where(rejected.all(axis=0), _GRID, np.argmin(rejected, axis=0))
        at = np.arange(streams)
        low, high = means[np.maximum(first - 1, 0), at], means[np.minimum(first, _GRID - 1), at]
    return low
