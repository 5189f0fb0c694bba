"""Read and write vectors in Parquet shards, of which single rows can be read and are checked by checksums.

A row of a shard is an id and a fixed-size list of float32, uncompressed, in groups of `GROUP_ROWS` rows with a single
page each. The numbers of a group are therefore contiguous at the end of its column and can be read directly into a
matrix, all of them or a few rows. A checksum for every `PIECE_ROWS` rows proves that these bytes are the vectors. Files
of other Parquet writers are decoded by pyarrow.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, reason_of
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.remote import open_input, shown, write_whole

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

GROUP_ROWS = 4096
"""Rows of a row group: as many as a transform processes at once."""

PIECE_ROWS = 32
"""Rows with one checksum, so that a single row can be read without the whole group."""

_FORMAT = 1
_KEY, _ENDS = b"goldrank", b"goldrank.ends"
_ONE_PAGE = 2**30
_AGAIN = "write the shard again"


@dataclass(frozen=True)
class VectorShard:
    """A part of the items: the file of their vectors, the number of the first one among all items, and their count."""

    path: str
    first: int
    count: int


def write_vectors(
    path: str, ids: Sequence[str], vectors: Floats, *, noted: Mapping[str, int | None] | None = None
) -> None:
    """Write ids and vectors as one shard, whole or not at all, with notes on its texts in *noted*."""
    pyarrow, parquet = load_pyarrow()
    rows = _float32(vectors, path)
    if len(ids) != len(rows):
        what = f"there are {len(rows)} vectors and {len(ids)} ids"
        raise InputError(what, where=shown(path), remedy="give one id per row")
    names = pyarrow.array(ids, pyarrow.string())
    about = {
        "format": _FORMAT,
        "shape": list(rows.shape),
        "ids": [_sum_of_ids(names[start : start + GROUP_ROWS]) for start in range(0, len(rows), GROUP_ROWS)],
        "vectors": _sums_of(rows),
        "noted": dict(noted or {}),
    }
    # Lists that cannot be null are read nearly 50% faster.
    kind = pyarrow.list_(pyarrow.field("element", pyarrow.float32(), nullable=False), rows.shape[1])
    fields = [pyarrow.field("id", pyarrow.string(), nullable=False), pyarrow.field("vector", kind, nullable=False)]
    columns = [names, pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.reshape(-1)), type=kind)]
    schema = pyarrow.schema(fields, metadata={_KEY: json.dumps(about).encode()})
    table = pyarrow.Table.from_arrays(columns, schema=schema)

    def fill(stream: Any) -> None:
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        with parquet.ParquetWriter(stream, schema, data_page_size=_ONE_PAGE, **plain) as writer:
            ends = []
            for start in range(0, len(rows), GROUP_ROWS):
                writer.write_table(table.slice(start, GROUP_ROWS), row_group_size=GROUP_ROWS)
                ends.append(stream.tell())
            # Before version 16, pyarrow cannot write this metadata, and groups are decoded when they are read.
            if hasattr(writer, "add_key_value_metadata"):
                writer.add_key_value_metadata({_ENDS: json.dumps(ends)})

    write_whole(path, fill)


def read_vectors(path: str) -> tuple[list[str], Floats]:
    """Return the ids and vectors of one shard."""
    with ShardFile(path) as file:
        return file.ids().to_pylist(), file.vectors()


class ShardFile:
    """An open shard; everything read from it is verified by its checksum."""

    def __init__(self, path: str) -> None:
        pyarrow, parquet = load_pyarrow()
        self.path = path
        # Errors that pyarrow and json raise for a damaged file.
        plain = (OSError, ValueError, LookupError, TypeError, AttributeError)
        self._faults = (pyarrow.ArrowException, *plain)
        self._stream = open_input(path)
        try:
            self._file = parquet.ParquetFile(self._stream)
            about = json.loads(self._file.schema_arrow.metadata[_KEY])
            self.noted: dict[str, int | None] = dict(about["noted"])
            self._sums: dict[str, list[int]] = {name: about[name] for name in ("ids", "vectors")}
            # The end of the vectors of each group; the file has it as well, but some faults there crash pyarrow.
            self._ends: list[int] = json.loads((self._file.metadata.metadata or {}).get(_ENDS, "[]"))
            self.count = int(self._file.metadata.num_rows)
            self.dimension = int(self._file.schema_arrow.field("vector").type.list_size)
            pieces = {"ids": self.groups, "vectors": -(-self.count // PIECE_ROWS)}
            as_written = about["format"] == _FORMAT and about["shape"] == [self.count, self.dimension]
            if not as_written or any(len(self._sums[name]) != pieces[name] for name in pieces):
                raise ValueError("another format")
        except self._faults as error:
            self._stream.close()
            what = f"this is not a shard of vectors as goldrank writes it, or it is damaged ({reason_of(error)})"
            raise InputError(what, where=shown(path), remedy=_AGAIN) from None

    def __enter__(self) -> ShardFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    @property
    def sums(self) -> bytes:
        """The checksums of ids and vectors, which identify the content."""
        return json.dumps([self.count, self.dimension, self._sums], sort_keys=True).encode()

    @property
    def groups(self) -> int:
        """The number of row groups."""
        return -(-self.count // GROUP_ROWS)

    def ids(self) -> Any:
        """Return the ids of all rows, as a pyarrow array in chunks."""
        try:
            groups = range(self.groups)
            parts = (self._file.read_row_group(group, columns=["id"], use_threads=False) for group in groups)
            chunks = [part.column(0).combine_chunks() for part in parts]
            names, sums = load_pyarrow()[0].chunked_array(chunks, "string"), [_sum_of_ids(chunk) for chunk in chunks]
        except self._faults:
            raise self._damaged() from None
        if sums != self._sums["ids"]:
            raise self._damaged()
        return names

    def vectors(self) -> Floats:
        """Return the vectors of all rows."""
        rows = np.empty((self.count, self.dimension), np.float32)
        for group in range(self.groups):
            self._read(group, 0, rows[group * GROUP_ROWS : (group + 1) * GROUP_ROWS])
        return rows

    def group(self, group: int) -> Floats:
        """Return the vectors of one row group."""
        rows = np.empty((self._rows_in(group), self.dimension), np.float32)
        self._read(group, 0, rows)
        return rows

    def take(self, rows: Ints) -> Floats:
        """Return the vectors of single rows, reading few others."""
        vectors = np.empty((len(rows), self.dimension), np.float32)
        for piece, places in runs_of(rows // PIECE_ROWS):
            group, first = divmod(piece * PIECE_ROWS, GROUP_ROWS)
            read = np.empty((min(PIECE_ROWS, self._rows_in(group) - first), self.dimension), np.float32)
            self._read(group, first, read)
            vectors[places] = read[rows[places] - piece * PIECE_ROWS]
        return vectors

    def _rows_in(self, group: int) -> int:
        return min(GROUP_ROWS, self.count - group * GROUP_ROWS)

    def _read(self, group: int, first: int, rows: Floats) -> None:
        """Fill *rows* with the rows of a group from *first* on, which must be the start of a piece."""
        try:
            if self._ends:
                self._stream.seek(self._ends[group] - (self._rows_in(group) - first) * self.dimension * rows.itemsize)
                self._stream.readinto(rows.reshape(-1).view(np.uint8))
                if self._is_right(group, first, rows):
                    return
            rows[:] = self._decoded(group)[first : first + len(rows)]
        except self._faults:
            raise self._damaged() from None
        if not self._is_right(group, first, rows):
            raise self._damaged()

    def _is_right(self, group: int, first: int, rows: Floats) -> bool:
        start, sums = (group * GROUP_ROWS + first) // PIECE_ROWS, _sums_of(rows)
        return sums == self._sums["vectors"][start : start + len(sums)]

    def _decoded(self, group: int) -> Floats:
        """Return the vectors of a group as decoded by pyarrow."""
        column = self._file.read_row_group(group, columns=["vector"], use_threads=False).column(0)
        decoded: Floats = column.combine_chunks().flatten().to_numpy().reshape(-1, self.dimension)
        return decoded

    def _damaged(self) -> InputError:
        return InputError("this shard is damaged: its checksum is wrong", where=shown(self.path), remedy=_AGAIN)


def open_shard(shard: VectorShard) -> ShardFile:
    """Open the file of a shard, which must hold the expected number of vectors."""
    file = ShardFile(shard.path)
    if file.count != shard.count:
        file.close()
        what = f"this shard holds {file.count} vectors, {shard.count} are expected"
        raise InputError(what, where=shown(shard.path), remedy=_AGAIN)
    return file


def shard_stamp(shard: VectorShard) -> str:
    """Return a digest of the content of a shard, from the checksums in its metadata."""
    with open_shard(shard) as file:
        return hashlib.blake2b(file.sums, digest_size=8).hexdigest()


def by_group(rows: Ints) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield each row group that *rows* of one shard are in, with their positions in *rows* and within the group."""
    for group, places in runs_of(rows // GROUP_ROWS):
        yield group, places, rows[places] - group * GROUP_ROWS


def runs_of(values: NDArray[np.integer]) -> Iterator[tuple[int, Ints]]:
    """Yield each distinct value, ascending, with its positions."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    bounds = [0, *(np.flatnonzero(np.diff(ranked)) + 1).tolist(), len(ranked)]
    for start, stop in pairwise(bounds):
        if start < stop:
            yield int(ranked[start]), order[start:stop]


def _float32(vectors: Any, path: str) -> Floats:
    if hasattr(vectors, "tocsr") or getattr(vectors, "dtype", None) != np.float32 or np.ndim(vectors) != 2:
        kind = "sparse" if hasattr(vectors, "tocsr") else getattr(vectors, "dtype", type(vectors).__name__)
        raise InputError(
            f"shards hold a matrix of dense float32 vectors, not {kind}",
            where=shown(path),
            remedy="convert them with .astype(np.float32), sparse ones with .toarray() or the transform lsa first",
        )
    if vectors.shape[1] == 0:
        raise InputError("the vectors have no dimensions", where=shown(path), remedy="give one or more")
    return np.ascontiguousarray(vectors, "<f4")


def _sums_of(rows: Floats) -> list[int]:
    """Return the sum of the bytes of each piece as 64-bit integers, which detects faults but not manipulation.

    It is as fast as the memory; any other checksum takes as long as reading and a fifth as long as counting hits.
    """
    whole = len(rows) // PIECE_ROWS * PIECE_ROWS
    words = rows[:whole].reshape(-1).view("<u8")
    sums: list[int] = words.reshape(-1, PIECE_ROWS // 2 * rows.shape[1]).sum(axis=1).tolist()
    if whole < len(rows):
        # The last piece may not be a multiple of 8 bytes.
        halves = rows[whole:].reshape(-1).view("<u4")
        low, high = (int(halves[side::2].sum(dtype="<u8")) for side in (0, 1))
        sums.append((low + (high << 32)) % 2**64)
    return sums


def _sum_of_ids(ids: Any) -> int:
    """Return the checksum of a pyarrow array of strings: of their lengths and their bytes."""
    _, offsets, content = ids.buffers()
    ends = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1] if offsets else np.zeros(1, "i4")
    text = memoryview(content)[ends[0] : ends[-1]] if content else b""
    return zlib.crc32(text, zlib.crc32(np.diff(ends).data))
