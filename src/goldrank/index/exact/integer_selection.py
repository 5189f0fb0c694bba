"""Select top-k candidates by products of 16-bit integers; compiled code keeps the best of each query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.index.exact.blocks import half_squares, lengths_above
from goldrank.index.exact.products import IntegerItems, Integers
from goldrank.index.exact.selection import Candidates
from goldrank.index.exact.vectors import Matrix, VectorTable, spread

# The integers of so many bytes are kept for the next search; they are half the size of float32 vectors.
_KEPT_BYTES = 2**30
_BLOCK_ELEMENTS = 2**21
_QUERIES_AT_ONCE = 32
_EMPTY = np.iinfo(np.int64).min
_INT32 = np.iinfo(np.int32)


class IntegerTable:
    """Items rounded to integers of one scale, block by block.

    Args:
        items: the items, in float32.
        lengths: upper bounds of their lengths.
        squared: rank by distance instead of dot product.
        keep: keep the integers for the next search, unless there are very many of them.
    """

    def __init__(self, items: VectorTable, lengths: Floats, *, squared: bool, keep: bool) -> None:
        self._items, self.squared = items, squared
        self._longest = float(lengths.max(initial=0))
        self._rows = int(np.clip(_BLOCK_ELEMENTS // max(items.dimension, 1), 256, 8192))
        self.keeps = keep and 2 * len(items) * items.dimension <= _KEPT_BYTES
        self._kept: dict[int, IntegerItems] = {}
        self.integers = Integers(squared=squared, longest=self._longest)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def starts(self) -> range:
        """The number of the first item of each block."""
        return range(0, len(self._items), self._rows)

    def block(self, start: int) -> IntegerItems:
        """Return the block that begins with the item of this number."""
        if (block := self._kept.get(start)) is not None:
            return block
        rows = self._items.read(start, min(start + self._rows, len(self._items)))
        halves = half_squares(rows) if self.squared else np.zeros(len(rows))
        block = self.integers.pack_items(rows, halves, self._longest, peak=self._longest)
        if self.keeps:
            self._kept[start] = block
        return block

    @property
    def worst(self) -> IntegerItems:
        """No items, with the scale of all blocks and the most that rounding may take from an item."""
        nothing = np.zeros((0, self._items.dimension), np.float32)
        return self.integers.pack_items(nothing, np.zeros(0), self._longest, peak=self._longest)


@dataclass(frozen=True)
class _Best:
    """The best items so far of each query: entries of product and item number, their count, and the last wanted."""

    entries: Ints
    counts: Ints
    floors: Ints

    def filled(self, rows: slice) -> Ints:
        """Return the entries of some queries, with the lowest possible one where there is none."""
        missing = np.arange(self.entries.shape[1]) >= self.counts[rows, None]
        return np.where(missing, _EMPTY, self.entries[rows])


def select_by_integers(
    queries: Matrix, table: IntegerTable, depth: int, *, threads: int, bars: Floats | None = None
) -> Candidates:
    """Return the *depth* best items of each query by the products of integers.

    The score is the dot product, or minus the squared distance. With *bars*, a score for each query, only items that
    may reach it are looked for: where there are fewer than *depth*, the rest have the score -inf.
    """
    integers, worst = table.integers, table.worst
    packed = integers.pack_queries(queries, lengths_above(queries))
    # What is compared for a distance is q·x - ‖x‖²/2, which is half of minus its square, plus ‖q‖²/2.
    factor, own = (2.0, 2 * half_squares(queries)) if table.squared else (1.0, np.zeros(len(queries)))
    scales, margins = worst.scale * packed.scales / factor, integers.margins(worst, packed)
    limits = np.full(len(queries), -np.inf) if bars is None else np.floor(scales * (bars + own) - margins)
    floors = (np.clip(limits, _INT32.min + 1, _INT32.max).astype(np.int64) << 32) - 1
    free: list[_Best] = []

    def look(start: int) -> None:
        try:
            best = free.pop()
        except IndexError:
            # One for each thread.
            best = _Best(np.empty((len(queries), 2 * depth), np.int64), np.zeros(len(queries), np.int64), floors.copy())
        integers.select(table.block(start), packed, start, depth, best.entries, best.counts, best.floors)
        free.append(best)

    for _ in spread(look, table.starts, threads):
        pass

    def merge(start: int) -> Candidates:
        rows = slice(start, start + _QUERIES_AT_ONCE)
        entries = np.concatenate([best.filled(rows) for best in free], axis=1)
        entries.partition(-depth, axis=1)
        entries = entries[:, -depth:]
        empty = entries == _EMPTY
        scores = np.where(empty, -np.inf, (entries >> 32) / scales[rows, None] - own[rows, None])
        return Candidates(np.where(empty, -1, entries & (2**32 - 1)), scores, margins[rows] / scales[rows])

    return Candidates.joined(list(spread(merge, range(0, len(queries), _QUERIES_AT_ONCE), threads)))
