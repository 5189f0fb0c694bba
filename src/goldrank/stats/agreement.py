"""Chance-corrected agreement of judges: Cohen's kappa of two, Krippendorff's alpha of any number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goldrank.errors import InputError, counts, unknown_name
from goldrank.stats.intervals import Interval, check_level
from goldrank.stats.resampling import Floats

KappaWeights = Literal["plain", "linear", "quadratic"]
KAPPA_WEIGHTS: tuple[KappaWeights, ...] = ("plain", "linear", "quadratic")
AlphaLevel = Literal["nominal", "ordinal", "interval"]
ALPHA_LEVELS: tuple[AlphaLevel, ...] = ("nominal", "ordinal", "interval")

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Agreement:
    """A coefficient of agreement: 1 is perfect, 0 is what chance gives, and below 0 is worse than chance."""

    value: float | None
    """None if it is undefined; `reason` says why."""
    interval: Interval | None
    """None if there are fewer than two queries to resample, or none of the resamples has a value."""
    units: int
    """The units that at least two judges rated."""
    reason: str = ""
    """Why there is no value or no interval; empty if there are both."""


def cohen_kappa(
    first: Sequence[float] | ArrayLike,
    second: Sequence[float] | ArrayLike,
    *,
    weights: KappaWeights = "plain",
    queries: Sequence[str] | None = None,
    level: float = 0.95,
) -> Agreement:
    """Compute Cohen's kappa [1]_ of two judges, or weighted kappa [2]_ for grades that are ordered.

    A disagreement between the grades a and b counts 1 (plain), |a - b| (linear) or (a - b)² (quadratic). Quadratic
    kappa is positive exactly if the grades of the two judges are positively correlated.

    Args:
        first: The grades of one judge; NaN where he gave none.
        second: The grades of the other for the same units.
        weights: "plain", "linear" or "quadratic".
        queries: The query of each unit: the interval comes from leaving out each query with all its units. Without
            it, units are left out.
        level: The confidence level.

    References:
        .. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20
           (1960), 37-46.
        .. [2] J. Cohen, "Weighted kappa", Psychological Bulletin 70 (1968), 213-220.

    >>> result = cohen_kappa([0, 0, 1, 1, 2, 2], [0, 0, 1, 2, 2, 2], weights="linear")
    >>> round(result.value, 4), result.units
    (0.8235, 6)
    >>> cohen_kappa([1, 1], [1, 1]).reason
    'both judges gave every unit the same grade, so that chance alone gives perfect agreement'
    """
    if weights not in KAPPA_WEIGHTS:
        raise unknown_name("weights of kappa", weights, KAPPA_WEIGHTS, ", ".join(KAPPA_WEIGHTS))
    ratings = _checked(np.column_stack(_equally_long(first, second)))
    both = ~np.isnan(ratings).any(axis=1)
    if not both.any():
        return Agreement(None, None, 0, "no unit was rated by both judges")
    groups = _groups(queries, len(ratings))[both]
    values, codes = np.unique(ratings[both], return_inverse=True)
    codes = codes.reshape(-1, 2)
    tables = np.zeros((groups.max() + 1, len(values), len(values)))
    np.add.at(tables, (groups, codes[:, 0], codes[:, 1]), 1)
    distance = np.abs(values[:, None] - values)
    cost = {"plain": (distance > 0).astype(float), "linear": distance, "quadratic": distance**2}[weights]

    def kappa(tables: Floats) -> Floats:
        chance = np.einsum("rc,cd,rd->r", tables.sum(axis=2), cost, tables.sum(axis=1))
        observed = np.einsum("rcd,cd->r", tables, cost) * tables.sum(axis=(1, 2))
        return _one_minus_ratio(observed, chance)

    undefined = "both judges gave every unit the same grade, so that chance alone gives perfect agreement"
    return _with_interval(tables, kappa, int(both.sum()), undefined, level)


def krippendorff_alpha(
    ratings: Sequence[Sequence[float]] | ArrayLike,
    *,
    measurement: AlphaLevel = "ordinal",
    queries: Sequence[str] | None = None,
    level: float = 0.95,
) -> Agreement:
    """Compute Krippendorff's alpha [1]_ of any number of judges, of whom each may have rated some units only.

    Args:
        ratings: (units, judges); NaN where a judge did not rate a unit. Units with one rating say nothing.
        measurement: "nominal", "ordinal" or "interval": which differences between grades count.
        queries: The query of each unit: the interval comes from leaving out each query with all its units. Without
            it, units are left out.
        level: The confidence level.

    References:
        .. [1] K. Krippendorff, "Computing Krippendorff's alpha-reliability", University of Pennsylvania, 2011.

    >>> nan = math.nan
    >>> ratings = [[1, 1, nan], [2, 2, 3], [3, 3, 3], [nan, 1, nan]]
    >>> result = krippendorff_alpha(ratings, measurement="interval")
    >>> round(result.value, 4), result.units
    (0.8409, 3)
    """
    if measurement not in ALPHA_LEVELS:
        raise unknown_name("level of measurement", measurement, ALPHA_LEVELS, ", ".join(ALPHA_LEVELS))
    table = _checked(np.asarray(ratings, dtype=np.float64))
    if table.ndim != 2:
        raise InputError("the ratings are not a table of units and judges", remedy="give one row per unit")
    rated = (~np.isnan(table)).sum(axis=1)
    pairable = rated >= 2
    if not pairable.any():
        return Agreement(None, None, 0, "no unit was rated by two judges")
    groups = _groups(queries, len(table))[pairable]
    table, rated = table[pairable], rated[pairable]
    values = np.unique(table[~np.isnan(table)])
    given = (table[:, :, None] == values).sum(axis=1).astype(float)
    # Every pair of ratings of a unit by different judges, weighted so that each rating counts once.
    pairs = (given[:, :, None] * given[:, None, :] - given[:, :, None] * np.eye(len(values))) / (rated - 1)[
        :, None, None
    ]
    tables = np.zeros((groups.max() + 1, len(values), len(values)))
    np.add.at(tables, groups, pairs)

    def alpha(tables: Floats) -> Floats:
        number = tables.sum(axis=2)
        total = number.sum(axis=1)
        cost = _alpha_cost(number, values, measurement)
        chance = np.einsum("rc,rcd,rd->r", number, cost, number)
        observed = (total - 1) * np.einsum("rcd,rcd->r", tables, cost)
        return _one_minus_ratio(observed, chance)

    undefined = "all judges gave every unit the same grade, so that nothing can tell agreement from chance"
    return _with_interval(tables, alpha, len(table), undefined, level)


def _one_minus_ratio(observed: Floats, chance: Floats) -> Floats:
    ratio: Floats = np.divide(observed, chance, out=np.full(len(chance), math.nan), where=chance > 0)
    return 1 - ratio


def _alpha_cost(number: Floats, values: Floats, measurement: AlphaLevel) -> Floats:
    """Return the squared differences between grades for each row of *number*, how often each grade was given."""
    if measurement == "ordinal":
        # The ratings between two grades, of which those with one of the two grades count half.
        middle = np.cumsum(number, axis=1) - number / 2
        ordinal: Floats = (middle[:, :, None] - middle[:, None, :]) ** 2
        return ordinal
    distance = values[:, None] - values
    cost = (distance != 0).astype(float) if measurement == "nominal" else distance**2
    return np.broadcast_to(cost, (len(number), *cost.shape))


def _with_interval(
    tables: Floats, coefficient: Callable[[Floats], Floats], units: int, undefined: str, level: float
) -> Agreement:
    """Return the coefficient of the sum of the queries' tables, with its interval."""
    check_level(level)
    total = tables.sum(axis=0, keepdims=True)
    value = float(coefficient(total)[0])
    if math.isnan(value):
        return Agreement(None, None, units, undefined)
    if len(tables) < 2:
        return Agreement(value, None, units, "an interval needs units of two queries")
    interval = jackknife_interval(value, coefficient(total - tables), level, largest=1.0)
    return Agreement(value, interval, units, "" if interval else "without one of the queries it is undefined")


