"""Precomputed vectors: looked up in a file by id, or by text if the file has texts."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from shlex import quote
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from goldrank.data.collections.classes import vector_files, vector_ids
from goldrank.data.collections.splits import stem_and_suffix
from goldrank.data.collections.tables import TABLE_SUFFIXES, read_table
from goldrank.encoders.base import BatchEncoder, Dense, Options, Side, check_texts, parse_choice
from goldrank.encoders.provenance import stamp
from goldrank.encoders.row_lookup import RowLookup
from goldrank.errors import InputError, reason_of, shorten
from goldrank.io.arrays import as_array, load_array, load_arrays
from goldrank.io.column_names import listing, normal
from goldrank.io.files import cache_folder, nearest_path
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.formats.vector_shards import VectorShard
from goldrank.io.private_files import make_private_folder
from goldrank.io.remote import absolute
from goldrank.io.stored_vectors import StoredVectors
from goldrank.progress import Progress
from goldrank.specs import Spec

_NAMES = {
    "id": ("id", "ids", "_id", "key"),
    "vector": ("vector", "vectors", "embedding", "embeddings"),
    "text": ("text", "texts"),
}
Table = dict[str, Any]
# Numbers that are checked or copied at a time, and that may be copied into memory.
_BLOCK_ELEMENTS = 1 << 22
_HELD_ELEMENTS = 1 << 26


class PrecomputedVectors(BatchEncoder):
    """``vectors:FILE``: the "texts" to encode are keys, whose vectors are looked up.

    The file is one of

    - ``.npy``, a matrix, with one id per line in ``ids=FILE`` (by default the file beside it with the suffix ``.ids``),
      or with the column id of a table; without such a file the ids are row numbers, counted from 0. It is
      memory-mapped, so that it may be larger than memory;
    - a folder with one folder per class of ``.npy`` files, each with one vector or several;
    - ``.npz`` with the arrays ``ids`` and ``vectors``, optionally ``texts``;
    - Parquet or JSONL with the columns ``id`` and ``vector`` (or ``embedding``), optionally ``text``;
    - a folder, local or remote, of the shards that ``goldrank encode`` writes, which are not copied.

    Queries may have a file or folder of their own, ``queries=FILE``. Keys are the texts if the file has them, otherwise
    the ids; ``by=id`` or ``by=text`` chooses. A key that is not in the file is an error.
    """

    def __init__(self, spec: Spec) -> None:
        own_names, unused = ("ids", "by", "queries"), ("query_prompt", "item_prompt", "dtype", "max_length")
        options, own = Options.split(spec, *own_names, without=unused)
        super().__init__(spec, options)
        self.numbered = False
        """Whether the ids are row numbers, because the file has no ids."""
        self.shards: tuple[VectorShard, ...] = ()
        """The files of a folder of shards, if their vectors are used unchanged."""
        file: Path | str = Path(spec.argument).expanduser()
        if spec.argument and "://" not in spec.argument and vector_files(Path(file)):
            table: Table = _class_folder(Path(file))
            self._stamp = " ".join(stamp(f) for f in vector_files(Path(file)))
        elif "://" in spec.argument or (spec.argument and Path(file).is_dir()):
            file = absolute(spec.argument)
            stored = StoredVectors.in_folder(file)
            table = {"vector": stored, "id": RowLookup(stored.ids())}
            self.shards, self._stamp = stored.shards if options.dim is None else (), stored.stamp
        elif not spec.argument or not Path(file).is_file():
            raise InputError("there is no such file of vectors", where=str(file), remedy=nearest_path(file))
        else:
            table = _read(Path(file), own.get("ids"))
            files = [Path(file)]
            if Path(file).suffix.lower() == ".npy":
                self.numbered = not _ids_file(Path(file), own.get("ids")).is_file()
                files += [] if self.numbered else [_ids_file(Path(file), own.get("ids"))]
            self._stamp = " ".join(stamp(f) for f in files)
        by = parse_choice("by", own.get("by", "text" if "text" in table else "id"), ("id", "text"))
        if by not in table:
            raise InputError(
                f"the file has no {by}s", where=str(file), remedy=f"add a column {by!r}, or use by=id|text"
            )
        queries = PrecomputedVectors(Spec(spec.kind, own["queries"], {})) if "queries" in own else None
        self._hold(file, by, table, queries)

    def _hold(self, file: Path | str, by: str, table: Table, queries: PrecomputedVectors | None) -> None:
        """Check the vectors and their keys, and keep them."""
        self._file, self.by, self._matrix = file, by, _matrix(table["vector"], file)
        self.width = int(self._matrix.shape[1])
        self.normalizes = _refuse_not_finite(self._matrix, file)
        self._keys = _keys(table[by], by, file, len(self._matrix))
        self._queries = queries
        if self._queries is not None:
            if self._queries.width != self.width:
                raise InputError(
                    f"the queries have {self._queries.width} dimensions and the items {self.width}",
                    where=str(self._queries._file),
                    remedy="encode both with the same model",
                )
            self._stamp += f" queries {self._queries.version}"

    @property
    def version(self) -> str:
        """A stamp of the files."""
        return self._stamp

    def row_ids(self) -> list[str]:
        """Return the keys of all rows."""
        return list(self._keys)

    @property
    def has_own_queries(self) -> bool:
        """Whether queries have vectors of their own, in another file."""
        return self._queries is not None

    def refuse_other_ids(self, items: Sequence[str], queries: Sequence[str], source: str, *, numbered: bool) -> None:
        """Raise InputError if a task does not fit these vectors.

        Args:
            items: The ids of all items; empty if any row is an item.
            queries: The ids of the queries that are not items.
            source: The task, for messages.
            numbered: Whether the items are numbered because the task has no ids, so that there must be as many as rows.
        """
        if self.numbered and numbered and len(items) != len(self._keys):
            raise InputError(
                f"{self._file} holds {len(self._keys)} vectors, and {source} holds {len(items)} labels",
                remedy="give one label per row, or the same ids on both sides",
            )
        if numbered and not self.numbered:
            rows = self._keys.find(items)
            if len(items) == len(self._keys) and (rows < 0).any():
                raise InputError(
                    f"the vectors of {self._file} have ids such as {shorten(self._keys[0])}, and {source} has none",
                    remedy="add a column id to the labels; the order of rows is not assumed where one side has ids",
                )
        self._find(items, source)
        (self._queries or self)._find(queries, source)

    def encode(self, texts: Sequence[str], side: Side) -> Dense:
        """Return one row per key: a view of a mapped file if its rows are in this order, else copies.

        Copies that would take much memory are written to a temporary file, which is deleted with the array.
        """
        if side == "query" and self._queries is not None:
            return self._queries.encode(texts, side)
        rows = self._find(check_texts(texts))
        if self._can_be_viewed and len(rows) and (np.diff(rows) == 1).all():
            return np.asarray(self._matrix[rows[0] : rows[-1] + 1])
        width = self.options.dim or self.width or 0
        return _stacked(self._copies(rows), (len(rows), width))

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return the rows of the keys."""
        rows: NDArray[Any] = self._matrix[self._find(texts)]
        return rows

    @property
    def _can_be_viewed(self) -> bool:
        """Whether rows can be returned as a read-only view of the file, because nothing has to be converted."""
        matrix = self._matrix
        if not isinstance(matrix, np.memmap) or self.options.dim is not None:
            return False
        return bool(matrix.dtype == np.float32 and matrix.dtype.isnative and matrix.flags.c_contiguous)

    def has_order(self, keys: Sequence[str]) -> bool:
        """Return True if the keys are all keys of the file, in its order."""
        return len(keys) == len(self._keys) and bool((self._keys.find(keys) == np.arange(len(keys))).all())

    def _copies(self, rows: NDArray[np.int64]) -> Iterator[Dense]:
        with Progress(f"encoding with {self.spec}", total=len(rows), unit="text") as progress:
            for part in _blocks(len(rows), self._matrix.shape[1]):
                chosen = rows[part]
                yield self._checked(self._matrix[chosen], len(chosen))
                progress.advance(len(chosen))

    def _find(self, texts: Sequence[str], source: str = "the task") -> NDArray[np.int64]:
        """Return the row of each key of *source*."""
        rows = self._keys.find(texts)
        if (rows < 0).any():
            unknown = texts[int(np.argmax(rows < 0))]
            if self.numbered:
                raise self._numbered_otherwise(unknown, source)
            near = difflib.get_close_matches(unknown[:80], list(islice(self._keys, 10_000)), n=1)
            raise InputError(
                f"there is no vector for the {self.by} {shorten(unknown)}",
                where=str(self._file),
                remedy=(f"did you mean {shorten(near[0])}? " if near else "")
                + f"the keys are the {self.by}s of its {len(self._matrix)} rows (by=id|text)",
            )
        return rows

    def _numbered_otherwise(self, unknown: str, source: str) -> InputError:
        """Return the error for an id that is not a row number of a file without ids."""
        remedy = "use row numbers as ids"
        if isinstance(self._file, Path):
            remedy = f"write the id of each row to {_ids_file(self._file, None)}, one per line"
            if stem_and_suffix(Path(source))[1] in TABLE_SUFFIXES:
                spec = quote(f"vectors:{self._file}(ids={source})")
                remedy += f", or write -m {spec} if the rows are in the order of that table"
        return InputError(
            f"there is no vector for the id {shorten(unknown)}: the vectors have no ids, so that their "
            f"{len(self._matrix)} rows are numbered from 0 to {len(self._matrix) - 1}",
            where=str(self._file),
            remedy=remedy,
        )


