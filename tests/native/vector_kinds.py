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
    """Rows of one kind of trouble."""
    plain = rng.standard_normal((rows, width))
    if kind == "wide":
        plain *= 2.0 ** rng.integers(-40, 41, (rows, width))
    elif kind == "edges":
        plain = rng.choice(EDGES, (rows, width))
    elif kind == "denormal":
        plain *= 2.0 ** rng.integers(-149, -100, (rows, width))
    elif kind == "cancelling":
        # The second half takes back what the first half adds up to.
        half = width // 2
        plain[:, half : 2 * half] = -plain[:, :half] * (1 + 2.0**-20 * rng.integers(-2, 3, (rows, half)))
    elif kind == "zero":
        plain *= rng.random((rows, width)) < 0.1
    return plain.astype(np.float32)


def close_rows(rows, width, rng):
    """Rows that differ by single bits, come twice, or are zero."""
    base = rng.standard_normal(width).astype(np.float32)
    made = np.repeat(base[None], rows, axis=0)
    moved = rng.integers(0, rows, 2 * rows), rng.integers(0, width, 2 * rows)
    made[moved] = np.nextafter(made[moved], np.float32(9))
    made[::3] = made[::3, rng.permutation(width)]
    made[::7] = 0
    made[1::5] = rng.standard_normal(width)
    return made
