"""Compare systems: order them by value, measure the size of a difference, and find the smallest detectable one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from goldrank.errors import InputError
from goldrank.stats.resampling import Floats, exact_sum

Name = TypeVar("Name")


def best_first(values: Mapping[Name, float | None], *, lower_is_better: bool = False) -> list[Name]:
    """Sort names by their values, the best first; names without a value (NaN or None) come last.

    >>> best_first({"a": math.nan, "b": 0.2, "c": 0.9})
    ['c', 'b', 'a']
    """

    def sort_key(name: Name) -> float:
        value = values[name]
        if value is None or math.isnan(value):
            return math.inf
        return value if lower_is_better else -value

    return sorted(values, key=sort_key)


class WinsTiesLosses(NamedTuple):
    """The numbers of queries on which the first system is better, equal and worse."""

    wins: int
    ties: int
    losses: int


def wins_ties_losses(d: Floats) -> WinsTiesLosses:
    """Count the signs of the differences.

    >>> wins_ties_losses(np.array([0.1, 0.0, -0.2, 0.3]))
    WinsTiesLosses(wins=2, ties=1, losses=1)
    """
    d = np.asarray(d, dtype=np.float64)
    return WinsTiesLosses(int((d > 0).sum()), int((d == 0).sum()), int((d < 0).sum()))


def effect_size(d: Floats) -> float:
    """Compute Cohen's d_z: the mean difference over the standard deviation (ddof 1) of the differences [1]_.

    NaN for fewer than two differences, 0 if all are 0, ±inf if all are the same other number.

    References:
        .. [1] J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988), section 2.3.5.

    >>> effect_size(np.array([1.0, 2.0, 3.0]))
    2.0
    """
    d = np.asarray(d, dtype=np.float64)
    if len(d) < 2:
        return math.nan
    if not d.any():
        return 0.0
    mean, spread = exact_sum(d) / len(d), float(np.std(d, ddof=1))
    return mean / spread if spread > 0 else math.copysign(math.inf, mean)


def smallest_detectable(d: Floats, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Compute the smallest true mean difference that a two-sided paired t test can detect.

    "Detect" means significance at alpha with probability power, for the number of queries and the spread of d. Exact
    for normal differences: solved from the non-central t distribution, without the negligible far tail (a significant
    difference of the wrong sign). NaN for fewer than two differences.

    >>> d = np.tile([0.1, -0.1], 50)
    >>> round(smallest_detectable(d), 4)
    0.0284
    """
    from scipy.special import nctdtr, stdtrit

    if not (0 < alpha < 1 and alpha < power < 1):
        raise InputError(f"power {power} and alpha {alpha} are not valid", remedy="use 0 < alpha < power < 1")
    d = np.asarray(d, dtype=np.float64)
    n = len(d)
    if n < 2:
        return math.nan
    error = float(np.std(d, ddof=1)) / math.sqrt(n)
    critical = float(stdtrit(n - 1, 1 - alpha / 2))
    low, high = 0.0, 1.0
    while nctdtr(n - 1, high, critical) > 1 - power:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if nctdtr(n - 1, middle, critical) > 1 - power else (low, middle)
    return high * error
