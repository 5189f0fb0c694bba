"""Build Columns from lists and arrays of items, one for each query; the positions are the query ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from goldrank.errors import InputError
from goldrank.io.arrays import as_array
from goldrank.io.checks import is_number
from goldrank.io.column_names import ITEM, QUERY, normal
from goldrank.io.columns import VALUE_WORD, Columns, TableKind, group
from goldrank.io.mappings import from_pairs

NO_ITEM = -1
"""The label that faiss returns where it found no item."""
_RECORD_NAMES = frozenset(name for names in (*QUERY, *ITEM) for name in names)


def is_by_position(obj: object) -> bool | None:
    """Return True for lists of items, one per query, False for (query, item, value) rows, and None if it is ambiguous.

    Tuples of three are rows. Lists of three are rows if they mix texts and numbers or if the third cell is not an
    integer; lists of three integers are ambiguous.

    >>> is_by_position([[11, 1], [4, 16, 1]]), is_by_position([["q1", "d3", 0.5]]), is_by_position([[11, 1, 7]])
    (True, False, None)
    """
    obj = as_array(obj)
    if isinstance(obj, np.ndarray):
        return obj.dtype.names is None
    if _search_result(obj) is not None:
        return True
    if not isinstance(obj, Sequence) or isinstance(obj, (str, bytes)) or not len(obj):
        return False
    if any(_is_row(entry) for entry in obj) or not all(_holds_items(as_array(entry)) for entry in obj):
        return False
    three = all(isinstance(entry, list) and len(entry) == 3 and _looks_numeric(entry[2]) for entry in obj)
    return None if three else True


def columns_by_position(obj: Any, kind: TableKind, source: str | None = None) -> Columns:
    """Return the columns of lists, sets, dicts or arrays of items, one for each query; the queries are "0", "1", ….

    A two-dimensional array has one row for each query, like the labels of a faiss search. A pair of such arrays, scores
    and labels in either order, is the result of a search by faiss or hnswlib. The label -1 means that there is no item.

    >>> columns = columns_by_position([[11, 1], [4]], "run")
    >>> columns.queries, columns.items, columns.values.tolist()
    (['0', '1'], ['11', '1', '4'], [2.0, 1.0, 1.0])
    """
    search = _search_result(obj)
    if search is not None:
        return _from_search(*search, kind)
    obj = as_array(obj)
    source = source or f"the {kind} {type(obj).__name__}"
    if isinstance(obj, np.ndarray) and obj.ndim != 2 and obj.dtype != object:
        raise InputError(
            f"the array has {obj.ndim} dimensions, not 2",
            where=source,
            remedy="give one row of item ids for each query",
        )
    pairs = ((position, _without_gaps(as_array(answer))) for position, answer in enumerate(obj))
    return replace(from_pairs(pairs, kind, source, integers=True), by_position=True)


def ambiguous_rows(kind: TableKind, where: str | None = None) -> InputError:
    """Return the error for lists of three integers, which are ambiguous."""
    value = VALUE_WORD[kind]
    return InputError(
        f"every list of the {kind} holds three numbers, which may be a (query, item, {value}) row or three items of "
        "one query",
        where=where,
        remedy="write rows as tuples, and the items of each query as a dict: dict(enumerate(lists))"
        if where is None
        else 'write the items of each query as {"0": […], "1": […]}',
    )


def _is_row(entry: object) -> bool:
    """Return True for an entry that can only be a (query, item, value) row, such as a named tuple."""
    if hasattr(entry, "_fields"):
        return True
    if not isinstance(entry, (tuple, list)) or len(entry) != 3:
        return False
    if isinstance(entry, tuple):
        # An (item, score) pair is a tuple of two, so a list of pairs is never mistaken for a row.
        return not any(isinstance(cell, (tuple, list)) for cell in entry)
    texts = sum(isinstance(cell, str) for cell in entry)
    is_float = isinstance(entry[2], (float, np.floating))
    return all(isinstance(cell, (str, int, float, np.number)) for cell in entry) and (0 < texts < 3 or is_float)


def _holds_items(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return not any(normal(key) in _RECORD_NAMES for key in entry)
    if isinstance(entry, np.ndarray):
        return entry.ndim == 1
    return isinstance(entry, (list, tuple, AbstractSet))


def _looks_numeric(cell: object) -> bool:
    return is_number(cell) if isinstance(cell, str) else isinstance(cell, (int, float, np.number))


def _without_gaps(answer: Any) -> Any:
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if not isinstance(answer, (list, tuple)):
        return answer
    return [item for item in answer if not (isinstance(item, (int, np.integer)) and item == NO_ITEM)]


def _search_result(obj: Any) -> tuple[Any, Any] | None:
    """Return the scores and the labels of a pair of matrices; None for anything else."""
    if not isinstance(obj, tuple) or len(obj) != 2:
        return None
    first, second = map(as_array, obj)
    if not all(isinstance(side, np.ndarray) and side.ndim == 2 for side in (first, second)):
        return None
    if first.dtype.kind in "iu" and second.dtype.kind == "f":
        return second, first
    return (first, second) if first.dtype.kind == "f" and second.dtype.kind in "iu" else None


def _from_search(scores: Any, labels: Any, kind: TableKind) -> Columns:
    if kind == "gold":
        raise InputError("scores and labels of a search are a run, not gold", remedy="give the labels alone")
    if scores.shape != labels.shape:
        raise InputError(
            f"the scores have the shape {scores.shape} and the labels {labels.shape}",
            remedy="give both as one search returned them",
        )
    rows, places = np.nonzero(labels != NO_ITEM)

    def place(row: int) -> str:
        return f"the result of the search: query {rows[row]}, place {places[row] + 1}"

    columns = group(
        rows.astype(str).tolist(),
        labels[rows, places].astype(str).tolist(),
        scores[rows, places].astype(np.float64),
        "run",
        source="the result of the search",
        place=place,
        listed=map(str, range(len(labels))),
        # A search returns the best item first, which distinguishes distances from similarities.
        ranks=(places + 1).astype(np.float64),
    )
    return replace(columns, by_position=True)
