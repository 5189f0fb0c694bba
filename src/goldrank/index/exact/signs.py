"""Decide without rounding error which of two items is nearer to a query."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Floats

Signs = NDArray[np.int8]
Matrix = NDArray[Any]

_BATCH_ELEMENTS = 2**18
# Beyond these, products of the halves of a float64 may overflow or lose bits.
_LARGE, _SMALL = 2.0**300, 2.0**-300
_SPLITTER = 2.0**27 + 1


def difference_signs(queries: Matrix, left: Matrix, right: Matrix, *, squared: bool) -> Signs:
    """Return the sign of score(query, left) - score(query, right) for each row, in exact arithmetic.

    The score is the dot product, or with *squared* minus the squared distance.

    >>> query = np.array([[1, 1]], np.float32)
    >>> left, right = np.array([[1e9, 1]], np.float32), np.array([[1e9, 0]], np.float32)
    >>> difference_signs(query, left, right, squared=False).tolist()
    [1]
    """
    signs = np.zeros(len(queries), np.int8)
    # Equal vectors are by far the most frequent reason to come here.
    open_rows = np.flatnonzero((left != right).any(axis=1))
    step = max(1, _BATCH_ELEMENTS // (8 * max(1, queries.shape[1])))
    for start in range(0, len(open_rows), step):
        rows = open_rows[start : start + step]
        signs[rows] = _signs(queries[rows], left[rows], right[rows], squared)
    return signs


def _signs(queries: Matrix, left: Matrix, right: Matrix, squared: bool) -> Signs:
    if queries.dtype == np.float64:
        wild = _is_wild(queries) | _is_wild(left) | _is_wild(right)
        if wild.any():
            signs = np.empty(len(queries), np.int8)
            signs[~wild] = _signs(queries[~wild], left[~wild], right[~wild], squared) if not wild.all() else 0
            signs[wild] = [
                _rational_sign(q, x, y, squared) for q, x, y in zip(queries[wild], left[wild], right[wild], strict=True)
            ]
            return signs
    terms = _products(queries, left) + [-term for term in _products(queries, right)]
    if squared:
        terms = [2 * term for term in terms]
        terms += [-term for term in _products(left, left)] + _products(right, right)
    return sum_signs(np.concatenate(terms, axis=1))


def sum_signs(terms: Floats) -> Signs:
    """Return the sign of each row's exact sum.

    Adding and subtracting a large enough power of two cuts each term into a high part, on a grid so coarse
    that the high parts add up without rounding, and a rest that is cut again until nothing is left (Rump,
    Ogita and Oishi, Accurate floating-point summation, SIAM J. Sci. Comput. 31, 2008).

    >>> sum_signs(np.array([[1e30, 1.0, -1e30], [1e30, 0.0, -1e30]])).tolist()
    [1, 0]
    """
    spare_bits = terms.shape[1].bit_length() + 1
    sums = []
    rest = terms
    while (peaks := np.abs(rest).max(axis=1, initial=0)).any():
        anchors = np.ldexp(1.0, np.frexp(peaks)[1] + spare_bits)[:, None]
        high = (rest + anchors) - anchors
        sums.append(high.sum(axis=1))
        rest = rest - high
    if not sums:
        return np.zeros(len(terms), np.int8)
    return np.array([_sign(math.fsum(parts)) for parts in np.stack(sums, axis=1).tolist()], np.int8)


def _products(a: Matrix, b: Matrix) -> list[Floats]:
    """Terms that add up to the products a·b, each of them exact in float64."""
    if a.dtype != np.float64:
        return [a.astype(np.float64) * b]
    return [left * right for left in _halves(a) for right in _halves(b)]


def _halves(values: Floats) -> tuple[Floats, Floats]:
    """Two parts of 26 bits each that add up to the value (Dekker, Numerische Mathematik 18, 1971)."""
    carried = values * _SPLITTER
    high = carried - (carried - values)
    return high, values - high


def _is_wild(rows: Floats) -> NDArray[np.bool_]:
    sizes = np.abs(rows)
    return np.asarray(((sizes > _LARGE) | ((sizes < _SMALL) & (sizes > 0))).any(axis=1))


def _rational_sign(query: Floats, left: Floats, right: Floats, squared: bool) -> int:
    total = Fraction(0)
    for q, x, y in zip(*(map(Fraction, row.tolist()) for row in (query, left, right)), strict=True):
        total += (q - y) ** 2 - (q - x) ** 2 if squared else q * (x - y)
    return _sign(total)


def _sign(value: float | Fraction) -> int:
    return (value > 0) - (value < 0)
