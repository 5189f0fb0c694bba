"""A random baseline: each text has a fixed random vector of unit length."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import MOST_DIMENSIONS, BatchEncoder, Options, Side, normalize_rows, parse_positive
from goldrank.specs import Spec


class Random(BatchEncoder):
    """``random:DIM``: equal texts have equal vectors, others nearly orthogonal ones; ``seed`` selects other vectors."""

    normalizes = True

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, "seed", without=("dtype", "max_length"))
        super().__init__(spec, options)
        self.width = parse_positive("DIM", spec.argument or "256", MOST_DIMENSIONS)
        self._seed = own.get("seed", "0").encode()

    @property
    def version(self) -> str:
        """Version of the algorithm below; NumPy keeps the stream of a Philox generator stable."""
        return "1"

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return normalised vectors of normal numbers from a generator that is keyed by the text."""
        assert self.width is not None
        rows = np.empty((len(texts), self.width))
        for row, text in zip(rows, texts, strict=True):
            key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16, key=self._seed[:64]).digest(), "little")
            np.random.Generator(np.random.Philox(key=key)).standard_normal(out=row)
        return normalize_rows(rows)
