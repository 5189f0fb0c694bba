"""Count the texts that a model truncates, and how many of their tokens it never reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Side, check_texts
from goldrank.errors import DataWarning
from goldrank.hits import Ints

# Texts tokenised at a time, because the tokens of long texts take many times their size.
_BATCH = 512
# A token covers at least one character of an ASCII text; this adds special tokens and a blank before the text.
_EXTRA_TOKENS = 8
_LONG = 2000


@runtime_checkable
class Truncating(Protocol):
    """An encoder that reads a limited number of tokens of a text."""

    def prompt_read(self, side: Side) -> str:
        """Return the prompt that the model reads before a text of that side."""

    @property
    def token_limit(self) -> int | None:
        """The most tokens that the model reads of a text, special tokens included; None if there is no limit."""

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Return how many tokens each text has with its prompt, and how many of them the model reads."""


@dataclass(frozen=True)
class Truncation:
    """Counts of truncated texts; those of batches and shards can be added.

    >>> long = Truncation(texts=3, truncated=1, tokens=600, lost=88)
    >>> (long + Truncation(texts=2)).texts
    5
    """

    texts: int = 0
    truncated: int = 0
    tokens: int = 0
    """Tokens of the truncated texts."""
    lost: int = 0
    """Tokens of the truncated texts that were not read."""
    limit: int | None = None
    unknown: int = 0
    """Long texts for a server that does not say whether it truncates."""

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
        """Return the warning, in which *noun* is the plural for the texts; None if nothing was truncated."""
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
    """Count the texts that *encoder* truncates; nothing is encoded, so this also works with cached vectors."""
    if getattr(encoder, "hides_truncation", False):
        return Truncation(len(texts), unknown=sum(len(text) > _LONG for text in texts))
    limit = encoder.token_limit if isinstance(encoder, Truncating) else None
    if limit is None:
        return Truncation(len(texts))
    room = limit - len(encoder.prompt_read(side).encode()) - _EXTRA_TOKENS
    long = [text for text in texts if len(text) > room or not text.isascii()]
    counted = Truncation(len(texts), limit=limit)
    for start in range(0, len(long), _BATCH):
        tokens, read = encoder.count_tokens(check_texts(long[start : start + _BATCH]), side)
        cut = tokens > read
        lost = int((tokens - read)[cut].sum())
        counted += Truncation(truncated=int(cut.sum()), tokens=int(tokens[cut].sum()), lost=lost)
    return counted


def count_truncated_pairs(
    scorer: Any, queries: Sequence[str], items: Sequence[str], pairs: Iterable[tuple[int, NDArray[np.intp]]]
) -> Truncation:
    """Count the pairs of a query and an item that a pair scorer truncates.

    Args:
        scorer: the model; one without a ``token_limit`` truncates nothing.
        queries: the distinct texts of the queries.
        items: the distinct texts of the items.
        pairs: the position of each query with the positions of its items.
    """
    limit = getattr(scorer, "token_limit", None)
    if limit is None:
        return Truncation()
    query_tokens, item_tokens = scorer.count_tokens(list(queries)), scorer.count_tokens(list(items))
    counted = Truncation(limit=limit)
    for query, positions in pairs:
        tokens = query_tokens[query] + item_tokens[positions] + scorer.special_tokens
        cut = tokens > limit
        total = int(tokens[cut].sum())
        counted += Truncation(len(positions), int(cut.sum()), total, total - limit * int(cut.sum()))
    return counted


def warnings_of(counted: Mapping[str, Truncation], model: str) -> list[DataWarning]:
    """Return the warnings of several counts, each under the plural for its texts."""
    warnings = (truncation.warning(noun, model) for noun, truncation in counted.items())
    return [warning for warning in warnings if warning is not None]


def untruncated(tokenizer: Any) -> Any:
    """Return a copy of a tokenizer of the package tokenizers that neither truncates nor pads."""
    copy = type(tokenizer).from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def lengths(encode: Callable[[list[str]], Sequence[Any]], texts: list[str]) -> Ints:
    """Return the number of tokens of each text; *encode* returns a sequence of tokens for each."""
    return np.fromiter((len(entry) for entry in encode(texts)), np.int64, len(texts))


def token_lengths(tokenizer: Any, texts: list[str]) -> Ints:
    """Return the number of tokens of each text by a tokenizer of transformers, with special tokens, not truncated."""
    return lengths(lambda batch: tokenizer(batch, truncation=False, verbose=False)["input_ids"], texts)
