"""Items on one GPU: stored there if they fit, else streamed from main memory in chunks."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from goldrank.hits import Ints
from goldrank.index.exact.signs import Matrix
from goldrank.index.exact.vectors import VectorTable, spread

try:
    import torch

    from goldrank.index.cuda import kernels
except ImportError:
    torch = None

Tensor = Any
"""A torch tensor; torch is not installed on every machine that checks types."""
_PREPARED_ROWS = 2**16
_CHUNK_BYTES = 2**29
# Rounding to float16 leaves room for items this much longer than the shortest that keep all bits.
ITEM_BITS = 14
DIGIT_RANGE = 127 * 256
"""The largest number of two digits; its high digit still fits in an int8 after rounding."""
# Covers the rounding of the few float32 operations that make up a limit.
ROUNDED = 1.0001


@dataclass(frozen=True)
class ItemChunk:
    """Items on the device: as stored, as multiplied, half their squared lengths, and the errors of each tile."""

    start: int
    rows: Tensor
    operand: Tensor
    halves: Tensor
    spans: Tensor
    """For each tile the largest ‖x‖, ‖x - x'‖ and ‖x‖²/2, in the units of the scaled items."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class DigitRows:
    """Vectors as integers of two digits in base 256, with the lengths that bound the error of their products.

    A number x is taken as (256 h + m) / scale. The products h·h', h·m' and m·h' are exact in int32, so a score lacks
    only what was rounded away from either vector, and m·m'.
    """

    operand: Tensor
    """int8 rows: all high digits, then all low digits, each padded to whole steps."""
    scale: Tensor
    lengths: Tensor
    """For each row ‖x‖, ‖x - x'‖ and ‖m‖, times the scale."""

    @staticmethod
    def of(rows: Tensor, scale: Tensor, step: int) -> DigitRows:
        """Round float64 rows to digits with the scale of each row."""
        width = -(-rows.shape[1] // step) * step
        operand = torch.zeros((len(rows), 2 * width), dtype=torch.int8, device=rows.device)
        scaled = rows * scale[:, None]
        whole = torch.round(scaled)
        high = torch.floor((whole + 128) / 256)
        low = whole - 256 * high
        operand[:, : rows.shape[1]], operand[:, width : width + rows.shape[1]] = high.to(torch.int8), low.to(torch.int8)
        lengths = torch.stack([length_of(scaled), length_of(scaled - whole), length_of(low)])
        return DigitRows(operand, scale, lengths)


@dataclass(frozen=True)
class DigitChunk:
    """The items of whole tiles as `DigitRows` of one scale, and for each tile the largest of their lengths."""

    operand: Tensor
    spans: Tensor
    scale: float


class ItemStore:
    """The items of an index on a device, or streamed through it in chunks."""

    def __init__(
        self,
        items: VectorTable,
        longest: float,
        device: Any,
        memory: int | None,
        tile: kernels.Tile | None,
        threads: int,
        *,
        squared: bool,
    ) -> None:
        self.items, self.device, self.tile, self.squared, self.threads = items, device, tile, squared, threads
        self.longest = longest
        self.exponent = int(np.frexp(longest)[1]) - ITEM_BITS
        self.dtype = torch.float32 if items.dtype == np.float32 else torch.float64
        step = tile.step if tile else 64
        self.depth = -(-max(items.dimension, 1) // step) * step
        width = items.dimension * items.dtype.itemsize
        budget = memory if memory is not None else _free_memory(device)
        self._whole: ItemChunk | None = None
        self._source: _HostRows | None = None
        if len(items) * (width + 2 * self.depth + 8) <= budget:
            self._whole = self._resident()
        else:
            unit = tile.items if tile else 256
            fitting = min(budget // (2 * width + 2 * self.depth + 8), _CHUNK_BYTES // max(width, 1))
            self._size = max(unit, int(fitting) // unit * unit)

    @property
    def resident(self) -> bool:
        """Whether all items are on the device at once."""
        return self._whole is not None

    def chunks(self) -> Iterator[ItemChunk]:
        """Yield all items in chunks; a chunk is valid until the next is requested."""
        if self._whole is not None:
            yield self._whole
        elif self.device.type == "cuda":
            yield from self._streamed()
        else:
            for start in range(0, len(self.items), self._size):
                rows = self.items.read(start, min(start + self._size, len(self.items)))
                yield self.prepared(start, torch.from_numpy(np.array(rows)))

    def pair_scores(self, left: Tensor, left_row: Tensor, right: Tensor, right_row: Tensor, *, squared: bool) -> Tensor:
        """Return the float64 scores of pairs of rows."""
        return kernels.pair_scores(left, left_row, right, right_row, squared=squared, plain=self.tile is None)

    def greatest_spans(self) -> Tensor:
        """Return upper bounds of the spans of all tiles; measured if all items are on the device, else derived."""
        if self._whole is not None:
            return self._whole.spans.amax(dim=1)
        length = ROUNDED * self.longest * 2.0**-self.exponent
        lost = 2.0**-11 * length + 2.0**-25 * math.sqrt(self.items.dimension)
        return torch.tensor([length, lost, 0.5 * length**2], dtype=torch.float64, device=self.device)

    @cached_property
    def digits(self) -> DigitChunk | None:
        """All items as integers of two digits; None if they are streamed or if there is no room for the integers."""
        if self._whole is None or self.tile is None or self.squared or not 0 < self.items.dimension <= 2**15:
            return None
        rows, unit, step = self._whole.rows, self.tile.items, 2 * self.tile.step
        width = -(-rows.shape[1] // step) * step
        if self.longest == 0 or 2 * width * len(rows) > _free_memory(self.device):
            return None
        starts = range(0, len(rows) // unit * unit, _PREPARED_ROWS // unit * unit)
        peak = max((float(rows[start : start + starts.step].abs().max()) for start in starts), default=0.0)
        if peak == 0:
            return None
        operand = torch.empty((len(rows) // unit * unit, 2 * width), dtype=torch.int8, device=self.device)
        spans = torch.empty((3, len(operand) // unit), dtype=torch.float32, device=self.device)
        for start in starts:
            stop = min(start + starts.step, len(operand))
            scale = torch.full((stop - start,), DIGIT_RANGE / peak, dtype=torch.float64, device=self.device)
            part = DigitRows.of(rows[start:stop].double(), scale, step)
            operand[start:stop] = part.operand
            longest = part.lengths.view(3, -1, unit).amax(dim=2)
            spans[:, start // unit : stop // unit] = (ROUNDED * longest).float()
        return DigitChunk(operand, spans, DIGIT_RANGE / peak)

    def take(self, numbers: Ints) -> Tensor:
        """Return the vectors of items with these numbers, on the device."""
        if self._whole is not None:
            return self._whole.rows[torch.from_numpy(numbers).to(self.device)]
        return torch.from_numpy(self.items.take(numbers)).to(self.device)

    def prepared(self, start: int, rows: Tensor, operand: Tensor | None = None) -> ItemChunk:
        """Round and measure a chunk; *operand* is memory that may be used for it."""
        count, unit = len(rows), self.tile.items if self.tile else 256
        tiles = -(-max(count, 1) // unit)
        if operand is None:
            shape = (count, self.depth) if self.tile else (0, self.depth)
            operand = torch.zeros(shape, dtype=torch.float16, device=self.device)
        lengths, lost, halves = (torch.zeros(tiles * unit, dtype=torch.float32, device=self.device) for _ in range(3))
        # A bound of the error of the sums of squares; squares that underflow are smaller still.
        over = ROUNDED + rows.shape[1] * 2.0**-22
        for first in range(0, count, _PREPARED_ROWS):
            part = slice(first, min(first + _PREPARED_ROWS, count))
            scaled = rows[part] * 2.0**-self.exponent
            lengths[part] = (over * torch.linalg.vector_norm(scaled, dim=1) + 2.0**-50).float()
            if self.squared:
                halves[part] = (0.5 * scaled.double().square().sum(dim=1)).float()
            if self.tile:
                rounded = scaled.half()
                operand[part, : rows.shape[1]] = rounded
                scaled -= rounded
                lost[part] = (over * torch.linalg.vector_norm(scaled, dim=1) + 2.0**-50).float()
        spans = torch.stack([values.view(tiles, unit).amax(dim=1) for values in (lengths, lost, halves)])
        return ItemChunk(start, rows, operand, halves, spans)

    def _resident(self) -> ItemChunk:
        rows = torch.empty((len(self.items), self.items.dimension), dtype=self.dtype, device=self.device)
        starts = range(0, len(self.items), _PREPARED_ROWS)
        # A few at a time: blocks that were read stay in memory until they are sent.
        for group in range(0, len(starts), self.threads):
            some = starts[group : group + self.threads]
            for start, part in zip(some, spread(self._read, some, self.threads), strict=True):
                rows[start : start + len(part)] = torch.from_numpy(part)
        return self.prepared(0, rows)

    def _read(self, start: int, size: int = _PREPARED_ROWS) -> Matrix:
        rows = self.items.read(start, min(start + size, len(self.items)))
        return rows if rows.flags.writeable else rows.copy()

    def _streamed(self) -> Iterator[ItemChunk]:
        """Copy the next chunk while this one is processed; two buffers on the device alternate."""
        shape = (self._size, self.items.dimension)
        places = [torch.empty(shape, dtype=self.dtype, device=self.device) for _ in range(2)]
        operand = torch.zeros((self._size, self.depth), dtype=torch.float16, device=self.device)
        source = self._source = self._source or _HostRows(self.items, self._size, self.dtype, self.threads)
        copies, work = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        copied = [torch.cuda.Event() for _ in range(2)]
        starts = list(range(0, len(self.items), self._size))
        copies.wait_stream(work)

        def send(turn: int) -> None:
            rows = source.rows(turn, starts[turn], copied[turn % 2])
            with torch.cuda.stream(copies):
                # The work on this buffer is done: its results were read before the next chunk was requested.
                copies.wait_stream(work)
                places[turn % 2][: len(rows)].copy_(rows, non_blocking=True)
                copied[turn % 2].record(copies)

        send(0)
        for turn, start in enumerate(starts):
            if turn + 1 < len(starts):
                send(turn + 1)
            work.wait_event(copied[turn % 2])
            count = min(self._size, len(self.items) - start)
            yield self.prepared(start, places[turn % 2][:count], operand[:count])


class _HostRows:
    """Items in page-locked memory, which the device can copy itself: in place, or in two alternating buffers."""

    def __init__(self, items: VectorTable, size: int, dtype: Any, threads: int) -> None:
        self._items, self._size, self._threads = items, size, threads
        plain = items.plain
        self._pinned = plain if plain is not None and plain.flags.c_contiguous and _pin(plain) else None
        if self._pinned is not None:
            # The rows may outlive this store, and must not stay page-locked.
            weakref.finalize(self, torch.cuda.cudart().cudaHostUnregister, self._pinned.ctypes.data)
        else:
            shape = (size, items.dimension)
            self._places = [torch.empty(shape, dtype=dtype, pin_memory=True) for _ in range(2)]

    def rows(self, turn: int, start: int, copied: Any) -> Tensor:
        """Return the chunk that starts there; *copied* is the event after which its buffer is free."""
        stop = min(start + self._size, len(self._items))
        if self._pinned is not None:
            return torch.from_numpy(self._pinned[start:stop])
        copied.synchronize()
        place = self._places[turn % 2][: stop - start]
        step = -(-(stop - start) // self._threads)

        def fill(first: int) -> None:
            last = min(first + step, stop - start)
            place[first:last].numpy()[:] = self._items.read(start + first, start + last)

        list(spread(fill, range(0, stop - start, step), self._threads))
        return place


def _pin(rows: Matrix) -> bool:
    """Page-lock the rows in place; return False if the system does not allow it (as for most memory-mapped files)."""
    return bool(
        rows.flags.writeable and int(torch.cuda.cudart().cudaHostRegister(rows.ctypes.data, rows.nbytes, 0)) == 0
    )


def _free_memory(device: Any) -> int:
    if device.type != "cuda":
        return 2**62
    return int(0.8 * torch.cuda.mem_get_info(device)[0])


def length_of(rows: Tensor) -> Tensor:
    """Return an upper bound of the length of each row."""
    return 1.000001 * torch.linalg.vector_norm(rows, dim=1)


def times_power(values: Tensor, exponents: Tensor | int) -> Tensor:
    """Return float64 values times powers of two, without rounding; the scales are small enough."""
    if isinstance(exponents, int):
        return values * math.ldexp(1.0, exponents)
    # Build the power of two from its exponent bits: a power function need not be exact.
    return values * ((exponents.long() + 1023) << 52).view(torch.float64)


def is_whole(rows: Tensor) -> Tensor:
    """Return, for each row, whether all its numbers are integers."""
    return (torch.round(rows) == rows).all(dim=1)
