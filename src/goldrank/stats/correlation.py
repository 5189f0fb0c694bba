"""Correlation of two sets of scores: Pearson, Spearman and Kendall, with intervals, tests and comparisons."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from goldrank.errors import InputError, unknown_name
from goldrank.stats.correlated_resamples import (
    KINDS,
    Kind,
    bootstrap_correlations,
    left_out,
    permutation_p_values,
    weighted_correlations,
)
from goldrank.stats.intervals import Interval
from goldrank.stats.resampling import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_METHODS = ("fisher", "bootstrap")
_COMPARISONS = ("williams", "bootstrap")
# Above this many pairs the jackknife of BCa costs more than the bootstrap and changes nothing one could see.
_JACKKNIFE_LIMIT = 2000


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's product-moment correlation.

    NaN, here and in the other two, means undefined: fewer than two pairs, or one side is constant and has
    nothing that could go along with the other.

    >>> round(pearson([1, 2, 3, 4], [1, 4, 9, 16]), 4)
    0.9844
    """
    return correlation(x, y, "pearson")


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's of the ranks, tied values sharing their average rank.

    >>> spearman([1, 2, 3, 4], [1, 4, 9, 16])
    1.0
    """
    return correlation(x, y, "spearman")


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau-b: pairs in the same order less pairs in opposite order, over those that are not tied.

    >>> round(kendall([1, 2, 3, 4], [1, 3, 2, 4]), 4)
    0.6667
    """
    return correlation(x, y, "kendall")


