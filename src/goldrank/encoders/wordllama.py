"""The built-in model: the mean of WordLlama's static token vectors; small, fast and offline."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, normalize_rows, parse_bool
from goldrank.encoders.pooling import STATIC_BATCH_SIZE, sum_rows
from goldrank.encoders.provenance import check_installed, import_package, version_of
from goldrank.encoders.subwords import SubwordIds
from goldrank.errors import InputError
from goldrank.specs import Spec


class WordLlama(BatchEncoder):
    """256 dimensions of unit length (``normalize=false`` keeps the plain mean); ``dim=64`` or 128 truncates."""

    width = 256
    default_batch_size = STATIC_BATCH_SIZE

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, "normalize", without=("dtype", "max_length"))
        super().__init__(spec, options)
        if spec.argument:
            raise InputError(f"wordllama has one model, not {spec.argument!r}", remedy="write wordllama(dim=64)")
        self.normalizes = parse_bool("normalize", own.get("normalize", "true"))
        check_installed("wordllama", "wordllama", "models")

    @cached_property
    def _model(self) -> Any:
        package = import_package("wordllama", "wordllama", "models")
        # By default it looks for its tokenizer in a wrong folder and downloads it.
        return package.WordLlama.load(cache_dir=Path(package.__file__).parent, disable_download=True)

    @cached_property
    def version(self) -> str:
        """Version of the package, which contains the weights."""
        return version_of("wordllama")

    @cached_property
    def _tokens(self) -> SubwordIds:
        self._model.tokenizer.no_padding()
        return SubwordIds(self._model.tokenizer)

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return the mean of the token vectors, equal to that of WordLlama; zeros for a text without tokens."""
        ids, counts = self._tokens.encode(texts)
        mean = sum_rows(self._model.embedding, ids, counts) / np.maximum(counts, 1).astype(np.float32)[:, None]
        return normalize_rows(mean) if self.normalizes else mean
