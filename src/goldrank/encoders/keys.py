"""Keys of rows without a dict: their bytes one after the other, and their hashes sorted.

Millions of strings and a dict of them take hundreds of bytes each; this takes about thirty beside the text itself.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_AT_ONCE = 1 << 16


class Keys:
    """The key of each row; a key that several rows have stands for the first of them.

    >>> keys = Keys(["b", "a", "b"])
    >>> keys.find(["a", "b", "c"]).tolist(), keys.repeated()
    ([1, 0, -1], (0, 2))
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._text, bounds, hashes = bytearray(), array("q", [0]), array("q")
        for key in keys:
            self._text += _encoded(key)
            bounds.append(len(self._text))
            hashes.append(hash(key))
        self._bounds: Ints = np.frombuffer(bounds, np.int64)
        unsorted = np.frombuffer(hashes, np.int64) if hashes else np.zeros(0, np.int64)
        # Stable, so that of equal keys the first row comes first.
        self._rows = np.argsort(unsorted, kind="stable")
        self._hashes = unsorted[self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> str:
        return self._bytes(row).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

    def find(self, names: Sequence[str]) -> Ints:
        """The row of each name, -1 for those that are no key."""
        rows = np.full(len(names), -1, np.int64)
        if len(self):
            for start in range(0, len(names), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                rows[part] = self._found(names[part])
        return rows

    def repeated(self) -> tuple[int, int] | None:
        """The first row whose key an earlier row has, after that earlier one; None where all keys differ."""
        same = np.flatnonzero(self._hashes[1:] == self._hashes[:-1])
        first: dict[str, int] = {}
        for row in np.unique(self._rows[np.concatenate((same, same + 1))]).tolist():
            if (earlier := first.setdefault(self[row], row)) != row:
                return earlier, row
        return None

    def _found(self, names: Sequence[str]) -> Ints:
        wanted = list(map(_encoded, names))
        hashes = np.fromiter(map(hash, names), np.int64, len(names))
        places = np.searchsorted(self._hashes, hashes)
        rows = self._rows[np.minimum(places, len(self) - 1)]
        spans = zip(wanted, self._bounds[rows].tolist(), self._bounds[rows + 1].tolist(), strict=True)
        right = np.fromiter((self._text[start:end] == key for key, start, end in spans), bool, len(names))
        for at in np.flatnonzero(~right).tolist():
            rows[at] = self._among_equal(wanted[at], int(hashes[at]), int(places[at]))
        return rows

    def _among_equal(self, key: bytes, hashed: int, place: int) -> int:
        """The row of a key from the *place* of its hash on, which other keys may have too."""
        while place < len(self) and self._hashes[place] == hashed:
            row = int(self._rows[place])
            if self._bytes(row) == key:
                return row
            place += 1
        return -1

    def _bytes(self, row: int) -> bytearray:
        return self._text[self._bounds[row] : self._bounds[row + 1]]


def _encoded(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")
