"""Estimate metrics of one query from judgments of a random sample of its pooled items.

All functions read the same arrays, one entry for each pooled item: its rank in the system (from 1; 0 if the system does
not return it), its gain (NaN if it is not in the sample; for binary metrics above 0 is relevant), and the probability
with which it was drawn. An estimate equals the value of the metric if every item was judged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldrank.stats.resampling import Floats

Ints = NDArray[np.int64]

_SMOOTHING = 1e-5
"""Of the inferred precisions, as in trec_eval's infAP."""


def sampled_total(values: Floats, probability: Floats) -> float:
    """Estimate a sum over all items from sampled values, each divided by its probability [1]_; NaN is not sampled.

    References:
        .. [1] D. G. Horvitz, D. J. Thompson, "A generalization of sampling without replacement from a finite universe",
           JASA 47 (1952), 663-685.

    >>> sampled_total(np.array([1.0, np.nan, 2.0]), np.array([0.5, 0.5, 1.0]))
    4.0
    """
    sampled = ~np.isnan(values)
    return float(np.sum(values[sampled] / probability[sampled]))


def sampled_precision(rank: Ints, gain: Floats, probability: Floats, k: int) -> float:
    """Estimate precision at *k* without bias."""
    return sampled_total(_top(rank, _binary(gain), k), probability) / k


def sampled_dcg(rank: Ints, gain: Floats, probability: Floats, k: int | None = None) -> float:
    """Estimate DCG without bias, with the discount 1 / log2(rank + 1)."""
    discounted = _top(rank, gain, k) / np.log2(np.maximum(rank, 1) + 1)
    return sampled_total(discounted, probability)


def sampled_ndcg(rank: Ints, gain: Floats, probability: Floats, k: int | None = None) -> float:
    """Estimate nDCG as DCG over the ideal DCG, both estimated; 0 if no item with a gain was sampled.

    The number of items of each gain is estimated without bias. The ideal ranking has so many of each, best first; a
    fraction of an item gets this fraction of the discount at its rank. The ideal DCG is concave in these numbers, so
    that it is too low on average and nDCG too high; where no item with a gain was sampled, nDCG is too low.

    >>> rank, gain = np.array([1, 0, 2]), np.array([1.0, 2.0, np.nan])
    >>> round(sampled_ndcg(rank, gain, np.array([1.0, 1.0, 0.5])), 4)
    0.3801
    """
    levels = np.unique(gain[gain > 0])[::-1]
    counts = [sampled_total(np.where(np.isnan(gain), np.nan, gain == level), probability) for level in levels]
    ends = np.cumsum([0.0, *counts])
    discounts = np.cumsum(1 / np.log2(np.arange(2, int(np.ceil(ends[-1])) + 2)))
    at = np.interp(ends if k is None else np.minimum(ends, k), np.arange(len(discounts) + 1), [0.0, *discounts])
    ideal = float(levels @ np.diff(at))
    return sampled_dcg(rank, gain, probability, k) / ideal if ideal else 0.0


def sampled_recall(rank: Ints, gain: Floats, probability: Floats, k: int | None = None) -> float:
    """Estimate recall over the pool as a ratio of two unbiased estimates; 0 if no relevant item was sampled."""
    relevant = _binary(gain)
    total = sampled_total(relevant, probability)
    return sampled_total(_top(rank, relevant, k), probability) / total if total else 0.0


def stat_ap(rank: Ints, gain: Floats, probability: Floats, joint: Floats) -> float:
    """Estimate average precision by statAP [1]_: a ratio whose numerator and denominator are unbiased.

    The numerator is the sum over pairs of relevant items of 1 / (the larger of their ranks), each divided by the
    probability that both were drawn.

    Args:
        rank, gain, probability: As described above.
        joint: (items, items) probabilities that two items were both drawn; the diagonal is not read.

    References:
        .. [1] J. A. Aslam, V. Pavlu, "A practical sampling strategy for efficient retrieval evaluation" (2007).
    """
    relevant = _binary(gain)
    total = sampled_total(relevant, probability)
    found = np.flatnonzero((relevant > 0) & (rank > 0))
    if not total or not len(found):
        return 0.0
    ranks, both = rank[found], joint[np.ix_(found, found)].copy()
    np.fill_diagonal(both, probability[found])
    above = ranks[None, :] <= ranks[:, None]
    return float(np.sum(above / (both * ranks[:, None]))) / total


def inferred_ap(rank: Ints, gain: Floats, stratum: Ints) -> float:
    """Estimate average precision by xinfAP [2]_, which is infAP [1]_ if all items are in one stratum.

    The precision at a sampled relevant item at rank k is 1/k, plus (k − 1)/k times the precision above it, which is
    estimated in each stratum from its sampled items above k. The average weights the relevant items of a stratum by
    how many it is estimated to have. Items of the ranking that are not pooled are not relevant.

    Args:
        rank, gain: As described above.
        stratum: The stratum of each item; within a stratum, items are drawn with equal probability.

    References:
        .. [1] E. Yilmaz, J. A. Aslam, "Estimating average precision with incomplete and imperfect judgments", CIKM
           2006.
        .. [2] E. Yilmaz, E. Kanoulas, J. A. Aslam, "A simple and efficient sampling method for estimating AP and nDCG",
           SIGIR 2008.
    """
    relevant, sampled = _binary(gain), ~np.isnan(gain)
    strata = [stratum == name for name in np.unique(stratum)]
    total, all_relevant = 0.0, 0.0
    for members in strata:
        drawn = members & sampled
        if not drawn.any():
            continue
        scale = members.sum() / drawn.sum()
        all_relevant += scale * relevant[drawn].sum()
        for at in np.flatnonzero(drawn & (rank > 0) & (relevant > 0)):
            total += scale * _inferred_precision(int(rank[at]), rank, relevant, sampled, strata)
    return total / all_relevant if all_relevant else 0.0


def _inferred_precision(
    k: int, rank: Ints, relevant: Floats, sampled: NDArray[np.bool_], strata: list[NDArray[np.bool_]]
) -> float:
    above = (rank > 0) & (rank < k)
    expected = 0.0
    for members in strata:
        pooled = (members & above).sum()
        judged = members & above & sampled
        if not pooled:
            continue
        if judged.sum() == pooled:  # nothing is inferred
            share = relevant[judged].mean()
        else:
            hits = relevant[judged].sum()
            share = (hits + _SMOOTHING) / (judged.sum() + 2 * _SMOOTHING)
        expected += pooled * share
    return float((1 + expected) / k)


def _binary(gain: Floats) -> Floats:
    return np.where(np.isnan(gain), np.nan, gain > 0)


def _top(rank: Ints, values: Floats, k: int | None) -> Floats:
    """Return the values of items down to rank *k*, and 0 for others that were sampled."""
    inside = (rank > 0) & (rank <= (len(rank) + int(rank.max(initial=0)) if k is None else k))
    return np.where(inside | np.isnan(values), values, 0.0)
