"""Count the terms of texts: words or runs of words, without those that are too rare or too common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goldrank.encoders.tokens import LEAST_CHARACTERS, tokenizer
from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.native import number_words
from goldrank.native.fallback.word_numbers import number_tokens


@dataclass
class TermCounter:
    """Counts the terms of a vocabulary that is learnt from texts; counts are those of scikit-learn's CountVectorizer.

    >>> counter = TermCounter("words", ngrams=(1, 2))
    >>> counter.learn(["red wine", "wine"]).toarray().tolist(), list(counter.columns)
    ([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]], ['red', 'red wine', 'wine'])
    >>> counter.count(["white wine, wine"]).toarray().tolist()
    [[0.0, 0.0, 2.0]]
    """

    tokens: str
    """The name of a tokenizer."""
    ngrams: tuple[int, int] = (1, 1)
    """The least and the greatest number of words of a term."""
    min_df: float | int = 1
    """Terms in fewer texts do not count: a number of texts, or as a float a share of them."""
    max_df: float | int = 1.0
    """Terms in more texts do not count."""
    max_features: int | None = None
    """Only so many terms count, those that are most frequent in all texts together."""
    columns: dict[str, int] = field(default_factory=dict)
    """The column of each term, in alphabetical order."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text."""
        words = tokenizer(self.tokens)(text)
        low, high = self.ngrams
        if high == 1:
            return words
        sizes = range(low, min(high, len(words)) + 1)
        return [" ".join(words[start : start + size]) for size in sizes for start in range(len(words) - size + 1)]

    def limits(self, texts: int) -> tuple[float, float]:
        """Return the least and the greatest number of texts that a term may occur in, among so many texts."""
        low, high = (limit if isinstance(limit, int) else limit * texts for limit in (self.min_df, self.max_df))
        return low, high

    def learn(self, texts: list[str]) -> Any:
        """Replace the vocabulary by the terms of some texts, and return the counts of these texts."""
        numbers, lengths, terms = self._number(texts)
        # The compiled code gives some words several numbers.
        names = sorted(set(terms))
        self.columns = {name: at for at, name in enumerate(names)}
        column = np.fromiter(map(self.columns.__getitem__, terms), np.int32, len(terms))
        counts = _matrix(column[np.frombuffer(numbers, np.int32)], lengths, len(names))
        chosen = self._chosen_terms(counts)
        if not len(chosen):
            raise InputError(
                f"no word is left of {len(texts)} texts",
                remedy="lower min_df, raise max_df, or check that the texts are not empty",
            )
        if len(chosen) == len(names):
            return counts
        self.columns = {names[place]: at for at, place in enumerate(chosen.tolist())}
        return counts[:, chosen]

    def count(self, texts: list[str]) -> Any:
        """Return the counts of texts, as a CSR matrix with a row for each text and a column for each known term."""
        numbers, lengths, terms = self._number(texts)
        column = np.fromiter((self.columns.get(term, -1) for term in terms), np.int32, len(terms))
        return _matrix(column[np.frombuffer(numbers, np.int32)], lengths, len(self.columns))

    def _number(self, texts: list[str]) -> tuple[bytearray, bytearray, list[str]]:
        least = LEAST_CHARACTERS.get(self.tokens)
        if least is not None and self.ngrams == (1, 1):
            return number_words(texts, least)
        return number_tokens(map(self.terms, texts))

    def _chosen_terms(self, counts: Any) -> Ints:
        """Return the columns that are neither too rare nor too common, and not beyond the most frequent."""
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        low, high = self.limits(counts.shape[0])
        chosen = np.flatnonzero((frequency >= low) & (frequency <= high))
        if self.max_features is None or len(chosen) <= self.max_features:
            return chosen
        # Whole numbers and this order of sorting are those of scikit-learn, which decide among equal frequencies.
        occurrences = np.asarray(counts.sum(axis=0)).ravel().astype(np.int64)
        return np.sort(chosen[(-occurrences[chosen]).argsort()[: self.max_features]])


def _matrix(columns: Any, lengths: bytearray, width: int) -> Any:
    """Return the counts of columns as a CSR matrix; *lengths* counts those of each row, -1 is not a column."""
    from scipy.sparse import csr_matrix

    known = columns >= 0
    before = np.concatenate([[0], np.cumsum(known)])
    starts = before[np.concatenate([[0], np.cumsum(np.frombuffer(lengths, np.int64))])]
    counts = csr_matrix((np.ones(int(before[-1])), columns[known], starts), shape=(len(starts) - 1, width))
    counts.sum_duplicates()
    return counts
