"""Any number of models on any number of tasks: what is stored is taken, the rest is evaluated and stored."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import goldrank
from goldrank.comparing import Comparison, compare_scores
from goldrank.encoders.provenance import version_of
from goldrank.errors import DataWarning, InputError, unknown_name
from goldrank.hits import Hits, Run
from goldrank.metrics import Conventions, Metric, Profile, parse_all
from goldrank.metrics import profile as find_profile
from goldrank.metrics.names import refuse_other_similarity
from goldrank.redaction import redact_command
from goldrank.runs.data_quality import DataQuality, inspect_data
from goldrank.runs.evaluate import evaluate_on, inputs_of, prepared_model
from goldrank.runs.git_commit import git_commit
from goldrank.runs.measurements import FigureBoard, MeasuredMaterial, measure_on, outcomes_of, refuse_without_vectors
from goldrank.runs.score_effects import score_effects
from goldrank.scoring import Bootstrap, Scores, add_confidence, agree, best_first, score_hits
from goldrank.store import Record, Store, StoredRun
from goldrank.store.rescoring import add_stored_confidence, count_under
from goldrank.store.texts import MOST_ITEMS, Text
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.material import Material
from goldrank.tasks.measurement import MeasuredTask
from goldrank.tasks.ranking.models import Model
from goldrank.tasks.ranking.preflight import check_measured
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task
from goldrank.tasks.unused_settings import command_line_name, refuse_unused

OVERWRITE = {
    "missing": "evaluate what is not stored yet",
    "always": "evaluate everything anew and replace what is stored",
    "never": "evaluate nothing: show what is stored, and name what is not",
}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "faiss-cpu", "bm25s", "wordllama", "pyarrow", "SQLAlchemy")


@dataclass(frozen=True)
class Measures:
    """What is measured on every task, and how sure it is; what is None is the task's own."""

    metrics: Sequence[str] | None = None
    profile: str | None = None
    conventions: dict[str, Any] = field(default_factory=dict)
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.metrics is not None:
            parse_all(self.metrics)
        agree(find_profile(self.profile or "standard"), self.conventions)
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha is {self.alpha:g}", remedy="give a level of significance such as 0.05")


@dataclass(frozen=True, eq=False)
class Outcome:
    """One model on one task, stored."""

    model: str
    stored: StoredRun
    fresh: bool
    """Whether it was evaluated now, and not found."""
    scores: Scores | None = None
    """The task's own metrics under its own profile, where it was evaluated now."""

    @property
    def remarks(self) -> list[str]:
        """What a reader should know of how it was made."""
        return list(self.stored.environment.get("remarks", ()))

    @property
    def warnings(self) -> list[DataWarning]:
        """What of the model makes its scores misleading; the remarks say it too."""
        return [DataWarning(**entry) for entry in self.stored.environment.get("warnings", ())]


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """All models on one task."""

    task: Task
    material: Material
    outcomes: list[Outcome]
    comparison: Comparison
    missing: list[str] = field(default_factory=list)
    """Models without a stored result, where none were to be evaluated."""
    quality: DataQuality = field(default_factory=DataQuality)
    """What was found in the data before any model was asked."""

    @cached_property
    def warnings(self) -> list[DataWarning]:
        """What makes the scores misleading, in the data and by model, and how much of the scores it can explain."""
        effects = score_effects(self.quality, self.material, self.comparison.scores, self._runs())
        data = [
            replace(warning, message=" ".join(filter(None, (warning.message, effects.get(warning.code)))))
            for warning in self.quality.warnings
        ]
        by_model = [warning for outcome in self.outcomes for warning in outcome.warnings]
        by_scores = [warning for scores in self.comparison.scores.values() for warning in scores.warnings]
        return [*data, *dict.fromkeys([*by_model, *by_scores])]

    def _runs(self) -> Iterator[tuple[str, Run]]:
        """The rankings of each model, read one after the other."""
        for outcome in self.outcomes:
            run = outcome.stored.run()
            if run is not None:
                yield outcome.model, run

    @property
    def scores(self) -> dict[str, Scores]:
        """The scores of each model, best first by the first metric."""
        return dict(self.comparison.scores)

    def with_positives_filtered(self) -> dict[str, float]:
        """The first metric of each model when the other positives of a query are no rivals of a positive."""
        found = {}
        for outcome in self.outcomes:
            scores = self.comparison.scores[outcome.model]
            conventions = replace(scores.conventions, positives="filtered")
            hits = count_under(outcome.stored, conventions).hits
            made = score_hits(hits, scores.metrics[:1], profile=scores.profile, **conventions.as_dict())
            found[outcome.model] = next(iter(made.values())).value
        return found

    @property
    def best(self) -> Outcome:
        """The model with the best first metric."""
        name = next(iter(self.comparison.scores))
        return next(outcome for outcome in self.outcomes if outcome.model == name)


