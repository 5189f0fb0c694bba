"""The mean of word vectors from a file over the words of a text, unweighted or by smooth inverse frequency (SIF)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, check_texts, parse_bool, parse_choice, parse_number
from goldrank.encoders.pooling import STATIC_BATCH_SIZE
from goldrank.encoders.provenance import fitted_on, stamp
from goldrank.encoders.tokens import TOKENIZERS, tokenizer
from goldrank.errors import InputError
from goldrank.io.formats.word_vectors import Rule, read_word_vectors, word_vector_files
from goldrank.specs import Spec

DEFAULTS = {
    "weighting": "mean",
    "a": "0.001",
    "lower": "true",
    "tokens": "lookup",
    "rule": "plain",
    "encoding": "utf-8",
    "empty": "0",
}
PRESETS = {
    # The tokenization and lookup of EvalRank.
    "evalrank": {"rule": "evalrank", "tokens": "split", "lower": "true", "empty": "1e-9"}
}
_RUN = re.compile(r"\w+")


@dataclass
class VocabularyCoverage:
    """Counts of the encoded words and texts, and of those that the vocabulary lacks."""

    tokens: int = 0
    known: int = 0
    texts: int = 0
    without: int = 0
    """Texts without a known word, whose vector has the value ``empty`` everywhere."""


def make_word_encoder(spec: Spec) -> MeanOfWords:
    """Return the encoder of ``words:FILE``: an unweighted mean, or with ``weighting=sif`` one that can be fitted."""
    weighting = spec.completed(DEFAULTS, PRESETS).options["weighting"]
    return SifOfWords(spec) if parse_choice("weighting", weighting, ("mean", "sif")) == "sif" else MeanOfWords(spec)


class MeanOfWords(BatchEncoder):
    """The mean vector of a text's known words; ``lower=false`` for case-sensitive vectors.

    With ``tokens=lookup`` texts are split at white space; a word that is not in the file is split further into runs of
    letters and digits, so that ``well-known`` is one word if the file has it, and ``cat,`` is ``cat``. The other values
    of ``tokens`` are those of ``tfidf``. ``preset=evalrank`` reads the file and splits texts as EvalRank does; there a
    text without a known word has the vector 1e-9, by default (``empty=0``) the vector 0.
    """

    default_batch_size = STATIC_BATCH_SIZE

    def __init__(self, spec: Spec) -> None:
        options, given = Options.split(spec, *DEFAULTS, "cache", "preset", without=("dtype", "max_length"))
        completed = spec.completed(DEFAULTS, PRESETS)
        # The cache does not change the vectors, so it is not part of the identity.
        own = {name: value for name, value in completed.options.items() if name != "cache"}
        super().__init__(spec, options, replace(completed, options=own))
        if not spec.argument:
            raise InputError("words needs a file of word vectors", remedy="write words:glove.6B.50d.txt")
        self._own = own
        self._lower = parse_bool("lower", own["lower"])
        self._looks_up = parse_choice("tokens", own["tokens"], ["lookup", *TOKENIZERS]) == "lookup"
        self._tokens = tokenizer("split" if self._looks_up else own["tokens"])
        if not self._lower and own["tokens"] not in ("lookup", "split"):
            raise InputError("lower=false needs tokens=lookup or tokens=split", remedy="leave one of the two out")
        self._empty = parse_number("empty", own["empty"])
        self._vectors = read_word_vectors(
            spec.argument,
            rule=cast(Rule, parse_choice("rule", own["rule"], ("plain", "evalrank"))),
            encoding=parse_choice("encoding", own["encoding"], ("utf-8", "latin-1")),
            cache=parse_bool("cache", given.get("cache", "true")),
        )
        self._stamp = " ".join(stamp(file) for file in word_vector_files(Path(spec.argument).expanduser()))
        self.width = self._vectors.dim
        self.coverage = VocabularyCoverage()

    @property
    def version(self) -> str:
        """A stamp of the file."""
        return f"words {self._stamp}"

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return the means over known words; ``empty`` for a text without any."""
        return self._means(self._known(texts))

    def split(self, text: str) -> list[str]:
        """Return the words of a text as they are looked up."""
        words = self._tokens(text) if self._lower else text.split()
        if not self._looks_up:
            return words
        row = self._vectors.row
        return [part for word in words for part in ((word,) if word in row else _RUN.findall(word))]

    def covers(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Return which texts have a known word; nothing is encoded or added to the coverage."""
        row = self._vectors.row
        return np.array([any(word in row for word in self.split(text)) for text in check_texts(texts)], np.bool_)

    def vocabulary_vectors(self) -> NDArray[Any]:
        """Return the vector of every word of the file, encoded as a text of its own."""
        return self._weighted(np.arange(len(self._vectors.matrix)))

    def _known(self, texts: list[str]) -> list[list[int]]:
        """Return the rows of the known words of each text, and add them to the coverage."""
        row, coverage = self._vectors.row, self.coverage
        known = []
        for text in texts:
            words = self.split(text)
            rows = [row[word] for word in words if word in row]
            coverage.tokens += len(words)
            coverage.known += len(rows)
            coverage.texts += 1
            coverage.without += not rows
            known.append(rows)
        return known

    def _means(self, known: list[list[int]]) -> NDArray[Any]:
        means = np.full((len(known), self._vectors.dim), self._empty, np.float32)
        filled = [text for text, rows in enumerate(known) if rows]
        if filled:
            counts = np.array([len(known[text]) for text in filled])
            rows = np.concatenate([known[text] for text in filled])
            summed = np.add.reduceat(self._weighted(rows), np.cumsum(counts) - counts, axis=0)
            means[filled] = summed / counts[:, None]
        return means

    def _weighted(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return self._vectors.matrix[rows]


class SifOfWords(MeanOfWords):
    """Smooth inverse frequency: a word of probability p has the weight a / (a + p), with a = 0.001.

    Without a fit, p is estimated from the word's rank in the file by Zipf's law, and no component is removed. A fit
    counts the words of the corpus and removes the first principal component of its texts.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._a = parse_number("a", self._own["a"], low=1e-12)
        ranks = np.arange(1, len(self._vectors.matrix) + 1)
        self._weights = self._weight((1 / ranks) / (1 / ranks).sum())
        self._common: NDArray[np.float32] | None = None
        self._fitted_on = ""

    @property
    def version(self) -> str:
        """A stamp of the file, and of the texts it was fitted on."""
        return super().version + self._fitted_on

    def fit(self, texts: Sequence[str]) -> None:
        """Count the words and compute the common component; the coverage does not change."""
        texts = check_texts(texts)
        counts = Counter(word for text in texts for word in self.split(text))
        if not counts:
            raise InputError(f"none of the {len(texts)} texts to fit on has a word", remedy="fit on the corpus")
        row = self._vectors.row
        share = np.zeros(len(self._vectors.matrix))
        for word, count in counts.items():
            if word in row:
                share[row[word]] = count
        self._weights = self._weight(share / counts.total())
        self._common = None
        means = self._means([[row[word] for word in self.split(text) if word in row] for text in texts])
        # The first right singular vector, from the Gram matrix, whose size does not depend on the number of texts.
        gram = means.T.astype(np.float64) @ means
        self._common = np.linalg.eigh(gram)[1][:, -1].astype(np.float32)
        self._fitted_on = fitted_on(texts)

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return weighted means, without the common component after a fit."""
        return self._without_common(super().encode_batch(texts, side))

    def vocabulary_vectors(self) -> NDArray[Any]:
        """Return the vector of every word of the file, encoded as a text of its own."""
        return self._without_common(super().vocabulary_vectors())

    def _without_common(self, means: NDArray[Any]) -> NDArray[Any]:
        if self._common is None:
            return means
        along = (means * self._common).sum(axis=1, keepdims=True)
        return np.asarray(means - along * self._common)

    def _weight(self, share: NDArray[np.float64]) -> NDArray[np.float32]:
        return (self._a / (self._a + share)).astype(np.float32)

    def _weighted(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return np.asarray(self._vectors.matrix[rows] * self._weights[rows, None])
