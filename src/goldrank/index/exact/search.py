"""Exact top k: fast scores select candidates, float64 scores order them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats, Ints
from goldrank.index.exact.integer_selection import IntegerTable, select_by_integers
from goldrank.index.exact.products import LEAST_QUERIES, integers_usable
from goldrank.index.exact.selection import Candidates, select
from goldrank.index.exact.vectors import Matrix, VectorTable, spread
from goldrank.native import score_divided_rows, score_rows

_QUERY_BLOCK = 1024
_QUERIES_AT_ONCE = 32
# The most candidates of all queries and threads that are held at once.
_ENTRIES = 2**25
_PAIR_ELEMENTS = 2**20
# Candidates beyond k: with some to spare, the last one is nearly always clearly worse than the k-th.
_SPARE, _SPARE_SHARE = 16, 16
# Where it is not, so many times as many are looked at before everything is.
_WIDER = 8
# Longer vectors may overflow a float32 product.
_LONGEST = 2.0**40


def search(
    queries: VectorTable,
    items: VectorTable,
    lengths: Floats,
    k: int,
    *,
    squared: bool,
    threads: int,
    least: Floats | None = None,
    table: IntegerTable | None = None,
) -> Iterator[tuple[Ints, Floats]]:
    """Yield the numbers and float64 scores of the best *k* items of each query, equal scores by descending id.

    The score is the dot product, or with *squared* minus the distance. Where the fast scores cannot tell the
    k-th item from those left out (ties, mostly), the query is searched once more, at last in float64. With *least*,
    a score for each query, items below it may be left out, which saves looking at them more closely. The *table* holds
    the items as integers, if they were searched before.
    """
    if table is None and integers_usable(items.dtype) and len(queries) >= LEAST_QUERIES:
        table = IntegerTable(items, lengths, squared=squared, keep=False)
    longest = float(lengths.max(initial=0))
    candidates = min(k + _SPARE + k // _SPARE_SHARE, len(items))
    bars = np.full(len(queries), -np.inf) if least is None else least
    for start in range(0, len(queries), _QUERY_BLOCK):
        rows = queries.read(start, min(start + _QUERY_BLOCK, len(queries)))
        bar = bars[start : start + len(rows)]
        own = np.sqrt(np.add.reduce(np.square(rows, dtype=np.float64), axis=1))
        margins = _margins(own, longest, rows.shape[1], rows.dtype, squared)
        fast = max(longest, float(own.max(initial=0))) < _LONGEST
        if fast:
            # What is compared is minus the squared distance.
            bar = np.where(np.isfinite(bar), -np.square(bar), bar) if squared else bar
            yield from _Search(rows, items, table, margins, bar, k, squared, threads).run(candidates)
        else:
            yield from _all(rows, items, k, squared)


class _Search:
    """One block of queries."""

    def __init__(
        self,
        rows: Matrix,
        items: VectorTable,
        table: IntegerTable | None,
        margins: Floats,
        bars: Floats,
        k: int,
        squared: bool,
        threads: int,
    ) -> None:
        self._rows, self._items, self._table, self._margins = rows, items, table, margins
        self._divide = table is not None and table.keeps and items.plain_divided is not None
        self._bars = bars
        """Scores below which no item of the query is wanted."""
        self._k, self._squared, self._threads = k, squared, threads

    def run(self, depth: int) -> list[tuple[Ints, Floats]]:
        """Return the top k of each query: of *depth* candidates, or of more if these do not decide it."""
        results: dict[int, tuple[Ints, Floats]] = {}
        places = np.arange(len(self._rows))
        floors = np.full(len(places), -np.inf)
        while len(places) and depth <= len(self._items):
            floors[places] = self._settle(places, depth, results)
            places = np.array([place for place in places.tolist() if place not in results], np.int64)
            depth *= _WIDER
        if len(places):
            candidates = _at_least(self._rows[places], self._items, floors[places], self._squared)
            for place, numbers in zip(places.tolist(), candidates, strict=True):
                scores = self._scores(place, numbers)
                results[place] = _best(numbers, scores, self._items, self._k, self._squared)
        return [results[place] for place in range(len(self._rows))]

    def _settle(self, places: Ints, depth: int, results: dict[int, tuple[Ints, Floats]]) -> Floats:
        """Add the queries whose best are sure; gives for each query the score that its k-th has at least."""
        candidates = self._candidates(places, depth)
        floors, margins = candidates.floors, candidates.margins
        bars = self._bars[places] - margins

        def look(at: int) -> float:
            place = int(places[at])
            chosen = candidates.numbers[at][candidates.scores[at] >= bars[at]]
            scores = self._scores(place, chosen)
            if floors[at] < bars[at]:
                results[place] = _best(chosen, scores, self._items, self._k, self._squared)
                return -np.inf
            last = float(np.partition(scores, -self._k)[-self._k])
            if depth == len(self._items) or last > floors[at] + margins[at]:
                results[place] = _best(chosen, scores, self._items, self._k, self._squared)
            return last - float(self._margins[place])

        def look_at_some(start: int) -> list[float]:
            return [look(at) for at in range(start, min(start + _QUERIES_AT_ONCE, len(places)))]

        starts = range(0, len(places), _QUERIES_AT_ONCE)
        return np.array([floor for part in spread(look_at_some, starts, self._threads) for floor in part])

    def _scores(self, place: int, numbers: Ints) -> Floats:
        # All divisors are worth their time only for an index that is searched again.
        divisors = self._items.divisors if self._divide else None
        return _scores(self._rows[place], self._items, numbers, self._squared, divisors)

    def _candidates(self, places: Ints, depth: int) -> Candidates:
        rows, margins, bars = self._rows[places], self._margins[places], self._bars[places]
        if self._table is not None:
            step = max(1, _ENTRIES // (2 * depth * self._threads))
            parts = [
                select_by_integers(
                    rows[at : at + step], self._table, depth, threads=self._threads, bars=bars[at:][:step]
                )
                for at in range(0, len(rows), step)
            ]
            return parts[0] if len(parts) == 1 else Candidates.joined(parts)
        finite = bars - margins if np.isfinite(bars).all() else None
        return select(rows, self._items, depth, margins, squared=self._squared, threads=self._threads, bars=finite)


def _all(rows: Matrix, items: VectorTable, k: int, squared: bool) -> Iterator[tuple[Ints, Floats]]:
    """Yield the best of all items by float64 scores alone."""
    numbers = np.arange(len(items))
    for row in rows:
        yield _best(numbers, _scores(row, items, numbers, squared), items, k, squared)


def _margins(own: Floats, longest: float, dimension: int, dtype: np.dtype[Any], squared: bool) -> Floats:
    """Return the maximum error of a fast score."""
    size = np.square(own + longest) if squared else own * longest
    kind = np.finfo(dtype)
    # Twice what a sum of so many products can be off by; a distance has three such sums in it.
    sums = 4.0 if squared else 1.0
    return sums * (dimension + 8) * float(kind.eps) * size + 4.0 * (dimension + 8) * float(kind.tiny)


def _scores(row: Matrix, items: VectorTable, numbers: Ints, squared: bool, divisors: Floats | None = None) -> Floats:
    """Return float64 scores (dot, or minus squared distance), each computed alone so that equal items tie.

    With the *divisors* of the items, those scored are not normalised anew.
    """
    query = row.astype(np.float64)
    scores = np.empty(len(numbers))
    if (plain := items.plain) is not None:
        score_rows(plain, numbers, query, squared, scores)
        return scores
    if divisors is not None and (plain := items.plain_divided) is not None:
        score_divided_rows(plain, divisors, numbers, query, scores)
        return scores
    step = max(1, _PAIR_ELEMENTS // max(1, items.dimension))
    for start in range(0, len(numbers), step):
        part = numbers[start : start + step]
        score_rows(items.take(part), np.arange(len(part)), query, squared, scores[start : start + step])
    return scores


def _at_least(rows: Matrix, items: VectorTable, floors: Floats, squared: bool) -> list[Ints]:
    """Return, for each query, the numbers of all items that reach its floor within the rounding error."""
    queries = rows.astype(np.float64)
    numbers: list[list[Ints]] = [[] for _ in queries]
    step = max(1, _PAIR_ELEMENTS // max(1, items.dimension))
    for start in range(0, len(items), step):
        block = items.read(start, min(start + step, len(items))).astype(np.float64)
        scores = queries @ block.T
        if squared:
            scores = 2 * scores - _squares(block) - _squares(queries)[:, None]
        for listed, row, floor in zip(numbers, scores, floors, strict=True):
            listed.append(start + np.flatnonzero(row >= floor))
    return [np.concatenate(listed) for listed in numbers]


def _best(numbers: Ints, scores: Floats, items: VectorTable, k: int, squared: bool) -> tuple[Ints, Floats]:
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
