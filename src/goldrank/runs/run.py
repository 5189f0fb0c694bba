"""Run any number of models on any number of tasks, store the results, and compare the models of each task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

from goldrank import stats
from goldrank.comparing import Comparison, common_queries, compare_scores, find_flaws
from goldrank.errors import DataWarning, InputError, unknown_name
from goldrank.hits import Hits, Run
from goldrank.metrics import Conventions, Metric, find_profile, parse_all
from goldrank.metrics.names import refuse_other_similarity
from goldrank.presentation import Result
from goldrank.runs.evaluate import (
    OVERWRITE,
    Outcome,
    find_or_evaluate_all,
    prepare_model,
    refuse_unused_reuse,
    setting_names,
    settings_of,
)
from goldrank.runs.score_effects import score_effects
from goldrank.scoring import Bootstrap, Metrics, Scores, best_first, conventions_of, resolve_conventions, score_hits
from goldrank.store import ResultKind, Store, StoredRun
from goldrank.store.rescoring import add_stored_confidence, count_under
from goldrank.tasks.catalogue import find_tasks
from goldrank.tasks.measurement import MeasuredValue, MeasurementData, stored_values
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.ranking.evaluation import Scoring
from goldrank.tasks.ranking.models import Model
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task, TaskData
from goldrank.tasks.unused_settings import command_line_name, refuse_unused
from goldrank.vectors.cache import live_vectors


@dataclass(frozen=True)
class Measures:
    """Metrics, conventions, intervals and significance level of a comparison; None stands for those of the task."""

    metrics: Sequence[str] | None = None
    profile: str | None = None
    conventions: dict[str, Any] = field(default_factory=dict)
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.metrics is not None:
            parse_all(self.metrics)
        resolve_conventions(find_profile(self.profile or "standard"), self.conventions)
        stats.check_alpha(self.alpha)

    def scoring(self, data: RankingData) -> Scoring:
        """Return how models are scored on a task."""
        return Scoring.of(data, self.metrics, self.profile, self.conventions, self.bootstrap)


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Result, ABC):
    """All models on one task."""

    data: TaskData
    outcomes: list[Outcome]
    missing: list[str]
    """Models without a stored result, if evaluating was forbidden."""
    quality: DataQuality
    """What was found in the data before any model was evaluated."""

    @property
    def task(self) -> Task:
        """The task that the models were evaluated on."""
        return self.data.task

    @property
    @abstractmethod
    def best(self) -> Outcome:
        """The model with the best headline score."""

    @property
    def warnings(self) -> list[DataWarning]:
        """What makes the scores misleading."""
        return []


@dataclass(frozen=True, eq=False, repr=False)
class RankingLeaderboard(Leaderboard):
    """All models on one ranking task, compared by every metric."""

    data: RankingData
    comparison: Comparison

    @classmethod
    def of(
        cls, data: Any, outcomes: list[Outcome], missing: list[str], quality: DataQuality, measures: Measures
    ) -> RankingLeaderboard:
        """Compare all models with each other."""
        return cls(data, outcomes, missing, quality, compare_rankings(data, outcomes, measures))

    @cached_property
    def warnings(self) -> list[DataWarning]:
        """What makes the scores misleading, in the data and by model, and how much of the scores it can explain."""
        effects = score_effects(self.quality, self.data, self.comparison.scores, self._runs())
        of_data = [
            replace(warning, message=" ".join(filter(None, (warning.message, effects.get(warning.code)))))
            for warning in self.quality.warnings
        ]
        by_model = [warning for outcome in self.outcomes for warning in outcome.warnings]
        by_scores = [warning for scores in self.comparison.scores.values() for warning in scores.warnings]
        if not self.data.collection.has_corpus:
            # The rankings of other systems may have any depth; those of models end where nothing is left to rank.
            by_scores = list(self.comparison.warnings)
        return [*of_data, *dict.fromkeys([*by_model, *by_scores])]

    def _runs(self) -> Iterator[tuple[str, Run]]:
        """Yield the rankings of each model, read one after the other."""
        for outcome in self.outcomes:
            run = outcome.stored.run()
            if run is not None:
                yield outcome.model, run

    @property
    def scores(self) -> dict[str, Scores]:
        """The scores of each model, best first by the first metric."""
        return dict(self.comparison.scores)

    def with_positives_filtered(self) -> dict[str, float]:
        """Return the first metric of each model when other positives of the same query do not count as rivals."""
        values = {}
        for outcome in self.outcomes:
            scores = self.comparison.scores[outcome.model]
            conventions = replace(scores.conventions, positives="filtered")
            hits = count_under(outcome.stored, conventions).hits
            filtered = score_hits(hits, scores.metrics[:1], profile=scores.profile, **conventions.as_dict())
            values[outcome.model] = next(iter(filtered.values())).value
        return values

    @property
    def best(self) -> Outcome:
        """The model with the best first metric."""
        name = next(iter(self.comparison.scores))
        return next(outcome for outcome in self.outcomes if outcome.model == name)


@dataclass(frozen=True, eq=False, repr=False)
class MeasurementLeaderboard(Leaderboard):
    """All models on one measurement task, the best headline first."""

    data: MeasurementData
    p_values: Mapping[tuple[str, str], float]
    """The p-value of each pair of models, the better one first, after Holm's correction."""
    alpha: float = 0.05

    @classmethod
    def of(
        cls, data: Any, outcomes: list[Outcome], missing: list[str], quality: DataQuality, measures: Measures
    ) -> MeasurementLeaderboard:
        """Order the models by their headline, and test the difference of each pair."""
        headlines = {outcome: next(iter(stored_values(outcome.stored).values())).value for outcome in outcomes}
        ordered = list(stats.best_first(headlines))
        p_values = data.task.compare_all({outcome.model: outcome.stored for outcome in ordered})
        return cls(data, ordered, missing, quality, p_values, measures.alpha)

    @property
    def scores(self) -> dict[str, dict[str, MeasuredValue]]:
        """The measured values of each model, best first by the headline."""
        return {outcome.model: stored_values(outcome.stored) for outcome in self.outcomes}

    @property
    def best(self) -> Outcome:
        """The model with the best headline."""
        return self.outcomes[0]

    def beaten_by(self, model: str) -> list[str]:
        """Return the models whose headline is significantly worse."""
        return [worse for (better, worse), p in self.p_values.items() if better == model and p <= self.alpha]


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboards(Result, Sequence[Leaderboard]):
    """The leaderboards of several tasks, in the order of the tasks; also by the name of a task."""

    boards: tuple[Leaderboard, ...]
    store: Store

    @property
    def runs(self) -> list[StoredRun]:
        """The stored runs of all models and tasks."""
        return [outcome.stored for board in self.boards for outcome in board.outcomes]

    def __len__(self) -> int:
        return len(self.boards)

    def __getitem__(self, task: Any) -> Any:
        if isinstance(task, str):
            return next(board for board in self.boards if board.task.name == task)
        return self.boards[task]


