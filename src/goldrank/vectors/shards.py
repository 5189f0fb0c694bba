"""Shards of the embedding cache: immutable files of text hashes and vectors, and the folder of one encoder's shards.

A shard is a header, then for each text its hash (16 bytes) and the sum of its vector's words (8 bytes), then the
vectors. The header holds a checksum of hashes and sums; each vector is compared with its sum when it is read. Disk
errors are thus detected without reading the whole file for a few texts. (The sums do not protect against tampering.)

No locks are needed. A shard is written to a temporary file, synced and renamed, and never changes. It is removed only
after all its vectors have been written to a newer shard, so a process that misses a shard lists the folder again.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import GoldrankError
from goldrank.io.files import write_atomically

Hashes = NDArray[np.uint64]
"""Text hashes as rows of two words."""
Floats = NDArray[np.float32]

SHARD_NAME = re.compile(r"[0-9a-f]{24}\.shard")
TEMPORARY_NAME = re.compile(r"\.([0-9a-f]{24}\.shard|manifest\.json)\.[0-9a-f]{12}\.tmp")
SET_ASIDE_NAME = re.compile(r"[0-9a-f]{24}\.shard\.damaged")

_MAGIC = b"goldrank shard 1"
_HEADER = struct.Struct("<16sQQ16s")
_SMALL = 64 << 20
_STALE_SECONDS = 3600.0
# Few enough rows to be still in the CPU cache when they are summed.
_ROWS = 1024


class DamagedShardError(Exception):
    """A shard whose content is not what was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


def _words(dimension: int) -> int:
    """Return the number of 8-byte words of a vector; an odd dimension is padded with one zero."""
    return (dimension + 1) // 2


def as_keys(hashes: Hashes) -> NDArray[np.void]:
    """Return each hash as one value of 16 bytes, because numpy compares these faster than rows."""
    return np.ascontiguousarray(hashes).view("V16").ravel()


