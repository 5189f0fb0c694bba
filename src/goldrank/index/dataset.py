"""Load and apply encoders for indexing, and compute exact hits of a Hugging Face data set with embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldrank import encoders
from goldrank.data.collections.articles import labels_of
from goldrank.encoders.base import Encoder, Fitted, Side
from goldrank.errors import InputError, shorten
from goldrank.hits import Gold, Hits
from goldrank.index.base import Dense, build, checked_vectors


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


def dataset_hits(
    dataset: Any,
    embedding: str = "embedding",
    labels: str = "labels",
    id: str = "id",
    k: int | None = None,
    model: str | Encoder | None = None,
    *,
    text: str = "text",
) -> Hits:
    """Return the hits of the labelled items of each row among all other rows of a data set, by cosine similarity.

    Args:
        dataset: a Hugging Face ``Dataset``, or a list of records.
        embedding: the column of vectors; not needed with a *model*.
        labels: the column of right items: ids, or records with an ``id``. Rows without labels, or without the
            column, are items only; by default a column ``label`` is read too.
        id: the column of ids.
        k: search only the k best with faiss; None gives exact ranks.
        model: encodes the column *text* instead.

    >>> rows = [{"id": "a", "embedding": [1, 0], "labels": ["b"]}, {"id": "b", "embedding": [1, 1], "labels": []}]
    >>> dataset_hits(rows).above.tolist()
    [0]
    """
    ids = [str(name) for name in _column(dataset, id)]
    gold = _gold(dataset, ids, labels)
    if model is None:
        vectors = _vectors(dataset, embedding)
    else:
        texts = _column(dataset, text)
        vectors = encoded(load_encoder(model, texts), texts, "item")
    place = {name: row for row, name in enumerate(ids)}
    queries = vectors[[place[query] for query in gold.queries]]
    index = build("exact" if k is None else "faiss:Flat", vectors, ids, "cosine")
    if k is None:
        return index.exact_hits(queries, gold, query_ids=gold.queries, exclude_self=True)
    run = index.top_k(queries, k, query_ids=gold.queries, exclude_self=True)
    return run.hits(gold, corpus=ids)


def _column(dataset: Any, name: str) -> list[Any]:
    names = getattr(dataset, "column_names", None)
    try:
        return [row[name] for row in dataset] if names is None else list(dataset[name])
    except KeyError:
        if names is not None:
            what, listed = "the data set", names
        else:
            number, listed = next((number, row) for number, row in enumerate(dataset) if name not in row)
            what = f"row {number}"
        raise InputError(
            f"{what} has no column {shorten(name)} (columns: {', '.join(listed)})",
            remedy="name the column that holds it",
        ) from None


def _vectors(dataset: Any, name: str) -> Dense:
    column = _column(dataset, name)
    lengths = [0 if row is None else len(row) for row in column]
    if len(set(lengths)) > 1:
        odd = next(row for row, length in enumerate(lengths) if length != lengths[0])
        raise InputError(
            f"row {odd} of {shorten(name)} has {lengths[odd]} numbers, row 0 has {lengths[0]}",
            remedy="encode all rows with one model",
        )
    return checked_vectors(np.asarray(column, np.float32), "item")


def _gold(dataset: Any, ids: list[str], name: str) -> Gold:
    rows: dict[str, dict[str, int]] = {}
    if (names := getattr(dataset, "column_names", None)) is not None:
        # Select columns first, so that the embeddings are not decoded.
        dataset = dataset.select_columns([column for column in (name, "label") if column in names] or names[:1])
    for query, row in zip(ids, dataset, strict=True):
        right = labels_of(row, f"the row of {shorten(query)}", name)
        if len(right):
            rows[query] = {str(item["id"] if isinstance(item, dict) else item): 1 for item in right}
    if not rows:
        raise InputError(f"no row has labels in the column {shorten(name)}", remedy="name the column of right items")
    return Gold(rows)
