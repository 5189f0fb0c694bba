"""A vocabulary that is looked up on disk, so that opening a large one is fast."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from goldrank.io.arrays import load_array

_WORDS, _ENDS, _HASHES, _ROWS = "words.bin", "ends.npy", "hashes.npy", "rows.npy"


def write_vocabulary(folder: Path, words: Sequence[str]) -> None:
    """Write *words* for `MappedVocabulary`: their bytes, and their sorted hashes."""
    encoded = [_encoded(word) for word in words]
    hashes = np.fromiter(map(_hash, encoded), np.uint64, len(encoded))
    order = np.argsort(hashes, kind="stable")
    (folder / _WORDS).write_bytes(b"".join(encoded))
    np.save(folder / _ENDS, np.cumsum([len(word) for word in encoded], dtype=np.int64))
    np.save(folder / _HASHES, hashes[order])
    np.save(folder / _ROWS, order.astype(np.int32))


class MappedVocabulary(Mapping[str, int]):
    """The row of each word, from a folder that `write_vocabulary` has written; looked-up words are cached."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _WORDS
        parts = [load_array(folder / name) for name in (_ENDS, _HASHES, _ROWS)]
        if [(part.dtype.name, part.ndim) for part in parts] != [("int64", 1), ("uint64", 1), ("int32", 1)]:
            raise ValueError("the parts of the vocabulary are not lists of whole numbers")
        self._ends, self._hashes, self._rows = parts
        if not len(self._ends) == len(self._hashes) == len(self._rows) or self._file.stat().st_size != self._size():
            raise ValueError("the parts of the vocabulary do not fit together")
        self._bytes = np.memmap(self._file, np.uint8, "r") if self._size() else np.empty(0, np.uint8)
        self._seen: dict[str, int | None] = {}

    def __getitem__(self, word: str) -> int:
        row = self._find(word)
        if row is None:
            raise KeyError(word)
        return row

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._find(word) is not None

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[str]:
        data, start = self._file.read_bytes(), 0
        for end in self._ends.tolist():
            yield data[start:end].decode("utf-8", "surrogatepass")
            start = end

    def _size(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def _find(self, word: str) -> int | None:
        if word not in self._seen:
            self._seen[word] = self._search(_encoded(word))
        return self._seen[word]

    def _search(self, word: bytes) -> int | None:
        hash_ = np.uint64(_hash(word))
        at = int(np.searchsorted(self._hashes, hash_))
        # Two words may have the same hash, so the bytes are compared.
        while at < len(self._hashes) and self._hashes[at] == hash_:
            row = int(self._rows[at])
            start = int(self._ends[row - 1]) if row else 0
            if self._bytes[start : int(self._ends[row])].tobytes() == word:
                return row
            at += 1
        return None


def _encoded(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
