"""Compile a name once, and judge how well other names agree with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, KeysView
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from goldrank.masked.names.folding import fold
from goldrank.masked.names.parts import AROUND, SPECIAL, Name, Words, parse_name, words_of
from goldrank.masked.names.variants import beginnings, same_given_name, spelling
from goldrank.masked.names.vocabulary import (
    AUXILIARIES,
    FAMILY_FIRST,
    FAMILY_FIRST_BEFORE_A_HYPHEN,
    FIRST_OF_A_NAME,
    FUNCTION_WORDS,
    HONORIFICS,
    NUMERAL_NAMES,
    NUMERALS,
    PARTICLES,
    PARTICLES_OR_NAMES,
    RANKS,
)

WEAK = (FUNCTION_WORDS | PARTICLES | NUMERALS.keys()) - NUMERAL_NAMES
_NEVER_NAMES = frozenset(("a", "an", "and", "or", "in", "at", "by", "for", "from", "to", "with"))
# Minimum length of a surname that may be spelled differently (Smit is not Smith), and minimum length for which a
# different spelling matches without a given name (Dostoevsky).
_SURNAME_LEAST, _ENOUGH_ALONE = 5, 8
# The names before the cognomen of a Roman, one of which is a nomen (Lucius Annaeus Seneca, Annia Galeria Faustina).
_ROMAN, _NOMEN = re.compile(r"[a-z]{2,}(?:us|a)"), re.compile(r"[a-z]+(?:ius|ia|aeus)")


class Tier(IntEnum):
    """The part of a name that a guess has."""

    INITIAL = 1
    """Two or more initials that agree with the title in order."""
    GIVEN = 2
    """A given or middle name."""
    SURNAME = 3
    """The surname, or the only name of a person with a single name."""
    ALL = 4
    """The surname and a given name, or its initial."""
    EXACT = 5
    """The whole title or a whole alias."""


@dataclass(frozen=True, slots=True)
class Match:
    """A guess that names the person, and the evidence."""

    tier: Tier
    evidence: str
    """Human-readable: ``surname 'kennedy'``."""


def title_name(title: str) -> Name:
    """Parse a title: unlike in a guess, its words are names wherever possible."""
    name = parse_name(title)
    if name.dropped or not name.names:
        words = [word for word, _ in words_of(fold(title).strip(AROUND).partition("(")[0].partition(",")[0])]
        name = parse_name(title, frozenset(word for word in name.dropped if _is_name_in_title(word, words, name)))
        if not name.names:
            # No word looks like a name (Of, 1st), but a title always names somebody.
            name = Name(" ".join(words), tuple(words))
    return _family_name_last(name)


def _is_name_in_title(word: str, words: list[str], name: Name) -> bool:
    first, last = word == words[0], word == words[-1]
    if word in FUNCTION_WORDS or word in AUXILIARIES:
        return len(word) > 1 and word not in _NEVER_NAMES
    if word in RANKS:
        return first and not (name.numerals or name.places or name.epithets)
    if word in PARTICLES:
        return last and word not in NUMERALS
    return word in PARTICLES_OR_NAMES and word not in HONORIFICS and (first or last)


def _family_name_last(name: Name) -> Name:
    names = name.names
    if len(names) not in (2, 3) or name.surname_at != len(names) - 1 or name.joined or "," in name.key:
        return name
    if names[0] in FAMILY_FIRST or (names[0] in FAMILY_FIRST_BEFORE_A_HYPHEN and "-" in names[-1]):
        return name._replace(names=(*names[1:], names[0]))
    return name


def is_weak(name: Name) -> bool:
    """Return True if a name is only one particle, numeral or function word."""
    return len(name.names) < 2 and WEAK.issuperset(name.names)


class Pattern:
    """A name that guesses are compared with."""

    def __init__(self, name: Name) -> None:
        self.name = name
        self.odd: Words = frozenset(name.names) & SPECIAL
        """Names of this person that are usually not names."""
        self._letters_and_words: list[str] = []
        self._place: dict[str, int] = {}
        self._surname_from = 0
        for at, word in enumerate(name.names):
            if at == name.surname_at:
                self._surname_from = len(self._letters_and_words)
            self._add_word(word)
        if name.joined or name.surname_at > 1:
            self._add_joined_words()
        self._spellings = {spelling(word): place for word, place in self._place.items() if len(word) > 1}
        self._beginnings = frozenset("".join(map(beginnings, self._spellings)))

    def _add_word(self, word: str) -> None:
        place = len(self._letters_and_words)
        parts = word.split("-")
        self._letters_and_words += parts
        self._place[word.replace("-", "")] = place
        for number, part in enumerate(parts):
            if len(part) > 1:
                self._place[part] = place + number

    def _add_joined_words(self) -> None:
        """Add names written as one word: particles with the surname, two given names."""
        places = [self._place[word.replace("-", "")] for word in self.name.names]
        for joined, at in self.name.joined:
            self._place.setdefault(joined, places[at])
        givens = self.name.names[: self.name.surname_at]
        for at, (first, second) in enumerate(pairwise(givens)):
            if len(first) > 1 and len(second) > 1:
                self._place.setdefault((first + second).replace("-", ""), places[at])

    @property
    def words(self) -> KeysView[str]:
        """All words that are a name of this person, written as one word or separately."""
        return self._place.keys()

    @property
    def spellings(self) -> KeysView[str]:
        """The normalised spellings of those words; see `goldrank.masked.names.variants.spelling`."""
        return self._spellings.keys()

    def has_spelling(self, words: Iterable[str]) -> bool:
        """Return True if a word has one of the `spellings`."""
        # A loop, because a generator is slower for so few words.
        for word in words:  # noqa: SIM110
            if word[0] in self._beginnings and spelling(word) in self._spellings:
                return True
        return False

    def read(self, guess: str) -> Name:
        """Parse a guess; this person's odd names are names in it."""
        name = parse_name(guess)
        if self.odd and not self.odd.isdisjoint(name.dropped):
            return parse_name(guess, self.odd)
        return name

    def judge(self, guess: Name) -> Match | None:
        """Return how well *guess* agrees, or None if it contradicts the name or has too little of it."""
        words = guess.names
        if not words or (guess.plain and self._place.keys().isdisjoint(words) and not self.has_spelling(words)):
            return None
        if guess.marked and self._contradicts(guess):
            return None
        if guess.key == self.name.key:
            return None if is_weak(self.name) else Match(Tier.EXACT, f"the whole name {guess.key!r}")
        if len(words) == 1:
            return self._judge_word(words[0])
        return self._judge_words(words) or self._judge_roman(words)

    def _contradicts(self, guess: Name) -> bool:
        own = self.name
        if (
            guess.numerals
            and guess.numerals != own.numerals
            and (own.numerals or not guess.numerals <= FIRST_OF_A_NAME)
        ):
            return True
        return (
            bool(guess.places and own.places and guess.places.isdisjoint(own.places))
            or bool(guess.epithets and own.epithets and guess.epithets.isdisjoint(own.epithets))
            or bool(guess.ordinals and own.ordinals and guess.ordinals.isdisjoint(own.ordinals))
            or bool(guess.qualifiers and own.qualifiers and guess.qualifiers.isdisjoint(own.qualifiers))
        )

    def _judge_word(self, word: str) -> Match | None:
        place = self._place.get(word)
        if place is None:
            return self._judge_words((word,))
        if len(word) == 1 or word in WEAK:
            return None
        if place >= self._surname_from:
            return Match(Tier.SURNAME, f"surname {word!r}")
        return Match(Tier.GIVEN, f"given name {word!r}")

    def _split(self, words: tuple[str, ...]) -> list[str]:
        """Resolve hyphens: join the parts if this name has the joined word, else split them."""
        resolved: list[str] = []
        for word in words:
            together = word.replace("-", "")
            resolved += [together] if together in self._place else word.split("-")
        return resolved

    def _judge_words(self, names: tuple[str, ...]) -> Match | None:
        words = self._split(names) if any("-" in name for name in names) else list(names)
        evidence = _Evidence()
        for at, word in enumerate(words):
            place = self._place.get(word) if len(word) > 1 else None
            if place is None:
                self._weigh_other_word(word, at, at == len(words) - 1, evidence)
            elif place >= self._surname_from:
                evidence.take_surname(word, at)
            else:
                evidence.take_given(word, place)
            if evidence.unknown and (at == 0 or not self._surname_from):
                return None
        if evidence.unknown and not self._only_middle_names(evidence, len(words)):
            return None
        return evidence.match(words)

    def _weigh_other_word(self, word: str, at: int, last: bool, evidence: _Evidence) -> None:
        """Weigh a word that this name does not have literally."""
        common = spelling(word)
        place = self._spellings.get(common) if len(word) > 1 else None
        if place is not None and place >= self._surname_from:
            if len(common) < _SURNAME_LEAST:
                evidence.unknown.append(at)
                return
            evidence.take_surname(word, at)
            evidence.respelled = True
        elif place is not None or (place := self._variant(word, evidence.next_given)) is not None:
            evidence.take_given(word, place)
            evidence.variant = self._letters_and_words[place]
        else:
            self._weigh_loose_word(word, at, last, evidence)

    def _variant(self, word: str, start: int) -> int | None:
        """Return the place of the given name that *word* is a short form of, or a form in another language."""
        # As with initials, the first given name has to be named first.
        end = self._surname_from if start else min(1, self._surname_from)
        names = self._letters_and_words
        return next((n for n in range(start, end) if len(word) > 1 and same_given_name(names[n], word)), None)

    def _judge_roman(self, words: tuple[str, ...]) -> Match | None:
        """Match the full name of a Roman with a title of a cognomen and a byname (Faustina the Elder)."""
        *first, last = words
        own = self.name
        if len(own.names) != 1 or not own.epithets or own.numerals or len(first) < 2 or last != own.names[0]:
            return None
        if all(map(_ROMAN.fullmatch, first)) and any(map(_NOMEN.fullmatch, first)):
            return Match(Tier.SURNAME, f"last name {last!r} of a Roman")
        return None

    def _weigh_loose_word(self, word: str, at: int, last: bool, evidence: _Evidence) -> None:
        """Weigh an initial, or a word for which this name may have the initial."""
        place = self._agreeing(word, evidence.next_given)
        if place is not None:
            evidence.agreed.append(place)
            evidence.givens.add(place)
            evidence.next_given = place + 1
        elif last and at and evidence.surname is None and word == self._letters_and_words[self._surname_from][0]:
            evidence.agreed.append(self._surname_from)
        else:
            evidence.unknown.append(at)

    def _agreeing(self, word: str, start: int) -> int | None:
        if len(word) == 1:
            return next((n for n in range(start, self._surname_from) if self._letters_and_words[n][0] == word), None)
        # A full name in place of an initial has to be the first: Frank Kennedy is not John F. Kennedy.
        end = self._surname_from if start else min(1, self._surname_from)
        return next((n for n in range(start, end) if self._letters_and_words[n] == word[0]), None)

    def _only_middle_names(self, evidence: _Evidence, count: int) -> bool:
        """Return True if the unknown words are further names after all given names, which contradict none."""
        if not self._surname_from or len(evidence.givens) < self._surname_from:
            return False
        before_surname = evidence.surname_at == count - 1 and evidence.unknown[0] > 0
        return before_surname or (evidence.surname_at == 0 and evidence.unknown[0] > 1)


