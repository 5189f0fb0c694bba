"""Any server with an OpenAI-compatible /embeddings address: OpenAI itself, vLLM, TEI, Ollama, llama.cpp …"""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, number, one_of, positive, unit
from goldrank.encoders.spec import Spec
from goldrank.errors import GoldrankError, InputError

_DEFAULT_URL = "https://api.openai.com/v1"
_LONGEST_WAIT = 60.0
_OWN = ("key", "timeout", "retries", "concurrency", "encoding", "server_dim", "normalize")
_REMEDY = {
    400: "check the model and the length of the texts",
    401: "check the key",
    403: "check what the key may do",
    404: "check the address and the model",
}


class OpenAi(BatchEncoder):
    """``openai:MODEL@URL``, with the key from $OPENAI_API_KEY, or from the variable that ``key=NAME`` names.

    ``batch_size`` texts a request, ``concurrency`` requests at a time. Rate limits, server errors, timeouts and
    broken connections are tried again ``retries`` times, after the time the server asks for or one that doubles.
    """

    def __init__(self, spec: Spec) -> None:
        options, own = Options.take(spec, *_OWN, without=("dtype", "max_length"))
        super().__init__(spec, options)
        model, _, url = spec.argument.partition("@")
        self._model, self._url = model, (url or _DEFAULT_URL).rstrip("/").removesuffix("/embeddings") + "/embeddings"
        if not model or not self._url.startswith(("http://", "https://")):
            raise InputError(
                f"openai:{spec.argument} names no model and address", remedy="write openai:MODEL@https://host/v1"
            )
        self._key_name = own.get("key", "OPENAI_API_KEY")
        if "key" in own and not os.environ.get(self._key_name):  # perhaps the key itself: not repeated
            raise InputError(
                "key= names a variable that is not set", remedy="export the key under that name; never write it here"
            )
        self._timeout = number("timeout", own.get("timeout", "60"), low=0.001)
        self._retries = int(number("retries", own.get("retries", "5")))
        self._concurrency = positive("concurrency", own.get("concurrency", "1"))
        self._encoding = one_of("encoding", own.get("encoding", "float"), ("float", "base64"))
        self._dimensions = positive("server_dim", own["server_dim"]) if "server_dim" in own else None
        self.normalizes = one_of("normalize", own.get("normalize", "true"), ("true", "false")) == "true"
        self.texts_per_call = options.batch_size * self._concurrency

    @property
    def version(self) -> str:
        """Unknown: only the server knows what answers to the model's name."""
        return self._url

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """The server's vectors, requests in parallel if asked for."""
        size = self.options.batch_size
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        if len(parts) == 1:
            made = [self._request(parts[0])]
        else:
            with ThreadPoolExecutor(self._concurrency) as pool:
                made = list(pool.map(self._request, parts))
        widths = {part.shape[1] for part in made} | ({self.width} if self.width else set())
        if len(widths) != 1:
            raise GoldrankError(f"{self._url} gave vectors of different dimensions: {sorted(widths)}")
        self.width = widths.pop()
        vectors = np.concatenate(made)
        return unit(vectors) if self.normalizes else vectors

    def _request(self, texts: list[str]) -> NDArray[Any]:
        # Servers refuse an empty text, and one blank means as little.
        body: dict[str, Any] = {"model": self._model, "input": [text or " " for text in texts]}
        body["encoding_format"] = self._encoding
        if self._dimensions:
            body["dimensions"] = self._dimensions
        return self._vectors(self._answer(json.dumps(body).encode()), len(texts))

    def _answer(self, body: bytes) -> Any:
        for attempt in range(self._retries + 1):
            try:
                with urllib.request.urlopen(self._call(body), timeout=self._timeout) as reply:
                    return json.loads(reply.read())
            except urllib.error.HTTPError as error:
                if error.code != 429 and error.code < 500:
                    raise self._refused(error) from None
                asked, reason = _retry_after(error), f"HTTP {error.code}"
            except (OSError, http.client.HTTPException) as error:
                asked, reason = None, str(getattr(error, "reason", error) or type(error).__name__)
            except ValueError:
                raise GoldrankError(f"{self._url} answered with something that is not JSON") from None
            if attempt < self._retries:
                # Jitter, so that many clients turned away together do not come back together.
                time.sleep(
                    asked if asked is not None else min(_LONGEST_WAIT, 0.5 * 2**attempt) * random.uniform(0.5, 1)
                )
        raise GoldrankError(
            f"{self._url} gave no answer in {self._retries + 1} attempts ({reason}); check that the server is up, "
            "or lower batch_size and concurrency"
        )

    def _call(self, body: bytes) -> urllib.request.Request:
        headers = {"Content-Type": "application/json", "User-Agent": "goldrank"}
        if key := os.environ.get(self._key_name):
            headers["Authorization"] = f"Bearer {key}"
        return urllib.request.Request(self._url, body, headers)

    def _refused(self, error: urllib.error.HTTPError) -> InputError:
        said = _message(error)
        if key := os.environ.get(self._key_name):
            said = said.replace(key, "***")
        remedy = _REMEDY.get(error.code, "check the request")
        if error.code in (401, 403):
            remedy += f" in ${self._key_name}"
        return InputError(f"{self._url} refused with HTTP {error.code}{said and ': '}{said[:160]}", remedy=remedy)

    def _vectors(self, answer: Any, count: int) -> NDArray[Any]:
        try:
            # By index: the standard does not promise the order.
            entries = {int(entry["index"]): entry["embedding"] for entry in answer["data"]}
            rows = [_decoded(entries[at]) for at in range(len(answer["data"]))]
        except (KeyError, TypeError, ValueError):
            raise GoldrankError(f"{self._url} answered in another form than an embeddings server") from None
        if len(rows) != count:
            raise GoldrankError(f"{self._url} gave {len(rows)} vectors for {count} texts")
        if len({len(row) for row in rows}) != 1 or not len(rows[0]):
            raise GoldrankError(f"{self._url} gave vectors of different dimensions: {sorted({len(r) for r in rows})}")
        return np.stack(rows)


def _message(error: urllib.error.HTTPError) -> str:
    """What a refusing server says: {"error": {"message": …}} or {"error": …}, or nothing that can be read."""
    try:
        told = json.loads(error.read())
        inner = told.get("error", told)
        return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
    except (ValueError, OSError, AttributeError):
        return ""


def _decoded(embedding: str | list[float]) -> NDArray[np.float32]:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.array(embedding, np.float32)


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    """The seconds a server asks to wait for, given as seconds or as a date."""
    value = error.headers.get("Retry-After")
    if not value:
        return None
    try:
        wait = float(value)
    except ValueError:
        try:
            wait = parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return min(max(wait, 0.0), _LONGEST_WAIT)
