"""One number for many queries, and the interval that says how far it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from goldrank.errors import InputError, unknown_name
from goldrank.stats.abstention import abstention_area, resampled_areas
from goldrank.stats.resampling import Floats, bootstrap_means, bootstrap_medians

if TYPE_CHECKING:
    from statistics import NormalDist

How = Literal["mean", "geometric", "median", "sum", "nauc"]
GEOMETRIC_FLOOR = 1e-5
"""Values below this count as this in a geometric mean, as in trec_eval's ``gm_map``."""

_HOWS = ("mean", "geometric", "median", "sum", "nauc")
_METHODS = ("bca", "percentile")


@dataclass(frozen=True)
class Interval:
    """A confidence interval: its limits, its level and the method that gave it.

    The method is "bca", "percentile" (asked for, or where BCa is undefined), "wilson" for proportions, or
    "constant" where all values are equal and resampling cannot say anything else.
    """

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, eq=False)
class Sample:
    """What one metric gave: a value per query, and how the values become one number.

    Attributes:
        values: (n,) one per query; NaN where the metric is undefined for the query.
        weights: (n,) non-negative, for pooled metrics whose number is Σwv / Σw (not for median and sum); for "nauc"
            the confidence in each query.
        how: "mean", "geometric", "median", "sum" or "nauc".
        proportion: whether each value is a yes (1) or a no (0), so that the number is a proportion.
    """

    values: Floats
    weights: Floats | None = None
    how: How = "mean"
    proportion: bool = False


def aggregate(values: Floats, weights: Floats | None = None, how: How = "mean") -> float:
    """The values of all queries as one number; NaN means undefined for that query and is left out.

    Sums are exactly rounded, so the order of the queries cannot change the number. No value gives NaN.

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
        return math.fsum(values)
    if how == "median":
        return float(np.median(values))
    total = math.fsum(weights)
    if how == "geometric":
        return math.exp(math.fsum(weights * _logs(values)) / total)
    return math.fsum(weights * values) / total


def intervals(
    columns: Sequence[Sample],
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "bca",
    seed: int = 0,
) -> list[Interval | None]:
    """Confidence intervals for several metrics of the same queries, from the same resamples of the queries.

    The query is the unit of resampling. The default is the bias-corrected and accelerated bootstrap (BCa),
    whose limits follow the skewness of the values [1]_; proportions get Wilson's score interval [2]_, which
    stays honest near 0 and 1. A resample that holds no defined value at all is left out.

    Args:
        columns: one `Sample` per metric, all over the same queries in the same order.
        resamples: how many bootstrap resamples.
        level: the confidence level, between 0 and 1.
        method: "bca" or "percentile"; a median always gets "percentile", as its jackknife is inconsistent.
        seed: same seed, same intervals, to the bit, on any number of threads.

    Returns:
        One interval per column; None for a sum (it depends on how many queries there are) and where fewer
        than two queries have a value.

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
    _check_level(level)
    sizes = {len(column.values) for column in columns}
    if len(sizes) > 1:
        raise InputError(
            f"the columns have different numbers of queries: {sorted(sizes)}",
            remedy="give every metric the same queries, NaN where it is undefined",
        )
    results: list[Interval | None] = [None] * len(columns)
    waiting: dict[int, _Ratio] = {}
    for place, column in enumerate(columns):
        if column.how == "nauc" and column.weights is not None:
            areas = resampled_areas(column.values, column.weights, resamples=resamples, seed=seed)
            results[place] = _percentile(areas, level) if len(areas) else None
            continue
        values, weights = _checked(column.values, column.weights, column.how)
        if column.how == "geometric":
            values = _logs(values)
        defined = values[weights > 0]
        if column.how == "sum" or len(defined) < 2:
            continue
        if column.proportion and column.how == "mean" and column.weights is None and np.isin(defined, (0, 1)).all():
            results[place] = wilson(int(defined.sum()), len(defined), level=level)
        elif (defined == defined[0]).all():
            number = aggregate(column.values, column.weights, column.how)
            results[place] = Interval(number, number, level, "constant")
        elif column.how == "median":
            medians = bootstrap_medians(values, resamples=resamples, seed=seed)
            results[place] = _percentile(medians[~np.isnan(medians)], level)
        else:
            waiting[place] = _ratio(values, weights)
    if waiting:
        drawn = _resampled_ratios(list(waiting.values()), resamples, seed)
        for (place, ratio), means in zip(waiting.items(), drawn, strict=True):
            results[place] = _finished(ratio, means[~np.isnan(means)], level, method, columns[place].how)
    return results


