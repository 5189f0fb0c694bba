"""Measure how similarity and transform change scores and the order of models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from goldrank.analysis.headline import Headline, HeadlineReading, headline_of, resample
from goldrank.analysis.model_orders import OrderAgreement, compare_orders, order_notes, place_intervals
from goldrank.analysis.score_bands import BandReading, Bands, PairScores, band_readings
from goldrank.errors import GoldrankError, InputError
from goldrank.io.checks import find_duplicate
from goldrank.metrics import Conventions
from goldrank.presentation import Result
from goldrank.progress import Progress
from goldrank.runs.evaluate import find_or_evaluate, job_of, refuse_unused_reuse
from goldrank.runs.run import Measures, prepare, settings_and_measures
from goldrank.scoring import Bootstrap, Metrics
from goldrank.stats.correlation import mean_ranks
from goldrank.store import Store
from goldrank.tasks.catalogue import find_tasks
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.ranking.encoding import without_fitting_texts
from goldrank.tasks.ranking.models import Model, load_model
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task, TaskData
from goldrank.vectors.cache import live_vectors
from goldrank.vectors.transforms import Pipeline


@dataclass(frozen=True)
class Variant:
    """One similarity with one transform, and its reading by every evaluator."""

    similarity: str
    transform: str
    readings: dict[str, HeadlineReading]

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"{self.similarity}, {self.transform}"


@dataclass(frozen=True)
class ModelSensitivity:
    """All variants of one model, over one set of evaluators."""

    model: str
    variants: list[Variant]
    lower_is_better: frozenset[str]

    @property
    def evaluators(self) -> list[str]:
        """The tasks, each with its first metric."""
        return list(self.variants[0].readings)

    def swing(self, evaluator: str) -> float:
        """Return the largest reading minus the smallest."""
        values = [variant.readings[evaluator].value for variant in self.variants]
        return max(values) - min(values)

    def relative_swing(self, evaluator: str) -> float:
        """Return the swing divided by the reading of the first variant, to compare evaluators of different scales."""
        first = abs(self.variants[0].readings[evaluator].value)
        return self.swing(evaluator) / first if first else float("inf")

    def best(self, evaluator: str) -> Variant:
        """Return the variant with the best reading."""
        sign = -1 if evaluator in self.lower_is_better else 1
        return max(self.variants, key=lambda variant: sign * variant.readings[evaluator].value)

    def to_dict(self) -> dict[str, Any]:
        """Return every reading and swing for JSON."""
        return {
            "model": self.model,
            "variants": [
                {
                    "similarity": variant.similarity,
                    "transform": variant.transform,
                    "readings": {name: vars(reading) for name, reading in variant.readings.items()},
                }
                for variant in self.variants
            ],
            "swings": {
                name: {"absolute": self.swing(name), "relative": _finite(self.relative_swing(name))}
                for name in self.evaluators
            },
        }


@dataclass(frozen=True)
class FailedModel:
    """A model that could not be evaluated under a setting, and is therefore left out."""

    model: str
    variant: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Result):
    """The effect of the settings alone on scores, and on the order of the models."""

    models: list[ModelSensitivity]
    orders: list[OrderAgreement]
    """For every evaluator and every two settings; empty with one model."""
    bands: list[BandReading]
    """The readings by bands of gold scores, if requested."""
    failures: list[FailedModel]
    notes: list[str]
    measures: Measures
    units: dict[str, str]
    """The unit of resampling of each evaluator: queries, pairs or examples."""
    place_intervals: dict[str, list[list[tuple[float, float]]]]
    """The interval of each model's place, by evaluator, setting and model."""

    @property
    def evaluators(self) -> list[str]:
        """The tasks, each with its first metric."""
        return self.models[0].evaluators

    @property
    def variants(self) -> list[str]:
        """The names of the settings in tables."""
        return [variant.name for variant in self.models[0].variants]

    def places(self, evaluator: str, variant: int) -> dict[str, float]:
        """Return the place of each model under a setting, 1 being the best; tied models share the mean place."""
        sign = 1 if evaluator in self.models[0].lower_is_better else -1
        values = np.array([sign * model.variants[variant].readings[evaluator].value for model in self.models])
        return dict(zip((model.model for model in self.models), mean_ranks(values).tolist(), strict=True))

    def content(self) -> dict[str, Any]:
        """Return everything for JSON."""
        how = self.measures.bootstrap
        return {
            "models": [model.to_dict() for model in self.models],
            "orders": [_order_dict(order) for order in self.orders],
            "bands": [band.to_dict() for band in self.bands],
            "failures": [asdict(failure) for failure in self.failures],
            "notes": self.notes,
            "resampled": self.units,
            "resamples": how.resamples,
            "seed": how.seed,
            "level": how.level,
            "alpha": self.measures.alpha,
        }


