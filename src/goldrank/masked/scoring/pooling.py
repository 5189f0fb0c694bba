"""Pool guesses into answers, and rank the right answer among them.

A guess is right if it matches the title. A *group* of guesses is right if its decisive member is. With ``pool=alias``
that is the fullest name (most words with letters, then the highest sum of scores, then alphabetical order), so that a
group is formed and judged without the gold. With ``pool=gold`` all right guesses form the one right group.

With ``pool=alias`` only a name can be the answer. A guess is *not a name* if all its words are in `vocabulary.NO_NAMES`
(pronouns, function words, offices without a name), or if it is an article with an office or trade (``the King``). A
group is not a name if no guess in it is, or if all its guesses are in lower case while another group has a capital:
predictors that write capitals capitalise names, and those that do not are judged by the list alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, pairwise
from operator import not_
from typing import NamedTuple

from goldrank.masked.names.aliases import group_aliases
from goldrank.masked.names.folding import fold
from goldrank.masked.names.matching import Matcher
from goldrank.masked.names.parts import AROUND, POSSESSIVE, parse_name, plain_words
from goldrank.masked.names.patterns import Pattern
from goldrank.masked.names.variants import spelling
from goldrank.masked.names.vocabulary import ARTICLES, HONORIFICS, NO_NAMES, RANKS
from goldrank.masked.scoring.levels import Rules


class GoldRank(NamedTuple):
    """The rank of the best right answer, as the counts of Hits; other right answers are not counted."""

    above: int
    """Number of wrong answers with a higher score; -1 if no answer is right."""
    tied: int
    tied_docid: int
    tied_input: int
    right: bool
    """Whether the first answer is right."""
    margin: float
    top: float
    """Score of the first answer."""
    share: float
    """Score of the first answer over the sum of all."""


NO_ANSWER = GoldRank(-1, 0, 0, 0, False, math.nan, math.nan, math.nan)
"""The result without any answer."""


NamesAndScores = tuple[Sequence[str], Sequence[float]]
"""The names guessed for a mask, and their scores."""


class Tiers(dict[str, int]):
    """The tier of each guess for one title, 0 if it does not match; computed on first use."""

    def __init__(self, matcher: Matcher) -> None:
        super().__init__()
        self._matcher = matcher

    def __missing__(self, guess: str) -> int:
        match = self._matcher.match(guess)
        tier = self[guess] = 0 if match is None else int(match.tier)
        return tier


@dataclass(frozen=True)
class Answers:
    """Groups of guesses in the order of first appearance, as parallel lists."""

    names: list[str]
    """The member of each group that decides whether it is right."""
    totals: list[float]
    """The sum of the scores in each group, exactly rounded, so that the order of the guesses has no influence."""
    right: list[bool]
    members: list[list[str]]
    """The spellings in each group, in the order of first appearance."""
    named: list[bool]
    """Whether each group can be the answer; with ``pool=alias``, words that name nobody cannot."""

    def rank(self) -> GoldRank:
        """Rank the best right group among those that can be the answer."""
        if False not in self.named:
            return rank_gold(self.names, self.totals, self.right)
        return rank_gold(
            list(compress(self.names, self.named)),
            list(compress(self.totals, self.named)),
            list(compress(self.right, self.named)),
        )

    @property
    def led_by_no_name(self) -> bool:
        """Whether the group with the largest sum is not a name."""
        if False not in self.named:
            return False
        largest = max(compress(self.totals, self.named), default=-math.inf)
        return any(total > largest for total, is_name in zip(self.totals, self.named, strict=True) if not is_name)

    @property
    def order(self) -> list[int]:
        """Indices of the groups, best first, ties in order of appearance; groups that are not a name come last."""
        return sorted(range(len(self.names)), key=lambda at: (not self.named[at], -self.totals[at]))

    @property
    def size(self) -> int:
        """Number of groups that can be the answer."""
        return sum(self.named)


def counted_guesses(names: Sequence[str], scores: Sequence[float], k: int | None) -> NamesAndScores:
    """Return the first *k* guesses of a mask without empty ones, which result from padding."""
    names, scores = names[:k], scores[:k]
    if all(map(str.strip, names)):
        return names, scores
    named = [at for at, name in enumerate(names) if name.strip()]
    return [names[at] for at in named], [scores[at] for at in named]


def scores_by_name(masks: Sequence[NamesAndScores]) -> dict[str, list[float]]:
    """Return all scores of each name over several masks."""
    by_name: dict[str, list[float]] = {}
    for names, scores in masks:
        for name, score in zip(names, scores, strict=True):
            if name in by_name:
                by_name[name].append(score)
            else:
                by_name[name] = [score]
    return by_name


def pool_names(by_name: dict[str, list[float]], rules: Rules, tiers: Mapping[str, int]) -> Answers:
    """Pool names with their scores into groups."""
    return (_by_alias if rules.pool == "alias" else _by_gold)(by_name, rules.tier, tiers)


def _by_alias(by_name: dict[str, list[float]], tier: int, tiers: Mapping[str, int]) -> Answers:
    members = same_person(by_name)
    names = [group[0] if len(group) == 1 else _decisive(group, by_name) for group in members]
    right = [tiers[name] >= tier for name in names]
    return Answers(names, _totals(members, by_name), right, members, _named(members))


def _named(members: list[list[str]]) -> list[bool]:
    """Return whether each group is a name, by the words and capitals of its guesses."""
    signs = [_sign(group[0]) if len(group) == 1 else max(map(_sign, group)) for group in members]
    least = _CASELESS if _CAPITAL in signs else _LOWER_CASE
    return [sign >= least for sign in signs]


_NO_NAME, _LOWER_CASE, _CASELESS, _CAPITAL = range(4)
"""Degrees of evidence that a guess is a name."""
_BLANKS = dict.fromkeys(map(ord, AROUND), " ")


@lru_cache(maxsize=1 << 17)
def _sign(guess: str) -> int:
    if is_no_name(guess):
        return _NO_NAME
    if guess.islower():
        return _LOWER_CASE
    return _CASELESS if guess == guess.lower() else _CAPITAL


def is_no_name(guess: str) -> bool:
    """Return True if a guess names nobody, regardless of case: pronouns, function words, offices without a name.

    >>> [is_no_name(guess) for guess in ("He", "his", "together", "the former president", "The King")]
    [True, True, True, True, True]
    >>> [is_no_name(guess) for guess in ("will", "mark", "may", "rose", "King", "President Kennedy", "1898")]
    [False, False, False, False, False, False, False]
    """
    words = plain_words(guess) or POSSESSIVE.sub("", fold(guess)).translate(_BLANKS).split()
    listed = _WITH_ARTICLE if words and words[0] in ARTICLES else NO_NAMES
    return bool(words) and listed.issuperset(words)


_WITH_ARTICLE = NO_NAMES | HONORIFICS | RANKS


def same_person(by_name: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """Group distinct names by the person they name, in the order of first appearance.

    The groups are those of `group_aliases`, which is called only for names that share a word with another: in most
    lists these are few, and the others stay alone.
    """
    names = list(by_name)
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
    numbers = dict(zip(joinable, group_aliases(joinable, [by_name[name] for name in joinable]), strict=True))
    gathered: dict[str | int, list[str]] = {}
    for name in names:
        gathered.setdefault(numbers.get(name, name), []).append(name)
    return list(gathered.values())


@lru_cache(maxsize=1 << 18)
def _words_to_join_by(guess: str) -> tuple[str, ...]:
    """Return words of which any two guesses that may name the same person have at least one in common."""
    name = parse_name(guess)
    if not name.names:
        return (fold(guess).strip(AROUND) or guess.strip(),)
    if name.plain and (len(name.names) == 1 or not name.joined):
        # Fast path for most names: these are the words and spellings of their pattern.
        words = {*name.names, *map("".join, pairwise(name.names[: name.surname_at]))}
        return tuple(words.union(map(spelling, words)))
    parts = {part for word in name.names for part in word.split("-")}
    # Initials alone are one word, regardless of spelling.
    whole = {name.key} if max(map(len, parts)) == 1 else set()
    pattern = Pattern(name)
    return tuple(parts | pattern.words | pattern.spellings | whole)


def _by_gold(by_name: dict[str, list[float]], tier: int, tiers: Mapping[str, int]) -> Answers:
    gathered: dict[str | None, list[str]] = {}
    for name in by_name:
        gathered.setdefault(None if tiers[name] >= tier else name.strip().casefold(), []).append(name)
    members = list(gathered.values())
    names = [_decisive(group, by_name) if folded is None else folded for folded, group in gathered.items()]
    right = [folded is None for folded in gathered]
    return Answers(names, _totals(members, by_name), right, members, [True] * len(names))


def _totals(members: list[list[str]], by_name: dict[str, list[float]]) -> list[float]:
    return [
        math.fsum(by_name[group[0]] if len(group) == 1 else [score for name in group for score in by_name[name]])
        for group in members
    ]


def _decisive(names: list[str], by_name: dict[str, list[float]]) -> str:
    return min(names, key=lambda name: (-_words(name), -math.fsum(by_name[name]), name))


@lru_cache(maxsize=1 << 17)
def _words(name: str) -> int:
    return sum(any(map(str.isalpha, word)) for word in name.split())


def rank_gold(names: Sequence[str], scores: Sequence[float], right: Sequence[bool]) -> GoldRank:
    """Rank the best right answer among answers in input order, which need not be sorted by score."""
    if not names:
        return NO_ANSWER
    top = max(scores)
    size = math.fsum(map(abs, scores))
    share = top / size if size else 0.0
    if True not in right:
        return GoldRank(-1, 0, 0, 0, False, -share, top, share)
    best = max(compress(scores, right))
    rivals = list(compress(scores, map(not_, right)))
    margin = (best - max(rivals, default=0.0)) / size if size else 0.0
    first = right[scores.index(top)]
    tied = rivals.count(best)
    above = 0 if best == top else len([score for score in rivals if score > best])
    if not tied:
        return GoldRank(above, 0, 0, 0, first, margin, top, share)
    level = [at for at, score in enumerate(scores) if score == best]
    earliest = min(at for at in level if right[at])
    last_name = max(names[at] for at in level if right[at])
    by_name = sum(names[at] > last_name for at in level if not right[at])
    by_input = sum(at < earliest for at in level if not right[at])
    return GoldRank(above, tied, by_name, by_input, first, margin, top, share)
