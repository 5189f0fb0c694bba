"""Latent semantic analysis: TF-IDF reduced to a few dimensions by a singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldrank.encoders.base import Dense, Options, identity_of, normalize_rows, parse_bool, parse_positive
from goldrank.encoders.provenance import import_package
from goldrank.encoders.tfidf import DEFAULTS, OWN, PRESETS, UNUSED, Tfidf
from goldrank.errors import InputError
from goldrank.specs import Spec


class Lsa:
    """``lsa:DIM`` with the options and presets of ``tfidf``; unit length unless ``normalize=false``."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        Options.split(spec, *OWN, "normalize", without=UNUSED)
        self._dim = parse_positive("DIM", spec.argument or "100")
        self._completed = spec.completed({**DEFAULTS, "normalize": "true"}, PRESETS)
        own = dict(self._completed.options)
        self._normalize = parse_bool("normalize", own.pop("normalize"))
        self._tfidf = Tfidf(Spec("tfidf", options=own))
        # ARPACK with a fixed start is exact and repeatable; the randomised solver is neither.
        svd = import_package("sklearn.decomposition", "lsa", "models", "scikit-learn").TruncatedSVD
        self._svd: Any = svd(self._dim, algorithm="arpack", random_state=0)

    @property
    def identity(self) -> str:
        """Everything that can change a vector, including the texts it was fitted on."""
        return identity_of(self._completed, self._tfidf.version)

    def fit(self, texts: Sequence[str]) -> None:
        """Learn the vocabulary, the weights and the singular vectors."""
        self._fit(texts)

    def fit_encode(self, texts: Sequence[str]) -> Dense:
        """Fit, and return one row per text as `encode_items` does; the words are counted once for both."""
        return self._project(self._fit(texts))

    def _fit(self, texts: Sequence[str]) -> Any:
        weighted = self._tfidf.fit_encode(texts)
        rows = weighted.astype(np.float64)
        if self._dim >= min(rows.shape):
            raise InputError(
                f"lsa:{self._dim} needs more than {self._dim} texts and words, the corpus has {rows.shape[0]} texts "
                f"and {rows.shape[1]} words",
                remedy="ask for fewer dimensions",
            )
        self._svd.fit(rows)
        return weighted

    def check_dimension(self) -> int | None:
        """Return the number of dimensions."""
        return self._dim

    def check_corpus(self, texts: Sequence[str]) -> None:
        """Raise if the corpus has too few texts or words for so many dimensions."""
        self._tfidf.check_corpus(texts)
        if self._dim >= len(texts):
            raise InputError(
                f"lsa:{self._dim} needs more than {self._dim} texts, and there are {len(texts)}",
                remedy="ask for fewer dimensions",
            )
        if not self._tfidf.has_words(texts, self._dim + 1):
            raise InputError(
                f"lsa:{self._dim} needs more than {self._dim} different words, and the {len(texts)} texts have fewer",
                remedy="ask for fewer dimensions",
            )

    def encode_queries(self, texts: Sequence[str]) -> Dense:
        """Return one row per query."""
        return self._project(self._tfidf.encode_queries(texts))

    def encode_items(self, texts: Sequence[str]) -> Dense:
        """Return one row per item."""
        return self._project(self._tfidf.encode_items(texts))

    def _project(self, rows: Any) -> Dense:
        if not rows.shape[0]:
            return np.empty((0, self._dim), np.float32)
        dense = np.asarray(self._svd.transform(rows.astype(np.float64)))
        return normalize_rows(dense) if self._normalize else dense.astype(np.float32)
