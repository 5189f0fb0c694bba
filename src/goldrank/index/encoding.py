"""Encode texts for an index: load the encoder, encode items and queries, and search an open index by texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldrank import encoders
from goldrank.encoders.base import Encoder, Fitted, Side
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.index.base import Dense, checked_vectors
from goldrank.presentation import Result


def load_encoder(model: str | Encoder, corpus: Sequence[str]) -> Encoder:
    """Load the encoder *model* and fit it on the *corpus* if needed."""
    encoder = encoders.load(model) if isinstance(model, str) else model
    if not isinstance(encoder, Encoder):
        raise InputError(f"{model} ranks without vectors, so it has nothing to index", remedy="use a model of vectors")
    if isinstance(encoder, Fitted):
        if not corpus:
            raise InputError(
                f"{model} is fitted on the texts of the corpus, and there are none", remedy="keep the texts"
            )
        encoder.fit(corpus)
    return encoder


def encode_texts(encoder: Encoder, texts: Sequence[str], side: Side) -> Dense:
    """Return the vectors of *texts* as a dense matrix, from the cache where possible."""
    from goldrank.vectors.cache import EmbeddingCache, encode_uncached

    if isinstance(encoder, Fitted):
        # Its vectors depend on the corpus, so caching them would rarely help.
        vectors = encode_uncached(encoder, texts, side)
    else:
        vectors = EmbeddingCache(unwritable="ignore").encode(encoder, texts, side)
    return checked_vectors(vectors, side)


class OpenIndex(Result):
    """Base of open indexes, which have ``search``, ``texts``, ``model`` and ``refuse_other``."""

    def search_texts(
        self: Any, queries: str | Sequence[str] | Mapping[str, str], k: int = 10, *, model: str | None = None
    ) -> Run:
        """Return the k best items for queries.

        Args:
            queries: A text, texts, whose ids are "1", "2", …, or texts by id.
            k: How many items.
            model: What encodes the queries; by default the model of the index, unless it runs code or opens
                connections.
        """
        listed = [queries] if isinstance(queries, str) else queries
        by_id = dict(listed) if isinstance(listed, Mapping) else {str(i): query for i, query in enumerate(listed, 1)}
        texts = self.texts
        encoder = load_encoder(self.model(model), list(texts.values()) if texts else [])
        self.refuse_other(encoder)
        run: Run = self.search(encode_texts(encoder, list(by_id.values()), "query"), k, query_ids=list(by_id))
        return run
