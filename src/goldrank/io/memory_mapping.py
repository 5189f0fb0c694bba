"""Map large plain files into memory, and refuse files that change while they are mapped."""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goldrank.errors import InputError
from goldrank.native import truncation_guard


class MappedFile(mmap.mmap):
    """A large plain file that is mapped into memory; it is valid as long as nobody writes to the file."""

    _path: str | os.PathLike[str]
    _stamp: tuple[int, int, int, int]
    _watched: int

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> MappedFile | None:
        """Map the file at *path*; return None if the process would not survive a truncation of the file."""
        if truncation_guard is None:
            return None
        with Path(path).open("rb") as stream:
            mapped = cls(stream.fileno(), 0, access=mmap.ACCESS_READ)
            mapped._path, mapped._stamp = path, _stamp(os.fstat(stream.fileno()))
        mapped._watched = truncation_guard.watch(mapped)
        if mapped._watched < 0:
            return None
        weakref.finalize(mapped, truncation_guard.unwatch, mapped._watched)
        return mapped

    def refuse_if_changed(self) -> None:
        """Raise InputError if the file was written to since it was opened; replaced and removed files stay valid."""
        try:
            now = _stamp(Path(self._path).stat())
        except OSError:
            now = self._stamp
        truncated = truncation_guard is not None and truncation_guard.was_truncated(self._watched)
        replaced = now[0] != self._stamp[0]
        if truncated or (not replaced and now != self._stamp):
            raise InputError(
                "the file was changed after it was opened", where=os.fspath(self._path), remedy="read it again"
            )


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@contextmanager
def unchanged(data: bytes | MappedFile) -> Iterator[None]:
    """Raise InputError if a mapped file changed before or during the body, even if the body failed."""
    if not isinstance(data, MappedFile):
        yield
        return
    data.refuse_if_changed()
    try:
        yield
    finally:
        data.refuse_if_changed()
