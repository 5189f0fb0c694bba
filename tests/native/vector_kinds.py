"""Vectors that are hard to multiply and compare: extreme, cancelling, equal and nearly equal ones."""

from __future__ import annotations

import numpy as np

TINY = 2.0**-126
BETWEEN = 1 + 2.0**-8
"""Half way between two bfloat16 numbers."""
WORST_OF_ALL = BETWEEN - 2.0**-17 - 2.0**-23
"""Its low part and what both parts miss are as large as can be, and of one sign, so that nothing cancels."""
WORST = [BETWEEN, BETWEEN - 2.0**-23, BETWEEN + 2.0**-23, BETWEEN - 2.0**-17, WORST_OF_ALL]
EDGES = [0.0, -0.0, 1.0, -1.0, *WORST, *(-x for x in WORST), 1 / 3, 1 + 2.0**-23, 2 - 2.0**-23]
KINDS = ["normal", "wide", "edges", "denormal", "cancelling", "zero"]


def vectors(kind, rows, width, rng):
    """Return rows of one difficult kind."""
    plain = rng.standard_normal((rows, width))
    if kind == "wide":
        plain *= 2.0 ** rng.integers(-40, 41, (rows, width))
    elif kind == "edges":
        plain = rng.choice(EDGES, (rows, width))
    elif kind == "denormal":
        plain *= 2.0 ** rng.integers(-149, -100, (rows, width))
    elif kind == "cancelling":
        # The second half cancels the sum of the first half.
        half = width // 2
        plain[:, half : 2 * half] = -plain[:, :half] * (1 + 2.0**-20 * rng.integers(-2, 3, (rows, half)))
    elif kind == "zero":
        plain *= rng.random((rows, width)) < 0.1
    return plain.astype(np.float32)


def close_rows(rows, width, rng):
    """Return rows that differ by single bits, are duplicates, or are zero."""
    base = rng.standard_normal(width).astype(np.float32)
    result = np.repeat(base[None], rows, axis=0)
    moved = rng.integers(0, rows, 2 * rows), rng.integers(0, width, 2 * rows)
    result[moved] = np.nextafter(result[moved], np.float32(9))
    result[::3] = result[::3, rng.permutation(width)]
    result[::7] = 0
    result[1::5] = rng.standard_normal(width)
    return result
