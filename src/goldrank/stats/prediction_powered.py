"""Estimate means over all queries from the exact values of a random sample and the predicted values of all queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
    freedom: float
    """The degrees of freedom of the sample."""

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
    population: int | Sequence[int],
    strata: NDArray[np.int64] | None = None,
    level: float = 0.95,
    signed: bool = False,
    beyond: bool = False,
) -> MeanEstimates:
    """Estimate the means over a finite population from a random sample of it and predictions for all of it.

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

    If n_h queries were drawn at random from each stratum of N_h, the means over the sample are weighted means of the
    strata, with N_h/N, and the variance is the sum of (N_h/N)²·(1 − n_h/N_h)·s_h²/n_h over the variances within
    strata [1]_. λ is common to all strata: squares and products within strata count as much as in that sum. The degrees
    of freedom are those of Satterthwaite for equal variances. The prior takes the values within strata, moved to the
    mean of all, because differences between strata cause no error. With one stratum, every digit is as above.

    Args:
        sample: (…, n, C) values on the sampled queries; the columns are of one kind, such as one metric of several
            systems, because they share their prior. Leading axes are independent samples.
        predicted: (…, n, C) predictions for the same queries.
        predicted_mean: (…, C) mean predictions over all queries.
        population: N; N_h of each stratum if there are strata.
        strata: (n,) the stratum of each sampled query, from 0; None for a simple random sample.
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
    design = _Design.of(sample.shape[-2], population, strata)
    means = design.means(sample)
    mean = design.combine(means)
    centred = design.centre(sample, means)
    squares = (centred**2).sum(axis=-2)
    variance = squares / design.freedom
    prior = _Prior(sample, means, mean, variance, design, beyond, level, signed)
    human = prior.limits(mean, variance, np.full(mean.shape, design.share))
    zero = np.zeros(mean.shape)
    if predicted is None or predicted_mean is None:
        return MeanEstimates(mean, *human, zero, level, design.freedom)
    predicted = np.asarray(predicted, dtype=np.float64)
    predicted_means = design.means(predicted)
    others = design.centre(predicted, predicted_means)
    spread, product = (others**2).sum(axis=-2), (centred * others).sum(axis=-2)
    weight, own = _weights(squares, spread, product, design.freedom)
    distance = np.asarray(predicted_mean, dtype=np.float64) - design.combine(predicted_means)
    residual = ((centred - weight[..., None, :] * others) ** 2).sum(axis=-2) / np.maximum(design.freedom - own, 1)
    # The variance of the slope, which differs from 1 / spread if strata count differently.
    slope = design.spread(others) * np.divide(distance**2, spread, out=np.zeros(spread.shape), where=spread > 0)
    value = mean + weight * distance
    corrected = prior.limits(value, residual, design.share + own**2 * slope)
    worse = (weight == 0) | (corrected[1] - corrected[0] >= human[1] - human[0])
    low, high = (np.where(worse, alone, both) for alone, both in zip(human, corrected, strict=True))
    return MeanEstimates(np.where(worse, mean, value), low, high, np.where(worse, zero, weight), level, design.freedom)


