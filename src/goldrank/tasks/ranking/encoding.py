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
from goldrank.errors import DataWarning, InputError
from goldrank.tasks.settings import Settings
from goldrank.vectors.cache import EmbeddingCache
from goldrank.vectors.transforms import FIT_ON, Pipeline, fit_rows


@dataclass(frozen=True)
class Encoding:
    """How texts become vectors: a fitted model is asked itself, any other through the cache."""

    encoder: Encoder
    cache: EmbeddingCache | None
    truncated: dict[str, Truncation] = field(default_factory=dict)
    """By role, what the model did not read of the texts encoded so far, whether their vectors were cached or not."""

    @classmethod
    def of(cls, encoder: Encoder, corpus: Sequence[str]) -> Encoding:
        """The encoder, fitted on the *corpus* if it learns from one."""
        if isinstance(encoder, Fitted):
            encoder.fit(corpus)
        # What a fitted model gives depends on the corpus; vectors looked up by id or text lie in a file already.
        keeps = not isinstance(encoder, Fitted) and not hasattr(encoder, "by")
        return cls(encoder, EmbeddingCache(unwritable="ignore") if keeps else None)

    def __call__(self, texts: Sequence[str], side: Side, *, role: str | None = None) -> Any:
        """One row per text; what is truncated is counted under the *role*, which is the side unless it is given."""
        vectors = self._encode(texts, side)
        if not hasattr(self.encoder, "by"):
            role = role or side
            self.truncated[role] = self.truncated.get(role, Truncation()) + count_truncated(self.encoder, texts, side)
        return vectors

    def warnings(self, item: str = "items", query: str = "queries") -> list[DataWarning]:
        """What was truncated of what is evaluated, with what the texts of each side are called in the plural."""
        names = {"query": query, "item": item}
        counted = {name: self.truncated[role] for role, name in names.items() if role in self.truncated}
        return warnings_of(counted, str(getattr(self.encoder, "spec", "")))

    def _encode(self, texts: Sequence[str], side: Side) -> Any:
        if self.cache is not None:
            return self.cache.encode(self.encoder, texts, side)
        return self.encoder.encode_queries(texts) if side == "query" else self.encoder.encode_items(texts)

    @property
    def gives_copies(self) -> bool:
        """Whether its vectors are nobody else's, so that they may be written into."""
        return self.cache is not None


@dataclass(frozen=True, eq=False)
class Transformed:
    """Vectors of texts, with what their transform learnt from."""

    vectors: Any
    remarks: tuple[str, ...]
    pipeline: Pipeline
    learnt_from: Any = None
    """Vectors before the transform; None where it learnt nothing."""

    def mean(self, known: Sequence[int]) -> NDArray[np.float64]:
        """Return the mean, after the transform, of what that learnt from, or else of the *known* rows."""
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
    """Raise InputError for a model that is no file of word vectors."""
    if not hasattr(encoder, "vocabulary_vectors"):
        raise InputError(
            f"{getattr(encoder, 'spec', None) or encoder.identity} has no vocabulary to fit a transform on",
            remedy="take a model of word vectors (words:FILE), or --fit-on corpus, evaluated or a file of texts",
        )


def transformed_vectors(
    encoder: Encoder, texts: Sequence[str], settings: Settings, *, training: Sequence[str] | None = None
) -> Transformed:
    """Encode texts that are alike (no queries and items), and transform the vectors as the settings say.

    A transform that learns is fitted on the *training* texts of the task, or on what ``fit_on`` names; on the texts
    themselves only if it names ``evaluated``. A model that learns from a corpus learns from the training texts too.
    """
    distinct = list(dict.fromkeys(texts))
    place = {text: row for row, text in enumerate(distinct)}
    encode = Encoding.of(encoder, list(training) if training else distinct)
    vectors = encode(distinct, "item")
    pipeline = Pipeline.parse(settings.transform)
    remarks: tuple[str, ...] = ()
    learnt_from = None
    if pipeline.steps:
        if pipeline.learns:
            learnt_from = _fitting_rows(vectors, encode, settings, training)
            pipeline.fit(learnt_from)
        vectors, remarks = pipeline.apply(vectors), tuple(pipeline.notes)
    remarks += tuple(warning.message.rstrip(".") for warning in encode.warnings("texts"))
    return Transformed(vectors[[place[text] for text in texts]], remarks, pipeline, learnt_from)


def without_fitting_texts(task: str) -> InputError:
    """Return the error for a transform that has nothing to learn from."""
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
    return fit_rows("training", training=encode(list(training), "item", role="fitting"))
