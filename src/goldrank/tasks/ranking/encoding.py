"""Encode texts for tasks, through the cache if possible, and apply the transform of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.data.texts import read_texts
from goldrank.encoders.base import Encoder, Fitted, Side
from goldrank.encoders.truncation import Truncation, count_truncated, warnings_of
from goldrank.errors import DataWarning, InputError, counts
from goldrank.tasks.settings import Settings
from goldrank.vectors.cache import EmbeddingCache, encode_uncached
from goldrank.vectors.transforms import FIT_ON, Pipeline


@dataclass(frozen=True)
class Encoding:
    """Encodes texts: with a fitted model directly, with any other through the cache."""

    encoder: Encoder
    cache: EmbeddingCache | None
    truncated: dict[str, Truncation] = field(default_factory=dict)
    """Counts of truncated texts by role, including texts whose vectors were cached."""

    @classmethod
    def of(cls, encoder: Encoder, corpus: Sequence[str]) -> Encoding:
        """Return the encoding with the encoder, fitted on the *corpus* if it is one that is fitted."""
        if isinstance(encoder, Fitted):
            encoder.fit(corpus)
        # The vectors of a fitted model depend on the corpus; those looked up by id or text are in a file already.
        cached = not isinstance(encoder, Fitted) and not hasattr(encoder, "by")
        return cls(encoder, EmbeddingCache(unwritable="ignore") if cached else None)

    @classmethod
    def fitted(cls, encoder: Encoder, corpus: Sequence[str]) -> tuple[Encoding, Any]:
        """Return the encoding with the encoder fitted on the *corpus*, and the vectors of the corpus as items.

        TF-IDF and LSA count the words of the corpus once for both.
        """
        if hasattr(encoder, "fit_encode"):
            vectors = encoder.fit_encode(corpus)
            return cls(encoder, None), vectors
        encode = cls.of(encoder, corpus)
        return encode, encode(corpus, "item")

    def __call__(self, texts: Sequence[str], side: Side, *, role: str | None = None) -> Any:
        """Return one row per text; truncated texts are counted under the *role*, by default the side."""
        if self.cache is None:
            vectors = encode_uncached(self.encoder, texts, side)
        else:
            vectors = self.cache.encode(self.encoder, texts, side)
        if not hasattr(self.encoder, "by"):
            role = role or side
            self.truncated[role] = self.truncated.get(role, Truncation()) + count_truncated(self.encoder, texts, side)
        return vectors

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on vectors of a live model that are not of this evaluation."""
        if self.cache is None or not self.cache.counts.earlier:
            return ()
        texts = counts(self.cache.counts.earlier, "text")
        return (f"the vectors of {texts} are from the cache: the model returned them in an earlier evaluation",)

    def warnings(self, item: str = "items", query: str = "queries") -> list[DataWarning]:
        """Warn of truncated queries and items; *item* and *query* are the words for them in the plural."""
        names = {"query": query, "item": item}
        counted = {name: self.truncated[role] for role, name in names.items() if role in self.truncated}
        return warnings_of(counted, str(getattr(self.encoder, "spec", "")))

    @property
    def gives_copies(self) -> bool:
        """Whether the vectors are copies, so that they may be modified."""
        return self.cache is not None


@dataclass(frozen=True, eq=False)
class Transformed:
    """Transformed vectors of texts, with the vectors that the transform was fitted on."""

    vectors: Any
    remarks: tuple[str, ...]
    pipeline: Pipeline
    learnt_from: Any = None
    """Vectors before the transform; None if it was not fitted."""

    def mean(self, known: Sequence[int]) -> NDArray[np.float64]:
        """Return the mean, after the transform, of the vectors that it was fitted on, or else of the *known* rows."""
        rows = self.vectors[known] if self.learnt_from is None else self.pipeline.apply(self.learnt_from)
        return np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()


def vocabulary_vectors(encoder: Encoder) -> Any:
    """Return a vector for every word that a model of word vectors knows.

    Raises:
        InputError: the model has no such words.
    """
    refuse_no_vocabulary(encoder)
    return encoder.vocabulary_vectors()  # type: ignore[attr-defined]


def refuse_no_vocabulary(encoder: Encoder) -> None:
    """Raise InputError for a model that is not a file of word vectors."""
    if not hasattr(encoder, "vocabulary_vectors"):
        raise InputError(
            f"{getattr(encoder, 'spec', None) or encoder.identity} has no vocabulary to fit a transform on",
            remedy="use a model of word vectors (words:FILE), or --fit-on corpus, evaluated or a file of texts",
        )


def transformed_vectors(
    encoder: Encoder, texts: Sequence[str], settings: Settings, *, training: Sequence[str] | None = None
) -> Transformed:
    """Encode texts of one kind (not queries and items), and apply the transform of the settings.

    A transform is fitted on the *training* texts of the task, or on what ``fit_on`` names; on the texts themselves only
    if that is ``evaluated``. A fitted model is fitted on the training texts too.
    """
    distinct = list(dict.fromkeys(texts))
    place = {text: row for row, text in enumerate(distinct)}
    if training:
        encode = Encoding.of(encoder, list(training))
        vectors = encode(distinct, "item")
    else:
        encode, vectors = Encoding.fitted(encoder, distinct)
    pipeline = Pipeline.parse(settings.transform)
    remarks: tuple[str, ...] = ()
    learnt_from = None
    if pipeline.steps:
        if pipeline.learns:
            learnt_from = _fitting_rows(vectors, encode, settings, training)
            pipeline.fit(learnt_from)
        vectors, remarks = pipeline.apply(vectors), tuple(pipeline.notes)
    remarks += (*encode.remarks, *(warning.message.rstrip(".") for warning in encode.warnings("texts")))
    return Transformed(vectors[[place[text] for text in texts]], remarks, pipeline, learnt_from)


def without_fitting_texts(task: str) -> InputError:
    """Return the error for a transform that has no texts to be fitted on."""
    return InputError(
        f"{task} has no texts set apart to fit the transform on",
        remedy="give a file of texts (--fit-on FILE), or --fit-on evaluated to fit on what is evaluated",
    )


def _fitting_rows(vectors: Any, encode: Encoding, settings: Settings, training: Sequence[str] | None) -> Any:
    if settings.fit_on not in FIT_ON:
        return encode(read_texts(settings.fit_on).texts, "item", role="fitting")
    if settings.fit_on == "vocabulary":
        return vocabulary_vectors(encode.encoder)
    if settings.fit_on == "evaluated":
        return vectors
    if not training:
        raise without_fitting_texts("this task")
    return encode(list(training), "item", role="fitting")
