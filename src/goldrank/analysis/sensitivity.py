"""Measure how similarity and transform change scores and the order of models."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from goldrank.analysis.headline import Headline, HeadlineReading, headline_of, resample
from goldrank.analysis.model_orders import OrderAgreement, compare_orders, order_notes, place_intervals
from goldrank.analysis.score_bands import BandReading, Bands, PairScores, band_readings
from goldrank.errors import GoldrankError, InputError
from goldrank.progress import Progress
from goldrank.runs.evaluate import find_or_evaluate, job_of
from goldrank.runs.run import Measures, prepare
from goldrank.store import Store
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.ranking.encoding import without_fitting_texts
from goldrank.tasks.ranking.models import Model, load_model
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task, TaskData
from goldrank.vectors.transforms import Pipeline


@dataclass(frozen=True)
class Variant:
    """One similarity with one transform, and what every evaluator says of it."""

    similarity: str
    transform: str
    readings: dict[str, HeadlineReading]

    @property
    def name(self) -> str:
        """How it is called in tables."""
        return f"{self.similarity}, {self.transform}"


@dataclass(frozen=True)
class ModelSensitivity:
    """All variants of one model, over one set of evaluators."""

    model: str
    variants: list[Variant]
    lower_is_better: frozenset[str]

    @property
    def evaluators(self) -> list[str]:
        """The tasks with what is read off them."""
        return list(self.variants[0].readings)

    def swing(self, evaluator: str) -> float:
        """The largest reading minus the smallest."""
        values = [variant.readings[evaluator].value for variant in self.variants]
        return max(values) - min(values)

    def relative_swing(self, evaluator: str) -> float:
        """The swing as a share of the reading of the first variant, by which evaluators of any scale compare."""
        first = abs(self.variants[0].readings[evaluator].value)
        return self.swing(evaluator) / first if first else float("inf")

    def best(self, evaluator: str) -> Variant:
        """The variant that the evaluator likes best."""
        sign = -1 if evaluator in self.lower_is_better else 1
        return max(self.variants, key=lambda variant: sign * variant.readings[evaluator].value)

    def to_dict(self) -> dict[str, Any]:
        """Return every reading and swing as JSON can hold it."""
        return {
            "model": self.model,
            "variants": [
                {
                    "similarity": variant.similarity,
                    "transform": variant.transform,
                    "readings": {name: vars(one) for name, one in variant.readings.items()},
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
    """A model that could not be evaluated under a setting, and is left out."""

    model: str
    variant: str
    reason: str


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """What changes of the settings alone do to scores, and to the order of the models."""

    models: list[ModelSensitivity]
    orders: list[OrderAgreement]
    """For every evaluator and every two settings; empty with one model."""
    bands: list[BandReading]
    """By gold score, where that was asked for."""
    failures: list[FailedModel]
    notes: list[str]
    measures: Measures
    units: dict[str, str]
    """What was resampled for each evaluator: queries, pairs or examples."""
    place_intervals: dict[str, list[list[tuple[float, float]]]]
    """For each evaluator, by setting and model, the limits of the model's place over the resamples."""

    @property
    def evaluators(self) -> list[str]:
        """The tasks with what is read off them."""
        return self.models[0].evaluators

    @property
    def variants(self) -> list[str]:
        """The settings, by the names that tables give them."""
        return [variant.name for variant in self.models[0].variants]

    def places(self, evaluator: str, variant: int) -> dict[str, float]:
        """Return the place of each model under a setting, 1 being the best; models that tie share theirs."""
        from scipy.stats import rankdata

        sign = 1 if evaluator in self.models[0].lower_is_better else -1
        values = [sign * one.variants[variant].readings[evaluator].value for one in self.models]
        return dict(zip((one.model for one in self.models), rankdata(values).tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; of one model what there is of it alone."""
        if len(self.models) == 1 and not self.failures:
            made = self.models[0].to_dict()
        else:
            how = self.measures.bootstrap
            made = {
                "models": [one.to_dict() for one in self.models],
                "orders": [_order_dict(one) for one in self.orders],
                "failures": [asdict(one) for one in self.failures],
                "resampled": self.units,
                "resamples": how.resamples,
                "seed": how.seed,
                "level": how.level,
                "alpha": self.measures.alpha,
            }
        made |= {"notes": self.notes} if self.notes else {}
        return made | ({"bands": [one.to_dict() for one in self.bands]} if self.bands else {})


def sensitivity(
    models: Any,
    tasks: str | Task | Sequence[str | Task],
    similarities: Sequence[str] | None = None,
    transforms: Sequence[str] = ("none", "center", "abtt:2"),
    settings: Settings = Settings(),  # noqa: B008 - frozen
    *,
    bands: int | Sequence[float] | None = None,
    band_scores: str | None = None,
    store: Store | str | None = None,
    measures: Measures = Measures(),  # noqa: B008 - frozen
    overwrite: str = "missing",
    report: Callable[[str], None] = lambda line: None,
) -> Sensitivity:
    """Cross similarities with transforms, read every evaluator under each, and compare the orders of the models.

    Every model encodes a text once, whatever the number of settings, and every result is stored.

    Args:
        models: a model, or a list of models, as in `evaluate`.
        tasks: names, paths or tasks.
        similarities: compared with each other; cosine and l2 unless given.
        transforms: likewise; the first similarity with the first transform is what others are compared with.
        settings: everything else, such as ``Settings(fit_on="evaluated")``.
        bands: also break the readings down by gold score: into so many bands of equally many pairs, or at these
            edges; retrieval tasks are broken down by grade.
        band_scores: the similarity task, such as ``sts-b``, that has the scores of an EvalRank task's pairs.
        store: where results are found and kept; the default store unless given.
        measures: metrics (the first is read), conventions, bootstrap and level of significance.
        overwrite: ``missing``, ``always`` or ``never``.
        report: is told what is being done.

    Raises:
        InputError: for a setting, model or task that cannot be evaluated, before any work is done. A model that fails
            later on is left out and named in ``failures``, unless all do.

    >>> import tempfile
    >>> made = sensitivity(["random:8", "random:32"], "wines", transforms=["none"], store=tempfile.mkdtemp())
    >>> made.orders[0].first, made.orders[0].second, made.orders[0].models
    ('cosine, none', 'l2, none', 2)
    """
    given = list(models) if isinstance(models, (list, tuple)) else [models]
    # Every setting reads the same data.
    found = [find_task(task).reading_once() for task in ([tasks] if isinstance(tasks, (str, Task)) else tasks)]
    loaded = [load_model(model) for model in given]
    edges = None if bands is None else Bands.of(bands)
    if band_scores is not None and (bands is None or not any(task.kind == "evalrank" for task in found)):
        raise InputError(
            "scores for bands have no effect without bands of an EvalRank task",
            remedy="give --bands and such a task, or leave --band-scores out",
        )
    scores = None if band_scores is None else PairScores.of(band_scores)
    variants = _variants(found, similarities, transforms, settings)
    notes = _check_effects(loaded, found, variants)
    data = [_prepare(loaded, found, variant) for variant in variants]
    place = store if isinstance(store, Store) else Store.open(store)
    work = _Work(place, measures, overwrite, report)
    headlines, failures = work.evaluate(loaded, data, variants)
    kept = [model for model in loaded if model.spec in headlines]
    made = [_of_model(model.spec, headlines[model.spec], variants) for model in kept]
    orders: list[OrderAgreement] = []
    intervals: dict[str, list[list[tuple[float, float]]]] = {}
    if len(kept) > 1:
        rows = [headlines[model.spec] for model in kept]
        orders, intervals = _orders(rows, [model.spec for model in kept], variants, found, measures)
        notes += order_notes(len(kept))
    elif failures:
        notes.append("Only one model is left, so that there is no order to compare.")
    broken_down: list[BandReading] = []
    if edges is not None:
        names = [_name(variant) for variant in variants]
        for model in kept:
            broken_down += band_readings(model.spec, names, headlines[model.spec], edges, measures, scores)
        if scores is not None:
            first = headlines[kept[0].spec][0]
            notes += [scores.note(one) for one in first if one.data and one.data.task.kind == "evalrank"]
        notes += _band_notes(broken_down, made[0].evaluators)
    units = {one.evaluator: one.units for one in headlines[kept[0].spec][0]}
    return Sensitivity(made, orders, broken_down, failures, notes, measures, units, intervals)


def _variants(
    tasks: Sequence[Task], similarities: Sequence[str] | None, transforms: Sequence[str], base: Settings
) -> list[Settings]:
    compares = any(task.compares_vectors for task in tasks)
    chosen = similarities or (("cosine", "l2") if compares else ("cosine",))
    for name, values in (("similarity", chosen), ("transform", transforms)):
        if len(set(values)) < len(values):
            twice = next(value for value in values if list(values).count(value) > 1)
            raise InputError(f"the {name} {twice} is given twice", remedy="name each once")
    if not compares and len(chosen) > 1:
        raise InputError(
            f"{tasks[0].name} compares no two vectors, so that a similarity has no effect on it",
            remedy="leave --similarity away, or add a task that ranks or correlates",
        )
    made = [replace(base, similarity=one, transform=transform) for one in chosen for transform in transforms]
    if len(made) < 2:
        raise InputError("one setting cannot show how far a score moves", remedy="give several, such as cosine,l2")
    return made


def _check_effects(models: Sequence[Model], tasks: Sequence[Task], variants: Sequence[Settings]) -> list[str]:
    """Refuse models that no setting bears on, and tell of those that stand still beside others."""
    still = [model.spec for model in models if not model.uses_vectors]
    if len(still) == len(models):
        raise InputError(
            f"{', '.join(still)} ranks without vectors, so that no similarity or transform has an effect on it",
            remedy="give a model that makes vectors (goldrank list models)",
        )
    notes = [f"{spec} ranks without vectors: no setting moves it, only its place among the others." for spec in still]
    same: dict[str, list[str]] = {}
    for model in models:
        same.setdefault(model.identity, []).append(model.spec)
    notes += [f"{' and '.join(specs)} are the same model." for specs in same.values() if len(set(specs)) > 1]
    if len({variant.similarity for variant in variants}) > 1:
        notes += [
            f"{task.name} compares no two vectors: the similarity has no effect on it."
            for task in tasks
            if not task.compares_vectors
        ]
    return notes


def _prepare(models: list[Model], tasks: Sequence[Task], variant: Settings) -> list[TaskData]:
    """The data under one setting, once every model was asked whether it can do that."""
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
        for one in data:
            if not one.has_fitting_texts:
                raise without_fitting_texts(one.task.name)
    return data


@dataclass(frozen=True)
class _Work:
    """How results are found or made."""

    store: Store
    measures: Measures
    overwrite: str
    report: Callable[[str], None]

    def evaluate(
        self,
        models: Sequence[Model],
        data: Sequence[Sequence[TaskData]],
        variants: Sequence[Settings],
    ) -> tuple[dict[str, list[list[Headline]]], list[FailedModel]]:
        """The headlines of every model by setting and task, and the models that failed."""
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
                        headlines[model.spec].append([self._headline(one, model, quality) for one in of_variant])
                    except GoldrankError as error:
                        if len(headlines) == 1:
                            raise errors[0] if errors else error from None
                        # What other models gave is not lost because one cannot go on.
                        errors.append(error)
                        failures.append(FailedModel(model.spec, _name(variant), str(error)))
                        del headlines[model.spec]
                    progress.advance(len(of_variant))
        return headlines, failures

    def _headline(self, data: TaskData, model: Model, quality: dict[str, DataQuality]) -> Headline:
        name = data.task.name
        if name not in quality:
            quality[name] = data.inspect()
        outcome = find_or_evaluate(job_of(data, model, quality[name]), self.store, self.overwrite, self.report)
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
    lower = frozenset(one.evaluator for one in headlines[0] if one.lower_is_better)
    made = [
        Variant(variant.similarity, variant.transform, {one.evaluator: one.reading for one in row})
        for variant, row in zip(variants, headlines, strict=True)
    ]
    return ModelSensitivity(spec, made, lower)


def _orders(
    headlines: Sequence[Sequence[Sequence[Headline]]],
    models: Sequence[str],
    variants: Sequence[Settings],
    tasks: Sequence[Task],
    measures: Measures,
) -> tuple[list[OrderAgreement], dict[str, list[list[tuple[float, float]]]]]:
    """The orders of the models under every two settings by every evaluator, and the limits of their places."""
    made, intervals = [], {}
    for at, task in enumerate(tasks):
        rows = [[of_model[variant][at] for of_model in headlines] for variant in range(len(variants))]
        sign = -1.0 if rows[0][0].lower_is_better else 1.0
        values = sign * np.array([[one.reading.value for one in row] for row in rows])
        drawn = sign * resample([one for row in rows for one in row], measures.bootstrap)
        drawn = drawn.reshape(len(drawn), len(variants), len(models))
        intervals[rows[0][0].evaluator] = place_intervals(drawn, measures.bootstrap.level)
        found = compare_orders(
            rows[0][0].evaluator,
            models,
            [(variant.similarity, variant.transform) for variant in variants],
            values,
            drawn,
            measures.bootstrap,
            measures.alpha,
        )
        if not task.compares_vectors:
            # Settings that differ in the similarity alone are one setting here.
            found = [one for one in found if one.first.partition(", ")[2] != one.second.partition(", ")[2]]
        made += found
    return made, intervals


def _band_notes(bands: Sequence[BandReading], evaluators: Sequence[str]) -> list[str]:
    without = [name for name in evaluators if not any(one.evaluator == name for one in bands)]
    if len(without) == len(evaluators):
        raise InputError(
            f"{', '.join(without)}: all gold has one score, so that there are no bands of it",
            remedy="leave --bands away, or give a task of scored pairs or graded judgments",
        )
    return [f"{name}: all gold has one score, so that there are no bands of it." for name in without]


def _order_dict(one: OrderAgreement) -> dict[str, Any]:
    return {
        "evaluator": one.evaluator,
        "first": one.first,
        "second": one.second,
        "one_change": one.one_change,
        "models": one.models,
        "tau": _finite(one.tau),
        "low": _finite(one.interval.low),
        "high": _finite(one.interval.high),
        "method": one.interval.method,
        "same_order": one.same,
        "answer": one.answer,
        "swaps": [{**asdict(swap), "significant": swap.significant, "verdict": swap.verdict} for swap in one.swaps],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
