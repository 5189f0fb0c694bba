"""Compute the normalised area under the abstention curve, which says whether a confidence predicts the scores."""

from __future__ import annotations

import numpy as np

from goldrank.stats.resampling import Floats

RATES = np.linspace(0, 1, 11)[:-1]
"""The shares of queries that are left unanswered, the least confident first; bit-identical to those of mteb."""
# Elements of a block of resamples; sorting within it stays within the processor's cache.
_BLOCK = 1 << 18


def abstention_area(values: Floats, confidence: Floats) -> float:
    """Compute the normalised area under the abstention curve (nAUC) [1]_.

    The curve gives the mean value of the queries that remain when the least confident ones are not answered, at
    rates from 0 to 0.9. Its area is scaled so that 0 is the area of a constant curve and 1 that of the oracle, which
    leaves out the lowest values first. Queries of equal confidence count with their mean. NaN if all values are equal.

    Args:
        values: (n,) one per query; NaN where the metric is undefined, and left out.
        confidence: (n,) one per query.

    References:
        .. [1] H. Gisserot-Boukhlef et al., "Towards trustworthy reranking: a simple yet effective abstention
           mechanism", Transactions on Machine Learning Research (2024).

    >>> abstention_area(np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.7, 0.8]))
    1.0
    """
    defined = ~np.isnan(values)
    return float(_areas(values[None, defined], confidence[None, defined])[0]) if defined.any() else float("nan")


def resampled_areas(values: Floats, confidence: Floats, *, resamples: int, seed: int) -> Floats:
    """Compute the areas of resamples of the queries, except those in which all values are equal."""
    defined = ~np.isnan(values)
    values, confidence = values[defined], confidence[defined]
    if len(values) < 2:
        return np.zeros(0)
    rng = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(values))
    areas = []
    for start in range(0, resamples, rows):
        indices = rng.integers(0, len(values), (min(rows, resamples - start), len(values)))
        areas.append(_areas(values[indices], confidence[indices]))
    replicates: Floats = np.concatenate(areas)
    return replicates[~np.isnan(replicates)]


def _areas(values: Floats, confidence: Floats) -> Floats:
    """Compute the area of every row."""
    order = np.argsort(confidence, axis=1, kind="stable")
    ordered, sorted_confidence = np.take_along_axis(values, order, 1), np.take_along_axis(confidence, order, 1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = sorted_confidence[:, 1:] != sorted_confidence[:, :-1]
    tie = np.cumsum(new.ravel()) - 1
    means = np.bincount(tie, ordered.ravel()) / np.bincount(tie)
    curve, oracle = _curve(means[tie].reshape(ordered.shape)), _curve(np.sort(values, axis=1))
    constant = oracle[:, 0] * (RATES[-1] - RATES[0])
    area, best = (np.sum((line[:, 1:] + line[:, :-1]) / 2 * np.diff(RATES), axis=1) for line in (curve, oracle))
    possible = best - constant
    differ = values.min(axis=1) < values.max(axis=1)
    areas: Floats = np.full(len(values), np.nan)
    np.divide(area - constant, possible, out=areas, where=differ & (possible > 0))
    return areas


def _curve(ordered: Floats) -> Floats:
    """Compute the mean of each row without its first values, at every rate."""
    size = ordered.shape[1]
    left_out = np.minimum(np.round(RATES * size).astype(np.int64), size - 1)
    rest = np.cumsum(ordered[:, ::-1], axis=1)[:, ::-1]
    curve: Floats = rest[:, left_out] / (size - left_out)
    return curve