def sensitivity(
    models: Any,
    tasks: str | Task | Sequence[str | Task],
    similarities: Sequence[str] | None = None,
    transforms: Sequence[str] = ("none", "center", "abtt:2"),
    settings: Settings | None = None,
    *,
    questions: object = None,
    bands: int | Sequence[float] | None = None,
    band_scores: str | None = None,
    store: Store | str | None = None,
    metrics: Metrics = None,
    profile: str | None = None,
    conventions: Conventions | Mapping[str, Any] | None = None,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    alpha: float = 0.05,
    overwrite: str = "missing",
    reuse: bool = False,
    report: Callable[[str], None] = lambda line: None,
    **options: Any,
) -> Sensitivity:
    """Evaluate models under every similarity with every transform, and compare scores and orders of models.

    Every model encodes a text once, regardless of the number of settings, and every result is stored.

    Args:
        models: a model, or a list of models, as in `evaluate`.
        tasks: names, paths or tasks.
        similarities: the similarities to compare; cosine and l2 by default.
        transforms: the transforms to compare; the first similarity with the first transform is the baseline.
        settings: all other settings; *options* are single ones, such as ``fit_on="evaluated"``, or conventions.
        questions: the questions of each task that is a folder of documents, as in `evaluate`.
        bands: also break the readings down by gold score: the number of bands with equally many pairs, or their
            edges; retrieval tasks are broken down by grade.
        band_scores: the similarity task, such as ``sts-b``, that has the scores of an EvalRank task's pairs.
        store: the store of the results; the default store by default.
        metrics, profile, conventions: of tasks that rank; only the first metric is used.
        bootstrap: the settings of the intervals.
        alpha: the significance level.
        overwrite: ``missing``, ``always`` or ``never``.
        reuse: take the newest stored results, or else the cached vectors, of live models too.
        report: called with a line about each step.

    Raises:
        InputError: for a setting, model or task that cannot be evaluated, before any work is done. A model that fails
            later on is left out and listed in ``failures``, unless all fail.

    >>> import tempfile
    >>> result = sensitivity(["random:8", "random:32"], "wines", transforms=["none"], store=tempfile.mkdtemp())
    >>> result.orders[0].first, result.orders[0].second, result.orders[0].models
    ('cosine, none', 'l2, none', 2)
    """
    chosen, measures = settings_and_measures(
        sensitivity, settings, options, metrics, profile, conventions, bootstrap, alpha
    )
    # Every setting reads the same data.
    listed = [tasks] if isinstance(tasks, (str, Task)) else tasks
    resolved = [task.reading_once() for task in find_tasks(listed, questions)]
    loaded = [load_model(model) for model in (models if isinstance(models, (list, tuple)) else [models])]
    edges = None if bands is None else Bands.of(bands)
    if band_scores is not None and (bands is None or not any(task.kind == "evalrank" for task in resolved)):
        raise InputError(
            "scores for bands have no effect without bands of an EvalRank task",
            remedy="give --bands and such a task, or leave --band-scores out",
        )
    scores = None if band_scores is None else PairScores.of(band_scores)
    variants = _variants(resolved, similarities, transforms, chosen)
    notes = _check_effects(loaded, resolved, variants)
    data = [_prepare(loaded, resolved, variant) for variant in variants]
    refuse_unused_reuse(reuse, loaded, [task_data for of_variant in data for task_data in of_variant])
    work = _Work(Store.open(store), measures, overwrite, reuse, report)
    with live_vectors((encoder for model in loaded for encoder in model.live_encoders), reuse=reuse):
        headlines, failures = work.evaluate(loaded, data, variants)
    remaining = [model.spec for model in loaded if model.spec in headlines]
    by_model = [_of_model(spec, headlines[spec], variants) for spec in remaining]
    orders: list[OrderAgreement] = []
    intervals: dict[str, list[list[tuple[float, float]]]] = {}
    if len(remaining) > 1:
        orders, intervals = _orders([headlines[spec] for spec in remaining], remaining, variants, resolved, measures)
        notes += order_notes(len(remaining))
    elif failures:
        notes.append("Only one model is left, so that there is no order to compare.")
    first = headlines[remaining[0]][0]
    by_band: list[BandReading] = []
    if edges is not None:
        names = [_name(variant) for variant in variants]
        for spec in remaining:
            by_band += band_readings(spec, names, headlines[spec], edges, measures, scores)
        if scores is not None:
            notes += [scores.note(each) for each in first if each.data and each.data.task.kind == "evalrank"]
        notes += _band_notes(by_band, by_model[0].evaluators)
    units = {headline.evaluator: headline.units for headline in first}
    return Sensitivity(by_model, orders, by_band, failures, notes, measures, units, intervals)