_LEADERBOARDS: dict[ResultKind, Callable[..., Leaderboard]] = {
    "ranked": RankingLeaderboard.of,
    "measured": MeasurementLeaderboard.of,
}


def run(
    models: Any,
    tasks: Any,
    store: Store | str | PathLike[str] | None = None,
    *,
    questions: object = None,
    metrics: Metrics = None,
    profile: str | None = None,
    conventions: Conventions | Mapping[str, Any] | None = None,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    alpha: float = 0.05,
    settings: Settings | None = None,
    overwrite: str = "missing",
    reuse: bool = False,
    sharding: Sharding | None = None,
    report: Callable[[str], None] = lambda line: None,
    on_leaderboard: Callable[[Leaderboard], None] = lambda board: None,
    **options: Any,
) -> Leaderboards:
    """Evaluate models on tasks, store every result, and compare the models of each task.

    What is stored already is not evaluated again, so that a killed run resumes where it was. A live model, which may
    change while its spec stays the same (a server, a search function, a database, an object in memory), is evaluated
    again, and each of its evaluations is stored as a dated version under the same name. Errors in models, tasks and
    settings are raised before the first evaluation starts.

    Args:
        models: A model as in `evaluate`, a list of models, or a mapping of names to models.
        tasks: A task as in `evaluate`, or a list of tasks; a list of records is given as ``[records]``.
        store: A Store, its folder or database URL; by default that of ``$GOLDRANK_STORE``.
        questions: The questions of each task that is a folder of documents, as in `evaluate`.
        metrics, profile, conventions: Of rankings; None for the task's own.
        bootstrap: The settings of the intervals.
        alpha: The level of significance.
        settings: How models are evaluated.
        overwrite: ``missing``, ``always`` (evaluate everything anew) or ``never`` (show what is stored).
        reuse: Take the newest stored result, or else the cached vectors, of live models too.
        sharding: The cluster that encodes and searches; None is this process.
        report: Is told what is being done.
        on_leaderboard: Is given each leaderboard as soon as it is complete.
        options: Single settings, such as ``similarity="dot"`` or ``limit=100``, or single conventions.

    >>> import tempfile
    >>> boards = run(["bm25", "tfidf"], "wines", store=tempfile.mkdtemp(), metrics=["mrr"], limit=5)
    >>> boards["wines"].best.model in ("bm25", "tfidf"), len(boards.runs)
    (True, 2)
    """
    chosen, measures = settings_and_measures(run, settings, options, metrics, profile, conventions, bootstrap, alpha)
    if overwrite not in OVERWRITE:
        raise unknown_name("way to overwrite", overwrite, OVERWRITE, f"one of {', '.join(OVERWRITE)}")
    refuse_other_similarity(measures.metrics or (), chosen.similarity)
    place = Store.open(store)
    if not isinstance(models, (list, tuple, Mapping)):
        models = [models]
    tasks = tasks if isinstance(tasks, (list, tuple)) else [tasks]
    loaded, prepared = prepare(models, tasks, chosen, sharding, measures, questions)
    refuse_unused_reuse(reuse, loaded, prepared)
    boards = []
    with live_vectors((encoder for model in loaded for encoder in model.live_encoders), reuse=reuse):
        for data in prepared:
            if sharding is not None and data.task.result_kind == "measured":
                report(f"{data.task.name} is measured on this machine, because it ranks nothing")
            quality = data.inspect()
            outcomes, missing = find_or_evaluate_all(data, loaded, quality, place, overwrite, report, reuse=reuse)
            boards.append(_LEADERBOARDS[data.task.result_kind](data, outcomes, missing, quality, measures))
            on_leaderboard(boards[-1])
    return Leaderboards(tuple(boards), place)


