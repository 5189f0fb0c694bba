"""Whether a guess names the person of a title, how well it does, and what says so.

A guess is right when it has a name of the person and every name in it agrees with the title. So:

- Case, accents, punctuation around it, possessives, honorifics before it and qualifiers after it do not matter.
- Words of running text (`name_words.FUNCTION_WORDS`) beside a name are ignored; any other word that the title lacks is
  another person's name and contradicts it: ``Robert Kennedy`` is not ``John F. Kennedy``, nor is ``John Smith``.
- A further name or initial between given name and surname is no contradiction where the guess has all of the title's.
- Another transliteration of a name is that name (``Dostoevsky`` for Dostoyevsky). Beside the surname, a given name may
  have a short form or that of another language (``James Simons`` for Jim Simons); `name_variants` says which.
- Numerals, ranks, bynames (*of*, *the*) and qualifiers in parentheses contradict others of their kind, not their lack;
  a numeral or *Jr.* also contradicts a title without one.
- Particles, numerals, bynames, one initial and words such as *he* are never enough alone.

Pseudonyms, names after marriage and titles of nobility (Palmerston) need a table of aliases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

from goldrank.errors import InputError, shorten
from goldrank.masked.names.aliases import group_aliases, read_aliases
from goldrank.masked.names.folding import fold
from goldrank.masked.names.parts import Name, words_of
from goldrank.masked.names.patterns import Match, Pattern, Tier, is_weak, title_name

_UNSEEN = Match(Tier.INITIAL, "not judged yet")
_QUALIFIER = re.compile(r"\s*\([^()]*(?:\)|$)")

__all__ = ["Match", "Matcher", "Person", "Tier", "group_aliases", "match", "read_aliases"]


class Matcher(Protocol):
    """What tells the right guesses from the wrong ones, for one title."""

    def match(self, guess: str) -> Match | None:
        """How *guess* names the person; None where it does not."""


class Person:
    """The person of a title, compiled once for any number of guesses.

    >>> kennedy = Person("John F. Kennedy", aliases=["JFK"])
    >>> kennedy.match("President Kennedy's")
    Match(tier=<Tier.SURNAME: 3>, evidence="surname 'kennedy'")
    >>> kennedy.match("Robert Kennedy") is None
    True
    """

    def __init__(self, title: str, aliases: Iterable[str] = ()) -> None:
        if not any(character.isalpha() for character in fold(title)):
            raise InputError(
                f"the title {shorten(title)} has no letters", where="title", remedy="give the name of a person"
            )
        self.title = title
        self._pattern = Pattern(title_name(title))
        self._aliases: dict[str, Match] = {}
        # Every word that a right guess has one of, initials as letters.
        self._needed = {*self._pattern.words, *(word[0] for word in self._pattern.words)}
        for alias in aliases:
            name = self._pattern.read(alias)
            if len(name.key) > 1 and not is_weak(name):
                self._aliases[name.key] = Match(Tier.EXACT, f"alias {alias!r}")
                self._needed.update(name.key.split(), name.names)
        self._seen: dict[str, Match | None] = {}

    def match(self, guess: str) -> Match | None:
        """How well *guess* names the person; None where it names nobody or somebody else."""
        found = self._seen.get(guess, _UNSEEN)
        if found is _UNSEEN:
            found = self._seen[guess] = self._judge(guess)
        return found

    def _judge(self, guess: str) -> Match | None:
        words = guess.lower().split()
        # Most guesses are other people's plain names, which need not be taken apart to be refused.
        if (
            self._needed.isdisjoint(words)
            and guess.isascii()
            and "".join(words).isalpha()
            and not self._pattern.has_spelling(words)
        ):
            return None
        name = self._pattern.read(guess)
        found = self._pattern.judge(name)
        if self._aliases and (found is None or found.tier < Tier.EXACT):
            return self._aliases.get(name.key, found)
        return found

    @property
    def name(self) -> Name:
        """The title taken apart."""
        return self._pattern.name

    @cached_property
    def display(self) -> str:
        """The title without qualifiers in parentheses and ranks after a comma."""
        plain = _QUALIFIER.sub("", self.title).strip() or self.title
        before = plain.partition(",")[0].strip()
        return plain if "," in self.name.key or not any(map(str.isalpha, before)) else before

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The words of the title that are names, as written."""
        return tuple(word for word, place in self._written if place is not None)

    @cached_property
    def surname(self) -> str:
        """The surname as written, without the particles before it; the one name of a person who has one."""
        places = [at for at, (_, place) in enumerate(self._written) if place is not None and place >= self._surname_at]
        return " ".join(word for word, _ in self._written[places[0] : places[-1] + 1]) if places else self.display

    @cached_property
    def given(self) -> str:
        """The other names as written."""
        return " ".join(word for word, place in self._written if place is not None and place < self._surname_at)

    @property
    def _surname_at(self) -> int:
        return self.name.surname_at

    @cached_property
    def _written(self) -> list[tuple[str, int | None]]:
        """Each word of the title, with its place among the names."""
        places = {word: at for at, word in enumerate(self.name.names)}
        found: list[tuple[str, int | None]] = []
        for written in self.display.replace(",", " ").split():
            here = [places.pop(word) for word, _ in words_of(fold(written)) if word in places]
            found.append((written.strip("\"'“”‘’"), here[-1] if here else None))
        return found


def match(title: str, guess: str, aliases: Iterable[str] = ()) -> Match | None:
    """How well *guess* names the person of *title*.

    >>> match("Antoni van Leeuwenhoek", "leeuwenhoek").tier.name
    'SURNAME'
    """
    return Person(title, aliases).match(guess)
