"""Score selected pairs of item and query vectors in double precision.

Every score is the sum of eight interleaved lanes, each added from left to right, whichever other pairs are scored, so
that equal vectors have equal scores on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LANES = 8


def score_rows(
    items: NDArray[np.floating],
    item_rows: NDArray[np.int64],
    query: NDArray[np.float64],
    squared: bool,
    scores: NDArray[np.float64],
    /,
) -> None:
    """Score rows of *items* with one query and write the results to *scores*.

    A score is the dot product, or with *squared* minus the squared distance.

    >>> scores = np.zeros(2)
    >>> score_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]), np.array([10.0, 1.0]), False, scores)
    >>> scores.tolist()
    [34.0, 12.0]
    """
    selected = _select_rows(items, item_rows).astype(np.float64)
    _sum_rows(-np.square(selected - query) if squared else selected * query, scores)


def score_divided_rows(
    items: NDArray[np.float32],
    lengths: NDArray[np.float64],
    item_rows: NDArray[np.int64],
    query: NDArray[np.float64],
    scores: NDArray[np.float64],
    /,
) -> None:
    """Write the dot product of rows of *items*, each divided by its length and rounded to float32, to *scores*.

    >>> scores = np.zeros(1)
    >>> items, lengths = np.array([[3, 4]], np.float32), np.array([5.0])
    >>> score_divided_rows(items, lengths, np.array([0]), np.array([10.0, 0.0]), scores)
    >>> scores.tolist()
    [6.000000238418579]
    """
    selected = _select_rows(items, item_rows).astype(np.float64)
    _sum_rows((selected / lengths[item_rows][:, None]).astype(np.float32).astype(np.float64) * query, scores)


def score_pairs(
    items: NDArray[np.floating],
    item_rows: NDArray[np.int64],
    queries: NDArray[np.float64],
    query_rows: NDArray[np.int64],
    scores: NDArray[np.float64],
    /,
) -> None:
    """Write the dot product of each pair of a row of *items* and a row of *queries* to *scores*.

    >>> scores = np.zeros(1)
    >>> score_pairs(np.array([[1.0, 2.0]]), np.array([0]), np.array([[9.0, 9.0], [3.0, 4.0]]), np.array([1]), scores)
    >>> scores.tolist()
    [11.0]
    """
    _sum_rows(_select_rows(items, item_rows).astype(np.float64) * _select_rows(queries, query_rows), scores)


def _select_rows(matrix: NDArray[np.floating], rows: NDArray[np.int64]) -> NDArray[np.floating]:
    # numpy would count negative numbers from the end.
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(matrix):
        raise ValueError("a row number is outside the items or the queries")
    return matrix[rows]


def _sum_rows(terms: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    lanes = np.zeros((len(terms), LANES))
    for start in range(0, terms.shape[1], LANES):
        part = terms[:, start : start + LANES]
        lanes[:, : part.shape[1]] += part
    pairs = lanes[:, :4] + lanes[:, 4:]
    scores[:] = (pairs[:, 0] + pairs[:, 2]) + (pairs[:, 1] + pairs[:, 3])
