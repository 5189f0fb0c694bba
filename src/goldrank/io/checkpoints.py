"""Checkpoints: save the ranking of each query as it is computed, so that a killed search resumes."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.io.files import PathLike, cache_folder
from goldrank.io.private_files import lock_file, make_private_folder

_SUM_DIGITS = 16
Item = TypeVar("Item")


def adaptive_batches(items: Sequence[Item], most: int, seconds: float) -> Iterator[Sequence[Item]]:
    """Yield the items in batches that double up to *most* while the caller takes less than *seconds*, else halve.

    A kill then loses about *seconds* of work if the caller saves a checkpoint after each batch.

    >>> [len(batch) for batch in adaptive_batches(range(10), 4, 60.0)]
    [1, 2, 4, 3]
    """
    start, size = 0, 1
    while start < len(items):
        began = time.monotonic()
        yield items[start : start + size]
        start += size
        size = min(2 * size, max(1, most)) if time.monotonic() - began < seconds else max(1, size // 2)


class Checkpoint:
    """The rankings that a search has computed so far, in a file named by a digest of everything that decides them.

    Each line is a checksum and a JSON object of rankings, written at once and synced under a lock. A line that was left
    unfinished by a kill or a full disk is never read, and is cut off by the next `add`. Several processes may add to a
    checkpoint; where two of them ranked the same query, the first ranking counts. Numbers come back bit for bit.

    Args:
        digest: Names the search: model, data, depth … Different searches must have different digests.
        folder: Where to save the file; ``partial`` in the cache folder if not given.

    >>> import tempfile
    >>> checkpoint = Checkpoint("3f2a", tempfile.mkdtemp())
    >>> checkpoint.add({"q1": {"d3": 0.1, "d1": -0.0}})
    >>> checkpoint.done()
    {'q1': {'d3': 0.1, 'd1': -0.0}}
    >>> checkpoint.remove()
    >>> checkpoint.done()
    {}
    """

    def __init__(self, digest: str, folder: PathLike | None = None) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", digest):
            raise InputError(
                f"{shorten(digest)} cannot name a checkpoint", remedy="use up to 128 letters, digits, - and _"
            )
        self.folder = cache_folder() / "partial" if folder is None else Path(folder)
        self.path = self.folder / f"{digest}.jsonl"

    def done(self) -> dict[str, dict[str, float]]:
        """Return the saved rankings by query; queries of damaged lines are left out, to be ranked again."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unusable(error) from None
        rankings: dict[str, dict[str, float]] = {}
        # Text after the last newline is unfinished, or is being written by another process.
        for line in content.split(b"\n")[:-1]:
            for query, ranking in _read_line(line).items():
                rankings.setdefault(query, ranking)
        return rankings

    def add(self, rankings: Mapping[str, Mapping[str, float]]) -> None:
        """Save more rankings; they are on disk when this returns."""
        if not rankings:
            return
        line = _line(rankings)
        try:
            make_private_folder(self.folder)
            with self.path.open("a+b", buffering=0) as stream, lock_file(stream):
                end = _cut_torn_line(stream)
                try:
                    _write_all(stream, line)
                    os.fsync(stream.fileno())
                except OSError:
                    with suppress(OSError):
                        stream.truncate(end)
                    raise
        except OSError as error:
            raise self._unusable(error) from None

    def remove(self) -> None:
        """Delete the checkpoint, when the search is complete and stored elsewhere."""
        try:
            self.path.unlink(missing_ok=True)
        except NotADirectoryError:
            return
        except OSError as error:
            raise GoldrankError(f"{self.path}: the checkpoint cannot be removed ({error.strerror})") from None

    def _unusable(self, error: OSError) -> GoldrankError:
        return InputError(
            f"the checkpoint cannot be kept ({error.strerror or error})",
            where=str(self.path),
            remedy="make room, or set GOLDRANK_CACHE to a folder that can be written to",
        )


def _line(rankings: Mapping[str, Mapping[str, float]]) -> bytes:
    plain = {query: {item: float(score) for item, score in ranking.items()} for query, ranking in rankings.items()}
    for query, ranking in plain.items():
        for item, score in ranking.items():
            if not math.isfinite(score):
                raise InputError(
                    f"the score {score} of {shorten(item)} for query {shorten(query)} is not a finite number",
                    remedy="check the model",
                )
    # Python writes the shortest decimal that reads back as the same double, and escapes what is not ASCII.
    content = json.dumps(plain, separators=(",", ":")).encode()
    return _checksum(content) + b" " + content + b"\n"


def _read_line(line: bytes) -> dict[str, dict[str, float]]:
    checksum, _, content = line.partition(b" ")
    if checksum != _checksum(content):
        return {}
    rankings: dict[str, dict[str, float]] = json.loads(content)
    return rankings


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_SUM_DIGITS // 2).hexdigest().encode()


def _cut_torn_line(stream: BinaryIO) -> int:
    """Truncate the file to its last whole line, and return where that ends."""
    end = stream.seek(0, os.SEEK_END)
    whole, step = end, 1
    while whole:
        start = max(0, whole - step)
        stream.seek(start)
        at = stream.read(whole - start).rfind(b"\n")
        if at >= 0:
            whole = start + at + 1
            break
        whole, step = start, 1 << 16
    if whole < end:
        stream.truncate(whole)
    return whole


def _write_all(stream: BinaryIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]