class ArrayVectors(PrecomputedVectors):
    """Vectors in memory, whose ids are row numbers: a matrix, or one of items and one of queries.

    >>> ArrayVectors(np.eye(3, dtype=np.float32)).encode(["2", "0"], "item").argmax(axis=1).tolist()
    [2, 0]
    """

    def __init__(self, items: Any, queries: Any = None, name: str = "array") -> None:
        vectors = _stacked_rows(items, name) if isinstance(items, (list, tuple)) else np.asarray(as_array(items))
        digest = hashlib.sha256(f"{vectors.dtype} {vectors.shape}".encode())
        digest.update(np.ascontiguousarray(vectors).tobytes() if vectors.dtype != object else b"")
        if vectors.dtype == object:
            raise InputError(
                "the vectors are Python objects, not numbers", where=name, remedy="give rows of one length as floats"
            )
        spec = Spec("vectors", f"{name}-{digest.hexdigest()[:8]}")
        BatchEncoder.__init__(self, spec, Options.split(spec)[0])
        self.numbered, self.shards, self._stamp = True, (), digest.hexdigest()[:16]
        table = {"vector": vectors, "id": RowLookup(map(str, range(len(vectors) if vectors.ndim else 0)))}
        self._hold(name, "id", table, None if queries is None else ArrayVectors(queries, name="queries"))


