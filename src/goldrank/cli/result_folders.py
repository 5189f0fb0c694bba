"""Expand folders of predictions, which have one file per model and configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from goldrank.cli import stored_runs
from goldrank.errors import InputError, shorten
from goldrank.io.column_names import listing
from goldrank.io.compression import COMPRESSIONS

_KEY = re.compile(r"[a-z0-9-]+")
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_SIZE = re.compile(r"(.+)-(\d+)b(\d*)(?:_.*)?")


def expand(arguments: Sequence[str], store: str | None) -> list[str]:
    """Replace every folder in the arguments by its files of predictions, sorted by name.

    A folder is relative to the current folder or to ``results``. Skipped files are listed on standard error.

    Raises:
        InputError: A folder has no predictions, or a name is both a folder and a stored run.
    """
    return [path for argument in arguments for path in _paths(argument, store)]


def _paths(argument: str, store: str | None) -> Iterator[str]:
    folder = argument if Path(argument).exists() else str(Path("results", argument))
    if Path(folder).is_dir():
        _refuse_stored(argument, folder, store)
        yield from _files(folder)
    else:
        yield argument


def _files(folder: str) -> list[str]:
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
        stored_runs.print_notes([f"{folder}: skipped {listing(skipped)}; only {endings} are read"])
    return list(map(str, files))


def _is_predictions(name: str) -> bool:
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix
    return suffix in _SUFFIXES and not name.startswith(".")


def _refuse_stored(argument: str, folder: str, store: str | None) -> None:
    """Raise an error if the name of a folder may also be the key of a stored run."""
    from goldrank.store import Store

    if not _KEY.fullmatch(argument):
        return
    try:
        key = Store.open(store).complete_key(argument)
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
