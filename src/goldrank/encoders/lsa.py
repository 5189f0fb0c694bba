"""Latent semantic analysis: tf-idf brought to a few dense dimensions by a singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldrank.encoders.base import Dense, Options, checked_texts, identity_of, positive, unit, yes_no
from goldrank.encoders.provenance import require, texts_stamp, version_of
from goldrank.encoders.tfidf import DEFAULTS, OWN, PRESETS, UNUSED, Weighting
from goldrank.errors import InputError
from goldrank.specs import Spec


class Lsa:
    """``lsa:DIM`` with the options and presets of ``tfidf``; unit length unless ``normalize=false``."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        Options.take(spec, *OWN, "normalize", without=(*UNUSED, "dim"))
        self._dim = positive("DIM", spec.argument or "100")
        self._completed = spec.completed({**DEFAULTS, "normalize": "true"}, PRESETS)
        self._normalize = yes_no("normalize", self._completed.options["normalize"])
        self._weigh = Weighting(self._completed.options)
        # ARPACK from a fixed start: exact and repeatable, where the randomised solver is neither.
        svd = require("sklearn.decomposition", "lsa", "lexical", "scikit-learn").TruncatedSVD
        self._svd: Any = svd(self._dim, algorithm="arpack", random_state=0)
        self._fitted_on = ""

    @property
    def identity(self) -> str:
        """Everything that can change a vector, the texts it was fitted on included."""
        return identity_of(self._completed, f"{version_of('scikit-learn')}{self._fitted_on}")

    def fit(self, texts: Sequence[str]) -> None:
        """Learn vocabulary, weights and the directions that hold most of the corpus."""
        texts = checked_texts(texts)
        self._weigh.fit(texts)
        rows = self._weigh(texts, "item").astype(np.float64)
        if self._dim >= min(rows.shape):
            raise InputError(
                f"lsa:{self._dim} needs more than {self._dim} texts and words, the corpus has {rows.shape[0]} texts "
                f"and {rows.shape[1]} words",
                remedy="ask for fewer dimensions",
            )
        self._svd.fit(rows)
        self._fitted_on = f" fitted on {len(texts)} texts {texts_stamp(texts)}"

    def check_dimension(self) -> int | None:
        """Return how many dimensions the vectors will have."""
        return self._dim

    def check_corpus(self, texts: Sequence[str]) -> None:
        """Raise where the corpus has too few texts or words for so many dimensions."""
        self._weigh.check_corpus(texts)
        if self._dim >= len(texts):
            raise InputError(
                f"lsa:{self._dim} needs more than {self._dim} texts, and there are {len(texts)}",
                remedy="ask for fewer dimensions",
            )
        if not self._weigh.has_words(texts, self._dim + 1):
            raise InputError(
                f"lsa:{self._dim} needs more than {self._dim} different words, and the {len(texts)} texts have fewer",
                remedy="ask for fewer dimensions",
            )

    def encode_queries(self, texts: Sequence[str]) -> Dense:
        """One row per query."""
        return self._project(checked_texts(texts), "query")

    def encode_items(self, texts: Sequence[str]) -> Dense:
        """One row per item."""
        return self._project(checked_texts(texts), "item")

    def _project(self, texts: list[str], side: str) -> Dense:
        rows = self._weigh(texts, side)
        if not texts:
            return np.empty((0, self._dim), np.float32)
        dense = np.asarray(self._svd.transform(rows.astype(np.float64)))
        return unit(dense) if self._normalize else dense.astype(np.float32)
