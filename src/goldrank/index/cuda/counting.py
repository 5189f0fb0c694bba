"""Count on the GPU the items that rank above the gold; the counts equal those of the CPU."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from goldrank.hits import Ints
from goldrank.index.cuda.comparison import PAIRS, PLAIN_SCORES, OpenPairs, QueryOperand
from goldrank.index.cuda.item_store import (
    ROUNDED,
    DigitChunk,
    ItemChunk,
    ItemStore,
    Tensor,
    is_whole,
    length_of,
    times_power,
)
from goldrank.index.exact.counting import JudgedRows, RivalCounts
from goldrank.index.exact.products import growth
from goldrank.index.exact.signs import Matrix, difference_signs
from goldrank.progress import Progress

try:
    import torch

    from goldrank.index.cuda import kernels
except ImportError:
    torch = None

# One of this many tiles is sampled for the number of undecided pairs; above this share, products of digits are faster.
_SAMPLED = 1024
_MANY_OPEN = 0.1
# Judged items that are compared at once, and how many of one query share a place.
_BLOCK_ROWS = 16384
_MOST_SLOTS = 8
_PAIR_BATCH = 2**22
# Up to this many ids are sorted each time they are needed, which is faster than sorting all ids once.
_FEW_IDS = 2**14
# Below this every sum of whole numbers is exact in float64.
_EXACT_LENGTH = 2.0**25


class CudaCounter:
    """Count the rivals of judged items over all items; the counts equal those of `exact.counting.Counter`."""

    def __init__(self, queries: Matrix, store: ItemStore, rows: JudgedRows, *, capacity: int = PAIRS) -> None:
        self._store, self._capacity = store, capacity
        by_column = np.argsort(rows.column, kind="stable")
        starts = range(0, len(by_column), _BLOCK_ROWS)
        self._parts = [by_column[start : start + _BLOCK_ROWS] for start in starts]
        self._queries, self._rows = queries, rows

    def run(self) -> RivalCounts:
        """Count over all items."""
        counts = RivalCounts(*(np.zeros(len(self._rows.gold), np.int64) for _ in range(4)))
        blocks = [CountedRows(self._queries, self._store, self._rows, part) for part in self._parts]
        marks = OpenPairs(self._store, self._capacity)
        with Progress("exact ranks", total=len(self._store.items)) as progress:
            for chunk in self._store.chunks():
                for block in blocks:
                    block.count(chunk, marks)
                progress.advance(len(chunk))
        for part, block in zip(self._parts, blocks, strict=True):
            totals = block.finished()
            counts.above[part], counts.tied[part] = totals[0], totals[1]
            counts.tied_docid[part], counts.tied_input[part] = totals[2], totals[3]
        return counts


class CountedRows:
    """Some judged items: their places beside their queries, their limits, and what has been counted for them."""

    def __init__(self, queries: Matrix, store: ItemStore, rows: JudgedRows, part: Ints) -> None:
        self._store, device = store, store.device
        columns, column = np.unique(rows.column[part], return_inverse=True)
        # Most often all queries are here: then nothing has to be copied.
        self._queries = queries if len(columns) == len(queries) else queries[columns]
        self._column_np = column.reshape(-1)
        self._own, self._gold_np = rows.own[columns][self._column_np], rows.gold[part]
        place, slot = _places(self._column_np, len(columns))
        column_of_place = np.zeros(int(place.max()) + 1, np.int64)
        column_of_place[place] = self._column_np
        self._operand = operand = QueryOperand(self._queries, column_of_place, store)
        self._slots = int(slot.max()) + 1
        self._column, self._gold = (torch.from_numpy(v).to(device) for v in (self._column_np, self._gold_np))
        self._gold_vectors = store.take(self._gold_np)
        self._row_at = torch.full((self._slots * operand.places,), -1, dtype=torch.int64, device=device)
        at = torch.from_numpy(slot * operand.places + place).to(device)
        self._row_at[at] = torch.arange(len(part), device=device)
        self._place, self._at = torch.from_numpy(place).to(device), at
        self._score_gold(self._place, at)
        slots_of = np.zeros(operand.places, np.int32)
        np.maximum.at(slots_of, place, (slot + 1).astype(np.int32))
        unit = store.tile.rows if store.tile else 1
        self._slots_of_tile = torch.from_numpy(slots_of.reshape(-1, unit).max(axis=1)).to(device)
        self._sure = torch.zeros((self._slots, operand.places), dtype=torch.int32, device=device)
        self._counts = torch.zeros((4, len(part)), dtype=torch.int64, device=device)

    def _score_gold(self, place: Tensor, at: Tensor) -> None:
        """Score the gold: in the units of the products, with the bound of the error, and in float64."""
        store, operand, rows = self._store, self._operand, torch.arange(len(at), device=at.device)
        vectors = self._gold_vectors
        self._gold_scores = store.pair_scores(vectors, rows, operand.raw, self._column, squared=store.squared)
        self._query_lengths, self._gold_lengths = length_of(operand.raw.double()), length_of(vectors.double())
        self._close = growth(self._queries.shape[1] + 16, 2.0**-53)
        centre, size = self._gold_scores, self._query_lengths[self._column] * self._gold_lengths
        if store.squared:
            centre = store.pair_scores(vectors, rows, operand.raw, self._column, squared=False)
            centre = centre - 0.5 * store.pair_scores(vectors, rows, vectors, rows, squared=False)
            size = size + self._gold_lengths.square()
        unit = -operand.exponents[place] - store.exponent
        centre, error = times_power(centre, unit), times_power(self._close * size, unit)
        self._centre = torch.full((self._slots * operand.places,), torch.inf, dtype=torch.float64, device=at.device)
        self._slack = torch.zeros_like(self._centre)
        self._centre[at] = centre
        self._slack[at] = ROUNDED * error + centre.abs() * 2.0**-22 + 2.0**-60
        both = torch.stack((self._centre.view(self._slots, -1), self._slack.view(self._slots, -1)), dim=1)
        self._limits = both.reshape(2 * self._slots, -1).float()

    def count(self, chunk: ItemChunk, marks: OpenPairs) -> None:
        """Count over one chunk of items."""
        operand, unit = self._operand, self._store.tile.items if self._store.tile else 0
        tiles = len(chunk) // unit if unit else 0
        digits = self._digits(chunk, marks, tiles // _SAMPLED)
        for first, last in marks.stretches(self._slots * operand.places, 0, tiles):
            sure, slots = torch.zeros_like(self._sure), self._slots_of_tile
            if digits is None:
                bits = marks.compare(chunk, operand, self._limits, slots, sure, first, last, collect=False)
            else:
                limits = self._digit_limits(digits.scale)
                bits = marks.compare_digits(digits, operand.digits, limits, slots, sure, first, last)
            self._add_sure(sure)
            rows = chunk.rows[first * unit : last * unit]
            refine = partial(self._refine, rows) if self._store.dtype == torch.float32 else None
            for item, place in marks.pairs_of(bits, refine):
                self._look_closer(chunk, item + first * unit, place)
        step = max(1, PLAIN_SCORES // operand.places)
        for first in range(tiles * unit, len(chunk), step):
            self._count_plain(chunk, first, min(first + step, len(chunk)))

    def _digits(self, chunk: ItemChunk, marks: OpenPairs, sample: int) -> DigitChunk | None:
        """Return the items as digits if some tiles show that float16 products would leave many pairs open."""
        for first, last in marks.stretches(self._slots * self._operand.places, 0, sample):
            sure = torch.zeros_like(self._sure)
            bits = marks.compare(
                chunk, self._operand, self._limits, self._slots_of_tile, sure, first, last, collect=False
            )
            if int(torch.count_nonzero(bits)) > _MANY_OPEN * bits.numel():
                return self._store.digits
        return None

    def _digit_limits(self, scale: float) -> Tensor:
        """Return the limits in the units of products of high digits; `_limits` are in those of float16 products."""
        unit = self._operand.digits.scale[self._place] * (scale * 2.0**-16)
        error = self._close * self._query_lengths[self._column] * self._gold_lengths
        centre, slack = torch.full_like(self._centre, torch.inf), torch.zeros_like(self._centre)
        centre[self._at] = self._gold_scores * unit
        # Half a unit is lost where the lower products are rounded to it.
        slack[self._at] = ROUNDED * error * unit + centre[self._at].abs() * 2.0**-22 + 0.51
        both = torch.stack((centre.view(self._slots, -1), slack.view(self._slots, -1)), dim=1)
        return both.reshape(2 * self._slots, -1).float()

    @cached_property
    def _refined_limits(self) -> tuple[Tensor, float]:
        """The limits of undecided float32 scores, lower and upper for each row, and the relative error of a score."""
        store, gold, dimension = self._store, self._gold_scores, self._queries.shape[1]
        error, lengths = growth(kernels.refined_terms(dimension), 2.0**-24), self._query_lengths[self._column]
        if store.squared:
            margin = 2 * self._close * gold.abs()
        else:
            margin = error * lengths * store.longest + self._close * lengths * self._gold_lengths
        # Products below the normal float32 numbers may be lost, and the limits themselves are rounded.
        margin = ROUNDED * margin + gold.abs() * 2.0**-22 + (dimension + 8) * 2.0**-125
        limits = torch.full((2, len(self._row_at)), torch.inf, dtype=torch.float64, device=gold.device)
        used = self._row_at >= 0
        row = self._row_at[used]
        limits[0, used], limits[1, used] = (gold - margin)[row], (gold + margin)[row]
        return limits.float(), error if store.squared else 0.0

    def _refine(self, items: Tensor, bits: Tensor) -> None:
        """Decide what float32 scores can decide among the marked pairs of some items."""
        limits, relative = self._refined_limits
        sure = torch.zeros_like(self._sure)
        query_of_row = self._column[self._row_at.clamp(min=0)]
        kernels.refine(
            bits, query_of_row, self._operand.raw, items, limits, relative, sure.view(-1), squared=self._store.squared
        )
        self._add_sure(sure)

    def _count_plain(self, chunk: ItemChunk, first: int, last: int) -> None:
        operand, scores = self._operand, self._operand.plain_scores(chunk, first, last)
        margins = operand.margins(chunk.spans.amax(dim=1), plain=True)
        sure = torch.zeros_like(self._sure)
        for slot, (centre, slack) in enumerate(
            zip(self._centre.view(self._slots, -1), self._slack.view(self._slots, -1), strict=True)
        ):
            low, high = ((centre + sign * (margins + slack)).to(scores.dtype)[:, None] for sign in (-1, 1))
            over = scores > high
            sure[slot] = over.sum(dim=1)
            place, item = torch.nonzero((scores >= low) & ~over, as_tuple=True)
            self._look_closer(chunk, item + first, place + slot * operand.places)
        self._add_sure(sure)

    def _add_sure(self, sure: Tensor) -> None:
        flat, here = sure.view(-1).long(), self._row_at >= 0
        self._counts[0].index_add_(0, self._row_at[here], flat[here])

    def _look_closer(self, chunk: ItemChunk, item: Tensor, place: Tensor) -> None:
        for start in range(0, len(item), _PAIR_BATCH):
            some, row = (
                item[start : start + _PAIR_BATCH].long(),
                self._row_at[place[start : start + _PAIR_BATCH].long()],
            )
            rivals = torch.nonzero(chunk.start + some != self._gold[row])[:, 0]
            some, row = some[rivals], row[rivals]
            self._add_pairs(chunk.rows, some, chunk.start + some, row, 1)

    def _add_pairs(self, vectors: Tensor, at: Tensor, number: Tensor, row: Tensor, weight: int) -> None:
        """Add, or with a *weight* of -1 take back, the outcome of items against judged items."""
        signs = self._signs(vectors, at, row)
        self._counts[0] += weight * torch.bincount(row[signs > 0], minlength=self._counts.shape[1])
        tied = signs == 0
        number, tied_row = number[tied], row[tied]
        if not len(tied_row):
            return
        gold = self._gold[tied_row]
        by_docid = self._ids_after(number, gold)
        for kind, rows in enumerate((tied_row, tied_row[by_docid], tied_row[number < gold]), 1):
            self._counts[kind] += weight * torch.bincount(rows, minlength=self._counts.shape[1])

    def _signs(self, vectors: Tensor, at: Tensor, row: Tensor) -> Tensor:
        """Return whether an item beats (1), ties (0) or trails (-1) a judged item in exact arithmetic."""
        column = self._column[row]
        scores = self._store.pair_scores(vectors, at, self._operand.raw, column, squared=self._store.squared)
        gold = self._gold_scores[row]
        if self._store.squared:
            size = scores.abs() + gold.abs()
        else:
            size = self._query_lengths[column] * (self._store.longest + self._gold_lengths[row])
        margin = self._close * size + (self._queries.shape[1] + 8) * 2.0**-1000
        signs = (scores - gold > margin).to(torch.int8) - (scores - gold < -margin).to(torch.int8)
        undecided = torch.nonzero(signs == 0)[:, 0]
        step = max(1, PLAIN_SCORES // max(1, vectors.shape[1]))
        for start in range(0, len(undecided), step):
            some = undecided[start : start + step]
            signs[some] = self._exact_signs(vectors[at[some]], row[some], scores[some] - gold[some])
        return signs

    def _exact_signs(self, items: Tensor, row: Tensor, differences: Tensor) -> Tensor:
        """Return exact signs: equal vectors tie, sums of small whole numbers are exact, the CPU decides the rest."""
        gold, queries = self._gold_vectors[row], self._operand.raw[self._column[row]]
        signs = torch.sign(differences).to(torch.int8)
        equal = (items == gold).all(dim=1)
        signs[equal] = 0
        exact = torch.zeros_like(equal)
        longest = max(self._store.longest, float(self._query_lengths.max()))
        if longest < _EXACT_LENGTH:
            exact = is_whole(items) & is_whole(gold) & is_whole(queries)
        left = torch.nonzero(~(equal | exact))[:, 0]
        if len(left):
            rows = [matrix[left].cpu().numpy() for matrix in (queries, items, gold)]
            decided = difference_signs(*rows, squared=self._store.squared)
            signs[left] = torch.from_numpy(decided).to(signs.device)
        return signs

    def _ids_after(self, number: Tensor, gold: Tensor) -> Tensor:
        """Return whether the id of an item comes after that of the judged item; only ids that occur are sorted."""
        named, within = torch.unique(torch.cat((number, gold)), return_inverse=True)
        numbers, items = named.cpu().numpy(), self._store.items
        if len(numbers) > _FEW_IDS:
            ranks = items.id_ranks[numbers]
        else:
            names = [items.name(item) for item in numbers.tolist()]
            ranks = np.empty(len(names), np.int64)
            ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        ranks = torch.from_numpy(ranks).to(number.device)[within]
        return ranks[: len(number)] > ranks[len(number) :]

    def finished(self) -> Ints:
        """Return the four counts of each judged item, without the excluded item, which was counted like any other."""
        rows = np.flatnonzero(self._own >= 0)
        if len(rows):
            numbers = torch.from_numpy(self._own[rows]).to(self._store.device)
            at, row = torch.arange(len(rows), device=numbers.device), torch.from_numpy(rows).to(numbers.device)
            self._add_pairs(self._store.take(self._own[rows]), at, numbers, row, -1)
        counts: Ints = self._counts.cpu().numpy()
        return counts


def _places(column: Ints, columns: int) -> tuple[Ints, Ints]:
    """Assign each judged item a place (its query) and a slot there; queries with most items come first."""
    counts = np.bincount(column, minlength=columns)
    if counts.max(initial=0) == 1:
        return column, np.zeros(len(column), np.int64)
    first = np.argsort(-counts, kind="stable")
    needed = -(-counts // _MOST_SLOTS)
    starts = np.empty(columns, np.int64)
    starts[first] = np.cumsum(needed[first]) - needed[first]
    by_column = np.argsort(column, kind="stable")
    nth = np.empty(len(column), np.int64)
    nth[by_column] = np.arange(len(column)) - np.repeat(np.cumsum(counts) - counts, counts)
    return starts[column] + nth // _MOST_SLOTS, nth % _MOST_SLOTS
