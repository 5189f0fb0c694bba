"""Check a model against the corpus and the settings of a task before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from goldrank.data.collections import Document, Documents
from goldrank.encoders.base import Encoder, Fitted
from goldrank.errors import InputError
from goldrank.index.base import checked_similarity
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.encoding import refuse_no_vocabulary
from goldrank.tasks.settings import Settings
from goldrank.vectors.transforms import FIT_ON, Pipeline


def check_encoder(encoder: Encoder, data: RankingData) -> None:
    """Raise InputError if this encoder cannot be evaluated on the data with its settings."""
    if getattr(encoder, "by", None) == "id" and hasattr(encoder, "refuse_other_ids"):
        if not data.collection.has_corpus:
            encoder.refuse_other_ids((), data.query_ids, data.collection.source, numbered=False)
            data = with_own_items(encoder, data)
        else:
            queries = () if data.queries_are_items else data.query_ids
            encoder.refuse_other_ids(data.item_ids, queries, data.collection.source, numbered=data.collection.numbered)
    settings = data.settings
    sparse = bool(getattr(encoder, "sparse", False))
    _check_corpus(encoder, data.item_texts if isinstance(encoder, Fitted) else ())
    pipeline = Pipeline.parse(settings.transform)
    if settings.scoring != "single":
        refuse_unfit_for_pieces(settings, sparse=sparse)
        return
    if pipeline.learns and settings.fit_on == "vocabulary":
        refuse_no_vocabulary(encoder)
    width = _dimension(encoder)
    if sparse:
        pipeline.refuse_sparse()
    else:
        width = pipeline.check(width, _fitted_on(data) if pipeline.learns else None)
    if settings.index != "exact" and sparse:
        raise InputError(
            f"the vectors of {getattr(encoder, 'spec', 'the model')} are sparse, which the index {settings.index} "
            "cannot hold",
            remedy="use a model with dense vectors (lsa instead of tfidf)",
        )
    if settings.index.startswith("faiss"):
        from goldrank.index.faiss_index import FaissIndex

        similarity = checked_similarity(settings.similarity)
        FaissIndex.check(settings.index, width, len(data.item_ids), similarity)


def with_own_items(encoder: Any, data: RankingData) -> RankingData:
    """Return the data of gold alone with the rows of a file of vectors as items, and as queries if it has no others."""
    documents = Documents([Document(key) for key in encoder.row_ids()], str(encoder.spec))
    collection = replace(data.collection, items=documents, format="vectors", ids_only=True)
    depth = data.settings.depth or data.task.depth
    if not encoder.has_own_queries and isinstance(depth, int):
        # The query itself is left out later.
        depth = min(depth + 1, len(documents))
    return replace(data, collection=collection, settings=replace(data.settings, depth=depth))


def check_measured(encoder: Encoder, data: Any, settings: Settings) -> None:
    """Raise InputError if a transform needs more dimensions, or a model more texts, than the data have."""
    pipeline = Pipeline.parse(settings.transform)
    if pipeline.learns and settings.fit_on == "vocabulary":
        refuse_no_vocabulary(encoder)
    if getattr(encoder, "sparse", False):
        pipeline.refuse_sparse()
    else:
        pipeline.check(_dimension(encoder))
    training = getattr(data, "training", None) or ()
    # Every pair or example has two texts at most.
    most = max(len(training), 2 * len(data))
    dimension = getattr(encoder, "check_dimension", None)
    if isinstance(encoder, Fitted) and hasattr(encoder, "check_corpus") and dimension and (dimension() or 0) >= most:
        raise InputError(
            f"{encoder.identity.partition('(')[0]} needs more than {dimension()} texts, and there are {most} at most",
            remedy="ask for fewer dimensions",
        )


def _check_corpus(encoder: Encoder, texts: Sequence[str]) -> None:
    check = getattr(encoder, "check_corpus", None)
    if check is not None:
        check(texts)


def _dimension(encoder: Encoder) -> int | None:
    check = getattr(encoder, "check_dimension", None)
    return check() if check is not None else None


def refuse_unfit_for_pieces(settings: Settings, *, sparse: bool) -> None:
    """Raise InputError if several vectors per document cannot be compared under these settings."""
    if settings.similarity == "l2" or Pipeline.parse(settings.transform).steps:
        raise InputError(
            f"{settings.scoring} compares many vectors by cosine or dot product, without a transform",
            remedy="use --similarity cosine or dot, and leave --transform out",
        )
    if sparse:
        raise InputError(f"{settings.scoring} needs dense vectors", remedy="use a model such as wordllama")


def _fitted_on(data: RankingData) -> int | None:
    """Return how many vectors a transform is fitted on; None if it is fitted on a file or the model's vocabulary."""
    policy, related = data.settings.fit_on, data.related
    if policy not in FIT_ON or policy == "vocabulary":
        return None
    refuse_training_texts(policy)
    items = len(data.item_ids)
    if policy == "evaluated":
        return items if related else len(data.query_ids)
    evaluated = set(data.collection.gold.queries)
    remaining = sum(data.document_of(item) not in evaluated for item in data.item_ids) if related else items
    if related and remaining < 2:
        raise without_unevaluated_articles()
    return remaining


def refuse_training_texts(policy: str) -> None:
    """Raise InputError if a transform is to be fitted on training texts, which a ranking task does not have."""
    if policy == "training":
        raise InputError("a ranking task has no training texts to fit on", remedy="fit on corpus or evaluated")


def without_unevaluated_articles() -> InputError:
    """Return the error for a transform that could be fitted on evaluated articles only."""
    return InputError(
        "every article is also a query, so that nothing is left to fit the transform on",
        remedy="give a file of texts (--fit-on FILE), or --fit-on evaluated to fit on what is evaluated",
    )
