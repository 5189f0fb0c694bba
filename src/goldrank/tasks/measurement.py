"""Measurements: tasks that give figures instead of rankings, such as correlations with people or accuracies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from goldrank.data.sources import DatasetDescription
from goldrank.encoders.base import Encoder
from goldrank.tasks.settings import Settings


@dataclass(frozen=True)
class Figure:
    """One number of a measurement, with what it is over and how sure it is."""

    value: float
    count: int
    """Pairs or examples that it is over."""
    low: float | None = None
    high: float | None = None
    method: str = ""
    """How the interval was made."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """What a model gave on a task."""

    figures: dict[str, Figure]
    """By name, the headline first: ``spearman``, ``accuracy`` …"""
    predictions: Mapping[str, Sequence[Any]]
    """Columns of equal length from which the figures came: an ``id``, what is right as ``gold``, and ``predicted``."""
    remarks: tuple[str, ...] = ()


class Data(Protocol):
    """What a measured task reads."""

    @property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""

    @property
    def remarks(self) -> Sequence[str]:
        """What was left out or mended, a sentence each."""

    def __len__(self) -> int:
        """Pairs or examples."""


@dataclass(frozen=True)
class MeasuredTask:
    """Data and recipe of a task whose result is a measurement."""

    name: str
    kind: str
    """``similarity`` or ``probe``."""
    read: Callable[[str | None], Any]
    """Reads one split's `Data`; None is the one to evaluate on."""
    measure: Callable[[Encoder, Any, Settings], Measurement]
    compare: Callable[[Measurement, Measurement], float]
    """The p-value of the difference in the headline, two-sided, paired over the predictions."""
    read_at: Callable[[Path, str | None], Any] | None = None
    """Reads the data from a path of the user's."""
    summary: str = ""
    version: int = 1
    about: DatasetDescription | None = None
    uses: tuple[str, ...] = field(default=("transform", "fit_on"))
    """The settings that bear on it."""
