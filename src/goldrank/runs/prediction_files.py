"""Find and read files of masked predictions, alone or in folders with one file per model and configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldrank.errors import InputError, shorten
from goldrank.io.column_names import FieldRoles, listing
from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import PathLike
from goldrank.masked.examples.masking import examples_at
from goldrank.masked.predictions.files import prediction_batches, read_predictions
from goldrank.masked.predictions.joining import Joined, join, masks_by_page
from goldrank.masked.predictions.rows import Remarks
from goldrank.store import Store

_KEY = re.compile(r"[a-z0-9-]+")
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_SIZE = re.compile(r"(.+)-(\d+)b(\d*)(?:_.*)?")


def expand(arguments: Sequence[str], store: Store, notes: list[str]) -> list[str]:
    """Replace every folder in the arguments by its files of predictions, sorted by name.

    A folder is relative to the current folder or to ``results``. Skipped files are added to *notes*.

    Raises:
        InputError: A folder has no predictions, or a name is both a folder and a stored run.
    """
    return [path for argument in arguments for path in _paths(argument, store, notes)]


def _paths(argument: str, store: Store, notes: list[str]) -> Iterator[str]:
    folder = argument if Path(argument).exists() else str(Path("results", argument))
    if Path(folder).is_dir():
        _refuse_stored(argument, folder, store)
        yield from _files(folder, notes)
    else:
        yield argument


def _files(folder: str, notes: list[str]) -> list[str]:
    entries = sorted(Path(folder).iterdir())
    files = [entry for entry in entries if entry.is_file() and _is_predictions(entry.name)]
    skipped = [f"{entry.name}{os.sep if entry.is_dir() else ''}" for entry in entries if entry not in files]
    endings = f"files that end in {', '.join(_SUFFIXES)}"
    if not files:
        content = f"it has {listing(skipped)}" if skipped else "it is empty"
        raise InputError(
            f"the folder has no predictions: {content}",
            where=folder,
            remedy=f"put one file for each model and configuration there; {endings}, compressed or not, are read",
        )
    if skipped:
        notes.append(f"{folder}: skipped {listing(skipped)}; only {endings} are read")
    return list(map(str, files))


def _is_predictions(name: str) -> bool:
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix
    return suffix in _SUFFIXES and not name.startswith(".")


def _refuse_stored(argument: str, folder: str, store: Store) -> None:
    """Raise an error if the name of a folder may also be the key of a stored run."""
    if not _KEY.fullmatch(argument):
        return
    try:
        key = store.complete_key(argument)
    except InputError:
        return
    raise InputError(
        f"{shorten(argument)} is both a folder and the key of the stored run {key}",
        remedy=f"write {os.curdir}{os.sep}{folder} for the folder; for the stored run, run the command where no "
        "folder has that name, or rename the folder",
    )


def named_size(name: str) -> tuple[str, float | None]:
    """Return the family and the number of parameters in a file name such as ``FAMILY-SIZE_CONFIG_LENGTH``.

    >>> named_size("bloomz-7b1_original_1000"), named_size("mt0-13b"), named_size("majority")
    (('bloomz', 7100000000.0), ('mt0', 13000000000.0), ('majority', None))
    """
    match = _SIZE.fullmatch(name)
    return (match[1], float(f"{match[2]}.{match[3] or 0}") * 1e9) if match else (name, None)


@dataclass(frozen=True, eq=False)
class FilePredictions:
    """The predictions of a file; what there is to say about them is known once they are scored."""

    path: str
    batches: Any
    """A table, or record batches that are read when they are needed."""
    remarks: Remarks
    examples: str = ""
    """What the fields of the examples were read as."""
    joined: Joined | None = None

    @classmethod
    def read(cls, path: str, data: PathLike | None = None, *, pad: bool = False) -> FilePredictions:
        """Read the predictions of a file, and join them with the examples *data* that they were made for."""
        remarks = Remarks()
        if data is None:
            return cls(path, prediction_batches(path, pad=pad, remarks=remarks), remarks)
        fields = FieldRoles()
        chunks = list(examples_at(data, fields))
        guesses = read_predictions(path, pad=pad, remarks=remarks, pages=masks_by_page(chunks))
        table, joined = join(chunks, guesses)
        return cls(path, table, remarks, fields.reading, joined)

    @property
    def readings(self) -> list[str]:
        """What the columns of the predictions and of the examples were read as."""
        return [line for line in (self.remarks.columns.reading, self.examples) if line]

    @property
    def notes(self) -> list[str]:
        """What was repaired or did not fit, one sentence each, with the path."""
        sentences = [*self.remarks.sentences(), *(self.joined.sentences() if self.joined else ())]
        return [f"{self.path}: {sentence}".rstrip(".") for sentence in sentences]
