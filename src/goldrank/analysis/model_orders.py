"""Compare the orders of models under two settings: Kendall's tau-b, its interval, and the models that swap.

Queries (or pairs, or examples) are resampled, the same ones for all models and settings. The intervals show how the
order of *these* models varies over other queries; models are not resampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from goldrank import stats
from goldrank.scoring import Bootstrap
from goldrank.stats.resampling import Floats

FEW = 10
"""With fewer models a note says that tau tells little about other models."""
# Means of resamples are exact to 2e-12 of their spread for 7,000 queries; smaller differences are ties.
_TIE_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Difference:
    """The difference of two models under one setting, or its change between two settings."""

    value: float
    low: float
    high: float
    p: float
    """Two-sided, from the share of resamples in which the difference changes its sign."""


@dataclass(frozen=True)
class Swap:
    """Two models that two settings put into opposite orders."""

    ahead: str
    """The model that is better under the first setting."""
    behind: str
    before: Difference
    """*ahead* minus *behind* under the first setting, with higher values being better."""
    after: Difference
    """The same under the second setting."""
    moved: Difference
    """*after* minus *before*: the effect of the setting on the difference."""
    p: float
    """The larger p-value of the two differences: both have to be significant."""
    adjusted: float
    """The same after Holm over all pairs of models."""
    alpha: float

    @property
    def significant(self) -> bool:
        """Whether the models differ significantly under both settings, in opposite directions."""
        return self.adjusted <= self.alpha

    @property
    def verdict(self) -> str:
        """The conclusion about the swap, as a phrase."""
        if self.significant:
            return "significant"
        if self.moved.low > 0 or self.moved.high < 0:
            return "the gap moves, the order is not certain"
        return "within noise"


@dataclass(frozen=True)
class OrderAgreement:
    """The agreement of two settings on the order of the models, by one evaluator."""

    evaluator: str
    first: str
    second: str
    one_change: bool
    """Whether the settings differ in the similarity only or in the transform only."""
    models: int
    tau: float
    """Kendall's tau-b; NaN if a setting ties all models."""
    interval: stats.Interval
    """By bootstrap percentiles; BCa does not suit tau, which is discrete and bounded by 1."""
    same: float
    """The share of resamples in which both settings give the same order."""
    swaps: tuple[Swap, ...]

    @property
    def answer(self) -> str:
        """``reordered``, ``same order`` or ``cannot tell``."""
        if any(swap.significant for swap in self.swaps):
            return "reordered"
        if not self.swaps and not math.isnan(self.tau) and self.same >= (1 + self.interval.level) / 2:
            return "same order"
        return "cannot tell"


