"""Models of sentence-transformers, from a hub or a local folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, normalize_rows, parse_bool
from goldrank.encoders.provenance import import_package, load_error, local_path, model_stamp, version_of
from goldrank.encoders.truncation import token_lengths
from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.specs import Spec


class SentenceTransformers(BatchEncoder):
    """``st:NAME_OR_PATH``; the model's own prompts for queries and documents unless others are given.

    Vectors are normalised as the model does it; ``normalize=true`` always normalises them.
    """

    uses_torch = True

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, "normalize", "trust_remote_code", "revision")
        super().__init__(spec, options)
        if not spec.argument:
            raise InputError("st needs a model", remedy="write st:BAAI/bge-base-en-v1.5 or st:/path/of/a/model")
        package = import_package("sentence_transformers", "st", "st", "sentence-transformers")
        torch = import_package("torch", "st", "st")
        name = local_path(spec.argument)
        try:
            self._model: Any = package.SentenceTransformer(
                name,
                device=options.device,
                revision=own.get("revision"),
                trust_remote_code=parse_bool("trust_remote_code", own.get("trust_remote_code", "false")),
                model_kwargs={"torch_dtype": getattr(torch, options.dtype)},
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise load_error("st", spec.argument, error) from error
        if options.max_length is not None:
            self._model.max_seq_length = options.max_length
        self._normalize = parse_bool("normalize", own.get("normalize", "false"))
        self.normalizes = self._normalize or any(type(part).__name__ == "Normalize" for part in self._model)
        # Renamed in newer versions of sentence-transformers, where the old name warns.
        dimension = getattr(self._model, "get_embedding_dimension", None)
        self.width = dimension() if dimension else self._model.get_sentence_embedding_dimension()
        self._stamp = model_stamp(name, getattr(getattr(self._model[0], "auto_model", None), "config", None))

    @property
    def version(self) -> str:
        """Version of the packages, and a stamp of the local files or the hub's commit."""
        return f"{version_of('sentence-transformers', 'torch')} {self._stamp}"

    def prompt(self, side: Side) -> str:
        """Return nothing: the model adds prompts itself, because some models exclude them from pooling."""
        return ""

    @property
    def token_limit(self) -> int | None:
        """The model's longest input in tokens; None if it has none, or no tokenizer to count them with."""
        limit = getattr(self._model, "max_seq_length", None)
        known = isinstance(limit, int) and callable(getattr(self._model, "tokenizer", None))
        return limit if known else None

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Return the tokens of each text with its prompt, and those within the limit."""
        tokens = token_lengths(self._model.tokenizer, [self.prompt_read(side) + text for text in texts])
        return tokens, np.minimum(tokens, self.token_limit or tokens)

    def prompt_read(self, side: Side) -> str:
        """Return the prompt of the options, or else the one that encode_query and encode_document add."""
        given = self.options.query_prompt if side == "query" else self.options.item_prompt
        if given is not None:
            return given
        prompts = getattr(self._model, "prompts", None) or {}
        names = ("query",) if side == "query" else ("document", "passage", "corpus")
        default = prompts.get(getattr(self._model, "default_prompt_name", None) or "")
        return next((prompts[name] for name in names if name in prompts), default) or ""

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Call encode_query or encode_document."""
        encode = self._model.encode_query if side == "query" else self._model.encode_document
        prompt = self.options.query_prompt if side == "query" else self.options.item_prompt
        tensor = encode(texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, convert_to_tensor=True)
        vectors = np.asarray(tensor.float().cpu().numpy())
        return normalize_rows(vectors) if self._normalize else vectors
