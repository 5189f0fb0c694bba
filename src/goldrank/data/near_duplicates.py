"""Find near-duplicate texts: MinHash signatures over word shingles, locality-sensitive hashing, exact verification.

Two texts are near-duplicates if the Jaccard similarity of their sets of three-word sequences is at least 0.5; case,
punctuation and Unicode forms are ignored. Texts of fewer than `LEAST_WORDS` words are compared as a whole. Memory is
about 180 bytes per text of any length, and the result depends only on the texts and their order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_JACCARD = 0.5
LEAST_WORDS = 8
_SHINGLE = 3
# 42 bands of 4 minima: a pair of Jaccard 0.6 shares a band with probability 0.997, one of 0.5 with 0.93, one of 0.1
# with 0.004.
_BANDS, _ROWS = 42, 4
METHOD = f"jaccard {LEAST_JACCARD}, {LEAST_WORDS} words, shingles of {_SHINGLE}, {_BANDS} bands of {_ROWS}"
"""Everything that decides the result besides the texts, for the key of a cache."""
_CHARACTERS_AT_ONCE = 1 << 20
_CHUNK = 1 << 16
# Chinese and Japanese are written without blanks: every character counts as a word.
_WORD = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")

Rows = NDArray[np.int64]
Hashes = NDArray[np.uint32]


def fold(text: str) -> str:
    """Return the words of a text in one case and Unicode form, without punctuation, joined by blanks.

    >>> fold("The  CAT, the ﬁsh!")
    'the cat the fish'
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(_WORD.findall(text.casefold()))


def group_near_duplicates(texts: Callable[[], Iterable[str]]) -> list[list[int]]:
    """Return groups of the positions of texts that are near-duplicates, in order of their first text.

    Args:
        texts: Returns an iterator over all texts; it is called twice, and no text is held in memory.

    >>> wine = "a dry white wine from the slopes above the river with notes of green apple and flint"
    >>> group_near_duplicates(lambda: [wine, "something else", wine.upper() + "!", wine.replace("green", "red")])
    [[0, 2, 3]]
    """
    bands, short = _sketch(texts())
    pairs = _candidates(bands)
    alike = [(places[0], other) for places in short.values() for other in places[1:]]
    if len(pairs):
        sets = _shingle_sets(texts(), np.unique(pairs))
        alike += [(a, b) for a, b in pairs.tolist() if _jaccard(sets[a], sets[b]) >= LEAST_JACCARD]
    return _connected(alike, len(bands))


def _sketch(texts: Iterable[str]) -> tuple[Hashes, dict[str, list[int]]]:
    """Return the hash of each band of every text's signature, 0 for short texts, and the positions of short texts."""
    parts: list[Hashes] = []
    short: dict[str, list[int]] = {}
    place = 0
    for batch in _batches(texts):
        long = [number for number, text in enumerate(batch) if count_words(text) >= LEAST_WORDS]
        bands = np.zeros((len(batch), _BANDS), np.uint32)
        if long:
            hashes, starts = _shingles([batch[number] for number in long])
            bands[long] = _band_hashes(_minima(hashes, starts))
        chosen = set(long)
        for number, text in enumerate(batch):
            if number not in chosen and text:
                short.setdefault(text, []).append(place + number)
        parts.append(bands)
        place += len(batch)
    return (np.concatenate(parts) if parts else np.zeros((0, _BANDS), np.uint32)), short


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield folded texts, about a million characters at a time."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(fold(text))
        size += len(batch[-1])
        if size >= _CHARACTERS_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def count_words(text: str) -> int:
    """Return the number of words of a folded text."""
    return text.count(" ") + 1 if text else 0


def _shingles(texts: Sequence[str]) -> tuple[Hashes, Rows]:
    """Return the hashes of all three-word sequences of folded texts in order, and where those of each text start.

    A polynomial hash of prefixes gives the hash of any span by a subtraction: no loop over words is needed.
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = np.frombuffer(b" ".join(encoded) + b" ", np.uint8)
    powers, inverses = _powers(len(joined))
    prefix = np.zeros(len(joined) + 1, np.uint64)
    np.cumsum(joined.astype(np.uint64) * powers, out=prefix[1:])
    ends = np.flatnonzero(joined == ord(" "))
    begins = np.concatenate(([0], ends[:-1] + 1))
    counts = np.array([text.count(b" ") + 1 for text in encoded], np.int64)
    last = np.cumsum(counts)
    # The sequences of a text begin at each of its words but the last two.
    inside = np.ones(len(begins), bool)
    for back in range(1, _SHINGLE):
        inside[last - back] = False
    first = np.flatnonzero(inside)
    spans = (prefix[ends[first + _SHINGLE - 1]] - prefix[begins[first]]) * inverses[begins[first]]
    return _mix(spans), np.cumsum(counts - _SHINGLE + 1) - (counts - _SHINGLE + 1)


_BASE = 0x9E3779B97F4A7C15
_TABLES: dict[int, tuple[NDArray[np.uint64], NDArray[np.uint64]]] = {}


def _powers(length: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the first powers of an odd number and of its inverse modulo 2^64."""
    size = 1 << max(10, (length - 1).bit_length())
    if size not in _TABLES:
        _TABLES.clear()
        _TABLES[size] = (_powers_of(_BASE, size), _powers_of(pow(_BASE, -1, 1 << 64), size))
    powers, inverses = _TABLES[size]
    return powers[:length], inverses[:length]


