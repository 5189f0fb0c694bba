"""BGE and its kin through FlagEmbedding, with the query instruction they were trained with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, one_of
from goldrank.encoders.provenance import local_stamp, no_model, require, version_of
from goldrank.encoders.truncation import Ints, token_lengths
from goldrank.errors import InputError
from goldrank.specs import Spec


class Flag(BatchEncoder):
    """``flag:NAME_OR_PATH``: unit length, ``dtype=float16`` on request, ``pooling=cls`` or ``mean``."""

    normalizes = True
    default_query_prompt = "Represent this sentence for searching relevant passages: "

    uses_torch = True

    def __init__(self, spec: Spec) -> None:
        options, own = Options.take(spec, "pooling")
        super().__init__(spec, options)
        if not spec.argument:
            raise InputError("flag needs a model", remedy="write flag:BAAI/bge-base-en-v1.5 or flag:/path/of/a/model")
        package = require("FlagEmbedding", "flag", "flag")
        torch = require("torch", "flag", "flag")
        pooling = one_of("pooling", own.get("pooling", "cls"), ("cls", "mean"))
        name = str(Path(spec.argument).expanduser()) if Path(spec.argument).expanduser().exists() else spec.argument
        try:
            self._model: Any = package.FlagModel(
                name,
                normalize_embeddings=True,
                use_fp16=options.dtype == "float16",
                use_bf16=options.dtype == "bfloat16",
                pooling_method=pooling,
                # One device, always: given several, it starts processes of its own.
                devices=[options.device or ("cuda:0" if torch.cuda.is_available() else "cpu")],
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise no_model("flag", spec.argument, error) from error
        self.width = int(self._model.model.config.hidden_size)
        self._stamp = local_stamp(name) or str(getattr(self._model.model.config, "_commit_hash", None) or "unknown")
        limit = int(getattr(self._model.model.config, "max_position_embeddings", 512) or 512)
        self.token_limit = min(options.max_length or 512, limit)

    @property
    def version(self) -> str:
        """Version of the packages, and a stamp of the local files or the hub's commit."""
        return f"{version_of('FlagEmbedding', 'torch')} {self._stamp}"

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Tokens of each text with its instruction, and those within the limit."""
        tokens = token_lengths(self._model.tokenizer, [self.prompt(side) + text for text in texts])
        return tokens, np.minimum(tokens, self.token_limit)

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Pooled, unit length; the instruction stands before the queries already."""
        # batch_size above the count keeps its own progress bar off.
        return np.asarray(self._model.encode(texts, batch_size=len(texts) + 1, max_length=self.token_limit))
