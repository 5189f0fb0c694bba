"""Evaluate a model on a task: from both to rankings, hits and scores, with everything that decided them."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from goldrank.errors import DataWarning, InputError, unknown_name
from goldrank.hits import Gold, Hits, Run
from goldrank.metrics import Conventions, Metric, parse_all
from goldrank.metrics import profile as find_profile
from goldrank.metrics.names import refuse_other_similarity
from goldrank.scoring import Bootstrap, HitCounter, Metrics, Scores, add_confidence, agree, score_hits
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.material import Corpus, Material
from goldrank.tasks.measurement import MeasuredTask, Measurement
from goldrank.tasks.ranking.models import Model, load_model, preset_model, with_reranking
from goldrank.tasks.ranking.ranked import Removable
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task
from goldrank.tasks.unused_settings import refuse_unused


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One model on one task.

    >>> result = evaluate("bm25", "questions", limit=20)
    >>> result.scores["ndcg@10"].mean > 0.3
    True
    """

    material: Material
    model: Model
    run: Run
    """The rankings, as deep as was asked for."""
    counted: Hits | None
    """Hits over all items where the rankings are only their top."""
    seconds: float
    remarks: tuple[str, ...] = ()
    warnings: tuple[DataWarning, ...] = ()
    """What of the model makes its scores misleading, such as texts that it truncated."""
    checkpoints: tuple[Removable, ...] = ()
    """What was kept on the way; `forget_the_way` removes it."""

    def forget_the_way(self) -> None:
        """Remove what was kept so that a killed evaluation could go on."""
        for checkpoint in self.checkpoints:
            checkpoint.remove()

    @property
    def task(self) -> Task:
        """What was evaluated on."""
        return self.material.task

    @property
    def gold(self) -> Gold:
        """What is right."""
        return self.material.gold

    @property
    def corpus(self) -> Corpus:
        """The ids of all items."""
        return self.material.corpus

    @cached_property
    def _counter(self) -> HitCounter:
        return HitCounter(self.gold, self.run, self.corpus)

    @cached_property
    def hits(self) -> Hits:
        """Where the gold landed, the query's own entry left out where it is an item."""
        return self.hits_under(agree(find_profile("standard"), self.task.conventions))

    def hits_under(self, conventions: Conventions) -> Hits:
        """Return the hits under *conventions*; they are counted again only if they may differ."""
        return self.counted if self.counted is not None else self._counter.count(conventions)

    @property
    def inputs(self) -> dict[str, Any]:
        """Everything that decided the result, as it is recorded."""
        return inputs_of(self.material, self.model)

    @cached_property
    def scores(self) -> Scores:
        """The task's own metrics under its own profile."""
        return self.score()

    def score(
        self,
        metrics: Metrics = None,
        profile: str | None = None,
        bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
        **conventions: Any,
    ) -> Scores:
        """Score the rankings; another profile than the task's brings all its own conventions and metrics."""
        chosen = profile or self.material.preset_profile or self.task.profile
        own = chosen == self.task.profile
        asked = metrics if metrics is not None else self.task.default_metrics if own else None
        changes = {**(self.task.conventions if own else {}), **conventions}
        parsed = parse_all(find_profile(chosen).metrics if asked is None else asked)
        agreed = agree(find_profile(chosen), changes)
        if self.counted is None:
            return self._counter.score(parsed, find_profile(chosen), agreed, self.model.spec, bootstrap)
        hits = add_confidence(self.counted, self.run, parsed, agreed)
        return score_hits(hits, parsed, profile=chosen, name=self.model.spec, bootstrap=bootstrap, **changes)

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value.value:.4f}" for name, value in self.scores.items())
        return f"Evaluation({self.model.spec} on {self.task.name}: {means})"


