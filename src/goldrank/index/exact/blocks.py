"""Blocks of items and queries and rounds of gold items for exact counting, and arithmetic on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Floats, Ints
from goldrank.index.exact.signs import Matrix, Signs

QUERY_BLOCK = 2048
"""The number of queries, or of their gold items, compared at once."""


@dataclass(frozen=True)
class Round:
    """Judged items compared with one product: their columns of the product and their rows."""

    columns: slice | Ints
    rows: Ints


@dataclass(frozen=True)
class QueryBlock:
    """A block of queries: their columns, the operand of the product, and the rounds compared with it."""

    columns: Ints
    operand: Any
    rounds: list[Round]

    @cached_property
    def rows(self) -> Ints:
        """The rows of all rounds."""
        return np.concatenate([each.rows for each in self.rounds])

    @cached_property
    def widths(self) -> Ints:
        """The number of rows of each round."""
        return np.array([len(each.rows) for each in self.rounds], np.int64)

    @cached_property
    def places(self) -> Ints:
        """The place among the columns of each row, if every round is compared with the first columns."""
        return np.concatenate([np.arange(width) for width in self.widths])


@dataclass
class Block:
    """A block of items: stored rows, operand of the product, half the squared lengths, and the maximum length."""

    start: int
    rows: Matrix
    operand: Any
    halves: Floats
    length: float

    @property
    def stop(self) -> int:
        """The number of the first item after the block."""
        return self.start + len(self.rows)

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """The first row of each group of equal rows, and the group of every row."""
        # Adding zero turns -0.0 into 0.0, because rows are compared by their bytes.
        plain = np.ascontiguousarray(self.rows + self.rows.dtype.type(0))
        as_bytes = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).reshape(-1)
        _, first, group = np.unique(as_bytes, return_index=True, return_inverse=True)
        return first, group.reshape(-1)


class Scratch(threading.local):
    """Memory reused by each thread, because allocating new pages costs more than the computation."""

    _buffer: Matrix | None = None

    def matrix(self, shape: tuple[int, int], dtype: np.dtype[np.generic]) -> Matrix:
        """Return an uninitialised matrix; the type must be the same in every call."""
        size = shape[0] * shape[1]
        if self._buffer is None or len(self._buffer) < size:
            self._buffer = np.empty(size, dtype)
        return self._buffer[:size].reshape(shape)


def rounds_of(column: Ints, queries: int, *, apart: bool) -> Iterator[tuple[Ints, list[Round]]]:
    """Yield groups of columns with the rounds of their judged items; *column* holds the column of each judged item.

    Queries with the most gold come first, so that the k-th gold items of a group belong to its first columns. Where
    rounds are to stay *apart*, those that pick columns are given them as a group of their own.
    """
    counts = np.bincount(column, minlength=queries)
    columns = np.argsort(-counts, kind="stable")
    place = np.empty_like(columns)
    place[columns] = np.arange(len(columns))
    by_place = np.argsort(place[column], kind="stable")
    starts = np.concatenate(([0], np.cumsum(counts[columns])))
    for first in range(0, len(columns), QUERY_BLOCK):
        here = columns[first : first + QUERY_BLOCK]
        rows = by_place[starts[first] : starts[first + len(here)]]
        within = place[column[rows]] - first
        nth = np.arange(len(rows)) - (starts[first : first + len(here)] - starts[first])[within]
        together = list(_rounds(rows, within, nth))
        picking = [each for each in together if apart and not isinstance(each.columns, slice)]
        yield here, together[: len(together) - len(picking)]
        for each in picking:
            yield here[each.columns], [Round(slice(0, len(each.rows)), each.rows)]


def _rounds(rows: Ints, within: Ints, nth: Ints) -> Iterator[Round]:
    """Yield the rows of a query block in rounds: the first gold of each query, the second, …, and the tail together."""
    sizes = np.bincount(nth) if len(nth) else np.zeros(0, np.int64)
    # A round for a handful of columns costs as much overhead as a full one.
    full = int(np.count_nonzero(sizes >= max(1, sizes.max(initial=0) // 8)))
    by_round = np.argsort(nth, kind="stable")
    ends = np.cumsum(sizes)
    for number in range(full):
        yield Round(slice(0, int(sizes[number])), rows[by_round[ends[number] - sizes[number] : ends[number]]])
    tail = by_round[ends[full - 1] if full else 0 :]
    for start in range(0, len(tail), QUERY_BLOCK):
        part = tail[start : start + QUERY_BLOCK]
        yield Round(within[part], rows[part])


def signs_outside(differences: Floats, margin: Floats) -> Signs:
    """Return 1 or -1 where a difference exceeds its margin, else 0."""
    signs: Signs = (differences > margin).astype(np.int8)
    signs -= differences < -margin
    return signs


def half_squares(rows: Matrix) -> Floats:
    """Return half the squared length of each row, in float64."""
    halves: Floats = 0.5 * np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return halves


def lengths_above(rows: Matrix) -> Floats:
    """Return an upper bound of the length of each row, in float64."""
    lengths: Floats = 1.001 * np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    return lengths


def is_whole(rows: Matrix) -> bool:
    """Return True if all numbers are integers."""
    return bool((np.rint(rows) == rows).all())


def scaled(values: Matrix, exponents: NDArray[np.integer]) -> Floats:
    """Return the values in float64 times powers of two."""
    wide: Floats
    if values.dtype == np.float32 and np.abs(exponents).max(initial=0) < 1000:
        # A product with a power of two is as exact as ldexp, and ten times as fast.
        wide = np.multiply(values, np.ldexp(1.0, exponents), dtype=np.float64)
    else:
        wide = np.ldexp(values.astype(np.float64), exponents)
    return wide


def ldexp(values: Matrix, exponents: int | NDArray[np.integer]) -> Matrix:
    """Return the values times powers of two; the same array if the exponent is 0."""
    if isinstance(exponents, (int, np.integer)) and exponents == 0:
        return values
    return np.ldexp(values, exponents)
