"""Pack runs in CSV, TSV and JSON: their ids as text and offsets, without a Python object for each row."""

from __future__ import annotations

from itertools import pairwise
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

from goldrank.native.fallback.hit_counting import unpacked

Packed = tuple[list[str], bytearray, bytearray, bytes, bytearray, bytearray]
"""The query ids, where the rows of each begin, where each item id begins, the item ids as one UTF-8 text, the values
and the ranks; numbers are int64 and float64."""


def pack_delimited(
    data: bytes | mmap,
    begin: int,
    delimiter: str,
    skip_blanks: bool,
    width: int,
    query: int,
    item: int,
    value: int,
    rank: int,
    /,
) -> Packed | None:
    """Pack the rows of CSV or TSV text that is known to be UTF-8.

    Compiled code packs rows without escaped quotes, line breaks in cells, empty ids, numbers in unusual notations,
    items listed twice and the like; the caller reads any other file row by row, which reports what is wrong with it.

    Args:
        data: The text.
        begin: Where its first row begins.
        delimiter: What separates two cells.
        skip_blanks: Blanks before a cell are not part of it.
        width: The number of columns.
        query: The position of the query; *item* and *value* are those of item and score.
        item: See *query*.
        value: See *query*.
        rank: The position of the rank, or -1.

    Returns:
        The rows grouped by query in order of first appearance; None if the file must be read row by row, which is
        always so in this implementation.
    """
    return None


def pack_json(data: bytes, /) -> Packed | None:
    """Pack a run of the form `{"query": {"item": score}}` without escapes, as `pack_delimited` does."""
    return None


def has_repeated_items(
    queries: int, starts: NDArray[np.int64], offsets: NDArray[np.int64] | NDArray[np.int32], text: bytes | memoryview, /
) -> bool:
    """Return True if one of *queries* lists an item twice; the other arguments are those of `count_packed_hits`."""
    items = unpacked(offsets, text)
    bounds = starts[: queries + 1].tolist()
    return any(len(set(items[start:end])) < end - start for start, end in pairwise(bounds))
