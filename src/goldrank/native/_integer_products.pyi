"""Types of the products of 16-bit integers; `integer_products.cpp` explains why they have no fallback in Python."""

import numpy as np
from numpy.typing import NDArray

def kernels() -> list[tuple[str, int]]:
    """Return the instructions that can be used here, the fastest first, and how many queries they pack together."""

def round_vectors(
    rows: NDArray[np.float32], scales: NDArray[np.float32], out: NDArray[np.int16], left_over: NDArray[np.float64], /
) -> None:
    """Round vectors to integers.

    Args:
        rows: The vectors, contiguous within each row.
        scales: What each row is multiplied with before it is rounded; no scaled number may reach 2^15.
        out: Filled in; the integers, padded with zeros.
        left_over: Filled in; for each row, an upper bound of the length of its scaled numbers minus its integers.
    """

def products(
    kernel: str,
    items: NDArray[np.int16],
    offsets: NDArray[np.int32],
    queries: NDArray[np.int16],
    out: NDArray[np.int32],
    /,
) -> None:
    """Write the offset of every item plus its dot product with every query to *out*, as `count` compares it."""

def count(
    kernel: str,
    items: NDArray[np.int16],
    offsets: NDArray[np.int32],
    queries: NDArray[np.int16],
    left_out: NDArray[np.int64],
    widths: NDArray[np.int64],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    above: NDArray[np.int64],
    near: NDArray[np.int64],
    places: NDArray[np.int64],
    /,
) -> int:
    """Compare products with limits for each query, and return how many of them lie between the limits.

    No sum may leave the range of 32 bits. There are several rounds of limits: round k has limits for the first
    ``widths[k]`` queries. The limits and counts of all rounds stand one after the other.

    Args:
        kernel: The name of the instructions to use.
        items: The integers of the items, an even number for each.
        offsets: What is added to the products of each item.
        queries: One row for each panel of queries: the first two numbers of every query, then the next two, …; padded
            with zeros to full panels.
        left_out: For each query the row of an item whose product counts as -2^31; no row, if it is out of range.
        widths: For each round the number of queries with limits.
        low: The lower limits.
        high: The upper limits.
        above: Filled in; how many products are greater than each upper limit.
        near: Filled in; how many are neither greater than the upper limit nor less than the lower one.
        places: Filled in as far as it reaches; the places of the latter, as row · number of limits + limit.
    """

def select(
    kernel: str,
    items: NDArray[np.int16],
    offsets: NDArray[np.int32],
    queries: NDArray[np.int16],
    first: int,
    depth: int,
    entries: NDArray[np.int64],
    counts: NDArray[np.int64],
    floors: NDArray[np.int64],
    /,
) -> None:
    """Add the items with the largest products to the best so far of each query.

    An entry is product · 2^32 + the number of the item. What is not among the *depth* best may be there as well.

    Args:
        kernel: The name of the instructions to use.
        items: The integers of the items.
        offsets: What is added to the products of each item.
        queries: Packed queries.
        first: The number of the first item, up to 2^32.
        depth: How many items of each query are wanted.
        entries: The entries of each query, with room for more than *depth*.
        counts: How many entries each query has.
        floors: For each query an entry; only greater ones are wanted. They rise as better entries come.
    """
