"""Search posting lists: the items with the highest sums of weights over the words of each query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def search_postings(
    starts: Ints,
    items: NDArray[np.int32],
    weights: Floats,
    order: Ints,
    words: Ints,
    bounds: Ints,
    bases: Floats,
    positions: Ints,
    scores: Floats,
    counts: Ints,
    /,
) -> None:
    """Write the best items of each query, best first, as deep as the rows of *positions* are long.

    The score of an item is the sum of its weights over the words of the query, added from left to right, plus the base
    of the query. Only items that share a word with the query are ranked, equal scores by descending *order*.

    Args:
        starts: Where the list of each word begins in *items*, and the end of the last.
        items: The items of each word in ascending order.
        weights: Their weights, none of them -0.0.
        order: The place of each item among all, all different.
        words: The words of all queries; a repeated word counts as often.
        bounds: Where the words of each query begin, and the end of the last.
        bases: What is added to the scores of each query.
        positions: Filled in; the best items of each query.
        scores: Filled in; their scores.
        counts: Filled in; how many items each query has.

    >>> positions, scores, counts = np.zeros((1, 2), np.int64), np.zeros((1, 2)), np.zeros(1, np.int64)
    >>> starts, items, weights = np.array([0, 2, 3]), np.array([0, 2, 2], np.int32), np.array([1.0, 0.5, 4.0])
    >>> search_postings(starts, items, weights, np.arange(3), np.array([0, 1]), np.array([0, 2]), np.zeros(1),
    ...                 positions, scores, counts)
    >>> positions.tolist(), scores.tolist(), counts.tolist()
    ([[2, 0]], [[4.5, 1.0]], [2])
    """
    depth = positions.shape[1]
    for query in range(len(bases)):
        sums, shares = np.zeros(len(order)), np.zeros(len(order), np.bool_)
        for word in words[bounds[query] : bounds[query + 1]].tolist():
            span = slice(starts[word], starts[word + 1])
            sums[items[span]] += weights[span]
            shares[items[span]] = True
        rows = np.flatnonzero(shares)
        values = sums[rows] + bases[query]
        if len(rows) > depth:
            # Items tied with the last stay until their order decides.
            candidates = values >= np.partition(values, -depth)[-depth]
            rows, values = rows[candidates], values[candidates]
        best = np.lexsort((-order[rows], -values))[:depth]
        counts[query] = len(best)
        positions[query, : len(best)], scores[query, : len(best)] = rows[best], values[best]
