"""Find mentions for the profile ``source``: every part of the title's name as written, regardless of the person.

The project that published the data used a named-entity tagger (``dslim/bert-base-NER``), kept persons that contain a
part of the title anywhere (`holds_part`), and masked each as a whole. Its tagger missed many mentions and split names,
which no rule reproduces; `find_parts` is its masking without a tagger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.examples.cutting import Masked, Span
from goldrank.masked.examples.mentions import Finder
from goldrank.masked.names.vocabulary import ROMAN

_QUALIFIER = re.compile(r"\s*\([^()]*\)|,.*")


def find_parts(text: str, title: str, names: Sequence[str] = ()) -> list[Span]:
    """Return where *text* has words of the name in *title*, as they are written there; *names* are ignored.

    Words with one blank between them are one mention, which begins with a capital and does not end with a particle.
    Qualifiers, ranks after a comma and numerals are not parts of a name.

    >>> text = "Wilhelm von Humboldt wrote to Alexander von Humboldt, humboldt's brother."
    >>> [text[start:end] for start, end in find_parts(text, "Alexander von Humboldt (explorer)")]
    ['Humboldt', 'Alexander von Humboldt']
    """
    pattern = _pattern(title)
    return [] if pattern is None else [match.span() for match in pattern.finditer(text)]


@lru_cache(maxsize=1024)
def _pattern(title: str) -> re.Pattern[str] | None:
    words = _QUALIFIER.sub("", title).split()
    parts = [word for word in words if word.lower() not in ROMAN and any(map(str.isalpha, word))]
    capitals = [part for part in parts if not part[0].islower()] or parts
    # An initial alone is not a mention: it would match other persons' names.
    heads = [part for part in capitals if len(part.rstrip(".")) > 1] or capitals
    if not heads:
        return None
    first, last = _any_of(heads), _any_of(capitals)
    return re.compile(rf"{first}(?:(?: {_any_of(parts)})* {last})?")


def _any_of(parts: Iterable[str]) -> str:
    longest_first = sorted(set(parts), key=lambda part: (-len(part), part))
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"


def holds_part(name: str, title: str) -> bool:
    """Return True if *name* contains a part of *title* as written; a full stop matches any character.

    >>> holds_part("Johnnie Walker", "John F. Kennedy"), holds_part("kennedy", "John F. Kennedy")
    (True, False)
    """
    return any(re.search(re.escape(part).replace(r"\.", "."), name) for part in title.split())


def count_same(chunks: Iterable[Chunk], finder: Finder) -> tuple[int, int]:
    """Restore examples, mask them again, and return how many examples and masks stay the same."""
    same_examples = same_masks = 0
    for chunk in chunks:
        given = Masked(chunk.pieces, chunk.masks)
        spans = finder(given.restored, chunk.title, ())
        same_examples += Masked.of(given.restored, spans) == given
        same_masks += len(set(spans).intersection(_spans(given)))
    return same_examples, same_masks


def _spans(masked: Masked) -> list[Span]:
    """Return the positions of the hidden spans in the restored text."""
    spans: list[Span] = []
    at = 0
    for piece, hidden in zip(masked.pieces, masked.hidden, strict=False):
        spans.append((at + len(piece), at + len(piece) + len(hidden)))
        at = spans[-1][1]
    return spans
