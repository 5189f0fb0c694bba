"""StoredVectors: a matrix in shards, of which only the requested rows are read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError
from goldrank.io.formats.vector_shards import (
    Floats,
    Ints,
    ShardFile,
    VectorShard,
    by_group,
    open_shard,
    runs_of,
    shard_stamp,
)
from goldrank.io.remote import list_files, shown


class StoredVectors:
    """A matrix in shards: slices and rows by number are read when they are requested.

    One row group stays in memory, for sequential access.
    """

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(self, shards: Sequence[VectorShard]) -> None:
        self.shards = tuple(shards)
        expected = 0
        for shard in self.shards:
            if shard.first != expected or shard.count < 0:
                raise InputError(
                    f"this shard starts with row {shard.first}, the ones before it end at row {expected}",
                    where=shown(shard.path),
                    remedy="give all shards in the order of their rows",
                )
            expected += shard.count
        if not self.shards:
            raise InputError("there are no shards of vectors", remedy="give one or more")
        self._count = expected
        self._firsts = np.array([shard.first for shard in self.shards], np.int64)
        self._open: tuple[int, ShardFile] | None = None
        self._cached: tuple[tuple[int, int], Floats] | None = None

    @classmethod
    def in_folder(cls, folder: str) -> StoredVectors:
        """Return the shards of a folder, in the order of their names."""
        shards: list[VectorShard] = []
        first = 0
        for path in list_files(folder, [".parquet"]):
            with ShardFile(path) as file:
                shards.append(VectorShard(path, first, file.count))
                first += file.count
        if not shards:
            raise InputError(
                "the folder holds no shards of vectors", where=shown(folder), remedy="write some with goldrank encode"
            )
        return cls(shards)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all rows."""
        for shard in self.shards:
            with open_shard(shard) as file:
                yield from file.ids().to_pylist()

    @property
    def stamp(self) -> str:
        """A digest of the content of the shards, from the checksums of their ids and vectors."""
        digest = hashlib.blake2b(digest_size=8)
        for shard in self.shards:
            digest.update(shard_stamp(shard).encode())
        return digest.hexdigest()

    def __len__(self) -> int:
        return self._count

    @cached_property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return self._file(0).dimension

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and the dimension."""
        return self._count, self.dimension

    def __getitem__(self, chosen: slice | Sequence[int] | Ints) -> Floats:
        """Return the rows of a slice, or those with these numbers."""
        if isinstance(chosen, slice):
            return self._take(np.arange(*chosen.indices(len(self)), dtype=np.int64))
        numbers = np.asarray(chosen)
        if numbers.dtype == bool:
            numbers = np.flatnonzero(numbers)
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and len(numbers)):
            raise TypeError("rows are chosen by a slice or by a list of numbers")
        numbers = numbers.astype(np.int64)
        numbers = np.where(numbers < 0, numbers + len(self), numbers)
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(self)):
            raise IndexError(f"there are {len(self)} rows")
        return self._take(numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all rows, in memory."""
        return self[:].astype(dtype or self.dtype, copy=False)

    def _take(self, numbers: Ints) -> Floats:
        rows = np.empty((len(numbers), self.dimension), np.float32)
        # The last of several shards that start here: those before it are empty.
        for shard, places in runs_of(np.searchsorted(self._firsts, numbers, side="right") - 1):
            for group, some, within in by_group(numbers[places] - self._firsts[shard]):
                rows[places[some]] = self._group(shard, group)[within]
        return rows

    def _group(self, shard: int, group: int) -> Floats:
        if self._cached is None or self._cached[0] != (shard, group):
            self._cached = None
            self._cached = (shard, group), self._file(shard).group(group)
        return self._cached[1]

    def _file(self, at: int) -> ShardFile:
        if self._open is None or self._open[0] != at:
            if self._open is not None:
                self._open[1].close()
                self._open = None
            file = open_shard(self.shards[at])
            if at and file.dimension != self.dimension:
                file.close()
                raise InputError(
                    f"this shard has {file.dimension} dimensions, the first one {self.dimension}",
                    where=shown(file.path),
                    remedy="encode all with the same model",
                )
            self._open = at, file
        return self._open[1]
