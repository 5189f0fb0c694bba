"""Corrections of p-values for testing many hypotheses at once."""

from __future__ import annotations

import numpy as np

from goldrank.errors import InputError
from goldrank.stats.resampling import Floats


def holm(p: Floats) -> Floats:
    """Holm's step-down adjustment: controls the chance of any false discovery, whatever the dependence [1]_.

    NaN passes through and does not count as a test.

    References:
        .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
           Statistics 6 (1979), 65-70.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted, tested, order = _prepared(p)
    m = len(order)
    stepped = np.maximum.accumulate(tested[order] * np.arange(m, 0, -1))
    tested[order] = np.minimum(stepped, 1.0)
    adjusted[~np.isnan(adjusted)] = tested
    return adjusted


def benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini and Hochberg's step-up adjustment: controls the share of false discoveries [1]_.

    NaN passes through and does not count as a test.

    References:
        .. [1] Y. Benjamini, Y. Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995), 289-300.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """
    adjusted, tested, order = _prepared(p)
    m = len(order)
    stepped = np.minimum.accumulate((tested[order] * m / np.arange(1, m + 1))[::-1])[::-1]
    tested[order] = np.minimum(stepped, 1.0)
    adjusted[~np.isnan(adjusted)] = tested
    return adjusted


def _prepared(p: Floats) -> tuple[Floats, Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """A copy of p, its p-values that are not NaN, and their ascending order."""
    adjusted = np.array(p, dtype=np.float64)
    tested = adjusted[~np.isnan(adjusted)]
    if ((tested < 0) | (tested > 1)).any():
        raise InputError("a p-value is not between 0 and 1")
    return adjusted, tested, np.argsort(tested, kind="stable")
