"""Queries on the GPU, the error bounds of their scores, and the pairs that these leave undecided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from goldrank.hits import Ints
from goldrank.index.cuda.item_store import (
    DIGIT_RANGE,
    ROUNDED,
    DigitChunk,
    DigitRows,
    ItemChunk,
    ItemStore,
    Tensor,
    length_of,
    times_power,
)
from goldrank.index.exact.products import growth
from goldrank.index.exact.signs import Matrix

try:
    import torch

    from goldrank.index.cuda import kernels
except ImportError:
    torch = None

PAIRS = 2**25
"""The number of undecided pairs that are refined at a time."""
PLAIN_SCORES = 2**25
"""The number of scores that are held at a time if no kernel compares them when they are computed."""
# The most bits for undecided pairs; at most 1/32 of the memory of the device is used for them.
_MOST_BITS = 2**35
TENSOR_UNIT = 1.25 * 2.0**-23
"""What a tensor core may lose of a sum for each of its terms; see `goldrank.index.cuda.index`."""


class QueryOperand:
    """Queries on the device, scaled and rounded, with the error bounds of their scores."""

    def __init__(self, queries: Matrix, columns: Ints, store: ItemStore) -> None:
        self.store, device = store, store.device
        self.count = len(columns)
        unit = store.tile.rows if store.tile else 1
        self.places = -(-max(self.count, 1) // unit) * unit
        self.raw = _upload(torch.from_numpy(queries if queries.flags.writeable else queries.copy()), device)
        self._columns = columns
        own = self._own()
        peaks = own.abs().amax(dim=1) if queries.shape[1] else own.sum(dim=1)
        exponents = torch.frexp(peaks)[1].long()
        if store.squared:
            # Half the square of an item has the item's scale twice: with this its share is never above 1.
            exponents = exponents.clamp(min=store.exponent)
        self.exponents = exponents
        scaled = times_power(own, -exponents[:, None])
        rounded = scaled.half()
        self.operand = torch.zeros((self.places, store.depth), dtype=torch.float16, device=device)
        self.operand[:, : queries.shape[1]] = rounded
        length, lost = length_of(rounded.double()), length_of(scaled - rounded.double())
        self.share = times_power(torch.ones_like(length), store.exponent - exponents) * store.squared
        gamma = growth(queries.shape[1] + 16, TENSOR_UNIT) + 2.0**-22
        rough = torch.stack([lost + 1.01 * gamma * length, length, self.share, self.share * 2.0**-21])
        self.terms = (ROUNDED * rough).float()
        self.terms[2] = self.share.float()

    def _own(self) -> Tensor:
        """Return the query of each place, in float64."""
        if self.count == len(self.raw) == self.places and (self._columns == np.arange(self.count)).all():
            return self.raw.double()
        own = torch.zeros((self.places, self.raw.shape[1]), dtype=torch.float64, device=self.raw.device)
        own[: self.count] = self.raw[torch.from_numpy(self._columns).to(self.raw.device)].double()
        return own

    @cached_property
    def digits(self) -> DigitRows:
        """The query of each place as integers of two digits, each with a scale of its own."""
        own, tile = self._own(), self.store.tile
        assert tile is not None
        peaks = own.abs().amax(dim=1)
        return DigitRows.of(own, DIGIT_RANGE / torch.where(peaks > 0, peaks, 1.0), 2 * tile.step)

    # Used for the items after the last whole tile, and if there are no tiles; usually a small part of the work.
    @cached_property
    def _plain(self) -> Tensor:
        return times_power(self._own(), -self.exponents[:, None] - self.store.exponent).to(self.store.dtype)

    @cached_property
    def _plain_terms(self) -> Tensor:
        kind = torch.finfo(self.store.dtype)
        full = length_of(times_power(self._own(), -self.exponents[:, None]))
        gamma = growth(self.raw.shape[1] + 16, kind.eps)
        return torch.stack([gamma * full, torch.zeros_like(full), self.share, self.share * 8 * kind.eps])

    def margins(self, spans: Tensor, *, plain: bool) -> Tensor:
        """Return the error bound of each query's scores for items with these spans (‖x‖, ‖x - x'‖, ‖x‖²/2)."""
        terms, wide = self._plain_terms if plain else self.terms.double(), spans.double()
        return ROUNDED * (terms[0] * wide[0] + terms[1] * wide[1] + terms[3] * wide[2]) + 2.0**-60

    def plain_scores(self, chunk: ItemChunk, first: int, last: int) -> Tensor:
        """Return the scores of some items in the precision of the vectors."""
        rows = chunk.rows[first:last]
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            scores = self._plain @ rows.T
        finally:
            torch.set_float32_matmul_precision(before)
        if self.store.squared:
            halves = 0.5 * (rows.double() * 2.0**-self.store.exponent).square().sum(dim=1)
            scores -= (self.share[:, None] * halves[None, :]).to(scores.dtype)
        return scores


class OpenPairs:
    """Bits for the pairs that the kernels leave open, and room for the pairs that are read from them."""

    def __init__(self, store: ItemStore, capacity: int) -> None:
        self._store = store
        # There must be room for a whole row, however many of its bits are set.
        self._most = _MOST_BITS
        if store.device.type == "cuda":
            self._most = min(_MOST_BITS, torch.cuda.get_device_properties(store.device).total_memory // 4)
        room = max(capacity, min(len(store.items), self._most))
        self._pairs = kernels.Pairs.empty(room if store.tile else 0, store.device)
        self._bits = torch.empty(0, dtype=torch.int32, device=store.device)

    def stretches(self, rows: int, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Split the tiles *first* to *last* into ranges whose bits fit, for so many rows of them."""
        step = max(1, self._most // (rows * self._store.tile.items)) if self._store.tile else 1
        return ((start, min(start + step, last)) for start in range(first, last, step))

    def compare(
        self,
        chunk: ItemChunk,
        queries: QueryOperand,
        limits: Tensor,
        slots: Tensor,
        above: Tensor,
        first: int,
        last: int,
        *,
        collect: bool,
    ) -> Tensor:
        """Return the bits of the pairs between the limits, for a range of tiles."""
        tile, store = self._store.tile, self._store
        assert tile is not None
        bits = self._room(above.numel(), (last - first) * (tile.items // 32))
        terms = torch.zeros_like(queries.terms) if collect else queries.terms
        terms[2] = queries.terms[2]
        kernels.compare_tiles(
            queries.operand, chunk.operand, chunk.halves, chunk.spans, terms, limits, slots, above, bits, first, last,
            tile, squared=store.squared, collect=collect,
        )  # fmt: skip
        return bits

    def compare_digits(
        self, items: DigitChunk, queries: DigitRows, limits: Tensor, slots: Tensor, above: Tensor, first: int, last: int
    ) -> Tensor:
        """Return the bits of the pairs between the limits, for a range of tiles, by products of digits."""
        tile = self._store.tile
        assert tile is not None
        bits = self._room(above.numel(), (last - first) * (tile.items // 32))
        # What a product of rounded rows can lack, in the units of its high digits; see `DigitRows`.
        length, lost, low = queries.lengths * 2.0**-16
        terms = (ROUNDED * torch.stack([lost + 2.0**-23 * length, length + lost, low])).float()
        kernels.compare_tiles(
            queries.operand, items.operand, items.spans, items.spans, terms, limits, slots, above, bits, first, last,
            replace(tile, step=2 * tile.step), squared=False, collect=False,
        )  # fmt: skip
        return bits

    def _room(self, rows: int, words: int) -> Tensor:
        if self._bits.numel() < rows * words:
            self._bits = torch.empty(rows * words, dtype=torch.int32, device=self._store.device)
        return self._bits[: rows * words].view(rows, words)

    def pairs_of(self, bits: Tensor, refine: kernels.Refine | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """Return the items, counted from the first of the range, and the rows of the set bits; many are refined."""
        return kernels.marked_pairs(bits, self._pairs, refine=refine)


def _upload(rows: Tensor, device: Any) -> Tensor:
    """Copy rows to the device, to a GPU by way of page-locked memory, which torch keeps: that takes half the time."""
    if torch.device(device).type != "cuda":
        return rows.to(device)
    return torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True).copy_(rows).to(device, non_blocking=True)
