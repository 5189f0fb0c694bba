"""Decide whether a guess names the person of a title: the default matcher, and simpler rules to compare with.

`Person` accepts a guess that has a name of the person and no name that contradicts the title:

- Case, accents, surrounding punctuation, possessives, honorifics before and qualifiers after a name are ignored.
- Function words (`vocabulary.FUNCTION_WORDS`) beside a name are ignored. Any other word that the title lacks is a name
  of another person: ``Robert Kennedy`` and ``John Smith`` do not match ``John F. Kennedy``.
- A further name or initial between given name and surname is accepted if the guess has all given names of the title.
- Another transliteration matches (``Dostoevsky`` for Dostoyevsky). Beside the surname, so does a short form of a given
  name or its form in another language (``James Simons`` for Jim Simons); see `variants`.
- Numerals, ranks, bynames (*of*, *the*) and qualifiers in parentheses contradict different ones, not missing ones;
  a numeral or *Jr.* also contradicts a title without one.
- Particles, numerals, bynames, a single initial and function words never match alone.

Pseudonyms, names after marriage and titles of nobility (Palmerston) need a table of aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Protocol

from goldrank.errors import InputError, shorten
from goldrank.masked.names.folding import fold
from goldrank.masked.names.parts import POSSESSIVE, Name, plain_words, words_of
from goldrank.masked.names.patterns import WEAK, Match, Pattern, Tier, is_weak, title_name

_QUALIFIER = re.compile(r"\s*\([^()]*(?:\)|$)")


class Matcher(Protocol):
    """Decides which guesses are right for one title."""

    def match(self, guess: str) -> Match | None:
        """Return how *guess* names the person, or None if it does not."""


class Person:
    """The person of a title, compiled once for any number of guesses.

    >>> kennedy = Person("John F. Kennedy", aliases=["JFK"])
    >>> kennedy.match("President Kennedy's")
    Match(tier=<Tier.SURNAME: 3>, evidence="surname 'kennedy'")
    >>> kennedy.match("Robert Kennedy") is None
    True
    """

    def __init__(self, title: str, aliases: Iterable[str] = ()) -> None:
        if not any(map(str.isalpha, fold(title))):
            raise InputError(
                f"the title {shorten(title)} has no letters", where="title", remedy="give the name of a person"
            )
        self.title = title
        self._pattern = Pattern(title_name(title))
        self._aliases: dict[str, Match] = {}
        # A right guess has at least one of these words or initials.
        self._needed = {*self._pattern.words, *(word[0] for word in self._pattern.words)}
        for alias in aliases:
            name = self._pattern.read(alias)
            if len(name.key) > 1 and not is_weak(name):
                self._aliases[name.key] = Match(Tier.EXACT, f"alias {alias!r}")
                self._needed.update(name.key.split(), name.names)
        self._judged: dict[str, Match | None] = {}

    def match(self, guess: str) -> Match | None:
        """Return how well *guess* names the person, or None if it names nobody or somebody else."""
        words = fold(guess).split()
        joined = "".join(words)
        # Most guesses are plain names of other people, which can be rejected without parsing them. Initials that stand
        # apart are joined, because they may be an alias.
        if (
            self._needed.isdisjoint(words)
            and joined.isalpha()
            and not self._pattern.has_spelling(words)
            and joined not in self._aliases
        ):
            return None
        if guess not in self._judged:
            self._judged[guess] = self._judge(guess)
        return self._judged[guess]

    def _judge(self, guess: str) -> Match | None:
        name = self._pattern.read(guess)
        result = self._pattern.judge(name)
        if self._aliases and (result is None or result.tier < Tier.EXACT):
            return self._aliases.get(name.key, result)
        return result

    @property
    def name(self) -> Name:
        """The parsed title."""
        return self._pattern.name

    @cached_property
    def display(self) -> str:
        """The title without qualifiers in parentheses and ranks after a comma."""
        plain = _QUALIFIER.sub("", self.title).strip() or self.title
        before = plain.partition(",")[0].strip()
        return plain if "," in self.name.key or not any(map(str.isalpha, before)) else before

    @cached_property
    def surname(self) -> str:
        """The surname as written, without the particles before it; for a person with a single name, that name."""
        surname_at = self.name.surname_at
        places = [at for at, (_, place) in enumerate(self._written) if place is not None and place >= surname_at]
        return " ".join(word for word, _ in self._written[places[0] : places[-1] + 1]) if places else self.display

    @cached_property
    def given(self) -> str:
        """The other names as written."""
        return " ".join(word for word, place in self._written if place is not None and place < self.name.surname_at)

    @cached_property
    def _written(self) -> list[tuple[str, int | None]]:
        """Each word of the title with its position among the names, or None if it is not a name."""
        places = {word: at for at, word in enumerate(self.name.names)}
        words: list[tuple[str, int | None]] = []
        for written in self.display.replace(",", " ").split():
            here = [places.pop(word) for word, _ in words_of(fold(written)) if word in places]
            words.append((written.strip("\"'“”‘’"), here[-1] if here else None))
        return words


class _TokenMatcher:
    """Any name of the title is a whole word of the guess, regardless of case and accents.

    Initials, particles, numerals, honorifics and qualifiers do not count as names. The rest of the guess is ignored.
    """

    least = Tier.GIVEN

    def __init__(self, title: str, aliases: Iterable[str] = ()) -> None:
        self._tiers = self._tiers_of(title)
        for alias in aliases:
            for token, tier in self._tiers_of(alias).items():
                self._tiers[token] = max(tier, self._tiers.get(token, tier))

    def _tiers_of(self, person: str) -> dict[str, Tier]:
        name = title_name(person)
        tiers: dict[str, Tier] = {}
        for at, word in enumerate(name.names):
            tier = Tier.SURNAME if at >= name.surname_at else Tier.GIVEN
            tiers.update((token, tier) for token in _forms(word) if len(token) > 1 and token not in WEAK)
        # If the surname is one letter (Malcolm X), the other names are used.
        return {token: tier for token, tier in tiers.items() if tier >= self.least} or tiers

    def match(self, guess: str) -> Match | None:
        """Return the best token of *guess* that is a name of the title."""
        tokens = _tokens(guess)
        if self._tiers.keys().isdisjoint(tokens):
            return None
        shared = [token for token in tokens if token in self._tiers]
        best = max(shared, key=self._tiers.__getitem__)
        kind = "surname" if self._tiers[best] is Tier.SURNAME else "given-name"
        return Match(self._tiers[best], f"{kind} token {best!r}")


@lru_cache(maxsize=1 << 17)
def _tokens(guess: str) -> tuple[str, ...]:
    """Return the words of a guess in all their forms."""
    return plain_words(guess) or tuple(
        token for word, _ in words_of(POSSESSIVE.sub("", fold(guess))) for token in _forms(word)
    )


def _forms(word: str) -> Iterator[str]:
    """Yield a word, and the parts of a hyphenated word, joined and apart."""
    yield word
    if "-" in word:
        yield word.replace("-", "")
        yield from word.split("-")


class _SurnameMatcher(_TokenMatcher):
    """Like `_TokenMatcher`, but only the surname counts."""

    least = Tier.SURNAME


class _OriginalMatcher:
    """Any part of the title is a substring of the guess, as in the published code, including its faults.

    That code joins the parts into one regular expression and escapes only full stops, so that parentheses are groups.
    Quantifiers and alternatives are escaped here, because a title could make the search run forever. If the expression
    is invalid, that code fails; here the parts are searched literally. Its ``.*`` around every part has no effect.
    """

    def __init__(self, title: str, aliases: Iterable[str] = ()) -> None:
        self._parts = title.split()
        self._pattern: re.Pattern[str] | None = None
        if _GROUP_OR_ANCHOR.search(title):
            escaped = [_LITERAL.sub(lambda sign: re.escape(sign[0]), part) for part in self._parts]
            with suppress(re.error):
                self._pattern = re.compile("|".join(f"({part})" for part in escaped))

    def match(self, guess: str) -> Match | None:
        """Return the first part of the title that is in *guess*, case-sensitively."""
        if self._pattern is not None:
            matched = self._pattern.search(guess)
            return None if matched is None else Match(Tier.SURNAME, f"pattern {matched[0]!r}")
        for part in self._parts:
            if part in guess:
                return Match(Tier.SURNAME, f"substring {part!r}")
        return None


_GROUP_OR_ANCHOR = re.compile(r"[()^$]")
_LITERAL = re.compile(r"[^()^$\w\s]")


class _SeedMatcher:
    """Any part of the title is a word of the guess, regardless of case."""

    def __init__(self, title: str, aliases: Iterable[str] = ()) -> None:
        self._parts = frozenset(title.lower().split())

    def match(self, guess: str) -> Match | None:
        """Return the first word of *guess* that is a part of the title."""
        word = next((word for word in guess.lower().split() if word in self._parts), None)
        return None if word is None else Match(Tier.SURNAME, f"word {word!r}")


class _LiteralMatcher:
    """An answer without letters, such as a year: the guess must be equal, except for surrounding white space."""

    def __init__(self, answer: str) -> None:
        self._answer = answer.strip()

    def match(self, guess: str) -> Match | None:
        """Return a match if *guess* is the answer."""
        return Match(Tier.EXACT, f"the answer {self._answer!r}") if guess.strip() == self._answer else None


class _AnyOfMatcher:
    """Several right answers, any of which may match."""

    def __init__(self, matchers: Sequence[Matcher]) -> None:
        self._matchers = matchers

    def match(self, guess: str) -> Match | None:
        """Return the best match with any of the answers, the first of equally good ones."""
        matches = [match for matcher in self._matchers if (match := matcher.match(guess)) is not None]
        return max(matches, key=lambda match: match.tier, default=None)


MATCHERS: dict[str, Callable[[str, Iterable[str]], Matcher]] = {
    "names": Person,
    "tokens": _TokenMatcher,
    "surname": _SurnameMatcher,
    "original": _OriginalMatcher,
    "seed": _SeedMatcher,
}
"""Matchers by name, each made from a title and its aliases. ``original`` and ``seed`` (earlier work) ignore aliases."""


def make_matcher(name: str, answers: Sequence[str], aliases: Mapping[str, Sequence[str]] | None = None) -> Matcher:
    """Make a matcher that accepts any of the right *answers*.

    Args:
        name: A key of ``MATCHERS``.
        answers: Names of persons, or other strings; at least one.
        aliases: Other names of the persons, by answer.

    >>> make_matcher("names", ["Marie Curie", "Pierre Curie"]).match("Pierre").tier.name
    'GIVEN'
    """
    make, others = MATCHERS[name], aliases or {}
    matchers = [
        make(answer, others.get(answer, ())) if any(map(str.isalpha, fold(answer))) else _LiteralMatcher(answer)
        for answer in answers
    ]
    return matchers[0] if len(matchers) == 1 else _AnyOfMatcher(matchers)