@dataclass(frozen=True, eq=False)
class _Design:
    """The weights of the strata of a sample; a simple random sample is one stratum."""

    strata: NDArray[np.int64]
    """The stratum of each sampled query."""
    sampled: Floats
    """n_h."""
    population: Floats
    """N_h."""

    @classmethod
    def of(cls, n: int, population: int | Sequence[int], strata: NDArray[np.int64] | None) -> _Design:
        """Return the design of a sample of *n* queries; raise InputError if it has no interval."""
        sizes = np.atleast_1d(np.asarray(population, dtype=np.float64))
        numbers = np.zeros(n, np.int64) if strata is None else np.asarray(strata, np.int64)
        sampled = np.bincount(numbers, minlength=len(sizes)).astype(np.float64)
        if len(sampled) > len(sizes) or len(numbers) != n:
            raise InputError("the strata are not those of the sample", remedy="give the size of each stratum")
        for number, (count, size) in enumerate(zip(sampled, sizes, strict=True)):
            if not 2 <= count <= size:
                where = "" if len(sizes) == 1 else f" of stratum {number}"
                raise InputError(
                    f"{count:.0f} of {size:.0f} queries{where} are judged",
                    remedy="an interval needs at least two judged queries",
                )
        return cls(numbers, sampled, sizes)

    @cached_property
    def weight(self) -> Floats:
        """N_h/N."""
        return np.asarray(self.population / self.population.sum(), dtype=np.float64)

    @cached_property
    def share(self) -> float:
        """The variance of a mean, relative to the variance within strata."""
        return float(self._shares.sum())

    @cached_property
    def part(self) -> Floats:
        """The part of each stratum in the variance of a mean."""
        return self._shares / self.share if self.share else self.weight

    @cached_property
    def _shares(self) -> Floats:
        return self.weight**2 * (1 / self.sampled - 1 / self.population)

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom."""
        # Rounded, because those of one stratum are a whole number.
        return round(float(1 / (self.part**2 / (self.sampled - 1)).sum()), 9)

    @cached_property
    def _factor(self) -> Floats:
        """What makes the mean square of deviations within strata, divided by `freedom`, their variance."""
        factor: Floats = np.sqrt(self.part * (self.freedom / (self.sampled - 1)))[self.strata, None]
        return factor

    def rows(self, number: int) -> slice | NDArray[np.int64]:
        """Return the rows of a stratum."""
        return slice(None) if len(self.sampled) == 1 else np.flatnonzero(self.strata == number)

    def means(self, values: Floats) -> Floats:
        """Return the mean of each stratum, as (…, strata, C)."""
        return np.stack([values[..., self.rows(at), :].mean(axis=-2) for at in range(len(self.sampled))], axis=-2)

    def combine(self, means: Floats) -> Floats:
        """Return the mean over all strata."""
        result: Floats = (self.weight[:, None] * means).sum(axis=-2)
        return result

    def of_rows(self, means: Floats) -> Floats:
        """Return what is given for each stratum for each row; one stratum is broadcast."""
        return means if len(self.sampled) == 1 else means[..., self.strata, :]

    def centre(self, values: Floats, means: Floats) -> Floats:
        """Return the deviations within strata, each as much as it counts in the variance."""
        result: Floats = (values - self.of_rows(means)) * self._factor
        return result

    def spread(self, deviations: Floats) -> Floats:
        """Return the variance of a slope of *deviations*, relative to that with one stratum."""
        squares = (deviations**2).sum(axis=-2)
        counted = ((deviations * self._factor) ** 2).sum(axis=-2)
        result: Floats = np.divide(counted, squares, out=np.ones(squares.shape), where=squares > 0)
        return result


def _weights(squares: Floats, spread: Floats, product: Floats, freedom: float) -> tuple[Floats, Floats]:
    """Return the weight of the predictions of each column, and which share of its own slope is in it."""
    all_squares, all_spread, all_product = (column.sum(axis=-1, keepdims=True) for column in (squares, spread, product))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.nan_to_num(all_product**2 / (all_squares * all_spread))
        shrinkage = 1 - (1 - correlation) / (correlation * max(freedom - 1, 1))
        common = np.where((all_product > 0) & (shrinkage > 0), all_product / all_spread * shrinkage, 0.0)
        ridge = _RIDGE / (freedom + 1) * all_spread / spread.shape[-1]
        weight = np.maximum(0.0, np.nan_to_num((product + ridge * common) / (spread + ridge)))
        own = np.nan_to_num(spread / (spread + ridge))
    return np.where(common > 0, weight, 0.0), np.where(common > 0, own, 0.0)


@dataclass(frozen=True, eq=False)
class _Prior:
    """The values of the sample, which are the prior of every variance."""

    sample: Floats
    means: Floats
    """Of each stratum."""
    mean: Floats
    variance: Floats
    """Within strata."""
    design: _Design
    beyond: bool
    """Whether the variance of queries beyond the population is added."""
    level: float
    signed: bool

    def limits(self, value: Floats, variance: Floats, share: Floats) -> tuple[Floats, Floats]:
        """Return the limits; *variance* is that of the residuals, and the standard errors differ by side."""
        from scipy.special import stdtrit

        freedom = self.design.freedom
        critical = stdtrit(freedom, (1 + self.level) / 2)
        mean = self.variance.mean(axis=-1, keepdims=True)
        between = 1 / float(self.design.population.sum()) if self.beyond else 0.0
        limits = []
        for side in (-1, 1):
            prior = PRIOR * (mean + 2 * self._beyond(value, side))
            residual, all_queries = (
                (freedom * part + prior) / (freedom + PRIOR) for part in (variance, self._variance_of_all)
            )
            limits.append(value + side * critical * np.sqrt(residual * share + all_queries * between))
        return limits[0], limits[1]

    @cached_property
    def _variance_of_all(self) -> Floats:
        """The variance of the values within and between strata."""
        design = self.design
        if len(design.sampled) == 1:
            return self.variance
        squares = (self.sample - design.of_rows(self.means)) ** 2
        within = design.means(squares) * (design.sampled / (design.sampled - 1))[:, None]
        return design.combine(within + (self.means - self.mean[..., None, :]) ** 2)

    def _beyond(self, centre: Floats, side: int) -> Floats:
        """Return the mean squared distance of the values on one side of each centre; 0 for those on the other."""
        design = self.design
        moved = self.sample - design.of_rows(self.means - self.mean[..., None, :])
        weights = design.part * design.sampled * design.freedom / ((design.sampled - 1) * (design.freedom + 1))
        result = np.zeros(centre.shape)
        for number, weight in enumerate(weights):
            rows = moved[..., design.rows(number), :]
            values = rows.reshape(*rows.shape[:-2], -1)
            result += weight * self._squares_beyond(values, centre, side)
        return result

    def _squares_beyond(self, values: Floats, centre: Floats, side: int) -> Floats:
        columns = []
        for at in range(centre.shape[-1]):
            distance = side * (values - centre[..., at, None])
            squares = (np.maximum(distance, 0) ** 2).mean(axis=-1)
            if self.signed:
                opposite = -side * (values + centre[..., at, None])
                squares = (squares + (np.maximum(opposite, 0) ** 2).mean(axis=-1)) / 2
            columns.append(squares)
        return np.stack(columns, axis=-1)
