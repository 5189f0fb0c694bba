"""Read and write Parquet files with one row per query and item."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from goldrank.errors import InputError, MissingExtraError, reason_of
from goldrank.io.column_names import describe_found, find_columns
from goldrank.io.columns import VALUE_WORD, Columns, TableKind, expand_subtopics, refuse_empty_queries, row_queries
from goldrank.io.compression import over_limit, size_limit
from goldrank.io.memory_mapping import MappedFile
from goldrank.io.packed import PackedRun
from goldrank.io.tables import columns_from_arrow, pack_arrow


def load(data: bytes | MappedFile, kind: TableKind, name: str, format: str = "parquet") -> Columns:
    """Read the query, item and value columns; messages number rows from 1."""
    pyarrow, parquet = load_pyarrow()
    with parquet_faults(name):
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        _refuse_large(file.metadata, len(data), name)
        names = file.schema_arrow.names
        positions = find_columns(names, kind, where=name)
        chosen = [names[at] for at in positions]
        table = file.read(columns=chosen).select(chosen)
    columns = columns_from_arrow(table, kind, source=name, place=lambda row: f"{name}: row {row + 1}")
    return replace(columns, reading=describe_found(name, names, kind, positions))


def pack(data: bytes | MappedFile, name: str, format: str = "parquet") -> PackedRun | None:
    """Read a run with ids as text and offsets; return None for a file that `load` has to read row by row."""
    pyarrow, parquet = load_pyarrow()
    try:
        names = parquet.read_schema(pyarrow.BufferReader(data)).names
        positions = find_columns(names, "run", where=name)
        chosen = [names[at] for at in positions]
        file = parquet.ParquetFile(pyarrow.BufferReader(data), read_dictionary=chosen[:1])
        _refuse_large(file.metadata, len(data), name)
        # One column after the other, so that the buffers of one are freed before the next is decoded.
        columns = (_single_chunk(file.read(columns=[column], use_threads=False).column(0)) for column in chosen)
        packed = pack_arrow(columns, name)
    except (InputError, pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError):
        return None  # `load` reports what is wrong
    return replace(packed, reading=describe_found(name, names, "run", positions))


def _single_chunk(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def parquet_table(data: bytes, name: str) -> Any:
    """Return the whole file as a pyarrow table."""
    pyarrow, parquet = load_pyarrow()
    with parquet_faults(name):
        file = parquet.ParquetFile(pyarrow.BufferReader(data))
        _refuse_large(file.metadata, len(data), name)
        return file.read()


@contextmanager
def parquet_faults(name: str) -> Iterator[None]:
    """Turn the errors of pyarrow for a damaged file into an `InputError`."""
    pyarrow, _ = load_pyarrow()
    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError) as error:
        raise InputError(
            f"the Parquet file is truncated or corrupt ({reason_of(error)})",
            where=name,
            remedy="copy or write it again",
        ) from None


def _refuse_large(about: Any, packed: int, name: str) -> None:
    """Raise InputError for a small file that claims to have billions of equal values."""
    limit = size_limit(packed)
    if 8 * about.num_rows * about.num_columns > limit:
        raise over_limit(limit, name, packed=True)


def dump(columns: Columns, kind: TableKind, format: str = "parquet", tag: str = "") -> bytes:
    """Return the bytes of the file: query and item as strings, scores as doubles, whole grades as integers."""
    refuse_empty_queries(columns, "Parquet")
    pyarrow, parquet = load_pyarrow()
    by_subtopic = {}
    if columns.subtopics is not None:
        columns, subtopics = expand_subtopics(columns)
        by_subtopic["subtopic"] = pyarrow.array(subtopics, pyarrow.string())
    values = columns.values
    if kind == "gold" and bool((values == np.trunc(values)).all()) and bool((np.abs(values) < 2**53).all()):
        values = values.astype(np.int64)
    table = pyarrow.table(
        {
            "query": pyarrow.array(row_queries(columns), pyarrow.string()).dictionary_encode(),
            "item": pyarrow.array(columns.items, pyarrow.string()),
            VALUE_WORD[kind]: values,
            **by_subtopic,
        }
    )
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def load_pyarrow() -> tuple[Any, Any]:
    """Import pyarrow and its Parquet module when they are first needed: the import is slow, and scores need neither."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise MissingExtraError("a Parquet file, Arrow table or stored run", "pyarrow", "models") from None

    return pyarrow, pyarrow.parquet
