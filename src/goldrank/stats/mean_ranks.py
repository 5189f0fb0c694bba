"""Compare the means of several models over several tasks: simultaneous tests, rank intervals and Bradley-Terry.

The rank of a model is uncertain in a way that the percentiles of resampled ranks do not show: where models are close,
the observed order is largely chance, and resampling repeats it [1]_ [2]_. Ranks are therefore derived from tests of all
pairs of models that hold together with probability 1 - alpha. A model ranks below each one that is significantly
better, and above each one that is significantly worse; if all tests are right, the interval between contains its true
rank [2]_ [3]_.

References:
    .. [1] P. Hall, H. Miller, "Using the bootstrap to quantify the authority of an empirical ranking", Annals of
       Statistics 37 (2009), 3929-3959.
    .. [2] M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm, "Inference for ranks with applications to mobility across
       neighbourhoods and academic achievement across countries", Review of Economic Studies 91 (2024), 476-518.
    .. [3] M. Klein, T. Wright, J. Wieczorek, "A joint confidence region for an overall ranking of populations", JRSS C
       69 (2020), 589-606.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError
from goldrank.stats.intervals import Interval
from goldrank.stats.resampling import Floats

FEWEST_TASKS = 3
"""The smallest number of tasks that can be resampled."""
# A standard error below this share of the largest value is rounding: the models differ by a constant.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class TaskSample:
    """The values of all models on one task, and the same values over resamples of its queries."""

    values: Floats
    """(models,), where higher is better."""
    replicates: Floats
    """(resamples, models): all models over the same resamples. May have no rows if tasks are resampled."""
    size: int
    """The number of queries."""


@dataclass(frozen=True, eq=False)
class MeanComparison:
    """The means of models over tasks, and all pairs of models tested together."""

    means: Floats
    intervals: list[Interval]
    """Of each mean by itself."""
    adjusted: Floats
    """(models, models) p-values, adjusted for all pairs."""
    low: Floats
    """(models, models) lower limits of the mean of the row less that of the column, for all pairs together; NaN if the
    difference does not vary."""
    high: Floats
    best_ranks: NDArray[np.intp]
    """(models,) the smallest rank that the tests allow; 1 is best."""
    worst_ranks: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _Deviations:
    """Deviations of the means from their expected values, and how much is known of their size."""

    draws: Floats
    """(resamples, models); their mean square is the variance of the mean of a model."""
    variances: Floats
    """(parts, models, models) covariances of the draws; the parts add up."""
    freedom: Floats
    """(parts,) degrees of freedom of each part."""

    def degrees(self, contrast: Floats) -> float:
        """Return the degrees of freedom of the variance of a linear contrast, by Welch and Satterthwaite."""
        parts = np.maximum(np.einsum("i,tij,j->t", contrast, self.variances, contrast), 0.0)
        total = float(parts.sum())
        return float(self.freedom.min()) if total == 0 else total**2 / float((parts**2 / self.freedom).sum())


def compare_means(
    samples: Sequence[TaskSample], *, resample_tasks: bool = False, alpha: float = 0.05, level: float = 0.95
) -> MeanComparison:
    """Compare the means of models over tasks, and bound their ranks.

    Each pair of models is tested by the difference of its means over its standard error. The error is the spread of the
    difference over the resamples of queries within tasks, in which the models stay paired, and its degrees of freedom
    are those of Welch and Satterthwaite. The p-values of the t distribution are adjusted for all pairs by Bonferroni's
    method, whose critical value the simultaneous intervals of the differences share. A joint bootstrap of the most
    extreme pair would be little sharper (3.0 instead of 3.1 standard errors for eight models), but it depends on the
    estimated correlations of all pairs, and falls short of its level where there are few queries or tasks.

    With *resample_tasks*, the tasks are a random sample of all tasks of interest. The standard error is then that of
    resampling tasks, with one degree of freedom less than there are tasks. The values of tasks vary by their queries
    too, which are therefore not resampled a second time.

    Args:
        samples: One per task, with the models in the same order.
        resample_tasks: Whether tasks are resampled instead of the queries within them.
        alpha: The probability that any pair of equal models is called different.
        level: The level of the interval of each mean.

    >>> random = np.random.default_rng(0)
    >>> values = np.array([0.7, 0.5, 0.49])
    >>> samples = [TaskSample(values, values + random.normal(0, 0.02, (999, 3)), 50) for _ in range(4)]
    >>> result = compare_means(samples)
    >>> result.best_ranks.tolist(), result.worst_ranks.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    from scipy.special import stdtr, stdtrit

    values = np.array([sample.values for sample in samples])
    deviations = _deviations(samples, values, resample_tasks=resample_tasks)
    means, draws = values.mean(axis=0), deviations.draws
    models, scale = len(means), float(np.abs(values).max())
    difference, error, freedom = means[:, None] - means, np.zeros((models, models)), np.ones((models, models))
    for first in range(models):
        for second in range(first + 1, models):
            spread = math.sqrt(float(np.mean((draws[:, first] - draws[:, second]) ** 2)))
            if spread > _ROUNDING * scale:
                contrast = np.zeros(models)
                contrast[[first, second]] = 1, -1
                error[first, second] = error[second, first] = spread
                freedom[first, second] = freedom[second, first] = deviations.degrees(contrast)
    pairs, varies = models * (models - 1) / 2, error > 0
    t = np.divide(np.abs(difference), error, out=np.zeros_like(error), where=varies)
    adjusted = np.where(varies, np.minimum(2 * pairs * stdtr(freedom, -t), 1.0), 1.0)
    # A difference that is the same on every query has no standard error: a sign test instead.
    units = len(samples) if resample_tasks else sum(sample.size for sample in samples)
    constant = ~varies & (np.abs(difference) > _ROUNDING * scale)
    adjusted[constant] = min(1.0, pairs * 2.0 ** (1 - units))
    half = np.where(varies, -stdtrit(freedom, alpha / 2 / pairs) * error, math.nan)
    better = (adjusted <= alpha) & (difference > 0)
    return MeanComparison(
        means,
        _intervals(means, draws, deviations, level),
        adjusted,
        difference - half,
        difference + half,
        1 + better.sum(axis=0),
        models - better.sum(axis=1),
    )


