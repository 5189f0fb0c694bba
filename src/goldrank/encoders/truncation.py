"""Count the texts that a model truncates, and how many of their tokens it never reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Side, checked_texts
from goldrank.errors import DataWarning

Ints = NDArray[np.int64]
# Texts tokenised at a time: what a tokenizer keeps of long ones is many times their size.
_BATCH = 512
# A token covers one character of an ASCII text or more; special tokens and the blank put before a text come on top.
_EXTRA_TOKENS = 8
_LONG = 2000


@runtime_checkable
class Truncating(Protocol):
    """An encoder that reads only so many tokens of a text."""

    def prompt_read(self, side: Side) -> str:
        """What the model reads before a text of that side."""

    @property
    def token_limit(self) -> int | None:
        """Tokens that the model reads of a text, special ones included; None where there is no limit."""

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Return how many tokens each text has with its prompt, and how many of them the model reads."""


@dataclass(frozen=True)
class Truncation:
    """The texts of one side that were truncated; counts of batches and shards add up.

    >>> long = Truncation(texts=3, truncated=1, tokens=600, lost=88)
    >>> (long + Truncation(texts=2)).texts
    5
    """

    texts: int = 0
    truncated: int = 0
    tokens: int = 0
    """Tokens of the truncated texts."""
    lost: int = 0
    """Tokens of them that were not read."""
    limit: int | None = None
    unknown: int = 0
    """Long texts given to a model that does not say whether it truncates."""

    def __add__(self, other: Truncation) -> Truncation:
        return Truncation(
            self.texts + other.texts,
            self.truncated + other.truncated,
            self.tokens + other.tokens,
            self.lost + other.lost,
            self.limit or other.limit,
            self.unknown + other.unknown,
        )

    def warning(self, noun: str, model: str = "") -> DataWarning | None:
        """Return what to say of it, *noun* being what the texts are in the plural; None where nothing was cut."""
        if self.truncated:
            return DataWarning(
                "truncated-texts",
                f"{self.truncated} of {self.texts} {noun} are longer than the {self.limit} tokens that the model "
                f"reads: {100 * self.lost / max(1, self.tokens):.0f}% of the tokens of these {noun} were cut off.",
                model,
                "Use a model of longer texts, raise max_length where the model allows it, or score sections "
                "(--scoring max_sim).",
            )
        if self.unknown:
            return DataWarning(
                "truncation-unknown",
                f"{self.unknown} of {self.texts} {noun} have more than {_LONG} characters, and the server does not say "
                "whether it truncates them.",
                model,
                "Check the limit of the model that the server runs.",
            )
        return None


def count_truncated(encoder: Any, texts: Sequence[str], side: Side) -> Truncation:
    """Return how many of the texts *encoder* truncates; nothing is encoded, so it holds for cached vectors too."""
    if getattr(encoder, "hides_truncation", False):
        return Truncation(len(texts), unknown=sum(len(text) > _LONG for text in texts))
    limit = encoder.token_limit if isinstance(encoder, Truncating) else None
    if limit is None:
        return Truncation(len(texts))
    room = limit - len(encoder.prompt_read(side).encode()) - _EXTRA_TOKENS
    long = [text for text in texts if len(text) > room or not text.isascii()]
    counted = Truncation(len(texts), limit=limit)
    for start in range(0, len(long), _BATCH):
        tokens, read = encoder.count_tokens(checked_texts(long[start : start + _BATCH]), side)
        cut = tokens > read
        lost = int((tokens - read)[cut].sum())
        counted += Truncation(truncated=int(cut.sum()), tokens=int(tokens[cut].sum()), lost=lost)
    return counted


def count_truncated_pairs(
    scorer: Any, queries: Sequence[str], items: Sequence[str], pairs: Iterable[tuple[int, NDArray[np.intp]]]
) -> Truncation:
    """Return how many pairs of a query and an item a pair scorer truncates.

    Args:
        scorer: the model; one without a ``token_limit`` truncates nothing.
        queries: the distinct texts of the queries.
        items: the distinct texts of the items.
        pairs: the place of a query with the places of the items it is read with.
    """
    limit = getattr(scorer, "token_limit", None)
    if limit is None:
        return Truncation()
    of_queries, of_items = scorer.count_tokens(list(queries)), scorer.count_tokens(list(items))
    counted = Truncation(limit=limit)
    for query, places in pairs:
        tokens = of_queries[query] + of_items[places] + scorer.special_tokens
        cut = tokens > limit
        total = int(tokens[cut].sum())
        counted += Truncation(len(places), int(cut.sum()), total, total - limit * int(cut.sum()))
    return counted


def warnings_of(counted: Mapping[str, Truncation], model: str) -> list[DataWarning]:
    """Return the warnings of several counts, each under the plural of what its texts are."""
    found = (truncation.warning(noun, model) for noun, truncation in counted.items())
    return [warning for warning in found if warning is not None]


def lengths(encode: Callable[[list[str]], Sequence[Any]], texts: list[str]) -> Ints:
    """Return the tokens of each text by a tokenizer's function that gives a sequence for each."""
    return np.fromiter((len(entry) for entry in encode(texts)), np.int64, len(texts))


def token_lengths(tokenizer: Any, texts: list[str]) -> Ints:
    """Return the tokens of each text by a tokenizer of transformers, special ones included, nothing truncated."""
    return lengths(lambda given: tokenizer(given, truncation=False, verbose=False)["input_ids"], texts)
