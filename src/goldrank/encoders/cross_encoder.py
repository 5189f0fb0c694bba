"""Cross-encoders of sentence-transformers, from a hub or a local folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from goldrank.encoders.base import Options, check_texts, parse_bool
from goldrank.encoders.pair_scorers import BatchPairScorer
from goldrank.encoders.provenance import import_package, load_error, local_path, model_stamp, version_of
from goldrank.encoders.truncation import lengths
from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.specs import Spec

# A tokenizer without a limit has a number like 1e30.
_NO_LIMIT = 10**6
_AT_ONCE = 512


class CrossEncoder(BatchPairScorer):
    """``cross:NAME_OR_PATH``, a model with one score per pair.

    Scores are logits, without the sigmoid that ends many models: the order is the same, but near 1 the sigmoid would
    round different scores to equal ones.
    """

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(
            spec, "trust_remote_code", "revision", without=("query_prompt", "item_prompt", "dim")
        )
        super().__init__(spec, options)
        if not spec.argument:
            raise InputError("cross needs a model", remedy="write cross:cross-encoder/NAME or cross:/path/of/a/model")
        package = import_package("sentence_transformers", "cross", "st", "sentence-transformers")
        self._torch = import_package("torch", "cross", "st")
        name = local_path(spec.argument)
        try:
            self._model: Any = package.CrossEncoder(
                name,
                max_length=options.max_length,
                device=options.device,
                revision=own.get("revision"),
                trust_remote_code=parse_bool("trust_remote_code", own.get("trust_remote_code", "false")),
                model_kwargs={"torch_dtype": getattr(self._torch, options.dtype)},
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise load_error("cross", spec.argument, error) from error
        labels = int(getattr(self._model, "num_labels", 1))
        if labels != 1:
            raise InputError(
                f"cross:{spec.argument} is a classifier of {labels} classes, which has no single score",
                remedy="choose a model that was trained to rank",
            )
        self._stamp = model_stamp(name, getattr(getattr(self._model, "model", None), "config", None))

    @property
    def version(self) -> str:
        """Version of the packages, and a stamp of the local files or the hub's commit."""
        return f"{version_of('sentence-transformers', 'torch')} {self._stamp}"

    @property
    def token_limit(self) -> int | None:
        """The most tokens of a query and an item together, special tokens included."""
        limit = self.options.max_length or getattr(self._model, "max_seq_length", None)
        return limit if isinstance(limit, int) and limit < _NO_LIMIT else None

    @property
    def special_tokens(self) -> int:
        """The number of special tokens of a pair."""
        return int(self._model.tokenizer.num_special_tokens_to_add(pair=True))

    def count_tokens(self, texts: list[str]) -> Ints:
        """Return the tokens of each text by itself, without special tokens."""

        def tokenize(batch: list[str]) -> Any:
            return self._model.tokenizer(batch, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]

        batches = (check_texts(texts[start : start + _AT_ONCE]) for start in range(0, len(texts), _AT_ONCE))
        return np.concatenate([np.zeros(0, np.int64), *(lengths(tokenize, batch) for batch in batches)])

    def score_batch(self, queries: list[str], items: list[str]) -> Any:
        """Return the logit of each pair."""
        tensor = self._model.predict(
            list(zip(queries, items, strict=True)),
            batch_size=len(items),
            activation_fn=self._torch.nn.Identity(),
            show_progress_bar=False,
            convert_to_tensor=True,
        )
        return tensor.float().cpu().numpy()
