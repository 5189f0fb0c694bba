"""Build Columns from Python objects: dictionaries, data frames, Arrow tables, datasets, arrays and tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank import native
from goldrank.errors import InputError, shorten
from goldrank.io.checks import Place
from goldrank.io.column_names import describe_found, find_columns
from goldrank.io.columns import VALUE_WORD, Columns, TableKind, columns_of_cells
from goldrank.io.mappings import from_pairs
from goldrank.io.packed import PackedRun
from goldrank.io.positions import ambiguous_rows, columns_by_position, is_by_position


def columns_from(
    obj: object, kind: TableKind, query: str | None = None, item: str | None = None, value: str | None = None
) -> Columns:
    """Return the columns of any object with queries, items and values.

    Accepted are a mapping of queries to items (``{"q1": {"d3": 2}}`` or ``{"q1": ["d3"]}``), a pandas or polars data
    frame, a pyarrow table, a Hugging Face dataset, any other object that streams Arrow, a numpy structured array, Qrels
    and Run of ranx, and a list or an iterator of (query, item, value) tuples or of named tuples such as Qrel and
    ScoredDoc of ir_measures and ir_datasets; also lists or an array with the items of each query, as in
    `columns_by_position`. *query*, *item* and *value* name the columns of a table with unusual names. No package is
    imported to find out the type of *obj*.

    >>> columns_from({"q1": {"d3": 2}}, "gold").items
    ['d3']
    """
    library, type_name = type(obj).__module__.partition(".")[0], type(obj).__name__
    if library == "datasets" and type_name in ("DatasetDict", "IterableDatasetDict", "IterableDataset"):
        remedy = "choose a split" if type_name.endswith("Dict") else "load it without streaming"
        raise InputError(f"a {type_name} is not one table", remedy=remedy)
    if library == "ranx" and type_name in ("Qrels", "Run"):
        obj = obj.to_dict()  # type: ignore[attr-defined]
    if isinstance(obj, Mapping):
        return from_pairs(obj.items(), kind, f"the {kind} {type_name}", integers=True)
    table = _table(obj, library, type_name)
    if table is not None:
        names, column = table
        positions = find_columns(names, kind, where=type_name, query=query, item=item, value=value)
        cells = [_cells(column(position)) for position in positions]
        columns = columns_of_cells(cells, kind, source=type_name, place=_row_of(type_name))
        return replace(columns, reading=describe_found(type_name, names, kind, positions))
    if isinstance(obj, Iterator):
        obj = list(obj)
    by_position = is_by_position(obj)
    if by_position is None:
        raise ambiguous_rows(kind)
    if by_position:
        return columns_by_position(obj, kind)
    if isinstance(obj, Sequence) and not isinstance(obj, (str, bytes)):
        return _from_rows(obj, kind, type_name)
    raise InputError(
        f"a {type_name} does not hold {'gold' if kind == 'gold' else 'a run'}",
        remedy=f'give {{"query": {{"item": {VALUE_WORD[kind]}}}}}, a data frame, an Arrow table, '
        f"(query, item, {VALUE_WORD[kind]}) tuples or a list of items for each query",
    )


def holds_labels(obj: object) -> bool:
    """Return True if *obj* is a table or a list of records with the columns of articles with labels.

    >>> holds_labels([{"id": "a", "labels": ["b"]}]), holds_labels([{"query": "q", "item": "a"}])
    (True, False)
    """
    table = _table(obj, type(obj).__module__.partition(".")[0], type(obj).__name__)
    rows = obj if table is None else table[0]
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        return False
    records = all(isinstance(row, Mapping) for row in rows)
    names = {name for row in rows for name in row} if records else {name for name in rows if isinstance(name, str)}
    return "id" in names and not names.isdisjoint(("labels", "label"))


def _table(obj: Any, library: str, type_name: str) -> tuple[list[object], Callable[[int], object]] | None:
    """Return the column names of a table and a function from a position to a column; None if *obj* is not a table."""
    if library == "pandas" and type_name == "DataFrame":
        return list(obj.columns), lambda position: obj.iloc[:, position]
    if library == "polars" and type_name == "DataFrame":
        return list(obj.columns), obj.to_series
    if isinstance(obj, np.ndarray) and obj.dtype.names:
        names = obj.dtype.names
        return list(names), lambda position: obj[names[position]]
    if library == "datasets" and type_name == "Dataset":
        # The Arrow format applies the selection and order of rows of the dataset.
        obj = obj.with_format("arrow")[:]
    elif not (library == "pyarrow" and type_name == "Table"):
        if not hasattr(obj, "__arrow_c_stream__"):
            return None
        obj = _arrow_stream(obj, type_name)
    return list(obj.column_names), obj.column


def columns_from_arrays(query: object, item: object, value: object, kind: TableKind) -> Columns:
    """Return the columns of three arrays (numpy, pandas, polars, Arrow or lists) of the same length.

    >>> columns_from_arrays([7, 7], ["a", "b"], [0.5, 0.25], "run").queries
    ['7']
    """
    cells = [_cells(array) for array in (query, item, value)]
    lengths = [len(column) for column in cells]
    if len(set(lengths)) > 1:
        raise InputError(
            f"the arrays have {lengths[0]}, {lengths[1]} and {lengths[2]} entries",
            where="arrays",
            remedy="give one query, item and value per row",
        )
    return columns_of_cells(cells, kind, source="arrays", place=_row_of("arrays"))


def columns_from_arrow(table: Any, kind: TableKind, *, source: str, place: Place) -> Columns:
    """Return the columns of a pyarrow table with query, item, value and optionally subtopic (gold) or rank (runs)."""
    return columns_of_cells([_cells(column) for column in table.columns], kind, source=source, place=place)


def pack_arrow(arrays: Iterator[Any], source: str) -> PackedRun:
    """Return the run in Arrow arrays as `columns_from_arrow` does.

    Args:
        arrays: the queries, the items, the scores and optionally the ranks; each array is freed before the next is
            drawn.
        source: what the rows come from, for messages.

    Only buffers are read: `to_numpy` would import pandas, and the functions of pyarrow.compute take as long to import
    as the rest takes.

    Raises:
        ValueError: the run has nulls, faulty values or other types, so that each cell needs a look.
    """
    queries, starts, order = _arrow_groups(next(arrays))
    offsets, text = _arrow_text(next(arrays), order)
    are_ids = all(queries) and len(set(queries)) == len(queries) and bool((offsets[1:] > offsets[:-1]).all())
    if not are_ids or native.has_repeated_items(len(queries), starts, offsets, text):
        raise ValueError("an id is empty or listed twice")
    values, *ranks = (_arrow_numbers(column, order).astype(np.float64, copy=False) for column in arrays)
    if not np.isfinite(values).all():
        raise ValueError("a score is not finite")
    ranks = [np.where(np.isfinite(column), column, np.nan) for column in ranks]
    return PackedRun(queries, starts, offsets, text, values, source, ranks[0] if ranks else None)


def _arrow_groups(queries: Any) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the queries, the start of each, and the order that groups the rows; None if they are grouped."""
    if not hasattr(queries, "dictionary"):
        queries = queries.dictionary_encode()
    _refuse_other_cells(queries, queries.dictionary.type, _ARROW_TEXT)
    names, codes, order = queries.dictionary.to_pylist(), _arrow_numbers(queries.indices), None
    begins = _changes(codes)
    listed = dict.fromkeys(codes[begins].tolist())
    if len(listed) < len(begins):
        number_of = np.zeros(len(names), np.int64)
        number_of[list(listed)] = np.arange(len(listed))
        order = np.argsort(number_of[codes], kind="stable")
        begins = _changes(codes[order])
    return [names[code] for code in listed], np.append(begins, len(codes)), order