def evaluate(
    model: Any,
    task: object,
    *,
    metrics: Metrics = None,
    settings: Settings | None = None,
    sharding: Sharding | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a model on a task; nothing is stored but encoded texts.

    >>> articles = [{"id": "a", "text": "red wine", "labels": ["b"]}, {"id": "b", "text": "white wine"}]
    >>> evaluate("bm25", articles).scores["mrr"].mean
    1.0

    Args:
        model: a spec such as ``wordllama`` or ``fuse:rrf(bm25,wordllama)``, a function from texts to vectors, or an
            object that encodes, searches or scores pairs.
        task: a name (``goldrank list tasks``), a path, a Task, or data in memory: a list of records with ``id``,
            ``text`` and ``labels``, a Hugging Face ``Dataset`` or ``DatasetDict``, a data frame, or a mapping with
            ``corpus``, ``queries`` and ``qrels``.
        metrics: measured instead of the task's own.
        settings: how the model is asked; *options* are single ones, such as ``similarity="dot"`` or ``limit=100``.
        sharding: the cluster that encodes and searches, with the same result; this process where it is None.
    """
    chosen = _settings(settings or Settings(), options)
    found = find_task(task)
    if isinstance(found, MeasuredTask):
        raise InputError(
            f"the task {found.name!r} gives figures, not rankings",
            remedy=f"use goldrank.measure(model, {found.name!r})",
        )
    if metrics is not None:
        refuse_other_similarity([metrics] if isinstance(metrics, (str, Metric)) else metrics, chosen.similarity)
        found = replace(found, metrics=tuple(str(metric) for metric in parse_all(metrics)))
    material, loaded = replace(Material.of(found, chosen), sharding=sharding), prepared_model(model, chosen)
    refuse_unused(chosen, [loaded], [material], str)
    loaded.check(material)
    made = evaluate_on(material, loaded)
    made.forget_the_way()
    return made


def measure(model: Any, task: str | MeasuredTask, *, settings: Settings | None = None, **options: Any) -> Measurement:
    """Measure a model on a task that gives figures, such as ``sts-b`` or a probe; arguments as in :func:`evaluate`."""
    chosen, found = _settings(settings or Settings(), options), find_task(task)
    if not isinstance(found, MeasuredTask):
        raise InputError(
            f"the task {found.name!r} gives rankings, not figures",
            remedy=f"use goldrank.evaluate(model, {found.name!r})",
        )
    encoder = prepared_model(model, chosen).encoder
    if encoder is None:
        raise InputError(f"{model} ranks without vectors of its own", remedy="measure a model of vectors")
    data = found.read(chosen.split)
    return found.measure(encoder, data, chosen.under_preset(found.name, found.kind, getattr(data, "level", None)))


def evaluate_on(material: Material, model: Model) -> Evaluation:
    """Evaluate a loaded model on material that is read already."""
    started = time.perf_counter()
    ranked = model.rank(material)
    seconds = time.perf_counter() - started
    return Evaluation(
        material, model, ranked.run, ranked.hits, seconds, ranked.remarks, ranked.warnings, ranked.checkpoints
    )


def prepared_model(model: Any, settings: Settings) -> Model:
    """The model, as the preset has it, followed by the reranker that the settings name."""
    loaded = load_model(preset_model(model, settings.preset))
    return loaded if settings.rerank is None else with_reranking(loaded, settings.rerank, settings.rerank_depth)


# What does not bear on a model that ranks without vectors of its own.
_OF_VECTORS = ("similarity", "index", "scoring", "transform", "fit_on", "oov")


def inputs_of(material: Material, model: Model) -> dict[str, Any]:
    """Everything that decides a result, known before any work is done."""
    inputs = {**material.inputs(), "model": model.spec, "model_identity": model.identity}
    if not model.uses_vectors:
        for name in _OF_VECTORS:
            inputs.pop(name, None)
    return inputs


def _settings(settings: Settings, options: dict[str, Any]) -> Settings:
    known = [entry.name for entry in fields(Settings) if entry.name != "given"]
    for name in options:
        if name not in known:
            raise unknown_name("setting", name, known, f"the settings are {', '.join(known)}")
    try:
        return replace(settings, **options, given=settings.given | options.keys())
    except TypeError as error:
        raise InputError(f"a setting has a value of the wrong type ({error})") from None