def _sums(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    sums: NDArray[np.uint64] = rows.sum(axis=1, dtype=np.uint64)
    return sums


def _checksum(count: int, dimension: int, hashes: bytes, sums: bytes) -> bytes:
    digest = hashlib.blake2b(struct.pack("<QQ", count, dimension), digest_size=16)
    digest.update(hashes)
    digest.update(sums)
    return digest.digest()


@dataclass(frozen=True)
class Shard:
    """One shard, mapped into memory; still readable after its file was removed."""

    path: Path
    dimension: int
    hashes: Hashes
    sums: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    """The vectors as words."""

    @classmethod
    def open(cls, path: Path) -> Shard:
        """Map the shard at *path*; raise `DamagedShardError` unless length, hashes and sums are as written."""
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size < _HEADER.size:
                raise DamagedShardError(path)
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        magic, count, dimension, checksum = _HEADER.unpack_from(data)
        words = _words(dimension)
        if magic != _MAGIC or size != _HEADER.size + count * (24 + 8 * words):
            raise DamagedShardError(path)
        after_hashes, after_sums = _HEADER.size + 16 * count, _HEADER.size + 24 * count
        if checksum != _checksum(count, dimension, data[_HEADER.size : after_hashes], data[after_hashes:after_sums]):
            raise DamagedShardError(path)
        hashes = np.frombuffer(data, "<u8", 2 * count, _HEADER.size).reshape(count, 2)
        sums = np.frombuffer(data, "<u8", count, after_hashes)
        rows = np.frombuffer(data, "<u8", count * words, after_sums).reshape(count, words)
        return cls(path, dimension, hashes, sums, rows)

    def read(self, chosen: NDArray[np.intp]) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Yield blocks of the *chosen* rows with their start, verified; each block is overwritten by the next."""
        room = np.empty((min(_ROWS, len(chosen)), self.rows.shape[1]), "<u8")
        for start in range(0, len(chosen), _ROWS):
            some = chosen[start : start + _ROWS]
            # "clip" only says that nothing is out of bounds: numpy then needs no copy of its own.
            rows = np.take(self.rows, some, axis=0, out=room[: len(some)], mode="clip")
            if not np.array_equal(_sums(rows), self.sums[some]):
                raise DamagedShardError(self.path)
            yield start, rows


def as_floats(rows: NDArray[np.uint64], dimension: int) -> Floats:
    """Return rows of words as float32 vectors."""
    floats: Floats = rows.view("<f4")[:, :dimension]
    return floats


def _as_words(vectors: Floats) -> NDArray[np.uint64]:
    count, dimension = vectors.shape
    filled = np.zeros((count, 2 * _words(dimension)), "<f4")
    filled[:, :dimension] = vectors
    return filled.view("<u8")


def texts_in(path: Path) -> tuple[int, int]:
    """Return the number of texts and the dimension from the header of the shard at *path*."""
    with path.open("rb") as stream:
        head = stream.read(_HEADER.size)
    magic, count, dimension, _ = _HEADER.unpack(head.ljust(_HEADER.size, b"\0"))
    return (count, dimension) if magic == _MAGIC else (0, 0)


class ShardFolder:
    """The shards of one encoder and side, seen as a table from text hash to vector."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set_aside = 0
        """The number of damaged shards that were moved aside."""
        self._shards: dict[str, Shard] = {}
        self._firsts: Hashes = np.empty(0, np.uint64)
        self._order: NDArray[np.intp] = np.empty(0, np.intp)

    @property
    def dimension(self) -> int | None:
        """The dimension of the vectors; None if there are none."""
        return next((shard.dimension for shard in self._shards.values()), None)

    def names(self) -> list[str]:
        """Return the names of the shards on disk."""
        try:
            return sorted(entry.name for entry in os.scandir(self.path) if SHARD_NAME.fullmatch(entry.name))
        except OSError:
            return []  # writing to the folder will report the problem

    def refresh(self) -> None:
        """Open new shards and forget removed ones."""
        while (names := self.names()) != list(self._shards):
            # One that vanishes between listing and opening was merged into another: list again.
            with suppress(FileNotFoundError):
                self._shards = {name: shard for name in names if (shard := self._opened(name)) is not None}
                self._build_index()
        if len({shard.dimension for shard in self._shards.values()}) > 1:
            raise GoldrankError(
                f"{self.path}: the cache holds vectors of different dimensions for one model; "
                "clear it with goldrank cache clear, and give the models different identities"
            )

    def _opened(self, name: str) -> Shard | None:
        if name in self._shards:
            return self._shards[name]
        try:
            return Shard.open(self.path / name)
        except DamagedShardError as error:
            self._put_aside(error.path)
            return None
        except FileNotFoundError:
            raise
        except OSError as error:
            raise GoldrankError(f"{self.path / name}: the file cannot be read ({error.strerror})") from None

    def _put_aside(self, path: Path) -> None:
        self.set_aside += 1
        try:
            path.replace(path.with_name(path.name + ".damaged"))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise GoldrankError(
                f"{path}: this part of the cache is damaged and cannot be moved away ({error.strerror}); remove it"
            ) from None

    def _build_index(self) -> None:
        hashes = [shard.hashes for shard in self._shards.values()]
        self._hashes = np.concatenate(hashes) if hashes else np.empty((0, 2), np.uint64)
        self._starts = np.cumsum([0, *map(len, hashes)])
        self._order = np.argsort(self._hashes[:, 0], kind="stable")
        self._firsts = self._hashes[self._order, 0]

    def find(self, hashes: Hashes) -> NDArray[np.intp]:
        """Return the row number of each hash over all shards, -1 if it is not stored."""
        if not len(self._firsts):
            return np.full(len(hashes), -1, np.intp)
        # The search uses the first half of the hash, and the second half is compared. If two texts shared the first
        # half, one of them would be encoded every time, but neither would get the other's vector.
        # Searching in sorted order accesses memory sequentially.
        order = np.argsort(hashes[:, 0])
        at = np.empty(len(hashes), np.intp)
        at[order] = np.searchsorted(self._firsts, hashes[order, 0])
        rows = self._order[np.minimum(at, len(self._firsts) - 1)]
        known = self._hashes[rows]
        return np.where((known[:, 0] == hashes[:, 0]) & (known[:, 1] == hashes[:, 1]), rows, -1)

    def gather(self, hashes: Hashes) -> tuple[Floats | None, NDArray[np.bool_]]:
        """Return a matrix with a row per hash, filled where the vector is stored, and a mask of the filled rows.

        The matrix is None if the folder holds no vectors, because the dimension is then unknown.
        """
        while True:
            self.refresh()
            positions = self.find(hashes)
            held = positions >= 0
            dimension = self.dimension
            if dimension is None:
                return None, held
            out = np.empty((len(hashes), dimension), np.float32)
            try:
                self._copy(positions, held, out)
            except DamagedShardError as error:
                self._put_aside(error.path)
                continue
            return out, held

    def _copy(self, positions: NDArray[np.intp], held: NDArray[np.bool_], out: Floats) -> None:
        wanted = np.flatnonzero(held)
        numbers = np.searchsorted(self._starts, positions[wanted], side="right") - 1
        by_shard = np.argsort(numbers, kind="stable")
        bounds = np.searchsorted(numbers[by_shard], np.arange(len(self._starts)))
        for i, shard in enumerate(self._shards.values()):
            targets = wanted[by_shard[bounds[i] : bounds[i + 1]]]
            for start, rows in shard.read(positions[targets] - self._starts[i]):
                out[targets[start : start + len(rows)]] = as_floats(rows, shard.dimension)

    def add(self, hashes: Hashes, vectors: Floats) -> None:
        """Write one new shard atomically."""
        words = _as_words(vectors)
        sums = _sums(words).astype("<u8")
        count, dimension = vectors.shape
        self._write(count, dimension, hashes.astype("<u8").tobytes(), sums.tobytes(), iter([words]))

    def _write(
        self, count: int, dimension: int, hashes: bytes, sums: bytes, rows: Iterator[NDArray[np.uint64]]
    ) -> None:
        def fill(stream: BinaryIO) -> None:
            checksum = _checksum(count, dimension, hashes, sums)
            stream.write(_HEADER.pack(_MAGIC, count, dimension, checksum))
            stream.write(hashes)
            stream.write(sums)
            for some in rows:
                stream.write(np.ascontiguousarray(some).data)

        write_atomically(self.path / f"{os.urandom(12).hex()}.shard", fill)
        _sync(self.path)

    def compact(self, more_than: int) -> None:
        """Merge the small shards into one if there are *more_than* of them; damaged ones are moved aside."""
        names = [entry.name for entry in os.scandir(self.path) if _is_small_shard(entry)]
        if len(names) <= more_than:
            return
        try:
            small = [shard for name in names if (shard := self._opened(name)) is not None]
        except FileNotFoundError:
            return  # another process is merging them
        if len({shard.dimension for shard in small}) != 1:
            return  # nothing left, or a fault that `refresh` reports
        hashes = np.concatenate([shard.hashes for shard in small])
        sums = np.concatenate([shard.sums for shard in small])
        # Two processes may have encoded the same text; one of its vectors is enough.
        is_first = np.zeros(len(hashes), np.bool_)
        is_first[np.unique(as_keys(hashes), return_index=True)[1]] = True
        parts = np.split(is_first, np.cumsum([len(shard.hashes) for shard in small])[:-1])
        rows = (some for shard, part in zip(small, parts, strict=True) for _, some in shard.read(np.flatnonzero(part)))
        try:
            self._write(
                int(is_first.sum()), small[0].dimension, hashes[is_first].tobytes(), sums[is_first].tobytes(), rows
            )
        except DamagedShardError as error:
            self._put_aside(error.path)
            return
        for shard in small:
            # A file that cannot be removed, such as a mapped file on Windows, is removed by the next merge.
            with suppress(OSError):
                shard.path.unlink(missing_ok=True)

    def remove_stale(self) -> None:
        """Remove old temporary files of killed processes; recent ones may belong to a running process."""
        for entry in os.scandir(self.path):
            with suppress(OSError):
                if TEMPORARY_NAME.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _STALE_SECONDS:
                    Path(entry.path).unlink()


def _is_small_shard(entry: os.DirEntry[str]) -> bool:
    try:
        return SHARD_NAME.fullmatch(entry.name) is not None and entry.stat().st_size < _SMALL
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    """Sync the folder's entries to disk where the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