def correlation(x: ArrayLike, y: ArrayLike, kind: str = "spearman") -> float:
    """The correlation of that kind; see `pearson`, `spearman` and `kendall`.

    >>> correlation([1, 2, 3], [3, 2, 1], "kendall")
    -1.0
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
    """A confidence interval of a correlation.

    "fisher" takes the inverse hyperbolic tangent for normal, with variance 1 / (n − 3) for Pearson,
    (1 + r² / 2) / (n − 3) for Spearman and 0.437 / (n − 4) for Kendall [1]_ [2]_; it is at once, and assumes
    roughly normal values (Pearson) and few ties (Kendall). "bootstrap" resamples the pairs: BCa, or percentile
    where BCa is undefined or there are more than 2,000 pairs, beyond which the two do not differ.

    Returns:
        The interval; its method is "undefined", with NaN as limits, where the correlation is, and "constant" where
        every resample gives the same. With too few pairs for Fisher's variance the limits are −1 and 1.

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
    _check_level(level)
    observed = correlation(first, second, chosen)
    if math.isnan(observed):
        return Interval(math.nan, math.nan, level, "undefined")
    if method == "fisher":
        return _fisher(observed, len(first), chosen, level)
    columns = first[:, None], second[:, None]
    drawn = bootstrap_correlations(*columns, chosen, resamples=resamples, seed=seed)[:, 0, 0]
    without = left_out(*columns, chosen)[:, 0, 0] if len(first) <= _JACKKNIFE_LIMIT else None
    return resampled_interval(observed, drawn, without, level)


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
    """The two-sided p-value of the difference between the correlations of a and of b with the same gold.

    "williams" is Williams' t for dependent correlations that share a variable [1]_, with n − 3 degrees of freedom:
    right for Pearson on normal values, and taken over as it is for ranks. "bootstrap" resamples the pairs and
    asks how often the difference changes its sign. NaN where a correlation is undefined or pairs are too few.

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
    drawn = bootstrap_correlations(pair, truth[:, None], chosen, resamples=resamples, seed=seed)[:, :, 0]
    return sign_change(drawn[:, 0] - drawn[:, 1])


def permutation_p(
    x: ArrayLike, y: ArrayLike, kind: str = "spearman", *, resamples: int = 10_000, seed: int = 0
) -> float:
    """The two-sided p-value of a correlation under random pairing: all permutations of up to 8 pairs, else random ones.

    >>> round(permutation_p([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), 4)
    0.0167
    """
    first, second, chosen = _checked(x, y, kind)
    if math.isnan(correlation(first, second, chosen)):
        return math.nan
    return float(permutation_p_values(first[:, None], second[:, None], chosen, resamples=resamples, seed=seed)[0, 0])


def williams(of_a: Floats, of_b: Floats, between: Floats, n: int | Floats) -> Floats:
    """Williams' two-sided p-values from the three correlations of gold, a and b over n pairs, element by element.

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
    # Two evaluators that order alike leave 0 / 0: there is no difference to speak of.
    same = np.abs(of_a - of_b) < 1e-12
    return np.where(n < 4, math.nan, np.where(same & ~np.isnan(between), 1.0, p))


def sign_change(drawn: Floats) -> float:
    """The two-sided p-value of a resampled difference: twice the share of resamples on the other side of 0.

    >>> sign_change(np.array([0.1, 0.2, 0.3]))
    0.5
    """
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return math.nan
    hair = 1e-12
    fewer = min(int((drawn <= hair).sum()), int((drawn >= -hair).sum()))
    return min(2 * (1 + fewer) / (1 + len(drawn)), 1.0)


def resampled_interval(
    observed: float, drawn: Floats, without: Floats | None, level: float, method: str = "bca"
) -> Interval:
    """The limits of a statistic from its resampled values, and for BCa from its values without each unit in turn.

    Resamples in which the statistic is undefined are left out. The method is "percentile" where BCa is undefined.
    """
    drawn = np.sort(drawn[~np.isnan(drawn)])
    if math.isnan(observed) or not len(drawn):
        return Interval(math.nan, math.nan, level, "undefined")
    if drawn[0] == drawn[-1]:
        return Interval(float(drawn[0]), float(drawn[-1]), level, "constant")
    shares = None if method == "percentile" or without is None else _bca_shares(observed, drawn, without, level)
    low, high = np.quantile(drawn, shares or ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level, "bca" if shares else "percentile")


def _bca_shares(observed: float, drawn: Floats, without: Floats, level: float) -> tuple[float, float] | None:
    """Where in the sorted resamples the limits of BCa lie; None where the formula has no answer."""
    from statistics import NormalDist

    hair = 1e-12
    ends = np.searchsorted(drawn, (observed - hair, observed + hair))
    below = float(ends.sum()) / 2 / len(drawn)
    pull = without.mean() - without
    power = float((pull**2).sum())
    if not (0 < below < 1 and power > 0):  # also where the statistic is undefined without one of the units
        return None
    normal, acceleration = NormalDist(), float((pull**3).sum()) / (6 * power**1.5)
    bias = normal.inv_cdf(below)
    shares = []
    for z in (normal.inv_cdf((1 - level) / 2), normal.inv_cdf((1 + level) / 2)):
        stretch = 1 - acceleration * (bias + z)
        if stretch <= 0:
            return None
        shares.append(normal.cdf(bias + (bias + z) / stretch))
    return shares[0], shares[1]


def _fisher(observed: float, n: int, kind: Kind, level: float) -> Interval:
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


def _checked(x: ArrayLike, y: ArrayLike, kind: str) -> tuple[Floats, Floats, Kind]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or second.ndim != 1 or len(first) != len(second):
        raise InputError(
            f"the values to be correlated have the shapes {first.shape} and {second.shape}",
            remedy="give two lists of equal length",
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a value to be correlated is not a finite number", remedy="leave out pairs without both")
    return first, second, correlation_kind(kind)


def correlation_kind(name: str) -> Kind:
    """The kind of that name, or the error that names the kinds there are."""
    for kind in KINDS:
        if kind == name:
            return kind
    raise unknown_name("correlation", name, KINDS, ", ".join(KINDS))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"the confidence level {level} is not between 0 and 1", remedy="for example 0.95")