def _variants(
    tasks: Sequence[Task], similarities: Sequence[str] | None, transforms: Sequence[str], base: Settings
) -> list[Settings]:
    compares = any(task.compares_vectors for task in tasks)
    chosen = similarities or (("cosine", "l2") if compares else ("cosine",))
    for name, values in (("similarity", chosen), ("transform", transforms)):
        if repeated := find_duplicate(values):
            raise InputError(f"the {name} {values[repeated[0]]} is given twice", remedy="name each once")
    if not compares and len(chosen) > 1:
        raise InputError(
            f"{tasks[0].name} does not compare vectors, so that a similarity has no effect on it",
            remedy="leave --similarity out, or add a task that ranks or correlates",
        )
    variants = [
        replace(base, similarity=similarity, transform=transform) for similarity in chosen for transform in transforms
    ]
    if len(variants) < 2:
        raise InputError("one setting cannot show a difference", remedy="give several, such as cosine,l2")
    return variants


def _check_effects(models: Sequence[Model], tasks: Sequence[Task], variants: Sequence[Settings]) -> list[str]:
    """Refuse models if no setting affects any of them; return notes about models and tasks that are not affected."""
    unaffected = [model.spec for model in models if not model.uses_vectors]
    if len(unaffected) == len(models):
        raise InputError(
            f"{', '.join(unaffected)} ranks without vectors, so that no similarity or transform has an effect on it",
            remedy="give a model that makes vectors (goldrank list models)",
        )
    notes = [f"{spec} ranks without vectors: settings change only its place among the others." for spec in unaffected]
    same: dict[str, list[str]] = {}
    for model in models:
        same.setdefault(model.identity, []).append(model.spec)
    notes += [f"{' and '.join(specs)} are the same model." for specs in same.values() if len(set(specs)) > 1]
    if len({variant.similarity for variant in variants}) > 1:
        notes += [
            f"{task.name} does not compare vectors: the similarity has no effect on it."
            for task in tasks
            if not task.compares_vectors
        ]
    return notes


def _prepare(models: list[Model], tasks: Sequence[Task], variant: Settings) -> list[TaskData]:
    """Return the data under one setting; refuse a model that does not support the setting."""
    try:
        data = prepare(models, list(tasks), variant)[1]
    except InputError as error:
        if len(models) == 1:
            raise
        for model in models:
            try:
                prepare([model], list(tasks), variant)
            except InputError as own:
                raise InputError(
                    f"{model.spec} with {_name(variant)}: {own.what}",
                    where=own.where,
                    remedy=f"{own.remedy}; or leave this model or this setting out" if own.remedy else None,
                ) from None
        raise error
    if variant.fit_on == "corpus" and Pipeline.parse(variant.transform).learns:
        for task_data in data:
            if not task_data.has_fitting_texts:
                raise without_fitting_texts(task_data.task.name)
    return data


