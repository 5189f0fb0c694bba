"""Tukey's test of honestly significant differences between several systems on the same queries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goldrank.errors import InputError
from goldrank.stats.resampling import Floats

# A residual below this share of the largest value is rounding: the systems differ only by constants.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class TukeyResult:
    """The p-values of all pairs as (systems, systems), and the error variance."""

    p: Floats
    """The p-values of t tests with the pooled error, for each pair alone."""
    adjusted: Floats
    """The p-values of Tukey's test, for all pairs together."""
    error: float
    """The mean square of the residuals."""
    freedom: int
    """Its degrees of freedom: (queries - 1) (systems - 1)."""


def tukey_hsd(values: Floats) -> TukeyResult:
    """Compare all pairs of systems by Tukey's test, with the queries as blocks [1]_ [2]_.

    A value is modelled as the sum of an effect of its query, one of its system, and an error (two-way analysis of
    variance without interaction). The largest difference among m means of n values each, over sqrt(error / n), follows
    the studentized range of m and (n - 1)(m - 1) degrees of freedom; every pair is compared with it. With two systems
    this is the paired t test.

    Args:
        values: (queries, systems), without NaN.

    References:
        .. [1] J. W. Tukey, "Comparing individual means in the analysis of variance", Biometrics 5 (1949), 99-114.
        .. [2] B. Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
           experiments", ACM Transactions on Information Systems 30 (2012).

    >>> result = tukey_hsd(np.array([[0.1, 0.2, 0.4], [0.3, 0.3, 0.6], [0.2, 0.4, 0.5], [0.5, 0.5, 0.8]]))
    >>> result.freedom, round(float(result.adjusted[0, 1]), 4), round(float(result.adjusted[0, 2]), 4)
    (6, 0.2137, 0.0006)
    """
    from scipy.special import stdtr
    from scipy.stats import studentized_range

    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2:
        raise InputError("Tukey's test needs a column of values for each of two systems or more")
    if not np.isfinite(values).all():
        raise InputError(
            "a value of a system is not a finite number", remedy="leave out the queries for which a metric is undefined"
        )
    queries, systems = values.shape
    if queries < 2:
        undefined = np.full((systems, systems), math.nan)
        return TukeyResult(undefined, undefined, math.nan, 0)
    means = values.mean(axis=0)
    residuals = values - values.mean(axis=1, keepdims=True) - means + values.mean()
    freedom = (queries - 1) * (systems - 1)
    error = float(np.sum(residuals**2)) / freedom
    if math.sqrt(error) <= _ROUNDING * float(np.abs(values).max()):
        error = 0.0
    apart = np.abs(means[:, None] - means)
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(apart > _ROUNDING * np.abs(values).max(), apart / math.sqrt(error / queries), 0.0)
    p, adjusted = np.ones_like(q), np.ones_like(q)
    for i, j in zip(*np.triu_indices(systems, 1), strict=True):
        p[i, j] = p[j, i] = 2 * stdtr(freedom, -q[i, j] / math.sqrt(2))
        if q[i, j] > 0:
            tail = 0.0 if math.isinf(q[i, j]) else float(studentized_range.sf(q[i, j], systems, freedom))
            adjusted[i, j] = adjusted[j, i] = min(max(tail, p[i, j]), 1.0)
    return TukeyResult(p, adjusted, error, freedom)
