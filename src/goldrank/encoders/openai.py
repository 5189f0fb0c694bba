"""Servers with an OpenAI-compatible /embeddings endpoint: OpenAI, vLLM, TEI, Ollama, llama.cpp …"""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, normalize_rows, parse_bool, parse_choice, parse_positive
from goldrank.encoders.http_client import Client
from goldrank.errors import GoldrankError, InputError
from goldrank.specs import Spec

_DEFAULT_URL = "https://api.openai.com/v1"
_OWN = ("key", "timeout", "retries", "concurrency", "encoding", "server_dim", "normalize")
_REMEDIES = {400: "check the model and the length of the texts"}


class OpenAi(BatchEncoder):
    """``openai:MODEL@URL``, with the key from $OPENAI_API_KEY, or from the variable that ``key=NAME`` names.

    A request has ``batch_size`` texts, and ``concurrency`` requests are sent at a time. Rate limits, server errors,
    timeouts and broken connections are retried ``retries`` times, after the delay that the server asks for or one that
    doubles.
    """

    hides_truncation = True
    live = True

    def __init__(self, spec: Spec) -> None:
        options, own = Options.split(spec, *_OWN, without=("dtype", "max_length"))
        super().__init__(spec, options)
        model, _, url = spec.argument.partition("@")
        self._model, self._url = model, (url or _DEFAULT_URL).rstrip("/").removesuffix("/embeddings") + "/embeddings"
        if not model or not self._url.startswith(("http://", "https://")):
            raise InputError(
                f"openai:{spec.argument} names no model and address", remedy="write openai:MODEL@https://host/v1"
            )
        self._client = Client.of_options(
            own, self._url, remedies=_REMEDIES, relief=", or lower batch_size and concurrency"
        )
        self._concurrency = parse_positive("concurrency", own.get("concurrency", "1"))
        self._encoding = parse_choice("encoding", own.get("encoding", "float"), ("float", "base64"))
        self._dimensions = parse_positive("server_dim", own["server_dim"]) if "server_dim" in own else None
        self.normalizes = parse_bool("normalize", own.get("normalize", "true"))
        self.texts_per_call = options.batch_size * self._concurrency

    @property
    def version(self) -> str:
        """The URL: the server does not tell the version of the model."""
        return self._url

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Request the vectors, ``concurrency`` requests at a time."""
        size = self.options.batch_size
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        if len(parts) == 1:
            arrays = [self._request(parts[0])]
        else:
            with ThreadPoolExecutor(self._concurrency) as pool:
                arrays = list(pool.map(self._request, parts))
        widths = {array.shape[1] for array in arrays} | ({self.width} if self.width else set())
        if len(widths) != 1:
            raise GoldrankError(f"{self._url} returned vectors of different dimensions: {sorted(widths)}")
        self.width = widths.pop()
        vectors = np.concatenate(arrays)
        return normalize_rows(vectors) if self.normalizes else vectors

    def _request(self, texts: list[str]) -> NDArray[Any]:
        # Servers refuse an empty text, so a blank is sent instead.
        body: dict[str, Any] = {"model": self._model, "input": [text or " " for text in texts]}
        body["encoding_format"] = self._encoding
        if self._dimensions:
            body["dimensions"] = self._dimensions
        return self._vectors(self._client.answer(self._url, json.dumps(body).encode()), len(texts))

    def _vectors(self, answer: Any, count: int) -> NDArray[Any]:
        try:
            # By index, because the order of the entries is not specified.
            entries = {int(entry["index"]): entry["embedding"] for entry in answer["data"]}
            rows = [_decoded(entries[at]) for at in range(len(answer["data"]))]
        except (KeyError, TypeError, ValueError):
            raise GoldrankError(f"the answer of {self._url} is not that of an embeddings server") from None
        if len(rows) != count:
            raise GoldrankError(f"{self._url} returned {len(rows)} vectors for {count} texts")
        if len({len(row) for row in rows}) != 1 or not len(rows[0]):
            raise GoldrankError(
                f"{self._url} returned vectors of different dimensions: {sorted({len(r) for r in rows})}"
            )
        return np.stack(rows)


def _decoded(embedding: str | list[float]) -> NDArray[np.float32]:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.array(embedding, np.float32)
