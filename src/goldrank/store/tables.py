"""Write and read hits and runs as Parquet files with a row for each query and its items in lists, and predictions."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, reason_of
from goldrank.hits import Hits, Run
from goldrank.io.arrow_arrays import (
    find_string,
    numbers_from_arrow,
    numbers_to_arrow,
    strings_from_arrow,
    strings_to_arrow,
)
from goldrank.io.columns import Columns
from goldrank.io.formats.parquet import load_pyarrow

if TYPE_CHECKING:
    import pyarrow

Load = Callable[[Hashable, Callable[[], Any]], Any]
"""Returns a part of a file: from a cache by its name, or by calling the function that reads it."""
_COUNTS = ("above", "tied", "tied_docid", "tied_input")
_ABOUT = b"goldrank"
_ROWS_IN_A_GROUP = 1024
"""Few enough that one query is read in a few milliseconds."""


def dump_hits(hits: Hits) -> bytes:
    """Return a Parquet file of *hits*."""
    lists: dict[str, Any] = {"item": _texts(hits.items), "grade": np.asarray(hits.grade, np.float64)}
    lists |= {name: np.asarray(getattr(hits, name), np.int64) for name in _COUNTS}
    if len(hits.own):
        lists["own"] = np.asarray(hits.own, np.int8)
    if len(hits.outside):
        lists["outside"] = np.asarray(hits.outside, bool)
    about = {
        "precision": hits.precision,
        "corpus": hits.corpus,
        "ignored_queries": hits.ignored_queries,
        "dropped_self": hits.dropped_self,
    }
    return _dump(hits.queries, hits.starts, {"depth": np.asarray(hits.depth, np.int64)}, lists, about)


def load_hits(data: bytes, where: str) -> Hits:
    """Read the hits that `dump_hits` wrote."""
    table = _load(data, where)
    lists, about = table.lists, table.about
    return Hits(
        queries=table.queries,
        starts=table.starts,
        items=lists["item"],
        grade=lists["grade"],
        depth=table.plain["depth"],
        precision=about["precision"],
        corpus=about["corpus"],
        outside=lists.get("outside", np.zeros(0, bool)),
        ignored_queries=about["ignored_queries"],
        dropped_self=about["dropped_self"],
        own=lists.get("own", np.zeros(0, np.int8)),
        **{name: lists[name] for name in _COUNTS},
    )


def dump_run(run: Run) -> bytes:
    """Return a Parquet file of *run*."""
    columns = run.columns
    lists: dict[str, Any] = {"item": _texts(columns.items), "score": np.asarray(columns.values, np.float64)}
    if columns.chunks is not None:
        lists["chunk"] = _texts(columns.chunks)
    return _dump(columns.queries, columns.starts, {}, lists, {})


def load_run(data: bytes, where: str) -> Run:
    """Read the run that `dump_run` wrote."""
    table = _load(data, where)
    lists = table.lists
    return Run.from_columns(
        Columns(table.queries, table.starts, lists["item"], lists["score"], where, chunks=lists.get("chunk"))
    )


def dump_predictions(columns: Mapping[str, Sequence[Any]] | pyarrow.Table) -> bytes:
    """Return a Parquet file of a table, or of columns of texts and numbers."""
    pyarrow, parquet = load_pyarrow()
    out = io.BytesIO()
    table = columns
    if not isinstance(columns, pyarrow.Table):
        table = pyarrow.table(
            {name: pyarrow.array(np.asarray(c) if not isinstance(c, list) else c) for name, c in columns.items()}
        )
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def load_predictions(data: bytes, where: str) -> pyarrow.Table:
    """Read the table that `dump_predictions` wrote."""
    pyarrow, parquet = load_pyarrow()
    try:
        return parquet.ParquetFile(pyarrow.BufferReader(data)).read()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _unreadable(error, where) from None


def _unreadable(error: Exception, where: str) -> InputError:
    return InputError(
        f"the file is not a table of a store ({reason_of(error)})",
        where=where,
        remedy="run it again with --overwrite always",
    )


def _dump(
    queries: list[str],
    starts: NDArray[np.int64],
    plain: Mapping[str, Any],
    lists: Mapping[str, Any],
    about: Mapping[str, Any],
) -> bytes:
    _, parquet = load_pyarrow()
    columns = {"query": _texts(queries), **plain}
    out = io.BytesIO()
    writer = None
    for first in range(0, max(len(queries), 1), _ROWS_IN_A_GROUP):
        rows = slice(first, min(first + _ROWS_IN_A_GROUP, len(queries)))
        table = _group(columns, np.asarray(starts, np.int64), lists, rows)
        if writer is None:
            schema = table.schema.with_metadata({_ABOUT: json.dumps(about).encode()})
            # Only ids have a dictionary, because numbers such as scores hardly ever repeat.
            texts = ["query", "item.list.element"]
            # Nothing reads the statistics of a column, and computing them takes as long as writing it.
            writer = parquet.ParquetWriter(
                out, schema, compression="zstd", use_dictionary=texts, write_statistics=False
            )
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return out.getvalue()


def _group(columns: Mapping[str, Any], starts: NDArray[np.int64], lists: Mapping[str, Any], rows: slice) -> Any:
    """Return some rows as a table, whose dictionaries hold only the ids of these rows."""
    pyarrow, _ = load_pyarrow()
    low, high = starts[rows.start], starts[rows.stop]
    offsets = numbers_to_arrow(starts[rows.start : rows.stop + 1] - low)
    plain = {name: _compact(values[rows]) for name, values in columns.items()}
    nested = {
        name: pyarrow.LargeListArray.from_arrays(offsets, _compact(values[low:high])) for name, values in lists.items()
    }
    return pyarrow.table({**plain, **nested})


def _compact(values: Any) -> Any:
    pyarrow, _ = load_pyarrow()
    if not isinstance(values, pyarrow.DictionaryArray):
        return numbers_to_arrow(values)
    indices, number = numbers_from_arrow(values.indices), np.zeros(len(values.dictionary), np.int32)
    used = np.flatnonzero(np.bincount(indices, minlength=len(number)))
    number[used] = np.arange(len(used))
    return pyarrow.DictionaryArray.from_arrays(
        numbers_to_arrow(number[indices]), values.dictionary.take(numbers_to_arrow(used))
    )


@dataclass(frozen=True)
class _QueryTable:
    """The content of a table with a row for each query, as `_dump` takes it."""

    queries: list[str]
    starts: NDArray[np.int64]
    plain: dict[str, Any]
    """Columns with a number for each query."""
    lists: dict[str, Any]
    """Columns with a list for each query, concatenated; list *i* is ``starts[i]:starts[i + 1]``."""
    about: dict[str, Any]


def _load(data: bytes, where: str) -> _QueryTable:
    pyarrow, parquet = load_pyarrow()
    try:
        table = _read_groups(parquet.ParquetFile(pyarrow.BufferReader(data)))
        about = json.loads(table.schema.metadata[_ABOUT])
        plain: dict[str, Any] = {}
        lists: dict[str, Any] = {}
        starts = np.zeros(1, np.int64)
        for name in table.column_names:
            column = table[name]
            if pyarrow.types.is_large_list(column.type):
                starts = np.concatenate(([0], np.cumsum(_sizes(column), dtype=np.int64)))
                lists[name] = _values([_flatten(chunk) for chunk in column.chunks], column.type.value_type)
            else:
                plain[name] = _values(column.chunks, column.type)
        return _QueryTable(plain.pop("query"), starts, plain, lists, about)
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(error, where) from None


def find_row(path: Path, query: str, load: Load = lambda _part, read: read()) -> dict[str, Any] | None:
    """Return one query's row of a table that `dump_hits` or `dump_run` wrote; None if it has none.

    Only the query ids and one row group are read, so that showing one query is fast; the caller has compared the
    checksum of the file.

    Args:
        path: the file.
        query: the id of the query.
        load: returns a part of the file, by its name or by reading it; a server passes a cache.
    """
    pyarrow, _ = load_pyarrow()
    try:
        queries = load((path, "queries"), lambda: _read_queries(path))
        row = _find_query(queries, query)
        for group, chunk in enumerate(queries.chunks if row >= 0 else ()):
            if row < len(chunk):
                rows = load((path, group), lambda group=group: _read_group(path, group))  # type: ignore[misc]
                return _plain_row(rows.slice(row, 1))
            row -= len(chunk)
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(error, str(path)) from None
    return None


def _read_queries(path: Path) -> Any:
    """Return the query ids, a chunk for each row group."""
    pyarrow, parquet = load_pyarrow()
    with parquet.ParquetFile(path, memory_map=True) as file:
        if not file.num_row_groups:
            return file.read(["query"])["query"]
        groups = range(file.num_row_groups)
        columns = [file.read_row_group(group, ["query"], use_threads=False)["query"] for group in groups]
    return pyarrow.chunked_array([column.combine_chunks() for column in columns])


def _read_group(path: Path, group: int) -> Any:
    _, parquet = load_pyarrow()
    with parquet.ParquetFile(path, memory_map=True) as file:
        return file.read_row_group(group, use_threads=False)


def _find_query(queries: Any, query: str) -> int:
    """Return the row of a query id; -1 if there is none."""
    before = 0
    for chunk in queries.chunks:
        code = find_string(chunk.dictionary, query)
        if code >= 0:
            return before + int(np.flatnonzero(numbers_from_arrow(chunk.indices) == code)[0])
        before += len(chunk)
    return -1


def _read_groups(file: Any) -> Any:
    """Return the whole table; pyarrow cannot read lists of dictionary strings over several row groups at once."""
    if file.num_row_groups < 2:
        return file.read()
    pyarrow, _ = load_pyarrow()
    return pyarrow.concat_tables(
        [file.read_row_group(group, use_threads=False) for group in range(file.num_row_groups)]
    )


def _plain_row(table: Any) -> dict[str, Any]:
    row = table.to_pylist()[0]
    named = {name: row[name] for name in ("item", "chunk") if name in row}
    texts = {
        name: [text.decode("utf-8", "surrogatepass") if isinstance(text, bytes) else text for text in values]
        for name, values in named.items()
    }
    return {**row, **texts}


def _flatten(chunk: Any) -> Any:
    """Return the values of lists; the method `flatten` imports all functions of pyarrow.compute."""
    if chunk.null_count:
        raise ValueError("a list is missing")
    bounds = numbers_from_arrow(chunk.offsets)
    return chunk.values.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))


def _sizes(column: Any) -> NDArray[np.int64]:
    return np.concatenate(
        [np.zeros(0, np.int64), *(np.diff(numbers_from_arrow(chunk.offsets)) for chunk in column.chunks)]
    )


def _values(chunks: list[Any], kind: Any) -> Any:
    """Return strings as a list, numbers as a writable array."""
    pyarrow, _ = load_pyarrow()
    if pyarrow.types.is_dictionary(kind):
        known: dict[str, str] = {}
        return list(chain.from_iterable(_strings(chunk, known) for chunk in chunks))
    return np.concatenate([np.zeros(0, str(kind)), *map(numbers_from_arrow, chunks)])


def _texts(texts: list[str]) -> Any:
    """Return strings as a dictionary array; as bytes if one of them is not valid Unicode."""
    try:
        values = strings_to_arrow(texts)
    except UnicodeEncodeError:
        values = strings_to_arrow(texts, surrogates=True)
    return values.dictionary_encode()


def _strings(chunk: Any, known: dict[str, str]) -> list[str]:
    """Return the strings of a chunk; equal strings are the same object, also across chunks by *known*."""
    texts = strings_from_arrow(chunk.dictionary)
    different = map(known.setdefault, texts, texts)
    return np.array([*different, ""], object)[numbers_from_arrow(chunk.indices)].tolist()  # type: ignore[no-any-return]
