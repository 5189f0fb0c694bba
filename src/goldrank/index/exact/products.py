"""Error bounds of the scores of a product, and the tiled product, which is fast but less exact.

BLAS multiplies in the precision of the vectors. Where the processor has bfloat16 tiles, float32 vectors are split
into two such numbers each, multiplied several times as fast, and compared with limits that are further apart. Either
way what lies between the limits is looked at more closely, so that the choice moves no count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.index.exact.signs import Matrix
from goldrank.native import HAS_TILES

if HAS_TILES:
    from goldrank.native import _amx_tiles

# With fewer, splitting and packing the items costs more than the tiles save.
_LEAST_QUERIES = 64
_CACHE_LINE = 64


@dataclass(frozen=True)
class Error:
    """How far a computed score may be off: a share of ‖q‖‖x‖, and a part for numbers too small for the type."""

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
    return Error(_growth(terms, float(kind.eps) / 2), terms * 2 * float(kind.tiny))


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
    return Error(1.016 * _growth(added, float(kind.eps) / 2) + lost, terms * 8 * float(kind.tiny))


def _growth(terms: int, unit: float) -> float:
    return terms * unit / (1 - terms * unit)


@dataclass(frozen=True)
class Near:
    """How products compare with limits: how many are above each, how many between, and where those are."""

    above: Ints
    between: Ints
    places: Ints | None
    """Row · number of limits + limit; None where they are too many."""


class Tiles:
    """Products with bfloat16 tiles, compared with limits as they come."""

    def __init__(self, dimension: int) -> None:
        self.error = tile_error(dimension, _amx_tiles.SUM_LENGTH)

    @staticmethod
    def for_vectors(queries: Matrix, dimension: int, *, certify: bool) -> Tiles | None:
        """Tiles where there are any, for float32, and where a certified count makes up for their error."""
        use = HAS_TILES and certify and queries.dtype == np.float32 and len(queries) >= _LEAST_QUERIES
        return Tiles(dimension) if use else None

    def pack(self, rows: Matrix, *, queries: bool) -> Matrix:
        """Rows of items or of queries as the tiles take them."""
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


def _aligned(rows: int, columns: int) -> Matrix:
    """Allocate memory aligned to cache lines, so that no row of a tile spans two."""
    spare = _CACHE_LINE // 2
    memory = np.empty(rows * columns + spare, np.uint16)
    start = -memory.ctypes.data % _CACHE_LINE // 2
    return memory[start : start + rows * columns].reshape(rows, columns)
