"""The exact index: ranks of the gold by counting over all items, without sorting, and exact top k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from goldrank.engines.base import usable_cores
from goldrank.errors import InputError, unknown_name
from goldrank.hits import Floats, Gold, Hits, Ints, Run
from goldrank.index.exact.counting import Counter, JudgedRows, RivalCounts
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
        gold: the right items of each query, as a Gold or anything Gold() takes.
        similarity: ``cosine`` (rows brought to length 1 in their precision, zero rows stay zero), ``dot``, or
            ``l2`` (nearest first, which is also the order of 1/(1 + distance)).
        query_ids: ids of the queries; "0", "1", … by default.
        item_ids: ids of the items; "0", "1", … by default.
        exclude_self: leave the item that has the query's id out of the ranking.
        certify: make every count that of exact arithmetic on the stored numbers; without it, scores are
            compared as the product in their precision gives them, which misplaces some items by one or two.
        block: items per block; never changes a certified result.
        threads: never changes a certified result; as many as there are cores by default.

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
    """Item vectors, checked once, to ask for exact hits or the top k as often as one likes.

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
        self.similarity = similarity
        self._threads = _positive("threads", threads) or usable_cores()
        self._items = self._as_table(items, "the items", ids)
        self._lengths: Floats | None = None

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
        block = _positive("block", block)
        query, item = query_table.find(judged.queries), self._items.find(judged.items)
        own = np.where((query >= 0) & exclude_self, self._items.find(judged.queries), -1)
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
        counts = self._count(query_table, query, own, query_of_row[counted], item[counted], certify, block)
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
        self,
        query_table: VectorTable,
        query: Ints,
        own: Ints,
        query_of_row: Ints,
        gold: Ints,
        certify: bool,
        block: int | None,
    ) -> RivalCounts:
        """Count for the queries that have gold to look for, each of them one column of the products."""
        used, column = np.unique(query_of_row, return_inverse=True)
        rows = JudgedRows(column.reshape(-1), gold, own[used])
        squared = self.similarity == "l2"
        items = self._items.at(query_table.dtype)
        counter = Counter(query_table.take(query[used]), items, self._checked(), rows, squared=squared, certify=certify)
        return counter.run(block=block, threads=self._threads)

    def top_k(
        self, queries: object, k: int, query_ids: Sequence[object] | None = None, exclude_self: bool = False
    ) -> Run:
        """Return the best *k* items of each query; equal scores are ordered by descending id, byte by byte.

        Scores are float64: the cosine, the dot product, or minus the distance.
        """
        query_table = self._query_vectors(queries, query_ids)
        wanted = min(_positive("k", k) or 0, len(self))
        items, depth = self._items.at(query_table.dtype), min(wanted + exclude_self, len(self))
        squared = self.similarity == "l2"
        results = search(query_table, items, self._checked(), depth, squared=squared, threads=self._threads)
        return self._as_run(query_table, results, wanted, exclude_self)

    def _as_run(
        self, query_table: VectorTable, results: Iterable[tuple[Ints, Floats]], wanted: int, exclude_self: bool
    ) -> Run:
        """Return the results of each query as rankings of at most *wanted* items."""
        if exclude_self:
            number_of = {name: number for number, name in enumerate(self.ids)}
            results = (
                _without(*result, number_of.get(name), wanted)
                for name, result in zip(query_table.ids, results, strict=True)
            )
        return Run.from_positions(query_table.ids, self.ids, results, "the index")

    def _query_vectors(self, queries: object, ids: Sequence[object] | None) -> VectorTable:
        query_table = self._as_table(queries, "the queries", ids)
        refuse_other_dimension(query_table, self._items)
        query_table.check(self._threads)
        return query_table.at(np.result_type(query_table.dtype, self._items.dtype))

    def _checked(self) -> Floats:
        """The lengths of the items, from the one pass that also refuses NaN and infinities."""
        if self._lengths is None:
            self._lengths = self._items.check(self._threads)
        return self._lengths


def _positive(name: str, value: int | None) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
        raise InputError(f"{name} is {value!r}", remedy=f"give a whole number of at least 1 as {name}")
    return value


def _without(numbers: Ints, scores: Floats, own: int | None, wanted: int) -> tuple[Ints, Floats]:
    """The results of a query without its own entry, and at most as many as are wanted."""
    kept = np.ones(len(numbers), bool) if own is None else numbers != own
    return numbers[kept][:wanted], scores[kept][:wanted]
