"""List and remove cache entries other than encoded texts."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from goldrank.errors import GoldrankError
from goldrank.io.files import cache_folder

KINDS = {
    "shards": "vectors and checkpoints of jobs on a cluster",
    "partial": "checkpoints of interrupted evaluations",
    "words": "word-vector files in a format that loads fast",
    "fingerprints": "digests of large files",
    "near-duplicates": "near-duplicate items of collections",
    "answers": "answers of chat models to judges of relevance",
    "collections": "downloaded data sets",
    "downloads": "the downloaded files of data sets",
}
ABANDONED_SECONDS = 3600.0
"""A temporary file that was not written for this number of seconds belongs to no running process."""
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


@dataclass(frozen=True)
class CachedPath:
    """A file or folder in the cache."""

    path: Path
    bytes: int
    last_used: float
    """When anything in it was last written, in seconds since 1970."""


def list_entries(kind: str) -> list[CachedPath]:
    """Return the entries of a kind, the last used first."""
    try:
        paths = [Path(entry.path) for entry in os.scandir(cache_folder() / kind)]
    except OSError:
        return []
    return sorted(map(_measure, paths), key=lambda entry: (-entry.last_used, entry.path.name))


def _measure(path: Path) -> CachedPath:
    sizes, times = [], [0.0]
    for file in [path] if path.is_file() else _files(path):
        # Another process may remove a file meanwhile.
        with suppress(OSError):
            status = file.stat()
            sizes.append(status.st_size)
            times.append(status.st_mtime)
    return CachedPath(path, sum(sizes), max(times))


def _files(folder: Path) -> Iterator[Path]:
    return (Path(where, name) for where, _, names in os.walk(folder) for name in names)


def remove_entries(entries: list[CachedPath]) -> None:
    """Remove entries from the cache."""
    for entry in entries:
        try:
            if entry.path.is_dir():
                shutil.rmtree(entry.path)
            else:
                entry.path.unlink(missing_ok=True)
        except OSError as error:
            raise GoldrankError(f"{entry.path}: this cannot be removed ({error.strerror})") from None


def remove_abandoned() -> None:
    """Remove temporary files and folders in the cache that a killed process left; recent ones may be in use."""
    for where, folders, names in os.walk(cache_folder()):
        for name in [*folders, *names]:
            if _TEMPORARY.fullmatch(name):
                path = Path(where, name)
                with suppress(OSError):
                    last = max([path.stat().st_mtime, *(file.stat().st_mtime for file in _files(path))])
                    if time.time() - last > ABANDONED_SECONDS:
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
        folders[:] = [name for name in folders if not _TEMPORARY.fullmatch(name)]
