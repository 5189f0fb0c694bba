"""BGE and similar models through FlagEmbedding, with the query instruction they were trained with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, parse_choice
from goldrank.encoders.provenance import import_package, load_error, local_path, model_stamp, version_of
from goldrank.encoders.truncation import token_lengths
from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.specs import Spec


class Flag(BatchEncoder):
    """``flag:NAME_OR_PATH``: unit length, ``dtype=float16`` on request, ``pooling=cls`` or ``mean``."""

    normalizes = True
    default_query_prompt = "Represent this sentence for searching relevant passages: "
    uses_torch = True

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, "pooling")
        super().__init__(spec, options)
        if not spec.argument:
            raise InputError("flag needs a model", remedy="write flag:BAAI/bge-base-en-v1.5 or flag:/path/of/a/model")
        package = import_package("FlagEmbedding", "flag", "flag")
        torch = import_package("torch", "flag", "flag")
        pooling = parse_choice("pooling", own.get("pooling", "cls"), ("cls", "mean"))
        name = local_path(spec.argument)
        try:
            self._model: Any = package.FlagModel(
                name,
                normalize_embeddings=True,
                use_fp16=options.dtype == "float16",
                use_bf16=options.dtype == "bfloat16",
                pooling_method=pooling,
                # Always one device: with several, FlagEmbedding starts processes of its own.
                devices=[options.device or ("cuda:0" if torch.cuda.is_available() else "cpu")],
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise load_error("flag", spec.argument, error) from error
        config = self._model.model.config
        self.width = int(config.hidden_size)
        self._stamp = model_stamp(name, config)
        limit = int(getattr(config, "max_position_embeddings", 512) or 512)
        self.token_limit = min(options.max_length or 512, limit)

    @property
    def version(self) -> str:
        """Version of the packages, and a stamp of the local files or the hub's commit."""
        return f"{version_of('FlagEmbedding', 'torch')} {self._stamp}"

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Return the tokens of each text with its instruction, and those within the limit."""
        tokens = token_lengths(self._model.tokenizer, [self.prompt(side) + text for text in texts])
        return tokens, np.minimum(tokens, self.token_limit)

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return the pooled vectors of unit length; the texts already begin with the instruction."""
        # A batch_size above the number of texts turns the progress bar of FlagEmbedding off.
        return np.asarray(self._model.encode(texts, batch_size=len(texts) + 1, max_length=self.token_limit))
