"""Types of the products with AMX tiles; `amx_tiles.cpp` explains why they have no fallback in Python."""

import numpy as np
from numpy.typing import NDArray

PANEL_ROWS: int
"""The number of rows that are packed together."""
STEP: int
"""The number of dimensions that are packed together."""
PACKED_STEP: int
"""The 16-bit numbers that a panel takes for each step."""
SUM_LENGTH: int
"""The number of dimensions that are added up within the tiles before their sum is added to the total."""

def available() -> bool:
    """Return True if this processor and operating system support tiles; without them the other functions raise."""

def pack(rows: NDArray[np.float32], packed: NDArray[np.uint16], is_right: bool, /) -> None:
    """Split vectors into two bfloat16 parts and lay them out as items (left-hand side) or queries (right-hand side).

    Args:
        rows: The vectors. Infinities, NaN and numbers of 2^127 or more are not supported.
        packed: Filled in; one row of PACKED_STEP numbers per step for each panel, padded with zeros.
        is_right: Pack queries, not items.
    """

def products(items: NDArray[np.uint16], queries: NDArray[np.uint16], out: NDArray[np.float32], /) -> None:
    """Write the dot product of every packed item with every packed query to *out*, as `count` compares it."""

def count(
    items: NDArray[np.uint16],
    queries: NDArray[np.uint16],
    rows: int,
    left_out: NDArray[np.int64],
    widths: NDArray[np.int64],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    above: NDArray[np.int64],
    near: NDArray[np.int64],
    places: NDArray[np.int64],
    /,
) -> int:
    """Compare products with limits for each query, and return how many of them lie between the limits.

    There are several rounds of limits: round k has limits for the first ``widths[k]`` queries. The limits and counts of
    all rounds stand one after the other.

    Args:
        items: Packed items.
        queries: Packed queries.
        rows: The number of items.
        left_out: For each query the row of an item that counts as below all limits; no row, if it is out of range.
        widths: For each round the number of queries with limits.
        low: The lower limits.
        high: The upper limits.
        above: Filled in; how many products are greater than each upper limit.
        near: Filled in; how many are neither greater than the upper limit nor less than the lower one.
        places: Filled in as far as it reaches; the places of the latter, as row · number of limits + limit.
    """
