"""Exact hits when the queries are items: exclude the query itself and record its order relative to the gold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from goldrank.hits import OWN, Gold, Hits
from goldrank.index.exact.index import ExactIndex
from goldrank.index.exact.signs import difference_signs
from goldrank.vectors.similarity import normalised

_AT_ONCE = 1 << 11


def hits_beside_own(index: ExactIndex, items: Any, queries: Any, query_ids: Sequence[str], gold: Gold) -> Hits:
    """Count exact hits with self-matches set aside: each row records the order of the query's own item and the gold.

    A query's own item is not counted as a rival; if it is gold itself, it is ranked among all items.

    Args:
        index: an exact index.
        items: the vectors of the index; comparing the own item with each gold item avoids counting twice.
        queries: the vectors of the queries.
        query_ids: their ids.
        gold: the relevant items.
    """
    without = index.exact_hits(queries, gold, query_ids, exclude_self=True)
    if hasattr(items, "tocsr"):
        return index.exact_hits(queries, gold, query_ids).set_aside(without)
    is_own = without.is_own
    if is_own.any():
        without = _with_own_ranked(without, index.exact_hits(queries, _gold_of(without, is_own), query_ids))
    row = rows_by_name([*without.queries, *without.items], index.ids)
    query_numbers = {name: number for number, name in enumerate(query_ids)}
    query_row = np.array([query_numbers.get(name, -1) for name in without.queries], np.int64)[without.query_index]
    own_row = np.array([row.get(name, -1) for name in without.queries], np.int64)[without.query_index]
    item_row = np.array([row.get(name, -1) for name in without.items], np.int64)
    own = np.where((own_row < 0) | (query_row < 0), OWN["no item"], OWN["below"]).astype(np.int8)
    compared = np.flatnonzero(without.found & ~is_own & (own_row >= 0))
    if hasattr(items, "gather"):
        # Fetching rows from shards all at once is faster than a few at a time.
        items.gather(np.concatenate((own_row[compared], item_row[compared])))
    dtype = np.result_type(np.float32, items.dtype, queries.dtype)
    for start in range(0, len(compared), _AT_ONCE):
        at = compared[start : start + _AT_ONCE]
        asking, own_items, gold_items = (
            np.asarray(vectors[rows[at]], dtype)
            for vectors, rows in ((queries, query_row), (items, own_row), (items, item_row))
        )
        if index.similarity == "cosine":
            asking, own_items, gold_items = normalised(asking), normalised(own_items), normalised(gold_items)
        signs = _signs(asking, own_items, gold_items, squared=index.similarity == "l2")
        tied = np.where(own_row[at] < item_row[at], OWN["tied before"], OWN["tied after"])
        own[at] = np.where(signs > 0, OWN["above"], np.where(signs == 0, tied, OWN["below"]))
    return replace(without, own=own)


def rows_by_name(names: Iterable[str], ids: Sequence[str]) -> dict[str, int]:
    """Return the row of each name among the ids; the names may be few among millions of ids."""
    wanted = set(names)
    return {name: row for row, name in enumerate(ids) if name in wanted}


def _signs(queries: Any, first: Any, second: Any, *, squared: bool) -> Any:
    """Compare two items per query: the first scores above (1), like (0) or below (-1) the second, exactly if close."""
    wide, wide_first, wide_second = (np.asarray(vectors, np.float64) for vectors in (queries, first, second))
    if squared:
        left, right = (np.square(wide - vectors).sum(axis=1) for vectors in (wide_second, wide_first))
    else:
        left, right = ((wide * vectors).sum(axis=1) for vectors in (wide_first, wide_second))
    reach = np.abs(wide).max(axis=1, initial=0) + np.maximum(
        np.abs(wide_first).max(axis=1, initial=0), np.abs(wide_second).max(axis=1, initial=0)
    )
    # Far more than the rounding error of such a sum of products.
    margin = 16 * (wide.shape[1] + 8) ** 2 * float(np.finfo(np.float64).eps) * np.square(reach)
    signs = np.sign(left - right).astype(np.int8)
    close = np.flatnonzero(~(np.abs(left - right) > margin))
    signs[close] = difference_signs(queries[close], first[close], second[close], squared=squared)
    return signs


def _gold_of(hits: Hits, chosen: Any) -> Gold:
    rows = zip(hits.query[chosen], hits.item[chosen], strict=True)
    return Gold({query: {item: 1} for query, item in rows})


def _with_own_ranked(hits: Hits, counted: Hits) -> Hits:
    """Return the hits, with the rows of the queries themselves replaced by those in *counted*."""
    rows = np.flatnonzero(hits.is_own)
    columns = {name: getattr(hits, name).copy() for name in ("above", "tied", "tied_docid", "tied_input")}
    for name, column in columns.items():
        column[rows] = getattr(counted, name)
    return replace(hits, **columns)
