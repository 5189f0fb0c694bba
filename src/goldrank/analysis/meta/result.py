"""The result of a meta-evaluation: correlations, their means, and comparisons of evaluators."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from goldrank.analysis.meta.table import Table
from goldrank.errors import list_first
from goldrank.presentation import Result
from goldrank.stats import Interval
from goldrank.stats.resampling import Floats

_MOST_NAMES = 6
Extreme = tuple[float, str]
"""A value, and the model that it was computed without."""


@dataclass(frozen=True)
class CorrelationCell:
    """The correlation of one intrinsic evaluator with one downstream score."""

    intrinsic: str
    downstream: str
    value: float
    interval: Interval | None
    models: int
    """The number of models that have both values."""
    p: float
    """By permutation, two-sided."""
    adjusted: float
    """The same after Holm over all cells."""
    lowest: Extreme
    """The lowest correlation with one model left out."""
    highest: Extreme


@dataclass(frozen=True)
class Overall:
    """The mean correlation of an intrinsic evaluator with the downstream scores."""

    intrinsic: str
    mean: float
    interval: Interval | None
    tasks: int
    lowest: Extreme
    highest: Extreme


@dataclass(frozen=True)
class EvaluatorDifference:
    """The difference of two evaluators' mean correlations, over the downstream tasks that both have."""

    first: str
    second: str
    difference: float
    interval: Interval
    p: float
    """From the bootstrap over models, two-sided."""
    adjusted: float
    """The same after Holm over all pairs of evaluators."""
    williams: dict[str, float]
    """The p-value of Williams' test for each downstream task, not corrected."""

    def seen_from(self, name: str) -> EvaluatorDifference:
        """Return the same difference with *name* as the first evaluator."""
        if name == self.first:
            return self
        around = self.interval
        mirrored = Interval(-around.high, -around.low, around.level, around.method)
        return replace(self, first=self.second, second=self.first, difference=-self.difference, interval=mirrored)


@dataclass(frozen=True, eq=False, repr=False)
class MetaResult(Result):
    """The correlations of intrinsic evaluators with downstream scores, over models."""

    table: Table
    models: list[str]
    kind: str
    intrinsic: list[str]
    downstream: list[str]
    cells: dict[tuple[str, str], CorrelationCell]
    overall: dict[str, Overall]
    differences: list[EvaluatorDifference]
    families: dict[str, str]
    clustered: bool
    lower: tuple[str, ...]
    """Evaluators for which a lower value is better; their values were negated."""
    missing: int
    warnings: tuple[str, ...]
    resamples: int
    seed: int
    level: float
    alpha: float

    @property
    def ranked(self) -> list[str]:
        """The intrinsic evaluators, the one with the highest mean correlation first."""
        return sorted(self.intrinsic, key=lambda name: -or_lowest(self.overall[name].mean))

    def oriented(self, evaluator: str) -> Floats:
        """Return the values of an evaluator or downstream score by model, negated if lower is better."""
        column = self.table.column(evaluator)
        values = np.array([column[self.table.models.index(model)] for model in self.models])
        return -values if evaluator in self.lower else values

    def against(self, name: str) -> list[EvaluatorDifference]:
        """Return the comparisons of one evaluator with the others, in the order of `ranked`."""
        differences = {
            other: difference.seen_from(name)
            for difference in self.differences
            for other in (difference.first, difference.second)
            if name in (difference.first, difference.second) and other != name
        }
        return [differences[other] for other in self.ranked if other in differences]

    def verdicts(self) -> list[str]:
        """Return the conclusions as sentences."""
        best = self.overall[self.ranked[0]]
        if math.isnan(best.mean):
            return ["No correlation is defined."]
        sentences = [
            f"{best.intrinsic} follows the downstream scores best: mean {self.kind.capitalize()} {signed(best.mean)} "
            f"{bounds(best.interval)} over {best.tasks} task{'s' * (best.tasks > 1)} and {len(self.models)} models."
        ]
        if best.interval is not None and best.interval.low <= 0 <= best.interval.high:
            sentences.append("Its interval includes 0: these models cannot show that it predicts anything.")
        compared = self.against(best.intrinsic)
        worse = [difference.second for difference in compared if difference.adjusted < self.alpha]
        undecided = [difference.second for difference in compared if not difference.adjusted < self.alpha]
        if worse:
            sentences.append(
                f"It is better than {list_first(worse, _MOST_NAMES)} (bootstrap over models, Holm, p < {self.alpha:g})."
            )
        if undecided:
            sentences.append(f"It cannot be told from {list_first(undecided, _MOST_NAMES)}.")
        return sentences


def signed(value: float, digits: int = 2) -> str:
    """Format a correlation with a minus sign instead of a hyphen.

    >>> signed(-0.123), signed(0.5), signed(-0.001), signed(float("nan"))
    ('−0.12', '0.50', '0.00', '–')
    """
    if math.isnan(value):
        return "–"
    written = f"{value:.{digits}f}"
    return written.lstrip("-") if float(written) == 0 else written.replace("-", "−")


def bounds(interval: Interval | None) -> str:
    """Format an interval in brackets; empty for None."""
    return "" if interval is None else f"[{signed(interval.low)}, {signed(interval.high)}]"


def or_lowest(value: float) -> float:
    """Return the value, or −2, which is below any correlation, if it is undefined; for sorting."""
    return -2.0 if math.isnan(value) else value