@dataclass(frozen=True)
class _Work:
    """Finds stored results, and evaluates those that are missing."""

    store: Store
    measures: Measures
    overwrite: str
    reuse: bool
    report: Callable[[str], None]

    def evaluate(
        self,
        models: Sequence[Model],
        data: Sequence[Sequence[TaskData]],
        variants: Sequence[Settings],
    ) -> tuple[dict[str, list[list[Headline]]], list[FailedModel]]:
        """Return the headlines of every model by setting and task, and the models that failed."""
        headlines: dict[str, list[list[Headline]]] = {model.spec: [] for model in models}
        failures: list[FailedModel] = []
        errors: list[GoldrankError] = []
        quality: dict[str, DataQuality] = {}
        total = len(models) * len(variants) * len(data[0])
        with Progress("models under settings", total=total, unit="result") as progress:
            for variant, of_variant in zip(variants, data, strict=True):
                self.report(_name(variant))
                for model in models:
                    if model.spec not in headlines:
                        continue
                    try:
                        headlines[model.spec].append(
                            [self._headline(task_data, model, quality) for task_data in of_variant]
                        )
                    except GoldrankError as error:
                        if len(headlines) == 1:
                            raise errors[0] if errors else error from None
                        # The results of other models are not lost because one model fails.
                        errors.append(error)
                        failures.append(FailedModel(model.spec, _name(variant), str(error)))
                        del headlines[model.spec]
                    progress.advance(len(of_variant))
        return headlines, failures

    def _headline(self, data: TaskData, model: Model, quality: dict[str, DataQuality]) -> Headline:
        name = data.task.name
        if name not in quality:
            quality[name] = data.inspect()
        job = job_of(data, model, quality[name])
        outcome = find_or_evaluate(job, self.store, self.overwrite, self.report, reuse=self.reuse)
        if outcome is not None:
            return headline_of(data, outcome, self.measures)
        raise InputError(
            f"no result of {model.spec} on {name} with {_name(data.settings)} is stored",
            where=self.store.where,
            remedy="run it without --overwrite never",
        )


def _name(variant: Settings) -> str:
    return f"{variant.similarity}, {variant.transform}"


def _of_model(spec: str, headlines: Sequence[Sequence[Headline]], variants: Sequence[Settings]) -> ModelSensitivity:
    lower = frozenset(headline.evaluator for headline in headlines[0] if headline.lower_is_better)
    model_variants = [
        Variant(variant.similarity, variant.transform, {headline.evaluator: headline.reading for headline in row})
        for variant, row in zip(variants, headlines, strict=True)
    ]
    return ModelSensitivity(spec, model_variants, lower)


def _orders(
    headlines: Sequence[Sequence[Sequence[Headline]]],
    models: Sequence[str],
    variants: Sequence[Settings],
    tasks: Sequence[Task],
    measures: Measures,
) -> tuple[list[OrderAgreement], dict[str, list[list[tuple[float, float]]]]]:
    """Compare the orders of the models for every evaluator and every two settings; also return place intervals."""
    orders, intervals = [], {}
    for at, task in enumerate(tasks):
        rows = [[of_model[variant][at] for of_model in headlines] for variant in range(len(variants))]
        sign = -1.0 if rows[0][0].lower_is_better else 1.0
        values = sign * np.array([[headline.reading.value for headline in row] for row in rows])
        resampled = sign * resample([headline for row in rows for headline in row], measures.bootstrap)
        resampled = resampled.reshape(len(resampled), len(variants), len(models))
        intervals[rows[0][0].evaluator] = place_intervals(resampled, measures.bootstrap.level)
        agreements = compare_orders(
            rows[0][0].evaluator,
            models,
            [(variant.similarity, variant.transform) for variant in variants],
            values,
            resampled,
            measures.bootstrap,
            measures.alpha,
        )
        if not task.compares_vectors:
            # Settings that differ only in the similarity are the same for this task.
            agreements = [a for a in agreements if a.first.partition(", ")[2] != a.second.partition(", ")[2]]
        orders += agreements
    return orders, intervals


def _band_notes(bands: Sequence[BandReading], evaluators: Sequence[str]) -> list[str]:
    without = [name for name in evaluators if not any(band.evaluator == name for band in bands)]
    if len(without) == len(evaluators):
        raise InputError(
            f"{', '.join(without)}: all gold has the same score, so that it has no bands",
            remedy="leave --bands out, or give a task of scored pairs or graded judgments",
        )
    return [f"{name}: all gold has the same score, so that it has no bands." for name in without]


def _order_dict(order: OrderAgreement) -> dict[str, Any]:
    return {
        "evaluator": order.evaluator,
        "first": order.first,
        "second": order.second,
        "one_change": order.one_change,
        "models": order.models,
        "tau": _finite(order.tau),
        "low": _finite(order.interval.low),
        "high": _finite(order.interval.high),
        "method": order.interval.method,
        "same_order": order.same,
        "answer": order.answer.replace(" ", "_"),
        "swaps": [{**asdict(swap), "significant": swap.significant, "verdict": swap.verdict} for swap in order.swaps],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
