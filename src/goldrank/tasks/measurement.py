"""Measurement tasks: evaluate the vectors of a model by a correlation or an accuracy instead of by rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from goldrank.data.sources import DatasetDescription
from goldrank.encoders.base import Encoder
from goldrank.errors import InputError
from goldrank.presentation import Result
from goldrank.stats import Interval, holm
from goldrank.store import ResultKind, RunRecord, Store, StoredRun
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.ranking.preflight import check_measured
from goldrank.tasks.settings import Settings
from goldrank.vectors.cache import measure_seconds

if TYPE_CHECKING:
    from goldrank.tasks.ranking.models import Model
    from goldrank.tasks.ranking.sharding import Sharding
    from goldrank.tasks.task import PartCost


@dataclass(frozen=True)
class MeasuredValue:
    """One value of a measurement with its confidence interval."""

    value: float
    count: int
    """The number of pairs or examples that the value is computed from."""
    low: float | None = None
    high: float | None = None
    method: str = ""
    """The method of the interval."""

    @property
    def interval(self) -> Interval | None:
        """The 95% confidence interval; None if there is none."""
        return None if self.low is None or self.high is None else Interval(self.low, self.high, 0.95, self.method)


@dataclass(frozen=True, eq=False)
class Measurement:
    """The values that a model reached, and the predictions that they are computed from."""

    scores: dict[str, MeasuredValue]
    """The values by name, the headline first: ``spearman``, ``accuracy`` …"""
    predictions: Mapping[str, Sequence[Any]]
    """Columns of equal length, among them ``id``, ``gold`` and ``predicted``."""
    remarks: tuple[str, ...] = ()

    @classmethod
    def from_stored(cls, stored: StoredRun) -> Measurement:
        """Read a stored measurement with its predictions."""
        return cls(stored_values(stored), stored.predictions(), tuple(stored.environment.get("remarks", ())))


def stored_values(stored: StoredRun) -> dict[str, MeasuredValue]:
    """Return the values of a stored measurement, the headline first."""
    return {name: MeasuredValue(**entry) for name, entry in stored.measured.items()}


class Examples(Protocol):
    """The pairs or labelled examples that a measurement task reads."""

    @property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""

    @property
    def remarks(self) -> Sequence[str]:
        """What was left out or repaired while reading, one sentence each."""

    def __len__(self) -> int:
        """The number of pairs or examples."""


@dataclass(frozen=True)
class MeasurementTask:
    """Data and recipe of a task whose result is a measurement."""

    name: str
    kind: str
    """``similarity`` or ``probe``."""
    read: Callable[[str | None], Examples]
    """Reads one split; None is the split to evaluate on."""
    measure: Callable[[Encoder, Any, Settings], Measurement]
    compare: Callable[[Measurement, Measurement], float]
    """The two-sided p-value of the difference in the headline, paired over the predictions."""
    read_at: Callable[[Path, str | None], Examples] | None = None
    """Reads the data from a path; None if the data is built in."""
    summary: str = ""
    version: int = 1
    about: DatasetDescription | None = None
    settings_used: tuple[str, ...] = ("transform", "fit_on")
    """The settings that have an effect on the result."""

    @property
    def result_kind(self) -> ResultKind:
        """Values instead of rankings."""
        return "measured"

    @property
    def compares_vectors(self) -> bool:
        """Whether the similarity of vectors has an effect on the result."""
        return "similarity" in self.settings_used

    def at(self, path: Path) -> MeasurementTask:
        """Return the task with its data read from *path*."""
        if (read_at := self.read_at) is None:
            raise InputError(f"the data of {self.name} is built in", remedy=f"write {self.name} without a path")
        return replace(self, read=lambda split: read_at(path, split))

    def with_metrics(self, metrics: Sequence[str]) -> MeasurementTask:
        """Raise InputError, because metrics are computed from rankings."""
        raise InputError(
            f"metrics have no effect on {self.name}: values are measured there, and nothing is ranked",
            remedy="leave them out",
        )

    def compare_all(self, stored: Mapping[str, StoredRun]) -> dict[tuple[str, str], float]:
        """Return the p-value of each pair of runs after Holm's correction; pairs are in the order of *stored*."""
        if len(stored) < 2:
            return {}
        measurements = {name: Measurement.from_stored(run) for name, run in stored.items()}
        pairs = list(combinations(measurements, 2))
        p_values = [self.compare(measurements[first], measurements[second]) for first, second in pairs]
        return dict(zip(pairs, holm(np.array(p_values)).tolist(), strict=True))

    def reading_once(self) -> MeasurementTask:
        """Return the task that reads each split at most once."""
        return replace(self, read=cache(self.read))

    def load(self, settings: Settings, sharding: Sharding | None = None) -> MeasurementData:
        """Read the data; a measurement always runs on this machine."""
        if settings.limit is not None or settings.rerank is not None:
            raise InputError(
                f"the task {self.name} measures all its data and ranks nothing, so a limit or a reranker has no effect",
                remedy="leave --limit and --rerank out, or run it by itself",
            )
        if settings.oov == "miss":
            raise InputError(
                f"{self.name} ranks nothing, so no pair can count as a miss",
                remedy="choose another treatment of texts without a known word: --oov keep, skip or mean",
            )
        examples = self.read(settings.split)
        level = getattr(examples, "level", None)
        return MeasurementData(self, examples, settings.under_preset(self.name, self.kind, level))


