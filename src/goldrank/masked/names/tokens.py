"""Split text into words with positions; hyphens and apostrophes belong to a word, possessive endings do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from goldrank.masked.names.vocabulary import word_set

# Combining marks belong to the letter before them, although Unicode does not classify them as letters.
_LETTER = r"(?:[^\W_]|[\u0300-\u036f])"
_WORD = re.compile(rf"{_LETTER}+(?:[-\u2010\u2011'’ʼ]{_LETTER}+)*")
_POSSESSIVE = re.compile(r"['’ʼ][sS]$")
_HYPHEN = re.compile(r"[-\u2010\u2011]")
_OPENING = re.compile(r'[.!?…\n:"“”]')
_BLANKS = re.compile(r"[^\S\r\n]+")
_STOP_AND_BLANKS = re.compile(r"\.[^\S\r\n]*")
# Abbreviations whose full stop does not end a sentence.
_WITH_STOP = word_set("capt col dr fr gen gov hon jr lt mr mrs ms prof rev sen sgt sr st ste")


class Word(NamedTuple):
    """One word of a text, without a possessive ending."""

    text: str
    start: int
    end: int
    follows: bool
    """Whether only blanks separate it from the previous word, so that both may belong to one name."""
    opens: bool
    """Whether it may be the first word of a sentence, which is always capitalised."""

    @property
    def capital(self) -> bool:
        """Whether it is capitalised, or in a script without case."""
        return self.text[0].isalpha() and not self.text[0].islower()

    @property
    def initial(self) -> bool:
        """Whether it is a single capital letter."""
        return len(self.text) == 1 and self.text.isupper()

    @property
    def parts(self) -> list[str]:
        """The parts that hyphens join.

        >>> Word("Joliot-Curie", 0, 12, False, True).parts
        ['Joliot', 'Curie']
        """
        return _HYPHEN.split(self.text)


def words(text: str) -> Iterator[Word]:
    """Yield the words of a text in order.

    >>> [(word.text, word.follows) for word in words("J. F. Kennedy's brother, Robert")]
    [('J', False), ('F', True), ('Kennedy', True), ('brother', False), ('Robert', False)]
    """
    before: Word | None = None
    for match in _WORD.finditer(text):
        whole, start = match.group(), match.start()
        possessive = _POSSESSIVE.search(whole)
        name = whole[: possessive.start()] if possessive else whole
        gap = text[before.end : start] if before else ""
        follows = before is not None and _joins(before.text, gap)
        opens = not follows and (before is None or _OPENING.search(gap) is not None)
        before = Word(name, start, start + len(name), follows, opens)
        yield before


def _joins(before: str, gap: str) -> bool:
    if _BLANKS.fullmatch(gap):
        return True
    short = (len(before) == 1 and before.isupper()) or before.casefold() in _WITH_STOP
    return short and _STOP_AND_BLANKS.fullmatch(gap) is not None
