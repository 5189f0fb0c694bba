"""Compute expected values over a span of equally likely positions, in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goldrank.hits import Floats, Ints

_EULER = 0.57721566490153286061
_TABLE = 64
_HARMONIC = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, _TABLE))))


def share_within(start: Ints, size: Ints, k: int | Ints | Floats | None) -> Floats:
    """Compute the probability that an item of the span has rank *k* or better.

    >>> share_within(np.array([0, 8, 12]), np.array([1, 4, 1]), 10)
    array([1. , 0.5, 0. ])
    """
    if k is None:
        return np.ones(len(start))
    return np.clip((k - start) / size, 0.0, 1.0)


def mean_over_span(
    start: Ints,
    size: Ints,
    k: int | None,
    weight: Callable[[Ints], Floats],
    cumulative: Callable[[Ints], Floats] | None = None,
) -> Floats:
    """Compute the mean of ``weight(rank)`` over the ranks of each span; ranks beyond *k* have the weight 0.

    *cumulative* is the closed form of ``weight(1) + … + weight(n)``; without it the sums are tabulated up to the last
    tied rank.
    """
    value = weight(start + 1)
    if k is not None:
        value = np.where(start < k, value, 0.0)
    wide = np.flatnonzero(size > 1)
    if len(wide):
        begin, end = start[wide], start[wide] + size[wide]
        if k is not None:
            begin, end = np.minimum(begin, k), np.minimum(end, k)
        if cumulative is None:
            table = np.concatenate(([0.0], np.cumsum(weight(np.arange(1, int(end.max()) + 1)))))
            value[wide] = (table[end] - table[begin]) / size[wide]
        else:
            value[wide] = (cumulative(end) - cumulative(begin)) / size[wide]
    return value


def harmonic(n: Ints) -> Floats:
    """Compute the harmonic numbers 1 + 1/2 + … + 1/n in double precision for any n.

    >>> harmonic(np.array([0, 1, 2, 4])).tolist()
    [0.0, 1.0, 1.5, 2.083333333333333]
    """
    n = np.asarray(n)
    x = np.maximum(n, _TABLE).astype(np.float64)
    # The asymptotic series; from n = 64 on, its first neglected term is below 1e-16.
    series = np.log(x) + _EULER + 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6)
    return np.where(n < _TABLE, _HARMONIC[np.minimum(n, _TABLE - 1)], series)


def none_in_sample(size: Ints, marked: Ints, sampled: Ints) -> Floats:
    """Compute the probability that *sampled* of *size* items include none of the *marked* ones (hypergeometric).

    >>> none_in_sample(np.array([4]), np.array([1]), np.array([1])).tolist()
    [0.75]
    """
    result = np.empty(len(size))
    for i, (n, m, k) in enumerate(zip(size.tolist(), marked.tolist(), sampled.tolist(), strict=True)):
        # Multiply over the smaller of the two counts: the distribution is symmetric in marked and sampled.
        few, other = min(m, k), max(m, k)
        steps = np.arange(few)
        result[i] = np.prod(np.maximum(n - other - steps, 0) / (n - steps))
    return result
