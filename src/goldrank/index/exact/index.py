"""The exact index: ranks of the gold by counting over all items, without sorting, and exact top k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from goldrank.engines.base import usable_cores
from goldrank.errors import InputError, unknown_name
from goldrank.hits import Floats, Gold, Hits, Ints, Run
from goldrank.index.exact.counting import Counter, JudgedRows, RivalCounts
from goldrank.index.exact.integer_selection import IntegerTable
from goldrank.index.exact.products import integers_usable
from goldrank.index.exact.search import search
from goldrank.index.exact.vectors import VectorTable, refuse_other_dimension

RANKABLE = ("cosine", "dot", "l2")


def exact_hits(
    queries: object,
    items: object,
    gold: Any,
    *,
    similarity: str = "cosine",
    query_ids: Sequence[object] | None = None,
    item_ids: Sequence[object] | None = None,
    exclude_self: bool = False,
    certify: bool = True,
    block: int | None = None,
    threads: int | None = None,
) -> Hits:
    """Return the exact rank of each gold item among all items, by similarity to its query.

    Args:
        queries: one row per query: a float16, float32 or float64 matrix, or a scipy sparse one.
        items: one row per item, of the same dimension and kind; a dense one may be memory-mapped and larger than
            memory.
        gold: the relevant items of each query, as a Gold or anything Gold() accepts.
        similarity: ``cosine`` (rows are normalised in their precision, zero rows stay zero), ``dot``, or
            ``l2`` (nearest first, which is also the order of 1/(1 + distance)).
        query_ids: ids of the queries; "0", "1", … by default.
        item_ids: ids of the items; "0", "1", … by default.
        exclude_self: leave the item that has the query's id out of the ranking.
        certify: count as with exact arithmetic on the stored numbers; without it, scores are compared as computed
            in their precision, which misplaces some items by one or two ranks.
        block: items per block; does not change a certified result.
        threads: the number of threads, by default one per core; does not change a certified result.

    >>> hits = exact_hits([[1.0, 0.0]], [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]], {"0": ["1"]})
    >>> hits.above.tolist(), hits.tied.tolist(), hits.depth.tolist()
    ([1], [0], [3])
    """
    index = exact_index(items, item_ids, similarity, threads=threads)
    return index.exact_hits(queries, gold, query_ids, exclude_self, certify=certify, block=block)


def exact_index(
    items: object, ids: Sequence[object] | None = None, similarity: str = "cosine", *, threads: int | None = None
) -> ExactIndex:
    """Return the exact index over dense vectors or a scipy sparse matrix."""
    if hasattr(items, "tocsr"):
        from goldrank.index.exact.sparse import SparseExactIndex

        return SparseExactIndex(items, ids, similarity, threads=threads)
    return ExactIndex(items, ids, similarity, threads=threads)


class ExactIndex:
    """Item vectors that are checked once, and searched for exact hits and the top k.

    >>> index = ExactIndex(np.eye(3), ids=["a", "b", "c"], similarity="dot")
    >>> index.top_k([[0.0, 2.0, 1.0]], 2, query_ids=["q"]).to_dict()
    {'q': {'b': 2.0, 'c': 1.0}}
    """

    def __init__(
        self,
        items: object,
        ids: Sequence[object] | None = None,
        similarity: str = "cosine",
        *,
        threads: int | None = None,
    ) -> None:
        if similarity not in RANKABLE:
            raise unknown_name("similarity to rank by", similarity, RANKABLE, f"one of {', '.join(RANKABLE)}")
        _refuse_below_one("threads", threads)
        self.similarity, self._squared = similarity, similarity == "l2"
        self._threads = threads or usable_cores()
        self._items = self._as_table(items, "the items", ids)
        self._lengths: Floats | None = None
        self._integers: IntegerTable | None = None

    def _as_table(self, data: object, what: str, ids: Sequence[object] | None) -> VectorTable:
        return VectorTable(data, what, ids, normalise=self.similarity == "cosine")

    spec = "exact"

    def __len__(self) -> int:
        return len(self._items)

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self)

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return self._items.dimension

    @property
    def ids(self) -> list[str]:
        """The ids of the items."""
        return self._items.ids

    def exact_hits(
        self,
        queries: object,
        gold: Any,
        query_ids: Sequence[object] | None = None,
        exclude_self: bool = False,
        *,
        certify: bool = True,
        block: int | None = None,
    ) -> Hits:
        """Return the exact rank of each gold item; see the function of the same name."""
        judged = (gold if isinstance(gold, Gold) else Gold(gold)).columns
        query_table = self._query_vectors(queries, query_ids)
        _refuse_below_one("block", block)
        query, item = query_table.find(judged.queries), self._items.find(judged.items)
        own = np.full(len(query), -1)
        if exclude_self:
            own = np.where(query >= 0, self._items.find(judged.queries), -1)
        query_of_row = np.repeat(np.arange(len(query)), np.diff(judged.starts))
        if len(query) and (query < 0).all():
            raise InputError(
                f"no query of the gold has a vector (the gold has {judged.queries[0]!r}, "
                f"the vectors {query_table.ids[0] if query_table.ids else 'none'!r})",
                where=query_table.what,
                remedy="give the ids of the query vectors as query_ids",
            )
        counted = (item >= 0) & (query >= 0)[query_of_row] & (item != own[query_of_row])
        above, tied, tied_docid, tied_input = (np.zeros(len(item), np.int64) for _ in range(4))
        above[~counted] = -1
        # Each query that has gold to look for is one column of the products.
        used, column = np.unique(query_of_row[counted], return_inverse=True)
        rows = JudgedRows(column.reshape(-1), item[counted], own[used])
        counts = self._count(query_table, query[used], rows, certify, block)
        above[counted], tied[counted] = counts.above, counts.tied
        tied_docid[counted], tied_input[counted] = counts.tied_docid, counts.tied_input
        return Hits(
            queries=judged.queries,
            starts=judged.starts,
            items=judged.items,
            grade=judged.values,
            above=above,
            tied=tied,
            tied_docid=tied_docid,
            tied_input=tied_input,
            depth=np.where(query >= 0, len(self) - (own >= 0), 0),
            precision="float64" if certify or query_table.dtype == np.float64 else "float32",
            corpus=len(self),
            outside=item < 0,
            ignored_queries=len(query_table) - int(np.count_nonzero(query >= 0)),
            dropped_self=int(np.count_nonzero(own >= 0)),
            subtopics=judged.subtopics,
        )

    def _count(
        self, query_table: VectorTable, query: Ints, rows: JudgedRows, certify: bool, block: int | None
    ) -> RivalCounts:
        """Count the rivals of judged items; *query* has the number of the query vector of each column."""
        items = self._items.at(query_table.dtype)
        counter = Counter(query_table.take(query), items, self._checked(), rows, squared=self._squared, certify=certify)
        return counter.run(block=block, threads=self._threads)

    def top_k(
        self, queries: object, k: int, query_ids: Sequence[object] | None = None, exclude_self: bool = False
    ) -> Run:
        """Return the best *k* items of each query; equal scores are ordered by descending id, byte by byte.

        Scores are float64: the cosine, the dot product, or minus the distance.
        """
        query_table = self._query_vectors(queries, query_ids)
        _refuse_below_one("k", k)
        wanted = min(int(k), len(self))
        results = self._search(query_table, min(wanted + exclude_self, len(self)))
        if exclude_self:
            number_of = {name: number for number, name in enumerate(self.ids)}
            results = (
                _without(*result, number_of.get(name), wanted)
                for name, result in zip(query_table.ids, results, strict=True)
            )
        return Run.from_positions(query_table.ids, self.ids, results, "the index")

    def _search(self, query_table: VectorTable, k: int) -> Iterable[tuple[Ints, Floats]]:
        """Return the numbers and scores of the best *k* items of each query."""
        items, lengths = self._items.at(query_table.dtype), self._checked()
        if self._integers is None and integers_usable(items.dtype):
            self._integers = IntegerTable(items, lengths, squared=self._squared, keep=not items.is_mapped)
        table = self._integers if items.dtype == np.float32 else None
        return search(query_table, items, lengths, k, squared=self._squared, threads=self._threads, table=table)

    def _query_vectors(self, queries: object, ids: Sequence[object] | None) -> VectorTable:
        query_table = self._as_table(queries, "the queries", ids)
        refuse_other_dimension(query_table, self._items)
        query_table.check(self._threads)
        return query_table.at(np.result_type(query_table.dtype, self._items.dtype))

    def _checked(self) -> Floats:
        """Return the lengths of the items, from the one pass that also refuses NaN and infinities."""
        if self._lengths is None:
            self._lengths = self._items.check(self._threads)
        return self._lengths


def _refuse_below_one(name: str, value: int | None) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
        raise InputError(f"{name} is {value!r}", remedy=f"give a whole number of at least 1 as {name}")


def _without(numbers: Ints, scores: Floats, own: int | None, wanted: int) -> tuple[Ints, Floats]:
    """Return the results of a query without its own entry, and at most *wanted* of them."""
    others = np.ones(len(numbers), bool) if own is None else numbers != own
    return numbers[others][:wanted], scores[others][:wanted]