def resampled(columns: Sequence[Sample], *, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Return the number of every column over the same resamples of the queries, as (resamples, columns).

    What is paired stays paired: the difference of two columns is the difference in each resample. NaN stands for a
    resample without any defined value.

    >>> drawn = resampled([Sample(np.array([0.0, 1.0, 1.0])), Sample(np.array([0.5, 1.5, 1.5]))], resamples=100)
    >>> drawn.shape, bool(np.allclose(drawn[:, 1] - drawn[:, 0], 0.5))
    ((100, 2), True)
    """
    drawn = np.full((resamples, len(columns)), math.nan)
    ratios: dict[int, _Ratio] = {}
    for place, column in enumerate(columns):
        if column.how == "nauc":
            raise InputError(
                "an area under the abstention curve cannot be resampled beside others", remedy="choose another metric"
            )
        values, weights = _checked(column.values, column.weights, column.how)
        if column.how == "sum":
            values, weights = np.where(weights > 0, values, 0.0) * len(values), np.ones(len(values))
        if column.how == "median":
            drawn[:, place] = bootstrap_medians(values, resamples=resamples, seed=seed)
        elif (weights > 0).any():
            ratios[place] = _ratio(_logs(values) if column.how == "geometric" else values, weights)
    means = _resampled_ratios(list(ratios.values()), resamples, seed) if ratios else []
    for (place, ratio), mean in zip(ratios.items(), means, strict=True):
        drawn[:, place] = ratio.low + mean
        if columns[place].how == "geometric":
            drawn[:, place] = np.exp(drawn[:, place])
    return drawn


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion.

    >>> interval = wilson(9, 10)
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.5958, 0.9821)
    """
    _check_level(level)
    if n < 1 or not 0 <= successes <= n:
        raise InputError(f"{successes} successes in {n} trials is not a proportion")
    z = _normal().inv_cdf((1 + level) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the limit is exactly the end, which rounding may miss by a hair.
    low = 0.0 if successes == 0 else max(centre - half, 0.0)
    high = 1.0 if successes == n else min(centre + half, 1.0)
    return Interval(low, high, level, "wilson")


@dataclass(frozen=True, eq=False)
class _Ratio:
    """A weighted mean low + Σ wx / Σ w with x = v − low ≥ 0, which keeps equal sums equal after rounding."""

    low: float
    x: Floats
    weights: Floats

    @property
    def uniform(self) -> bool:
        """Whether every query weighs the same, so that the denominator is the same in every resample."""
        return bool((self.weights == self.weights[0]).all())

    @property
    def estimate(self) -> float:
        return math.fsum(self.weights * self.x) / math.fsum(self.weights)


def _ratio(values: Floats, weights: Floats) -> _Ratio:
    low = float(values[weights > 0].min())
    x = np.where(weights > 0, values - low, 0.0)
    # Only the proportions of weights matter; this keeps products with extreme weights in range.
    return _Ratio(low, x, weights / weights.max())


def _resampled_ratios(ratios: list[_Ratio], resamples: int, seed: int) -> list[Floats]:
    """Σ wx / Σ w of every ratio over the same resamples; NaN in resamples without any weight."""
    quantities: list[Floats] = []
    for ratio in ratios:
        quantities += [ratio.x] if ratio.uniform else [ratio.weights * ratio.x, ratio.weights]
    means = iter(bootstrap_means(np.column_stack(quantities), resamples=resamples, seed=seed).T)
    drawn = []
    for ratio in ratios:
        above = next(means)
        if not ratio.uniform:
            below = next(means)
            above = np.divide(above, below, out=np.full_like(above, math.nan), where=below > 0)
        drawn.append(above)
    return drawn


def _finished(ratio: _Ratio, drawn: Floats, level: float, method: str, how: How) -> Interval:
    found = _bca(ratio, drawn, level) if method == "bca" else None
    found = found or _percentile(drawn, level)
    low, high = ratio.low + found.low, ratio.low + found.high
    if how == "geometric":
        low, high = math.exp(low), math.exp(high)
    return Interval(low, high, level, found.method)


def _percentile(drawn: Floats, level: float) -> Interval:
    low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level, "percentile")


def _bca(ratio: _Ratio, drawn: Floats, level: float) -> Interval | None:
    """The BCa interval of Σ wx / Σ w, or None where it is undefined."""
    estimate = ratio.estimate
    # Resampled values that equal the estimate count half; equal up to the grid of the resampling sums.
    hair = float(np.ptp(ratio.x)) * len(ratio.x) * 2.0**-50
    below = float(np.mean(drawn < estimate - hair) + np.mean(drawn <= estimate + hair)) / 2
    acceleration = _acceleration(ratio)
    if not 0 < below < 1 or acceleration is None:
        return None
    normal = _normal()
    bias = normal.inv_cdf(below)
    shares = []
    for z in (normal.inv_cdf((1 - level) / 2), normal.inv_cdf((1 + level) / 2)):
        stretch = 1 - acceleration * (bias + z)
        if stretch <= 0:  # beyond the pole the formula would swap the limits
            return None
        shares.append(normal.cdf(bias + (bias + z) / stretch))
    low, high = np.quantile(drawn, shares)
    return Interval(float(low), float(high), level, "bca")


def _acceleration(ratio: _Ratio) -> float | None:
    """Efron's acceleration from the jackknife: the skewness of the leave-one-out values, over 6.

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
    return float((pull**3).sum() / (6 * (pull**2).sum() ** 1.5))


def _logs(values: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(values, GEOMETRIC_FLOOR))
    return logs


def _checked(values: Floats, weights: Floats | None, how: str) -> tuple[Floats, Floats]:
    """The values and their weights, with weight 0 where the value is NaN."""
    if how not in _HOWS:
        raise unknown_name("aggregate", how, _HOWS, ", ".join(_HOWS))
    values = np.asarray(values, dtype=np.float64)
    if np.isinf(values).any():
        raise InputError("a value is infinite", remedy="use NaN for a query without a value")
    if weights is None:
        return values, (~np.isnan(values)).astype(np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    if how not in ("mean", "geometric"):
        raise InputError(f"a {how} does not take weights", remedy="ask for the mean, or leave the weights out")
    if weights.shape != values.shape:
        raise InputError(f"there are {weights.size} weights for {values.size} queries")
    weights = np.where(np.isnan(values), 0.0, weights)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("a weight is not a finite number ≥ 0")
    return values, weights


def _normal() -> NormalDist:
    # Imported here because `statistics` brings fractions and decimals along, and most scoring needs none of it.
    from statistics import NormalDist

    return NormalDist()


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"the confidence level {level} is not between 0 and 1", remedy="for example 0.95")
