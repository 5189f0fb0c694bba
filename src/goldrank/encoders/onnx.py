"""Transformers exported to ONNX with their tokenizer; torch is not needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, normalize_rows, parse_bool, parse_choice
from goldrank.encoders.provenance import import_package, stamp, version_of
from goldrank.encoders.truncation import lengths, untruncated
from goldrank.errors import InputError, reason_of
from goldrank.hits import Ints
from goldrank.specs import Spec

_LONGEST = 512


class Onnx(BatchEncoder):
    """``onnx:DIR`` with a .onnx file and tokenizer.json; ``pooling=mean`` or ``cls``, unit length by default.

    A dynamically quantised (int8) model scales each batch by its largest value, so its vectors depend slightly on the
    other texts of the batch; ``batch_size=1`` is exact, and slow.
    """

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, "pooling", "normalize", "file", without=("dtype",))
        super().__init__(spec, options)
        runtime = import_package("onnxruntime", "onnx", "onnx")
        tokenizers = import_package("tokenizers", "onnx", "onnx")
        folder = Path(spec.argument).expanduser()
        model = _model_file(folder, own.get("file"))
        self._pooling = parse_choice("pooling", own.get("pooling", "mean"), ("mean", "cls"))
        self.normalizes = parse_bool("normalize", own.get("normalize", "true"))
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session: Any = runtime.InferenceSession(str(model), providers=_providers(runtime, options.device))
        except Exception as error:  # both packages raise bare Exceptions
            raise InputError(
                f"the model cannot be loaded ({reason_of(error)})", where=str(folder), remedy="export it again"
            ) from error
        self.token_limit = int(options.max_length or (self._tokenizer.truncation or {}).get("max_length", _LONGEST))
        self._untruncated_tokenizer = untruncated(self._tokenizer)
        self._tokenizer.enable_truncation(self.token_limit)
        self._tokenizer.enable_padding(**_padding(self._tokenizer))
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self._output = _output(self._session)
        shape = next(entry.shape for entry in self._session.get_outputs() if entry.name == self._output)
        self.width = shape[-1] if shape and isinstance(shape[-1], int) else None
        # Large models keep their weights in files beside the graph.
        weights = sorted(file for file in model.parent.glob("*.onnx*data*") if file.is_file())
        self._stamp = " ".join(stamp(file) for file in (model, folder / "tokenizer.json", *weights))

    @property
    def version(self) -> str:
        """Version of the runtime, and stamps of model and tokenizer."""
        return f"{version_of('onnxruntime', 'tokenizers')} {self._stamp}"

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Run the model and pool its token vectors without the padding."""
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([entry.attention_mask for entry in encoded], np.int64)
        inputs = {"input_ids": np.array([entry.ids for entry in encoded], np.int64), "attention_mask": mask}
        if "token_type_ids" in self._inputs:
            inputs["token_type_ids"] = np.zeros_like(mask)
        output = self._session.run([self._output], {name: inputs[name] for name in self._inputs})[0]
        vectors = np.asarray(output, np.float32)
        if vectors.ndim == 3:
            vectors = vectors[:, 0] if self._pooling == "cls" else _mean(vectors, mask)
        return normalize_rows(vectors) if self.normalizes else vectors

    def count_tokens(self, texts: list[str], side: Side) -> tuple[Ints, Ints]:
        """Return the tokens of each text, and those within the limit."""
        tokens = lengths(self._untruncated_tokenizer.encode_batch, [self.prompt(side) + text for text in texts])
        return tokens, np.minimum(tokens, self.token_limit)


def _mean(tokens: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0))


def _model_file(folder: Path, chosen: str | None) -> Path:
    if not folder.is_dir():
        raise InputError("there is no such folder", where=str(folder), remedy="give a local folder with an ONNX model")
    files = sorted(folder.glob("*.onnx")) or sorted((folder / "onnx").glob("*.onnx"))
    matching = [file for file in files if file.name == (chosen or "model.onnx")] or ([] if chosen else files)
    if len(matching) != 1:
        listed = ", ".join(file.name for file in files) or "none"
        raise InputError(
            f"one .onnx file is needed, there is {listed}", where=str(folder), remedy="name one with file=model.onnx"
        )
    if not (folder / "tokenizer.json").is_file():
        raise InputError("there is no tokenizer.json", where=str(folder), remedy="save the tokenizer beside the model")
    return matching[0]


def _providers(runtime: Any, device: str | None) -> list[str]:
    wanted = ["CUDAExecutionProvider"] if (device or "").startswith("cuda") else []
    missing = [name for name in wanted if name not in runtime.get_available_providers()]
    if missing:
        raise InputError(f"device={device} is not in this onnxruntime", remedy="pip install onnxruntime-gpu")
    return [*wanted, "CPUExecutionProvider"]


def _padding(tokenizer: Any) -> dict[str, Any]:
    """Return the tokenizer's padding settings without a fixed length, to pad to the longest text of a batch."""
    padding = tokenizer.padding or {}
    return {name: padding[name] for name in ("pad_id", "pad_token", "pad_type_id", "direction") if name in padding}


def _output(session: Any) -> str:
    names = [entry.name for entry in session.get_outputs()]
    return next((n for n in ("sentence_embedding", "last_hidden_state", "token_embeddings") if n in names), names[0])
