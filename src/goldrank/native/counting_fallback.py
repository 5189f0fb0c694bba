"""Comparing scores with limits and scoring rows in numpy: what the compiled part does, where it was not built."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]
LANES = 8


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


def row_scores(
    items: Scores, numbers: NDArray[np.int64], query: NDArray[np.float64], squared: bool, scores: NDArray[np.float64]
) -> None:
    """Write the float64 dot product of the query with each numbered item, or minus their squared distance.

    Every score is added up in the same order whatever the other numbers are, so that equal items score equal: in
    eight interleaved lanes, each from left to right, which are added pairwise at the end.

    >>> scores = np.zeros(2)
    >>> row_scores(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]), np.array([10.0, 1.0]), False, scores)
    >>> scores.tolist()
    [34.0, 12.0]
    """
    wide = _rows(items, numbers).astype(np.float64)
    _add_up(-np.square(wide - query) if squared else wide * query, scores)


def pair_scores(
    items: Scores,
    numbers: NDArray[np.int64],
    queries: NDArray[np.float64],
    columns: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Write the float64 dot product of each numbered item with the query in the row of the same place in *columns*.

    >>> scores = np.zeros(1)
    >>> pair_scores(np.array([[1.0, 2.0]]), np.array([0]), np.array([[9.0, 9.0], [3.0, 4.0]]), np.array([1]), scores)
    >>> scores.tolist()
    [11.0]
    """
    _add_up(_rows(items, numbers).astype(np.float64) * _rows(queries, columns), scores)


def _rows(matrix: Scores, numbers: NDArray[np.int64]) -> Scores:
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(matrix):
        raise ValueError("a number is that of no item or query")
    return matrix[numbers]


def _add_up(terms: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    lanes = np.zeros((len(terms), LANES))
    for start in range(0, terms.shape[1], LANES):
        part = terms[:, start : start + LANES]
        lanes[:, : part.shape[1]] += part
    pairs = lanes[:, :4] + lanes[:, 4:]
    scores[:] = (pairs[:, 0] + pairs[:, 2]) + (pairs[:, 1] + pairs[:, 3])


def count_columns(mask: Mask) -> Counts:
    """How many are true in each column."""
    counts = np.zeros(mask.shape[1], np.int64)
    as_bytes = mask.view(np.uint8)
    # Up to 255 rows fit into a byte, and bytes add up eight times as fast as integers.
    for start in range(0, len(mask), 255):
        counts += np.add.reduce(as_bytes[start : start + 255], axis=0, dtype=np.uint8)
    return counts
