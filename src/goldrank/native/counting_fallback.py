"""Comparing a block of scores with limits in numpy: what the compiled part does, where it could not be built."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


def count_beyond(scores: Scores, low: Scores, high: Scores, above: Counts, reached: Counts) -> None:
    """Write how many scores of each column are greater than its *high*, and how many are at least its *low*.

    The arrays are all float32 or all float64, without gaps inside a row of scores.

    >>> above, reached = np.zeros(2, np.int64), np.zeros(2, np.int64)
    >>> count_beyond(np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([2.0, 5.0]), np.array([2.0, 5.5]), above, reached)
    >>> above.tolist(), reached.tolist()
    ([0, 1], [1, 2])
    """
    above[:] = count_columns(scores > high)
    reached[:] = count_columns(scores >= low)


def places_between(scores: Scores, low: Scores, high: Scores) -> bytearray:
    """Where a score is at least its column's *low* and not greater than its *high*: int64 places in row order.

    >>> np.frombuffer(places_between(np.array([[1.0, 5.0]]), np.array([0.0, 6.0]), np.array([1.0, 7.0])), np.int64)
    array([0])
    """
    return bytearray(np.flatnonzero((scores >= low) & ~(scores > high)).astype(np.int64).tobytes())


def count_columns(mask: Mask) -> Counts:
    """How many are true in each column."""
    counts = np.zeros(mask.shape[1], np.int64)
    as_bytes = mask.view(np.uint8)
    # Up to 255 rows fit into a byte, and bytes add up eight times as fast as integers.
    for start in range(0, len(mask), 255):
        counts += np.add.reduce(as_bytes[start : start + 255], axis=0, dtype=np.uint8)
    return counts
