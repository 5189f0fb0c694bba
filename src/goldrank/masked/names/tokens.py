"""A text as words with their places, as far as names need it: hyphens and apostrophes inside, possessives outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as running text."""
    return frozenset(text.split())


# Combining marks belong to the letter before them, though Unicode does not count them as letters.
_LETTER = r"(?:[^\W_]|[\u0300-\u036f])"
_WORD = re.compile(rf"{_LETTER}+(?:[-\u2010\u2011'’ʼ]{_LETTER}+)*")
_POSSESSIVE = re.compile(r"['’ʼ][sS]$")
_HYPHEN = re.compile(r"[-\u2010\u2011]")
_OPENING = re.compile(r'[.!?…\n:"“”]')
_BLANKS = re.compile(r"[^\S\r\n]+")
_STOP_AND_BLANKS = re.compile(r"\.[^\S\r\n]*")
# Whose full stop ends no sentence.
_WITH_STOP = word_set("capt col dr fr gen gov hon jr lt mr mrs ms prof rev sen sgt sr st ste")


class Word(NamedTuple):
    """One word of a text, without a possessive ending."""

    text: str
    start: int
    end: int
    follows: bool
    """Whether only blanks stand between it and the word before, so that both may belong to one name."""
    opens: bool
    """Whether it may be the first word of a sentence, where any word is written with a capital."""

    @property
    def capital(self) -> bool:
        """Whether it is written as names are; scripts without capitals do not tell."""
        return self.text[0].isalpha() and not self.text[0].islower()

    @property
    def initial(self) -> bool:
        """Whether it is a single capital letter."""
        return len(self.text) == 1 and self.text.isupper()

    @property
    def parts(self) -> list[str]:
        """What its hyphens join.

        >>> Word("Joliot-Curie", 0, 12, False, True).parts
        ['Joliot', 'Curie']
        """
        return _HYPHEN.split(self.text)


def words(text: str) -> Iterator[Word]:
    """The words of a text in its order.

    >>> [(word.text, word.follows) for word in words("J. F. Kennedy's brother, Robert")]
    [('J', False), ('F', True), ('Kennedy', True), ('brother', False), ('Robert', False)]
    """
    before: Word | None = None
    for found in _WORD.finditer(text):
        whole, start = found.group(), found.start()
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
