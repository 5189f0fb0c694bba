"""Find the row of a key in little memory: the keys as one byte string, with their sorted hashes.

A dict of millions of strings takes hundreds of bytes for each; this takes about thirty besides the text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from goldrank.hits import Ints

_AT_ONCE = 1 << 16


class RowLookup:
    """The key of each row; a key of several rows is found in the first of them.

    >>> lookup = RowLookup(["b", "a", "b"])
    >>> lookup.find(["a", "b", "c"]).tolist(), lookup.find_duplicate()
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
        # Stable, so that the first row of equal keys comes first.
        self._rows = np.argsort(unsorted, kind="stable")
        self._hashes = unsorted[self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: int) -> str:
        return self._bytes(row).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

    def find(self, names: Sequence[str]) -> Ints:
        """Return the row of each name, -1 for a name that is not a key."""
        rows = np.full(len(names), -1, np.int64)
        if len(self):
            for start in range(0, len(names), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                rows[part] = self._find_part(names[part])
        return rows

    def find_duplicate(self) -> tuple[int, int] | None:
        """Return the first two rows with the same key; None if all keys differ."""
        same = np.flatnonzero(self._hashes[1:] == self._hashes[:-1])
        first: dict[str, int] = {}
        for row in np.unique(self._rows[np.concatenate((same, same + 1))]).tolist():
            if (earlier := first.setdefault(self[row], row)) != row:
                return earlier, row
        return None

    def _find_part(self, names: Sequence[str]) -> Ints:
        keys = list(map(_encoded, names))
        hashes = np.fromiter(map(hash, names), np.int64, len(names))
        positions = np.searchsorted(self._hashes, hashes)
        rows = self._rows[np.minimum(positions, len(self) - 1)]
        spans = zip(keys, self._bounds[rows].tolist(), self._bounds[rows + 1].tolist(), strict=True)
        right = np.fromiter((self._text[start:end] == key for key, start, end in spans), bool, len(names))
        for at in np.flatnonzero(~right).tolist():
            rows[at] = self._find_among_equal(keys[at], int(hashes[at]), int(positions[at]))
        return rows

    def _find_among_equal(self, key: bytes, hashed: int, position: int) -> int:
        """Return the row of a key among the rows with its hash, which begin at *position*; -1 if there is none."""
        while position < len(self) and self._hashes[position] == hashed:
            row = int(self._rows[position])
            if self._bytes(row) == key:
                return row
            position += 1
        return -1

    def _bytes(self, row: int) -> bytearray:
        return self._text[self._bounds[row] : self._bounds[row + 1]]


def _encoded(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")
