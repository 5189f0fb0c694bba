"""The best k items of each query by full search: fast scores choose candidates, float64 scores order them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats, Ints
from goldrank.index.exact_selection import select
from goldrank.index.exact_vectors import Matrix, Vectors, spread
from goldrank.native import row_scores

_QUERY_BLOCK = 1024
_QUERIES_AT_ONCE = 32
_PAIR_ELEMENTS = 2**20
# Candidates beyond k: with some to spare, the last one is nearly always clearly worse than the k-th.
_SPARE, _SPARE_SHARE = 16, 16
# Where it is not, so many times as many are looked at before everything is.
_WIDER = 8
# faiss keeps the best in heaps, which is fast as long as they are few.
_HEAP_UP_TO = 256
# Longer vectors may overflow a float32 product.
_LONGEST = 2.0**40


def search(
    queries: Vectors, items: Vectors, lengths: Floats, k: int, *, squared: bool, threads: int
) -> Iterator[tuple[Ints, Floats]]:
    """For each query the numbers and float64 scores of its best *k* items, equal scores by descending id.

    The score is the dot product, or with *squared* minus the distance. Where the fast scores cannot tell the
    k-th item from those left out (ties, mostly), the query is searched once more, at last in float64.
    """
    longest = float(lengths.max(initial=0))
    kept = min(k + _SPARE + k // _SPARE_SHARE, len(items))
    for start in range(0, len(queries), _QUERY_BLOCK):
        rows = queries.read(start, min(start + _QUERY_BLOCK, len(queries)))
        own = np.sqrt(np.add.reduce(np.square(rows, dtype=np.float64), axis=1))
        margins = _margins(own, longest, rows.shape[1], rows.dtype, squared)
        fast = max(longest, float(own.max(initial=0))) < _LONGEST
        if fast:
            yield from _Search(rows, items, margins, k, squared, threads).run(kept)
        else:
            yield from _all(rows, items, k, squared)


class _Search:
    """One block of queries."""

    def __init__(self, rows: Matrix, items: Vectors, margins: Floats, k: int, squared: bool, threads: int) -> None:
        self._rows, self._items, self._margins = rows, items, margins
        self._k, self._squared, self._threads = k, squared, threads

    def run(self, kept: int) -> list[tuple[Ints, Floats]]:
        """Look at *kept* candidates of every query, and at more where those do not settle it."""
        found: dict[int, tuple[Ints, Floats]] = {}
        places = np.arange(len(self._rows))
        floors = np.full(len(places), -np.inf)
        while len(places) and kept <= len(self._items):
            floors[places] = self._settle(places, kept, found)
            places = np.array([place for place in places.tolist() if place not in found], np.int64)
            kept *= _WIDER
        if len(places):
            candidates = _at_least(self._rows[places], self._items, floors[places], self._squared)
            for place, numbers in zip(places.tolist(), candidates, strict=True):
                scores = _scores(self._rows[place], self._items, numbers, self._squared)
                found[place] = _best(numbers, scores, self._items, self._k, self._squared)
        return [found[place] for place in range(len(self._rows))]

    def _settle(self, places: Ints, kept: int, found: dict[int, tuple[Ints, Floats]]) -> Floats:
        """Add the queries whose best are sure; gives for each query the score that its k-th has at least."""
        numbers, floors = _candidates(self._rows[places], self._items, kept, self._squared, self._threads)

        def look(at: int) -> float:
            place, chosen = int(places[at]), numbers[at]
            scores = _scores(self._rows[place], self._items, chosen, self._squared)
            last = float(np.partition(scores, -self._k)[-self._k])
            if kept == len(self._items) or last > floors[at] + self._margins[place]:
                found[place] = _best(chosen, scores, self._items, self._k, self._squared)
            return last - float(self._margins[place])

        def look_at_some(start: int) -> list[float]:
            return [look(at) for at in range(start, min(start + _QUERIES_AT_ONCE, len(places)))]

        starts = range(0, len(places), _QUERIES_AT_ONCE)
        return np.array([floor for part in spread(look_at_some, starts, self._threads) for floor in part])


def _all(rows: Matrix, items: Vectors, k: int, squared: bool) -> Iterator[tuple[Ints, Floats]]:
    """The best of all items by float64 scores alone."""
    numbers = np.arange(len(items))
    for row in rows:
        yield _best(numbers, _scores(row, items, numbers, squared), items, k, squared)


def _margins(own: Floats, longest: float, dimension: int, dtype: np.dtype[Any], squared: bool) -> Floats:
    """How far a fast score may lie from the true one."""
    size = np.square(own + longest) if squared else own * longest
    kind = np.finfo(dtype)
    # Twice what a sum of so many products can be off by; a distance has three such sums in it.
    sums = 4.0 if squared else 1.0
    return sums * (dimension + 8) * float(kind.eps) * size + 4.0 * (dimension + 8) * float(kind.tiny)


def _candidates(rows: Matrix, items: Vectors, kept: int, squared: bool, threads: int) -> tuple[Ints, Floats]:
    """The *kept* best numbers by fast scores, and the score below which all others lie."""
    if kept > _HEAP_UP_TO:
        return select(rows, items, kept, squared=squared, threads=threads)
    chunk = max(8192, 2**24 // max(1, items.dimension))
    numbers, scores = np.empty((len(rows), 0), np.int64), np.empty((len(rows), 0))
    for start in range(0, len(items), chunk):
        block = items.read(start, min(start + chunk, len(items)))
        new_numbers, new_scores = _nearest(rows, block, min(kept, len(block)), squared)
        numbers = np.concatenate((numbers, start + new_numbers), axis=1)
        scores = np.concatenate((scores, new_scores), axis=1)
        if numbers.shape[1] > kept:
            best = np.argpartition(-scores, kept - 1, axis=1)[:, :kept]
            numbers, scores = np.take_along_axis(numbers, best, 1), np.take_along_axis(scores, best, 1)
    return numbers, scores.min(axis=1, initial=np.inf)


def _nearest(rows: Matrix, block: Matrix, kept: int, squared: bool) -> tuple[Ints, Floats]:
    """The best *kept* of one chunk of items, in no order."""
    if rows.dtype == np.float32:
        try:
            import faiss
        except ImportError:
            pass
        else:
            metric = faiss.METRIC_L2 if squared else faiss.METRIC_INNER_PRODUCT
            with _faiss_blas(faiss):
                values, places = faiss.knn(rows, block, kept, metric=metric)
            return places, (-values if squared else values).astype(np.float64)
    numbers, scores = np.empty((len(rows), 0), np.int64), np.empty((len(rows), 0))
    for start in range(0, len(block), 8192):
        part = block[start : start + 8192]
        found = (rows @ part.T).astype(np.float64)
        if squared:
            found = 2 * found - _squares(part) - _squares(rows)[:, None]
        scores = np.concatenate((scores, found), axis=1)
        numbers = np.concatenate((numbers, np.broadcast_to(np.arange(start, start + len(part)), found.shape)), axis=1)
        if scores.shape[1] > kept:
            best = np.argpartition(-scores, kept - 1, axis=1)[:, :kept]
            numbers, scores = np.take_along_axis(numbers, best, 1), np.take_along_axis(scores, best, 1)
    return numbers, scores


@contextmanager
def _faiss_blas(faiss: Any) -> Iterator[None]:
    """Let faiss use BLAS for small batches too, which is ten times as fast; its settings are put back afterwards."""
    settings = {"distance_compute_blas_threshold": 2000, "distance_compute_blas_database_bs": 4096}
    before = {name: getattr(faiss.cvar, name) for name in settings}
    for name, value in settings.items():
        setattr(faiss.cvar, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(faiss.cvar, name, value)


def _scores(row: Matrix, items: Vectors, numbers: Ints, squared: bool) -> Floats:
    """Float64 scores, each computed by itself so that equal items score equal: dot, or minus squared distance."""
    query = row.astype(np.float64)
    scores = np.empty(len(numbers))
    if (plain := items.plain) is not None:
        row_scores(plain, numbers, query, squared, scores)
        return scores
    step = max(1, _PAIR_ELEMENTS // max(1, items.dimension))
    for start in range(0, len(numbers), step):
        part = numbers[start : start + step]
        row_scores(items.take(part), np.arange(len(part)), query, squared, scores[start : start + step])
    return scores


def _at_least(rows: Matrix, items: Vectors, floors: Floats, squared: bool) -> list[Ints]:
    """For each query the numbers of all items that score its floor or more, give or take a rounding."""
    queries = rows.astype(np.float64)
    found: list[list[Ints]] = [[] for _ in queries]
    step = max(1, _PAIR_ELEMENTS // max(1, items.dimension))
    for start in range(0, len(items), step):
        block = items.read(start, min(start + step, len(items))).astype(np.float64)
        scores = queries @ block.T
        if squared:
            scores = 2 * scores - _squares(block) - _squares(queries)[:, None]
        for listed, row, floor in zip(found, scores, floors, strict=True):
            listed.append(start + np.flatnonzero(row >= floor))
    return [np.concatenate(listed) for listed in found]


def _best(numbers: Ints, scores: Floats, items: Vectors, k: int, squared: bool) -> tuple[Ints, Floats]:
    if not np.isfinite(scores).all():
        raise InputError("a score is larger than any float64", remedy="divide all vectors by the same constant")
    if squared:
        scores = -np.sqrt(-scores)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    if (ranked[1:] == ranked[:-1]).any():
        # Ids decide only where scores are equal, which is rare; to sort all of them takes a while, but once.
        order = np.lexsort((-items.id_ranks[numbers], -scores))
    return numbers[order[:k]], scores[order[:k]]


def _squares(rows: Matrix) -> Floats:
    squares: Floats = np.add.reduce(np.square(rows, dtype=np.float64), axis=1)
    return squares
