"""Count the items that rank above the gold, exactly as in real arithmetic.

Products of blocks give every score with a bounded error. A score further from the gold's score than the bound is
decided by two comparisons, in memory or in registers. The few remaining pairs are scored again in float64 with its own
bound, and pairs that are still undecided are compared exactly. The counts therefore do not depend on the kind of
product, the block size or the number of threads.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.index.exact.blocks import (
    QUERY_BLOCK,
    Block,
    QueryBlock,
    Round,
    Scratch,
    half_squares,
    is_whole,
    ldexp,
    lengths_above,
    rounds_of,
    scaled,
    signs_outside,
)
from goldrank.index.exact.products import LEAST_QUERIES, Error, Integers, Near, Tiles, integers_usable, rounding_error
from goldrank.index.exact.signs import Matrix, Signs, difference_signs
from goldrank.index.exact.vectors import CHUNK, VectorTable, single_threaded_blas, spread
from goldrank.native import count_beyond, find_between, score_pairs
from goldrank.native.fallback.score_counting import Mask, count_columns
from goldrank.progress import Progress

# The most scores held at once, and the most elements of items where scores are not stored.
_BLOCK_ELEMENTS = 2**21
_TILE_ELEMENTS = 2**19
_PAIR_ELEMENTS = 2**20
# Products of a single row or column use another BLAS kernel, whose sums may differ in the last bit.
_LEAST_SIDE = 8
# From this share of undecided pairs on, a float64 product of the whole block is cheaper than single pairs.
_DENSE_SHARE = 128
# Up to this many ids are compared one by one instead of sorting all ids.
_FEW_IDS = 64
# Within these no product of two vectors leaves the range of a float32, and the items are used as they are.
_SAFE_EXPONENT = 40


@dataclass(frozen=True)
class JudgedRows:
    """The judged items: for each, the column of its query and its number among the items.

    If the items are a part of all, numbers below 0 or beyond the last denote items before or after this part.
    """

    column: Ints
    gold: Ints
    own: Ints
    """For each column, the number of the item to exclude; -1 if there is none."""


@dataclass(frozen=True)
class GoldItems:
    """The vectors of the judged items, for counting over a part of the items."""

    vectors: Matrix
    """In the precision of the items, normalised if the items are."""
    ids: list[str]
    place: Ints
    """For each judged item of JudgedRows, its row among the vectors."""

    @cached_property
    def lengths(self) -> Floats:
        """An upper bound of the length of each vector."""
        return lengths_above(self.vectors)


@dataclass(frozen=True)
class RivalCounts:
    """For each judged item, the number of items above it and tied with it, as in Hits."""

    above: Ints
    tied: Ints
    tied_docid: Ints
    tied_input: Ints


class Counter:
    """Counts the rivals of judged items over all items.

    Args:
        queries: the query of each column, as stored (already normalised for cosine).
        items: the items, checked.
        lengths: the longest of each chunk of items.
        rows: the judged items.
        squared: rank by distance instead of dot product.
        certify: decide every pair exactly; without it, the blocked products count as they come.
        gold: the judged items, where the items are only a part of all; counts of all parts add up to those of all.
    """

    def __init__(
        self,
        queries: Matrix,
        items: VectorTable,
        lengths: Floats,
        rows: JudgedRows,
        *,
        squared: bool,
        certify: bool,
        gold: GoldItems | None = None,
    ) -> None:
        self._queries, self._items, self._lengths, self._rows, self._gold = queries, items, lengths, rows, gold
        self._squared, self._certify = squared, certify
        self._dtype = queries.dtype
        self._choose_scales()
        self._tiles = Tiles.for_vectors(queries, items.dimension, certify=certify)
        self._integers = self._choose_integers() if self._tiles is None else None
        self._error = self._tiles.error if self._tiles else rounding_error(items.dimension, self._dtype)
        self._close_error = rounding_error(items.dimension, np.dtype(np.float64))
        self._blocks = list(self._query_blocks())
        self._counts = RivalCounts(*(np.zeros(len(rows.gold), np.int64) for _ in range(4)))
        self._lock, self._scratch = threading.Lock(), Scratch()

    def run(self, *, block: int | None, threads: int) -> RivalCounts:
        """Count over all items."""
        size = block or self._usual_block()
        with (
            single_threaded_blas(threads) as workers,
            Progress("exact ranks", total=len(self._items)) as progress,
        ):
            self._score_gold()
            if block is None:
                # As many blocks for every thread, so that none waits for another's last.
                turns = -(-len(self._items) // (size * workers))
                size = max(1, -(-len(self._items) // max(1, turns * workers)))
            starts = range(0, len(self._items), size) if len(self._rows.gold) else range(0)
            for done in spread(lambda start: self._count_block(start, size), starts, workers):
                progress.advance(done)
        return self._counts

    def _usual_block(self) -> int:
        if self._tiles or self._integers:
            return int(np.clip(_TILE_ELEMENTS // max(self._items.dimension, 1), 1024, 4096))
        columns = min(max(len(self._queries), 1), QUERY_BLOCK)
        return int(np.clip(_BLOCK_ELEMENTS // columns, 512, 16384))

    def _choose_scales(self) -> None:
        """Choose powers of two that scale numbers close to 1, so that products stay in range; ranks do not change."""
        longest = float(self._lengths.max(initial=0))
        if self._gold is not None:
            longest = max(longest, float(self._gold.lengths.max(initial=0)))
        peaks = np.abs(self._queries).max(axis=1, initial=0).astype(np.float64)
        query_exponents = np.frexp(peaks)[1]
        if self._squared:
            # Distances bear only a common scale.
            longest = max(longest, float(peaks.max(initial=0)))
        exponent = int(np.frexp(longest)[1])
        self._item_exponent = exponent if abs(exponent) > _SAFE_EXPONENT else 0
        self._query_exponents = np.full_like(query_exponents, self._item_exponent) if self._squared else query_exponents
        self._wide = wide = scaled(self._queries, -self._query_exponents[:, None])
        self._query_lengths = 1.001 * np.sqrt(np.einsum("ij,ij->i", wide, wide))

    def _choose_integers(self) -> Integers | None:
        if not self._certify or len(self._queries) < LEAST_QUERIES or not integers_usable(self._dtype):
            return None
        longest = float(ldexp(self._lengths.max(initial=0), -self._item_exponent))
        return Integers(squared=self._squared, longest=longest)

    def _query_blocks(self) -> Iterator[QueryBlock]:
        apart = self._tiles is not None or self._integers is not None
        for columns, rounds in rounds_of(self._rows.column, len(self._queries), apart=apart):
            yield QueryBlock(columns, self._packed_queries(columns), rounds)

    def _packed_queries(self, columns: Ints) -> Any:
        if self._integers:
            return self._integers.pack_queries(self._wide[columns].astype(self._dtype), self._query_lengths[columns])
        operand = self._query_operand(columns)
        return self._tiles.pack(operand, queries=True) if self._tiles else operand

    def _query_operand(self, columns: Ints) -> Matrix:
        queries, squared = self._wide[columns], int(self._squared)
        operand = np.zeros((max(len(columns), _LEAST_SIDE), queries.shape[1] + squared), self._dtype)
        operand[: len(columns), : queries.shape[1]] = queries
        operand[: len(columns), queries.shape[1] :] = 1
        return operand

    def _item_block(self, start: int, stop: int) -> Block:
        lengths = self._lengths[start // CHUNK : (stop - 1) // CHUNK + 1]
        rows, length = self._items.read(start, stop), float(ldexp(lengths.max(), -self._item_exponent))
        if self._integers:
            halves = self._halves(rows)
            packed = self._integers.pack_items(ldexp(rows, -self._item_exponent), halves, length)
            return Block(start, rows, packed, halves, length)
        return self._block(rows, start, length)

    def _block(self, rows: Matrix, start: int, length: float) -> Block:
        """Prepare a block; the last term of the l2 score q·x - ‖x‖²/2 becomes one more column of the operand."""
        operand, halves = rows, self._halves(rows)
        if self._squared or self._item_exponent or len(rows) < _LEAST_SIDE:
            shape = max(len(rows), _LEAST_SIDE), rows.shape[1] + int(self._squared)
            operand = np.zeros(shape, self._dtype)
            operand[: len(rows), : rows.shape[1]] = ldexp(rows, -self._item_exponent)
            if self._squared:
                operand[: len(rows), -1] = -halves
        packed = self._tiles.pack(operand, queries=False) if self._tiles else operand
        return Block(start, rows, packed, halves, length)

    def _halves(self, rows: Matrix) -> Floats:
        """Return what the l2 score subtracts from the dot product with each row; nothing for other similarities."""
        if not self._squared:
            return np.zeros(len(rows))
        return half_squares(self._wide_items(rows) if self._item_exponent else rows)

    def _wide_items(self, rows: Matrix) -> Floats:
        return ldexp(rows.astype(np.float64), -self._item_exponent)

    def _score_gold(self) -> None:
        """Score each judged item in the scaled units of the products, and bound the error of its score."""
        column = self._rows.column
        self._gold_scores, self._gold_errors, self._gold_lengths = (np.zeros(len(column)) for _ in range(3))
        step = 64 if not self._certify else max(1, _PAIR_ELEMENTS // max(1, self._items.dimension))
        for start in range(0, len(column), step):
            part = slice(start, start + step)
            vectors = self._gold_vectors(part)
            if self._certify:
                self._gold_scores[part] = self._pair_scores(
                    column[part], vectors, np.arange(len(vectors)), self._halves(vectors)
                )
                lengths = lengths_above(self._wide_items(vectors) if self._item_exponent else vectors)
                self._gold_lengths[part] = lengths
                self._gold_errors[part] = self._bound(column[part], lengths, self._close_error)
            else:
                operand = self._block(vectors, 0, 0.0).operand
                product = operand @ self._query_operand(column[part]).T
                self._gold_scores[part] = np.diagonal(product)[: len(vectors)]

    def _gold_vectors(self, rows: Ints | slice) -> Matrix:
        """Return the vectors of the judged items of *rows*."""
        if self._gold is None:
            return self._items.take(self._rows.gold[rows])
        vectors: Matrix = self._gold.vectors[self._gold.place[rows]]
        return vectors

    def _pair_scores(self, columns: Ints, rows: Matrix, chosen: Ints, halves: Floats) -> Floats:
        """Return the float64 scores of rows, each with the query of its column."""
        scores: Floats
        if self._item_exponent:
            scores = np.add.reduce(self._wide[columns] * self._wide_items(rows[chosen]), axis=1)
        else:
            scores = np.empty(len(chosen))
            score_pairs(rows, chosen, self._wide, columns, scores)
        return scores - halves[chosen] if self._squared else scores

    def _bound(self, columns: Ints, length: float | Floats, error: Error) -> Floats:
        """Return the largest difference of such a score from the exact one, for items up to *length*."""
        return error.bound(self._query_lengths[columns], length, squared=self._squared)

    def _limits(self, rows: Ints, length: float) -> tuple[Matrix, Matrix]:
        """Return the scores below and above which an item is certainly below or above the judged items of *rows*."""
        scores = self._gold_scores[rows]
        if not self._certify:
            return scores.astype(self._dtype), scores.astype(self._dtype)
        margin = self._bound(self._rows.column[rows], length, self._error) + self._gold_errors[rows]
        low, high = (scores - margin).astype(self._dtype), (scores + margin).astype(self._dtype)
        return np.nextafter(low, self._dtype.type(-np.inf)), np.nextafter(high, self._dtype.type(np.inf))

    def _count_block(self, start: int, size: int) -> int:
        # Underflow is part of the bound, and nothing here can overflow.
        with np.errstate(under="ignore"):
            block = self._item_block(start, min(start + size, len(self._items)))
            for queries in self._blocks:
                if self._tiles or self._integers:
                    self._count_in_registers(block, queries)
                else:
                    self._count_in_memory(block, queries)
        return len(block.rows)

    def _count_in_registers(self, block: Block, queries: QueryBlock) -> None:
        """Count all rounds at once, without storing the scores."""
        rows = queries.rows
        near = self._compare(block, queries)
        if near.places is None:
            at = np.flatnonzero(near.between)
            near.above[at] = 0
            step = max(1, _BLOCK_ELEMENTS // len(block.rows))
            for start in range(0, len(at), step):
                part = rows[at[start : start + step]]
                self._count_signs(block, part, self._block_signs(block, part))
        else:
            item, place = np.divmod(near.places, len(rows))
            rivals = np.flatnonzero(block.start + item != self._rows.gold[rows[place]])
            self._count_pairs(block, rows, item[rivals], place[rivals])
        with self._lock:
            self._counts.above[rows] += near.above

    def _compare(self, block: Block, queries: QueryBlock) -> Near:
        rows, widths = queries.rows, queries.widths
        # The judged items themselves are between their limits.
        most = len(block.rows) * len(rows) // _DENSE_SHARE + len(rows)
        left_out = self._rows.own[queries.columns] - block.start
        if self._integers:
            scores, errors = self._gold_scores[rows], self._gold_errors[rows]
            low, high = self._integers.limits(block.operand, queries.operand, queries.places, scores, errors)
            return self._integers.compare(block.operand, queries.operand, left_out, widths, low, high, most)
        assert self._tiles is not None
        low, high = self._limits(rows, block.length)
        return self._tiles.compare(block.operand, queries.operand, len(block.rows), left_out, widths, low, high, most)

    def _count_in_memory(self, block: Block, queries: QueryBlock) -> None:
        """Count round by round from scores in the memory of this thread."""
        product = self._scratch.matrix((len(block.operand), len(queries.operand)), self._dtype)
        np.matmul(block.operand, queries.operand.T, out=product)
        scores = product[: len(block.rows), : len(queries.columns)]
        own = self._rows.own[queries.columns]
        here = np.flatnonzero((own >= block.start) & (own < block.stop))
        scores[own[here] - block.start, here] = -np.inf
        for each in queries.rounds:
            self._count_round(block, scores, each)

    def _count_round(self, block: Block, scores: Matrix, each: Round) -> None:
        rows = each.rows
        compared = scores[:, each.columns] if isinstance(each.columns, slice) else scores.take(each.columns, axis=1)
        low, high = self._limits(rows, block.length)
        sure, reached = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        # A judged item is not counted against itself, whatever its product is, but it is counted against the others.
        gold = self._rows.gold[rows]
        here = np.flatnonzero((gold >= block.start) & (gold < block.stop))
        at_gold = gold[here] - block.start, here
        gold_comparison = compared[at_gold]
        compared[at_gold] = -np.inf
        count_beyond(compared, low, high, sure, reached)
        near = reached - sure
        open_pairs = int(near.sum())
        if open_pairs * _DENSE_SHARE > compared.size:
            at = np.flatnonzero(near)
            sure[at] = 0
            self._count_signs(block, rows[at], self._dense_signs(block, rows[at], compared[:, at], low[at], high[at]))
        elif open_pairs:
            places = np.frombuffer(find_between(compared, low, high), np.int64)
            self._count_pairs(block, rows, *np.divmod(places, len(rows)))
        compared[at_gold] = gold_comparison
        with self._lock:
            self._counts.above[rows] += sure

    def _dense_signs(self, block: Block, rows: Ints, scores: Matrix, low: Matrix, high: Matrix) -> Signs:
        if self._certify:
            return self._block_signs(block, rows)
        signs: Signs = (scores > high).astype(np.int8) - (scores < low)
        return signs

    def _count_pairs(self, block: Block, rows: Ints, item: Ints, place: Ints) -> None:
        """Add the outcome of single open pairs: an item of the block against the judged item at a place of *rows*."""
        signs = self._pair_signs(block, item, rows[place]) if self._certify else np.zeros(len(item), np.int8)
        won, tied = place[signs > 0], signs == 0
        place, item = place[tied], block.start + item[tied]
        by_docid = place[self._ids_after(item, rows[place])]
        by_input = place[item < self._rows.gold[rows[place]]]
        self._add(rows, *(np.bincount(at, minlength=len(rows)) for at in (won, place, by_docid, by_input)))

    def _count_signs(self, block: Block, rows: Ints, signs: Signs) -> None:
        """Add the outcome of a whole block against the judged items of *rows*."""
        gold, own = self._rows.gold[rows], self._rows.own[self._rows.column[rows]]
        for left_out in (gold, own):
            here = np.flatnonzero((left_out >= block.start) & (left_out < block.stop))
            signs[left_out[here] - block.start, here] = -1
        tied = signs == 0
        ranks, numbers = self._items.id_ranks[block.start : block.stop], np.arange(block.start, block.stop)
        by_docid = tied & (ranks[:, None] > self._gold_id_ranks(rows))
        by_input = tied & (numbers[:, None] < gold)
        self._add(rows, *(count_columns(mask) for mask in (signs > 0, tied, by_docid, by_input)))

    def _add(self, rows: Ints, above: Ints, tied: Ints, tied_docid: Ints, tied_input: Ints) -> None:
        with self._lock:
            self._counts.above[rows] += above
            self._counts.tied[rows] += tied
            self._counts.tied_docid[rows] += tied_docid
            self._counts.tied_input[rows] += tied_input

    def _pair_signs(self, block: Block, item: Ints, rows: Ints) -> Signs:
        """Return, for each pair, whether the item beats (1), ties (0) or trails (-1) the judged item."""
        signs = np.empty(len(item), np.int8)
        step = max(1, _PAIR_ELEMENTS // max(1, self._items.dimension))
        for start in range(0, len(item), step):
            part = slice(start, start + step)
            columns = self._rows.column[rows[part]]
            scores = self._pair_scores(columns, block.rows, item[part], block.halves)
            margin = self._bound(columns, block.length, self._close_error) + self._gold_errors[rows[part]]
            signs[part] = signs_outside(scores - self._gold_scores[rows[part]], margin)
        undecided = np.flatnonzero(signs == 0)
        signs[undecided] = self._exact_signs(block, item[undecided], rows[undecided])
        return signs

    def _block_signs(self, block: Block, rows: Ints) -> Signs:
        """Return the same for every item of the block, by a float64 product over the items that differ."""
        first, group = block.distinct
        columns = self._rows.column[rows]
        items, queries = self._wide_items(block.rows[first]), self._wide[columns]
        scores = items @ queries.T
        if self._squared:
            scores -= block.halves[first][:, None]
        margin = self._bound(columns, block.length, self._close_error) + self._gold_errors[rows]
        if not self._is_exact_in_float64(block, rows):
            signs = signs_outside(scores - self._gold_scores[rows], margin)
            item, place = np.nonzero(signs == 0)
            signs[item, place] = self._exact_signs(block, first[item], rows[place])
        else:
            signs = signs_outside(scores - self._gold_scores[rows], np.zeros(len(rows)))
        return signs[group]

    def _is_exact_in_float64(self, block: Block, rows: Ints) -> bool:
        """Return True if all numbers are integers small enough for exact float64 sums: counts, bits, small integers."""
        if self._item_exponent:
            return False
        column = self._rows.column[rows]
        queries = self._queries[column]
        longest = max(
            block.length, float(self._gold_lengths[rows].max()), float(np.abs(queries).max()) * queries.shape[1]
        )
        if longest >= 2.0**25 or not (is_whole(block.rows) and is_whole(queries)):
            return False
        return is_whole(self._gold_vectors(rows))

    def _exact_signs(self, block: Block, item: Ints, rows: Ints) -> Signs:
        signs = np.empty(len(item), np.int8)
        step = max(1, _PAIR_ELEMENTS // max(1, self._items.dimension))
        for start in range(0, len(item), step):
            part = slice(start, start + step)
            queries = self._queries[self._rows.column[rows[part]]]
            gold = self._gold_vectors(rows[part])
            signs[part] = difference_signs(queries, block.rows[item[part]], gold, squared=self._squared)
        return signs

    def _ids_after(self, items: Ints, rows: Ints) -> Mask:
        """Return whether the id of each item comes after that of its judged item."""
        if len(items) <= _FEW_IDS:
            pairs = zip(items.tolist(), rows.tolist(), strict=True)
            return np.array([self._items.name(item) > self._gold_name(row) for item, row in pairs], bool)
        after: Mask = self._items.id_ranks[items] > self._gold_id_ranks(rows)
        return after

    def _gold_name(self, row: int) -> str:
        if self._gold is None:
            return self._items.name(int(self._rows.gold[row]))
        return self._gold.ids[int(self._gold.place[row])]

    def _gold_id_ranks(self, rows: Ints) -> Ints:
        """Return, for each judged item, the rank of the last item id that does not come after its own."""
        if self._gold is None:
            return self._items.id_ranks[self._rows.gold[rows]]
        return self._ranks_of_gold_ids[self._gold.place[rows]]

    @cached_property
    def _ranks_of_gold_ids(self) -> Ints:
        assert self._gold is not None
        in_order = sorted(self._items.ids)
        return np.array([bisect_right(in_order, name) - 1 for name in self._gold.ids], np.int64)
