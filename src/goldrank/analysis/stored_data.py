"""Count ties, unranked gold, and empty and repeated texts in the data of stored runs."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from goldrank.errors import counts
from goldrank.hits import Hits
from goldrank.io.fingerprints import FileState, file_state
from goldrank.store.texts import Side, Texts


@dataclass(frozen=True)
class TextCounts:
    """Counts of the texts of one side of a data set, the queries or the items."""

    texts: int
    empty: int
    """Texts with neither a title nor a text."""
    repeated: int
    """Texts equal to an earlier one; empty ones do not count."""


@dataclass(frozen=True)
class HitCounts:
    """Counts of the judged items of one run."""

    judged: int
    relevant: int
    tied: int
    """Relevant items that were ranked with the same score as another item."""
    unranked: int
    """Relevant items that were not ranked."""


def count_texts(texts: Texts | None) -> dict[str, TextCounts]:
    """Count the texts of each side, ``query`` and ``item``; empty if the texts were not stored.

    Texts are read in batches, so that a large corpus is never in memory: they are compared by their hashes, and those
    whose hash repeats by their digests. They are counted once until their file changes.
    """
    if texts is None or not texts.is_saved:
        return {}
    return dict(_count_saved(texts.path, file_state(texts.path)))


@lru_cache(maxsize=64)
def _count_saved(path: Path, _state: FileState) -> dict[str, TextCounts]:
    sides: tuple[Side, ...] = "item", "query"
    counted = {side: _count_side(Texts(path), side) for side in sides}
    return {side: of_side for side, of_side in counted.items() if of_side.texts}


def _count_side(texts: Texts, side: Side) -> TextCounts:
    total = 0
    hashes: list[int] = []
    for contents in texts.contents(side):
        total += len(contents)
        hashes.extend(map(hash, filter(None, contents)))
    repeated = _repeated(hashes)
    digests: Counter[bytes] = Counter()
    for contents in texts.contents(side) if repeated else ():
        digests.update(
            hashlib.blake2b(content.encode(), digest_size=16).digest()
            for content in contents
            if content and hash(content) in repeated
        )
    return TextCounts(total, total - len(hashes), sum(digests.values()) - len(digests))


def _repeated(numbers: list[int]) -> set[int]:
    ordered = np.sort(np.array(numbers, np.int64))
    return set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())


def count_hits(hits: Hits) -> HitCounts:
    """Count the judged, relevant, tied and unranked items."""
    relevant = hits.grade > 0
    return HitCounts(
        judged=len(hits.items),
        relevant=int(relevant.sum()),
        tied=int((relevant & hits.found & (hits.tied > 0)).sum()),
        unranked=int((relevant & ~hits.found).sum()),
    )


def hit_notes(hits: Mapping[str, Hits]) -> Iterator[str]:
    """Yield a sentence for each run whose gold is unranked or tied.

    Args:
        hits: the hits by the names of the runs.
    """
    counted = {name: count_hits(of_run) for name, of_run in hits.items()}
    for name, run in counted.items():
        remarks = []
        if run.unranked:
            remarks.append(f"{_share(run.unranked, run.relevant)} of the relevant items are not in its rankings")
        if run.tied:
            remarks.append(f"{_share(run.tied, run.relevant)} share their score with another item")
        if remarks:
            yield f"{name}: {', '.join(remarks)}."
    if not any(run.tied for run in counted.values()):
        yield "No relevant item is tied with another one, so the tie policy changes nothing."


def text_notes(texts: Mapping[str, TextCounts]) -> Iterator[str]:
    """Yield a sentence for each side with empty texts, and for each side with repeated texts."""
    words = {"query": ("query", "queries"), "item": ("item", "items")}
    for side, of in texts.items():
        noun, plural = words[side]
        if of.empty:
            yield f"{counts(of.empty, noun, plural)} of {of.texts} without a text."
        if of.repeated:
            yield f"{counts(of.repeated, noun, plural)} of {of.texts} with the same text as an earlier one."


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else str(part)
