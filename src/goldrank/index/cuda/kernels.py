"""The GPU kernels of exact ranks: compare all scores with limits, and compute single scores in float64.

Products of float16 numbers are summed in float32 on the tensor cores; scores stay in registers unless they are close
to a limit. Every kernel has a slower implementation in plain torch, with the same final result, for systems without
Triton. With TRITON_INTERPRET=1 the kernels run on a CPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

try:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError:
    triton = None

LANES = 8
"""The number of interleaved partial sums of a float64 score; the same as on the CPU, so that bits agree."""
Refine = Callable[[Any], None]
# The most numbers in a temporary tensor of the plain torch implementation.
_PLAIN_ELEMENTS = 2**25


@dataclass(frozen=True)
class Tile:
    """The shape of one program: query rows, items, dimensions per step; and how Triton schedules it."""

    rows: int = 128
    items: int = 256
    step: int = 64
    warps: int = 8
    stages: int = 3
    programs: int = 1
    """Programs per multiprocessor, which process many tiles and prefetch the next while they compare one."""
    group: int = 32
    """The number of query tiles that are processed before the next item tile, so that both stay in the cache."""


@dataclass(frozen=True)
class Pairs:
    """Buffers for the undecided pairs: the non-zero words of the bit masks, then the pairs of their set bits.

    ``total`` is the number of all words or pairs, including those that did not fit.
    """

    at: Any
    word: Any
    item: Any
    place: Any
    total: Any

    @staticmethod
    def empty(capacity: int, device: Any) -> Pairs:
        """Allocate buffers for *capacity* pairs."""
        at, word, item, place = (torch.empty(capacity, dtype=torch.int32, device=device) for _ in range(4))
        return Pairs(at, word, item, place, torch.zeros(1, dtype=torch.int64, device=device))


def available(device: Any) -> bool:
    """Return True if the kernels run for tensors of this device."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return triton is not None and (torch.device(device).type == "cuda" or interpreted)


def _kernel(function: Any) -> Any:
    return triton.jit(function)


