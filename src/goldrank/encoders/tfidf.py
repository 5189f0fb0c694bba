"""TF-IDF in any SMART weighting, as sparse vectors; fitted on the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldrank.encoders.base import Options, Side, Vectors, check_texts, identity_of, parse_choice, parse_positive
from goldrank.encoders.provenance import fitted_on
from goldrank.encoders.term_counts import TermCounter
from goldrank.encoders.tokens import TOKENIZERS
from goldrank.errors import InputError
from goldrank.specs import Spec

DEFAULTS = {"smart": "ltc", "base": "2", "tokens": "words", "min_df": "1", "max_df": "1.0", "ngrams": "1"}
PRESETS = {
    # The TF-IDF baseline of the Wikipedia similarities of SDR, as its 2023 thesis computed it with gensim.
    "sdr": {"smart": "lfn", "tokens": "split", "min_df": "10", "max_df": "0.8"}
}
OWN = (*DEFAULTS, "max_features", "preset")
UNUSED = ("query_prompt", "item_prompt", "dtype", "max_length", "dim")
_VERSION = "1"
"""Changes with anything that changes a weight."""
# Rows that are weighted at a time, to bound the memory for temporary arrays.
_ROWS = 2**16
_LOGARITHM = {"2": np.log2, "e": np.log, "10": np.log10}


class Tfidf:
    """Weights by SMART letters: tf ``n`` ``l`` ``b`` ``a``, idf ``n`` ``t`` (or ``f``) ``p``, norm ``n`` ``c``.

    ``smart=ltc`` by default; ``lnc.ltc`` weighs items by the first triple and queries by the second. Words are
    lower-case runs of two or more letters and digits, as in scikit-learn and bm25s. Logarithms have base 2 as in gensim
    (``base=e`` or 10 for others); the base matters, because 1 + log tf is not a multiple in another base. All words
    count unless ``min_df`` or ``max_df`` exclude some. ``preset=sdr`` is the TF-IDF baseline of the Wikipedia
    similarities.
    """

    sparse = True

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        Options.split(spec, *OWN, without=UNUSED)
        if spec.argument:
            raise InputError(f"tfidf takes no argument, but got {spec.argument!r}", remedy="write tfidf(smart=lfn)")
        self._completed = spec.completed(DEFAULTS, PRESETS)
        own = self._completed.options
        self.version = _VERSION
        """Version of the weights, and a stamp of the texts it was fitted on."""
        item, _, query = own["smart"].partition(".")
        self._smart = {"item": _triple(item), "query": _triple(query or item)}
        self._log = _LOGARITHM[parse_choice("base", own["base"], list(_LOGARITHM))]
        self._terms = TermCounter(
            tokens=parse_choice("tokens", own["tokens"], list(TOKENIZERS)),
            ngrams=_range(own["ngrams"]),
            min_df=_share_or_count("min_df", own["min_df"]),
            max_df=_share_or_count("max_df", own["max_df"]),
            max_features=parse_positive("max_features", own["max_features"]) if "max_features" in own else None,
        )
        self._documents = 0

    @property
    def identity(self) -> str:
        """Everything that can change a vector, including the texts it was fitted on."""
        return identity_of(self._completed, self.version)

    def check_corpus(self, texts: Sequence[str]) -> None:
        """Raise if ``min_df`` and ``max_df`` exclude every word of so many texts."""
        low, high = self._terms.limits(len(texts))
        if low > min(high, len(texts)):
            raise InputError(
                f"min_df={self._terms.min_df} and max_df={self._terms.max_df} leave no word of {len(texts)} texts",
                remedy="lower min_df or raise max_df",
            )

    def has_words(self, texts: Sequence[str], count: int) -> bool:
        """Return True if the vocabulary of the texts will have *count* words or more."""
        terms = self._terms
        if terms.max_features is not None and terms.max_features < count:
            return False
        if terms.min_df in (1, 0.0) and terms.max_df == 1.0 and isinstance(terms.max_df, float):
            # No word is excluded, so that counting can stop early.
            vocabulary: set[str] = set()
            for text in texts:
                vocabulary.update(terms.terms(text))
                if len(vocabulary) >= count:
                    return True
            return False
        self._count(check_texts(texts))
        return len(self._frequency) >= count

    def fit(self, texts: Sequence[str]) -> None:
        """Learn the vocabulary and the document frequencies."""
        self._fit(check_texts(texts))

    def fit_encode(self, texts: Sequence[str]) -> Vectors:
        """Fit, and return one sparse row per text as `encode_items` does; the words are counted once for both."""
        from scipy.sparse import vstack

        counts = self._fit(check_texts(texts))
        parts = (counts[start : start + _ROWS] for start in range(0, counts.shape[0], _ROWS))
        return vstack([self._weighted(part, "item") for part in parts], format="csr")

    def _fit(self, texts: list[str]) -> Any:
        counts = self._count(texts)
        self.version = f"{_VERSION}{fitted_on(texts)}"
        return counts

    def _count(self, texts: list[str]) -> Any:
        if not texts:
            raise InputError("tf-idf cannot be fitted on no texts", remedy="give it the corpus")
        counts = self._terms.learn(texts)
        self._documents = len(texts)
        self._frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        return counts

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one sparse row per query."""
        return self.encode(texts, "query")

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        """Return one sparse row per item."""
        return self.encode(texts, "item")

    def encode(self, texts: Sequence[str], side: Side) -> Vectors:
        """Return the weighted rows as a float32 CSR matrix."""
        texts = check_texts(texts)
        if not self._documents:
            raise InputError("tf-idf has not been fitted", remedy="call .fit(texts) first")
        return self._weighted(self._terms.count(texts), side)

    def _weighted(self, rows: Any, side: Side) -> Vectors:
        tf, idf, norm = self._smart[side]
        rows.data = self._term_weight(rows, tf) * self._inverse(idf)[rows.indices]
        if norm == "c":
            lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
            rows.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(rows.indptr))
        return rows.astype(np.float32)

    def _term_weight(self, rows: Any, letter: str) -> Any:
        counts = rows.data
        if letter == "l":
            return 1.0 + self._log(counts)
        if letter == "b":
            return np.ones_like(counts)
        if letter == "a":
            most = rows.max(axis=1).toarray().ravel()
            return 0.5 + 0.5 * counts / np.repeat(most, np.diff(rows.indptr))
        return counts

    def _inverse(self, letter: str) -> Any:
        frequency, size = self._frequency, self._documents
        if letter == "n":
            return np.ones(len(frequency))
        if letter == "p":  # a word in more than half of the documents would have a negative weight
            return np.maximum(0.0, self._log(np.maximum(size - frequency, 0.5) / frequency))
        return self._log(size / frequency)


def _triple(written: str) -> tuple[str, str, str]:
    if len(written) != 3 or written[0] not in "nlba" or written[1] not in "ntfp" or written[2] not in "nc":
        raise InputError(
            f"smart={written!r} is not a SMART weighting",
            remedy="write three letters: tf n, l, b or a; idf n, t, f or p; norm n or c (for example ltc)",
        )
    return written[0], written[1], written[2]


def _range(written: str) -> tuple[int, int]:
    low, _, high = written.partition("-")
    first, last = parse_positive("ngrams", low), parse_positive("ngrams", high or low)
    if first > last:
        raise InputError(f"ngrams={written} runs backwards", remedy="write ngrams=1-2")
    return first, last


def _share_or_count(name: str, written: str) -> float | int:
    if written.isdecimal():
        return parse_positive(name, written)
    try:
        share = float(written)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise InputError(
            f"{name}={written!r} is neither a share nor a count", remedy=f"write {name}=0.8 (of the texts) or {name}=10"
        )
    return share
