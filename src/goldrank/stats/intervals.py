"""Aggregate the values of many queries, and compute confidence intervals of the aggregates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from goldrank.errors import InputError, unknown_name
from goldrank.stats.abstention import abstention_area, resampled_areas
from goldrank.stats.resampling import Floats, bootstrap_means, bootstrap_medians, exact_sum

if TYPE_CHECKING:
    from goldrank.metrics.definition import Aggregate

GEOMETRIC_FLOOR = 1e-5
"""Values below this count as this in a geometric mean, as in trec_eval's ``gm_map``."""

_AGGREGATES = ("mean", "geometric", "median", "sum", "nauc")
_METHODS = ("bca", "percentile")
# So many columns share their resamples that drawing them takes little time, and so few that they fit into memory.
_RATIOS_AT_ONCE = 256


@dataclass(frozen=True)
class Interval:
    """A confidence interval: its limits, its level and its method.

    The method is "bca", "percentile" (by request, or if BCa is undefined), "wilson" for proportions, or "constant" if
    all values, and so all resamples, are equal.
    """

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of one metric for each query, and how they are aggregated.

    Attributes:
        values: (n,) one per query; NaN if the metric is undefined for the query.
        weights: (n,) non-negative, for pooled metrics whose aggregate is Σwv / Σw (not for median and sum); for "nauc"
            the confidence in each query.
        how: "mean", "geometric", "median", "sum" or "nauc".
        proportion: Whether each value is 0 or 1, so that the mean is a proportion.
    """

    values: Floats
    weights: Floats | None = None
    how: Aggregate = "mean"
    proportion: bool = False


def aggregate(values: Floats, weights: Floats | None = None, how: Aggregate = "mean") -> float:
    """Aggregate the values of all queries; NaN means undefined for that query and is left out.

    Sums are exactly rounded, so the order of the queries cannot change the result. Without any value it is NaN.

    Args:
        values: (n,) one value per query.
        weights: (n,) non-negative; the mean is then Σwv / Σw (geometric: over logarithms).
        how: "mean"; "geometric", with values below 1e-5 counted as 1e-5; "median"; "sum"; or "nauc", the normalised
            area under the abstention curve with the weights as confidences.

    >>> aggregate(np.array([0.5, 1.0, np.nan]))
    0.75
    >>> aggregate(np.array([0.5, 1.0]), weights=np.array([3.0, 1.0]))
    0.625
    >>> round(aggregate(np.array([0.0, 1.0]), how="geometric"), 6)
    0.003162
    """
    if how == "nauc" and weights is not None:
        return abstention_area(values, weights)
    values, weights = _checked(values, weights, how)
    used = weights > 0
    values, weights = values[used], weights[used]
    if not len(values):
        return math.nan
    if how == "sum":
        return exact_sum(values)
    if how == "median":
        return float(np.median(values))
    if how == "geometric":
        return math.exp(exact_sum(weights * _logs(values)) / exact_sum(weights))
    return exact_sum(weights * values) / exact_sum(weights)


def intervals(
    columns: Sequence[Sample],
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "bca",
    seed: int = 0,
) -> list[Interval | None]:
    """Compute confidence intervals for several metrics of the same queries, from the same resamples of the queries.

    The query is the unit of resampling. The default is the bias-corrected and accelerated bootstrap (BCa),
    whose limits follow the skewness of the values [1]_; proportions get Wilson's score interval [2]_, which
    is reliable near 0 and 1. A resample without any defined value is left out.

    Args:
        columns: One `Sample` per metric, all over the same queries in the same order.
        resamples: The number of bootstrap resamples.
        level: The confidence level, between 0 and 1.
        method: "bca" or "percentile"; a median always gets "percentile", as its jackknife is inconsistent.
        seed: The same seed gives bit-identical intervals on any number of threads.

    Returns:
        One interval per column; None for a sum (it depends on how many queries there are) and if fewer than two
        queries have a value.

    References:
        .. [1] B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987), 171-185.
        .. [2] E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
           (1927), 209-212.

    >>> ap = np.array([0.1, 0.7, 0.4, 1.0, 0.3, 0.2, 0.9, 0.5])
    >>> [interval] = intervals([Sample(ap)], resamples=2000)
    >>> interval.low < aggregate(ap) < interval.high, interval.method
    (True, 'bca')
    """
    if method not in _METHODS:
        raise unknown_name("interval method", method, _METHODS, "bca or percentile")
    check_level(level)
    sizes = {len(column.values) for column in columns}
    if len(sizes) > 1:
        raise InputError(
            f"the columns have different numbers of queries: {sorted(sizes)}",
            remedy="give every metric the same queries, NaN where it is undefined",
        )
    results: list[Interval | None] = [None] * len(columns)
    ratios: dict[int, _Ratio] = {}
    for position, column in enumerate(columns):
        if column.how == "nauc" and column.weights is not None:
            areas = resampled_areas(column.values, column.weights, resamples=resamples, seed=seed)
            results[position] = percentile_interval(areas, level) if len(areas) else None
            continue
        values, weights = _checked(column.values, column.weights, column.how)
        if column.how == "geometric":
            values = _logs(values)
        defined = values[weights > 0]
        if column.how == "sum" or len(defined) < 2:
            continue
        if column.proportion and column.how == "mean" and column.weights is None and np.isin(defined, (0, 1)).all():
            results[position] = wilson(int(defined.sum()), len(defined), level=level)
        elif (defined == defined[0]).all():
            value = aggregate(column.values, column.weights, column.how)
            results[position] = Interval(value, value, level, "constant")
        elif column.how == "median":
            medians = bootstrap_medians(values, resamples=resamples, seed=seed)
            results[position] = percentile_interval(medians[~np.isnan(medians)], level)
        else:
            ratios[position] = _ratio(values, weights)
    if ratios:
        means = _bootstrap_ratios(list(ratios.values()), resamples, seed)
        for (position, ratio), replicates in zip(ratios.items(), means, strict=True):
            defined = replicates[~np.isnan(replicates)]
            results[position] = _ratio_interval(ratio, defined, level, method, columns[position].how)
    return results


def bootstrap_aggregates(columns: Sequence[Sample], *, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Aggregate every column over the same resamples of the queries, as (resamples, columns).

    The columns stay paired: the difference of two columns is their difference in each resample. NaN stands for a
    resample without any defined value.

    >>> samples = [Sample(np.array([0.0, 1.0, 1.0])), Sample(np.array([0.5, 1.5, 1.5]))]
    >>> replicates = bootstrap_aggregates(samples, resamples=100)
    >>> replicates.shape, bool(np.allclose(replicates[:, 1] - replicates[:, 0], 0.5))
    ((100, 2), True)
    """
    replicates = np.full((resamples, len(columns)), math.nan)
    ratios: dict[int, _Ratio] = {}
    for position, column in enumerate(columns):
        if column.how == "nauc":
            raise InputError(
                "an area under the abstention curve cannot be resampled beside others", remedy="choose another metric"
            )
        values, weights = _checked(column.values, column.weights, column.how)
        if column.how == "sum":
            values, weights = np.where(weights > 0, values, 0.0) * len(values), np.ones(len(values))
        if column.how == "median":
            replicates[:, position] = bootstrap_medians(values, resamples=resamples, seed=seed)
        elif (weights > 0).any():
            ratios[position] = _ratio(_logs(values) if column.how == "geometric" else values, weights)
    means = _bootstrap_ratios(list(ratios.values()), resamples, seed) if ratios else []
    for (position, ratio), mean in zip(ratios.items(), means, strict=True):
        replicates[:, position] = ratio.low + mean
        if columns[position].how == "geometric":
            replicates[:, position] = np.exp(replicates[:, position])
    return replicates


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Compute Wilson's score interval for a proportion.

    >>> interval = wilson(9, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.5958, 0.9821)
    """
    # Imported here because `statistics` imports fractions and decimal, which most commands do not need.
    from statistics import NormalDist

    check_level(level)
    if n < 1 or not 0 <= successes <= n:
        raise InputError(f"{successes} successes in {n} trials is not a proportion")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and n successes the limit is exactly 0 or 1, which rounding might miss.
    low = 0.0 if successes == 0 else max(centre - half, 0.0)
    high = 1.0 if successes == n else min(centre + half, 1.0)
    return Interval(low, high, level, "wilson")


@dataclass(frozen=True, eq=False)
class _Ratio:
    """A weighted mean low + Σwx / Σw with x = v − low ≥ 0, so that equal sums stay equal after rounding."""

    low: float
    x: Floats
    weights: Floats

    @property
    def uniform(self) -> bool:
        """Whether all weights are equal, so that the denominator is the same in every resample."""
        return bool((self.weights == self.weights[0]).all())

    @property
    def estimate(self) -> float:
        return exact_sum(self.weights * self.x) / exact_sum(self.weights)


def _ratio(values: Floats, weights: Floats) -> _Ratio:
    low = float(values[weights > 0].min())
    x = np.where(weights > 0, values - low, 0.0)
    # Only the proportions of the weights matter; this keeps products with extreme weights in range.
    return _Ratio(low, x, weights / weights.max())


def _bootstrap_ratios(ratios: list[_Ratio], resamples: int, seed: int) -> list[Floats]:
    """Compute Σwx / Σw of every ratio over the same resamples; NaN in resamples without any weight."""
    if len(ratios) > _RATIOS_AT_ONCE:
        parts = [ratios[start : start + _RATIOS_AT_ONCE] for start in range(0, len(ratios), _RATIOS_AT_ONCE)]
        return [result for part in parts for result in _bootstrap_ratios(part, resamples, seed)]
    quantities: list[Floats] = []
    for ratio in ratios:
        quantities += [ratio.x] if ratio.uniform else [ratio.weights * ratio.x, ratio.weights]
    means = iter(bootstrap_means(np.column_stack(quantities), resamples=resamples, seed=seed).T)
    results = []
    for ratio in ratios:
        result = next(means)
        if not ratio.uniform:
            weight = next(means)
            result = np.divide(result, weight, out=np.full_like(result, math.nan), where=weight > 0)
        results.append(result)
    return results


def _ratio_interval(ratio: _Ratio, replicates: Floats, level: float, method: str, how: Aggregate) -> Interval:
    interval = _bca(ratio, replicates, level) if method == "bca" else None
    interval = interval or percentile_interval(replicates, level)
    low, high = ratio.low + interval.low, ratio.low + interval.high
    if how == "geometric":
        low, high = math.exp(low), math.exp(high)
    return Interval(low, high, level, interval.method)


def percentile_interval(replicates: Floats, level: float) -> Interval:
    """Return the interval between two quantiles of the values of a statistic over resamples."""
    low, high = np.quantile(replicates, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level, "percentile")


def _bca(ratio: _Ratio, replicates: Floats, level: float) -> Interval | None:
    """Compute the BCa interval of Σwx / Σw; None if it is undefined."""
    estimate = ratio.estimate
    # Replicates that equal the estimate count half; equal up to the rounding of the resampled sums.
    tolerance = float(np.ptp(ratio.x)) * len(ratio.x) * 2.0**-50
    below = float(np.mean(replicates < estimate - tolerance) + np.mean(replicates <= estimate + tolerance)) / 2
    acceleration = _acceleration(ratio)
    shares = None if acceleration is None else bca_shares(below, acceleration, level)
    if shares is None:
        return None
    low, high = np.quantile(replicates, shares)
    return Interval(float(low), float(high), level, "bca")


def bca_shares(below: float, acceleration: float, level: float) -> tuple[float, float] | None:
    """Return the quantiles of the replicates at which the limits of the BCa interval lie; None if it is undefined.

    Args:
        below: The share of replicates below the estimate.
        acceleration: The skewness of the jackknife values over 6.
        level: The confidence level.
    """
    from statistics import NormalDist

    if not 0 < below < 1:
        return None
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    shares = []
    for z in (normal.inv_cdf((1 - level) / 2), normal.inv_cdf((1 + level) / 2)):
        stretch = 1 - acceleration * (bias + z)
        if stretch <= 0:  # beyond the pole the formula would swap the limits
            return None
        shares.append(normal.cdf(bias + (bias + z) / stretch))
    return shares[0], shares[1]


def _acceleration(ratio: _Ratio) -> float | None:
    """Compute Efron's acceleration from the jackknife: the skewness of the leave-one-out values, over 6.

    Leaving query i out gives (S − w_i·x_i) / (W − w_i) with S = Σwx and W = Σw: no loop over the queries.
    """
    left = ratio.weights.sum() - ratio.weights
    if not (left > 0).all():
        return None
    without = ((ratio.weights * ratio.x).sum() - ratio.weights * ratio.x) / left
    pull = without.mean() - without
    # Scaled first, as the cube of a tiny pull underflows.
    largest = np.abs(pull).max()
    if not largest > 0:
        return None
    pull /= largest
    squares = pull * pull
    # Not ``pull**3``, which takes a hundred times as long for negative numbers.
    return float((squares * pull).sum() / (6 * squares.sum() ** 1.5))


def _logs(values: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(values, GEOMETRIC_FLOOR))
    return logs


def _checked(values: Floats, weights: Floats | None, how: str) -> tuple[Floats, Floats]:
    """Return the checked values and their weights, with weight 0 for NaN."""
    if how not in _AGGREGATES:
        raise unknown_name("aggregate", how, _AGGREGATES, ", ".join(_AGGREGATES))
    values = np.asarray(values, dtype=np.float64)
    if np.isinf(values).any():
        raise InputError("a value is infinite", remedy="use NaN for a query without a value")
    if weights is None:
        return values, (~np.isnan(values)).astype(np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    if how not in ("mean", "geometric"):
        raise InputError(f"a {how} does not take weights", remedy="use the mean, or leave the weights out")
    if weights.shape != values.shape:
        raise InputError(f"there are {weights.size} weights for {values.size} queries")
    weights = np.where(np.isnan(values), 0.0, weights)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("a weight is not a finite number ≥ 0")
    return values, weights


def check_level(level: float) -> None:
    """Raise InputError unless *level* is a confidence level, between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"the confidence level {level:g} is not between 0 and 1", remedy="give one such as 0.95")


def check_alpha(alpha: float) -> None:
    """Raise InputError unless *alpha* is a level of significance, between 0 and 1."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha:g}, which is not between 0 and 1", remedy="give a level such as 0.05")
