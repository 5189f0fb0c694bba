"""Bootstrap means and medians from exact multinomial resampling counts.

A bootstrap resample of n queries is a vector of counts with the law multinomial(n; 1/n, …, 1/n). Drawing n
indices and gathering n values per resample and metric spends most of its time in random memory access. Here
the counts are drawn once for all metrics, almost entirely by vector instructions on bytes, and one matrix
product computes the sums.

Three facts make this exact rather than approximate:

1. Independent Poisson(λ) counts, *given their total* T, are T independent uniform draws over the n queries,
   for any λ. A row with T ≤ n is kept and topped up with n − T further uniform draws; a row with T > n is
   discarded and drawn afresh by n uniform draws. Either way the outcome is n independent uniform draws. λ
   lies a little below 1 so that almost no row is discarded.
2. A Poisson count is read off a random byte: the value k owns a whole number of the 256 byte values, which
   gives a coarse law q near the Poisson law p. As p = (1 − ρ)·q + ρ·r for a law r and a small ρ (some 1 %),
   a count drawn from r then replaces each coarse count with probability ρ. The mixture is the Poisson law,
   to the precision of float64.
3. The values are rounded to a fixed-point grid so coarse that every partial sum of a row is an integer
   below 2**53. Float addition is then exact, hence associative: the order in which a BLAS sums, its threads
   and its instruction set cannot change a bit of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from goldrank import native
from goldrank.errors import InputError

Floats = NDArray[np.float64]
Counts = NDArray[np.uint8]

# Counts in memory at a time: few enough that a chunk of bytes stays in a core's cache. Part of the definition
# of the random stream, like the seed: changing it changes every interval within its Monte Carlo error.
_CHUNK = 1 << 19
# Values that do not fit into this many bytes are read from main memory. So that they are read less often, more
# resamples are multiplied at a time: this many, if their counts fit into so many bytes.
_CACHE, _JOINED_ROWS, _JOINED = 1 << 23, 64, 1 << 23
# Standard deviations by which the Poisson totals are aimed below n: more means more topping up, fewer means
# more rows discarded; the cost is flat around here.
_MARGIN = 2.5
_TINY, _SCALED_UP = 2.0**-800, 600


def exact_sum(values: Floats) -> float:
    """Return the exactly rounded sum, which does not depend on the order of the values."""
    if len(values) and values[0] == 1 and (values == 1).all():  # weights, most often
        return float(len(values))
    total = native.certified_sum(np.ascontiguousarray(values))
    return math.fsum(values.tolist()) if total is None else total  # twice as fast as from the array


def count_chunks(n: int, *, resamples: int, seed: int = 0) -> Iterator[Counts]:
    """Yield resampling counts in chunks of shape (n, rows): how often each query is in each resample.

    Every column is an independent draw from multinomial(n; 1/n, …, 1/n). Fewer resamples with the same seed
    are the first ones of more. A chunk is only valid until the next one is requested.

    >>> chunk = next(count_chunks(5, resamples=3))
    >>> chunk.shape, chunk.sum(axis=0).tolist()
    ((5, 3), [5, 5, 5])
    """
    if n < 1 or resamples < 1:
        raise InputError(f"cannot draw {resamples} resamples of {n} queries", remedy="use at least one of each")
    bits = np.random.SFC64(seed)
    random = np.random.Generator(bits)
    # A multiple of 8 keeps the columns of a chunk aligned for vector instructions.
    rows = min(max(_CHUNK // n // 8 * 8, 8), 4096)
    draw = _PoissonBytes(1 - _MARGIN / math.sqrt(n), n * rows)
    for start in range(0, resamples, rows):
        counts = draw(bits, random).reshape(n, rows)
        _complete(counts, random)
        yield counts[:, : resamples - start]


def bootstrap_means(columns: Floats, *, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Compute the mean of every column over each resample of the rows.

    Args:
        columns: (n queries, m quantities), finite.
        resamples: The number of resamples; all columns share them, so that they stay paired.
        seed: The same seed gives bit-identical results on any number of threads and with any BLAS.

    Returns:
        (resamples, m). Each mean is within ``spread * n * 2**-52`` of the exact mean of the resample, where
        spread is the column's maximum less its minimum (2e-12 of the spread for 7,000 queries, 2e-10 for a
        million), or within the smallest positive float.

    >>> means = bootstrap_means(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]]), resamples=1000)
    >>> means.shape, bool(np.allclose(means[:, 1], 1 + 2 * means[:, 0]))
    ((1000, 2), True)
    """
    columns = np.asarray(columns, dtype=np.float64)
    n, m = columns.shape
    means = np.empty((resamples, m))
    # A unit of tiny values would underflow; scaling them up does not round.
    tiny = np.where(np.abs(columns).max(axis=0, initial=0) < _TINY, _SCALED_UP, 0)
    low, unit, ticks = _fixed_point(np.ldexp(columns, tiny) if tiny.any() else columns)
    start = 0
    chunks = count_chunks(n, resamples=resamples, seed=seed)
    for counts in _join(chunks) if ticks.nbytes > _CACHE else chunks:
        sums = np.zeros((m, counts.shape[1]))
        native.add_weighted_sums(counts, ticks, sums)
        means[start : start + counts.shape[1]] = sums.T
        start += counts.shape[1]
    means /= n
    means *= unit
    means += low
    return np.ldexp(means, -tiny) if tiny.any() else means


