"""Paragraph vectors (PV-DBOW) through gensim, trained on the corpus."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import (
    MOST_DIMENSIONS,
    BatchEncoder,
    Options,
    Side,
    check_texts,
    parse_choice,
    parse_number,
    parse_positive,
)
from goldrank.encoders.provenance import fitted_on, import_package, version_of
from goldrank.encoders.tokens import tokenizer
from goldrank.encoders.truncation import lengths
from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.specs import Spec

# gensim's compiled MAX_DOCUMENT_LEN: it ignores further words in training and inference.
_LONGEST = 10_000
DEFAULTS = {
    "tokens": "words",
    "model": "dbow",
    "min_count": "2",
    "epochs": "30",
    "negative": "5",
    "sample": "0",
    "window": "5",
    "seed": "1",
}
PRESETS = {
    # PV-DBOW of the Wikipedia similarities of SDR, as its 2023 thesis trained it.
    "sdr": {**DEFAULTS, "tokens": "split"}
}


class Doc2Vec(BatchEncoder):
    """``doc2vec:SIZE``: PV-DBOW of 100 dimensions over word tokens; ``preset=sdr`` splits at white space instead.

    By default words that occur once are ignored, with 30 epochs, 5 negatives and no subsampling. gensim's own defaults
    (PV-DM, words with 5 occurrences, 10 epochs) are meant for millions of texts and learn little from thousands.

    A text of the corpus has its vector from training, the vector of any other text is inferred. Training uses one
    thread, so that the same seed gives the same vectors.
    """

    def __init__(self, spec: Spec) -> None:
        unused = ("dtype", "max_length", "dim", "query_prompt", "item_prompt")
        options, _ = Options.split(spec, *DEFAULTS, "preset", without=unused)
        completed = spec.completed(DEFAULTS, PRESETS)
        own = completed.options
        super().__init__(spec, options, completed)
        self.width = parse_positive("SIZE", spec.argument or "100", MOST_DIMENSIONS)
        self._package = import_package("gensim.models.doc2vec", "doc2vec", "doc2vec", "gensim")
        self._tokens = tokenizer(own["tokens"])
        self._seed = int(parse_number("seed", own["seed"], most=2**32 - 1))
        self._parameters = {
            "dm": int(parse_choice("model", own["model"], ("dbow", "dm")) == "dm"),
            "vector_size": self.width,
            "min_count": parse_positive("min_count", own["min_count"]),
            "epochs": parse_positive("epochs", own["epochs"]),
            "negative": parse_positive("negative", own["negative"]),
            "sample": parse_number("sample", own["sample"]),
            "window": parse_positive("window", own["window"]),
            "seed": self._seed,
            "workers": 1,
        }
        self._model: Any = None
        self._fitted_on = ""

    @property
    def version(self) -> str:
        """Version of gensim, and a stamp of the texts it was fitted on."""
        return version_of("gensim") + self._fitted_on

    def fit(self, texts: Sequence[str]) -> None:
        """Train on the corpus."""
        texts = check_texts(texts)
        documents = [self._package.TaggedDocument(self._tokens(text), [row]) for row, text in enumerate(texts)]
        model = self._package.Doc2Vec(**self._parameters)
        if documents:
            model.build_vocab(documents)
        if not documents or not len(model.wv):
            raise InputError(
                f"no word of the {len(texts)} texts occurs {self._parameters['min_count']} times",
                remedy="lower min_count, or check that the texts are not empty",
            )
        model.train(documents, total_examples=model.corpus_count, epochs=model.epochs)
        self._model = model
        self._row = {text: row for row, text in reversed(list(enumerate(texts)))}
        self._fitted_on = fitted_on(texts)

    @property
    def token_limit(self) -> int | None:
        """The most known words that gensim reads of a text."""
        return _LONGEST

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Return the number of known words of each text, and those within gensim's limit."""
        words = lengths(lambda batch: [self._known_words(text) for text in batch], texts)
        return words, np.minimum(words, _LONGEST)

    def _known_words(self, text: str) -> list[str]:
        known = self._model.wv.key_to_index
        return [word for word in self._tokens(text) if word in known]

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return the trained vectors of texts of the corpus, and inferred vectors of others."""
        if self._model is None:
            raise InputError("doc2vec has not been fitted", remedy="call .fit(texts) first")
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[Any]:
        if text in self._row:
            return np.asarray(self._model.dv[self._row[text]])
        words = self._known_words(text)
        if not words:
            return np.zeros(self.width or 0, np.float32)
        # gensim initialises an inference from hash(text), which differs between processes, and samples negatives from a
        # generator that earlier inferences advanced. Both are fixed here, so that a text always has the same vector.
        self._model.random = np.random.RandomState(self._seed)
        start = self._package.pseudorandom_weak_vector
        self._package.pseudorandom_weak_vector = lambda size, seed_string: start(size, seed_string, self._hash)
        try:
            return np.asarray(self._model.infer_vector(words))
        finally:
            self._package.pseudorandom_weak_vector = start

    def _hash(self, text: str) -> int:
        return zlib.crc32(text.encode(), self._seed)
