"""Estimate means over all queries from the exact values of a random sample and the predicted values of all queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldrank.errors import InputError
from goldrank.stats.intervals import check_level
from goldrank.stats.resampling import Floats

PRIOR = 2.0
"""The prior of each variance counts as so many queries."""
_RIDGE = 20.0
"""The common weight of the columns counts as so many queries in the weight of each column."""


@dataclass(frozen=True, eq=False)
class MeanEstimates:
    """Estimated means with intervals, one for each column."""

    value: Floats
    low: Floats
    high: Floats
    weight: Floats
    """The weight of the predictions, from 0 up; 0 uses the sample alone."""
    level: float
    freedom: int

    @property
    def p(self) -> Floats:
        """Two-sided p-values of a mean of 0; a mean is significant at 1 − level if its interval excludes 0."""
        from scipy.special import stdtr, stdtrit

        critical = stdtrit(self.freedom, (1 + self.level) / 2)
        error = np.where(self.value > 0, self.value - self.low, self.high - self.value) / critical
        statistic = np.divide(np.abs(self.value), error, out=np.full(error.shape, np.inf), where=error > 0)
        p = 2 * stdtr(self.freedom, -statistic)
        return np.asarray(np.where((error <= 0) & (self.value == 0), 1.0, p), dtype=np.float64)


def estimate_means(
    sample: Floats,
    predicted: Floats | None = None,
    predicted_mean: Floats | None = None,
    *,
    population: int,
    level: float = 0.95,
    signed: bool = False,
    beyond: bool = False,
) -> MeanEstimates:
    """Estimate the means over a finite population from a simple random sample of it and predictions for all of it.

    With values h on n sampled of N queries and predictions m on all of them, the estimate is the difference estimator
    of survey sampling [1]_, known as prediction-powered inference with a tuned weight [2]_::

        λ·mean_N(m) + mean_n(h − λ·m)

    λ is the regression slope in the sample, shrunk in two steps: the common slope of all columns is shrunk to 0 as
    James and Stein do, because a slope estimated from few queries can cost more than it gains [3]_, and the slope of
    each column is shrunk to the common one by a ridge. Predictions that do not help get the weight 0.

    The variance is that of the residuals with the correction (1 − n/N), with the degrees of freedom and the leverage
    that the estimated slope costs. Limits are those of Student's t. A sample of some 20 queries often misses the few
    queries with large values, and its variance is then far too small. So the variance on each side is averaged
    with a prior that counts as `PRIOR` queries: the mean variance of all columns (as in moderated t-tests [4]_), plus
    twice the mean squared distance of all their values beyond the estimate on that side. The values, not
    the residuals, form the prior, also for residuals: a judge that was right in the sample may err outside.

    Args:
        sample: (…, n, C) values on the sampled queries; the columns are of one kind, such as one metric of several
            systems, because they share their prior. Leading axes are independent samples.
        predicted: (…, n, C) predictions for the same queries.
        predicted_mean: (…, C) mean predictions over all queries.
        population: N.
        level: The confidence level.
        signed: Whether the columns are differences, whose sign is arbitrary.
        beyond: Whether the interval is for the mean of an infinite population that the N queries are a sample of.

    Returns:
        One estimate per column. Without predictions, or where the corrected interval would be the wider one, it is the
        mean of the sample.

    References:
        .. [1] C.-E. Särndal, B. Swensson, J. Wretman, Model Assisted Survey Sampling (1992), chapter 6.
        .. [2] A. Angelopoulos, J. Duchi, T. Zrnic, "PPI++: efficient prediction-powered inference" (2023).
        .. [3] P. Mani et al., "No free lunch: non-asymptotic analysis of prediction-powered inference" (2025).
        .. [4] G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression",
           Statistical Applications in Genetics and Molecular Biology 3 (2004).

    >>> human, model = np.array([[0.2], [0.4], [0.9], [0.5]]), np.array([[0.3], [0.5], [1.0], [0.6]])
    >>> estimate = estimate_means(human, model, np.array([0.7]), population=100)
    >>> round(float(estimate.value[0]), 3), bool(estimate.weight[0] > 0.9)
    (0.6, True)
    """
    check_level(level)
    sample = np.asarray(sample, dtype=np.float64)
    n = sample.shape[-2]
    if not 2 <= n <= population:
        raise InputError(
            f"{n} of {population} queries are judged", remedy="an interval needs at least two judged queries"
        )
    mean = sample.mean(axis=-2)
    centred = sample - mean[..., None, :]
    squares = (centred**2).sum(axis=-2)
    variance = squares / (n - 1)
    share = 1 / n - 1 / population
    between = 1 / population if beyond else 0.0
    prior = _Prior(sample, variance, between, level, signed)
    human = prior.limits(mean, variance, np.full(mean.shape, share))
    zero = np.zeros(mean.shape)
    if predicted is None or predicted_mean is None:
        return MeanEstimates(mean, *human, zero, level, n - 1)
    predicted = np.asarray(predicted, dtype=np.float64)
    moved = predicted.mean(axis=-2)
    others = predicted - moved[..., None, :]
    spread, product = (others**2).sum(axis=-2), (centred * others).sum(axis=-2)
    weight, own = _weights(squares, spread, product, n)
    distance = np.asarray(predicted_mean, dtype=np.float64) - moved
    residual = ((centred - weight[..., None, :] * others) ** 2).sum(axis=-2) / np.maximum(n - 1 - own, 1)
    leverage = share + own**2 * np.divide(distance**2, spread, out=np.zeros(spread.shape), where=spread > 0)
    value = mean + weight * distance
    corrected = prior.limits(value, residual, leverage)
    worse = (weight == 0) | (corrected[1] - corrected[0] >= human[1] - human[0])
    low, high = (np.where(worse, alone, both) for alone, both in zip(human, corrected, strict=True))
    return MeanEstimates(np.where(worse, mean, value), low, high, np.where(worse, zero, weight), level, n - 1)


def _weights(squares: Floats, spread: Floats, product: Floats, n: int) -> tuple[Floats, Floats]:
    """Return the weight of the predictions of each column, and which share of its own slope is in it."""
    all_squares, all_spread, all_product = (column.sum(axis=-1, keepdims=True) for column in (squares, spread, product))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.nan_to_num(all_product**2 / (all_squares * all_spread))
        shrinkage = 1 - (1 - correlation) / (correlation * max(n - 2, 1))
        common = np.where((all_product > 0) & (shrinkage > 0), all_product / all_spread * shrinkage, 0.0)
        ridge = _RIDGE / n * all_spread / spread.shape[-1]
        weight = np.maximum(0.0, np.nan_to_num((product + ridge * common) / (spread + ridge)))
        own = np.nan_to_num(spread / (spread + ridge))
    return np.where(common > 0, weight, 0.0), np.where(common > 0, own, 0.0)


@dataclass(frozen=True, eq=False)
class _Prior:
    """The values of the sample, which are the prior of every variance."""

    sample: Floats
    variance: Floats
    between: float
    """The share of the variance of the values that is added for queries beyond the population."""
    level: float
    signed: bool

    def limits(self, value: Floats, variance: Floats, share: Floats) -> tuple[Floats, Floats]:
        """Return the limits; *variance* is that of the residuals, and the standard errors differ by side."""
        from scipy.special import stdtrit

        n = self.sample.shape[-2]
        critical = stdtrit(n - 1, (1 + self.level) / 2)
        mean = self.variance.mean(axis=-1, keepdims=True)
        limits = []
        for side in (-1, 1):
            prior = PRIOR * (mean + 2 * self._beyond(value, side))
            residual, between = (((n - 1) * part + prior) / (n - 1 + PRIOR) for part in (variance, self.variance))
            limits.append(value + side * critical * np.sqrt(residual * share + between * self.between))
        return limits[0], limits[1]

    def _beyond(self, centre: Floats, side: int) -> Floats:
        """Return the mean squared distance of the values on one side of each centre; 0 for those on the other."""
        values = self.sample.reshape(*self.sample.shape[:-2], -1)
        columns = []
        for at in range(centre.shape[-1]):
            distance = side * (values - centre[..., at, None])
            squares = (np.maximum(distance, 0) ** 2).mean(axis=-1)
            if self.signed:
                opposite = -side * (values + centre[..., at, None])
                squares = (squares + (np.maximum(opposite, 0) ** 2).mean(axis=-1)) / 2
            columns.append(squares)
        return np.stack(columns, axis=-1)
