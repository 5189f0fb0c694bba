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
    """Hits without the query's own entry among the rivals, knowing where it stands; ranked itself where it is gold.

    *items* are the vectors that the index was given: comparing the entry with each gold item spares counting twice.
    """
    without = index.exact_hits(queries, gold, query_ids, exclude_self=True)
    if hasattr(items, "tocsr"):
        return index.exact_hits(queries, gold, query_ids).set_aside(without)
    is_own = without.is_own
    if is_own.any():
        without = _with_own_ranked(without, index.exact_hits(queries, _gold_of(without, is_own), query_ids))
    row = rows_by_name([*without.queries, *without.items], index.ids)
    asked = {name: number for number, name in enumerate(query_ids)}
    query_row = np.array([asked.get(name, -1) for name in without.queries], np.int64)[without.query_index]
    own_row = np.array([row.get(name, -1) for name in without.queries], np.int64)[without.query_index]
    item_row = np.array([row.get(name, -1) for name in without.items], np.int64)
    own = np.where((own_row < 0) | (query_row < 0), OWN["no item"], OWN["below"]).astype(np.int8)
    told = np.flatnonzero(without.found & ~is_own & (own_row >= 0))
    if hasattr(items, "gather"):
        # Rows that lie in shards are better fetched all at once than a few at a time.
        items.gather(np.concatenate((own_row[told], item_row[told])))
    dtype = np.result_type(np.float32, items.dtype, queries.dtype)
    for start in range(0, len(told), _AT_ONCE):
        at = told[start : start + _AT_ONCE]
        asking, entries, right = (
            np.asarray(vectors[rows[at]], dtype)
            for vectors, rows in ((queries, query_row), (items, own_row), (items, item_row))
        )
        if index.similarity == "cosine":
            asking, entries, right = normalised(asking), normalised(entries), normalised(right)
        signs = _signs(asking, entries, right, squared=index.similarity == "l2")
        tied = np.where(own_row[at] < item_row[at], OWN["tied before"], OWN["tied after"])
        own[at] = np.where(signs > 0, OWN["above"], np.where(signs == 0, tied, OWN["below"]))
    return replace(without, own=own)


def rows_by_name(names: Iterable[str], ids: Sequence[str]) -> dict[str, int]:
    """The row of each name that is one of the ids; a table of the names alone, which may be few among millions."""
    wanted = set(names)
    return {name: row for row, name in enumerate(ids) if name in wanted}


def _signs(asking: Any, entries: Any, right: Any, *, squared: bool) -> Any:
    """Whether each entry scores above (1), like (0) or below (-1) the item beside it; exactly where it is close."""
    queries, entries_wide, right_wide = (np.asarray(vectors, np.float64) for vectors in (asking, entries, right))
    if squared:
        left, other = (np.square(queries - vectors).sum(axis=1) for vectors in (right_wide, entries_wide))
    else:
        left, other = ((queries * vectors).sum(axis=1) for vectors in (entries_wide, right_wide))
    reach = np.abs(queries).max(axis=1, initial=0) + np.maximum(
        np.abs(entries_wide).max(axis=1, initial=0), np.abs(right_wide).max(axis=1, initial=0)
    )
    # Far more than sums of so many products of numbers of that size can be off by.
    margin = 16 * (queries.shape[1] + 8) ** 2 * float(np.finfo(np.float64).eps) * np.square(reach)
    signs = np.sign(left - other).astype(np.int8)
    close = np.flatnonzero(~(np.abs(left - other) > margin))
    signs[close] = difference_signs(asking[close], entries[close], right[close], squared=squared)
    return signs


def _gold_of(hits: Hits, chosen: Any) -> Gold:
    rows = zip(hits.query[chosen], hits.item[chosen], strict=True)
    return Gold({query: {item: 1} for query, item in rows})


def _with_own_ranked(hits: Hits, counted: Hits) -> Hits:
    """The hits, with the rows that are the query itself as they were counted."""
    rows = np.flatnonzero(hits.is_own)
    columns = {name: getattr(hits, name).copy() for name in ("above", "tied", "tied_docid", "tied_input")}
    for name, column in columns.items():
        column[rows] = getattr(counted, name)
    return replace(hits, **columns)
