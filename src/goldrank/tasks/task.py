"""The protocol of tasks: what every kind of task, its data and its results offer to callers.

A task reads its data under settings; the data evaluates a model; the evaluation says what is stored. `RankingTask`
implements it for rankings, `MeasurementTask` for correlations and accuracies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from goldrank.data.sources import DatasetDescription
from goldrank.scoring import Scores
from goldrank.store import ResultKind, RunRecord, Store
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.settings import Settings

if TYPE_CHECKING:
    from goldrank.tasks.ranking.models import Model
    from goldrank.tasks.ranking.sharding import Sharding


@runtime_checkable
class Task(Protocol):
    """Data with a recipe to evaluate a model on it, named and versioned."""

    @property
    def name(self) -> str:
        """The name under which results are stored and shown."""
        ...

    @property
    def kind(self) -> str:
        """``retrieval``, ``related``, ``evalrank``, ``similarity`` or ``probe``."""
        ...

    @property
    def result_kind(self) -> ResultKind:
        """What an evaluation produces: rankings (``ranked``) or values (``measured``)."""
        ...

    @property
    def summary(self) -> str:
        """One line for lists."""
        ...

    @property
    def version(self) -> int:
        """Increased whenever the same data would give other results."""
        ...

    @property
    def about(self) -> DatasetDescription | None:
        """Source, licence and size of the data."""
        ...

    @property
    def compares_vectors(self) -> bool:
        """Whether the similarity of vectors has an effect on the result."""
        ...

    @property
    def read(self) -> Callable[[str | None], Any]:
        """The function that reads one split; None is the split to evaluate on."""
        ...

    def at(self, path: Path) -> Task:
        """Return the task with its data read from *path*."""
        ...

    def with_metrics(self, metrics: Sequence[str]) -> Task:
        """Return the task with other metrics than its own; raise InputError if it has none."""
        ...

    def reading_once(self) -> Task:
        """Return the task that reads each split at most once, however often it is loaded."""
        ...

    def load(self, settings: Settings, sharding: Sharding | None = None) -> TaskData:
        """Read the data for evaluation under *settings*."""
        ...


class TaskData(Protocol):
    """The data of a task, ready for any number of models."""

    @property
    def task(self) -> Task:
        """The task that the data belongs to."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings, with those of a preset filled in."""
        ...

    @property
    def checksum(self) -> str:
        """A digest of everything in the data that can change a result."""
        ...

    @property
    def remarks(self) -> Sequence[str]:
        """What was left out or repaired while reading, one sentence each."""
        ...

    @property
    def split(self) -> str | None:
        """The split that was read; None if the task does not say."""
        ...

    @property
    def has_fitting_texts(self) -> bool:
        """Whether a transform can be fitted on texts that are not evaluated."""
        ...

    def __len__(self) -> int:
        """The number of items, pairs or examples."""
        ...

    def uses(self, setting: str, model: Model) -> bool:
        """Return whether a setting can change the result of *model*."""
        ...

    def check(self, model: Model) -> None:
        """Raise InputError if *model* cannot be evaluated and this is known before any work."""
        ...

    def inputs(self, model: Model) -> dict[str, Any]:
        """Return everything that decides the result of *model*; equal inputs are the same stored run."""
        ...

    def is_live(self, model: Model) -> bool:
        """Return whether the result of *model* may change while its inputs stay the same."""
        ...

    def inspect(self) -> DataQuality:
        """Look for what makes every score misleading."""
        ...

    def evaluate(self, model: Model) -> Evaluation:
        """Evaluate a loaded model."""
        ...

    def save_texts(self, store: Store) -> None:
        """Store the texts of queries and items beside the results, once for each data set."""
        ...


@dataclass(frozen=True)
class PartCost:
    """The cost of a part of a composed model: a model of a fusion, or the first stage of reranking."""

    inputs: Mapping[str, Any]
    """Those of the part alone, by which its own result is stored."""
    seconds: float
    parts: tuple[PartCost, ...] = ()
    """Of a part that is composed itself."""


class Evaluation(Protocol):
    """One model on one task, not stored yet."""

    @property
    def seconds(self) -> float:
        """How long it took, as if no vectors had been cached."""
        ...

    @property
    def parts(self) -> tuple[PartCost, ...]:
        """What the parts of a composed model took."""
        ...

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores by name, the headline first; each has a ``value`` and an ``interval``."""
        ...

    @property
    def stored_scores(self) -> Scores | None:
        """The task's own metrics as they are computed from what is stored; None if nothing is ranked."""
        ...

    def record(self, environment: Mapping[str, Any], quality: DataQuality) -> RunRecord:
        """Return what is stored of the result."""
        ...

    def discard_checkpoints(self) -> None:
        """Remove what was saved so that a killed evaluation could resume."""
        ...


@dataclass(frozen=True)
class EvaluationJob:
    """One model on one task: the inputs that decide the result and identify it in the store, and how to compute it."""

    task: str
    model: str
    inputs: Mapping[str, Any]
    evaluate: Callable[[], Evaluation]
    save_texts: Callable[[Store], None]
    quality: DataQuality = field(default_factory=DataQuality)
    live: bool = False
    """Whether the result may change while the inputs stay the same."""
