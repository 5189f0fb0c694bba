"""Probe tasks: frozen vectors probed with the known labelled sets, or any labelled texts of the user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from goldrank.data.labelled_sets import LABELLED_SETS, refuse_split
from goldrank.data.labelled_texts import LabelledTexts, read_labelled
from goldrank.data.sources import DatasetDescription
from goldrank.errors import InputError
from goldrank.io.files import PathLike
from goldrank.tasks.measurement import MeasurementTask
from goldrank.tasks.probe_measuring import compare, measure

_USES = ("transform", "fit_on", "seed")


def _task(
    name: str,
    read: Callable[[str | None], LabelledTexts],
    read_at: Callable[[Path, str | None], LabelledTexts] | None,
    summary: str,
    about: DatasetDescription | None = None,
) -> MeasurementTask:
    return MeasurementTask(name, "probe", read, measure, compare, read_at, summary, about=about, settings_used=_USES)


PROBE_TASKS: tuple[MeasurementTask, ...] = tuple(
    _task(f"probe-{name}", known.read, known.read_at, known.summary, known.description)
    for name, known in LABELLED_SETS.items()
)


def probe_of(path: PathLike) -> MeasurementTask:
    """The probe that a labelled file, or a folder with one file per split, makes."""
    place = Path(path).expanduser()
    if not place.exists():
        raise InputError("there is no such file or folder", where=str(path), remedy="check the path")

    def read(split: str | None) -> LabelledTexts:
        refuse_split(split)
        return read_labelled(place)

    name = place.resolve().name.partition(".")[0]
    return _task(f"probe:{name}", read, None, "labelled texts")
