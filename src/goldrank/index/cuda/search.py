"""Exact top k on the GPU: candidates are selected there and ordered by the float64 scores of the CPU."""

from __future__ import annotations

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.index.cuda.comparison import PAIRS, PLAIN_SCORES, OpenPairs, QueryOperand
from goldrank.index.cuda.item_store import ROUNDED, ItemChunk, ItemStore, Tensor, times_power
from goldrank.index.exact.signs import Matrix

try:
    import torch
except ImportError:
    torch = None

# The items of the first range, which is searched densely, and the growth factor of each further range.
_FIRST_ITEMS = 2**14
_GROWTH = 3
_MOST_CANDIDATES = 2**12


class CudaSearch:
    """Finds the best items of some queries: range by range, with the score floors that earlier ranges set."""

    def __init__(self, queries: Matrix, store: ItemStore, k: int, *, capacity: int = PAIRS) -> None:
        self._store, self._k = store, k
        self._operand = operand = QueryOperand(queries, np.arange(len(queries)), store)
        self._count, self._marks = len(queries), OpenPairs(store, capacity)
        device = store.device
        # The score that a product has to reach; the second row has no width around it.
        self._floors = torch.full((2, operand.places), -torch.inf, dtype=torch.float32, device=device)
        self._floors[0, self._count :], self._floors[1] = torch.inf, 0
        self._slots = torch.ones(operand.places, dtype=torch.int32, device=device)
        self._query, self._item = (torch.zeros(0, dtype=torch.int64, device=device) for _ in range(2))
        self._score = torch.zeros(0, dtype=torch.float64, device=device)
        spans = store.greatest_spans()
        self._margins = torch.maximum(
            operand.margins(spans, plain=True), operand.margins(spans, plain=store.tile is None)
        )
        self._squares = operand.raw.double().square().sum(dim=1)
        self._seen = 0

    def run(self) -> dict[int, tuple[Ints, Floats]]:
        """Return the numbers and scores of the best items of each query, except queries with too many candidates."""
        for chunk in self._store.chunks():
            here = 0
            while here < len(chunk):
                stop = self._stretch(chunk, here)
                self._seen += stop - here
                here = stop
        return self._best()

    def _stretch(self, chunk: ItemChunk, here: int) -> int:
        """Search further items of the chunk, and return where to continue."""
        tile, first = self._store.tile, max(_FIRST_ITEMS, self._k)
        stop = min(here + (_GROWTH * self._seen if self._seen >= first else first), len(chunk))
        if tile and self._seen >= first and here % tile.items == 0 and stop - here >= tile.items:
            above = torch.empty((1, self._operand.places), dtype=torch.int32, device=self._store.device)
            for start, last in self._marks.stretches(self._operand.places, here // tile.items, stop // tile.items):
                bits = self._marks.compare(
                    chunk, self._operand, self._floors, self._slots, above, start, last, collect=True
                )
                for item, place in self._marks.pairs_of(bits):
                    self._keep(chunk, place.long(), item.long() + start * tile.items)
            return stop // tile.items * tile.items
        stop = min(stop, here + max(1, PLAIN_SCORES // self._operand.places))
        if tile and stop < len(chunk):
            # The kernels continue at the start of a tile.
            stop = -(-stop // tile.items) * tile.items
        self._search_plain(chunk, here, min(stop, len(chunk)))
        return min(stop, len(chunk))

    def _search_plain(self, chunk: ItemChunk, first: int, last: int) -> None:
        scores = self._operand.plain_scores(chunk, first, last)[: self._count].float()
        floors = self._floors[0, : self._count]
        if self._k <= last - first and not self._seen:
            best = torch.topk(scores, self._k, dim=1).values.amin(dim=1).double()
            floors = (best - 2 * self._margins[: self._count] - best.abs() * 2.0**-21).float()
        query, item = torch.nonzero(scores >= floors[:, None], as_tuple=True)
        self._keep(chunk, query, item + first)

    def _keep(self, chunk: ItemChunk, query: Tensor, item: Tensor) -> None:
        """Score candidates in float64, keep the best k, and raise the floors; queries with too many are given up."""
        scores = self._store.pair_scores(chunk.rows, item, self._operand.raw, query, squared=self._store.squared)
        query, score = torch.cat((self._query, query)), torch.cat((self._score, scores))
        item = torch.cat((self._item, item + chunk.start))
        order = _by_query(query, score)
        query, item, score = query[order], item[order], score[order]
        counts = torch.bincount(query, minlength=self._count)
        full = torch.nonzero(counts >= self._k)[:, 0]
        kth = torch.full((self._count,), -torch.inf, dtype=torch.float64, device=score.device)
        kth[full] = score[(torch.cumsum(counts, 0) - counts)[full] + self._k - 1]
        # Scores that differ by so little may have the same square root.
        is_candidate = score >= (kth - kth.abs() * 2.0**-50).nan_to_num(nan=-torch.inf)[query]
        crowded = torch.bincount(query[is_candidate], minlength=self._count) > max(_MOST_CANDIDATES, 4 * self._k)
        given_up = self._floors[0, : self._count] == torch.inf
        floors = torch.where(crowded | given_up, torch.inf, self._floor(kth))
        self._floors[0, : self._count] = floors
        is_candidate &= ~crowded[query]
        self._query, self._item, self._score = query[is_candidate], item[is_candidate], score[is_candidate]

    def _floor(self, kth: Tensor) -> Tensor:
        """Return the product that an item needs to score like the k-th best so far, within the error."""
        known = torch.isfinite(kth)
        products = torch.where(known, kth, 0.0)
        if self._store.squared:
            products = 0.5 * (products + self._squares)
        products = times_power(products, -self._operand.exponents[: self._count] - self._store.exponent)
        size = products.abs() + self._operand.terms[1, : self._count].double().square()
        floors = products - ROUNDED * self._margins[: self._count] - size * 2.0**-21
        return torch.where(known, floors, -torch.inf).float()

    def _best(self) -> dict[int, tuple[Ints, Floats]]:
        query, item, score = (values.cpu().numpy() for values in (self._query, self._item, self._score))
        if self._store.squared:
            # On the CPU, because torch does not guarantee a correctly rounded square root.
            score = -np.sqrt(-score)
        starts = np.searchsorted(query, np.arange(self._count + 1))
        tied = np.zeros(self._count, bool)
        tied[query[1:][(score[1:] == score[:-1]) & (query[1:] == query[:-1])]] = True
        results = {}
        for place in np.flatnonzero(np.diff(starts)).tolist():
            part = slice(starts[place], starts[place + 1])
            numbers, scored = item[part], score[part]
            if tied[place]:
                numbers, scored = self._ordered_by_id(numbers, scored)
            results[place] = numbers[: self._k], scored[: self._k]
        return results

    def _ordered_by_id(self, numbers: Ints, scores: Floats) -> tuple[Ints, Floats]:
        """Order equal scores by descending id."""
        names = [self._store.items.name(number) for number in numbers.tolist()]
        by_name = sorted(range(len(names)), key=names.__getitem__, reverse=True)
        order = np.array(by_name)[np.argsort(-scores[by_name], kind="stable")]
        return numbers[order], scores[order]


def _by_query(query: Tensor, score: Tensor) -> Tensor:
    """Return the order by query, best first within each."""
    order = torch.argsort(score, descending=True)
    return order[torch.argsort(query[order], stable=True)]
