"""Load encoders and encode texts for an index."""

from __future__ import annotations

from collections.abc import Sequence

from goldrank import encoders
from goldrank.encoders.base import Encoder, Fitted, Side
from goldrank.errors import InputError
from goldrank.index.base import Dense, checked_vectors


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


def encoded(encoder: Encoder, texts: Sequence[str], side: Side) -> Dense:
    """Return the vectors of *texts* as a dense matrix, from the cache where possible."""
    from goldrank.vectors.cache import EmbeddingCache

    if isinstance(encoder, Fitted):
        # Its vectors depend on the corpus, so caching them would rarely help.
        vectors = encoder.encode_queries(texts) if side == "query" else encoder.encode_items(texts)
    else:
        vectors = EmbeddingCache(unwritable="ignore").encode(encoder, texts, side)
    return checked_vectors(vectors, side)
