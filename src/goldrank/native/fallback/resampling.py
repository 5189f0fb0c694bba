"""Draw and add up the counts of bootstrap resamples, and the random signs of randomisation tests."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint16]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Numbers converted to floats at a time; BLAS computes such a small product without packing its operands.
_BLOCK = 1 << 16


def draw_counts(state: Integers, thresholds: Bytes, counts: Bytes, /) -> None:
    """Draw random bytes, and write to *counts* how many of the thresholds each of them reaches.

    Args:
        state: The four numbers of the state of numpy's SFC64, updated in place.
        thresholds: At least one, in any order.
        counts: Filled in; its size is a multiple of 8, because the generator gives eight bytes at a time.

    >>> state = np.random.SFC64(0).state["state"]["state"].view(np.int64)
    >>> counts = np.zeros(8, np.uint8)
    >>> draw_counts(state, np.array([98, 193], np.uint8), counts)
    >>> random = np.random.SFC64(0).random_raw().to_bytes(8, "little")
    >>> counts.tolist() == [int(byte >= 98) + int(byte >= 193) for byte in random]
    True
    """
    raw = _draw(state, len(counts) // 8).view(np.uint8)
    np.greater_equal(raw, thresholds[0], out=counts.view(np.bool_))
    reached = np.empty(len(raw), np.bool_)
    for threshold in thresholds[1:]:
        np.greater_equal(raw, threshold, out=reached)
        counts += reached.view(np.uint8)


def draw_bit_counts(state: Integers, counts: Bytes, /) -> None:
    """Draw random 16-bit words, and write the number of set bits of each to *counts*, whose size is a multiple of 4.

    >>> state = np.random.SFC64(0).state["state"]["state"].view(np.int64)
    >>> counts = np.zeros(4, np.uint8)
    >>> draw_bit_counts(state, counts)
    >>> int(counts.sum()) == np.random.SFC64(0).random_raw().bit_count()
    True
    """
    words = _draw(state, len(counts) // 4).view("<u2")
    pairs = words - ((words >> 1) & 0x5555)
    nibbles = (pairs & 0x3333) + ((pairs >> 2) & 0x3333)
    halves = (nibbles + (nibbles >> 4)) & 0x0F0F
    counts[:] = halves + (halves >> 8)


def _draw(state: Integers, size: int) -> NDArray[np.uint64]:
    """Draw 64-bit words by SFC64 from *state*, which is updated."""
    bits = np.random.SFC64(0)
    bits.state = {**bits.state, "state": {"state": state.view(np.uint64)}}
    words = np.asarray(bits.random_raw(size), dtype="<u8")
    state[:] = bits.state["state"]["state"].view(np.int64)
    return words


def sum_columns(counts: Bytes, totals: Integers, /) -> None:
    """Write the sum of each column of *counts* to *totals*.

    >>> totals = np.zeros(2, np.int64)
    >>> sum_columns(np.array([[1, 2], [255, 4]], np.uint8), totals)
    >>> totals.tolist()
    [256, 6]
    """
    rows, columns = counts.shape
    # The sums of 256 rows fit into two bytes, which numpy adds four times as fast as int64; in long rows it is fastest.
    groups = rows // 256
    parts = counts[: 256 * groups].reshape(256, groups * columns).sum(axis=0, dtype=np.uint16)
    totals[:] = parts.reshape(groups, columns).sum(axis=0, dtype=np.int64)
    totals += counts[256 * groups :].sum(axis=0, dtype=np.int64)


def add_draws(counts: Bytes, numbers: Integers, uniforms: Floats, /) -> None:
    """Add draws of rows to *counts* (rows, columns): the first ``numbers[0]`` uniforms to column 0, and so on.

    Args:
        counts: Filled in; 1 is added to a column for each of its draws, at row ``floor(uniform * rows)``.
        numbers: How many draws each column gets.
        uniforms: As many uniforms in [0, 1) as there are draws.

    >>> counts = np.zeros((2, 2), np.uint8)
    >>> add_draws(counts, np.array([2, 1]), np.array([0.6, 0.9, 0.1]))
    >>> counts.tolist()
    [[0, 1], [2, 0]]
    """
    rows, columns = counts.shape
    column = np.repeat(np.arange(columns), numbers)
    row = (uniforms * rows).astype(np.intp)
    np.add.at(counts.reshape(-1), row * columns + column, np.ones(len(row), np.uint8))


def add_weighted_sums(counts: Bytes, weights: Floats, sums: Floats, /) -> None:
    """Add the matrix product ``weights.T @ counts`` to *sums*; the order of summation is unspecified.

    Args:
        counts: (n, columns), contiguous within each row.
        weights: (n, quantities).
        sums: (quantities, columns), changed in place.

    >>> sums = np.ones((1, 2))
    >>> add_weighted_sums(np.array([[1, 2], [3, 4]], np.uint8), np.array([[0.5], [10.0]]), sums)
    >>> sums.tolist()
    [[31.5, 42.0]]
    """
    rows, columns = counts.shape
    step = max(_BLOCK // max(columns, 1), 1)
    for start in range(0, rows, step):
        sums += weights[start : start + step].T @ counts[start : start + step].astype(np.float64)


def certified_sum(values: Floats, /) -> float | None:
    """Return the exactly rounded sum of contiguous values, or None if the compiled code cannot decide how it rounds.

    >>> certified_sum(np.array([1e16, 1.0, -1e16]))
    1.0
    """
    return math.fsum(values.tolist())


def add_signed_sums(words: Words, places: Integers, sizes: Floats, sums: Floats, /) -> None:
    """Add the sum of 16 sizes, with the signs of the word at each place, to *sums*.

    Bit *i* of a word is set where size *i* is positive. The sum of the first eight sizes and that of the last eight,
    each from left to right, are added to each other and then to *sums*.

    >>> sums = np.zeros(2)
    >>> add_signed_sums(np.array([0, 3, 1], np.uint16), np.array([1, 2]), np.array([1.0, 0.5] + 14 * [0.0]), sums)
    >>> sums.tolist()
    [1.5, 0.5]
    """
    low, high = _signed_sums(sizes[:8]), _signed_sums(sizes[8:])
    chosen = words[places]
    sums += low[chosen & 255] + high[chosen >> 8]


def _signed_sums(sizes: Floats) -> Floats:
    """Compute ±s_1 ± s_2 … for all 2**n sign patterns by doubling."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums
