"""Pooling guesses into answers, and where the right answer stands among them.

A guess is right when it matches the title. A *group* of guesses is right when the member that decides is: with
``pool=alias`` the fullest name (most words with letters, then the highest sum of scores, then the first in the order
of the alphabet), so that a group is built and judged without a look at the gold; with ``pool=gold`` every right guess
is in the one right group by definition.

With ``pool=alias`` only a name can be the answer. A guess is *no name* if all of its words are `name_words.NO_NAMES`
(pronouns, function words, offices without a name), or if it is an article with an office or trade (``the King``). A
group is no name if all of its guesses are, or if all are written in lower case where another group has a capital:
predictors that write capitals write names with them, and those that write none are judged by the list alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, pairwise
from operator import not_
from typing import NamedTuple

from goldrank.masked.examples.chunks import Guesses
from goldrank.masked.names.aliases import group_aliases
from goldrank.masked.names.folding import fold
from goldrank.masked.names.matching import Matcher
from goldrank.masked.names.parts import AROUND, POSSESSIVE, parse_name, plain_words
from goldrank.masked.names.patterns import Pattern
from goldrank.masked.names.variants import spelling
from goldrank.masked.names.vocabulary import ARTICLES, HONORIFICS, NO_NAMES, RANKS
from goldrank.masked.scoring.levels import Group, Rules


class Place(NamedTuple):
    """Where the best right answer stands; the counts are those of Hits, other right answers are no rivals."""

    above: int
    """How many wrong answers have a higher score; -1 where no answer is right."""
    tied: int
    tied_docid: int
    tied_input: int
    right: bool
    """Whether the first answer is right."""
    margin: float
    top: float
    """The score of the first answer."""
    share: float
    """The same over the sum of all."""


NOWHERE = Place(-1, 0, 0, 0, False, math.nan, math.nan, math.nan)
"""Where nothing was answered."""


class Tiers(dict[str, int]):
    """How well each guess agrees with one title, 0 where it does not; a guess is matched when first asked for."""

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self._matcher = matcher

    def __missing__(self, guess: str) -> int:
        match = self._matcher.match(guess)
        tier = self[guess] = 0 if match is None else int(match.tier)
        return tier


@dataclass(frozen=True)
class Answers:
    """Groups of guesses in the order of their first appearance, as parallel lists; see `Group`."""

    names: list[str]
    totals: list[float]
    right: list[bool]
    members: list[list[str]]
    named: list[bool]
    """Whether each group may be the answer; see `Group.named`."""

    def place(self) -> Place:
        """Where the best right group stands among those that may be the answer."""
        if False not in self.named:
            return place(self.names, self.totals, self.right)
        return place(
            list(compress(self.names, self.named)),
            list(compress(self.totals, self.named)),
            list(compress(self.right, self.named)),
        )

    @property
    def led_by_no_name(self) -> bool:
        """Whether the largest sum is that of a group that is no name."""
        if False not in self.named:
            return False
        largest = max(compress(self.totals, self.named), default=-math.inf)
        return any(total > largest for total, is_name in zip(self.totals, self.named, strict=True) if not is_name)

    @property
    def size(self) -> int:
        """How many groups may be the answer."""
        return sum(self.named)


def pooled(guesses: Sequence[Guesses], rules: Rules, matcher: Matcher) -> list[Group]:
    """All guesses of an example or a page as answers, the best first; equal sums in the order of appearance.

    Groups that are no name stand last.
    """
    kept = [answers(one.names, one.scores, rules.k) for one in guesses]
    found = pool(kept, rules, Tiers(matcher))
    groups = map(Group, found.names, found.totals, found.right, map(tuple, found.members), found.named)
    return sorted(groups, key=lambda group: (not group.named, -group.total))


def answers(names: Sequence[str], scores: Sequence[float], k: int | None) -> tuple[Sequence[str], Sequence[float]]:
    """The first *k* guesses of a mask without the empty ones, which padding leaves and which answer nothing."""
    names, scores = names[:k], scores[:k]
    if all(map(str.strip, names)):
        return names, scores
    kept = [at for at, name in enumerate(names) if name.strip()]
    return [names[at] for at in kept], [scores[at] for at in kept]


def pool(masks: Sequence[tuple[Sequence[str], Sequence[float]]], rules: Rules, tiers: Mapping[str, int]) -> Answers:
    """The names and scores of several masks as groups."""
    return pool_names(scores_by_name(masks), rules, tiers)


def scores_by_name(masks: Sequence[tuple[Sequence[str], Sequence[float]]]) -> dict[str, list[float]]:
    """All scores of each name that was said at several masks."""
    said: dict[str, list[float]] = {}
    for names, scores in masks:
        for name, score in zip(names, scores, strict=True):
            if name in said:
                said[name].append(score)
            else:
                said[name] = [score]
    return said


def pool_names(said: dict[str, list[float]], rules: Rules, tiers: Mapping[str, int]) -> Answers:
    """Names with their scores as groups."""
    return (_by_alias if rules.pool == "alias" else _by_gold)(said, rules.tier, tiers)


def _by_alias(said: dict[str, list[float]], tier: int, tiers: Mapping[str, int]) -> Answers:
    members = same_person(said)
    names = [group[0] if len(group) == 1 else _decisive(group, said) for group in members]
    right = [tiers[name] >= tier for name in names]
    return Answers(names, _totals(members, said), right, members, _named(members))


def _named(members: list[list[str]]) -> list[bool]:
    """Whether each group is a name, by the words and the capitals of its guesses."""
    signs = [_sign(group[0]) if len(group) == 1 else max(map(_sign, group)) for group in members]
    least = _CASELESS if _CAPITAL in signs else _LOWER_CASE
    return [sign >= least for sign in signs]


_NO_NAME, _LOWER_CASE, _CASELESS, _CAPITAL = range(4)
"""How much speaks for a guess being a name."""
_BLANKS = dict.fromkeys(map(ord, AROUND), " ")


@lru_cache(maxsize=1 << 17)
def _sign(guess: str) -> int:
    if is_no_name(guess):
        return _NO_NAME
    if guess.islower():
        return _LOWER_CASE
    return _CASELESS if guess == guess.lower() else _CAPITAL


def is_no_name(guess: str) -> bool:
    """Return True if a guess names nobody, whatever its case: pronouns, function words, offices without a name.

    >>> [is_no_name(guess) for guess in ("He", "his", "together", "the former president", "The King")]
    [True, True, True, True, True]
    >>> [is_no_name(guess) for guess in ("will", "mark", "may", "rose", "King", "President Kennedy", "1898")]
    [False, False, False, False, False, False, False]
    """
    words = plain_words(guess) or POSSESSIVE.sub("", fold(guess)).translate(_BLANKS).split()
    listed = _WITH_ARTICLE if words and words[0] in ARTICLES else NO_NAMES
    return bool(words) and listed.issuperset(words)


_WITH_ARTICLE = NO_NAMES | HONORIFICS | RANKS


def same_person(said: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """Distinct names, with their scores, by the person they name, in the order of their first appearance.

    The groups are those of `group_aliases`, which is asked only about names that share a word with another: in most
    lists they are few, and the others stay alone.
    """
    names = list(said)
    words = list(map(_words_to_join_by, names))
    seen: set[str] = set()
    shared: set[str] = set()
    for own in words:
        if not seen.isdisjoint(own):
            shared.update(seen.intersection(own))
        seen.update(own)
    if not shared:
        return [[name] for name in names]
    joinable = [name for name, own in zip(names, words, strict=True) if not shared.isdisjoint(own)]
    numbers = dict(zip(joinable, group_aliases(joinable, [said[name] for name in joinable]), strict=True))
    gathered: dict[str | int, list[str]] = {}
    for name in names:
        gathered.setdefault(numbers.get(name, name), []).append(name)
    return list(gathered.values())


@lru_cache(maxsize=1 << 18)
def _words_to_join_by(guess: str) -> tuple[str, ...]:
    """One of these is common to any two guesses that may name the same person."""
    name = parse_name(guess)
    if not name.names:
        return (fold(guess).strip(AROUND) or guess.strip(),)
    if name.plain and (len(name.names) == 1 or not name.joined):
        # Most names; these are the words and spellings of their pattern.
        words = {*name.names, *map("".join, pairwise(name.names[: name.surname_at]))}
        return tuple(words.union(map(spelling, words)))
    parts = {part for word in name.names for part in word.split("-")}
    # Initials alone are one word, however they are written.
    whole = {name.key} if max(map(len, parts)) == 1 else set()
    pattern = Pattern(name)
    return tuple(parts | pattern.words | pattern.spellings | whole)


def _by_gold(said: dict[str, list[float]], tier: int, tiers: Mapping[str, int]) -> Answers:
    gathered: dict[str | None, list[str]] = {}
    for name in said:
        gathered.setdefault(None if tiers[name] >= tier else name.strip().casefold(), []).append(name)
    members = list(gathered.values())
    names = [_decisive(group, said) if folded is None else folded for folded, group in gathered.items()]
    right = [folded is None for folded in gathered]
    return Answers(names, _totals(members, said), right, members, [True] * len(names))


def _totals(members: list[list[str]], said: dict[str, list[float]]) -> list[float]:
    return [
        math.fsum(said[group[0]] if len(group) == 1 else [score for name in group for score in said[name]])
        for group in members
    ]


def _decisive(names: list[str], said: dict[str, list[float]]) -> str:
    return min(names, key=lambda name: (-_words(name), -math.fsum(said[name]), name))


@lru_cache(maxsize=1 << 17)
def _words(name: str) -> int:
    return sum(any(map(str.isalpha, word)) for word in name.split())


def place(names: Sequence[str], scores: Sequence[float], right: Sequence[bool]) -> Place:
    """Where the best right answer stands among answers in the order of the input, whatever the order of the scores."""
    if not names:
        return NOWHERE
    top = max(scores)
    size = math.fsum(map(abs, scores))
    share = top / size if size else 0.0
    if True not in right:
        return Place(-1, 0, 0, 0, False, -share, top, share)
    best = max(compress(scores, right))
    rivals = list(compress(scores, map(not_, right)))
    margin = (best - max(rivals, default=0.0)) / size if size else 0.0
    first = right[scores.index(top)]
    tied = rivals.count(best)
    above = 0 if best == top else len([score for score in rivals if score > best])
    if not tied:
        return Place(above, 0, 0, 0, first, margin, top, share)
    level = [at for at, score in enumerate(scores) if score == best]
    earliest = min(at for at in level if right[at])
    last_name = max(names[at] for at in level if right[at])
    by_name = sum(names[at] > last_name for at in level if not right[at])
    by_input = sum(at < earliest for at in level if not right[at])
    return Place(above, tied, by_name, by_input, first, margin, top, share)
