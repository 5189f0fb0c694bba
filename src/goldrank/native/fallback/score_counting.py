"""Compare a block of scores with limits for each column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


def count_beyond(scores: Scores, low: Scores, high: Scores, above: Counts, reached: Counts, /) -> None:
    """Count the scores of each column that are greater than its upper limit, and those that reach its lower limit.

    Args:
        scores: A matrix of float32 or float64 numbers, contiguous within each row.
        low: The lower limit of each column, in the type of the scores.
        high: The upper limit of each column, likewise.
        above: Filled in; how many scores of each column are greater than `high`.
        reached: Filled in; how many scores of each column are at least `low`.

    >>> above, reached = np.zeros(2, np.int64), np.zeros(2, np.int64)
    >>> count_beyond(np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([2.0, 5.0]), np.array([2.0, 5.5]), above, reached)
    >>> above.tolist(), reached.tolist()
    ([0, 1], [1, 2])
    """
    above[:] = count_columns(scores > high)
    reached[:] = count_columns(scores >= low)


def find_between(scores: Scores, low: Scores, high: Scores, /) -> bytearray:
    """Return the int64 places, in row-major order, of the scores from `low` to `high` of their column.

    >>> np.frombuffer(find_between(np.array([[1.0, 5.0]]), np.array([0.0, 6.0]), np.array([1.0, 7.0])), np.int64)
    array([0])
    """
    return bytearray(np.flatnonzero((scores >= low) & ~(scores > high)).astype(np.int64).tobytes())


def count_columns(mask: Mask) -> Counts:
    """Count the true values of each column."""
    counts = np.zeros(mask.shape[1], np.int64)
    as_bytes = mask.view(np.uint8)
    # The sums of up to 255 rows fit into bytes, which numpy adds eight times as fast as integers.
    for start in range(0, len(mask), 255):
        counts += np.add.reduce(as_bytes[start : start + 255], axis=0, dtype=np.uint8)
    return counts