def _changes(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions of the codes that differ from the one before."""
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


def _arrow_numbers(column: Any, order: NDArray[np.int64] | None = None) -> NDArray[Any]:
    """Return the numbers of an array, in an order."""
    _refuse_other_cells(column, column.type, _ARROW_NUMBERS)
    dtype = np.dtype({"double": "float64", "float": "float32"}.get(str(column.type), str(column.type)))
    numbers = np.frombuffer(column.buffers()[1], dtype)[column.offset : column.offset + len(column)]
    return numbers if order is None else numbers[order]


def _arrow_text(items: Any, order: NDArray[np.int64] | None) -> tuple[NDArray[Any], memoryview]:
    """Return the offsets and the bytes of an array of strings, which must be valid UTF-8, in an order."""
    _refuse_other_cells(items, items.type, _ARROW_TEXT)
    if order is not None:
        items = items.take(order)
    _, offsets, text = items.buffers()
    dtype = np.int64 if str(items.type) == "large_string" else np.int32
    bounds = np.frombuffer(offsets, dtype)[items.offset : items.offset + len(items) + 1]
    view = memoryview(b"" if text is None else text)
    if np.frombuffer(view, np.int8).min(initial=0) < 0:
        items.validate(full=True)
    return bounds, view


def _refuse_other_cells(column: Any, kind: object, accepted: frozenset[str]) -> None:
    if not len(column) or column.null_count or str(kind) not in accepted:
        raise ValueError(f"the column is empty, has nulls or is of type {kind}")


def _row_of(source: str) -> Place:
    return lambda row: f"{source}: row {row} (counted from 0)"


def _from_rows(rows: Sequence[object], kind: TableKind, source: str) -> Columns:
    names = getattr(rows[0], "_fields", ()) if rows else ()
    if names and all(getattr(row, "_fields", ()) == names for row in rows):
        # Named tuples such as Qrel and ScoredDoc of ir_measures and ir_datasets.
        positions = find_columns(names, kind, where=source)[:3]
        cells = [[row[position] for row in rows] for position in positions]  # type: ignore[index]
        columns = columns_of_cells(cells, kind, source=source, place=_row_of(source))
        return replace(columns, reading=describe_found(type(rows[0]).__name__, names, kind, positions))
    for number, row in enumerate(rows):
        if not isinstance(row, (tuple, list)) or len(row) != 3:
            raise InputError(
                f"{shorten(row)} is not a (query, item, {VALUE_WORD[kind]}) tuple",
                where=_row_of(source)(number),
                remedy="give three values per row, or a list of items for each query",
            )
    cells = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    return columns_of_cells(cells, kind, source=source, place=_row_of(source))


def _cells(array: Any) -> Sequence[object]:
    """Return a column as a numpy array of numbers or as a list of Python values."""
    if hasattr(array, "to_pylist"):
        kind = str(array.type)
        if kind in _ARROW_TEXT or (kind in _ARROW_NUMBERS and array.null_count == 0):
            return _array_cells(array.to_numpy(zero_copy_only=False))
        # In numpy, null integers would become NaN; as Python values they stay None.
        return array.to_pylist()  # type: ignore[no-any-return]
    if isinstance(array, (np.ndarray, np.generic)):
        return _array_cells(np.asarray(array))
    for method in ("to_list", "tolist"):
        if hasattr(array, method):
            return getattr(array, method)()  # type: ignore[no-any-return]
    if isinstance(array, Sequence) and not isinstance(array, (str, bytes)):
        return array
    raise InputError(
        f"a {type(array).__name__} is not a column of values",
        where="arrays",
        remedy="give a list or an array",
    )


_ARROW_NUMBERS = frozenset([f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)] + ["float", "double"])
_ARROW_TEXT = frozenset(["string", "large_string"])


def _array_cells(array: np.ndarray[Any, Any]) -> Sequence[object]:
    if array.ndim != 1:
        raise InputError(
            f"the array has {array.ndim} dimensions, not 1", where="arrays", remedy="give one value per row"
        )
    return array if array.dtype.kind == "f" else array.tolist()  # type: ignore[return-value]


def _arrow_stream(obj: Any, type_name: str) -> Any:
    from goldrank.io.formats.parquet import load_pyarrow

    pyarrow, _ = load_pyarrow()
    try:
        return pyarrow.table(obj)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"the {type_name} does not stream a table ({error})", remedy="convert it to a pyarrow table"
        ) from None