def _join(chunks: Iterator[Counts]) -> Iterator[Counts]:
    """Join narrow chunks to wider ones."""
    joined, filled = np.empty((0, 0), dtype=np.uint8), 0
    for counts in chunks:
        n, rows = counts.shape
        if not filled and 2 * rows > min(_JOINED_ROWS, _JOINED // n):
            yield counts
            continue
        if not joined.size:
            joined = np.empty((n, min(_JOINED_ROWS, _JOINED // n // 8 * 8)), dtype=np.uint8)
        if filled + rows > joined.shape[1]:
            yield joined[:, :filled]
            filled = 0
        if rows % 8:
            joined[:, filled : filled + rows] = counts
        else:  # eight bytes at a time
            joined[:, filled : filled + rows].view(np.uint64)[:] = counts.view(np.uint64)
        filled += rows
    if filled:
        yield joined[:, :filled]


def bootstrap_medians(values: Floats, *, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Compute the median of the values over each of the resamples of `bootstrap_means`.

    NaN is left out. The median of a resample without any defined value is NaN.

    >>> np.unique(bootstrap_medians(np.array([1.0, 2.0, np.nan]), resamples=500)).tolist()
    [1.0, 1.5, 2.0, nan]
    """
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    ordered = np.append(values[order], np.nan)  # the position after the last one: no value in the resample
    parts = []
    for counts in count_chunks(len(values), resamples=resamples, seed=seed):
        upto = np.cumsum(counts[order], axis=0, dtype=np.int32)
        total = upto[-1]
        lower = (upto <= (total - 1) // 2).sum(axis=0)
        upper = (upto <= total // 2).sum(axis=0)
        parts.append(np.where(total > 0, (ordered[lower] + ordered[upper]) / 2, np.nan))
    return np.concatenate(parts)


class _PoissonBytes:
    """Draws Poisson(λ) counts from random bytes into one buffer, by fact 2 of the module's docstring."""

    def __init__(self, rate: float, size: int) -> None:
        self.counts: Counts = np.zeros(size, dtype=np.uint8)
        self._drawing = rate > 0  # with very few queries, all counts come from topping up
        if not self._drawing:
            return
        # 40 terms: the tail beyond is below 1e-48.
        law = np.array([math.exp(-rate + k * math.log(rate) - math.lgamma(k + 1)) for k in range(40)])
        cells = np.zeros(len(law), dtype=np.int64)
        for _ in range(256):  # D'Hondt's apportionment: it keeps the largest q_k / p_k as small as can be
            cells[np.argmax(law / (cells + 1))] += 1
        coarse = cells / 256
        share = 1 - 1 / float(np.max(coarse / law))
        # For λ < 1 the law decreases, so the values that own cells are 0, 1, …, and these are where they end.
        self._thresholds: Counts = np.cumsum(cells[cells > 0])[:-1].astype(np.uint8)
        # Marks with the value k are put at random positions, and the largest mark of a position replaces its count.
        # Their mean numbers give "some mark ≥ k" the required probability, independently at every position.
        residual = np.maximum(law - (1 - share) * coarse, 0.0)
        at_least = -size * np.log1p(-np.cumsum(residual[::-1])[::-1])
        self._marks: Floats = np.maximum(at_least - np.append(at_least[1:], 0.0), 0.0)

    def __call__(self, bits: np.random.SFC64, random: np.random.Generator) -> Counts:
        counts = self.counts
        if not self._drawing:
            counts.fill(0)
            return counts
        state = bits.state
        native.draw_counts(state["state"]["state"].view(np.int64), self._thresholds, counts)
        bits.state = state
        value = np.repeat(np.arange(len(self._marks), dtype=np.uint8), random.poisson(self._marks))
        # In ascending order: of several marks at a position, the last and largest stays. Positions are even to
        # size / 2**53, and twice as fast from uniforms as from `integers`.
        counts[(random.random(len(value)) * counts.size).astype(np.intp)] = value
        return counts


def _complete(counts: Counts, random: np.random.Generator) -> None:
    """Bring every column of counts (n, rows) to the total n in place, by fact 1 of the module's docstring."""
    n, rows = counts.shape
    totals = np.empty(rows, dtype=np.int64)
    native.sum_columns(counts, totals)
    missing = n - totals
    overfull = missing < 0
    if overfull.any():
        counts[:, overfull] = 0
        missing[overfull] = n
    native.add_draws(counts, missing, random.random(int(missing.sum())))


def _fixed_point(columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Return low, unit and ticks with column = low + unit · ticks; n of the integer ticks add up exactly in float64."""
    n = len(columns)
    low = columns.min(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = columns.max(axis=0) - low
    if not np.isfinite(spread).all():
        raise InputError(
            "the values to be resampled are not all finite", remedy="leave out the queries without a value"
        )
    # A power of two at least as large as the spread: dividing by it does not round, so values on a binary
    # grid (0, 1/2, 1) stay on it and equal sums stay equal.
    exponent = np.frexp(spread)[1]
    unit = np.ldexp(1.0, exponent - (53 - math.ceil(math.log2(n))))
    return low, unit, np.ascontiguousarray(np.rint((columns - low) / unit))
