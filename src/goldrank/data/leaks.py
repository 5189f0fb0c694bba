"""Find queries that contain their answer: the text of a relevant item, its title, or a part of either."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from goldrank.data.near_duplicates import LEAST_JACCARD, LEAST_WORDS, count_words, fold

# The fields of `Leaks`, the worst first.
_KINDS = ("same", "near", "title", "inside", "answer")
# A shorter query, such as "red wine", occurs in many texts without being copied from them.
LEAST_WORDS_INSIDE = 5


@dataclass(frozen=True)
class Leaks:
    """Queries that contain their answer, by kind, each with the first such relevant item."""

    same: dict[str, str] = field(default_factory=dict)
    """Queries with exactly the words of a relevant item."""
    near: dict[str, str] = field(default_factory=dict)
    """Queries that are a near-duplicate of a relevant item."""
    title: dict[str, str] = field(default_factory=dict)
    """Queries that are the title of a relevant item."""
    inside: dict[str, str] = field(default_factory=dict)
    """Queries of at least five words that a relevant item contains verbatim."""
    answer: dict[str, str] = field(default_factory=dict)
    """Queries that contain the text of a relevant item verbatim."""

    def by_code(self) -> dict[str, dict[str, str]]:
        """Return the queries under the code of the warning that names them."""
        return {
            "query-is-its-answer": self.same | self.near,
            "query-is-a-title": self.title,
            "query-inside-its-answer": self.inside,
            "answer-inside-query": self.answer,
        }


@dataclass(frozen=True)
class RelevantPair:
    """The texts of a query and of a relevant item."""

    query: str
    item: str
    query_text: str
    text: str
    """The whole text of the item, as a model reads it."""
    title: str = ""
    """The title of the item, if the text contains it."""
    body: str = ""
    """The text of the item without its title, if it has one."""


def find_leaks(pairs: Iterable[RelevantPair]) -> Leaks:
    """Return the queries whose text equals that of a relevant item, or contains it, or is contained in it.

    Case, punctuation and Unicode forms are ignored. A query has one kind of leak only, the worst.

    >>> find_leaks([RelevantPair("q", "d", "RADIUM, and how it was found!", "Radium and how it was found")]).same
    {'q': 'd'}
    """
    fold_once = lru_cache(maxsize=None)(fold)
    worst: dict[str, tuple[int, str]] = {}
    for pair in pairs:
        kind = _kind(*map(fold_once, (pair.query_text, pair.text, pair.title, pair.body)))
        if kind is not None:
            leak = _KINDS.index(kind), pair.item
            worst[pair.query] = min(leak, worst.get(pair.query, leak))
    leaks = Leaks()
    for query, (kind_number, item) in worst.items():
        getattr(leaks, _KINDS[kind_number])[query] = item
    return leaks


def _kind(query_text: str, text: str, title: str, body: str) -> str | None:
    if not query_text:
        return None
    if query_text in (text, body):
        return "same"
    if query_text == title:
        return "title"
    if _are_near(query_text, body or text) or _are_near(query_text, text):
        return "near"
    if count_words(query_text) >= LEAST_WORDS_INSIDE and f" {query_text} " in f" {text} ":
        return "inside"
    answer = body or text
    return "answer" if count_words(answer) >= LEAST_WORDS_INSIDE and f" {answer} " in f" {query_text} " else None


def _are_near(first: str, second: str) -> bool:
    sizes = sorted((count_words(first), count_words(second)))
    if sizes[0] < LEAST_WORDS or sizes[1] * LEAST_JACCARD > sizes[0]:
        return False
    first_set, second_set = _shingles(first), _shingles(second)
    return len(first_set & second_set) >= LEAST_JACCARD * len(first_set | second_set)


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split(" ")
    return set(zip(words, words[1:], words[2:], strict=False))
