"""Merge the top k of shards into the overall top k, whatever the order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.index.sharded.worker import ShardTopK

_NONE = -1
# How many scores are sorted at once.
_ELEMENTS = 2**22


class MergedTopK:
    """The best *depth* items of each query so far."""

    def __init__(self, queries: int, depth: int, name: Callable[[int], str]) -> None:
        self.depth, self._name = depth, name
        self._numbers = np.full((queries, depth), _NONE, np.int64)
        self._scores = np.full((queries, depth), -np.inf)

    def __iter__(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield the numbers and scores of each query, best first."""
        for numbers, scores in zip(self._numbers, self._scores, strict=True):
            there = int(np.count_nonzero(numbers != _NONE))
            yield numbers[:there], scores[:there]

    @property
    def floors(self) -> Floats:
        """For each query, the score that an item must reach to be among the best."""
        return self._scores[:, -1].copy()

    def add(self, top_k: ShardTopK) -> None:
        """Merge the top k of a shard."""
        ends = np.cumsum(top_k.per_query)
        touched = np.flatnonzero(top_k.per_query)
        width = self.depth + int(top_k.per_query.max(initial=0))
        step = max(1, _ELEMENTS // width)
        for start in range(0, len(touched), step):
            queries = touched[start : start + step]
            self._merge(queries, top_k, ends[queries] - top_k.per_query[queries], width)

    def _merge(self, queries: Ints, top_k: ShardTopK, starts: Ints, width: int) -> None:
        numbers, scores = np.full((len(queries), width), _NONE, np.int64), np.full((len(queries), width), -np.inf)
        numbers[:, : self.depth], scores[:, : self.depth] = self._numbers[queries], self._scores[queries]
        counts = top_k.per_query[queries]
        row = np.repeat(np.arange(len(queries)), counts)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        source = starts[row] + nth
        numbers[row, self.depth + nth], scores[row, self.depth + nth] = top_k.numbers[source], top_k.scores[source]
        # Two runs that are in order already: a stable sort merges them.
        order = np.argsort(-scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, 1)
        tied = ((ranked[:, 1:] == ranked[:, :-1]) & (ranked[:, 1:] > -np.inf)).any(axis=1)
        for at in np.flatnonzero(tied).tolist():
            order[at] = self._order(numbers[at], scores[at])
        order = order[:, : self.depth]
        self._numbers[queries] = np.take_along_axis(numbers, order, 1)
        self._scores[queries] = np.take_along_axis(scores, order, 1)

    def _order(self, numbers: Ints, scores: Floats) -> Ints:
        """Return the order by descending score and then descending id; empty places come last."""
        names = [self._name(number) if number != _NONE else "" for number in numbers.tolist()]
        by_name = sorted(range(len(names)), key=names.__getitem__, reverse=True)
        return np.array(by_name, np.int64)[np.argsort(-scores[by_name], kind="stable")]
