"""The result of a meta-evaluation: correlations, their means, and comparisons of evaluators."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goldrank.analysis.meta.table import Table
from goldrank.stats import Interval
from goldrank.stats.resampling import Floats

Extreme = tuple[float, str]
"""A value, and the model that was left out for it."""


@dataclass(frozen=True)
class CorrelationCell:
    """The correlation of one intrinsic with one downstream score."""

    intrinsic: str
    downstream: str
    value: float
    interval: Interval | None
    models: int
    """Those that have both values."""
    p: float
    """By permutation, two-sided."""
    adjusted: float
    """The same after Holm over all cells."""
    lowest: Extreme
    """Of the correlations with one model left out."""
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
    """How much better one evaluator predicts than another, in the mean over the downstream tasks of both."""

    first: str
    second: str
    difference: float
    interval: Interval
    p: float
    """From the bootstrap over models, two-sided."""
    adjusted: float
    """The same after Holm over all pairs of evaluators."""
    williams: dict[str, float]
    """By downstream task, the p-value of Williams' test, not corrected."""

    def seen_from(self, name: str) -> EvaluatorDifference:
        """The same difference with *name* as the first."""
        if name == self.first:
            return self
        around = self.interval
        turned = Interval(-around.high, -around.low, around.level, around.method)
        return EvaluatorDifference(
            self.second, self.first, -self.difference, turned, self.p, self.adjusted, self.williams
        )


@dataclass(frozen=True, eq=False)
class MetaResult:
    """Intrinsic evaluators against downstream scores, over models."""

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
    """Evaluators whose values were taken with the opposite sign."""
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
        """What an evaluator or downstream score gives the models, higher being better."""
        column = self.table.column(evaluator)
        values = np.array([column[self.table.models.index(model)] for model in self.models])
        return -values if evaluator in self.lower else values

    def against(self, name: str) -> list[EvaluatorDifference]:
        """One evaluator compared with each of the others, in the order of their means."""
        found = {
            other: one.seen_from(name)
            for one in self.differences
            for other in (one.first, one.second)
            if name in (one.first, one.second) and other != name
        }
        return [found[other] for other in self.ranked if other in found]

    def verdicts(self) -> list[str]:
        """What the numbers say, in sentences."""
        best = self.overall[self.ranked[0]]
        if math.isnan(best.mean):
            return ["No correlation is defined."]
        said = [
            f"{best.intrinsic} follows the downstream scores best: mean {self.kind.capitalize()} {signed(best.mean)} "
            f"{bounds(best.interval)} over {best.tasks} task{'s' * (best.tasks > 1)} and {len(self.models)} models."
        ]
        if best.interval is not None and best.interval.low <= 0 <= best.interval.high:
            said.append("Its interval includes 0: these models cannot show that it predicts anything.")
        compared = self.against(best.intrinsic)
        worse = [one.second for one in compared if one.adjusted < self.alpha]
        open_ = [one.second for one in compared if not one.adjusted < self.alpha]
        if worse:
            said.append(f"It is better than {_few(worse)} (bootstrap over models, Holm, p < {self.alpha:g}).")
        if open_:
            said.append(f"It cannot be told from {_few(open_)}.")
        return said


def signed(value: float, digits: int = 2) -> str:
    """A correlation with a proper minus.

    >>> signed(-0.123), signed(0.5), signed(-0.001), signed(float("nan"))
    ('−0.12', '0.50', '0.00', '–')
    """
    if math.isnan(value):
        return "–"
    written = f"{value:.{digits}f}"
    return written.lstrip("-") if float(written) == 0 else written.replace("-", "−")


def bounds(interval: Interval | None) -> str:
    """An interval in brackets, or nothing."""
    return "" if interval is None else f"[{signed(interval.low)}, {signed(interval.high)}]"


def _few(names: list[str], limit: int = 6) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def or_lowest(value: float) -> float:
    """The value, or what is below any correlation where it is undefined."""
    return -2.0 if math.isnan(value) else value
