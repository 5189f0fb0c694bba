"""Choose the split of a collection, under any of the usual names of splits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from goldrank.errors import InputError, shorten
from goldrank.io.compression import COMPRESSIONS

_SAME = {"validation": "dev", "valid": "dev", "val": "dev", "development": "dev", "training": "train", "eval": "test"}
# The split for evaluation is first, the split for training last.
_ORDER = ("test", "dev", "train")


def choose_split(wanted: str | None, there: Iterable[str], where: str) -> str:
    """Return which of the splits *there* is the *wanted* one; by default the one for evaluation.

    >>> choose_split(None, ["train", "test"], "folder"), choose_split("dev", ["train", "validation"], "folder")
    ('test', 'validation')
    """
    names = in_order(there)
    if wanted is None:
        return names[0]
    for name in names:
        if name == wanted:
            return name
    for name in names:
        if _plain(name) == _plain(wanted):
            return name
    raise InputError(
        f"there is no split {shorten(wanted)}", where=where, remedy=f"choose {' or '.join(map(repr, names))}"
    )


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in order: test, validation, the others by name, and the training split last.

    >>> in_order(["train", "extra", "validation", "test"])
    ('test', 'validation', 'extra', 'train')
    """
    place = {"test": 0, "dev": 1, "train": 3}
    return tuple(sorted(dict.fromkeys(names), key=lambda name: (place.get(_plain(name), 2), name)))


def _plain(name: str) -> str:
    return _SAME.get(name.lower(), name.lower())


def split_of_name(stem: str) -> str | None:
    """Return the split in the name of a file, such as ``test`` or ``validation-00000-of-00002``, or None.

    >>> split_of_name("test-00000-of-00001"), split_of_name("articles")
    ('test', None)
    """
    name = re.sub(r"[-_.]\d+(-of-\d+)?$", "", stem)
    return name if _plain(name) in _ORDER else None


def files_by_split(folder: Path, suffixes: Iterable[str]) -> dict[str, list[Path]]:
    """Return, by split, the files of a folder with a split in their name and one of *suffixes*, compressed or not."""
    by_split: dict[str, list[Path]] = {}
    for file in files_in(folder):
        stem, suffix = stem_and_suffix(file)
        if suffix in suffixes and (split := split_of_name(stem)):
            by_split.setdefault(split, []).append(file)
    return by_split


def stem_and_suffix(file: Path) -> tuple[str, str]:
    """Return the stem and the suffix of a file name without the suffix of its compression.

    >>> stem_and_suffix(Path("data/test.jsonl.gz"))
    ('test', '.jsonl')
    """
    name = Path(file.stem) if file.suffix.lower() in COMPRESSIONS else Path(file.name)
    return name.stem, name.suffix.lower()


def files_in(folder: Path) -> list[Path]:
    """Return the files of a folder sorted by name, without hidden ones; empty if there is no such folder."""
    with suppress(OSError):
        return sorted(entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))
    return []
