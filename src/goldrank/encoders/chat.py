"""Ask chat models on OpenAI-compatible servers: OpenAI, vLLM, Ollama, llama.cpp …"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from goldrank.encoders.base import check_texts, parse_number, parse_positive
from goldrank.encoders.http_client import Client
from goldrank.errors import GoldrankError, InputError
from goldrank.specs import Spec

_DEFAULT_URL = "https://api.openai.com/v1"
_REMEDIES = {400: "check the model and the length of the texts; temperature=default leaves that option out"}
CHAT_OPTIONS = ("key", "temperature", "max_tokens", "concurrency", "timeout", "retries")
"""The options of a spec that `ChatEndpoint` reads."""


@dataclass(frozen=True)
class ChatAnswer:
    """The answer of a chat model, and the tokens that the server counted."""

    text: str
    """Empty if the model returned no content, as some do when they refuse."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class ChatEndpoint:
    """``KIND:MODEL@URL``, with the key from $OPENAI_API_KEY, or from the variable that ``key=NAME`` names.

    ``temperature`` is 0 (``default`` omits it from requests), ``concurrency`` is the number of parallel requests.
    """

    def __init__(self, spec: Spec, options: Mapping[str, str]) -> None:
        model, _, url = spec.argument.partition("@")
        base = (url or _DEFAULT_URL).rstrip("/").removesuffix("/chat/completions")
        self.model, self.url = model, f"{base}/chat/completions"
        if not model or not base.startswith(("http://", "https://")):
            raise InputError(
                f"{spec.kind}:{spec.argument} does not name a model and an address",
                remedy=f"write {spec.kind}:MODEL@https://host/v1",
            )
        self._client = Client.of_options(
            options, self.url, timeout="120", remedies=_REMEDIES, relief=", or lower concurrency"
        )
        self.concurrency = parse_positive("concurrency", options.get("concurrency", "1"))
        self.settings: dict[str, Any] = {}
        """What is sent besides the model and the message."""
        if options.get("temperature") != "default":
            self.settings["temperature"] = parse_number("temperature", options.get("temperature", "0"))
        if "max_tokens" in options:
            self.settings["max_tokens"] = parse_positive("max_tokens", options["max_tokens"])

    def ask(self, prompt: str, *, before_attempt: Callable[[], None] | None = None) -> ChatAnswer:
        """Return the answer to a prompt; *before_attempt* is called before each attempt, such as to wait."""
        message = {"role": "user", "content": check_texts([prompt])[0]}
        body = json.dumps({"model": self.model, "messages": [message], **self.settings}).encode()
        answer = replace(self._client, before_attempt=before_attempt).answer(self.url, body)
        try:
            content = answer["choices"][0]["message"].get("content")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise GoldrankError(f"the answer of {self.url} does not have the form of a chat completion") from None
        usage = answer.get("usage")
        tokens = [_count(usage, name) for name in ("prompt_tokens", "completion_tokens")]
        return ChatAnswer(content if isinstance(content, str) else "", *tokens)


def _count(usage: object, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