def _stacked_rows(rows: Sequence[Any], name: str) -> NDArray[Any]:
    """Return rows in a list as a matrix of the precision of a model."""
    try:
        return np.stack([np.asarray(as_array(row), np.float32) for row in rows])
    except (TypeError, ValueError):
        raise InputError(
            "the vectors are not rows of numbers of one length", where=name, remedy="encode all with the same model"
        ) from None


def _stacked(parts: Iterable[Dense], shape: tuple[int, int]) -> Dense:
    """Return the rows of all parts, in memory, or mapped from an unnamed file if they would take too much memory."""
    if shape[0] * shape[1] <= _HELD_ELEMENTS:
        rows = np.empty(shape, np.float32)
        start = 0
        for part in parts:
            rows[start : start + len(part)] = part
            start += len(part)
        return rows
    try:
        with _unnamed_file() as file:
            for part in parts:
                file.write(np.ascontiguousarray(part, np.float32).data)
            file.flush()
            return np.asarray(np.memmap(file, np.float32, "r", shape=shape))
    except OSError as error:
        size = shape[0] * shape[1] * 4 / 2**30
        raise InputError(
            f"the vectors cannot be put into another order ({reason_of(error)}), which needs {size:.1f} GiB of disk",
            where=str(cache_folder()),
            remedy="set GOLDRANK_CACHE to a folder with enough space, or write the vectors in the order of the items",
        ) from None


def _unnamed_file() -> IO[bytes]:
    """Open a temporary file in the cache folder, because the system's temporary folder may be in memory."""
    folder = cache_folder()
    try:
        make_private_folder(folder)
        return TemporaryFile(dir=folder)
    except OSError:
        return TemporaryFile()


