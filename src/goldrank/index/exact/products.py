"""Error bounds of the scores of a product, and two products that are fast but less exact.

BLAS multiplies in the precision of the vectors. Where the processor has bfloat16 tiles, float32 vectors are split
into two such numbers each, multiplied several times as fast, and compared with limits that are further apart. Other
processors multiply vectors rounded to 16-bit integers. Either way what lies between the limits is looked at more
closely, so that the choice moves no count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.index.exact.signs import Matrix
from goldrank.native import HAS_TILES, INTEGER_KERNELS

if HAS_TILES:
    from goldrank.native import _amx_tiles
if INTEGER_KERNELS:
    from goldrank.native import _integer_products

LEAST_QUERIES = 64
"""With fewer, splitting, rounding and packing the items costs more than tiles and integers save."""
_CACHE_LINE = 64
# The lengths of integer vectors: products stay below their square, with some room to 2^31 for their rounding.
_LARGEST_LENGTH = 2.0**15.45
_LARGEST_INTEGER = 32766.0
_LARGEST_SCALE = 2.0**100
_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Error:
    """The error bound of a computed score: a share of ‖q‖‖x‖, and a part for numbers too small for the type."""

    share: float
    smallest: float

    def bound(self, query_lengths: Floats, length: float | Floats, *, squared: bool) -> Floats:
        """Return the bound for items up to *length*; for l2, half the squared length is one more term of the score."""
        size = query_lengths * length
        if squared:
            size = size + 0.5 * np.square(length)
        bound: Floats = self.share * size + self.smallest * (1 + query_lengths + length)
        return bound


def rounding_error(dimension: int, dtype: np.dtype[np.floating]) -> Error:
    """Return the error of a score that is computed in *dtype*.

    A sum of n products in any order errs by at most nu/(1 - nu)·Σ|qᵢxᵢ| (Higham, Accuracy and Stability of
    Numerical Algorithms, 2002, section 3.1), and Σ|qᵢxᵢ| ≤ ‖q‖‖x‖. The smallest part stands for numbers too small
    for the type, even where the processor flushes them to zero.
    """
    kind, terms = np.finfo(dtype), dimension + 8
    return Error(growth(terms, float(kind.eps) / 2), terms * 2 * float(kind.tiny))


def tile_error(dimension: int, sum_length: int) -> Error:
    """Return the error of a score that is computed with tiles.

    Rounding to the 8 bits of a bfloat16 leaves |x - high| ≤ 2⁻⁸|x|. That remainder is exact in float32 and, being at
    most half a unit in the last place of the high part, loses at most 2⁻¹⁷|x| when it is rounded to the low part.

    - What is not multiplied is at most 2·2⁻¹⁷ + 2⁻³⁴ of |qx| for the lost remainders, and 2⁻¹⁶ for low times low.
    - The products that are added are exact in float32, and together at most (1 + 2⁻⁸)² + 2·2⁻⁸(1 + 2⁻⁸) < 1.016
      times Σ|qᵢxᵢ|. Their sum, three for each number, errs as any sum does, whatever the order; *sum_length* numbers
      are added up at a time, and then those sums.
    - A number, remainder, product or sum below the normal range may become zero. Each of the 2n numbers then costs at
      most the smallest normal number times its partner, each of the 3n products and 3n sums that number itself.
    """
    kind, terms = np.finfo(np.float32), dimension + 8
    added = 3 * min(terms, sum_length) + -(-terms // sum_length) + 8
    lost = 2.0**-15 + 2.0**-34
    return Error(1.016 * growth(added, float(kind.eps) / 2) + lost, terms * 8 * float(kind.tiny))


def growth(terms: int, unit: float) -> float:
    """Return the error bound of a sum of so many terms, relative to the sum of their absolute values."""
    return terms * unit / (1 - terms * unit)


@dataclass(frozen=True)
class Near:
    """The comparison of products with limits: counts above and between them, and the places of those between."""

    above: Ints
    between: Ints
    places: Ints | None
    """Row · number of limits + limit; None where they are too many."""


class Tiles:
    """Products with bfloat16 tiles, compared with limits before they are written to memory."""

    def __init__(self, dimension: int) -> None:
        self.error = tile_error(dimension, _amx_tiles.SUM_LENGTH)

    @staticmethod
    def for_vectors(queries: Matrix, dimension: int, *, certify: bool) -> Tiles | None:
        """Return tiles for float32 vectors on a processor that has them, if a certified count corrects their error."""
        use = HAS_TILES and certify and queries.dtype == np.float32 and len(queries) >= LEAST_QUERIES
        return Tiles(dimension) if use else None

    def pack(self, rows: Matrix, *, queries: bool) -> Matrix:
        """Return rows of items or of queries in the layout of the tiles."""
        panels, steps = -(-len(rows) // _amx_tiles.PANEL_ROWS), -(-rows.shape[1] // _amx_tiles.STEP)
        packed = _aligned(panels, steps * _amx_tiles.PACKED_STEP)
        _amx_tiles.pack(rows, packed, queries)
        return packed

    def compare(
        self,
        items: Matrix,
        queries: Matrix,
        rows: int,
        left_out: Ints,
        widths: Ints,
        low: Matrix,
        high: Matrix,
        most: int,
    ) -> Near:
        """Compare packed items, *rows* of them, with the limits of packed queries; see `_amx_tiles.pyi`."""
        above, between, places = (np.empty(size, np.int64) for size in (len(low), len(low), most))
        near = _amx_tiles.count(items, queries, rows, left_out, widths, low, high, above, between, places)
        return Near(above, between, places[:near] if near <= most else None)


@dataclass(frozen=True)
class IntegerItems:
    """A block of items as integers."""

    numbers: Matrix
    halves: Floats
    """What is subtracted from the product of each item with a query: half its squared length for l2, otherwise 0."""
    scale: float
    """The integers are the vectors times this, rounded."""
    left_over: float
    """An upper bound of the length of what the rounding took from an item, in units of the integers."""
    length: float
    """An upper bound of the length of an item."""


@dataclass(frozen=True)
class IntegerQueries:
    """Queries as integers, packed for the product."""

    packed: Matrix
    scales: Floats
    left_over: Floats
    lengths: Floats
    """An upper bound of the length of each query."""


class Integers:
    """Products of vectors rounded to 16-bit integers, compared with limits before they are written to memory.

    With Q = sq + e and X = tx + f, the integers of a query and an item, Q·X differs from st(q·x) by at most
    s‖q‖‖f‖ + t‖x‖‖e‖ + ‖e‖‖f‖. The sums themselves are exact, because |Q·X| ≤ ‖Q‖‖X‖ bounds every partial sum.

    Args:
        squared: rank by distance; the score is then q·x - ‖x‖²/2, and all queries have the same scale.
        longest: an upper bound of the length of the items, for that scale.
        kernel: the instructions to use and the number of queries that they pack together.
    """

    def __init__(self, *, squared: bool, longest: float, kernel: tuple[str, int] | None = None) -> None:
        self._kernel, self._panel = kernel or INTEGER_KERNELS[0]
        self._squared, self._longest = squared, longest

    def pack_queries(self, rows: Matrix, lengths: Floats) -> IntegerQueries:
        """Round and pack queries, given upper bounds of their lengths."""
        peaks = np.abs(rows).max(axis=1, initial=0)
        scales = _scales(lengths + 0.5 * self._longest if self._squared else lengths, peaks)
        if self._squared:
            scales = np.full_like(scales, scales.min(initial=np.inf))
        numbers, left_over = self._rounded(rows, scales)
        padded = np.zeros((-(-len(rows) // self._panel) * self._panel, numbers.shape[1]), np.int16)
        padded[: len(rows)] = numbers
        pairs = padded.reshape(-1, self._panel, numbers.shape[1] // 2, 2).transpose(0, 2, 1, 3)
        packed = np.ascontiguousarray(pairs).reshape(-1, self._panel * numbers.shape[1])
        return IntegerQueries(packed, scales.astype(np.float64), left_over, lengths)

    def pack_items(self, rows: Matrix, halves: Floats, length: float, peak: float | None = None) -> IntegerItems:
        """Round a block of items up to *length*.

        Args:
            rows: the items.
            halves: what is subtracted from the product of each.
            length: an upper bound of their lengths.
            peak: an upper bound of their numbers, if blocks are to have the same scale.
        """
        if peak is None:
            peak = max(float(rows.max(initial=0)), -float(rows.min(initial=0)))
        scale = _scales(np.array([length]), np.array([peak]))[0]
        numbers, left_over = self._rounded(rows, np.full(len(rows), scale))
        most = float(left_over.max()) if len(rows) else (0.5 + 2.0**-9) * np.sqrt(rows.shape[1])
        return IntegerItems(numbers, halves, float(scale), most, length)

    def _rounded(self, rows: Matrix, scales: Matrix) -> tuple[Matrix, Floats]:
        numbers, left_over = np.empty((len(rows), rows.shape[1] + rows.shape[1] % 2), np.int16), np.empty(len(rows))
        _integer_products.round_vectors(rows, scales, numbers, left_over)
        return numbers, left_over

    def margins(self, items: IntegerItems, queries: IntegerQueries) -> Floats:
        """Return how far a product with each query may be from the scaled score."""
        from_queries = items.scale * items.length * queries.left_over
        # One for the rounding of the offset and of limits.
        return from_queries + (queries.scales * queries.lengths + queries.left_over) * items.left_over + 1

    def limits(
        self, items: IntegerItems, queries: IntegerQueries, columns: Ints, scores: Floats, errors: Floats
    ) -> tuple[Matrix, Matrix]:
        """Return the products below and above which an item certainly scores below or above *scores* ± *errors*."""
        scale = (items.scale * queries.scales)[columns]
        margin = self.margins(items, queries)[columns] + scale * errors
        # The smallest integer is left to items that are left out.
        low, high = (
            np.clip(bound, _INT32.min + 1, _INT32.max).astype(np.int32)
            for bound in (np.floor(scale * scores - margin), np.ceil(scale * scores + margin))
        )
        return low, high

    def compare(
        self,
        items: IntegerItems,
        queries: IntegerQueries,
        left_out: Ints,
        widths: Ints,
        low: Matrix,
        high: Matrix,
        most: int,
    ) -> Near:
        """Compare the products of items and queries with limits; see `_integer_products.pyi`."""
        above, between, places = (np.empty(size, np.int64) for size in (len(low), len(low), most))
        offsets = self._offsets(items, queries)
        near = _integer_products.count(
            self._kernel, items.numbers, offsets, queries.packed, left_out, widths, low, high, above, between, places
        )
        return Near(above, between, places[:near] if near <= most else None)

    def select(
        self,
        items: IntegerItems,
        queries: IntegerQueries,
        first: int,
        depth: int,
        entries: Ints,
        counts: Ints,
        floors: Ints,
    ) -> None:
        """Add items, numbered from *first*, to the best of each query; see `_integer_products.pyi`."""
        offsets = self._offsets(items, queries)
        _integer_products.select(
            self._kernel, items.numbers, offsets, queries.packed, first, depth, entries, counts, floors
        )

    def _offsets(self, items: IntegerItems, queries: IntegerQueries) -> Matrix:
        if not self._squared:
            return np.zeros(len(items.numbers), np.int32)
        offsets: Matrix = np.rint(-items.halves * (items.scale * queries.scales[0])).astype(np.int32)
        return offsets


def _scales(lengths: Floats, peaks: Matrix) -> Matrix:
    """Return factors that keep the integers of vectors of these lengths and their products in range."""
    with np.errstate(divide="ignore"):
        scales: Matrix = np.minimum(_LARGEST_LENGTH / lengths, _LARGEST_INTEGER / peaks)
    return np.minimum(scales, _LARGEST_SCALE).astype(np.float32)


def integers_usable(dtype: np.dtype[Any]) -> bool:
    """Return True if this processor multiplies integers faster than numbers of this type."""
    return bool(INTEGER_KERNELS) and dtype == np.float32


def _aligned(rows: int, columns: int) -> Matrix:
    """Allocate memory aligned to cache lines, so that no row of a tile spans two."""
    spare = _CACHE_LINE // 2
    memory = np.empty(rows * columns + spare, np.uint16)
    start = -memory.ctypes.data % _CACHE_LINE // 2
    return memory[start : start + rows * columns].reshape(rows, columns)
