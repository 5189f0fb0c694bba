"""Select top-k candidates from products of blocks; only scores above a rising threshold are considered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Floats, Ints
from goldrank.index.exact.vectors import Matrix, VectorTable, single_threaded_blas, spread
from goldrank.native import find_between

# Scores of a block, and numbers of its items, which are copies where rows are normalised as they are read.
_BLOCK_ELEMENTS = 2**21
# The first bar comes from so many items, or eight times as many as are kept.
_FIRST, _FIRST_TIMES = 8192, 8
# Merging costs little once as many scores have come in as half of those that are kept.
_PENDING_SHARE = 2

_QUERIES_AT_ONCE = 32

# The columns of queries (at most 2**16), the numbers of items and the scores of pairs.
Found = tuple[NDArray[np.uint16], Ints, NDArray[np.floating]]


@dataclass(frozen=True)
class Candidates:
    """The best items of each query by fast scores, in no order."""

    numbers: Ints
    scores: Floats
    margins: Floats
    """How far a fast score of each query may be from the exact one."""

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return the candidates of the queries of all parts."""
        columns = [(part.numbers, part.scores, part.margins) for part in parts]
        return cls(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    @property
    def floors(self) -> Floats:
        """The lowest score of each query; what is not among its candidates has no higher one."""
        lowest: Floats = self.scores.min(axis=1, initial=np.inf)
        return lowest


def select(
    queries: Matrix,
    items: VectorTable,
    depth: int,
    margins: Floats,
    *,
    squared: bool,
    threads: int,
    bars: Floats | None = None,
) -> Candidates:
    """Return the *depth* best items of each query by scores that BLAS computes with errors up to *margins*.

    There are at most 2**16 queries. The score is the dot product, or minus the squared distance. The result
    may differ among equal scores at the floor, never above it. With *bars*, a finite score for each query, only items
    that reach it are looked for: where there are fewer than *depth*, the rest have the score -inf.
    """
    selection = _Selection(queries, items, depth, squared, bars)
    with single_threaded_blas(threads) as workers:
        selection.run(workers)
    scores = selection.scores.astype(np.float64) - selection.own_squares[:, None]
    return Candidates(selection.numbers, scores, margins)


class _Selection:
    """The best so far of every query, and the bar that a score has to reach to be among them."""

    def __init__(self, queries: Matrix, items: VectorTable, depth: int, squared: bool, bars: Floats | None) -> None:
        self._queries, self._items, self._depth, self._squared = queries, items, depth, squared
        wide = np.square(queries, dtype=np.float64)
        self.own_squares = np.add.reduce(wide, axis=1) if squared else np.zeros(len(queries))
        self._lock, self._local = threading.Lock(), threading.local()
        self._pending: list[Found] = []
        self._pending_count = 0
        self._bars = bars

    def run(self, workers: int) -> None:
        """Set the bar by the first items, unless it is given, then go through the rest."""
        first = min(max(_FIRST, _FIRST_TIMES * self._depth), len(self._items)) if self._bars is None else 0
        size = max(64, _BLOCK_ELEMENTS // max(1, len(self._queries), self._items.dimension))
        if self._bars is None:
            self._start(first, workers)
        else:
            self._start_from(self._bars)
        for _ in spread(partial(self._look, size), range(first, len(self._items), size), workers):
            if self._pending_count > len(self._queries) * self._depth // _PENDING_SHARE:
                self._merge(workers)
        self._merge(workers)

    def _start_from(self, bars: Floats) -> None:
        self.numbers = np.full((len(bars), self._depth), -1, np.int64)
        self.scores = np.full((len(bars), self._depth), -np.inf, self._queries.dtype)
        # Downwards, whatever the rounding.
        bar = (bars + self.own_squares).astype(self._queries.dtype)
        self._bar = np.nextafter(bar, self._queries.dtype.type(-np.inf))

    def _start(self, first: int, workers: int) -> None:
        # Queries by items, because the best of each query are chosen from one row.
        scores = np.ascontiguousarray(self._scores(self._items.read(0, first)).T)
        self.numbers = np.empty((len(scores), self._depth), np.int64)
        self.scores = np.empty((len(scores), self._depth), scores.dtype)

        def best(query: int) -> None:
            chosen = np.argpartition(scores[query], first - self._depth)[first - self._depth :]
            self.numbers[query], self.scores[query] = chosen, scores[query, chosen]

        self._for_all_queries(best, workers)
        self._bar = self.scores.min(axis=1)

    def _scores(self, items: Matrix, out: Matrix | None = None) -> Matrix:
        """Return scores of items by queries; of a squared distance without the part that all items of a query share."""
        scores: Matrix = np.matmul(items, self._queries.T, out=out)
        if self._squared:
            scores *= 2
            scores -= np.add.reduce(np.square(items), axis=1)[:, None]
        return scores

    def _look(self, size: int, start: int) -> None:
        """Keep what reaches the bar in one block of items."""
        block = self._items.read(start, min(start + size, len(self._items)))
        scores, bar = self._scores(block, self._buffer(len(block))), self._bar
        places = np.frombuffer(find_between(scores, bar, np.full_like(bar, np.inf)), np.int64)
        if len(places):
            row, column = np.divmod(places, len(self._queries))
            with self._lock:
                self._pending.append((column.astype(np.uint16), start + row, scores.reshape(-1)[places]))
                self._pending_count += len(places)

    def _for_all_queries(self, work: Callable[[int], None], workers: int) -> None:
        def some(start: int) -> None:
            for query in range(start, min(start + _QUERIES_AT_ONCE, len(self._queries))):
                work(query)

        for _ in spread(some, range(0, len(self._queries), _QUERIES_AT_ONCE), workers):
            pass

    def _buffer(self, rows: int) -> Matrix:
        """Memory reused by each thread, because allocating new pages costs more than the computation."""
        scratch: Matrix | None = getattr(self._local, "scores", None)
        if scratch is None or len(scratch) < rows:
            scratch = self._local.scores = np.empty((rows, len(self._queries)), self._queries.dtype)
        return scratch[:rows]

    def _merge(self, workers: int) -> None:
        """Merge the pending candidates into the best, and raise the floor."""
        with self._lock:
            pending, self._pending, self._pending_count = self._pending, [], 0
        if not pending:
            return
        columns, numbers, scores = (np.concatenate(parts) for parts in zip(*pending, strict=True))
        # Small integers are sorted by their digits, twenty times as fast as large ones are by comparison.
        order = np.argsort(columns, kind="stable")
        numbers, scores = numbers[order], scores[order]
        ends = np.concatenate(([0], np.cumsum(np.bincount(columns, minlength=len(self._queries))))).tolist()

        def best(query: int) -> None:
            new = slice(ends[query], ends[query + 1])
            if new.start == new.stop:
                return
            both = np.concatenate((self.scores[query], scores[new]))
            chosen = np.argpartition(both, len(both) - self._depth)[len(both) - self._depth :]
            self.numbers[query] = np.concatenate((self.numbers[query], numbers[new]))[chosen]
            self.scores[query] = both[chosen]

        self._for_all_queries(best, workers)
        # A new array: blocks that are being looked at go on with the bar they have, which only lets more in.
        self._bar = np.maximum(self._bar, self.scores.min(axis=1))