def jackknife_interval(
    value: float, without: Floats, level: float = 0.95, *, largest: float | None = None
) -> Interval | None:
    """Return the interval of a statistic from its values without each query in turn, with a quantile of Student's t.

    Args:
        value: The statistic of all queries.
        without: The statistic without each query.
        level: The confidence level.
        largest: The largest absolute value that the statistic can have. The interval is then symmetric on the scale of
            Fisher's z, which keeps its level for few queries, where bootstrap intervals of kappa are too narrow.

    Returns:
        None if the statistic is undefined without one of the queries.

    >>> interval = jackknife_interval(2.0, np.array([2.5, 2.0, 1.5]))  # of the mean of 1, 2 and 3
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.484, 4.484)
    """
    from scipy.special import stdtrit

    if np.isnan(without).any():
        return None
    if (without == value).all():
        return Interval(value, value, level, "constant")
    n = len(without)
    transformed = largest is not None and max(abs(value), float(np.abs(without).max())) < largest
    scaled = np.arctanh(np.append(without, value) / largest) if transformed else np.append(without, value)
    error = math.sqrt((n - 1) / n * float(((scaled[:-1] - scaled[:-1].mean()) ** 2).sum()))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    low, high = float(scaled[-1]) - half, float(scaled[-1]) + half
    if transformed and largest is not None:
        low, high = largest * math.tanh(low), largest * math.tanh(high)
    elif largest is not None:
        low, high = max(low, -largest), min(high, largest)
    return Interval(low, high, level, "jackknife")


def _equally_long(first: object, second: object) -> tuple[Floats, Floats]:
    a, b = (np.asarray(side, dtype=np.float64).reshape(-1) for side in (first, second))
    if len(a) != len(b):
        raise InputError(
            f"one judge has {counts(len(a), 'grade')} and the other {len(b)}",
            remedy="give both a grade for each unit, NaN where there is none",
        )
    return a, b


def _checked(ratings: Floats) -> Floats:
    if np.isinf(ratings).any():
        raise InputError("a grade is infinite", remedy="give NaN where a judge gave no grade")
    return ratings


def _groups(queries: Sequence[str] | None, units: int) -> _Ints:
    """Return the number of the query of each unit."""
    if queries is None:
        return np.arange(units)
    if len(queries) != units:
        raise InputError(f"there are {len(queries)} queries for {counts(units, 'unit')}", remedy="name one for each")
    return np.unique(np.asarray(queries, dtype=object).astype(str), return_inverse=True)[1].reshape(-1)