def settings_and_measures(
    call: Callable[..., Any],
    settings: Settings | None,
    options: Mapping[str, Any],
    metrics: Metrics,
    profile: str | None,
    conventions: Conventions | Mapping[str, Any] | None,
    bootstrap: Bootstrap,
    alpha: float,
) -> tuple[Settings, Measures]:
    """Return how *call* evaluates and how it compares; *options* are its keywords: settings and conventions."""
    names = setting_names()
    keywords = {name: value for name, value in options.items() if name not in names}
    changes = conventions_of(call, conventions, keywords, settings=names)
    chosen = settings_of(settings, {name: value for name, value in options.items() if name in names})
    # As they were written: the name of a metric may say which similarity it is for.
    listed = [metrics] if isinstance(metrics, (str, Metric)) else metrics
    names_of_metrics = None if listed is None else [str(metric) for metric in listed]
    return chosen, Measures(names_of_metrics, profile, changes, bootstrap, alpha)


def prepare(
    models: Sequence[Any] | Mapping[str, Any],
    tasks: Sequence[object],
    settings: Settings,
    sharding: Sharding | None = None,
    measures: Measures = Measures(),
    questions: object = None,
) -> tuple[list[Model], list[TaskData]]:
    """Load all models and read all tasks; raise InputError for a setting that has no effect on any of them."""
    if not models or not tasks:
        raise InputError(
            f"there is no {'task' if models else 'model'} to evaluate",
            remedy="give -m MODEL and -t TASK (goldrank list models, goldrank list tasks)",
        )
    # Names of tasks are checked first: loading a model may take minutes.
    known_tasks = find_tasks(tasks, questions)
    named = models.items() if isinstance(models, Mapping) else ((None, model) for model in models)
    loaded = [prepare_model(model, settings, name) for name, model in named]
    specs = [model.spec for model in loaded]
    if len(set(specs)) != len(specs):
        repeated = next(spec for spec in specs if specs.count(spec) > 1)
        raise InputError(
            f"the model {repeated} is given twice",
            remedy="name each model once; in Python, give different models of one class as {name: model}",
        )
    prepared = []
    for task in known_tasks:
        data = task.load(settings, sharding)
        for model in loaded:
            data.check(model)
        prepared.append(data)
    refuse_unused(settings, loaded, prepared, command_line_name)
    _refuse_unused_measures(measures, loaded, prepared)
    if sharding is not None and all(data.task.result_kind == "measured" for data in prepared):
        raise InputError(
            "--engine has no effect on tasks that rank nothing, which are measured on this machine",
            remedy="leave it out",
        )
    return loaded, prepared


