"""Vectors with ids for the exact index: checked once, read block by block, never copied as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError
from goldrank.hits import Floats, Ints
from goldrank.io.checks import id_strings
from goldrank.vectors.similarity import normalised, normalising_divisors, not_finite, numeric_matrix

Matrix = NDArray[Any]
Task = TypeVar("Task")
Result = TypeVar("Result")

CHUNK = 1024
"""Lengths are kept as one maximum for so many rows."""


def is_mapped(vectors: Any) -> bool:
    """Return True if the vectors are memory-mapped."""
    while vectors is not None and not isinstance(vectors, np.memmap):
        vectors = getattr(vectors, "base", None)
    return vectors is not None


class VectorTable:
    """A matrix with ids, in memory or memory-mapped, whose rows are read in the precision that is compared.

    Args:
        data: a numeric matrix; it is never copied as a whole.
        what: its name in messages.
        ids: one per row; "0", "1", … by default.
        normalise: give every row length 1 as it is read.
    """

    def __init__(self, data: object, what: str, ids: Sequence[object] | None = None, *, normalise: bool) -> None:
        self._data = np.asarray(numeric_matrix(data, what))
        self._normalise = normalise
        self.what = what
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if self._data.dtype in (np.float16, np.float32) else np.float64)
        self._name(ids, len(self._data))

    def _name(self, ids: Sequence[object] | None, count: int) -> None:
        self._numbered = ids is None
        if ids is not None:
            self.ids = _ids(ids, count, self.what)
            if len(self._position) != len(self.ids):
                raise _duplicate(self.ids, self.what)

    def __len__(self) -> int:
        return len(self._data)

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return int(self._data.shape[1])

    @cached_property
    def ids(self) -> list[str]:
        """The id of each row."""
        return [str(row) for row in range(len(self))]

    def name(self, row: int) -> str:
        """Return the id of a row."""
        return str(row) if self._numbered else self.ids[row]

    @cached_property
    def id_ranks(self) -> Ints:
        """The place of each row when sorted by id; code points sort as the bytes of UTF-8 do."""
        ids = self.ids
        ranks = np.empty(len(ids), np.int64)
        ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
        return ranks

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def find(self, names: list[str]) -> Ints:
        """Return the row of each id, -1 for unknown ids."""
        if self._numbered:
            # A table of all default ids would cost more than everything else around the product.
            count = len(self)
            return np.array([_number(name, count) for name in names], np.int64)
        return np.array([self._position.get(name, -1) for name in names], np.int64)

    def at(self, dtype: np.dtype[Any]) -> VectorTable:
        """Return the same vectors, read in another precision."""
        if dtype == self.dtype:
            return self
        other = copy(self)
        # They are those of another precision.
        other.__dict__.pop("divisors", None)
        other.dtype = dtype
        return other

    def read(self, start: int, stop: int) -> Matrix:
        """Return rows *start* to *stop* in row-major order; a view if nothing has to change."""
        return self._prepared(self._data[start:stop])

    @property
    def is_mapped(self) -> bool:
        """Whether the vectors are in a memory-mapped file, which may be larger than the memory."""
        return is_mapped(self._data)

    @property
    def plain(self) -> Matrix | None:
        """All rows as they are in memory; None if reading converts them."""
        return None if self._normalise else self._unread

    @property
    def plain_divided(self) -> Matrix | None:
        """All float32 rows in memory, which reading divides by the `divisors`; None if it converts them otherwise."""
        return self._unread if self._normalise and self.dtype == np.float32 else None

    @property
    def _unread(self) -> Matrix | None:
        data = self._data
        as_read = data.dtype == self.dtype and data.dtype.isnative and data.strides[1] == data.itemsize
        return data if as_read else None

    @cached_property
    def divisors(self) -> Floats:
        """What each row is divided by as it is read, if rows are normalised."""
        parts = [normalising_divisors(self._data[row : row + CHUNK]) for row in range(0, len(self), CHUNK)]
        return np.concatenate([np.zeros(0), *parts])

    def take(self, rows: Ints) -> Matrix:
        """Return the rows with these numbers."""
        return self._prepared(self._data[rows])

    def _prepared(self, rows: Matrix) -> Matrix:
        rows = np.ascontiguousarray(rows, self.dtype)
        return normalised(rows) if self._normalise else rows

    def check(self, threads: int) -> Floats:
        """Return an upper bound of the longest row of each chunk; raise for NaN and infinite values."""
        starts = range(0, len(self), CHUNK)
        return np.array(list(spread(self._longest, starts, threads)), np.float64)

    def _longest(self, start: int) -> float:
        rows = np.ascontiguousarray(self._data[start : start + CHUNK], self.dtype)
        with np.errstate(all="ignore"):
            peak = float(np.einsum("ij,ij->i", rows, rows).max())
        if not 1e-20 < peak < 1e30:
            # Not finite, or its squares may have left the range of the type: look closer.
            finite = np.isfinite(rows).all(axis=1)
            if not finite.all():
                row = start + int(np.argmin(finite))
                raise not_finite(self.what, row, self.name(row))
            largest = float(np.abs(rows).max(initial=0))
            if largest == 0:
                return 0.0
            # Squares that vanish beside the largest do not matter here.
            with np.errstate(under="ignore"):
                relative = rows.astype(np.float64) / largest
                length = largest * float(np.sqrt((relative * relative).sum(axis=1).max()))
        else:
            length = float(np.sqrt(peak))
        if self._normalise:
            return 1.001
        if 1.001 * length == np.inf:
            raise InputError(
                f"a vector of rows {start} to {start + len(rows) - 1} is longer than any float64",
                where=self.what,
                remedy="divide all vectors by the same constant",
            )
        return 1.001 * length


def spread(work: Callable[[Task], Result], tasks: Iterable[Task], threads: int) -> Iterator[Result]:
    """Yield the results of *work* on each task, in order, from a pool of threads if there are several."""
    if threads == 1:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, tasks)


@contextmanager
def single_threaded_blas(threads: int) -> Iterator[int]:
    """Keep BLAS to one thread a call, so that *threads* tasks do not fight for the cores; says how many may run.

    Without threadpoolctl BLAS keeps its own threads, and the tasks come one at a time.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield 1
        return
    with threadpool_limits(1, "blas"):
        yield threads


def refuse_other_dimension(queries: VectorTable, items: VectorTable) -> None:
    """Raise unless queries and items have the same dimension."""
    if queries.dimension != items.dimension:
        raise InputError(
            f"the queries have {queries.dimension} dimensions and the items {items.dimension}",
            where=queries.what,
            remedy="encode both with the same model",
        )


def _number(name: str, count: int) -> int:
    """Return the row of a default id, -1 for any other: "07" and "٣" are not the default ids of 7 and 3."""
    if not (name.isascii() and name.isdecimal()) or len(name) > 18 or (name[0] == "0" and len(name) > 1):
        return -1
    number = int(name)
    return number if number < count else -1


def _ids(ids: Sequence[object], count: int, what: str) -> list[str]:
    cells = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(cells) != count:
        raise InputError(f"there are {count} vectors and {len(cells)} ids", where=what, remedy="give one id per row")
    return id_strings(cells, role=what.removeprefix("the "), integers=True, place=lambda row: f"{what}, id {row}")


def _duplicate(ids: list[str], what: str) -> InputError:
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if first.setdefault(name, row) != row:
            return InputError(
                f"rows {first[name]} and {row} have the same id {name!r}",
                where=what,
                remedy="give every row its own id",
            )
    raise AssertionError("called for ids that are all different")