def _powers_of(base: int, size: int) -> NDArray[np.uint64]:
    powers = np.full(size, base, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


def _mix(spans: NDArray[np.uint64]) -> Hashes:
    """Return the upper half of SplitMix64's finaliser."""
    mixed = (spans ^ (spans >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(32)).astype(np.uint32)


_RANDOM = np.random.Generator(np.random.PCG64(14)).integers(0, 1 << 32, (2, _BANDS * _ROWS), np.uint32)
_FACTORS, _MASKS = _RANDOM[0] | np.uint32(1), _RANDOM[1]


def _minima(hashes: Hashes, starts: Rows) -> Hashes:
    """Return for each text the smallest of its hashes under every permutation, one column each."""
    minima = np.empty((len(starts), len(_FACTORS)), np.uint32)
    at = 0
    while at < len(starts):
        # Parts that stay in the processor's cache while all permutations go over them.
        stop = max(at + 1, int(np.searchsorted(starts, starts[at] + _CHUNK, "right")) - 1)
        stop = len(starts) if starts[at] + _CHUNK >= len(hashes) else stop
        end = len(hashes) if stop == len(starts) else int(starts[stop])
        part = hashes[starts[at] : end]
        bounds = starts[at:stop] - starts[at]
        permuted = np.empty_like(part)
        for column, (factor, mask) in enumerate(zip(_FACTORS, _MASKS, strict=True)):
            np.bitwise_xor(part, mask, out=permuted)
            np.multiply(permuted, factor, out=permuted)
            minima[at:stop, column] = np.minimum.reduceat(permuted, bounds)
        at = stop
    return minima


def _band_hashes(minima: Hashes) -> Hashes:
    rows = minima.reshape(len(minima), _BANDS, _ROWS).astype(np.uint64)
    spans = np.zeros(rows.shape[:2], np.uint64)
    for row in range(_ROWS):
        spans = (spans ^ rows[:, :, row]) * np.uint64(_BASE)
    # 0 is for texts that have no signature.
    return np.maximum(_mix(spans), 1)


def _candidates(bands: Hashes) -> Rows:
    """Return pairs to compare: in every band each text with the first of its bucket and with the one before it."""
    pairs: list[Rows] = []
    for band in range(_BANDS):
        values = bands[:, band]
        order = np.argsort(values, kind="stable")
        order = order[np.searchsorted(values[order], 1) :]
        ordered = values[order]
        fresh = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(order) else np.zeros(0, bool)
        heads = order[np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))] if len(order) else order
        again = np.flatnonzero(~fresh)
        pairs.append(np.stack((heads[again], order[again]), axis=1))
        pairs.append(np.stack((order[again - 1], order[again]), axis=1))
        if band % 8 == 7:
            pairs = [np.unique(np.concatenate(pairs), axis=0)]
    return np.unique(np.concatenate(pairs), axis=0)


def _shingle_sets(texts: Iterable[str], wanted: Rows) -> dict[int, Hashes]:
    """Return the distinct shingles of the texts at the *wanted* positions."""
    shingles: dict[int, Hashes] = {}
    chosen = frozenset(wanted.tolist())
    places = iter(wanted.tolist())
    for batch in _batches(text for place, text in enumerate(texts) if place in chosen):
        hashes, starts = _shingles(batch)
        numbers = np.repeat(np.arange(len(batch)), np.diff(starts, append=len(hashes)))
        # One sort for all texts of the batch, each under its number.
        distinct = np.unique(numbers.astype(np.uint64) << np.uint64(32) | hashes)
        bounds = np.searchsorted(distinct, np.arange(1, len(batch), dtype=np.uint64) << np.uint64(32))
        parts = np.split((distinct & np.uint64(0xFFFFFFFF)).astype(np.uint32), bounds)
        shingles.update((next(places), part) for part in parts)
    return shingles


def _jaccard(first: Hashes, second: Hashes) -> float:
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common / (len(first) + len(second) - common)


def _connected(pairs: Sequence[tuple[int, int]], count: int) -> list[list[int]]:
    """Return the groups of two or more places that pairs connect, in order of their first place."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not pairs:
        return []
    first, second = np.array(pairs).T
    edges = coo_array((np.ones(len(pairs), bool), (first, second)), shape=(count, count))
    _, labels = connected_components(edges, directed=False)
    groups: dict[int, list[int]] = {}
    for place in np.unique(np.array(pairs)).tolist():
        groups.setdefault(labels[place], []).append(place)
    return list(groups.values())
