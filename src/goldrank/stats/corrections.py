"""Correct p-values for multiple testing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goldrank.errors import InputError
from goldrank.stats.resampling import Floats


def holm(p: Floats) -> Floats:
    """Adjust p-values by Holm's step-down method, which controls the family-wise error rate [1]_.

    NaN stays NaN and does not count as a test.

    References:
        .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
           Statistics 6 (1979), 65-70.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    return _adjust(p, lambda ascending: np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjust p-values by Benjamini and Hochberg's step-up method, which controls the false discovery rate [1]_.

    NaN stays NaN and does not count as a test.

    References:
        .. [1] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995), 289-300.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """

    def step_up(ascending: Floats) -> Floats:
        m = len(ascending)
        stepped: Floats = np.minimum.accumulate((ascending * m / np.arange(1, m + 1))[::-1])[::-1]
        return stepped

    return _adjust(p, step_up)


def _adjust(p: Floats, method: Callable[[Floats], Floats]) -> Floats:
    """Apply *method* to the ascending p-values that are not NaN, and limit the results to 1."""
    adjusted = np.array(p, dtype=np.float64)
    tests = np.flatnonzero(~np.isnan(adjusted))
    if ((adjusted[tests] < 0) | (adjusted[tests] > 1)).any():
        raise InputError("a p-value is not between 0 and 1")
    ascending = tests[np.argsort(adjusted[tests], kind="stable")]
    adjusted[ascending] = np.minimum(method(adjusted[ascending]), 1.0)
    return adjusted
