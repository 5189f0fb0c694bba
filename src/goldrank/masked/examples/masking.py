"""Chunks made from pages: every mention of the page's person masked, and the page cut into parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from goldrank.errors import InputError, shorten
from goldrank.masked.examples.chunks import MASK, Chunk
from goldrank.masked.examples.cutting import Masked, cut
from goldrank.masked.examples.files import FIELDS
from goldrank.masked.examples.mentions import Finder, find_mentions
from goldrank.masked.examples.pages import Page
from goldrank.masked.examples.part_mentions import find_parts

FINDERS: dict[str, Finder] = {"person": find_mentions, "parts": find_parts}
"""What finds mentions without a tagger, by the masking of a profile."""


@dataclass
class Made:
    """What came of pages, counted while chunks are made."""

    pages: int = 0
    chunks: int = 0
    masks: int = 0
    dropped: int = 0
    """Parts without a mask, which are no examples."""
    unnamed: int = 0
    """Pages in which the person was not found at all."""


def make_chunks(
    page: Page,
    *,
    size: int = 512,
    merge: bool = False,
    finder: Finder = find_mentions,
    aliases: Iterable[str] = (),
    made: Made | None = None,
) -> list[Chunk]:
    """The examples of a page: its parts in which the person is named, with MASK for each mention.

    Parts are numbered through the page, those without a mask too, which are left out.

    Args:
        page: Its ``names`` are searched as well as its title.
        size: The most characters of a part, as it is written with its masks.
        merge: Write masks with nothing but blanks between them as one.
        finder: What finds the mentions.
        aliases: Further names of the person.
        made: Counts to add to.

    >>> page = Page("7", "Lise Meitner", "Lise Meitner met Otto Hahn. Meitner's work lasted.")
    >>> [(chunk.text, chunk.masks) for chunk in make_chunks(page, size=30)]
    [('<mask> met Otto Hahn. ', ('Lise Meitner',)), ("<mask>'s work lasted.", ('Meitner',))]
    """
    if MASK in page.text:
        raise InputError(
            f"the text already holds {MASK}", where=f"page {shorten(page.id)}", remedy="give pages that are not masked"
        )
    masked = Masked.of(page.text, finder(page.text, page.title, (*page.names, *aliases)))
    parts = cut(masked.merged() if merge else masked, size)
    kind = page.extra.get("type")
    names = {"names": list(page.names)} if page.names else {}
    chunks = [
        Chunk(
            page=page.id,
            sequence=sequence,
            title=page.title,
            text=part.text,
            masks=part.hidden,
            kind=kind if isinstance(kind, str) else "original",
            size=size,
            extra=names | {name: value for name, value in page.extra.items() if name not in FIELDS},
        )
        for sequence, part in enumerate(parts)
        if part.hidden
    ]
    if made is not None:
        _count(made, parts, chunks)
    return chunks


def _count(made: Made, parts: list[Masked], chunks: list[Chunk]) -> None:
    made.pages += 1
    made.chunks += len(chunks)
    made.masks += sum(len(chunk.masks) for chunk in chunks)
    made.dropped += len(parts) - len(chunks)
    made.unnamed += not chunks


def make_all(
    pages: Iterable[Page],
    made: Made,
    *,
    size: int = 512,
    merge: bool = False,
    finder: Finder = find_mentions,
    aliases: Mapping[str, Iterable[str]] | None = None,
) -> Iterator[Chunk]:
    """The examples of all pages, one page at a time; *aliases* are further names by title."""
    for page in pages:
        others = (aliases or {}).get(page.title, ())
        yield from make_chunks(page, size=size, merge=merge, finder=finder, aliases=others, made=made)


def merge_masks(chunk: Chunk) -> Chunk:
    """The chunk with masks that have nothing but blanks between them as one.

    >>> merge_masks(Chunk("7", 0, "Lise Meitner", "<mask> <mask> sat.", ("Lise", "Meitner"))).masks
    ('Lise Meitner',)
    """
    merged = Masked(chunk.pieces, chunk.masks).merged()
    return replace(chunk, text=merged.text, masks=merged.hidden)