def _blocks(rows: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK_ELEMENTS // max(1, width))
    return (slice(start, start + step) for start in range(0, rows, step))


def _read(file: Path, ids: str | None) -> Table:
    suffix = file.suffix.lower()
    try:
        if suffix == ".npy":
            vectors = load_array(file)
            return {"vector": vectors, "id": _listed_keys(file, ids, len(vectors) if vectors.ndim else 0)}
        if suffix == ".npz":
            return _named(load_arrays(file), file)
        if suffix in (".parquet", ".pq"):
            table = load_pyarrow()[1].read_table(file)
            return _named({name: table.column(name).to_pylist() for name in table.column_names}, file)
        if suffix in (".jsonl", ".ndjson", ".json"):
            return _jsonl(file)
    except (ValueError, OSError, TypeError, LookupError, OverflowError, NotImplementedError) as error:
        # The errors of pyarrow are subclasses of these.
        raise InputError(
            f"the file cannot be read ({reason_of(error)})", where=str(file), remedy="write it again"
        ) from None
    raise InputError(
        f"{suffix or 'a file without a suffix'} is not a known format of vectors",
        where=str(file),
        remedy="use .npy, .npz, .parquet or .jsonl",
    )


def _ids_file(file: Path, ids: str | None) -> Path:
    return Path(ids).expanduser() if ids else file.with_suffix(".ids")


def _listed_keys(file: Path, ids: str | None, rows: int) -> RowLookup:
    """Return the ids of the rows: from a table with a column id, from a file with one per line, or row numbers."""
    ids_file = _ids_file(file, ids)
    if not ids_file.is_file():
        if ids is not None:
            raise InputError("there is no such file of ids", where=ids, remedy="check the path")
        return RowLookup(map(str, range(rows)))
    if stem_and_suffix(ids_file)[1] in TABLE_SUFFIXES:
        table = read_table(ids_file)
        name = next((name for name in table.names if normal(name) in _NAMES["id"]), None)
        if name is None:
            raise InputError(
                f"the table has no column of ids (columns: {listing(table.names)})",
                where=str(ids_file),
                remedy="call it id",
            )
        return RowLookup(str(record.get(name, "")).strip() for _, record in table.rows)
    with ids_file.open(encoding="utf-8-sig") as lines:
        return RowLookup(line.removesuffix("\n") for line in lines)


def _class_folder(folder: Path) -> Table:
    """Return the vectors of a folder with one folder of ``.npy`` files per class."""
    parts: list[NDArray[Any]] = []
    ids: list[str] = []
    for file in vector_files(folder):
        array = load_array(file)
        ids += vector_ids(folder, file, None if array.ndim == 1 else len(array))
        rows = _matrix(array[np.newaxis] if array.ndim == 1 else array, file)
        if parts and rows.shape[1] != parts[0].shape[1]:
            raise InputError(
                f"the vectors have {rows.shape[1]} dimensions, those of the first file {parts[0].shape[1]}",
                where=str(file),
                remedy="encode all with the same model",
            )
        parts.append(np.asarray(rows, np.float32))
    return {"vector": np.concatenate(parts), "id": RowLookup(ids)}


def _jsonl(file: Path) -> Table:
    rows: list[dict[str, Any]] = []
    with file.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict) or (rows and row.keys() != rows[0].keys()):
                raise InputError(
                    "the line is not a JSON object with the fields of the first line",
                    where=f"{file}:{number}",
                    remedy="correct it",
                )
            rows.append(row)
    if not rows:
        raise InputError("the file is empty", where=str(file), remedy="write one object per line")
    return _named({name: [row[name] for row in rows] for name in rows[0]}, file)


def _named(columns: Table, file: Path) -> Table:
    renamed = {key: columns[name] for key, names in _NAMES.items() for name in names if name in columns}
    if "vector" not in renamed or not {"id", "text"} & renamed.keys():
        raise InputError(
            f"the columns {', '.join(columns)} hold no ids with vectors",
            where=str(file),
            remedy="call them 'id' and 'vector'",
        )
    return renamed


def _matrix(values: Any, file: Path | str) -> Any:
    """Return the vectors as a matrix; a mapped file and shards are not copied."""
    if isinstance(values, StoredVectors):
        return values
    mapped = isinstance(values, np.memmap) and values.dtype.kind in "fiu"
    try:
        matrix = values if mapped else np.asarray(values, np.float32)
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0, np.float32)
    if mapped and matrix.ndim != 2:
        raise InputError(
            f"the array has the shape {matrix.shape}, and vectors are a matrix with one row per item",
            where=str(file),
            remedy="save one row per item, or name another file",
        )
    if matrix.ndim == 2 and not matrix.size:
        raise InputError(
            f"the matrix of vectors is empty: its shape is {matrix.shape}",
            where=str(file),
            remedy="check that it was written completely",
        )
    if matrix.ndim != 2:
        raise InputError(
            "the vectors are not rows of numbers of one length", where=str(file), remedy="correct the ragged rows"
        )
    return matrix


def _refuse_not_finite(matrix: Any, file: Path | str) -> bool:
    """Return True if all rows have length 1 or 0; raise if one is not finite."""
    unit = True
    for part in _blocks(*matrix.shape):
        with np.errstate(over="ignore"):
            rows = np.asarray(matrix[part], np.float32)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            row = part.start + int(finite.argmin())
            raise InputError(
                f"the vector of row {row} (counted from 0) is not finite", where=str(file), remedy="remove the row"
            )
        if unit:
            lengths = np.linalg.norm(rows, axis=1)
            unit = bool(np.allclose(lengths[lengths > 0], 1.0, atol=1e-3))
    return unit


def _keys(values: Any, by: str, file: Path | str, rows: int) -> RowLookup:
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InputError(
            f"the {by}s are an array of {values.ndim} dimensions", where=str(file), remedy=f"give one {by} per row"
        )
    keys = values if isinstance(values, RowLookup) else RowLookup(map(str, values))
    if len(keys) != rows:
        raise InputError(
            f"there are {len(keys)} {by}s for {rows} vectors", where=str(file), remedy=f"give one {by} per row"
        )
    # Items with the same text share a vector, but ids must be unique.
    if by == "id" and (duplicate := keys.find_duplicate()) is not None:
        first, second = duplicate
        raise InputError(
            f"the id {shorten(keys[first])} is repeated in rows {first + 1} and {second + 1}",
            where=str(file),
            remedy="keep one of them",
        )
    return keys
