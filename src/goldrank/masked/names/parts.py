"""Parse names: which words of a guess or title are names, and what distinguishes namesakes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from goldrank.masked.names.folding import fold
from goldrank.masked.names.vocabulary import (
    AUXILIARIES,
    CONNECTORS,
    DEGREES,
    ELISIONS,
    FUNCTION_WORDS,
    HONORIFICS,
    NUMERALS,
    ORDINAL_WORDS,
    PARTICLES,
    PARTICLES_OR_NAMES,
    QUALIFYING,
    RANKS,
)

Words = frozenset[str]
NONE: Words = frozenset()

_QUALIFIER = re.compile(r"\(([^()]*)(?:\)|$)")
POSSESSIVE = re.compile(r" ?'s(?![^ ,().\-])")
_WORD = re.compile(r"([^ ,().'\-]+(?:['\-][^ ,().'\-]+)*)(\.?)")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_IN_TEXT = FUNCTION_WORDS | AUXILIARIES
_BEFORE_A_NAME = HONORIFICS | RANKS
_NO_NAME_FOLLOWS = frozenset(("", *NUMERALS, *_IN_TEXT))
SPECIAL = _IN_TEXT | _BEFORE_A_NAME | PARTICLES | PARTICLES_OR_NAMES | NUMERALS.keys()
"""Words that may not be names; all other words are names."""
AROUND = " ,().'-"
"""Punctuation that folding keeps, stripped from both ends of a guess."""


class Name(NamedTuple):
    """A parsed name; all words are folded."""

    key: str = ""
    """Its words in written order, without honorifics and function words."""
    names: tuple[str, ...] = ()
    """The words that are names, given names first; a single letter is an initial; hyphens are kept."""
    surname_at: int = 0
    """Index of the surname in `names`."""
    joined: tuple[tuple[str, int], ...] = ()
    """Particles joined with the next name (``delacruz``), and the index of that name in `names`."""
    numerals: Words = NONE
    places: Words = NONE
    """The words after *of*."""
    epithets: Words = NONE
    """The words after *the*."""
    ordinals: Words = NONE
    """The numbers of a rank (``1st Baronet``)."""
    qualifiers: Words = NONE
    """The words in parentheses."""
    dropped: Words = NONE
    """Words that were not parsed as names, although they may be names in a title."""
    marked: bool = False
    """Whether it has numerals, bynames, ordinals or qualifiers, which may contradict another name."""
    plain: bool = True
    """Whether all names are words of several letters without hyphens."""


@lru_cache(maxsize=1 << 17)
def plain_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a text that has only ASCII letters and blanks; no words for any other text.

    >>> plain_words("Marie Curie"), plain_words("M. Curie")
    (('marie', 'curie'), ())
    """
    words = tuple(text.lower().split())
    return words if text.isascii() and "".join(words).isalpha() else ()


@lru_cache(maxsize=1 << 17)
def parse_name(text: str, keep: Words = NONE) -> Name:
    """Parse a name; the words *keep* are names in any position.

    >>> parse_name("Sir Robert de la Cruz, 1st Baronet (writer)").names
    ('robert', 'cruz')
    """
    folded = fold(text).strip(AROUND)
    if folded.endswith("'s"):
        folded = folded[:-2].rstrip(AROUND)
    # Fast path: most guesses are a few common names and initials.
    words = tuple(folded.replace(".", " ").split())
    if "".join(words).isalpha() and SPECIAL.isdisjoint(words):
        return _common_name(words)
    return _parse(folded, keep)


def _common_name(words: tuple[str, ...]) -> Name:
    lengths = list(map(len, words))
    if min(lengths) > 1:
        return Name(" ".join(words), words, len(words) - 1)
    return Name(_key(words, initials=max(lengths) == 1), words, len(words) - 1, plain=False)


def _key(words: Sequence[str], *, initials: bool) -> str:
    # J. F. K., J.F.K. and JFK are the same name.
    return "".join(words) if initials else " ".join(words).replace("-", " ")


def _parse(folded: str, keep: Words) -> Name:
    qualifiers = NONE
    if "(" in folded:
        qualifiers = frozenset(
            word for inner in _QUALIFIER.findall(folded) for word, _ in words_of(inner) if word not in _IN_TEXT
        )
        folded = _QUALIFIER.sub(" ", folded).strip(AROUND)
    if "'s" in folded:
        folded = POSSESSIVE.sub("", folded)
    head, *rest = folded.split(",")
    reading = _Reading(keep)
    first_names = reading.sort_out(rest) if rest else ""
    return reading.read(first_names, head, qualifiers)


