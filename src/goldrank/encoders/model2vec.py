"""Static models of model2vec (the potion family), from a hub or a local folder."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, normalize_rows, parse_bool
from goldrank.encoders.pooling import STATIC_BATCH_SIZE
from goldrank.encoders.provenance import hub_commit, import_package, load_error, local_path, local_stamp, version_of
from goldrank.encoders.truncation import lengths, untruncated
from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.specs import Spec


class Model2Vec(BatchEncoder):
    """``model2vec:NAME_OR_PATH``; unit length if the model's settings say so, or with ``normalize=true|false``."""

    default_batch_size = STATIC_BATCH_SIZE

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, "normalize", without=("dtype",))
        super().__init__(spec, options)
        if not spec.argument:
            raise InputError("model2vec needs a model", remedy="write model2vec:minishlab/potion-base-8M or a path")
        package = import_package("model2vec", "model2vec", "model2vec")
        name = local_path(spec.argument)
        try:
            self._model: Any = package.StaticModel.from_pretrained(name, force_download=False)
        except Exception as error:  # the hub client has a family of its own
            raise load_error("model2vec", spec.argument, error) from error
        normalize = own.get("normalize")
        self.normalizes = bool(self._model.normalize) if normalize is None else parse_bool("normalize", normalize)
        self._length = {} if options.max_length is None else {"max_length": options.max_length}
        self.width = int(self._model.dim)
        limit = options.max_length or self._model.max_length
        self.token_limit = None if limit is None else int(limit)
        self._stamp = local_stamp(name) or hub_commit(name, "model.safetensors", "config.json")

    @property
    def version(self) -> str:
        """Version of the package, and a stamp of the local files or the hub's commit."""
        return f"{version_of('model2vec')} {self._stamp}"

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Return the tokens of each text, and those left when model2vec has cut its characters and then its tokens."""
        encode = self._untruncated_tokenizer.encode_batch
        prompted = [self.prompt(side) + text for text in texts]
        tokens = lengths(encode, prompted)
        if self.token_limit is None:
            return tokens, tokens
        characters = self.token_limit * int(self._model.median_token_length)
        return tokens, np.minimum(lengths(encode, [text[:characters] for text in prompted]), self.token_limit)

    @cached_property
    def _untruncated_tokenizer(self) -> Any:
        return untruncated(self._model.tokenizer)

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return the mean of the token vectors; zeros for a text without tokens."""
        means = np.asarray(self._model.encode(texts, normalize=False, use_multiprocessing=False, **self._length))
        return normalize_rows(means) if self.normalizes else means