def compare_orders(
    evaluator: str,
    models: Sequence[str],
    settings: Sequence[tuple[str, str]],
    values: Floats,
    resampled: Floats,
    how: Bootstrap,
    alpha: float,
) -> list[OrderAgreement]:
    """Compare the orders of the models under every two settings.

    Args:
        evaluator: the name of the evaluator.
        models: the names of the models.
        settings: similarity and transform of each setting.
        values: (settings, models), higher being better.
        resampled: (resamples, settings, models).
        how: the bootstrap of *resampled*.
        alpha: the significance level of swaps, after Holm over the pairs of models.
    """
    pairs = list(combinations(range(len(models)), 2))
    first, second = (np.array(side, np.intp) for side in zip(*pairs, strict=True))
    gaps, resampled_gaps = values[:, first] - values[:, second], resampled[:, :, first] - resampled[:, :, second]
    tolerance = _TIE_TOLERANCE * max(1.0, float(np.nanmax(np.abs(values))))
    signs, resampled_signs = _signs(gaps, tolerance), _signs(resampled_gaps, tolerance)
    names = [", ".join(setting) for setting in settings]
    agreements = []
    for a, b in combinations(range(len(settings)), 2):
        tau = float(kendall_from_signs(signs[a], signs[b]))
        taus = kendall_from_signs(resampled_signs[:, a], resampled_signs[:, b])
        swapped = np.flatnonzero(signs[a] * signs[b] < 0)
        # A pair in the same order under both settings is not evidence of a swap: in Holm's family its p is 1.
        p = np.ones(len(pairs))
        for at in swapped.tolist():
            p[at] = max(stats.sign_change(resampled_gaps[:, setting, at]) for setting in (a, b))
        adjusted = stats.holm(p)
        swaps = []
        for at in swapped.tolist():
            sign = float(signs[a, at])
            gap, resampled_gap = sign * gaps[:, at], sign * resampled_gaps[:, :, at]
            before, after = (_difference(gap[s], resampled_gap[:, s], how.level) for s in (a, b))
            moved = _difference(gap[b] - gap[a], resampled_gap[:, b] - resampled_gap[:, a], how.level)
            left, right = models[first[at]], models[second[at]]
            ahead, behind = (left, right) if sign > 0 else (right, left)
            swaps.append(Swap(ahead, behind, before, after, moved, float(p[at]), float(adjusted[at]), alpha))
        agreements.append(
            OrderAgreement(
                evaluator,
                names[a],
                names[b],
                sum(x != y for x, y in zip(settings[a], settings[b], strict=True)) == 1,
                len(models),
                tau,
                stats.resampled_interval(tau, taus, None, how.level, "percentile"),
                float(np.mean(taus > 1 - 1e-9)),
                tuple(swaps),
            )
        )
    return agreements


def kendall_from_signs(first: NDArray[np.int8], second: NDArray[np.int8]) -> Floats:
    """Return Kendall's tau-b from the signs of all pairwise differences, along the last axis; NaN if a side ties all.

    >>> order = np.array([1, 1, 1], np.int8)
    >>> round(float(kendall_from_signs(order, np.array([1, 1, -1], np.int8))), 4)
    0.3333
    """
    agreement = np.sum(first * second, axis=-1, dtype=np.int64)
    untied = [np.sum(side != 0, axis=-1, dtype=np.int64) for side in (first, second)]
    below = np.sqrt(untied[0] * untied[1].astype(np.float64))
    tau: Floats = np.divide(agreement, below, out=np.full(np.shape(below), math.nan), where=below > 0)
    return tau


def _signs(gaps: Floats, tolerance: float) -> NDArray[np.int8]:
    return np.where(np.abs(gaps) <= tolerance, 0, np.sign(gaps)).astype(np.int8)


def _difference(value: float, resampled: Floats, level: float) -> Difference:
    interval = stats.resampled_interval(float(value), resampled, None, level, "percentile")
    return Difference(float(value), interval.low, interval.high, stats.sign_change(resampled))


def place_intervals(resampled: Floats, level: float) -> list[list[tuple[float, float]]]:
    """Return the percentile interval of every model's place under every setting.

    Args:
        resampled: (resamples, settings, models), higher being better.
        level: the confidence level.
    """
    intervals = []
    for setting in resampled.swapaxes(0, 1):
        better, tied = (
            test(setting[:, None, :], setting[:, :, None]).sum(axis=-1, dtype=np.int64)
            for test in (np.greater, np.equal)
        )
        ends = ((1 - level) / 2, (1 + level) / 2)
        # A model ties with itself.
        low, high = np.quantile(1 + better + (tied - 1) / 2, ends, axis=0, method="nearest").tolist()
        intervals.append(list(zip(low, high, strict=True)))
    return intervals


def order_notes(models: int) -> list[str]:
    """Return the caveats for a small number of models."""
    pairs = models * (models - 1) // 2
    if models == 2:
        return [
            "Two models have one pair, so that tau is either 1 (same order) or −1 (swapped). An interval from −1 to 1 "
            "means that these queries cannot tell; the share of resamples in the same order says more."
        ]
    if models < FEW:
        return [
            f"{models} models have {pairs} pairs, so that tau moves in steps of {2 / pairs:.2f}. The intervals hold "
            f"for these models over other queries; fewer than {FEW} models cannot show whether a setting reorders "
            "models in general."
        ]
    return []