@dataclass(frozen=True, eq=False)
class MeasurementData:
    """The pairs or examples of a measurement task, ready for models."""

    task: MeasurementTask
    examples: Examples
    settings: Settings

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def checksum(self) -> str:
        """A digest of the examples."""
        return self.examples.checksum

    @property
    def remarks(self) -> Sequence[str]:
        """What the columns were read as, and what was left out or repaired."""
        return [*getattr(self.examples, "readings", ()), *self.examples.remarks]

    @property
    def split(self) -> str | None:
        """None, because reading a split that does not exist raises an error."""
        return None

    @property
    def has_fitting_texts(self) -> bool:
        """Whether a transform can be fitted on texts that are not evaluated."""
        parts = getattr(self.examples, "sets", (self.examples,))
        return all(part.training for part in parts if hasattr(part, "training"))

    def uses(self, setting: str, model: Model) -> bool:
        """Return whether a setting can change the result of *model*."""
        if setting == "oov" and (self.settings.scoring != "single" or not model.may_know_words):
            return False
        return setting in self.task.settings_used

    def check(self, model: Model) -> None:
        """Raise InputError if *model* has no vectors, or not those that the settings need."""
        check_measured(_encoder(model, self.task.name), self.examples, self.settings)

    def inputs(self, model: Model) -> dict[str, Any]:
        """Return everything that decides the result of *model*."""
        settings = self.settings.as_dict()
        settings["oov"] = settings["oov"] or getattr(self.examples, "oov", None)
        return {
            "task": self.task.name,
            "task_version": self.task.version,
            "kind": self.task.kind,
            "data": self.checksum,
            "split": self.settings.split or "test",
            **{name: settings[name] for name in self.task.settings_used},
            "model": model.spec,
            "model_identity": model.identity,
        }

    def is_live(self, model: Model) -> bool:
        """Return whether the result of *model* may change while its inputs stay the same."""
        return model.live

    def inspect(self) -> DataQuality:
        """Return an empty result: the data of measurements is not inspected."""
        return DataQuality()

    def evaluate(self, model: Model) -> MeasurementEvaluation:
        """Measure a loaded model."""
        with measure_seconds() as elapsed:
            measurement = self.task.measure(_encoder(model, self.task.name), self.examples, self.settings)
        return MeasurementEvaluation(self, model, measurement, elapsed.seconds)

    def save_texts(self, store: Store) -> None:
        """Store nothing, because the explorer shows no texts of measurements."""


@dataclass(frozen=True, eq=False, repr=False)
class MeasurementEvaluation(Result):
    """One model on one measurement task.

    >>> import goldrank
    >>> result = goldrank.evaluate("wordllama", "sentence-pairs")
    >>> 0 < result.scores["spearman"].low < result.scores["spearman"].value
    True
    """

    data: MeasurementData
    model: Model
    measurement: Measurement
    seconds: float
    """How long measuring took, as if no vectors had been cached."""
    parts: tuple[PartCost, ...] = ()
    """Empty: composed models cannot be measured."""

    @property
    def scores(self) -> Mapping[str, MeasuredValue]:
        """The measured values, the headline first."""
        return self.measurement.scores

    @property
    def predictions(self) -> Mapping[str, Sequence[Any]]:
        """The columns that the values are computed from."""
        return self.measurement.predictions

    @property
    def remarks(self) -> Sequence[str]:
        """Remarks on the data and on how the values were computed, one sentence each."""
        return (*self.data.remarks, *self.measurement.remarks)

    @property
    def stored_scores(self) -> None:
        """None, because the measured values themselves are stored."""
        return None

    def record(self, environment: Mapping[str, Any], quality: DataQuality) -> RunRecord:
        """Return what is stored: the values and the predictions."""
        return RunRecord(
            task=self.data.task.name,
            model=self.model.spec,
            inputs=self.data.inputs(self.model),
            environment={**environment, "seconds": self.seconds, "remarks": list(self.remarks)},
            measured={name: asdict(score) for name, score in self.scores.items()},
            predictions=self.predictions,
        )

    def discard_checkpoints(self) -> None:
        """Do nothing, because a measurement has no checkpoints."""


def _encoder(model: Model, task: str) -> Encoder:
    if model.encoder is None:
        raise InputError(
            f"{model.spec} ranks without vectors, and {task} measures vectors",
            remedy="leave it out, or run it on tasks of retrieval and related articles",
        )
    return model.encoder
