"""Decide whether a run is worse than another: not worse within a margin, worse, or cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Literal

import numpy as np

from goldrank import stats
from goldrank.comparing import Pair, pair_scores
from goldrank.errors import DataWarning, InputError
from goldrank.hits import Floats
from goldrank.metrics import Metric
from goldrank.presentation import Result
from goldrank.scoring import Bootstrap, Score, Scores

Answer = Literal["not_worse", "worse", "cannot_tell"]
EXIT_CODES: dict[Answer, int] = {"not_worse": 0, "worse": 1, "cannot_tell": 3}
MARGIN = 0.01
"""The margin of metrics between 0 and 1, unless another is given."""
_POWER = 0.8


@dataclass(frozen=True)
class Check:
    """One metric on all queries or on one slice: the difference, both tests, and the answer."""

    metric: str
    slice: str
    """The slice; empty for all queries."""
    queries: int
    base: float
    """NaN, as the next two, if no query of the slice is scored yet."""
    new: float
    difference: float
    """New minus base."""
    interval: stats.Interval | None
    """Of the difference; not corrected for the number of checks."""
    margin: float
    """By how much the new run may be worse."""
    p_worse: float
    """Of the test for a loss, after correction; 1 if the new run is not lower."""
    p_not_worse: float
    """Of the test for a loss smaller than the margin, after correction; 1 if the loss is not smaller."""
    answer: Answer
    needed: int | None
    """About how many queries would decide; None if it is decided, or if the spread is not known."""
    wins: int
    ties: int
    losses: int

    def is_lower(self, alpha: float) -> bool:
        """Return True if the new run is significantly worse, also if it is so by less than the margin."""
        return self.p_worse <= alpha


@dataclass(frozen=True)
class Threshold:
    """The smallest value that a metric must have on these queries; the largest where lower is better."""

    metric: str
    limit: float
    value: float
    interval: stats.Interval | None
    answer: Answer


@dataclass(frozen=True, repr=False)
class GateResult(Result):
    """The answer of a gate, and the checks and thresholds that it follows from."""

    base: str
    new: str
    checks: tuple[Check, ...]
    thresholds: tuple[Threshold, ...]
    alpha: float
    scores: Scores
    """The scores of the new run."""
    cannot_tell: str | None = None
    """Whether the answer "cannot tell" is to ``pass`` or to ``fail``; None leaves it the exit code 3."""
    planned: int | None = None
    """The planned number of queries of a sequential test; None for a test of fixed size."""
    notes: tuple[str, ...] = ()
    """What was not checked, and why."""
    warnings: tuple[DataWarning, ...] = ()

    @property
    def parts(self) -> tuple[Check | Threshold, ...]:
        """The checks, and then the thresholds."""
        return (*self.checks, *self.thresholds)

    @cached_property
    def answer(self) -> Answer:
        """``worse`` if any check or threshold is, else ``cannot_tell`` if any check is, else ``not_worse``."""
        answers = {part.answer for part in self.parts}
        return "worse" if "worse" in answers else "cannot_tell" if "cannot_tell" in answers else "not_worse"

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0 not worse, 1 worse, 3 cannot tell."""
        if self.answer == "cannot_tell" and self.cannot_tell is not None:
            return 0 if self.cannot_tell == "pass" else 1
        return EXIT_CODES[self.answer]

    @property
    def passed(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code == 0

    @cached_property
    def sentence(self) -> str:
        """The answer in a sentence."""
        # The wording belongs to a higher layer, so it is loaded by its name.
        text: str = import_module("goldrank.reporting.text.gate").sentence(self)
        return text


def find_margins(metrics: Sequence[Metric], margin: float | Mapping[str, float]) -> dict[str, float]:
    """Return the margin of each metric.

    Args:
        metrics: The metrics.
        margin: One for all metrics between 0 and 1, or one for each named metric.

    Raises:
        InputError: A margin is not a number from 0 up, is of no metric, or is missing for a metric of another range.
    """
    named = {str(Metric.parse(name)): value for name, value in margin.items()} if isinstance(margin, Mapping) else {}
    if unknown := set(named) - {str(metric) for metric in metrics}:
        raise InputError(f"there is a margin of {min(unknown)}, which is not checked", remedy="add it to the metrics")
    usual = MARGIN if isinstance(margin, Mapping) else margin
    margins = {}
    for metric in metrics:
        name, unit = str(metric), metric.definition.range == "[0, 1]"
        if name not in named and not unit:
            raise InputError(
                f"{name} is not between 0 and 1, so it needs a margin of its own",
                remedy=f"give one in its unit, as in --margin {name}=0.5, or leave the metric out",
            )
        margins[name] = float(named.get(name, usual))
        if not 0 <= margins[name] < math.inf:
            raise InputError(f"the margin {margins[name]:g} of {name} is not a number from 0 up", remedy="give 0.01")
    return margins


def check_runs(
    base: Mapping[str, Score],
    new: Mapping[str, Score],
    margins: Mapping[str, float],
    slices: Mapping[str, Sequence[str]],
    alpha: float,
    bootstrap: Bootstrap,
    planned: Mapping[str, int] | None = None,
) -> tuple[Check, ...]:
    """Compare two runs by every metric on every slice, and correct for the number of checks.

    Each check has two tests of the paired differences, both two-sided at level *alpha*: whether their mean is not 0, as
    in `compare`, and whether their mean is not -margin. The new run is *not worse* if its mean is significantly above
    -margin, else *worse* if it is significantly below 0, else nothing can be told. Holm's method corrects each of the
    two families of tests over all checks.

    Args:
        base, new: The scores of both runs over the same queries in the same order.
        margins: By how much each metric may be worse; names the metrics.
        slices: The scored queries of each slice; the name of all queries is "". A slice without any cannot be told yet.
            It counts in the correction, so that the tests of the others are the same at every look.
        alpha: The level of both tests.
        bootstrap: The settings of intervals, and the seed of the randomisation test.
        planned: The planned number of queries of each slice, for tests that are valid at every look.
    """
    family = [(metric, name) for name in slices for metric in margins]
    cells = [(metric, name) for metric, name in family if slices[name]]
    pairs: list[Pair] = []
    losses: list[Floats] = []  # differences in the direction in which more is better
    values: list[tuple[float, float]] = []
    for metric, name in cells:
        a, b = (_restrict(scores[metric], slices[name]) for scores in (base, new))
        pair, differences = pair_scores(metric, a, b, "base", "new", "randomisation", bootstrap.seed)
        differences = _fit_differences(a, differences, pair.note, sequential=planned is not None)
        pairs.append(pair)
        values.append((a.value, b.value))
        losses.append(differences if a.metric.definition.direction == "higher" else 0.0 - differences)
    shifted = [column + margins[metric] for (metric, _), column in zip(cells, losses, strict=True)]
    if planned is None:
        worse = _p_values(losses, -1, bootstrap.seed)
        not_worse = _p_values(shifted, 1, bootstrap.seed)
        intervals = [bootstrap.intervals([stats.Sample(column)])[0] for column in losses]
    else:
        level, ends = alpha / (2 * len(family)), [planned[name] for _, name in cells]
        worse = [_anytime_p(-column, -1.0, end, level) for column, end in zip(losses, ends, strict=True)]
        not_worse = [
            _anytime_p(column, margins[metric] - 1.0, end, level)
            for (metric, _), column, end in zip(cells, shifted, ends, strict=True)
        ]
        intervals = [
            stats.confidence_sequence(column, planned=end, level=bootstrap.level)
            for column, end in zip(losses, ends, strict=True)
        ]
    adjusted = (_adjust(p_values, len(family)) for p_values in (worse, not_worse))
    checks = {}
    for at, (cell, p_worse, p_not_worse) in enumerate(zip(cells, *adjusted, strict=True)):
        metric, name = cell
        answer: Answer = "not_worse" if p_not_worse <= alpha else "worse" if p_worse <= alpha else "cannot_tell"
        undecided = answer == "cannot_tell"
        pair, interval = pairs[at], intervals[at]
        if new[metric].metric.definition.direction == "lower" and interval is not None:
            interval = replace(interval, low=0.0 - interval.high, high=0.0 - interval.low)
        checks[cell] = Check(
            metric=metric,
            slice=name,
            queries=pair.queries,
            base=values[at][0],
            new=values[at][1],
            difference=pair.difference,
            interval=interval,
            margin=margins[metric],
            p_worse=p_worse,
            p_not_worse=p_not_worse,
            answer=answer,
            needed=queries_needed(losses[at], margins[metric], alpha / len(family)) if undecided else None,
            wins=pair.wins,
            ties=pair.ties,
            losses=pair.losses,
        )
    return tuple(checks.get((metric, name)) or _unseen(metric, name, margins[metric]) for metric, name in family)


def _adjust(p_values: Sequence[float], family: int) -> list[float]:
    """Return the p-values after Holm's correction for a family, of which the other tests have no data yet."""
    padded = [*p_values, *[1.0] * (family - len(p_values))]
    adjusted: list[float] = stats.holm(np.array(padded)).tolist()
    return adjusted[: len(p_values)]


def _unseen(metric: str, name: str, margin: float) -> Check:
    """Return the check of a slice without any scored query."""
    unknown = math.nan
    return Check(metric, name, 0, unknown, unknown, unknown, None, margin, 1.0, 1.0, "cannot_tell", None, 0, 0, 0)


def _restrict(score: Score, queries: Sequence[str]) -> Score:
    """Return the score of some of its queries."""
    if len(queries) == len(score.queries):
        return score
    wanted = set(queries)
    chosen = np.array([query in wanted for query in score.queries])
    weights = None if score.weights is None else score.weights[chosen]
    names = [query for query in score.queries if query in wanted]
    return replace(score, queries=names, values=score.values[chosen], weights=weights)


def _fit_differences(score: Score, differences: Floats | None, note: str, *, sequential: bool) -> Floats:
    """Return the differences; raise InputError if they cannot decide a gate."""
    definition = score.metric.definition
    if definition.direction == "neither":
        reason = "no direction of it is the better one"
    elif differences is None or definition.aggregate == "geometric":
        reason = note
    elif not len(differences):
        reason = "it is undefined for every query"
    elif sequential and (definition.range != "[0, 1]" or score.weights is not None):
        reason = "a sequential test needs one value between 0 and 1 for each query"
    else:
        return differences
    raise InputError(
        f"{score.metric} cannot decide a gate: {reason}", remedy="choose other metrics with -M, such as ndcg@10"
    )


def _p_values(columns: Sequence[Floats], sign: int, seed: int) -> list[float]:
    """Return two-sided p-values for a mean with this sign; 1 for a mean with the other sign."""
    results = stats.randomisation_tests(columns, seed=seed)
    return [result.p if sign * result.statistic > 0 else 1.0 for result in results]


def _anytime_p(column: Floats, lowest: float, planned: int, level: float) -> float:
    """Return a p-value of the mean of *column* above 0 that is valid at every look, doubled as a two-sided one."""
    if lowest >= 0:  # the margin is the whole range
        return 0.0
    return min(1.0, 2 * math.exp(-float(stats.log_capital(column, lowest, planned=planned, alpha=level))))


def queries_needed(differences: Floats, margin: float, alpha: float) -> int | None:
    """Return how many queries would decide with probability 0.8 if the true difference is the observed one.

    >>> queries_needed(np.tile([0.2, -0.2], 50), margin=0.01, alpha=0.05)
    3172
    """
    from statistics import NormalDist

    count = len(differences)
    if count < 2:
        return None
    mean, spread = float(np.mean(differences)), float(np.std(differences, ddof=1))
    distance = max(-mean, mean + margin)  # to 0 from below, or to -margin from above
    if not distance > 0:
        return None
    quantiles = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(_POWER)
    return max(count + 1, math.ceil((quantiles * spread / distance) ** 2))


def check_thresholds(scores: Scores, limits: Mapping[str, float]) -> tuple[Threshold, ...]:
    """Compare the value of each metric over all queries with its limit; no test decides, because the queries are these.

    Raises:
        InputError: A metric has no better direction, or no value.
    """
    thresholds = []
    for name, limit in limits.items():
        score = scores[name]
        direction, value = score.metric.definition.direction, score.value
        if direction == "neither" or math.isnan(value):
            why = "no direction of it is the better one" if direction == "neither" else "it has no value here"
            raise InputError(f"{name} cannot have a threshold: {why}", remedy="choose another metric")
        reached = value >= limit if direction == "higher" else value <= limit
        answer: Answer = "not_worse" if reached else "worse"
        thresholds.append(Threshold(name, limit, value, score.interval, answer))
    return tuple(thresholds)
