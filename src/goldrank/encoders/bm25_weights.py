"""The weights of BM25 in its five variants, as posting lists: for each word the items that contain it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Floats, Ints


@dataclass(frozen=True)
class Method:
    """A variant of BM25, as in Kamphuis et al., "Which BM25 do you mean?" (ECIR 2020)."""

    idf: Callable[[int, int], float]
    """From the number of items that contain a word, and the number of all items."""
    tf: Callable[[Any, Any, float, float], Any]
    """From the count of a word, the relative length of the item, k1 and delta."""
    has_base: bool = False
    """Whether a word that is not in an item counts, too."""


def _saturated(count: Any, length: Any, k1: float, delta: float) -> Any:
    return count / (k1 * length + count)


def _scaled(count: Any, length: Any, k1: float, delta: float) -> Any:
    return (count * (k1 + 1)) / (count + k1 * length)


def _shifted(count: Any, length: Any, k1: float, delta: float) -> Any:
    relative = count / length
    return ((k1 + 1) * (relative + delta)) / (k1 + relative + delta)


def _raised(count: Any, length: Any, k1: float, delta: float) -> Any:
    return ((k1 + 1) * count) / (k1 * length + count) + delta


# The operations have the order that bm25s gives them, so that scores are equal to the bit.
METHODS = {
    "lucene": Method(lambda df, size: math.log(1 + (size - df + 0.5) / (df + 0.5)), _saturated),
    "robertson": Method(lambda df, size: math.log(max(1.0, (size - df + 0.5) / (df + 0.5))), _saturated),
    "atire": Method(lambda df, size: math.log(size / df), _scaled),
    "bm25l": Method(lambda df, size: math.log((size + 1) / (df + 0.5)), _shifted, has_base=True),
    "bm25+": Method(lambda df, size: math.log((size + 1) / df), _raised, has_base=True),
}


@dataclass(frozen=True)
class Weighting:
    """One of `METHODS` with its parameters."""

    method: str
    k1: float
    b: float
    delta: float


@dataclass(frozen=True)
class PostingLists:
    """The items of each word in ascending order, and their weights."""

    starts: Ints
    """Where the list of each word begins, and the end of the last."""
    items: NDArray[np.int32]
    weights: Floats
    bases: Floats | None
    """What each word of a query adds to the scores of all items; already subtracted from the weights."""

    @classmethod
    def build(cls, words: NDArray[np.int32], lengths: Ints, vocabulary: int, weighting: Weighting) -> PostingLists:
        """Count the words of all items and weight the counts.

        Args:
            words: The words of all items in their order, as numbers below *vocabulary*.
            lengths: How many of them each item has.
            vocabulary: The number of different words.
            weighting: The variant of BM25.
        """
        from scipy.sparse import csr_matrix

        bounds = np.concatenate([[0], np.cumsum(lengths)])
        counts = csr_matrix((np.ones(len(words)), words, bounds), shape=(len(lengths), vocabulary))
        counts.sum_duplicates()
        lists = counts.tocsc()
        del counts
        method, k1, b, delta = METHODS[weighting.method], weighting.k1, weighting.b, weighting.delta
        starts, items = lists.indptr.astype(np.int64), lists.indices.astype(np.int32, copy=False)
        frequencies, index = np.unique(np.diff(starts), return_inverse=True)
        idf = np.array([method.idf(df, len(lengths)) for df in frequencies.tolist()])[index]
        average = lengths.mean()
        relative = (1 - b) + b * lengths / average
        weights = np.repeat(idf, np.diff(starts))
        weights *= method.tf(lists.data, relative[items], k1, delta)
        bases = None
        if method.has_base:
            bases = idf * method.tf(0, (1 - b) + b * average / average, k1, delta)
            weights -= np.repeat(bases, np.diff(starts))
        return cls(starts, items, weights, bases)

    def bases_of(self, words: Ints, bounds: Ints) -> Floats:
        """Return what the words of each query add to the scores of all items; *bounds* says where they begin."""
        if self.bases is None:
            return np.zeros(len(bounds) - 1)
        spans = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        return np.array([self.bases[words[start:end]].sum() for start, end in spans])
