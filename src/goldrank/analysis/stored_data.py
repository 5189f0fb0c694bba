"""Count ties, unranked gold, and empty and repeated texts in the data of stored runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from goldrank.errors import counts
from goldrank.hits import Hits
from goldrank.store.texts import Texts, open_texts


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

    Texts are read in batches and compared by digests, so that a large corpus is never in memory.
    """
    if texts is None or not texts.is_saved:
        return {}
    seen: dict[str, set[bytes]] = {}
    total: dict[str, int] = {}
    empty: dict[str, int] = {}
    with open_texts(texts.path) as file:
        for batch in file.iter_batches(2048, columns=["side", "title", "text"]):
            for side, title, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                total[side] = total.get(side, 0) + 1
                content = f"{title} {text}".strip()
                if content:
                    seen.setdefault(side, set()).add(hashlib.blake2b(content.encode(), digest_size=16).digest())
                else:
                    empty[side] = empty.get(side, 0) + 1
    return {
        side: TextCounts(number, empty.get(side, 0), number - empty.get(side, 0) - len(seen.get(side, ())))
        for side, number in total.items()
    }


def count_hits(hits: Hits) -> HitCounts:
    """Count the judged, relevant, tied and unranked items."""
    relevant = hits.grade > 0
    return HitCounts(
        judged=len(hits.items),
        relevant=int(relevant.sum()),
        tied=int((relevant & hits.found & (hits.tied > 0)).sum()),
        unranked=int((relevant & ~hits.found).sum()),
    )


def hit_notes(hits: Mapping[str, Hits]) -> list[str]:
    """Return a sentence for each run whose gold is unranked or tied.

    Args:
        hits: the hits by the names of the runs.
    """
    counted = {name: count_hits(of_run) for name, of_run in hits.items()}
    notes = []
    for name, run in counted.items():
        remarks = []
        if run.unranked:
            remarks.append(f"{_share(run.unranked, run.relevant)} of the relevant items are not in its rankings")
        if run.tied:
            remarks.append(f"{_share(run.tied, run.relevant)} share their score with another item")
        if remarks:
            notes.append(f"{name}: {', '.join(remarks)}.")
    if not any(run.tied for run in counted.values()):
        notes.append("No relevant item is tied with another one, so the tie policy changes nothing.")
    return notes


def text_notes(texts: Mapping[str, TextCounts]) -> list[str]:
    """Return a sentence for each side with empty texts, and for each side with repeated texts."""
    words = {"query": ("query", "queries"), "item": ("item", "items")}
    notes = []
    for side, of in texts.items():
        noun, plural = words[side]
        if of.empty:
            notes.append(f"{counts(of.empty, noun, plural)} of {of.texts} without a text.")
        if of.repeated:
            notes.append(f"{counts(of.repeated, noun, plural)} of {of.texts} with the same text as an earlier one.")
    return notes


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else str(part)
