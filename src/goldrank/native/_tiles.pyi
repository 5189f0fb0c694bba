"""Types of the products with AMX tiles; they have no twin in numpy, and `_tiles.cpp` says why none is needed."""

import numpy as np
from numpy.typing import NDArray

PANEL_ROWS: int
"""Rows are packed in groups of so many."""
STEP: int
"""So many numbers of a row are packed together."""
PACKED_STEP: int
"""So many 16-bit numbers a panel takes for each step."""
SUM_LENGTH: int
"""So many numbers of a row are added up in the tiles before the sum joins that of the numbers before."""

def available() -> bool:
    """Whether this processor and system let the process use tiles; without them the other functions refuse."""

def pack(rows: NDArray[np.float32], packed: NDArray[np.uint16], is_right: bool, /) -> None:
    """Split rows into two bfloat16 parts each and lay them out as items or, on the right-hand side, as queries.

    *packed* has a row for every panel, of PACKED_STEP numbers for each step; what the rows do not fill becomes zero.
    Infinities, NaN and numbers of 2^127 or more are not meant to come here.
    """

def products(items: NDArray[np.uint16], queries: NDArray[np.uint16], out: NDArray[np.float32], /) -> None:
    """Write the dot product of every packed item with every packed query, as `count` compares it.

    exact_products.py bounds its error; the tests hold it to that.
    """

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
    """Compare the products of the first *rows* items with limits for each query, and say how many are near them.

    There are several rounds of limits, the first of which many queries have and the later ones fewer: round k has
    limits for the first ``widths[k]`` queries, and all limits stand one after the other. Written are how many products
    are greater than each *high* (`above`), how many are neither that nor less than *low* (`near`), and the places of
    the latter, row · number of limits + limit, as far as *places* has room for them. The item whose row ``left_out``
    names for a query, if it is one of these, counts as below all limits.
    """
