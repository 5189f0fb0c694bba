"""Attributes that are derived from the gold and from the texts of queries and items."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from goldrank.encoders.tokens import runs as words_of
from goldrank.errors import InputError, UnknownNameError, unknown_name
from goldrank.hits import Gold
from goldrank.slices.attributes import Attributes, Slice, make_slices

RARE = 0.01
"""A word is rare if at most this share of the items contains it."""
_QUESTION_WORDS = frozenset(
    {
        *("what", "which", "who", "whom", "whose", "when", "where", "why", "how", "is", "are", "was", "were", "does"),
        *("do", "did", "can", "could", "should", "would", "will"),
        *("welche", "welcher", "welches", "wer", "wen", "wem", "wessen", "wann", "wo", "warum", "wieso", "wie", "ist"),
        *("que", "quoi", "quel", "quelle", "quels", "quelles", "qui", "quand", "où", "pourquoi", "comment", "combien"),
        *("qué", "cuál", "quién", "cuándo", "dónde", "cómo", "cuánto", "cuántos"),
    }
)
_SCRIPTS = {"HIRAGANA": "Japanese", "KATAKANA": "Japanese", "CJK": "Han"}


class TextSource(Protocol):
    """A source of the texts of queries and items."""

    def queries(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the texts of some queries; those without a text are left out."""

    def items(self, ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        """Yield the ids and texts of some items, or of all that are known."""


@dataclass(frozen=True)
class PlainTexts:
    """Texts of queries and items in memory."""

    query_texts: Mapping[str, str] = field(default_factory=dict)
    item_texts: Mapping[str, str] = field(default_factory=dict)

    def queries(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the texts of some queries."""
        return {query: self.query_texts[query] for query in ids if query in self.query_texts}

    def items(self, ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        """Yield the ids and texts of some items, or of all."""
        return ((item, text) for item, text in self.item_texts.items() if ids is None or item in ids)


@dataclass(frozen=True)
class SliceSource:
    """Everything that slices of the queries of a gold can be made from."""

    gold: Gold
    attributes: Attributes = field(default_factory=lambda: Attributes({}))
    texts: TextSource = field(default_factory=PlainTexts)

    def attribute_names(self) -> list[str]:
        """Return the attributes that can be used: those that are given, and those that can be derived."""
        held: dict[str, bool] = {
            "gold": True,
            "queries": bool(self.texts.queries(self.gold.queries)),
            "texts": any(True for _ in self.texts.items()),
        }
        held["texts"] = held["texts"] and held["queries"]
        return list(dict.fromkeys([*self.attributes.values, *(name for name in DERIVED if held[DERIVED[name].needs])]))

    def slices(self, names: Sequence[str] | None = None, *, derive: bool = False) -> tuple[Slice, ...]:
        """Cut the queries into slices.

        Args:
            names: The attributes to cut by, given or derived; None for all that divide the queries.
            derive: Whether None includes the attributes that can be derived.

        Raises:
            InputError: An attribute does not exist, needs texts that are not there, or does not divide the queries.
        """
        usual = self.attribute_names() if derive else list(self.attributes.values)
        wanted = usual if names is None else list(names)
        attributes = self.attributes
        for name in wanted:
            if name not in attributes.values:
                attributes = replace(attributes, values={**attributes.values, name: self._derive(name)})
        chosen = Attributes({name: attributes.values[name] for name in wanted}, attributes.source)
        return make_slices(chosen, self.gold.queries, names)

    def _derive(self, name: str) -> dict[str, str]:
        if name not in DERIVED:
            raise self._unknown(name)
        values = DERIVED[name].derive(self)
        if not values:
            what = "the texts of queries" if DERIVED[name].needs == "queries" else "the texts of queries and items"
            raise InputError(
                f"the attribute {name} is derived from {what}, and there are none",
                remedy="give them with --texts (files; in Python texts=), or run the models with `goldrank run`, which "
                "stores them",
            )
        return values

    def _unknown(self, name: str) -> UnknownNameError:
        known = [*self.attributes.values, *DERIVED]
        given = ", ".join(self.attributes.values) or "none"
        return unknown_name("attribute of queries", name, known, f"given: {given}; derived: {', '.join(DERIVED)}")


def _relevant_items(source: SliceSource) -> dict[str, str]:
    return {query: str(len(items)) for query, items in _relevant(source.gold).items()}


def _relevant(gold: Gold) -> dict[str, list[str]]:
    columns = gold.columns
    return {
        query: [columns.items[row] for row in range(rows.start, rows.stop) if columns.values[row] > 0]
        for query, rows in columns.rows_by_query()
    }


def _of_text(value: Callable[[str], str]) -> Callable[[SliceSource], dict[str, str]]:
    def derive(source: SliceSource) -> dict[str, str]:
        return {query: value(text) for query, text in source.texts.queries(source.gold.queries).items()}

    return derive


def _question_word(text: str) -> str:
    """Return the first word if it begins a question.

    >>> _question_word("How do I install it?"), _question_word("install errors")
    ('how', 'no question word')
    """
    first = next(iter(words_of(text)), "")
    return first if first in _QUESTION_WORDS else "no question word"


def _script(text: str) -> str:
    """Return the script of most letters.

    >>> _script("Was ist Wein?"), _script("ワインとは"), _script("123")
    ('Latin', 'Japanese', 'no letters')
    """
    names = [unicodedata.name(letter, "unknown").split()[0] for letter in text if letter.isalpha()]
    # Japanese is written with Chinese characters too.
    scripts = Counter(_SCRIPTS.get(name, name.capitalize()) for name in names)
    if scripts["Japanese"]:
        scripts["Japanese"] += scripts.pop("Han", 0)
    return scripts.most_common(1)[0][0] if scripts else "no letters"


def _rare_words(source: SliceSource) -> dict[str, str]:
    queries = {query: set(words_of(text)) for query, text in source.texts.queries(source.gold.queries).items()}
    frequency = dict.fromkeys((word for words in queries.values() for word in words), 0)
    items = 0
    for _, text in source.texts.items():
        items += 1
        for word in frequency.keys() & set(words_of(text)):
            frequency[word] += 1
    if not items:
        return {}
    lowest = {query: min((frequency[word] for word in words), default=items) for query, words in queries.items()}
    return {
        query: "a word of no item" if not count else "a rare word" if count <= RARE * items else "common words only"
        for query, count in lowest.items()
    }


def _gold_overlap(source: SliceSource) -> dict[str, str]:
    queries, relevant = source.texts.queries(source.gold.queries), _relevant(source.gold)
    wanted = {item for items in relevant.values() for item in items}
    items = {item: set(words_of(text)) for item, text in source.texts.items(wanted)}
    shares = {}
    for query, text in queries.items():
        words, known = set(words_of(text)), [items[item] for item in relevant[query] if item in items]
        if words and known:
            shares[query] = f"{max(len(words & item) for item in known) / len(words):.2f}"
    return shares


@dataclass(frozen=True)
class DerivedAttribute:
    """The derivation of an attribute, and the data that it needs."""

    needs: Literal["gold", "queries", "texts"]
    summary: str
    derive: Callable[[SliceSource], dict[str, str]]


DERIVED = {
    "relevant_items": DerivedAttribute("gold", "number of relevant items in the gold", _relevant_items),
    "query_length": DerivedAttribute(
        "queries", "number of words of the query", _of_text(lambda text: str(len(words_of(text))))
    ),
    "question_word": DerivedAttribute(
        "queries", "first word of the query, if it begins a question", _of_text(_question_word)
    ),
    "script": DerivedAttribute("queries", "script of most letters of the query", _of_text(_script)),
    "rare_words": DerivedAttribute(
        "texts", f"whether the query has a word that no item, or at most {RARE:.0%} of the items, contain", _rare_words
    ),
    "gold_overlap": DerivedAttribute(
        "texts", "share of the words of the query in the relevant item that has most of them", _gold_overlap
    ),
}
"""The attributes that need not be given."""
