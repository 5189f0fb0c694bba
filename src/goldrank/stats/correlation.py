"""Correlate two sets of scores by Pearson, Spearman or Kendall, with intervals and comparisons of correlations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from goldrank.errors import InputError, unknown_name
from goldrank.stats.correlated_resamples import (
    CORRELATIONS,
    CorrelationKind,
    bootstrap_correlations,
    jackknife_correlations,
    weighted_correlations,
)
from goldrank.stats.intervals import Interval, bca_shares, check_level
from goldrank.stats.resampling import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_METHODS = ("fisher", "bootstrap")
_COMPARISONS = ("williams", "bootstrap")
# Differences below this are rounding.
_TOLERANCE = 1e-12
# Above this many pairs the jackknife of BCa costs more than the bootstrap and changes no visible digit.
_JACKKNIFE_LIMIT = 2000


def mean_ranks(values: Floats) -> Floats:
    """Return the rank of each value in its row, 1 for the lowest; equal values share their mean rank.

    >>> mean_ranks(np.array([[0.3, 0.1, 0.3]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=-1), np.float64)


def correlation(x: ArrayLike, y: ArrayLike, kind: str = "spearman") -> float:
    """Compute a correlation; NaN if it is undefined, with fewer than two pairs or if one side is constant.

    Args:
        x: (n,) finite.
        y: (n,) finite.
        kind: "pearson"; "spearman", where tied values share their average rank; or "kendall", which is tau-b.

    >>> x, y = [1, 2, 3, 4], [1, 9, 4, 16]
    >>> [round(correlation(x, y, kind), 4) for kind in ("pearson", "spearman", "kendall")]
    [0.7875, 0.8, 0.6667]
    """
    first, second, chosen = _checked(x, y, kind)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    ones = np.ones((len(first), 1), dtype=np.int64)
    return float(weighted_correlations(first[:, None], second[:, None], ones, chosen)[0, 0, 0])


def correlation_interval(
    x: ArrayLike,
    y: ArrayLike,
    kind: str = "spearman",
    *,
    method: str = "fisher",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Compute a confidence interval of a correlation.

    "fisher" treats the inverse hyperbolic tangent as normal, with variance 1 / (n − 3) for Pearson,
    (1 + r² / 2) / (n − 3) for Spearman and 0.437 / (n − 4) for Kendall [1]_ [2]_; it is fast, and assumes
    roughly normal values (Pearson) and few ties (Kendall). "bootstrap" resamples the pairs: BCa, or percentile
    if BCa is undefined or there are more than 2,000 pairs, beyond which the two do not differ.

    Returns:
        The interval; its method is "undefined", with NaN as limits, if the correlation is undefined, and "constant" if
        all resamples have the same correlation. With too few pairs for Fisher's variance the limits are −1 and 1.

    References:
        .. [1] D. G. Bonett, T. A. Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman
           correlations", Psychometrika 65 (2000), 23-28.
        .. [2] E. C. Fieller, H. O. Hartley, E. S. Pearson, "Tests for rank correlation coefficients", Biometrika 44
           (1957), 470-481.

    >>> interval = correlation_interval([1, 2, 3, 4, 5, 6], [2, 1, 3, 4, 6, 5], "pearson")
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.264, 0.987)
    """
    first, second, chosen = _checked(x, y, kind)
    if method not in _METHODS:
        raise unknown_name("interval method", method, _METHODS, ", ".join(_METHODS))
    check_level(level)
    observed = correlation(first, second, chosen)
    if math.isnan(observed):
        return Interval(math.nan, math.nan, level, "undefined")
    if method == "fisher":
        return _fisher(observed, len(first), chosen, level)
    columns = first[:, None], second[:, None]
    replicates = bootstrap_correlations(*columns, chosen, resamples=resamples, seed=seed)[:, 0, 0]
    jackknife = jackknife_correlations(*columns, chosen)[:, 0, 0] if len(first) <= _JACKKNIFE_LIMIT else None
    return resampled_interval(observed, replicates, jackknife, level)


def compare_correlations(
    gold: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    kind: str = "spearman",
    *,
    method: str = "williams",
    resamples: int = 10_000,
    seed: int = 0,
) -> float:
    """Compute the two-sided p-value of the difference between the correlations of a and of b with the same gold.

    "williams" is Williams' t for dependent correlations that share a variable [1]_, with n − 3 degrees of freedom:
    exact for Pearson on normal values, and used unchanged for ranks. "bootstrap" resamples the pairs and counts how
    often the difference changes its sign. NaN if a correlation is undefined or there are too few pairs.

    References:
        .. [1] E. J. Williams, "The comparison of regression variables", JRSS B 21 (1959), 396-399; in the form of
           J. H. Steiger, "Tests for comparing elements of a correlation matrix", Psychological Bulletin 87 (1980).

    >>> gold, a, b = [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5], [3, 1, 2, 6, 4, 5]
    >>> round(compare_correlations(gold, a, b, "pearson"), 3)
    0.204
    """
    truth, first, chosen = _checked(gold, a, kind)
    second = _checked(gold, b, kind)[1]
    if method not in _COMPARISONS:
        raise unknown_name("comparison of correlations", method, _COMPARISONS, ", ".join(_COMPARISONS))
    if method == "williams":
        between = correlation(first, second, chosen)
        of_a, of_b = (correlation(truth, scores, chosen) for scores in (first, second))
        return float(williams(np.array(of_a), np.array(of_b), np.array(between), len(truth)))
    if any(math.isnan(correlation(truth, scores, chosen)) for scores in (first, second)):
        return math.nan
    pair = np.column_stack([first, second])
    replicates = bootstrap_correlations(pair, truth[:, None], chosen, resamples=resamples, seed=seed)[:, :, 0]
    return sign_change(replicates[:, 0] - replicates[:, 1])


def williams(of_a: Floats, of_b: Floats, between: Floats, n: int | Floats) -> Floats:
    """Compute Williams' two-sided p-values from the three correlations of gold, a and b over n pairs, elementwise.

    Args:
        of_a: The correlations of a with the gold.
        of_b: The correlations of b with the gold.
        between: The correlations of a with b.
        n: The number of pairs.

    >>> round(float(williams(np.array(0.9), np.array(0.5), np.array(0.6), 20)), 4)
    0.0009
    """
    from scipy.special import stdtr

    n = np.asarray(n, dtype=np.float64)
    determinant = 1 - of_a**2 - of_b**2 - between**2 + 2 * of_a * of_b * between
    mean = (of_a + of_b) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 2 * (n - 1) / (n - 3) * np.maximum(determinant, 0) + mean**2 * (1 - between) ** 3
        t = np.abs(of_a - of_b) * np.sqrt((n - 1) * (1 + between) / spread)
        p: Floats = 2 * stdtr(n - 3, -t)
    # Equal correlations give 0 / 0, and are not different.
    same = np.abs(of_a - of_b) < 1e-12
    return np.where(n < 4, math.nan, np.where(same & ~np.isnan(between), 1.0, p))


def sign_change(replicates: Floats) -> float:
    """Compute the two-sided p-value of a resampled difference: twice the share of resamples on the other side of 0.

    >>> sign_change(np.array([0.1, 0.2, 0.3]))
    0.5
    """
    replicates = replicates[~np.isnan(replicates)]
    if not len(replicates):
        return math.nan
    fewer = min(int((replicates <= _TOLERANCE).sum()), int((replicates >= -_TOLERANCE).sum()))
    return min(2 * (1 + fewer) / (1 + len(replicates)), 1.0)


def resampled_interval(
    observed: float, replicates: Floats, jackknife: Floats | None, level: float, method: str = "bca"
) -> Interval:
    """Compute the confidence interval of a statistic from its values over resamples.

    Resamples in which the statistic is undefined are left out.

    Args:
        observed: The statistic of all units.
        replicates: The statistic of each resample.
        jackknife: The statistic without each unit in turn, which BCa needs.
        level: The confidence level.
        method: "bca", which falls back to percentiles if it is undefined, or "percentile".
    """
    replicates = np.sort(replicates[~np.isnan(replicates)])
    if math.isnan(observed) or not len(replicates):
        return Interval(math.nan, math.nan, level, "undefined")
    if replicates[0] == replicates[-1]:
        return Interval(float(replicates[0]), float(replicates[-1]), level, "constant")
    shares = None
    if method != "percentile" and jackknife is not None:
        deviations = jackknife.mean() - jackknife
        power = float((deviations**2).sum())
        if power > 0:  # not if the statistic is undefined without one of the units, where it is NaN
            ends = np.searchsorted(replicates, (observed - _TOLERANCE, observed + _TOLERANCE))
            below = float(ends.sum()) / 2 / len(replicates)
            shares = bca_shares(below, float((deviations**3).sum()) / (6 * power**1.5), level)
    low, high = np.quantile(replicates, shares or ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level, "bca" if shares else "percentile")


def _fisher(observed: float, n: int, kind: CorrelationKind, level: float) -> Interval:
    from statistics import NormalDist

    if abs(observed) == 1:
        return Interval(observed, observed, level, "fisher")
    spare = n - (4 if kind == "kendall" else 3)
    if spare <= 0:
        return Interval(-1.0, 1.0, level, "fisher")
    variance = {"pearson": 1.0, "spearman": 1 + observed**2 / 2, "kendall": 0.437}[kind] / spare
    half = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(variance)
    centre = math.atanh(observed)
    return Interval(math.tanh(centre - half), math.tanh(centre + half), level, "fisher")


def _checked(x: ArrayLike, y: ArrayLike, kind: str) -> tuple[Floats, Floats, CorrelationKind]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or second.ndim != 1 or len(first) != len(second):
        raise InputError(
            f"the values to be correlated have the shapes {first.shape} and {second.shape}",
            remedy="give two lists of equal length",
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a value to be correlated is not a finite number", remedy="leave out pairs with such a value")
    return first, second, correlation_kind(kind)


def correlation_kind(name: str) -> CorrelationKind:
    """Return the kind of correlation with that name, or raise an error that lists the kinds."""
    for kind in CORRELATIONS:
        if kind == name:
            return kind
    raise unknown_name("correlation", name, CORRELATIONS, ", ".join(CORRELATIONS))
