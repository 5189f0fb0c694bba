"""Evaluate a model on a task, or take the result from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from typing import Any

from goldrank.errors import DataWarning, InputError
from goldrank.fusion import is_fusion
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
from goldrank.tasks.task import Evaluation, EvaluationJob, PartCost, TaskData
from goldrank.tasks.unused_settings import refuse_unused
from goldrank.vectors.cache import live_vectors

OVERWRITE = {
    "missing": "evaluate what is not stored yet, and live models",
    "always": "evaluate everything anew and replace what is stored",
    "never": "evaluate nothing: show what is stored, and name what is not",
}


def evaluate(
    model: Any,
    task: object,
    *,
    questions: object = None,
    metrics: Metrics = None,
    settings: Settings | None = None,
    sharding: Sharding | None = None,
    reuse: bool = False,
    **options: Any,
) -> Evaluation:
    """Evaluate a model on a task without storing the result; embeddings are cached.

    >>> articles = [{"id": "a", "text": "red wine", "labels": ["b"]}, {"id": "b", "text": "white wine"}]
    >>> evaluate("bm25", articles).scores["mrr"].value
    1.0

    Args:
        model: a spec such as ``wordllama`` or ``fuse:rrf(bm25,wordllama)``; a function from texts to vectors, or from
            (query, k) to a ranking; an object with ``encode``, such as a SentenceTransformer, or with
            ``search(query, k)``; a retriever of LangChain, LlamaIndex or Haystack; what `load_model` returns; or the
            vectors themselves: an array whose rows are the items, or ``{"items": array, "queries": array}``.
        task: a name (``goldrank list tasks``), a path, a Task, or data in memory: a list of records with ``id``,
            ``text`` and ``labels``, a Hugging Face ``Dataset`` or ``DatasetDict``, a data frame, or a mapping with
            ``corpus``, ``queries`` and ``qrels``, each a dict, a list or a data frame; for vectors also
            `Gold`, or one class label per vector.
        questions: the questions of a task that is a folder of documents: the path of a table with the columns
            ``question`` and ``expected_file``, or its rows as a list of records or a data frame.
        metrics: the metrics to compute instead of those of the task.
        settings: how the model is evaluated.
        sharding: the cluster that encodes and searches, with the same result; None uses this process.
        reuse: take the cached vectors of a live model, such as a server, although it may have changed meanwhile.
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
    known_task = find_task(task, questions)
    if metrics is not None:
        refuse_other_similarity([metrics] if isinstance(metrics, (str, Metric)) else metrics, chosen.similarity)
        known_task = known_task.with_metrics([str(metric) for metric in parse_all(metrics)])
    data, loaded = known_task.load(chosen, sharding), prepare_model(model, chosen)
    refuse_unused(chosen, [loaded], [data], str)
    data.check(loaded)
    if reuse and not loaded.live_encoders:
        raise InputError("reuse has no effect, because the model has no vectors of a live model", remedy="leave it out")
    with live_vectors(loaded.live_encoders, reuse=reuse):
        result = data.evaluate(loaded)
    result.discard_checkpoints()
    return result


def prepare_model(model: Any, settings: Settings, name: str | None = None) -> Model:
    """Load a model with the options of the preset, and add the reranker that the settings name."""
    loaded = load_model(preset_model(model, settings.preset), name=name)
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


def refuse_unused_reuse(reuse: bool, models: Sequence[Model], prepared: Sequence[TaskData]) -> None:
    """Raise InputError if stored results are to be reused, and no model is live."""
    if reuse and not any(data.is_live(model) for data in prepared for model in models):
        raise InputError("reuse has no effect, because no model is live", remedy="leave it out")


def job_of(data: TaskData, model: Model, quality: DataQuality) -> EvaluationJob:
    """Return the job of evaluating *model* on *data*."""
    return EvaluationJob(
        data.task.name,
        model.spec,
        data.inputs(model),
        lambda: data.evaluate(model),
        data.save_texts,
        quality,
        data.is_live(model),
    )


def find_or_evaluate(
    job: EvaluationJob,
    store: Store,
    overwrite: str = "missing",
    report: Callable[[str], None] = lambda line: None,
    *,
    reuse: bool = False,
) -> Outcome | None:
    """Return the stored result of a job, or evaluate and store it; None if *overwrite* forbids that.

    A live job is evaluated again, and stored as a dated version beside the earlier ones, unless *reuse* is set.
    """
    stored = store.find(job.inputs)
    evaluates = overwrite == "always" or (overwrite == "missing" and (stored is None or (job.live and not reuse)))
    if not evaluates:
        if stored is None:
            return None
        report(f"{job.task}: {job.model} is stored as {stored.key}")
        if overwrite != "never":
            job.save_texts(store)  # further fields may have been added to the queries
        return Outcome(job.model, stored, fresh=False)
    again = " again, because it may have changed (--reuse takes the stored result)" if job.live and stored else ""
    report(f"{job.task}: evaluating {job.model}{again}")
    result = job.evaluate()
    here = environment()
    record = result.record(here, job.quality)
    if result.parts:
        seconds = _with_stored_parts(result.seconds, result.parts, store, here["machine"])
        record = replace(record, environment={**record.environment, "seconds": seconds})
    if job.live:
        record = record.dated(datetime.now(timezone.utc))
    saved = store.save(record, overwrite=overwrite == "always")
    if job.live and stored is not None:
        if overwrite == "always":
            store.delete([stored.key])
        else:
            report(f"{job.task}: compare it with the evaluation before: goldrank compare {stored.key} {saved.key}")
    if record.hits is not None:
        # The store does not keep subtopics, and a fresh result must read like a stored one.
        saved = replace(saved, held_hits=replace(record.hits, subtopics=None))
    job.save_texts(store)
    result.discard_checkpoints()
    return Outcome(job.model, saved, fresh=True, scores=result.stored_scores)


def _with_stored_parts(seconds: float, parts: Sequence[PartCost], store: Store, machine: Mapping[str, Any]) -> float:
    """Return the duration of a composed model, in which no part is cheaper than its own result of this machine.

    The part that runs first pays for what the others find ready: imported libraries, loaded models, checkpoints.
    """
    missing = 0.0
    for part in parts:
        stored = store.find(part.inputs)
        alone = stored.seconds if stored is not None and stored.environment.get("machine") == machine else None
        whole = _with_stored_parts(part.seconds, part.parts, store, machine)
        missing += max(whole, alone or 0.0) - part.seconds
    return seconds + missing


def find_or_evaluate_all(
    data: TaskData,
    models: Sequence[Model],
    quality: DataQuality,
    store: Store,
    overwrite: str,
    report: Callable[[str], None],
    *,
    reuse: bool = False,
) -> tuple[list[Outcome], list[str]]:
    """Return the outcomes of all models, and the models without a result; raise InputError if no model has one."""
    # Parts of fusions first, because a fusion costs at least what its parts cost alone.
    evaluated = {
        model.spec: find_or_evaluate(job_of(data, model, quality), store, overwrite, report, reuse=reuse)
        for model in sorted(models, key=lambda model: is_fusion(model.spec))
    }
    outcomes = {model.spec: evaluated[model.spec] for model in models}
    missing = [spec for spec, outcome in outcomes.items() if outcome is None]
    if len(missing) == len(outcomes):
        raise InputError(
            f"no result of {', '.join(missing)} on {data.task.name} is stored",
            where=store.where,
            remedy="run it without --overwrite never",
        )
    return [outcome for outcome in outcomes.values() if outcome is not None], missing
