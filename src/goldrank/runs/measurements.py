"""Models on tasks that give figures: measured once, stored, and compared pair by pair."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from goldrank import stats
from goldrank.errors import InputError
from goldrank.store import Record, Store, StoredRun
from goldrank.tasks.measurement import Figure, MeasuredTask, Measurement
from goldrank.tasks.ranking.models import Model
from goldrank.tasks.settings import Settings

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class MeasuredMaterial:
    """A measured task with its data read."""

    task: MeasuredTask
    data: Any
    settings: Settings

    @classmethod
    def of(cls, task: MeasuredTask, settings: Settings) -> MeasuredMaterial:
        """Read the task's split."""
        if settings.limit is not None or settings.rerank is not None:
            raise InputError(
                f"{task.name} gives figures over all its data: a limit or a reranker has no meaning there",
                remedy="leave --limit and --rerank away, or run it by itself",
            )
        if settings.oov == "miss":
            raise InputError(
                f"{task.name} ranks nothing, so that no pair can be missed",
                remedy="say what becomes of texts without a known word: --oov keep, skip or mean",
            )
        data = task.read(settings.split)
        return cls(task, data, settings.under_preset(task.name, task.kind, getattr(data, "level", None)))

    def inputs(self, model: Model) -> dict[str, Any]:
        """Everything that decides the result."""
        chosen = self.settings.as_dict()
        chosen["oov"] = chosen["oov"] or getattr(self.data, "oov", None)
        return {
            "task": self.task.name,
            "task_version": self.task.version,
            "kind": self.task.kind,
            "data": self.data.checksum,
            "split": self.settings.split or "test",
            **{name: chosen[name] for name in self.task.uses},
            "model": model.spec,
            "model_identity": model.identity,
        }


@dataclass(frozen=True, eq=False)
class Measured:
    """One model on one measured task, stored."""

    model: str
    stored: StoredRun
    fresh: bool

    @property
    def figures(self) -> dict[str, Figure]:
        """The numbers, the headline first."""
        return {name: Figure(**entry) for name, entry in self.stored.figures.items()}

    @property
    def headline(self) -> Figure:
        """The first of the figures."""
        return next(iter(self.figures.values()))

    @property
    def remarks(self) -> list[str]:
        """What a reader should know of how it was made."""
        return list(self.stored.environment.get("remarks", ()))

    def measurement(self) -> Measurement:
        """The stored measurement, its predictions read."""
        return Measurement(self.figures, self.stored.predictions(), tuple(self.remarks))


@dataclass(frozen=True, eq=False)
class FigureBoard:
    """All models on one measured task, the best headline first."""

    task: MeasuredTask
    material: MeasuredMaterial
    outcomes: list[Measured]
    p_values: Mapping[tuple[str, str], float]
    """After Holm, for every two models, the better first."""
    alpha: float = 0.05
    missing: list[str] = field(default_factory=list)

    @property
    def best(self) -> Measured:
        """The model with the best headline."""
        return self.outcomes[0]

    def beaten_by(self, model: str) -> list[str]:
        """The models whose headline is significantly worse."""
        return [worse for (better, worse), p in self.p_values.items() if better == model and p <= self.alpha]


def measure_on(
    material: MeasuredMaterial,
    models: Sequence[Model],
    store: Store,
    *,
    overwrite: str,
    environment: Callable[[], dict[str, Any]],
    report: Callable[[str], None],
    alpha: float,
) -> FigureBoard:
    """Measure every model that is not stored yet, and compare all of them."""
    outcomes, missing = outcomes_of(
        models,
        lambda model: find_or_measure(material, model, store, overwrite, environment, report),
        material.task.name,
        store,
    )
    outcomes = stats.best_first({outcome: outcome.headline.value for outcome in outcomes})
    return FigureBoard(material.task, material, outcomes, _p_values(material.task, outcomes), alpha, missing)


def outcomes_of(
    models: Sequence[Model], outcome: Callable[[Model], Made | None], task: str, store: Store
) -> tuple[list[Made], list[str]]:
    """What there is of every model, and the models of which there is nothing; refused if that is all of them."""
    made = {model.spec: outcome(model) for model in models}
    missing = [spec for spec, one in made.items() if one is None]
    if len(missing) == len(made):
        raise InputError(
            f"no result of {', '.join(missing)} on {task} is stored",
            where=store.where,
            remedy="run it without --overwrite never",
        )
    return [one for one in made.values() if one is not None], missing


def refuse_without_vectors(models: Sequence[Model], task: MeasuredTask) -> None:
    """Raise for a model that has nothing to measure."""
    for model in models:
        if model.encoder is None:
            raise InputError(
                f"{model.spec} ranks without vectors of its own, and {task.name} measures vectors",
                remedy="leave it out, or run it on tasks of retrieval and related articles",
            )


def find_or_measure(
    material: MeasuredMaterial,
    model: Model,
    store: Store,
    overwrite: str,
    environment: Callable[[], dict[str, Any]],
    report: Callable[[str], None],
) -> Measured | None:
    """Return the stored result of a model, or measure and store it; None where *overwrite* forbids that."""
    task, inputs = material.task, material.inputs(model)
    found = None if overwrite == "always" else store.find(inputs)
    if found is not None:
        report(f"{task.name}: {model.spec} is stored as {found.key}")
        return Measured(model.spec, found, fresh=False)
    if overwrite == "never":
        return None
    report(f"{task.name}: measuring {model.spec}")
    assert model.encoder is not None
    started = time.perf_counter()
    made = task.measure(model.encoder, material.data, material.settings)
    seconds = time.perf_counter() - started
    record = Record(
        task=task.name,
        model=model.spec,
        inputs=inputs,
        environment={**environment(), "seconds": seconds, "remarks": [*material.data.remarks, *made.remarks]},
        figures={name: asdict(figure) for name, figure in made.figures.items()},
        predictions=made.predictions,
    )
    return Measured(model.spec, store.save(record, overwrite=overwrite == "always"), fresh=True)


def _p_values(task: MeasuredTask, outcomes: Sequence[Measured]) -> dict[tuple[str, str], float]:
    made = {outcome.model: outcome.measurement() for outcome in outcomes} if len(outcomes) > 1 else {}
    pairs = list(combinations(made, 2))
    if not pairs:
        return {}
    adjusted = stats.holm(np.array([task.compare(made[better], made[worse]) for better, worse in pairs]))
    return dict(zip(pairs, adjusted.tolist(), strict=True))
