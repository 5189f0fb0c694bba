"""Do two settings put the same models into the same order? Kendall's tau-b, its interval, and the models that swap.

Queries (or pairs, or examples) are resampled, the same ones for all models and settings. What the intervals say is how
the order of *these* models could differ over other queries; models are not resampled.
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
"""Below this many models the reader is told that tau says little of other models."""
# Means of resamples are exact to 2e-12 of their spread for 7,000 queries: what differs by less is a tie.
_HAIR = 1e-11


@dataclass(frozen=True)
class Difference:
    """By how much one model is better than another under one setting, or how far the settings move that."""

    value: float
    low: float
    high: float
    p: float
    """Two-sided: how often the resampled difference changes its sign."""


@dataclass(frozen=True)
class Swap:
    """Two models that two settings put into opposite orders."""

    ahead: str
    """The model that is better under the first setting."""
    behind: str
    before: Difference
    """*ahead* minus *behind* under the first setting, in the direction in which more is better."""
    after: Difference
    """The same under the second setting."""
    moved: Difference
    """*after* minus *before*: what the change of the setting does to the difference."""
    p: float
    """That both differences are real: the larger of their p-values."""
    adjusted: float
    """The same after Holm over all pairs of models."""
    alpha: float

    @property
    def significant(self) -> bool:
        """Whether the models are significantly apart under both settings, in opposite directions."""
        return self.adjusted <= self.alpha

    @property
    def verdict(self) -> str:
        """What can be said of the swap."""
        if self.significant:
            return "significant"
        if self.moved.low > 0 or self.moved.high < 0:
            return "the gap moves, the order is not certain"
        return "within noise"


@dataclass(frozen=True)
class OrderAgreement:
    """How far two settings agree on the order of the models, by one evaluator."""

    evaluator: str
    first: str
    second: str
    one_change: bool
    """Whether the settings differ in the similarity or in the transform only, not in both."""
    models: int
    tau: float
    """Kendall's tau-b; NaN where a setting ties all models."""
    interval: stats.Interval
    """Of the bootstrap, by percentiles: tau is discrete and ends at 1, which BCa does not suit."""
    same: float
    """The share of resamples in which both settings give one order."""
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
    drawn: Floats,
    how: Bootstrap,
    alpha: float,
) -> list[OrderAgreement]:
    """Compare the orders of the models under every two settings.

    Args:
        evaluator: what the values are.
        models: their names.
        settings: similarity and transform of each.
        values: (settings, models), higher being better.
        drawn: (resamples, settings, models), the same over resamples.
        how: the bootstrap that *drawn* came from.
        alpha: the level of significance of swaps, after Holm over the pairs of models.
    """
    pairs = list(combinations(range(len(models)), 2))
    first, second = (np.array(side, np.intp) for side in zip(*pairs, strict=True))
    gaps, drawn_gaps = values[:, first] - values[:, second], drawn[:, :, first] - drawn[:, :, second]
    hair = _HAIR * max(1.0, float(np.nanmax(np.abs(values))))
    signs, drawn_signs = _signs(gaps, hair), _signs(drawn_gaps, hair)
    names = [", ".join(setting) for setting in settings]
    made = []
    for a, b in combinations(range(len(settings)), 2):
        tau = float(kendall_from_signs(signs[a], signs[b]))
        taus = kendall_from_signs(drawn_signs[:, a], drawn_signs[:, b])
        swapped = np.flatnonzero(signs[a] * signs[b] < 0)
        # A pair in one order under both settings is no evidence of a swap: it counts in Holm's family with p = 1.
        p = np.ones(len(pairs))
        for at in swapped.tolist():
            p[at] = max(stats.sign_change(drawn_gaps[:, setting, at]) for setting in (a, b))
        adjusted = stats.holm(p)
        swaps = []
        for at in swapped.tolist():
            sign = float(signs[a, at])
            one, other = models[first[at]], models[second[at]]
            before, after = (_difference(sign * gaps[s, at], sign * drawn_gaps[:, s, at], how.level) for s in (a, b))
            moved = _difference(
                sign * (gaps[b, at] - gaps[a, at]), sign * (drawn_gaps[:, b, at] - drawn_gaps[:, a, at]), how.level
            )
            ahead, behind = (one, other) if sign > 0 else (other, one)
            swaps.append(Swap(ahead, behind, before, after, moved, float(p[at]), float(adjusted[at]), alpha))
        made.append(
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
    return made


def kendall_from_signs(first: NDArray[np.int8], second: NDArray[np.int8]) -> Floats:
    """Kendall's tau-b from the signs of all pairwise differences, along the last axis; NaN where one side ties all.

    >>> order = np.array([1, 1, 1], np.int8)
    >>> round(float(kendall_from_signs(order, np.array([1, 1, -1], np.int8))), 4)
    0.3333
    """
    agreement = np.sum(first * second, axis=-1, dtype=np.int64)
    untied = [np.sum(side != 0, axis=-1, dtype=np.int64) for side in (first, second)]
    below = np.sqrt(untied[0] * untied[1].astype(np.float64))
    tau: Floats = np.divide(agreement, below, out=np.full(np.shape(below), math.nan), where=below > 0)
    return tau


def _signs(gaps: Floats, hair: float) -> NDArray[np.int8]:
    return np.where(np.abs(gaps) <= hair, 0, np.sign(gaps)).astype(np.int8)


def _difference(value: float, drawn: Floats, level: float) -> Difference:
    around = stats.resampled_interval(float(value), drawn, None, level, "percentile")
    return Difference(float(value), around.low, around.high, stats.sign_change(drawn))


def place_intervals(drawn: Floats, level: float) -> list[list[tuple[float, float]]]:
    """Return the limits of every model's place under every setting, by percentiles.

    Args:
        drawn: (resamples, settings, models), higher being better.
        level: of the intervals.
    """
    made = []
    for setting in drawn.swapaxes(0, 1):
        better, tied = (
            test(setting[:, None, :], setting[:, :, None]).sum(axis=-1, dtype=np.int64)
            for test in (np.greater, np.equal)
        )
        ends = ((1 - level) / 2, (1 + level) / 2)
        # A model ties with itself.
        low, high = np.quantile(1 + better + (tied - 1) / 2, ends, axis=0, method="nearest").tolist()
        made.append(list(zip(low, high, strict=True)))
    return made


def order_notes(models: int) -> list[str]:
    """Return what so few models cannot show."""
    pairs = models * (models - 1) // 2
    if models == 2:
        return [
            "Two models have one pair, so that tau is 1 (same order) or −1 (swapped) and nothing between: its interval "
            "can only be one of the two, or both, which means that these queries cannot tell. The share of resamples "
            "in the same order says more."
        ]
    if models < FEW:
        return [
            f"{models} models have {pairs} pairs, so that tau moves in steps of {2 / pairs:.2f}. The intervals are for "
            f"these models, over other queries: whether a setting reorders models in general cannot be told from fewer "
            f"than {FEW} models."
        ]
    return []