def words_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a folded text and whether a full stop follows; a joined particle keeps its sign (``d'``)."""
    for match in _WORD.finditer(text):
        word, dotted = match[1], bool(match[2])
        while "'" in word:
            before, _, after = word.partition("'")
            if before in ELISIONS:
                yield before + "'", False
                word = after
            else:
                word = before + after
        if "-" in word:
            before, _, after = word.partition("-")
            if before in PARTICLES or before in PARTICLES_OR_NAMES:
                yield before + "-", False
                word = after
        yield word, dotted


@dataclass
class _Reading:
    """State while parsing one name from left to right."""

    keep: Words
    key: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    joined: list[tuple[str, int]] = field(default_factory=list)
    particles: list[str] = field(default_factory=list)
    """Particles before the next name."""
    surname_at: int | None = None
    numerals: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)
    epithets: set[str] = field(default_factory=set)
    ordinals: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    byname: set[str] | None = None
    """The set that collects the words after *of* or *the*."""

    def sort_out(self, segments: Sequence[str]) -> str:
        """Take ranks and numerals after the first comma, and return the rest: the given names of ``Kennedy, John``."""
        rest: list[str] = []
        for segment in segments:
            words = segment.replace(".", "").split()
            ordinals = _ORDINAL.findall(segment)
            if ordinals or not QUALIFYING.isdisjoint(words) or words[:1] in (["of"], ["the"]):
                self.ordinals.update(ordinals)
            elif all(word in NUMERALS or word in DEGREES for word in words):
                self.numerals.update(NUMERALS[word] for word in words if word in NUMERALS)
            else:
                rest.append(segment)
        return " ".join(rest)

    def read(self, first_names: str, head: str, qualifiers: Words) -> Name:
        """Parse *head*, the part before the first comma, and *first_names*, the given names after it."""
        numerals_after_comma = sorted(self.numerals)
        self._read_words(list(words_of(first_names)))
        first_key, self.key, before = self.key, [], len(self.names)
        self._read_words(list(words_of(head)))
        if before and len(self.names) > before:
            self.surname_at = before
        self.dropped.update(self.particles)
        self.key += numerals_after_comma
        key = _key(self.key, initials=bool(self.key) and max(map(len, self.key)) == 1)
        return Name(
            # A name written with the surname first has a different key.
            key=f"{key}, {' '.join(first_key)}" if first_key else key,
            names=tuple(self.names),
            surname_at=max(len(self.names) - 1, 0) if self.surname_at is None else self.surname_at,
            joined=tuple(self.joined),
            numerals=frozenset(self.numerals),
            places=frozenset(self.places),
            epithets=frozenset(self.epithets),
            ordinals=frozenset(self.ordinals),
            qualifiers=qualifiers,
            dropped=frozenset(self.dropped),
            marked=bool(self.numerals or self.places or self.epithets or self.ordinals or qualifiers),
            plain=all(len(name) > 1 and "-" not in name for name in self.names),
        )

    def _read_words(self, words: list[tuple[str, bool]]) -> None:
        self.byname = None
        for at, (word, dotted) in enumerate(words):
            following = words[at + 1][0] if at + 1 < len(words) else ""
            if word in self.keep:
                self._take_name(word)
            elif ordinal := _ORDINAL.fullmatch(word):
                self.ordinals.add(ordinal[1])
            elif word.isdigit():
                continue
            elif len(word) == 1:
                self._read_letter(word, dotted, following)
            elif word in SPECIAL or word in ORDINAL_WORDS or word[-1] in "'-":
                self._read_special(word, following)
            else:
                self._take_word(word)

    def _read_letter(self, letter: str, dotted: bool, following: str) -> None:
        """Classify a single letter as initial, numeral, connector or article."""
        if letter == "a" and not dotted and not self.names and len(following) > 1:
            self.dropped.add(letter)
        elif dotted or not self.names:
            self._take_name(letter)
        elif letter in CONNECTORS and len(following) > 1 and following not in PARTICLES:
            self._take_particle(letter)
        elif letter in NUMERALS and (not following or following in PARTICLES):
            self._take_numeral(letter)
        else:
            self._take_word(letter)

    def _read_special(self, word: str, following: str) -> None:
        if word[-1] in "'-":
            self._take_particle(word[:-1])
        elif word in ("of", "the"):
            self._start_byname(word)
        elif word in ORDINAL_WORDS and self.key[-1:] == ["the"]:
            self.key.pop()
            self.byname = None
            self._take_numeral(word)
        elif word in NUMERALS and self.names:
            self._take_numeral(word)
        elif self._is_ignored(word, following):
            self.dropped.add(word)
        elif word in PARTICLES or (word in PARTICLES_OR_NAMES and following):
            self._take_particle(word)
        else:
            self._take_word(word)

    def _is_ignored(self, word: str, following: str) -> bool:
        if word in _BEFORE_A_NAME:
            return not self.names and following not in _NO_NAME_FOLLOWS
        return word in FUNCTION_WORDS or (word in AUXILIARIES and bool(self.names or following))

    def _start_byname(self, word: str) -> None:
        if word == "the" and self.key[-1:] == ["of"]:
            return
        if self.names or (word == "of" and self.dropped):
            self.byname = self.places if word == "of" else self.epithets
            self.key.append(word)

    def _take_word(self, word: str) -> None:
        if self.byname is None:
            self._take_name(word)
        else:
            self.byname.add(word)
            self.key.append(word)

    def _take_name(self, word: str) -> None:
        at = len(self.names)
        if self.particles:
            if self.particles[-1] in CONNECTORS:
                self.surname_at = at - 1 if self.surname_at is None else min(self.surname_at, at - 1)
            elif at:
                self.surname_at = at
            plain = word.replace("-", "")
            self.joined += [("".join(self.particles[n:]) + plain, at) for n in range(len(self.particles))]
            self.particles = []
        self.names.append(word)
        self.key.append(word)

    def _take_particle(self, word: str) -> None:
        self.key.append(word)
        if self.byname is None:
            self.particles.append(word)
            self.dropped.add(word)

    def _take_numeral(self, word: str) -> None:
        meaning = ORDINAL_WORDS.get(word) or NUMERALS[word]
        self.numerals.add(meaning)
        self.dropped.add(word)
        self.key.append(meaning)
