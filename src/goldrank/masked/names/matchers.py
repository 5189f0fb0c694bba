"""The matchers to choose from: the same person, a shared name, and the rules of earlier work with their faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from goldrank.masked.names.folding import fold
from goldrank.masked.names.matching import Matcher, Person
from goldrank.masked.names.parts import POSSESSIVE, plain_words, words_of
from goldrank.masked.names.patterns import WEAK, Match, Tier, title_name


class _Tokens:
    """Any name of the title is a whole word of the guess, without regard to case and accents.

    Initials, particles, numerals, honorifics and qualifiers are no names. What else the guess says does not matter.
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
        # Where the surname is one letter (Malcolm X), the other names have to do.
        return {token: tier for token, tier in tiers.items() if tier >= self.least} or tiers

    def match(self, guess: str) -> Match | None:
        """The best token of *guess* that is a name of the title."""
        tokens = _tokens(guess)
        if self._tiers.keys().isdisjoint(tokens):
            return None
        found = [token for token in tokens if token in self._tiers]
        best = max(found, key=self._tiers.__getitem__)
        kind = "surname" if self._tiers[best] is Tier.SURNAME else "given-name"
        return Match(self._tiers[best], f"{kind} token {best!r}")


@lru_cache(maxsize=1 << 17)
def _tokens(guess: str) -> tuple[str, ...]:
    """The words of a guess in all their forms."""
    return plain_words(guess) or tuple(
        token for word, _ in words_of(POSSESSIVE.sub("", fold(guess))) for token in _forms(word)
    )


def _forms(word: str) -> Iterator[str]:
    """A word, and what its hyphens join, together and apart."""
    yield word
    if "-" in word:
        yield word.replace("-", "")
        yield from word.split("-")


class _Surname(_Tokens):
    """The same of the surname alone: the real one, without the qualifier in parentheses that ends many titles."""

    least = Tier.SURNAME


class _Original:
    """Any part of the title stands somewhere in the guess, as the published code has it, faults included.

    That code joins the parts to one regular expression in which only full stops are escaped, so parentheses are groups
    and not sought. Signs that would repeat or choose are taken literally here, or a title could make the search run
    forever; titles of Wikipedia hardly have any. Where the expression is invalid that code stops with an error; here
    the parts are sought as they are written. Its ``.*`` around every part change nothing.
    """

    def __init__(self, title: str, aliases: Iterable[str] = ()) -> None:
        self._parts = title.split()
        self._pattern = _compiled(self._parts) if _GROUP_OR_END.search(title) else None

    def match(self, guess: str) -> Match | None:
        """The first part of the title that is found in *guess*, case and all."""
        if self._pattern is not None:
            found = self._pattern.search(guess)
            return None if found is None else Match(Tier.SURNAME, f"pattern {found[0]!r}")
        for part in self._parts:
            if part in guess:
                return Match(Tier.SURNAME, f"substring {part!r}")
        return None


_GROUP_OR_END = re.compile(r"[()^$]")
_LITERAL = re.compile(r"[^()^$\w\s]")


def _compiled(parts: list[str]) -> re.Pattern[str] | None:
    try:
        return re.compile("|".join(f"({_LITERAL.sub(_escaped, part)})" for part in parts))
    except re.error:
        return None


def _escaped(found: re.Match[str]) -> str:
    return re.escape(found[0])


class _Seed:
    """Any part of the title is a word of the guess, without regard to case."""

    def __init__(self, title: str, aliases: Iterable[str] = ()) -> None:
        self._parts = frozenset(title.lower().split())

    def match(self, guess: str) -> Match | None:
        """The first word of *guess* that is a part of the title."""
        found = next((word for word in guess.lower().split() if word in self._parts), None)
        return None if found is None else Match(Tier.SURNAME, f"word {found!r}")


class _Literal:
    """An answer without letters, such as a year: the same characters, white space around them aside."""

    def __init__(self, answer: str) -> None:
        self._answer = answer.strip()

    def match(self, guess: str) -> Match | None:
        """Whether *guess* is the answer."""
        return Match(Tier.EXACT, f"the answer {self._answer!r}") if guess.strip() == self._answer else None


class _AnyOf:
    """One of several right answers."""

    def __init__(self, matchers: Sequence[Matcher]) -> None:
        self._matchers = matchers

    def match(self, guess: str) -> Match | None:
        """The best agreement with any of them, the first one where several are equal."""
        found = [match for matcher in self._matchers if (match := matcher.match(guess)) is not None]
        return max(found, key=lambda match: match.tier, default=None)


def make_matcher(name: str, answers: Sequence[str], aliases: Mapping[str, Sequence[str]] | None = None) -> Matcher:
    """A matcher that takes any of the right *answers*, of which there is at least one.

    Args:
        name: one of ``MATCHERS``.
        answers: names of persons, or other strings.
        aliases: other names of the persons.

    >>> make_matcher("names", ["Marie Curie", "Pierre Curie"]).match("Pierre").tier.name
    'GIVEN'
    """
    make, others = MATCHERS[name], aliases or {}
    made = [
        make(answer, others.get(answer, ())) if any(map(str.isalpha, fold(answer))) else _Literal(answer)
        for answer in answers
    ]
    return made[0] if len(made) == 1 else _AnyOf(made)


MATCHERS: dict[str, Callable[[str, Iterable[str]], Matcher]] = {
    "names": Person,
    "tokens": _Tokens,
    "surname": _Surname,
    "original": _Original,
    "seed": _Seed,
}
"""What makes a matcher of a title and its aliases; the rules of earlier work, the last two, know no aliases."""
