"""Make examples from pages: mask the mentions of the page's person, and cut the page into parts.

The name ``persons`` stands for short built-in pages, and for the examples made from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import as_file, files
from pathlib import Path

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.column_names import FieldRoles
from goldrank.io.files import PathLike
from goldrank.masked.examples.chunks import MASK, Chunk
from goldrank.masked.examples.cutting import Masked, cut
from goldrank.masked.examples.files import FIELDS, read_chunks
from goldrank.masked.examples.mentions import Finder, find_mentions
from goldrank.masked.examples.pages import Page, read_pages
from goldrank.masked.examples.part_mentions import find_parts

FINDERS: dict[str, Finder] = {"person": find_mentions, "parts": find_parts}
"""Finders of mentions that need no tagger, by the masking of a profile."""
BUILT_IN = "persons"
"""The name of the built-in pages, unless there is a file of that name."""
_BUILT_IN_SIZE = 256


@dataclass
class MaskingCounts:
    """Counts of what became of pages."""

    pages: int = 0
    chunks: int = 0
    masks: int = 0
    dropped: int = 0
    """Parts without a mask, which are not examples."""
    unnamed: int = 0
    """Pages that never mention the person."""


def mask_page(
    page: Page,
    *,
    size: int = 512,
    merge: bool = False,
    finder: Finder = find_mentions,
    aliases: Iterable[str] = (),
    counts: MaskingCounts | None = None,
) -> list[Chunk]:
    """Return the examples of a page: its parts that mention the person, with MASK for each mention.

    Parts are numbered through the page, including those without a mask, which are dropped.

    Args:
        page: The page; its ``names`` are searched for as well as its title.
        size: Maximum number of characters of a part, as written with its masks.
        merge: Merge masks that are separated only by blanks.
        finder: Finds the mentions.
        aliases: Further names of the person.
        counts: Counts to add to.

    >>> page = Page("7", "Lise Meitner", "Lise Meitner met Otto Hahn. Meitner's work lasted.")
    >>> [(chunk.text, chunk.masks) for chunk in mask_page(page, size=30)]
    [('<mask> met Otto Hahn. ', ('Lise Meitner',)), ("<mask>'s work lasted.", ('Meitner',))]
    """
    if MASK in page.text:
        raise InputError(
            f"the text already contains {MASK}", where=f"page {shorten(page.id)}", remedy="give pages without masks"
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
    if counts is not None:
        counts.pages += 1
        counts.chunks += len(chunks)
        counts.masks += sum(len(chunk.masks) for chunk in chunks)
        counts.dropped += len(parts) - len(chunks)
        counts.unnamed += not chunks
    return chunks


def mask_pages(
    pages: Iterable[Page],
    counts: MaskingCounts | None = None,
    *,
    size: int = 512,
    merge: bool = False,
    finder: Finder = find_mentions,
    aliases: Mapping[str, Iterable[str]] | None = None,
) -> Iterator[Chunk]:
    """Yield the examples of all pages, one page at a time; *aliases* are further names by title."""
    for page in pages:
        others = (aliases or {}).get(page.title, ())
        yield from mask_page(page, size=size, merge=merge, finder=finder, aliases=others, counts=counts)


def is_built_in(path: PathLike) -> bool:
    """Return True if *path* names the built-in pages.

    Raises:
        UnknownNameError: There is no such file, and the name is almost that of the built-in pages.
    """
    if Path(path).exists():
        return False
    if str(path) != BUILT_IN and not Path(path).suffix and get_close_matches(str(path).lower(), [BUILT_IN]):
        raise unknown_name("file or set of pages", str(path), [BUILT_IN], "the built-in pages; or give a path")
    return str(path) == BUILT_IN


def pages_at(path: PathLike, fields: FieldRoles | None = None) -> Iterator[Page]:
    """Yield the pages of a file or folder, or the built-in pages; *fields* as in `read_pages`."""
    if not is_built_in(path):
        yield from read_pages(path, fields)
        return
    with as_file(files("goldrank") / "demo" / "persons.jsonl") as file:
        yield from read_pages(file)


def examples_at(path: PathLike, fields: FieldRoles | None = None) -> Iterator[Chunk]:
    """Return the examples of a file, or those of the built-in pages in parts of 256 characters.

    The role of each field of a file is added to *fields*.
    """
    if is_built_in(path):
        return mask_pages(pages_at(path), size=_BUILT_IN_SIZE)
    return read_chunks(path, fields=fields)