def _refuse_unused_measures(measures: Measures, models: list[Model], prepared: Sequence[TaskData]) -> None:
    how, usual = measures.bootstrap, Bootstrap()
    if measures.alpha != Measures().alpha and len(models) < 2:
        raise InputError("--alpha has no effect on one model, which is compared with nothing", remedy="leave it out")
    if any(data.task.result_kind == "ranked" for data in prepared):
        return
    given = {
        "--metric": measures.metrics is not None,
        "--profile": measures.profile is not None,
        **{f"--{name.replace('_', '-')}": True for name in measures.conventions},
        "--level": how.level != usual.level,
        "--interval": how.method != usual.method,
        "--resamples": how.resamples != usual.resamples,
    }
    for option in (name for name, is_given in given.items() if is_given):
        names = ", ".join(data.task.name for data in prepared)
        raise InputError(
            f"{option} has no effect on {names}: values are measured there, and nothing is ranked",
            remedy="leave it out",
        )


def compare_rankings(data: RankingData, outcomes: Sequence[Outcome], measures: Measures) -> Comparison:
    """Compare all models with each other, the best first by the first metric."""
    scoring = measures.scoring(data)
    scores = {outcome.model: score_outcome(outcome, scoring) for outcome in outcomes}
    decided = "missing" in measures.conventions
    coverage = {model: model_scores.counts.coverage for model, model_scores in scores.items()}
    evaluated = [outcome.model for outcome in outcomes if was_given_every_query(outcome.stored)]
    flaws, left_out = find_flaws(coverage, decided=decided, evaluated=evaluated), None
    if scoring.conventions.missing == "skip" and any(answered < queries for answered, queries, *_ in coverage.values()):
        hits = {outcome.model: _hits_of(outcome, scoring) for outcome in outcomes}
        hits, left_out = common_queries(hits, () if decided else flaws)
        scores = {model: scoring.score(model_hits, model) for model, model_hits in hits.items()}
    compared = compare_scores(scores, left_out, alpha=measures.alpha, bootstrap=measures.bootstrap, flaws=flaws)
    return replace(compared, scores=best_first(scores))


def was_given_every_query(run: StoredRun) -> bool:
    """Return True if a model computed its rankings, so that a query without results is its answer.

    The rankings of a run file may be incomplete instead.
    """
    # The spec, and the identity of a model that has a label instead.
    return not any("run:" in str(run.inputs.get(name, run.model)) for name in ("model", "model_identity"))


def score_outcome(outcome: Outcome, scoring: Scoring) -> Scores:
    """Return the scores of a model, computed from its stored hits unless the evaluation has computed them already."""
    if outcome.scores is not None and scoring.is_of(outcome.scores):
        return outcome.scores
    return scoring.score(_hits_of(outcome, scoring), outcome.model)


def _hits_of(outcome: Outcome, scoring: Scoring) -> Hits:
    hits = count_under(outcome.stored, scoring.conventions).hits
    return add_stored_confidence(hits, outcome.stored, scoring.metrics, scoring.conventions)
