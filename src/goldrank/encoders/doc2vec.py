"""Paragraph vectors (PV-DBOW) through gensim, trained on the corpus."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import MOST_DIMENSIONS, BatchEncoder, Options, Side, checked_texts, number, one_of, positive
from goldrank.encoders.provenance import require, texts_stamp, version_of
from goldrank.encoders.tokens import tokenizer
from goldrank.encoders.truncation import Ints, lengths
from goldrank.errors import InputError
from goldrank.specs import Spec

# gensim's compiled MAX_DOCUMENT_LEN: words after these are dropped in training and inference.
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

    Words that come once are left out, 30 epochs, 5 negatives, no subsampling: gensim's own defaults (PV-DM, words from
    5 occurrences on, 10 epochs) are meant for corpora of millions of texts and learn little from thousands.

    A text of the corpus has the vector it got in training, any other one is inferred. One thread, so that the same
    seed gives the same vectors.
    """

    def __init__(self, spec: Spec) -> None:
        unused = ("dtype", "max_length", "dim", "query_prompt", "item_prompt")
        options, _ = Options.take(spec, *DEFAULTS, "preset", without=unused)
        completed = spec.completed(DEFAULTS, PRESETS)
        own = completed.options
        super().__init__(spec, options, completed)
        self.width = positive("SIZE", spec.argument or "100", MOST_DIMENSIONS)
        self._package = require("gensim.models.doc2vec", "doc2vec", "doc2vec", "gensim")
        self._tokens = tokenizer(own["tokens"])
        self._seed = int(number("seed", own["seed"], most=2**32 - 1))
        self._parameters = {
            "dm": int(one_of("model", own["model"], ("dbow", "dm")) == "dm"),
            "vector_size": self.width,
            "min_count": positive("min_count", own["min_count"]),
            "epochs": positive("epochs", own["epochs"]),
            "negative": positive("negative", own["negative"]),
            "sample": number("sample", own["sample"]),
            "window": positive("window", own["window"]),
            "seed": self._seed,
            "workers": 1,
        }
        self._model: Any = None
        self._fitted_on = ""

    @property
    def version(self) -> str:
        """Version of gensim, and the texts it was fitted on."""
        return version_of("gensim") + self._fitted_on

    def fit(self, texts: Sequence[str]) -> None:
        """Train on the corpus."""
        texts = checked_texts(texts)
        documents = [self._package.TaggedDocument(self._tokens(text), [at]) for at, text in enumerate(texts)]
        model = self._package.Doc2Vec(**self._parameters)
        if documents:
            model.build_vocab(documents)
        if not documents or not len(model.wv):
            raise InputError(
                f"no word of the {len(texts)} texts comes {self._parameters['min_count']} times",
                remedy="lower min_count, or check that the texts are not empty",
            )
        model.train(documents, total_examples=model.corpus_count, epochs=model.epochs)
        self._model = model
        self._row = {text: at for at, text in reversed(list(enumerate(texts)))}
        self._fitted_on = f" fitted on {len(texts)} texts {texts_stamp(texts)}"

    @property
    def token_limit(self) -> int | None:
        """Known words that gensim takes from a text."""
        return _LONGEST

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Known words of each text, and those within gensim's limit."""
        known = self._model.wv.key_to_index
        words = lengths(lambda given: [[w for w in self._tokens(text) if w in known] for text in given], texts)
        return words, np.minimum(words, _LONGEST)

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Trained vectors of texts that were seen, inferred ones of the others."""
        if self._model is None:
            raise InputError("doc2vec has not seen a corpus yet", remedy="call .fit(texts) first")
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[Any]:
        if text in self._row:
            return np.asarray(self._model.dv[self._row[text]])
        words = [word for word in self._tokens(text) if word in self._model.wv]
        if not words:
            return np.zeros(self._parameters["vector_size"], np.float32)  # type: ignore[call-overload, no-any-return]
        # gensim starts an inference from hash(text), which differs in every process, and draws negatives from a
        # generator that remembers the inferences before: both are set, so that a text has one vector.
        self._model.random = np.random.RandomState(self._seed)
        start = self._package.pseudorandom_weak_vector
        self._package.pseudorandom_weak_vector = lambda size, seed_string: start(size, seed_string, self._hash)
        try:
            return np.asarray(self._model.infer_vector(words))
        finally:
            self._package.pseudorandom_weak_vector = start

    def _hash(self, text: str) -> int:
        return zlib.crc32(text.encode(), self._seed)
