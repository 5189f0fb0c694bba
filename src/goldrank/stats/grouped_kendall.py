"""Kendall's tau-b of many groups of pairs at once, such as the common items of two rankings for each query."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from goldrank.stats.resampling import Floats

Ints = NDArray[np.int64]
_CELLS = 1 << 16
"""Numbers in the matrix in which groups of about the same size are sorted together; it stays in the cache."""

_PAIRWISE = 16
"""Values of a block that are compared pair by pair; sorting shorter blocks takes longer."""


def grouped_kendall(x: Ints, y: Ints, sizes: Ints) -> Floats:
    """Compute tau-b of each group; NaN for fewer than two pairs or if one side is constant.

    Discordant pairs are counted by merging sorted halves, for all groups of about the same size at once.

    Args:
        x: The ranks of the pairs on one side, one group after the other; equal ranks are tied.
        y: The ranks on the other side, at least 0.
        sizes: The number of pairs of each group.

    >>> grouped_kendall(np.array([1, 2, 3, 1, 2]), np.array([1, 3, 2, 2, 1]), np.array([3, 2])).round(4).tolist()
    [0.3333, -1.0]
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    width = int(y.max(initial=0)) + 1
    by_x = group * (int(x.max(initial=0)) + 1) + x
    by_both, by_y = by_x * width + y, group * width + y
    sizes = sizes.astype(np.int64)
    pairs = sizes * (sizes - 1) // 2
    in_order = np.sort(by_both, kind="stable")  # usually sorted by x already, which the stable sort makes use of
    ties = [_tied_pairs(keys, group, len(sizes)) for keys in (in_order // width, np.sort(by_y), in_order)]
    difference = pairs - ties[0] - ties[1] + ties[2] - 2 * _count_inversions(in_order % width, sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.sqrt((pairs - ties[0]).astype(np.float64)) * np.sqrt((pairs - ties[1]).astype(np.float64))
        return np.where(scale > 0, np.clip(difference / scale, -1.0, 1.0), math.nan)


def _tied_pairs(keys: Ints, group: Ints, count: int) -> Ints:
    """Count the pairs of equal keys in each group; the keys are sorted."""
    differs = keys[1:] != keys[:-1]
    if differs.all():
        return np.zeros(count, np.int64)
    rows = np.concatenate(([0], np.flatnonzero(differs) + 1))
    lengths = np.diff(rows, append=len(keys))
    return np.bincount(group[rows], lengths * (lengths - 1) // 2, count).astype(np.int64)


def _count_inversions(values: Ints, sizes: Ints) -> Ints:
    """Count the pairs of each group whose first value is the larger one."""
    result = np.zeros(len(sizes), np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    exponents = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    for exponent in np.unique(exponents[sizes > 1]).tolist():
        width = 1 << exponent
        members = np.flatnonzero((exponents == exponent) & (sizes > 1))
        step = max(1, _CELLS // width)
        for part in (members[at : at + step] for at in range(0, len(members), step)):
            columns = np.arange(width)
            is_filled = columns < sizes[part, None]
            # Cells beyond a group hold the largest number, so that they are in no inversion.
            matrix = np.full((len(part), width), np.iinfo(np.int32).max // 2, np.int32)
            matrix[is_filled] = values[(starts[part, None] + columns)[is_filled]]
            result[part] = _merge(matrix)
    return result


def _merge(matrix: NDArray[np.int32]) -> Ints:
    """Count the inversions of each row, whose length is a power of 2, by merging halves of growing length."""
    rows, width = matrix.shape
    total = np.zeros(rows, np.int64)
    half = min(_PAIRWISE, width)
    blocks = matrix.reshape(rows, -1, half)
    for lag in range(1, half):
        total += np.count_nonzero(blocks[:, :, :-lag] > blocks[:, :, lag:], axis=(1, 2))
    matrix = np.sort(blocks, axis=2).reshape(rows, width) * 2
    while half < width:
        blocks = (matrix & ~1).reshape(rows, -1, 2 * half)
        blocks[:, :, half:] |= 1  # the last bit marks the right half; of equal values the left one comes first
        blocks.sort(axis=2)
        is_right = blocks & 1
        rights_before = np.cumsum(is_right, axis=2, dtype=np.int32)
        total += ((1 - is_right) * rights_before).sum(axis=(1, 2), dtype=np.int64)
        matrix = blocks.reshape(rows, width)
        half *= 2
    return total
