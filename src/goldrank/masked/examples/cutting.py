"""A masked page as pieces of text around what the masks hid, and how it is cut into parts at the ends of sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from goldrank.errors import InputError
from goldrank.masked.examples.chunks import MASK
from goldrank.masked.names.vocabulary import word_set

Span = tuple[int, int]
"""Where a mention begins in a text, and where it ends."""

# A line break ends a sentence, as headings and list entries have no full stop.
_SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…]+["'”’»)\]]*[^\S\r\n]+(?=["'“‘«(\[]*[^\W_a-z]|<)|\n\s*""")
_SHORTENED = word_set(
    "approx bros ca capt cf co col dr ed eds eg etc fig gen gov hon ie jr lt mr mrs ms mt no nos op p pp prof rev sen "
    "sgt sr st ste vol vs"
)
_SPACE = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r"[\s.!?\"'“‘«(\[]")
_BLANKS = re.compile(r"[^\S\r\n]*")


@dataclass(frozen=True)
class Masked:
    """A text of which some spans are hidden: one piece more than there are masks."""

    pieces: tuple[str, ...]
    hidden: tuple[str, ...]

    @classmethod
    def of(cls, text: str, spans: Iterable[Span]) -> Masked:
        """Hide the spans of a text, which stand in its order and do not overlap."""
        pieces, hidden, done = [], [], 0
        for start, end in spans:
            pieces.append(text[done:start])
            hidden.append(text[start:end])
            done = end
        return cls((*pieces, text[done:]), tuple(hidden))

    @property
    def text(self) -> str:
        """The text with MASK for what is hidden."""
        return MASK.join(self.pieces)

    @property
    def restored(self) -> str:
        """The text as it was.

        >>> Masked.of("Lise met Otto.", [(0, 4)]).restored
        'Lise met Otto.'
        """
        return self.pieces[0] + "".join(map(str.__add__, self.hidden, self.pieces[1:]))

    def merged(self) -> Masked:
        """Masks with nothing but blanks between them as one, which hides the blanks too.

        Masks in two lines stay two: they are two mentions, as in a heading and the sentence below it.

        >>> Masked(("By ", " ", "."), ("Lise", "Meitner")).merged()
        Masked(pieces=('By ', '.'), hidden=('Lise Meitner',))
        """
        pieces, hidden = [self.pieces[0]], list(self.hidden[:1])
        for between, name in zip(self.pieces[1:], self.hidden[1:], strict=False):
            if _BLANKS.fullmatch(between):
                hidden[-1] += between + name
            else:
                pieces.append(between)
                hidden.append(name)
        return Masked((*pieces, *self.pieces[1:][-1:]), tuple(hidden))


def cut(masked: Masked, size: int) -> list[Masked]:
    """Parts of at most *size* characters each, masks counted as they are written.

    A part ends where a sentence does; where one sentence is too long, between words; where a word is, inside it.
    No part begins or ends inside a mask, and all parts together are the whole.

    >>> [part.text for part in cut(Masked.of("Lise sat. Otto wrote.", [(0, 4)]), 16)]
    ['<mask> sat. ', 'Otto wrote.']
    """
    if size < len(MASK):
        raise InputError(f"chunks of {size} characters cannot hold a mask", remedy="ask for a few hundred")
    text = masked.text
    stops = [_sentence_ends(text), [found.end() for found in _SPACE.finditer(text)]]
    ends = [0]
    while len(text) - ends[-1] > size:
        ends.append(_furthest(text, ends[-1], size, stops))
    return _parts(masked, text, [*ends, len(text)])


def _sentence_ends(text: str) -> list[int]:
    return [found.end() for found in _SENTENCE_END.finditer(text) if not _in_short_form(text, found.start())]


def _in_short_form(text: str, stop: int) -> bool:
    """Whether a full stop belongs to the word before it: an initial, or a word that is written short."""
    word = _BEFORE_STOP.split(text[max(0, stop - 12) : stop])[-1]
    return text.startswith(".", stop) and ((len(word) == 1 and word.isalpha()) or word.casefold() in _SHORTENED)


def _furthest(text: str, start: int, size: int, stops: Sequence[Sequence[int]]) -> int:
    limit = start + size
    for places in stops:
        at = places[bisect_right(places, limit) - 1] if places else 0
        if start < at <= limit:
            return at
    # Inside a word, but never inside a mask: where one stands across the limit, before it.
    mask = text.rfind(MASK, start, limit + len(MASK) - 1)
    return mask if start < mask < limit < mask + len(MASK) else limit


def _parts(masked: Masked, text: str, ends: Sequence[int]) -> list[Masked]:
    parts, used = [], 0
    for start, end in pairwise(ends):
        pieces = tuple(text[start:end].split(MASK))
        parts.append(Masked(pieces, masked.hidden[used : used + len(pieces) - 1]))
        used += len(pieces) - 1
    return parts