if triton is not None:

    @_kernel
    def _compare(  # type: ignore[no-untyped-def]
        scores, margin, limits, slot, row, column, places, above, bits, words,
        COLLECT: tl.constexpr, ROWS: tl.constexpr, ITEMS: tl.constexpr,
    ):  # fmt: skip
        """Count the scores above the limits of one slot, and mark those between them, a bit for each item."""
        centre = tl.load(limits + 2 * slot * places + row)
        width = margin + tl.load(limits + (2 * slot + 1) * places + row)
        # By words from here on: to rearrange scores costs nothing, to rearrange the outcome of comparisons does.
        scores = tl.reshape(scores, (ROWS, ITEMS // 32, 32))
        each = (tl.full((32,), 1, tl.int32) << tl.arange(0, 32))[None, None, :]
        word = tl.sum(tl.where(scores >= (centre - width)[:, None, None], each, 0), axis=2)
        if not COLLECT:
            beyond = tl.sum(tl.where(scores > (centre + width)[:, None, None], each, 0), axis=2)
            # What is beyond the upper limit has reached the lower one.
            word -= beyond
            count = beyond - ((beyond >> 1) & 0x55555555)
            count = (count & 0x33333333) + ((count >> 2) & 0x33333333)
            count = (((count + (count >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24
            sure = tl.sum(count, axis=1)
            tl.atomic_add(above + slot * places + row, sure, mask=sure > 0, sem="relaxed")
        start = (slot * places + row).to(tl.int64) * words + column * (ITEMS // 32)
        tl.store(bits + start[:, None] + tl.arange(0, ITEMS // 32)[None, :], word)

    @_kernel
    def _digit_products(  # type: ignore[no-untyped-def]
        queries, items, row, item, DEPTH: tl.constexpr, ROWS: tl.constexpr, ITEMS: tl.constexpr, STEP: tl.constexpr
    ):
        """Return the products of two-digit numbers in units of 2**16, without the product of the low digits."""
        scores = tl.zeros((ROWS, ITEMS), tl.int32)
        # The high digits of one side times the low digits of the other, which the second half of a row contains.
        for start in range(0, DEPTH, STEP):
            left, right = queries.load([row, start]), items.load([item, (start + DEPTH // 2) % DEPTH])
            scores = tl.dot(left, right.T, scores, out_dtype=tl.int32)
        scores = (scores + 128) >> 8
        for start in range(0, DEPTH // 2, STEP):
            left, right = queries.load([row, start]), items.load([item, start])
            scores = tl.dot(left, right.T, scores, out_dtype=tl.int32)
        return scores.to(tl.float32)

    @_kernel
    def _count_kernel(  # type: ignore[no-untyped-def]
        queries, items, halves, spans, terms, limits, slots, above, bits, first, last, tiles, places, words,
        SQUARED: tl.constexpr, DIGITS: tl.constexpr, SINGLE: tl.constexpr, COLLECT: tl.constexpr, DEPTH: tl.constexpr,
        ROWS: tl.constexpr, ITEMS: tl.constexpr, STEP: tl.constexpr, GROUP: tl.constexpr,
    ):  # fmt: skip
        row_tiles = places // ROWS
        # A program that goes through many tiles fetches the next while it compares this one.
        for number in tl.range(tl.program_id(0), (last - first) * row_tiles, tl.num_programs(0), flatten=True):
            whole = GROUP * (last - first)
            group = number // whole
            size = tl.minimum(row_tiles - group * GROUP, GROUP)
            row_tile, column = group * GROUP + number % whole % size, number % whole // size
            tile = first + column
            if DIGITS:
                scores = _digit_products(queries, items, row_tile * ROWS, tile * ITEMS, DEPTH, ROWS, ITEMS, STEP)
            else:
                scores = tl.zeros((ROWS, ITEMS), tl.float32)
                for start in range(0, DEPTH, STEP):
                    left, right = queries.load([row_tile * ROWS, start]), items.load([tile * ITEMS, start])
                    scores = tl.dot(left, right.T, scores)
            row = row_tile * ROWS + tl.arange(0, ROWS)
            margin = tl.load(terms + row) * tl.load(spans + tile)
            margin += tl.load(terms + places + row) * tl.load(spans + tiles + tile)
            if DIGITS:
                margin += tl.load(terms + 2 * places + row) * tl.load(spans + 2 * tiles + tile)
            if SQUARED:
                half = tl.load(halves + tile * ITEMS + tl.arange(0, ITEMS))
                scores -= tl.load(terms + 2 * places + row)[:, None] * half[None, :]
                margin += tl.load(terms + 3 * places + row) * tl.load(spans + 2 * tiles + tile)
            if SINGLE:
                _compare(scores, margin, limits, 0, row, column, places, above, bits, words, COLLECT, ROWS, ITEMS)
            else:
                for slot in range(0, tl.load(slots + row_tile)):
                    _compare(
                        scores, margin, limits, slot, row, column, places, above, bits, words, COLLECT, ROWS, ITEMS
                    )

    @_kernel
    def _words_kernel(bits, count, at, word, total, capacity, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """Write each non-zero word, in any order; words beyond the capacity are only counted."""
        place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(bits + place, mask=place < count, other=0)
        some = (value != 0).to(tl.int32)
        number = tl.sum(some, axis=0)
        if number > 0:
            slot = tl.atomic_add(total, number.to(tl.int64), sem="relaxed") + tl.cumsum(some, axis=0) - some
            fits = (some == 1) & (slot < capacity)
            tl.store(at + slot, place.to(tl.int32), mask=fits)
            tl.store(word + slot, value, mask=fits)

    @_kernel
    def _bits_kernel(at, word, count, words, item, row, total, capacity, first, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """Write each set bit as an item and a row, in any order."""
        number = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(word + number, mask=number < count, other=0)
        place = tl.load(at + number, mask=number < count, other=0)
        ones = tl.zeros((BLOCK,), tl.int32)
        for bit in range(0, 32):
            ones += (value >> bit) & 1
        slot = tl.atomic_add(total, tl.sum(ones, axis=0).to(tl.int64), sem="relaxed") + tl.cumsum(ones, axis=0) - ones
        for bit in range(0, 32):
            is_set = (value >> bit) & 1
            fits = (is_set == 1) & (slot < capacity)
            tl.store(item + slot, place % words * 32 + bit, mask=fits)
            tl.store(row + slot, first + place // words, mask=fits)
            slot += is_set

    @_kernel
    def _pair_kernel(  # type: ignore[no-untyped-def]
        left, left_row, right, right_row, out, pairs, dimension, left_stride, right_stride,
        SQUARED: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
    ):  # fmt: skip
        pair = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        within = pair < pairs
        left_start = left + tl.load(left_row + pair, mask=within, other=0).to(tl.int64) * left_stride
        right_start = right + tl.load(right_row + pair, mask=within, other=0).to(tl.int64) * right_stride
        lane = tl.arange(0, WIDTH)
        total = tl.zeros((BLOCK, WIDTH), tl.float64)
        # Unrolled, so that the loads of several steps are under way at once; the order of the sums stays.
        for start in tl.range(0, dimension, WIDTH, loop_unroll_factor=4):
            column = start + lane
            inside = within[:, None] & (column < dimension)[None, :]
            x = tl.load(left_start[:, None] + column[None, :], mask=inside, other=0.0).to(tl.float64)
            y = tl.load(right_start[:, None] + column[None, :], mask=inside, other=0.0).to(tl.float64)
            if SQUARED:
                total -= (x - y) * (x - y)
            else:
                total += x * y
        # Pairwise: lanes 0 to 3 with 4 to 7, then 0 with 2 and 1 with 3, then those two.
        low, high = tl.split(tl.permute(tl.reshape(total, (BLOCK, 2, 4)), (0, 2, 1)))
        low, high = tl.split(tl.permute(tl.reshape(low + high, (BLOCK, 2, 2)), (0, 2, 1)))
        low, high = tl.split(low + high)
        tl.store(out + pair, low + high, mask=within)

    @_kernel
    def _refine_kernel(  # type: ignore[no-untyped-def]
        bits, rows, words, query_of_row, queries, items, limits, relative, above, scratch,
        query_stride, item_stride,
        SQUARED: tl.constexpr, DIMENSION: tl.constexpr, WORDS: tl.constexpr, BLOCK: tl.constexpr, CHUNK: tl.constexpr,
    ):  # fmt: skip
        numbers = scratch + tl.program_id(0).to(tl.int64) * (WORDS * 32)
        # All rows of one range of items before the next range, so that the items stay in the cache.
        for unit in range(tl.program_id(0), tl.cdiv(words, WORDS) * rows, tl.num_programs(0)):
            row = unit % rows
            column = unit // rows * WORDS + tl.arange(0, WORDS)
            own = bits + row.to(tl.int64) * words
            value = tl.load(own + column, mask=column < words, other=0)
            ones = tl.zeros((WORDS,), tl.int32)
            for bit in range(0, 32):
                ones += (value >> bit) & 1
            marked = tl.sum(ones, axis=0)
            if marked > 0:
                slot = tl.cumsum(ones, axis=0) - ones
                for bit in range(0, 32):
                    is_set = (value >> bit) & 1
                    tl.store(numbers + slot, column * 32 + bit, mask=is_set == 1)
                    slot += is_set
                tl.store(own + column, tl.zeros((WORDS,), tl.int32), mask=value != 0)
                tl.debug_barrier()
                query = queries + tl.load(query_of_row + row).to(tl.int64) * query_stride
                low, high = tl.load(limits + row), tl.load(limits + rows + row)
                sure = 0
                for start in range(0, marked, BLOCK):
                    within = start + tl.arange(0, BLOCK) < marked
                    item = tl.load(numbers + start + tl.arange(0, BLOCK), mask=within, other=0)
                    origin = items + item.to(tl.int64) * item_stride
                    total = tl.zeros((BLOCK, CHUNK), tl.float32)
                    for first in tl.static_range(0, DIMENSION, CHUNK):
                        place = first + tl.arange(0, CHUNK)
                        inside = within[:, None] & (place < DIMENSION)[None, :]
                        x = tl.load(origin[:, None] + place[None, :], mask=inside, other=0.0)
                        y = tl.load(query + place, mask=place < DIMENSION, other=0.0)[None, :]
                        if SQUARED:
                            apart = tl.where(inside, x - y, 0.0)
                            total -= apart * apart
                        else:
                            total += x * y
                    # Two short sums: at most 2 * 15 additions, in whatever order they are made.
                    score = tl.sum(tl.sum(tl.reshape(total, (BLOCK, CHUNK // 16, 16)), axis=2), axis=1)
                    error = relative * tl.abs(score)
                    over = within & (score - error > high)
                    # A score that is not a number decides nothing.
                    is_open = within & (over == 0) & ((score + error < low) == 0)
                    sure += tl.sum(over.to(tl.int32), axis=0)
                    tl.atomic_or(own + item // 32, tl.full((BLOCK,), 1, tl.int32) << (item % 32), mask=is_open)
                if sure > 0:
                    tl.atomic_add(above + row, sure, sem="relaxed")
                tl.debug_barrier()


REFINED_CHUNK = 256
"""The numbers of a row that are multiplied at a time in a float32 score."""
_REFINED_WORDS = 512


def refined_terms(dimension: int) -> int:
    """Return the number of roundings that a term of a refined score goes through at most."""
    return -(-dimension // REFINED_CHUNK) + 2 * 15 + 4


def refine(
    bits: Any, query_of_row: Any, queries: Any, items: Any, limits: Any, relative: float, above: Any, *, squared: bool
) -> None:
    """Compare the marked pairs with narrower limits, by float32 scores, and clear the bits of those that are decided.

    Args:
        bits: for each row a bit for each item.
        query_of_row: the query of each row.
        queries: float32 rows.
        items: float32 rows; the first has the first bit.
        limits: for each row the lower, then the upper limit of undecided scores.
        relative: the error of a score relative to itself, beside the one that the limits contain.
        above: for each row, the counter of scores beyond the upper limit.
        squared: compare minus the squared distances.
    """
    rows, words = bits.shape
    units = rows * -(-words // _REFINED_WORDS)
    programs = min(units, 1024)
    if bits.device.type == "cuda":
        programs = min(units, 32 * torch.cuda.get_device_properties(bits.device).multi_processor_count)
    scratch = torch.empty((programs, 32 * _REFINED_WORDS), dtype=torch.int32, device=bits.device)
    _refine_kernel[(programs,)](
        bits, rows, words, query_of_row, queries, items, limits, relative, above, scratch,
        queries.stride(0), items.stride(0), SQUARED=squared, DIMENSION=queries.shape[1],
        WORDS=_REFINED_WORDS, BLOCK=4, CHUNK=REFINED_CHUNK, num_warps=1,
    )  # fmt: skip


def compare_tiles(
    queries: Any,
    items: Any,
    halves: Any,
    spans: Any,
    terms: Any,
    limits: Any,
    slots: Any,
    above: Any,
    bits: Any,
    first: int,
    last: int,
    tile: Tile,
    *,
    squared: bool,
    collect: bool,
) -> None:
    """Compare the scores of the item tiles *first* to *last* with limits.

    Args:
        queries: float16 rows, one for each place, padded to whole tiles; or int8 rows, the high digits of all numbers
            and then the low ones.
        items: rows of the same kind and width.
        halves: half the squared length of each item.
        spans: for each tile of items the three magnitudes that the error depends on.
        terms: for each place the factors of these magnitudes; the third is that of the halves.
        limits: for each slot two rows, the middle of the limits and their distance from it, without the error.
        slots: for each tile of places the number of slots in use.
        above: for each slot and place, the counter of scores beyond the upper limit.
        bits: for each slot and place a bit for each item, initially zero; set for scores between the limits.
        first: the first tile of items; its first item has the first bit.
        last: the tile after the last.
        tile: the shape of the tiles.
        squared: subtract the halves.
        collect: there is no upper limit, and no error to add.
    """
    places, row_tiles = len(queries), len(queries) // tile.rows
    programs = row_tiles * (last - first)
    if queries.device.type == "cuda":
        processors = torch.cuda.get_device_properties(queries.device).multi_processor_count
        programs = min(programs, tile.programs * processors)
    _count_kernel[(programs,)](
        TensorDescriptor.from_tensor(queries, [tile.rows, tile.step]),
        TensorDescriptor.from_tensor(items, [tile.items, tile.step]),
        halves, spans, terms, limits, slots, above, bits, first, last, spans.shape[1], places, bits.shape[1],
        SQUARED=squared, DIGITS=queries.dtype == torch.int8, SINGLE=len(limits) == 2, COLLECT=collect,
        DEPTH=queries.shape[1],
        ROWS=tile.rows, ITEMS=tile.items, STEP=tile.step, GROUP=tile.group,
        num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip


def marked_pairs(bits: Any, pairs: Pairs, first: int = 0, refine: Refine | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield the item and the row, counted from *first*, of every set bit; in parts if they exceed the capacity.

    Where they do, *refine* is asked first to clear the bits that it can.
    """
    capacity = len(pairs.item)
    total = _marked_words(bits, pairs)
    if refine is not None and total > capacity:
        refine(bits)
        total = _marked_words(bits, pairs)
    if total > capacity:
        half = len(bits) // 2
        yield from marked_pairs(bits[:half], pairs, first)
        yield from marked_pairs(bits[half:], pairs, first + half)
        return
    # Usually a word has one set bit, but it may have up to 32.
    yield from _set_bits(pairs, slice(0, total), bits.shape[1], first)


def _marked_words(bits: Any, pairs: Pairs) -> int:
    """Write the non-zero words into the buffers, as far as there is room, and return their number."""
    pairs.total.zero_()
    _words_kernel[(-(-bits.numel() // 1024),)](
        bits, bits.numel(), pairs.at, pairs.word, pairs.total, len(pairs.item), BLOCK=1024, num_warps=4
    )
    return int(pairs.total)


def _set_bits(pairs: Pairs, part: slice, words: int, first: int) -> Iterator[tuple[Any, Any]]:
    count = part.stop - part.start
    if not count:
        return
    pairs.total.zero_()
    _bits_kernel[(-(-count // 512),)](
        pairs.at[part], pairs.word[part], count, words, pairs.item, pairs.place, pairs.total, len(pairs.item), first,
        BLOCK=512, num_warps=4,
    )  # fmt: skip
    total = int(pairs.total)
    if total <= len(pairs.item):
        yield pairs.item[:total], pairs.place[:total]
    else:
        middle = (part.start + part.stop) // 2
        yield from _set_bits(pairs, slice(part.start, middle), words, first)
        yield from _set_bits(pairs, slice(middle, part.stop), words, first)


def pair_scores(left: Any, left_row: Any, right: Any, right_row: Any, *, squared: bool, plain: bool) -> Any:
    """Return the float64 dot products, or minus the squared distances, of pairs of rows, summed as on the CPU.

    Args:
        left: a matrix.
        left_row: the number of its row in each pair.
        right: a matrix of the same dimension.
        right_row: the number of its row in each pair.
        squared: compute minus the squared distance.
        plain: use plain torch instead of Triton.
    """
    if plain:
        return _plain_pair_scores(left, left_row, right, right_row, squared)
    scores = torch.empty(len(left_row), dtype=torch.float64, device=left.device)
    if len(left_row):
        block = 8
        # A fused multiply-add is rounded once instead of twice, which would change the bits of float64 scores.
        _pair_kernel[(-(-len(left_row) // block),)](
            left, left_row, right, right_row, scores, len(left_row), left.shape[1], left.stride(0), right.stride(0),
            SQUARED=squared, BLOCK=block, WIDTH=LANES, num_warps=1, enable_fp_fusion=False,
        )  # fmt: skip
    return scores


def _plain_pair_scores(left: Any, left_row: Any, right: Any, right_row: Any, squared: bool) -> Any:
    scores = torch.empty(len(left_row), dtype=torch.float64, device=left.device)
    step = max(1, _PLAIN_ELEMENTS // max(1, left.shape[1]))
    for start in range(0, len(scores), step):
        part = slice(start, start + step)
        x, y = left[left_row[part].long()].double(), right[right_row[part].long()].double()
        terms = -((x - y) ** 2) if squared else x * y
        lanes = torch.zeros((len(terms), LANES), dtype=torch.float64, device=left.device)
        for column in range(0, terms.shape[1], LANES):
            some = terms[:, column : column + LANES]
            lanes[:, : some.shape[1]] += some
        pairs = lanes[:, :4] + lanes[:, 4:]
        scores[part] = (pairs[:, 0] + pairs[:, 2]) + (pairs[:, 1] + pairs[:, 3])
    return scores
