"""The best k items of each query by full search: fast scores choose candidates, float64 scores order them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats, Ints
from goldrank.index.exact_vectors import Matrix, Vectors

_QUERY_BLOCK = 1024
_PAIR_ELEMENTS = 2**20
# Candidates beyond k: with a few to spare, the last one is nearly always clearly worse than the k-th.
_SPARE = 16
# Longer vectors may overflow a float32 product.
_LONGEST = 2.0**40


def search(
    queries: Vectors, items: Vectors, lengths: Floats, k: int, *, squared: bool
) -> Iterator[tuple[Ints, Floats]]:
    """For each query the numbers and float64 scores of its best *k* items, equal scores by descending id.

    The score is the dot product, or with *squared* minus the distance. Where the fast scores cannot tell the
    k-th item from those left out (ties, mostly), the query is searched once more in float64.
    """
    longest = float(lengths.max(initial=0))
    kept = min(k + _SPARE, len(items))
    for start in range(0, len(queries), _QUERY_BLOCK):
        rows = queries.read(start, min(start + _QUERY_BLOCK, len(queries)))
        own = np.sqrt(np.add.reduce(np.square(rows, dtype=np.float64), axis=1))
        margins = _margins(own, longest, rows.shape[1], rows.dtype, squared)
        fast = max(longest, float(own.max(initial=0))) < _LONGEST
        numbers, floors = (
            _candidates(rows, items, kept, squared)
            if fast
            else (np.empty((len(rows), 0), np.int64), np.full(len(rows), np.inf))
        )
        for row, chosen, floor, margin in zip(rows, numbers, floors, margins, strict=True):
            candidates = chosen
            scores = _scores(row, items, candidates, squared)
            if len(items) > len(candidates):
                worst = np.partition(scores, -k)[-k] if fast else -np.inf
                if not worst > floor + margin:
                    candidates = _at_least(row, items, worst - margin, squared)
                    scores = _scores(row, items, candidates, squared)
            yield _best(candidates, scores, items.ids, k, squared)


def _margins(own: Floats, longest: float, dimension: int, dtype: np.dtype[Any], squared: bool) -> Floats:
    """How far a fast score may lie from the true one."""
    size = np.square(own + longest) if squared else own * longest
    kind = np.finfo(dtype)
    # 2‖q‖‖x‖ and both squares are each off by at most this much.
    return 4.0 * (dimension + 8) * float(kind.eps) * size + 4.0 * (dimension + 8) * float(kind.tiny)


def _candidates(rows: Matrix, items: Vectors, kept: int, squared: bool) -> tuple[Ints, Floats]:
    """The *kept* best numbers by fast scores, and the score below which all others lie."""
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
    step = max(1, _PAIR_ELEMENTS // max(1, items.dimension))
    for start in range(0, len(numbers), step):
        found = items.take(numbers[start : start + step]).astype(np.float64)
        terms = -np.square(found - query) if squared else found * query
        scores[start : start + step] = np.add.reduce(terms, axis=1)
    return scores


def _at_least(row: Matrix, items: Vectors, floor: float, squared: bool) -> Ints:
    """The numbers of all items that score *floor* or more."""
    query = row.astype(np.float64)
    found = [np.empty(0, np.int64)]
    step = max(1, _PAIR_ELEMENTS // max(1, items.dimension))
    for start in range(0, len(items), step):
        block = items.read(start, min(start + step, len(items))).astype(np.float64)
        scores = block @ query if not squared else -_squares(block - query)
        found.append(start + np.flatnonzero(scores >= floor))
    return np.concatenate(found)


def _best(numbers: Ints, scores: Floats, ids: list[str], k: int, squared: bool) -> tuple[Ints, Floats]:
    if not np.isfinite(scores).all():
        raise InputError("a score is larger than any float64", remedy="divide all vectors by the same constant")
    if squared:
        scores = -np.sqrt(-scores)
    by_id = sorted(range(len(numbers)), key=lambda place: ids[numbers[place]], reverse=True)
    order = np.array(by_id, np.int64)[np.argsort(-scores[by_id], kind="stable")][:k]
    return numbers[order], scores[order]


def _squares(rows: Matrix) -> Floats:
    squares: Floats = np.add.reduce(np.square(rows, dtype=np.float64), axis=1)
    return squares
