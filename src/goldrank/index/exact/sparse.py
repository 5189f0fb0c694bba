"""Exact ranks and top k over sparse vectors (scipy CSR): the same counts, from sparse products in float64.

Scores come from float64 products whose error is bounded beforehand, as for dense vectors. Pairs within the bound are
tied if their vectors are equal, or if neither shares a term with the query; the few others are decided exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats, Ints
from goldrank.index.exact.counting import JudgedRows, RivalCounts
from goldrank.index.exact.index import ExactIndex
from goldrank.index.exact.signs import difference_signs
from goldrank.index.exact.vectors import VectorTable, refuse_other_dimension
from goldrank.native.fallback.score_counting import count_columns
from goldrank.progress import Progress
from goldrank.vectors.similarity import as_matrix, normalised

_BLOCK_ELEMENTS = 2**21
_QUERIES = 512
# The queries that a thread searches at a time, and the number of such blocks before their results are collected.
_QUERIES_AT_ONCE, _BLOCKS_AT_ONCE = 8, 16
# The share of the items (one in this many) that gives the first threshold for the best items.
_SAMPLED = 8


class SparseVectors(VectorTable):
    """A CSR matrix with ids, in float64, with normalised rows if requested."""

    def __init__(self, data: Any, what: str, ids: Sequence[object] | None = None, *, normalise: bool) -> None:
        matrix = as_matrix(data, what)
        if isinstance(matrix, np.ndarray):
            raise InputError(
                "one side is dense and the other sparse", where=what, remedy="give both dense or both as CSR matrices"
            )
        self._data = matrix = matrix.astype(np.float64).copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if normalise:
            self._data = normalised(matrix)
        self.what, self.dtype = what, np.dtype(np.float64)
        self._name(ids, matrix.shape[0])

    def __len__(self) -> int:
        return int(self._data.shape[0])

    @cached_property
    def no_negatives(self) -> bool:
        """Whether no number is negative: then a product of two rows is 0 only if they share no term."""
        return bool((self.matrix.data >= 0).all())

    @property
    def matrix(self) -> Any:
        """The vectors, as a CSR matrix."""
        return self._data

    @cached_property
    def lists(self) -> Any:
        """The rows that have each term, with their values: the transposed matrix."""
        return self.matrix.T.tocsr()

    @cached_property
    def lengths(self) -> Floats:
        """The length of each row."""
        return np.sqrt(np.asarray(self.matrix.multiply(self.matrix).sum(axis=1), np.float64).reshape(-1))

    @cached_property
    def groups(self) -> Ints:
        """A number for each row, the same for equal rows only."""
        numbers: dict[bytes, int] = {}
        data, groups = self.matrix, np.empty(len(self), np.int64)
        for row in range(len(self)):
            part = slice(data.indptr[row], data.indptr[row + 1])
            key = data.indices[part].tobytes() + b"|" + data.data[part].tobytes()
            groups[row] = numbers.setdefault(key, len(numbers))
        return groups


class SparseExactIndex(ExactIndex):
    """Sparse item vectors, searched for exact hits and the top k.

    >>> from scipy.sparse import csr_matrix
    >>> index = SparseExactIndex(csr_matrix([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), similarity="dot")
    >>> index.exact_hits(csr_matrix([[2.0, 1.0]]), {"0": ["0"]}).above.tolist()
    [1]
    """

    _items: SparseVectors

    def _as_table(self, data: Any, what: str, ids: Sequence[object] | None) -> SparseVectors:
        return SparseVectors(data, what, ids, normalise=self.similarity == "cosine")

    def _query_vectors(self, queries: Any, ids: Sequence[object] | None) -> SparseVectors:
        query_table = self._as_table(queries, "the queries", ids)
        refuse_other_dimension(query_table, self._items)
        return query_table

    def _count(
        self, query_table: VectorTable, query: Ints, rows: JudgedRows, certify: bool, block: int | None
    ) -> RivalCounts:
        assert isinstance(query_table, SparseVectors)
        counts = RivalCounts(*(np.zeros(len(rows.gold), np.int64) for _ in range(4)))
        columns, own = query[rows.column], rows.own[rows.column]
        scores = self._pair_scores(query_table, columns, rows.gold)
        margins = 2 * self._margin(query_table)[columns]
        order = np.argsort(columns, kind="stable")
        with Progress("exact ranks", total=len(order)) as progress:
            for start in range(0, len(order), _QUERIES):
                places = order[start : start + _QUERIES]
                part = JudgedRows(columns[places], rows.gold[places], own[places])
                self._count_rows(query_table, part, scores[places], margins[places], places, counts, block)
                progress.advance(len(places))
        return counts

    def _count_rows(
        self,
        query_table: SparseVectors,
        part: JudgedRows,
        gold_scores: Floats,
        margins: Floats,
        rows: Ints,
        counts: RivalCounts,
        block: int | None,
    ) -> None:
        used, within = np.unique(part.column, return_inverse=True)
        size = block or max(1, _BLOCK_ELEMENTS // len(rows))
        zeros_are_exact = self._items.no_negatives and query_table.no_negatives and not self._squared
        for start in range(0, len(self), size):
            items = np.arange(start, min(start + size, len(self)))
            differences = self._scores(items, query_table, used)[:, within.reshape(-1)]
            zero = differences == 0 if zeros_are_exact else None
            differences -= gold_scores
            rivals = (items[:, None] != part.gold) & (items[:, None] != part.own)
            above = (differences > margins) & rivals
            near = (np.abs(differences) <= margins) & rivals
            tied = near & (self._items.groups[items][:, None] == self._items.groups[part.gold])
            if zero is not None:
                tied |= near & zero & (gold_scores == 0)
            for item, row in zip(*np.nonzero(near & ~tied), strict=True):
                sign = self._exact_sign(query_table, int(part.column[row]), int(items[item]), int(part.gold[row]))
                above[item, row], tied[item, row] = sign > 0, sign == 0
            ranks = self._items.id_ranks
            counts.above[rows] += count_columns(above)
            counts.tied[rows] += count_columns(tied)
            counts.tied_docid[rows] += count_columns(tied & (ranks[items][:, None] > ranks[part.gold]))
            counts.tied_input[rows] += count_columns(tied & (items[:, None] < part.gold))

    def _search(self, query_table: VectorTable, k: int) -> Iterator[tuple[Ints, Floats]]:
        assert isinstance(query_table, SparseVectors)
        # Computed once, before the threads need them.
        self._items.lists, self._items.id_ranks  # noqa: B018
        starts = range(0, len(query_table), _QUERIES_AT_ONCE)
        # Only some blocks at a time, because results that wait to be used take memory.
        step = _BLOCKS_AT_ONCE * self._threads
        with ThreadPoolExecutor(self._threads) as pool:
            for first in range(0, len(starts), step):
                for results in pool.map(partial(self._search_block, query_table, k), starts[first : first + step]):
                    yield from results

    def _search_block(self, query_table: SparseVectors, k: int, start: int) -> list[tuple[Ints, Floats]]:
        return [
            self._best(query_table, column, k)
            for column in range(start, min(start + _QUERIES_AT_ONCE, len(query_table)))
        ]

    def _best(self, query_table: SparseVectors, column: int, k: int) -> tuple[Ints, Floats]:
        """Return the best *k* items of a query; only the lists of its terms are read."""
        query = query_table.matrix
        part = slice(query.indptr[column], query.indptr[column + 1])
        # Terms are added in ascending order, as by the product of a row of items and a column of queries.
        values: Floats = self._items.lists[query.indices[part]].T @ query.data[part]
        if self._squared:
            values -= self._half_squares
        best = _highest(values, self._items.id_ranks, k)
        if self._squared:
            # The ranking score is q·x - ‖x‖²/2; the reported one is minus the distance.
            return best, -np.sqrt(np.maximum(query_table.lengths[column] ** 2 - 2 * values[best], 0.0))
        return best, values[best]

    @cached_property
    def _half_squares(self) -> Floats:
        return 0.5 * np.square(self._items.lengths)

    def _scores(self, items: Ints, query_table: SparseVectors, columns: Ints) -> Floats:
        rows = self._items.matrix[items[0] : items[-1] + 1]
        scores: Floats = np.asarray((rows @ query_table.matrix[columns].T).toarray())
        if self._squared:
            scores -= self._half_squares[items][:, None]
        return scores

    def _pair_scores(self, query_table: SparseVectors, columns: Ints, gold: Ints) -> Floats:
        products = query_table.matrix[columns].multiply(self._items.matrix[gold]).sum(axis=1)
        scores = np.asarray(products, np.float64).reshape(-1)
        return scores - self._half_squares[gold] if self._squared else scores

    def _margin(self, query_table: SparseVectors) -> Floats:
        """Return an upper bound of the error of a float64 score, per query (see `Counter._bound`)."""
        terms = int(np.diff(self._items.matrix.indptr).max(initial=0)) + 8
        unit = terms * float(np.finfo(np.float64).eps) / 2
        longest = float(self._items.lengths.max(initial=0))
        size = query_table.lengths * longest + (0.5 * longest**2 if self._squared else 0.0)
        return 2 * unit / (1 - unit) * size + terms * 4 * float(np.finfo(np.float64).tiny)

    def _exact_sign(self, query_table: SparseVectors, column: int, item: int, gold: int) -> int:
        """Return whether the item beats (1), ties (0) or trails (-1) the gold, over the terms of any of the three."""
        rows = [query_table.matrix[column], self._items.matrix[item], self._items.matrix[gold]]
        terms = np.unique(np.concatenate([row.indices for row in rows]))
        query, left, right = (np.asarray(row[:, terms].toarray()) for row in rows)
        return int(difference_signs(query, left, right, squared=self._squared)[0])


def _highest(values: Floats, id_ranks: Ints, k: int) -> Ints:
    """Return the places of the *k* highest values in descending order; of equal values, those with the highest ids."""
    # The k-th value of a sample is at most that of all, so that nothing below it has to be looked at.
    sample = values[::_SAMPLED]
    rows = np.flatnonzero(values >= np.partition(sample, -k)[-k]) if len(sample) > k else np.arange(len(values))
    candidates = values[rows]
    floor = np.partition(candidates, -k)[-k]
    above, tied = rows[candidates > floor], rows[candidates == floor]
    wanted = k - len(above)
    if len(tied) > wanted:
        tied = tied[np.argpartition(id_ranks[tied], -wanted)[-wanted:]]
    best = np.concatenate([above, tied])
    return best[np.lexsort((-id_ranks[best], -values[best]))]