def run_all(
    models: Sequence[Any],
    tasks: Sequence[object],
    settings: Settings = Settings(),  # noqa: B008 - frozen
    *,
    store: Store,
    measures: Measures = Measures(),  # noqa: B008 - frozen
    overwrite: str = "missing",
    sharding: Sharding | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Iterator[Leaderboard | FigureBoard]:
    """Evaluate every model on every task, and give each task's leaderboard as soon as it is complete.

    Everything that can be wrong with models, tasks and settings is found before the first evaluation starts. What is
    done is stored at once, so that a run that is killed goes on where it was. With *sharding* a cluster encodes and
    searches; the results, and the keys they are stored under, are the same.
    """
    if overwrite not in OVERWRITE:
        raise unknown_name("way to overwrite", overwrite, OVERWRITE, f"one of {', '.join(OVERWRITE)}")
    refuse_other_similarity(measures.metrics or (), settings.similarity)
    loaded, materials = prepare(models, tasks, settings, sharding, measures)
    for material in materials:
        if isinstance(material, MeasuredMaterial):
            if sharding is not None:
                report(f"{material.task.name} gives figures, and is measured on this machine")
            yield measure_on(
                material,
                loaded,
                store,
                overwrite=overwrite,
                environment=environment,
                report=report,
                alpha=measures.alpha,
            )
            continue
        quality = inspect_data(material)
        outcome = partial(find_or_evaluate, material, store=store, overwrite=overwrite, report=report, quality=quality)
        outcomes, missing = outcomes_of(loaded, outcome, material.task.name, store)
        compared = compare_outcomes(material, outcomes, measures)
        yield Leaderboard(material.task, material, outcomes, compared, missing, quality)


def prepare(
    models: Sequence[Any],
    tasks: Sequence[object],
    settings: Settings,
    sharding: Sharding | None = None,
    measures: Measures = Measures(),  # noqa: B008 - frozen
) -> tuple[list[Model], list[Material | MeasuredMaterial]]:
    """Load all models and read all tasks; raise InputError for a setting that bears on none of them."""
    if not models or not tasks:
        raise InputError(
            f"there is no {'task' if models else 'model'} to evaluate",
            remedy="give -m MODEL and -t TASK (goldrank list models, goldrank list tasks)",
        )
    loaded = [prepared_model(model, settings) for model in models]
    specs = [model.spec for model in loaded]
    if len(set(specs)) != len(specs):
        twice = next(spec for spec in specs if specs.count(spec) > 1)
        raise InputError(f"the model {twice} is given twice", remedy="name each model once")
    materials = [_material(find_task(task), loaded, settings, sharding) for task in tasks]
    refuse_unused(settings, loaded, materials, command_line_name)
    _refuse_unused_measures(measures, loaded, materials)
    if sharding is not None and not any(isinstance(material, Material) for material in materials):
        raise InputError(
            "--engine has no effect on tasks that give figures, which are measured on this machine",
            remedy="leave it out",
        )
    return loaded, materials


def _refuse_unused_measures(
    measures: Measures, models: list[Model], materials: Sequence[Material | MeasuredMaterial]
) -> None:
    how, usual = measures.bootstrap, Bootstrap()
    if measures.alpha != Measures().alpha and len(models) < 2:
        raise InputError("--alpha has no effect on one model, which is compared with nothing", remedy="leave it out")
    if any(isinstance(material, Material) for material in materials):
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
        names = ", ".join(material.task.name for material in materials)
        raise InputError(
            f"{option} has no effect on {names}: figures are measured there, and nothing is ranked",
            remedy="leave it out",
        )


def _material(
    task: Task | MeasuredTask, models: list[Model], settings: Settings, sharding: Sharding | None
) -> Material | MeasuredMaterial:
    if isinstance(task, MeasuredTask):
        refuse_without_vectors(models, task)
        measured = MeasuredMaterial.of(task, settings)
        for model in models:
            assert model.encoder is not None
            check_measured(model.encoder, measured.data, settings)
        return measured
    material = replace(Material.of(task, settings), sharding=sharding)
    # Queries without a text are found out here, not after an hour of encoding.
    material.asked  # noqa: B018
    for model in models:
        model.check(material)
    return material


def find_or_evaluate(
    material: Material,
    model: Model,
    store: Store,
    overwrite: str,
    report: Callable[[str], None],
    quality: DataQuality,
) -> Outcome | None:
    """Return the stored result of a model, or evaluate and store it; None where *overwrite* forbids that."""
    inputs = inputs_of(material, model)
    found = None if overwrite == "always" else store.find(inputs)
    if found is not None:
        report(f"{material.task.name}: {model.spec} is stored as {found.key}")
        return Outcome(model.spec, found, fresh=False)
    if overwrite == "never":
        return None
    report(f"{material.task.name}: evaluating {model.spec}")
    made = evaluate_on(material, model)
    scoring = Scoring.of(material)
    # The store does not keep subtopics, and a fresh result must read like a stored one.
    hits = replace(made.hits_under(scoring.conventions), subtopics=None)
    scores = scoring.score(add_confidence(hits, made.run, scoring.metrics, scoring.conventions), model.spec)
    record = Record(
        task=material.task.name,
        model=model.spec,
        inputs=inputs,
        environment={
            **environment(),
            "seconds": made.seconds,
            "warnings": [warning.to_dict() for warning in made.warnings],
            "data_warnings": [warning.to_dict() for warning in quality.warnings],
            # Reports and the explorer show remarks, so that they hold the warnings too.
            "remarks": [*(one.message for one in (*quality.warnings, *made.warnings)), *made.remarks],
        },
        hits=made.hits,
        run=made.run,
        profile=material.task.profile,
        metrics=tuple(material.task.default_metrics),
        conventions=dict(material.task.conventions),
        summary=summary_of(scores),
    )
    saved = store.save(record, overwrite=overwrite == "always")
    _keep_texts(material, store)
    made.forget_the_way()
    return Outcome(model.spec, replace(saved, held_hits=replace(made.hits, subtopics=None)), fresh=True, scores=scores)


def summary_of(scores: Scores) -> dict[str, dict[str, Any]]:
    """The value of every metric with its interval, as JSON can hold it."""
    found: dict[str, dict[str, Any]] = {}
    for name, score in scores.items():
        value, interval = score.value, score.interval
        found[name] = {"value": value if math.isfinite(value) else None}
        if interval is not None:
            found[name] |= {"low": interval.low, "high": interval.high, "method": interval.method}
    return found


def _keep_texts(material: Material, store: Store) -> None:
    """Keep what queries and items say beside the results, once for each data set."""
    collection = material.collection
    texts = store.texts(collection.checksum)
    if texts is None or texts.there or len(collection.items) > MOST_ITEMS:
        return
    texts.keep(
        (Text(document.id, document.title, document.text) for document in collection.queries),
        (Text(document.id, document.title, document.text) for document in collection.items),
    )


@dataclass(frozen=True)
class Scoring:
    """The metrics, conventions and bootstrap by which all models on a task are scored."""

    metrics: list[Metric]
    profile: Profile
    conventions: Conventions
    bootstrap: Bootstrap

    @classmethod
    def of(cls, material: Material, measures: Measures = Measures()) -> Scoring:  # noqa: B008 - frozen
        """Return what *measures* ask for; whatever they leave open is the task's own."""
        task = material.task
        profile = find_profile(measures.profile or material.preset_profile or task.profile)
        own = profile.name == task.profile
        metrics = measures.metrics or (task.default_metrics if own else profile.metrics)
        changes = {**(task.conventions if own else {}), **measures.conventions}
        return cls(parse_all(metrics), profile, agree(profile, changes), measures.bootstrap)

    def score(self, hits: Hits, name: str) -> Scores:
        """Score hits that were counted under these conventions."""
        conventions = self.conventions.as_dict()
        return score_hits(hits, self.metrics, profile=self.profile, name=name, bootstrap=self.bootstrap, **conventions)

    def score_outcome(self, outcome: Outcome) -> Scores:
        """Return the scores of a model, computed now unless they were when it was evaluated."""
        scores = outcome.scores
        if scores is not None and self == Scoring(scores.metrics, scores.profile, scores.conventions, scores.bootstrap):
            return scores
        hits = count_under(outcome.stored, self.conventions).hits
        return self.score(add_stored_confidence(hits, outcome.stored, self.metrics, self.conventions), outcome.model)


def compare_outcomes(material: Material, outcomes: list[Outcome], measures: Measures) -> Comparison:
    """Compare all models with each other, the best first by the first metric."""
    scoring = Scoring.of(material, measures)
    scores = {outcome.model: scoring.score_outcome(outcome) for outcome in outcomes}
    compared = compare_scores(scores, alpha=measures.alpha, bootstrap=measures.bootstrap)
    return replace(compared, scores=best_first(scores))


def environment() -> dict[str, Any]:
    """Where a result was made: versions, machine and commit. No part of its key."""
    return {
        "goldrank": goldrank.__version__,
        "python": platform.python_version(),
        "packages": {name: version_of(name).rpartition(" ")[2] for name in _PACKAGES},
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
        "commit": git_commit(),
        "command": redact_command(sys.argv[1:]) if sys.argv and sys.argv[0].endswith("goldrank") else "",
    }
