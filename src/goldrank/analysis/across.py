"""Compare models across tasks by the main metric of each task: means, ranks, win rates, and groups of equal models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Literal
from zlib import crc32

import numpy as np

from goldrank import stats
from goldrank.analysis.headline import Source, resample_sources, stored_source
from goldrank.comparing import Comparison, group_alike
from goldrank.errors import InputError, unknown_name
from goldrank.masked.scoring.level_scores import compare_readings
from goldrank.metrics import Conventions, Metric
from goldrank.presentation import Result
from goldrank.runs.masked import score_stored_run
from goldrank.runs.run import Leaderboards, MeasurementLeaderboard, Measures, RankingLeaderboard
from goldrank.runs.stored_scores import (
    comparable_groups,
    compare_measured,
    compare_stored,
    find_runs,
    label_runs,
)
from goldrank.scoring import Bootstrap, Metrics, Score, Scores, best_first, conventions_of
from goldrank.stats import Interval
from goldrank.stats.correlation import mean_ranks
from goldrank.stats.mean_ranks import TaskSample, bradley_terry, compare_means, mean_intervals
from goldrank.stats.resampling import Floats
from goldrank.store import Store, StoredRun
from goldrank.tasks.measurement import stored_values

Incomplete = Literal["error", "models", "tasks"]
INCOMPLETE = {
    "error": "refuse to compare",
    "models": "leave out models that lack a task",
    "tasks": "leave out tasks that a model lacks",
}
"""What is done if a model has no result on a task."""
_HEADLINE_OF_MASKS = "hits@1"


@dataclass(frozen=True)
class TaskValue:
    """The main metric of a model on a task."""

    value: float
    interval: Interval | None
    source: Source | None = field(default=None, repr=False, compare=False)
    """What it is computed from; None if only the value is known."""


@dataclass(frozen=True, eq=False)
class TaskScores:
    """The main metric of every model on one task, and which models its own test cannot tell from the best."""

    task: str
    metric: str
    profile: str
    """The conventions, in a word; empty for a measurement."""
    direction: str
    """``higher``, ``lower`` or ``neither`` is better."""
    values: Mapping[str, TaskValue]
    """By the name of the model, best first."""
    leader: str | None = None
    """The best of several models that can be compared; None if no direction is better."""
    alike: frozenset[str] = frozenset()
    """The models that the test of the task cannot tell from the leader."""
    comparison: Comparison | None = None
    tested: bool = False
    alpha: float = 0.05
    bootstrap: Bootstrap = field(default_factory=Bootstrap)

    @classmethod
    def of_comparison(cls, task: str, compared: Comparison) -> TaskScores:
        """Return the first metric of compared runs."""
        first = next(iter(compared.scores.values()))
        metric = str(first.metrics[0])
        direction, order = first.metrics[0].definition.direction, compared.order(metric)
        leader = order[0] if len(order) > 1 and direction != "neither" else None
        beaten = () if leader is None else compared.better_than(metric, leader)
        alike = frozenset(run for run in order if run not in (leader, *beaten)) if leader is not None else frozenset()
        scores = {name: run_scores[metric] for name, run_scores in best_first(compared.scores).items()}
        values = {name: TaskValue(score.value, score.interval, score) for name, score in scores.items()}
        return cls(
            task, metric, first.profile.name, direction, values, leader, alike, compared, leader is not None,
            compared.alpha, first.bootstrap,
        )  # fmt: skip

    @classmethod
    def of_measurements(
        cls, task: str, runs: Mapping[str, StoredRun], p_values: Mapping[tuple[str, str], float], measures: Measures
    ) -> TaskScores:
        """Return the headline of measured runs by name, with the p-values of pairs, the better run first."""
        metric = next(iter(next(iter(runs.values())).measured))
        measured = {name: stored_values(run).get(metric) for name, run in runs.items()}
        order = stats.best_first({name: None if entry is None else entry.value for name, entry in measured.items()})
        values = {
            name: TaskValue(entry.value, entry.interval, stored_source(runs[name]))
            for name in order
            if (entry := measured[name]) is not None and entry.value is not None
        }
        leader = order[0] if len(order) > 1 else None
        alike = frozenset(name for name in order[1:] if p_values.get((order[0], name), math.nan) > measures.alpha)
        return cls(
            task, metric, "", "higher", values, leader, alike, None, bool(p_values), measures.alpha, measures.bootstrap
        )

    @property
    def unfit(self) -> frozenset[str]:
        """The broken runs that cannot be compared."""
        return frozenset() if self.comparison is None else self.comparison.unfit

    @property
    def models(self) -> list[str]:
        """The models with a value that can be compared."""
        return [name for name, entry in self.values.items() if math.isfinite(entry.value) and name not in self.unfit]


@dataclass(frozen=True)
class Standing:
    """One model across tasks."""

    model: str
    mean: float | None
    """The mean over tasks; None if their metrics have no common scale."""
    interval: Interval | None
    rank: int
    """By the mean, or by the win rate if there is no mean."""
    best_rank: int
    worst_rank: int
    win_rate: float
    """The share of the other models that it beats on a query, in the mean over the queries of a task and over tasks."""
    win_rate_interval: Interval
    borda: float
    """The number of other models that it beats on a task, added up over tasks."""
    mean_rank: float
    """The mean of its ranks on the tasks."""
    strength: float
    """Its strength in the model of Bradley and Terry, fitted to the win rates."""
    strength_interval: Interval


@dataclass(frozen=True)
class AcrossPair:
    """Two models across tasks, the better one first."""

    better: str
    worse: str
    difference: float
    """Of the means, or of the win rates if there are no means."""
    low: float
    high: float
    """The limits of the difference, for all pairs together; NaN if the difference is the same on every query."""
    adjusted: float
    """The p-value after the correction for all pairs."""


@dataclass(frozen=True, eq=False, repr=False)
class AcrossComparison(Result):
    """Models across tasks: means, ranks with intervals, groups that the data cannot separate, and win rates."""

    tasks: tuple[TaskScores, ...]
    standings: tuple[Standing, ...]
    """Best first; empty if nothing can be compared, for the reason in ``reason``."""
    pairs: tuple[AcrossPair, ...]
    missing: tuple[tuple[str, str], ...]
    """Each model and task without a value."""
    left_out_models: tuple[str, ...]
    left_out_tasks: tuple[str, ...]
    resample_tasks: bool
    alpha: float
    bootstrap: Bootstrap
    regularised: bool = False
    """Whether the strengths are regularised, because some models win every contest with all others."""
    reason: str = ""

    @property
    def by_mean(self) -> bool:
        """Whether models are ranked by their means, and not by their win rates."""
        return bool(self.standings) and self.standings[0].mean is not None

    @property
    def compared_tasks(self) -> list[TaskScores]:
        """The tasks that the standings are computed from."""
        return [task for task in self.tasks if task.task not in self.left_out_tasks]

    @property
    def groups(self) -> list[list[str]]:
        """The largest groups of models that the data cannot separate, best first."""
        order = [standing.model for standing in self.standings]
        alike: dict[str, set[str]] = {model: set() for model in order}
        for pair in self.pairs:
            if pair.adjusted > self.alpha:
                alike[pair.better].add(pair.worse)
                alike[pair.worse].add(pair.better)
        return group_alike(order, alike)

    @property
    def first(self) -> list[str]:
        """The models that may be the best: those whose rank interval begins at 1."""
        return [standing.model for standing in self.standings if standing.best_rank == 1]


def compare_across(
    runs: Any,
    *,
    store: Store | str | PathLike[str] | None = None,
    labels: Mapping[str, str] | None = None,
    metrics: Metrics = None,
    profile: str | None = None,
    conventions: Conventions | Mapping[str, Any] | None = None,
    incomplete: Incomplete = "error",
    resample_tasks: bool = False,
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    **keywords: Any,
) -> AcrossComparison:
    """Compare models across tasks by the first metric of each task.

    Args:
        runs: Keys of stored runs, stored runs, or the result of `run`; or a mapping of tasks to the models on each with
            their `Scores`, or with plain numbers, where higher is better, if tasks are resampled.
        store: Where keys are looked up; by default the store of the runs, or that of ``$GOLDRANK_STORE``.
        labels: Names of models, each with what it stands for: a key or a model.
        metrics: The main metric of tasks that rank; by default the first metric of the runs of each task.
        profile, conventions, keywords: Of tasks that rank; None for the runs' own.
        incomplete: If a model has no result on a task: ``error``, leave out ``models`` that lack a task, or leave out
            ``tasks`` that a model lacks. A mean is never computed over different tasks.
        resample_tasks: Whether tasks are resampled instead of the queries within tasks, for a statement on tasks like
            these instead of on queries like those of these tasks.
        alpha: The probability that any two equal models are called different.
        bootstrap: The resamples of queries, and the level of intervals.

    Raises:
        InputError: The models cannot be compared.

    >>> published = {"sts": {"a": 0.71, "b": 0.62}, "sick": {"a": 0.68, "b": 0.61}, "trec": {"a": 0.90, "b": 0.79}}
    >>> result = compare_across(published, resample_tasks=True)
    >>> [(entry.model, round(entry.mean, 4), entry.best_rank, entry.worst_rank) for entry in result.standings]
    [('a', 0.7633, 1, 1), ('b', 0.6733, 2, 2)]
    """
    if incomplete not in INCOMPLETE:
        raise unknown_name("treatment of missing results", incomplete, INCOMPLETE, f"one of {', '.join(INCOMPLETE)}")
    changes = conventions_of(compare_across, conventions, keywords)
    names = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    measures = Measures(None if names is None else [str(name) for name in names], profile, changes, bootstrap, alpha)
    if isinstance(runs, Mapping):
        tasks = [_given_task(str(task), models, measures) for task, models in runs.items()]
    else:
        by_key, _ = find_runs(runs, store)
        tasks = stored_tasks(label_runs(by_key, labels or {}).values(), measures)
    result = compare_tasks(
        tasks, incomplete=incomplete, resample_tasks=resample_tasks, alpha=alpha, bootstrap=bootstrap
    )
    if result.reason:
        raise InputError(result.reason, remedy=_remedy(result))
    return result


def _remedy(result: AcrossComparison) -> str:
    if len(result.tasks) < 2:
        return "give runs of several tasks, or leave --across out"
    if result.missing:
        return "run what is missing, or leave out models or tasks (--incomplete models, --incomplete tasks)"
    return "leave out that task or choose another metric, or resample tasks (--resample-tasks)"


def _given_task(task: str, models: Mapping[str, Any] | Comparison, measures: Measures) -> TaskScores:
    from goldrank.comparing import compare_scores

    if isinstance(models, Comparison):
        return TaskScores.of_comparison(task, models)
    scores = {str(name): value for name, value in models.items() if isinstance(value, Scores)}
    if scores and len(scores) == len(models):
        compared = compare_scores(scores, alpha=measures.alpha, bootstrap=measures.bootstrap)
        return TaskScores.of_comparison(task, compared)
    try:
        numbers = {str(name): float(value) for name, value in models.items()}
    except (TypeError, ValueError):
        raise InputError(
            "a model has neither Scores nor a number", where=task, remedy="give the results of gr.score, or numbers"
        ) from None
    values = {name: TaskValue(numbers[name], None) for name in stats.best_first(numbers)}
    leader = next(iter(values), None)
    return TaskScores(task, "value", "", "higher", values, leader, alpha=measures.alpha, bootstrap=measures.bootstrap)


def stored_tasks(runs: Sequence[StoredRun] | Any, measures: Measures) -> list[TaskScores]:
    """Return the main metric of stored runs, for each task and data set."""
    groups = comparable_groups(list(runs))
    return [
        _stored_task(name, group, measures)
        for name, group in zip(number_tasks([next(iter(g.values())).task for g in groups]), groups, strict=True)
    ]


def _stored_task(task: str, runs: Mapping[str, StoredRun], measures: Measures) -> TaskScores:
    names = {key: run.label or run.model for key, run in runs.items()}
    for name, count in Counter(names.values()).items():
        if count > 1:
            keys = ", ".join(key for key in runs if names[key] == name)
            raise InputError(
                f"{name} has several runs on {task} ({keys})", remedy="name one of them, or give labels that differ"
            )
    kind = next(iter(runs.values())).result_kind
    named = {names[key]: run for key, run in runs.items()}
    if kind == "measured":
        ordered = stats.best_first({name: next(iter(run.measured.values()))["value"] for name, run in named.items()})
        named = {name: named[name] for name in ordered}
        return TaskScores.of_measurements(task, named, compare_measured(named)[0], measures)
    if kind == "masked":
        scored = {name: score_stored_run(run) for name, run in named.items()}
        profile = next(iter(scored.values())).rules.profile
        readings = compare_readings(scored, [_HEADLINE_OF_MASKS], measures.bootstrap, measures.alpha)
        return TaskScores.of_comparison(task, readings[profile]["mask"])
    compared, _, _ = compare_stored(runs, names, measures, main_only=True)
    return TaskScores.of_comparison(task, compared)


def leaderboard_tasks(boards: Leaderboards, measures: Measures) -> list[TaskScores]:
    """Return the main metric of each leaderboard."""
    tasks = []
    for name, board in zip(number_tasks([board.task.name for board in boards]), boards, strict=True):
        if isinstance(board, RankingLeaderboard):
            tasks.append(TaskScores.of_comparison(name, board.comparison))
        elif isinstance(board, MeasurementLeaderboard):
            named = {outcome.model: outcome.stored for outcome in board.outcomes}
            tasks.append(TaskScores.of_measurements(name, named, board.p_values, replace(measures, alpha=board.alpha)))
    return tasks


def number_tasks(tasks: Sequence[str]) -> list[str]:
    """Return the tasks, numbered where one occurs several times, because its runs were on different data.

    >>> number_tasks(["wines", "games", "wines"])
    ['wines (1)', 'games', 'wines (2)']
    """
    total, seen = Counter(tasks), Counter[str]()
    names = []
    for task in tasks:
        seen[task] += 1
        names.append(f"{task} ({seen[task]})" if total[task] > 1 else task)
    return names


def compare_tasks(
    tasks: Sequence[TaskScores],
    *,
    incomplete: Incomplete = "models",
    resample_tasks: bool = False,
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> AcrossComparison:
    """Compare models across tasks; where that is impossible, ``reason`` of the result says why."""
    present = {task.task: set(task.models) for task in tasks}
    every = list(dict.fromkeys(model for task in tasks for model in task.values))
    missing = tuple((model, task) for model in every for task in present if model not in present[task])
    lacking = {model for model, _ in missing}
    left_models = tuple(model for model in every if model in lacking) if incomplete != "tasks" else ()
    left_tasks = tuple(dict.fromkeys(task for _, task in missing)) if incomplete == "tasks" else ()
    used = [task for task in tasks if task.task not in left_tasks]
    models = [model for model in every if model not in left_models]
    result = AcrossComparison(tuple(tasks), (), (), missing, left_models, left_tasks, resample_tasks, alpha, bootstrap)
    reason = _why_not(tasks, used, models, missing, incomplete, resample_tasks)
    if reason:
        return replace(result, reason=reason)
    try:
        return _compare(result, used, models)
    except InputError as error:  # a metric that cannot be resampled, or too few queries or tasks
        return replace(result, reason=f"the models cannot be compared across tasks: {error.what}")


def _why_not(
    tasks: Sequence[TaskScores],
    used: Sequence[TaskScores],
    models: Sequence[str],
    missing: Sequence[tuple[str, str]],
    incomplete: Incomplete,
    resample_tasks: bool,
) -> str:
    """Return why models cannot be compared, or an empty text."""
    if len(tasks) < 2:
        return "a comparison across tasks needs runs of two tasks or more"
    if missing and incomplete == "error":
        cells = "; ".join(f"{model} on {task}" for model, task in missing[:5])
        more = f"; and {len(missing) - 5} more" if len(missing) > 5 else ""
        return f"results are missing or broken ({cells}{more}), and no mean is over different tasks"
    if len(models) < 2 or len(used) < 2:
        few, all_of = ("models", "on every task") if len(models) < 2 else ("tasks", "of every model")
        return f"fewer than two {few} have a value {all_of}"
    for task in used:
        if task.direction == "neither":
            return f"no direction of {task.metric}, the main metric of {task.task}, is the better one"
        if not resample_tasks and any(task.values[model].source is None for model in models):
            return f"only values of {task.task} are known, without the queries or predictions to resample"
    return ""


def _compare(result: AcrossComparison, tasks: Sequence[TaskScores], models: Sequence[str]) -> AcrossComparison:
    both = [_sample(task, models, result.bootstrap, resample=not result.resample_tasks) for task in tasks]
    samples, wins = [sample for sample, _ in both], [win for _, win in both]
    options: dict[str, Any] = {"resample_tasks": result.resample_tasks, "level": result.bootstrap.level}
    by_mean, lower = _have_common_scale(tasks), tasks[0].direction == "lower"
    compared = compare_means(samples if by_mean else wins, alpha=result.alpha, **options)
    win_intervals = mean_intervals(wins, **options)
    win_rates = np.mean([win.values for win in wins], axis=0)
    fitted = bradley_terry(win_rates, sum(max(sample.size, 1) for sample in samples))
    strengths = mean_intervals(wins, derivative=fitted.derivative, centre=fitted.strengths, **options)
    ranks = np.array([mean_ranks(-sample.values) for sample in samples])
    # The values of `score` are added up as they are.
    means = [math.fsum(task.values[model].value for task in tasks) / len(tasks) for model in models]
    order = sorted(range(len(models)), key=lambda at: -compared.means[at])
    places = {at: 1 + int((compared.means > compared.means[at]).sum()) for at in order}
    standings = tuple(
        Standing(
            models[at],
            means[at] if by_mean else None,
            _interval(means[at], compared.intervals[at]) if by_mean else None,
            places[at],
            int(compared.best_ranks[at]),
            int(compared.worst_ranks[at]),
            float(win_rates[at]),
            win_intervals[at],
            float((len(models) - ranks[:, at]).sum()),
            float(ranks[:, at].mean()),
            float(fitted.strengths[at]),
            strengths[at],
        )
        for at in order
    )
    pairs = []
    for place, first in enumerate(order):
        for second in order[place + 1 :]:
            limits = [float(compared.low[first, second]), float(compared.high[first, second])]
            difference = float(compared.means[first] - compared.means[second])
            if by_mean and lower:
                difference, limits = -difference, [-limits[1], -limits[0]]
            pairs.append(
                AcrossPair(
                    models[first],
                    models[second],
                    difference,
                    limits[0],
                    limits[1],
                    float(compared.adjusted[first, second]),
                )
            )
    return replace(result, standings=standings, pairs=tuple(pairs), regularised=fitted.regularised)


def _interval(mean: float, interval: Interval) -> Interval:
    """Return the interval around the mean as it is shown: it was computed with higher as better."""
    half = (interval.high - interval.low) / 2
    return replace(interval, low=mean - half, high=mean + half)


def _have_common_scale(tasks: Sequence[TaskScores]) -> bool:
    """Return True if the mean of the metrics means something: they are the same, or all are shares or correlations."""
    if len({(task.metric, task.direction) for task in tasks}) == 1:
        return True
    return all(
        task.direction == "higher" and (not task.profile or Metric.parse(task.metric).definition.range.endswith(", 1]"))
        for task in tasks
    )


def _sample(
    task: TaskScores, models: Sequence[str], bootstrap: Bootstrap, *, resample: bool
) -> tuple[TaskSample, TaskSample]:
    """Return the values and the win rates of models on a task, over the same resamples of its queries."""
    sign = -1.0 if task.direction == "lower" else 1.0
    values = sign * np.array([task.values[model].value for model in models])
    sources = [task.values[model].source for model in models]
    known = [source for source in sources if source is not None]
    # Each task has its own random numbers: resamples of equally many queries would be the same otherwise.
    seed = int(np.random.SeedSequence([bootstrap.seed, crc32(task.task.encode())]).generate_state(1)[0])
    how = replace(bootstrap, seed=seed)
    nothing = np.zeros((0, len(models)))
    replicates = sign * resample_sources(known, task.task, how) if resample else nothing
    columns = [_per_query(source) for source in known]
    queries = [column for column in columns if column is not None]
    if len(queries) < len(models):
        size = min((len(source.keys) for source in known if hasattr(source, "keys")), default=1)
        of_replicates = _win_shares(replicates) if len(replicates) else nothing
        wins = TaskSample(_win_shares(values[None])[0], of_replicates, size)
        return TaskSample(values, replicates, size), wins
    per_query = sign * np.column_stack(queries)
    shares = _win_shares(per_query[~np.isnan(per_query).any(axis=1)])
    if not len(shares):
        raise InputError(f"{task.metric} is defined for no query of {task.task} in every model")
    resampled = stats.bootstrap_means(shares, resamples=how.resamples, seed=seed) if resample else nothing
    size = int((~np.isnan(per_query)).sum(axis=0).min())
    return TaskSample(values, replicates, size), TaskSample(shares.mean(axis=0), resampled, len(shares))


def _per_query(source: Source) -> Floats | None:
    return source.values if isinstance(source, (Score, stats.Sample)) else None


def _win_shares(values: Floats) -> Floats:
    """Return the share of the other models that each model beats in each row, where a tie is half a win."""
    shares: Floats = (values.shape[1] - mean_ranks(-values)) / (values.shape[1] - 1)
    return shares