def mean_intervals(
    samples: Sequence[TaskSample],
    *,
    derivative: Floats | None = None,
    centre: Floats | None = None,
    resample_tasks: bool = False,
    level: float = 0.95,
) -> list[Interval]:
    """Return the interval of the mean over tasks of each model, by itself.

    Args:
        samples, resample_tasks, level: As in `compare_means`.
        derivative: (models, models), if the intervals are those of a function of the means, by the delta method.
        centre: (models,) the values of that function.
    """
    values = np.array([sample.values for sample in samples])
    deviations = _deviations(samples, values, resample_tasks=resample_tasks)
    draws = deviations.draws if derivative is None else deviations.draws @ derivative.T
    return _intervals(values.mean(axis=0) if centre is None else centre, draws, deviations, level)


def _intervals(centre: Floats, draws: Floats, deviations: _Deviations, level: float) -> list[Interval]:
    from scipy.special import stdtrit

    limits = []
    for model, (value, column) in enumerate(zip(centre.tolist(), draws.T, strict=True)):
        freedom = deviations.degrees(np.eye(len(centre))[model])
        half = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(float(np.mean(column**2)))
        limits.append(Interval(value - half, value + half, level, "t"))
    return limits


def _deviations(samples: Sequence[TaskSample], values: Floats, *, resample_tasks: bool) -> _Deviations:
    tasks = len(samples)
    if resample_tasks:
        if tasks < FEWEST_TASKS:
            raise InputError(
                f"tasks cannot be resampled if there are {tasks}, because too little is known of how they vary",
                remedy=f"use at least {FEWEST_TASKS} tasks, or resample the queries within tasks",
            )
        # The mean square of these is the variance of the mean, without any random numbers.
        draws = (values - values.mean(axis=0)) / math.sqrt(tasks - 1)
        return _Deviations(draws, (draws.T @ draws / tasks)[None], np.array([tasks - 1.0]))
    if small := [sample.size for sample in samples if sample.size < 2]:
        raise InputError(
            f"a task has {small[0]} values to resample", remedy="use tasks with at least two queries, or resample tasks"
        )
    # A resample varies less than the data by a factor of (n - 1) / n.
    parts = [
        (sample.replicates - sample.values) * math.sqrt(sample.size / (sample.size - 1)) / tasks for sample in samples
    ]
    draws = np.sum(parts, axis=0)
    draws = draws[~np.isnan(draws).any(axis=1)]  # a resample may have no query for which a metric is defined
    if not len(draws):
        raise InputError("in no resample does every model have a value", remedy="choose another metric")
    covariances = np.array([np.nan_to_num(part).T @ np.nan_to_num(part) / len(part) for part in parts])
    return _Deviations(draws, covariances, np.array([sample.size - 1.0 for sample in samples]))


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """The strengths of models that met each other equally often."""

    strengths: Floats
    """Natural logarithms of the odds, with mean 0: model i beats j with the probability 1 / (1 + exp(s_j - s_i))."""
    derivative: Floats
    """(models, models) of the strengths by the win rates."""
    regularised: bool
    """Whether a tied contest was added to each pair, because no finite strengths fit the contests."""


def bradley_terry(win_rates: Floats, contests: int) -> BradleyTerry:
    """Fit the model of Bradley and Terry by maximum likelihood, with ties as half a win for both [1]_.

    Where all models meet equally often, the likelihood depends on the win rates only. If some models win every contest
    with all others, the likelihood has no maximum [2]_; a tied contest between each two models is then added.

    Args:
        win_rates: (models,) the share of its contests that each model wins; their mean is 1/2.
        contests: How often each two models met, by which the added contest is weighted.

    References:
        .. [1] R. A. Bradley, M. E. Terry, "Rank analysis of incomplete block designs: the method of paired
           comparisons", Biometrika 39 (1952), 324-345.
        .. [2] L. R. Ford, "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64
           (1957), 28-33.

    >>> bradley_terry(np.array([0.75, 0.25]), 100).strengths.round(4).tolist()  # half of log 3
    [0.5493, -0.5493]
    >>> bradley_terry(np.array([1.0, 0.0]), 9).regularised
    True
    """
    models = len(win_rates)
    totals = np.sort(win_rates) * (models - 1)
    least = np.arange(1, models) * np.arange(models - 1) / 2  # what the weakest models win from each other
    regularised = bool((np.cumsum(totals)[:-1] <= least + 1e-9).any())
    if regularised:
        win_rates = (win_rates * contests + 0.5) / (contests + 1)
    strengths = np.zeros(models)
    for _ in range(200):
        expected = 1 / (1 + np.exp(strengths - strengths[:, None]))
        weights = expected * (1 - expected)
        np.fill_diagonal(weights, 0.0)
        information = np.diag(weights.sum(axis=1)) - weights
        # The information has rank models - 1; the constant makes the mean of the strengths 0.
        inverse = np.linalg.inv(information + 1 / models) - 1 / models
        step = inverse @ ((models - 1) * win_rates - (expected.sum(axis=1) - 0.5))
        strengths = strengths + step * min(1.0, 1 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-12:
            break
    return BradleyTerry(strengths, np.asarray(inverse * (models - 1), np.float64), regularised)
