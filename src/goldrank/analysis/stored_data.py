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
    """The texts of one side of a data set."""

    texts: int
    empty: int
    """Neither a title nor a text."""
    repeated: int
    """The same words as an earlier one, empty ones aside."""


@dataclass(frozen=True)
class HitCounts:
    """Where the gold of one run stands, as far as that tells of the data."""

    judged: int
    relevant: int
    tied: int
    """Relevant items that were ranked, but no better than some other item."""
    unranked: int
    """Relevant items that were not ranked."""


def count_texts(texts: Texts | None) -> dict[str, TextCounts]:
    """The texts of each side, ``query`` and ``item``; none where they were not kept.

    They are read in pieces and told apart by digests, so that a large corpus is never in memory.
    """
    if texts is None or not texts.there:
        return {}
    seen: dict[str, set[bytes]] = {}
    total: dict[str, int] = {}
    empty: dict[str, int] = {}
    with open_texts(texts.path) as file:
        for batch in file.iter_batches(2048, columns=["side", "title", "text"]):
            for side, title, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                total[side] = total.get(side, 0) + 1
                said = f"{title} {text}".strip()
                if said:
                    seen.setdefault(side, set()).add(hashlib.blake2b(said.encode(), digest_size=16).digest())
                else:
                    empty[side] = empty.get(side, 0) + 1
    return {
        side: TextCounts(number, empty.get(side, 0), number - empty.get(side, 0) - len(seen.get(side, ())))
        for side, number in total.items()
    }


def count_hits(hits: Hits) -> HitCounts:
    """What the hits of a run tell of the data."""
    relevant = hits.grade > 0
    return HitCounts(
        judged=len(hits.items),
        relevant=int(relevant.sum()),
        tied=int((relevant & hits.found & (hits.tied > 0)).sum()),
        unranked=int((relevant & ~hits.found).sum()),
    )


def hit_notes(hits: Mapping[str, Hits]) -> list[str]:
    """Return a sentence for each run whose gold is unranked or tied; *hits* by the names of the runs."""
    counted = {name: count_hits(one) for name, one in hits.items()}
    said = []
    for name, one in counted.items():
        remarks = []
        if one.unranked:
            remarks.append(f"{_share(one.unranked, one.relevant)} of the relevant items are not in its rankings")
        if one.tied:
            remarks.append(f"{_share(one.tied, one.relevant)} share their score with another item")
        if remarks:
            said.append(f"{name}: {', '.join(remarks)}.")
    if not any(one.tied for one in counted.values()):
        said.append("No relevant item is tied with another one, so the tie policy changes nothing.")
    return said


def text_notes(texts: Mapping[str, TextCounts]) -> list[str]:
    """Empty and repeated texts, where there are any."""
    words = {"query": ("query", "queries"), "item": ("item", "items")}
    said = []
    for side, one in texts.items():
        noun, plural = words[side]
        if one.empty:
            said.append(f"{counts(one.empty, noun, plural)} of {one.texts} without a text.")
        if one.repeated:
            said.append(f"{counts(one.repeated, noun, plural)} of {one.texts} with the same text as an earlier one.")
    return said


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else str(part)
