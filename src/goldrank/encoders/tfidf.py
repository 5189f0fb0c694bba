"""TF-IDF in any SMART weighting, as sparse vectors; fitted on the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from goldrank.encoders.base import Options, Side, Vectors, check_texts, identity_of, parse_choice, parse_positive
from goldrank.encoders.provenance import check_installed, fitted_on, import_package, version_of
from goldrank.encoders.tokens import tokenizer
from goldrank.errors import InputError, reason_of
from goldrank.specs import Spec

DEFAULTS = {"smart": "ltc", "base": "2", "tokens": "words", "min_df": "1", "max_df": "1.0", "ngrams": "1"}
PRESETS = {
    # The TF-IDF baseline of the Wikipedia similarities of SDR, as its 2023 thesis computed it with gensim.
    "sdr": {"smart": "lfn", "tokens": "split", "min_df": "10", "max_df": "0.8"}
}
OWN = (*DEFAULTS, "max_features", "preset")
UNUSED = ("query_prompt", "item_prompt", "dtype", "max_length", "dim")
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
        self.version = version_of("scikit-learn")
        """Version of the package, and a stamp of the texts it was fitted on."""
        item, _, query = own["smart"].partition(".")
        self._smart = {"item": _triple(item), "query": _triple(query or item)}
        self._log = _LOGARITHM[parse_choice("base", own["base"], list(_LOGARITHM))]
        check_installed("sklearn", "tfidf", "lexical", "scikit-learn")
        self._counting: dict[str, Any] = {
            "tokenizer": tokenizer(own["tokens"]),
            "ngram_range": _range(own["ngrams"]),
            "min_df": _share_or_count("min_df", own["min_df"]),
            "max_df": _share_or_count("max_df", own["max_df"]),
            "max_features": parse_positive("max_features", own["max_features"]) if "max_features" in own else None,
        }
        self._documents = 0

    @property
    def identity(self) -> str:
        """Everything that can change a vector, including the texts it was fitted on."""
        return identity_of(self._completed, self.version)

    @cached_property
    def _counter(self) -> Any:
        package = import_package("sklearn.feature_extraction.text", "tfidf", "lexical", "scikit-learn")
        return package.CountVectorizer(token_pattern=None, lowercase=False, **self._counting)

    def check_corpus(self, texts: Sequence[str]) -> None:
        """Raise if ``min_df`` and ``max_df`` exclude every word of so many texts."""
        low, high = (
            limit if isinstance(limit, int) else limit * len(texts)
            for limit in (self._counting["min_df"], self._counting["max_df"])
        )
        if low > min(high, len(texts)):
            raise InputError(
                f"min_df={self._counting['min_df']} and max_df={self._counting['max_df']} leave no word of "
                f"{len(texts)} texts",
                remedy="lower min_df or raise max_df",
            )

    def has_words(self, texts: Sequence[str], count: int) -> bool:
        """Return True if the vocabulary of the texts will have *count* words or more."""
        counting = self._counting
        if counting["max_features"] is not None and counting["max_features"] < count:
            return False
        if counting["min_df"] in (1, 0.0) and counting["max_df"] == 1.0 and isinstance(counting["max_df"], float):
            # No word is excluded, so that counting can stop early.
            vocabulary: set[str] = set()
            for text in texts:
                vocabulary.update(counting["tokenizer"](text))
                if len(vocabulary) >= count:
                    return True
            if counting["ngram_range"] == (1, 1):
                return False
        self._count(check_texts(texts))
        return len(self._frequency) >= count

    def fit(self, texts: Sequence[str]) -> None:
        """Learn the vocabulary and the document frequencies."""
        texts = check_texts(texts)
        self._count(texts)
        self.version = f"{version_of('scikit-learn')}{fitted_on(texts)}"

    def _count(self, texts: list[str]) -> None:
        if not texts:
            raise InputError("tf-idf cannot be fitted on no texts", remedy="give it the corpus")
        try:
            counts = self._counter.fit_transform(texts)
        except ValueError as error:  # the vocabulary is empty, or min_df is above max_df
            raise InputError(
                f"no word is left of {len(texts)} texts ({reason_of(error)})",
                remedy="lower min_df, raise max_df, or check that the texts are not empty",
            ) from None
        self._documents = len(texts)
        self._frequency = np.bincount(counts.indices, minlength=counts.shape[1])

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
        tf, idf, norm = self._smart[side]
        if not texts:
            from scipy.sparse import csr_matrix

            return csr_matrix((0, len(self._frequency)), dtype=np.float32)  # type: ignore[arg-type]
        rows = self._counter.transform(texts).astype(np.float64)
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
