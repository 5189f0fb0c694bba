"""The floor: a random unit vector for each text, the same one every time."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import MOST_DIMENSIONS, BatchEncoder, Options, Side, positive, unit
from goldrank.specs import Spec


class Random(BatchEncoder):
    """``random:DIM``; equal texts have equal vectors, all others are as good as orthogonal. ``seed`` draws anew."""

    normalizes = True

    def __init__(self, spec: Spec) -> None:
        options, own = Options.take(spec, "seed", without=("dtype", "max_length"))
        super().__init__(spec, options)
        self.width = positive("DIM", spec.argument or "256", MOST_DIMENSIONS)
        self._seed = own.get("seed", "0").encode()

    @property
    def version(self) -> str:
        """Of the recipe below; NumPy keeps the stream of a Philox generator stable."""
        return "1"

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Normal numbers from a generator keyed by the text, brought to unit length."""
        assert self.width is not None
        rows = np.empty((len(texts), self.width))
        for row, text in zip(rows, texts, strict=True):
            key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16, key=self._seed[:64]).digest(), "little")
            np.random.Generator(np.random.Philox(key=key)).standard_normal(out=row)
        return unit(rows)