class _Evidence:
    """The words that one guess has in common with the name so far."""

    __slots__ = (
        "agreed",
        "given",
        "givens",
        "next_given",
        "respelled",
        "strong",
        "surname",
        "surname_at",
        "unknown",
        "variant",
    )

    def __init__(self) -> None:
        self.surname: str | None = None
        self.given: str | None = None
        self.givens: set[int] = set()
        """Places of the given names that the guess has, in full or as an initial."""
        self.agreed: list[int] = []
        """Places of names for which the guess or this name has an initial."""
        self.unknown: list[int] = []
        self.surname_at = -1
        self.next_given = 0
        self.strong = False
        self.respelled = False
        """Whether the surname is spelled differently."""
        self.variant: str | None = None
        """The given name that the guess has in a different form."""

    def take_surname(self, word: str, at: int) -> None:
        """Record a word of the surname."""
        self.surname, self.surname_at = word, at
        self.strong |= word not in WEAK

    def take_given(self, word: str, place: int) -> None:
        """Record a given name."""
        self.given, self.next_given = word, max(self.next_given, place + 1)
        self.givens.add(place)
        self.strong |= word not in WEAK

    def match(self, words: list[str]) -> Match | None:
        """Return the match that the evidence supports, if any."""
        if self.surname is None and self.given is None:
            initials = len(words) > 1 and max(map(len, words)) == 1 and self.agreed[0] == 0
            return Match(Tier.INITIAL, f"initials {' '.join(words)!r}") if initials else None
        if not self.strong:
            return None
        if self.surname is None:
            return None if self.variant else Match(Tier.GIVEN, f"given name {self.given!r}")
        if self.given is None and not self.agreed:
            if self.respelled and len(spelling(self.surname)) < _ENOUGH_ALONE:
                return None
            return Match(Tier.SURNAME, f"surname {self.surname!r}")
        with_given = f"given name {self.given!r}" if self.given is not None else "an initial"
        if self.variant:
            with_given += f" for {self.variant!r}"
        return Match(Tier.ALL, f"surname {self.surname!r} and {with_given}")
