"""Evaluate a model on a task, or take the result from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from goldrank.errors import DataWarning, InputError
from goldrank.metrics import Metric, parse_all
from goldrank.metrics.names import refuse_other_similarity
from goldrank.runs.environment import environment
from goldrank.scoring import Metrics, Scores, unknown_argument
from goldrank.store import Store, StoredRun
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.ranking.models import Model, load_model, preset_model, with_reranking
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Evaluation, EvaluationJob, TaskData
from goldrank.tasks.unused_settings import refuse_unused

OVERWRITE = {
    "missing": "evaluate what is not stored yet",
    "always": "evaluate everything anew and replace what is stored",
    "never": "evaluate nothing: show what is stored, and name what is not",
}


def evaluate(
    model: Any,
    task: object,
    *,
    metrics: Metrics = None,
    settings: Settings | None = None,
    sharding: Sharding | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a model on a task without storing the result; embeddings are cached.

    >>> articles = [{"id": "a", "text": "red wine", "labels": ["b"]}, {"id": "b", "text": "white wine"}]
    >>> evaluate("bm25", articles).scores["mrr"].value
    1.0

    Args:
        model: a spec such as ``wordllama`` or ``fuse:rrf(bm25,wordllama)``, a function from texts to vectors, or an
            object that encodes, searches or scores pairs.
        task: a name (``goldrank list tasks``), a path, a Task, or data in memory: a list of records with ``id``,
            ``text`` and ``labels``, a Hugging Face ``Dataset`` or ``DatasetDict``, a data frame, or a mapping with
            ``corpus``, ``queries`` and ``qrels``.
        metrics: the metrics to compute instead of those of the task.
        settings: how the model is evaluated.
        sharding: the cluster that encodes and searches, with the same result; None uses this process.
        options: single settings that replace those of *settings*, such as ``similarity="dot"`` or ``limit=100``.

    Returns:
        A `RankingEvaluation`, or a `MeasurementEvaluation` for similarity tasks such as ``sts-b`` and for probes.
        Both have ``scores`` by name, the headline first.

    Raises:
        InputError: the model, the task or a setting is unknown or they do not go together.
    """
    if unknown := [name for name in options if name not in setting_names()]:
        raise unknown_argument(evaluate, unknown[0], settings=setting_names())
    chosen = settings_of(settings, options)
    known_task = find_task(task)
    if metrics is not None:
        refuse_other_similarity([metrics] if isinstance(metrics, (str, Metric)) else metrics, chosen.similarity)
        known_task = known_task.with_metrics([str(metric) for metric in parse_all(metrics)])
    data, loaded = known_task.load(chosen, sharding), prepare_model(model, chosen)
    refuse_unused(chosen, [loaded], [data], str)
    data.check(loaded)
    result = data.evaluate(loaded)
    result.discard_checkpoints()
    return result


def prepare_model(model: Any, settings: Settings) -> Model:
    """Load a model with the options of the preset, and add the reranker that the settings name."""
    loaded = load_model(preset_model(model, settings.preset))
    return loaded if settings.rerank is None else with_reranking(loaded, settings.rerank, settings.rerank_depth)


def setting_names() -> list[str]:
    """Return the names of all settings."""
    return [entry.name for entry in fields(Settings) if entry.name != "given"]


def settings_of(settings: Settings | None, options: Mapping[str, Any]) -> Settings:
    """Return the settings with single ones changed."""
    chosen = settings or Settings()
    try:
        return replace(chosen, **options, given=chosen.given | options.keys())
    except TypeError as error:
        raise InputError(f"a setting has a value of the wrong type ({error})") from None


@dataclass(frozen=True, eq=False)
class Outcome:
    """The stored result of one model on one task."""

    model: str
    stored: StoredRun
    fresh: bool
    """Whether the model was evaluated now; False if the result was already stored."""
    scores: Scores | None = None
    """The scores in the task's own metrics, if they were computed now; None for tasks that do not rank."""

    @property
    def remarks(self) -> list[str]:
        """Remarks on how the result was computed, one sentence each."""
        return list(self.stored.environment.get("remarks", ()))

    @property
    def warnings(self) -> list[DataWarning]:
        """What makes the scores of this model misleading; the remarks include these warnings."""
        return [DataWarning(**entry) for entry in self.stored.environment.get("warnings", ())]


def job_of(data: TaskData, model: Model, quality: DataQuality) -> EvaluationJob:
    """Return the job of evaluating *model* on *data*."""
    return EvaluationJob(
        data.task.name, model.spec, data.inputs(model), lambda: data.evaluate(model), data.save_texts, quality
    )


def find_or_evaluate(
    job: EvaluationJob, store: Store, overwrite: str = "missing", report: Callable[[str], None] = lambda line: None
) -> Outcome | None:
    """Return the stored result of a job, or evaluate and store it; None if *overwrite* forbids that."""
    stored = None if overwrite == "always" else store.find(job.inputs)
    if stored is not None:
        report(f"{job.task}: {job.model} is stored as {stored.key}")
        return Outcome(job.model, stored, fresh=False)
    if overwrite == "never":
        return None
    report(f"{job.task}: evaluating {job.model}")
    result = job.evaluate()
    record = result.record(environment(), job.quality)
    saved = store.save(record, overwrite=overwrite == "always")
    if record.hits is not None:
        # The store does not keep subtopics, and a fresh result must read like a stored one.
        saved = replace(saved, held_hits=replace(record.hits, subtopics=None))
    job.save_texts(store)
    result.discard_checkpoints()
    return Outcome(job.model, saved, fresh=True, scores=result.stored_scores)


def find_or_evaluate_all(
    data: TaskData,
    models: Sequence[Model],
    quality: DataQuality,
    store: Store,
    overwrite: str,
    report: Callable[[str], None],
) -> tuple[list[Outcome], list[str]]:
    """Return the outcomes of all models, and the models without a result; raise InputError if no model has one."""
    outcomes = {
        model.spec: find_or_evaluate(job_of(data, model, quality), store, overwrite, report) for model in models
    }
    missing = [spec for spec, outcome in outcomes.items() if outcome is None]
    if len(missing) == len(outcomes):
        raise InputError(
            f"no result of {', '.join(missing)} on {data.task.name} is stored",
            where=store.where,
            remedy="run it without --overwrite never",
        )
    return [outcome for outcome in outcomes.values() if outcome is not None], missing
