"""Correlate many pairs of columns over many resamples at once, for intervals and permutation tests.

A resample is a vector of counts: how often each row is in it. A rank correlation needs the ranks within the resample,
with duplicates tied; once the rows are sorted, these ranks are running sums of the counts, so that no resample is
sorted. Centred and doubled, average ranks are integers: their sums are exact in any order of summation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.stats.resampling import Floats, count_chunks

CorrelationKind = Literal["pearson", "spearman", "kendall"]
CORRELATIONS: tuple[CorrelationKind, ...] = ("pearson", "spearman", "kendall")

# Columns of counts worked on at a time: the deviations of a few variables then stay in a core's cache.
_ROWS = 512
# The number of pairs grows with the square of the rows; beyond this, Kendall's tau is computed by sorting.
_PAIRWISE_LIMIT = 300
# All permutations are tried up to this many rows (8! = 40,320).
_EXACT_LIMIT = 8
# A resampled variance below this share of the squared range is rounding: the resample holds one value only.
_ROUNDING = 1e-28


def weighted_correlations(x: Floats, y: Floats, counts: NDArray[Any], kind: CorrelationKind) -> Floats:
    """Compute the correlation of every column of x with every column of y in every resample.

    Args:
        x: (n, I) finite.
        y: (n, D) finite.
        counts: (n, resamples) integers, how often each row is in each resample.
        kind: "pearson", "spearman" or "kendall".

    Returns:
        (resamples, I, D); NaN if a variable is constant in the resample.

    >>> x, y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [4.0], [9.0]])
    >>> weighted_correlations(x, y, np.array([[1, 1], [1, 0], [1, 2]]), "spearman").ravel().tolist()
    [1.0, 1.0]
    """
    work = _pairwise if kind == "kendall" and len(x) <= _PAIRWISE_LIMIT else _by_sorting if kind == "kendall" else None
    parts = []
    for start in range(0, counts.shape[1], _ROWS):
        part = counts[:, start : start + _ROWS]
        parts.append(work(x, y, part) if work else _by_deviations(x, y, part, kind))
    return np.concatenate(parts) if parts else np.empty((0, x.shape[1], y.shape[1]))


def bootstrap_correlations(
    x: Floats,
    y: Floats,
    kind: CorrelationKind,
    *,
    resamples: int,
    seed: int = 0,
    clusters: NDArray[np.intp] | None = None,
    rows: NDArray[np.bool_] | None = None,
) -> Floats:
    """Compute the correlations over resamples of the rows, or of whole clusters of rows, as (resamples, I, D).

    Args:
        x: (n, I) finite.
        y: (n, D) finite.
        kind: "pearson", "spearman" or "kendall".
        resamples: The number of resamples.
        seed: The same seed and number of rows give the same resamples, whatever the columns.
        clusters: (n,) the number of each row's cluster, counted from 0; clusters are resampled instead of rows.
        rows: (n,) whether each row is used; the others are resampled and left out, so that cells with different
            missing rows share their resamples.
    """
    used = np.ones(len(x), dtype=np.bool_) if rows is None else rows
    units = len(x) if clusters is None else int(clusters.max()) + 1
    parts = []
    for chunk in count_chunks(units, resamples=resamples, seed=seed):
        counts = chunk if clusters is None else chunk[clusters]
        parts.append(weighted_correlations(x[used], y[used], counts[used], kind))
    return np.concatenate(parts)


def jackknife_correlations(
    x: Floats, y: Floats, kind: CorrelationKind, clusters: NDArray[np.intp] | None = None
) -> Floats:
    """Compute the correlations without each row (or cluster) in turn, as (rows or clusters, I, D)."""
    groups = np.arange(len(x)) if clusters is None else clusters
    counts = (groups[:, None] != np.unique(groups)[None, :]).astype(np.int64)
    return weighted_correlations(x, y, counts, kind)


def permutation_p_values(
    x: Floats, y: Floats, kind: CorrelationKind, *, resamples: int = 10_000, seed: int = 0
) -> Floats:
    """Compute two-sided p-values of all correlations under random pairing of the rows of x and y, as (I, D).

    All permutations are tried if there are at most 40,320; else *resamples* random ones, the same for every cell, and
    the observed pairing counts as one more, so that no p-value is 0. NaN if a column is constant.

    >>> x = np.arange(5.0)[:, None]
    >>> permutation_p_values(x, x, "spearman").round(4).tolist()
    [[0.0167]]
    """
    n = len(x)
    exact = n <= _EXACT_LIMIT
    statistic = _pairings(x, y, kind)
    observed = np.abs(statistic(np.arange(n)[None, :])[0])
    reached, tried = np.zeros(observed.shape), 0
    for block in _permutations(n, resamples, seed, exact):
        reached += (np.abs(statistic(block)) >= observed - 1e-10).sum(axis=0)
        tried += len(block)
    p = reached / tried if exact else (1 + reached) / (1 + tried)
    defined = np.ptp(x, axis=0)[:, None] * np.ptp(y, axis=0)[None, :] > 0
    return np.where(defined, p, math.nan)


def _permutations(n: int, resamples: int, seed: int, exact: bool) -> Iterator[NDArray[np.intp]]:
    if exact:
        yield np.array(list(permutations(range(n))), dtype=np.intp)
        return
    random = np.random.Generator(np.random.SFC64(seed))
    for start in range(0, resamples, _ROWS):
        rows = np.tile(np.arange(n), (min(_ROWS, resamples - start), 1))
        yield random.permuted(rows, axis=1)


def _pairings(x: Floats, y: Floats, kind: CorrelationKind) -> Callable[[NDArray[np.intp]], Floats]:
    """Return a function of permutations (m, n) that computes a monotone measure of the correlations as (m, I, D)."""
    if kind == "kendall" and len(x) <= _PAIRWISE_LIMIT:
        return _paired_signs(x, y)
    if kind == "kendall":
        return lambda orders: np.array(
            [[[_tau(column[order], other) for other in y.T] for column in x.T] for order in orders]
        )
    ones = np.ones((len(x), 1), dtype=np.int64)
    first, second = _unit(_deviations(x, ones, kind)[:, :, 0]), _unit(_deviations(y, ones, kind)[:, :, 0])

    def measure(orders: NDArray[np.intp]) -> Floats:
        # Not by BLAS, whose sums depend on its threads.
        measures: Floats = np.einsum("imn,dn->mid", first[:, orders], second)
        return measures

    return measure


def _unit(deviations: Floats) -> Floats:
    length = np.sqrt((deviations**2).sum(axis=1, keepdims=True))
    scaled: Floats = np.divide(deviations, length, out=np.zeros_like(deviations), where=length > 0)
    return scaled


def _paired_signs(x: Floats, y: Floats) -> Callable[[NDArray[np.intp]], Floats]:
    n = len(x)
    first, second = np.triu_indices(n, 1)
    # One row per ordered pair, so that its signs for all variables are adjacent in memory.
    signs = np.sign(x[:, None, :] - x[None, :, :]).astype(np.float32).reshape(n * n, -1)
    others = np.sign(y[first] - y[second]).astype(np.float32)
    scale = np.sqrt(np.outer((signs != 0).sum(axis=0) / 2, (others != 0).sum(axis=0)))
    scale[scale == 0] = 1

    def measure(orders: NDArray[np.intp]) -> Floats:
        measures = np.empty((len(orders), *scale.shape))
        for number, order in enumerate(orders):
            rows = (order * n)[first] + order[second]
            # Integers below 2**24, which float32 adds exactly in any order.
            measures[number] = signs[rows].T @ others
        measures /= scale
        return measures

    return measure


def _by_deviations(x: Floats, y: Floats, counts: NDArray[Any], kind: CorrelationKind) -> Floats:
    first, second = _deviations(x, counts, kind), _deviations(y, counts, kind)
    weighted = first * counts
    squares = [
        np.einsum("inr,inr->ri", weighted, first),
        np.einsum("inr,inr,nr->ri", second, second, counts.astype(first.dtype)),
    ]
    products = np.empty((counts.shape[1], len(first), len(second)))
    for i, column in enumerate(weighted):
        for d, other in enumerate(second):
            products[:, i, d] = np.einsum("nr,nr->r", column, other)
    total = counts.sum(axis=0)[:, None]
    ranges = [np.ptp(columns, axis=0) if kind == "pearson" else np.zeros(columns.shape[1]) for columns in (x, y)]
    for square, spread in zip(squares, ranges, strict=True):
        square[square <= total * _ROUNDING * spread**2] = math.nan
    correlations: Floats = products / np.sqrt(squares[0][:, :, None] * squares[1][:, None, :])
    return np.clip(correlations, -1.0, 1.0)


def _deviations(columns: Floats, counts: NDArray[Any], kind: CorrelationKind) -> Floats:
    """Subtract from each variable its mean within each resample, as (variables, n, resamples); ranks are doubled."""
    n, rows = counts.shape
    deviations = np.empty((columns.shape[1], n, rows))
    total = counts.sum(axis=0, dtype=np.int64)
    for position, column in enumerate(columns.T):
        if kind == "pearson":
            # Centred first, so that a large common offset costs no digits.
            centred = column - column.mean()
            deviations[position] = centred[:, None] - (centred @ counts) / np.maximum(total, 1)
            continue
        order = np.argsort(column, kind="stable")
        upto = np.zeros((n + 1, rows), dtype=np.int64)
        np.cumsum(counts[order], axis=0, out=upto[1:])
        ordered = column[order]
        below = np.searchsorted(ordered, column, side="left")
        through = np.searchsorted(ordered, column, side="right")
        deviations[position] = upto[below] + upto[through] - total
    return deviations


def _pairwise(x: Floats, y: Floats, counts: NDArray[Any]) -> Floats:
    """Compute Kendall's tau-b from the signs of all pairs of rows, weighted by their counts in the resample."""
    first, second = np.triu_indices(len(x), 1)
    # All numbers are integers, which BLAS adds exactly in any order; float32 is enough up to 2**24.
    exact = np.float32 if int(counts.sum(axis=0, dtype=np.int64).max(initial=0)) ** 2 < 1 << 24 else np.float64
    weights = np.ascontiguousarray((counts[first].astype(exact) * counts[second]).T)
    signs = [np.sign(columns[first] - columns[second]).astype(exact) for columns in (x, y)]
    agreement = np.stack([weights @ (column[:, None] * signs[1]) for column in signs[0].T], axis=1)
    untied = [(weights @ np.abs(sign)).astype(np.float64) for sign in signs]
    for count in untied:
        count[count == 0] = math.nan
    correlations: Floats = agreement / np.sqrt(untied[0][:, :, None] * untied[1][:, None, :])
    return np.clip(correlations, -1.0, 1.0)


def _by_sorting(x: Floats, y: Floats, counts: NDArray[Any]) -> Floats:
    correlations = np.empty((counts.shape[1], x.shape[1], y.shape[1]))
    for resample, count in enumerate(counts.T):
        rows = np.repeat(np.arange(len(x)), count)
        for i, column in enumerate(x[rows].T):
            for d, other in enumerate(y[rows].T):
                correlations[resample, i, d] = _tau(column, other)
    return correlations


def _tau(x: Floats, y: Floats) -> float:
    from scipy import stats

    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(stats.kendalltau(x, y, method="asymptotic").statistic)
