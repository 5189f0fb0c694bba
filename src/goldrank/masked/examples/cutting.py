"""Represent masked texts, and cut them into parts at sentence ends."""

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
"""Start and end of a mention in a text."""

# A line break ends a sentence, because headings and list items have no full stop.
_SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…]+["'”’»)\]]*[^\S\r\n]+(?=["'“‘«(\[]*[^\W_a-z]|<)|\n\s*""")
_ABBREVIATIONS = word_set(
    "approx bros ca capt cf co col dr ed eds eg etc fig gen gov hon ie jr lt mr mrs ms mt no nos op p pp prof rev sen "
    "sgt sr st ste vol vs"
)
_SPACE = re.compile(r"\s+")
_BEFORE_STOP = re.compile(r"[\s.!?\"'“‘«(\[]")
_BLANKS = re.compile(r"[^\S\r\n]*")


@dataclass(frozen=True)
class Masked:
    """A text with hidden spans; there is one piece more than there are masks."""

    pieces: tuple[str, ...]
    hidden: tuple[str, ...]

    @classmethod
    def of(cls, text: str, spans: Iterable[Span]) -> Masked:
        """Hide *spans* of a text, which are in order and do not overlap."""
        pieces, hidden, done = [], [], 0
        for start, end in spans:
            pieces.append(text[done:start])
            hidden.append(text[start:end])
            done = end
        return cls((*pieces, text[done:]), tuple(hidden))

    @property
    def text(self) -> str:
        """The text with MASK in place of each hidden span."""
        return MASK.join(self.pieces)

    @property
    def restored(self) -> str:
        """The original text.

        >>> Masked.of("Lise met Otto.", [(0, 4)]).restored
        'Lise met Otto.'
        """
        return self.pieces[0] + "".join(map(str.__add__, self.hidden, self.pieces[1:]))

    def merged(self) -> Masked:
        """Merge masks that are separated only by blanks, which are hidden too.

        Masks on different lines stay separate: they are two mentions, such as a heading and the sentence below it.

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
    """Cut a text into parts of at most *size* characters; a mask counts as it is written.

    A part ends at the end of a sentence; if a sentence is too long, between words; if a word is too long, inside it.
    No part begins or ends inside a mask, and the parts together are the whole text.

    >>> [part.text for part in cut(Masked.of("Lise sat. Otto wrote.", [(0, 4)]), 16)]
    ['<mask> sat. ', 'Otto wrote.']
    """
    if size < len(MASK):
        raise InputError(f"chunks of {size} characters cannot hold a mask", remedy="use a size of a few hundred")
    text = masked.text
    sentence_ends = [stop.end() for stop in _SENTENCE_END.finditer(text) if not _in_abbreviation(text, stop.start())]
    stops = [sentence_ends, [blank.end() for blank in _SPACE.finditer(text)]]
    ends = [0]
    while len(text) - ends[-1] > size:
        ends.append(_furthest(text, ends[-1], size, stops))
    return _parts(masked, text, [*ends, len(text)])


def _in_abbreviation(text: str, stop: int) -> bool:
    """Return True if a full stop belongs to the word before it: an initial or an abbreviation."""
    word = _BEFORE_STOP.split(text[max(0, stop - 12) : stop])[-1]
    return text.startswith(".", stop) and ((len(word) == 1 and word.isalpha()) or word.casefold() in _ABBREVIATIONS)


def _furthest(text: str, start: int, size: int, stops: Sequence[Sequence[int]]) -> int:
    limit = start + size
    for places in stops:
        at = places[bisect_right(places, limit) - 1] if places else 0
        if start < at <= limit:
            return at
    # Cut inside a word, but never inside a mask: if a mask spans the limit, cut before it.
    mask = text.rfind(MASK, start, limit + len(MASK) - 1)
    return mask if start < mask < limit < mask + len(MASK) else limit


def _parts(masked: Masked, text: str, ends: Sequence[int]) -> list[Masked]:
    parts, used = [], 0
    for start, end in pairwise(ends):
        pieces = tuple(text[start:end].split(MASK))
        parts.append(Masked(pieces, masked.hidden[used : used + len(pieces) - 1]))
        used += len(pieces) - 1
    return parts
