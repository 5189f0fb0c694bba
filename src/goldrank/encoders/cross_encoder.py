"""Cross-encoders of sentence-transformers, from a hub or a local folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldrank.encoders.base import Options, yes_no
from goldrank.encoders.pair_scorers import BatchPairScorer
from goldrank.encoders.provenance import local_stamp, no_model, require, version_of
from goldrank.encoders.spec import Spec
from goldrank.errors import InputError


class CrossEncoder(BatchPairScorer):
    """``cross:NAME_OR_PATH``, of a model that gives one score per pair.

    Scores are taken before the sigmoid that many models end with: the order is the same, but where that function
    comes close to 1 it would make different scores equal.
    """

    def __init__(self, spec: Spec) -> None:
        options, own = Options.take(
            spec, "trust_remote_code", "revision", without=("query_prompt", "item_prompt", "dim")
        )
        super().__init__(spec, options)
        if not spec.argument:
            raise InputError("cross needs a model", remedy="write cross:cross-encoder/NAME or cross:/path/of/a/model")
        package = require("sentence_transformers", "cross", "st", "sentence-transformers")
        self._torch = require("torch", "cross", "st")
        name = str(Path(spec.argument).expanduser()) if Path(spec.argument).expanduser().exists() else spec.argument
        try:
            self._model: Any = package.CrossEncoder(
                name,
                max_length=options.max_length,
                device=options.device,
                revision=own.get("revision"),
                trust_remote_code=yes_no("trust_remote_code", own.get("trust_remote_code", "false")),
                model_kwargs={"torch_dtype": getattr(self._torch, options.dtype)},
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise no_model("cross", spec.argument, error) from error
        labels = int(getattr(self._model, "num_labels", 1))
        if labels != 1:
            raise InputError(
                f"cross:{spec.argument} tells {labels} classes apart and gives no single score",
                remedy="choose a model that was trained to rank",
            )
        config = getattr(getattr(self._model, "model", None), "config", None)
        self._stamp = local_stamp(name) or str(getattr(config, "_commit_hash", None) or "unknown")

    @property
    def version(self) -> str:
        """Version of the packages, and a stamp of the local files or the hub's commit."""
        return f"{version_of('sentence-transformers', 'torch')} {self._stamp}"

    def score_batch(self, queries: list[str], items: list[str]) -> Any:
        """What the model gives for each pair."""
        made = self._model.predict(
            list(zip(queries, items, strict=True)),
            batch_size=len(items),
            activation_fn=self._torch.nn.Identity(),
            show_progress_bar=False,
            convert_to_tensor=True,
        )
        return made.float().cpu().numpy()
