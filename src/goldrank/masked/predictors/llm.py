"""Predict with chat models on an OpenAI-compatible server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from goldrank.encoders.base import check_texts, identity_of, parse_number, parse_positive
from goldrank.encoders.http_client import Client
from goldrank.encoders.provenance import texts_stamp
from goldrank.errors import GoldrankError, InputError
from goldrank.io.files import read_bytes
from goldrank.masked.examples.chunks import MASK, Blank, Guesses
from goldrank.masked.predictors.answers import read_answer
from goldrank.masked.predictors.base import ClosedSet, check_k, take_options
from goldrank.specs import Spec

_DEFAULT_URL = "https://api.openai.com/v1"
_OWN = ("key", "prompt", "temperature", "max_tokens", "concurrency", "timeout", "retries")
_REMEDIES = {400: "check the model and the length of the texts; temperature=default leaves that option out"}
OTHER_MASK = "[…]"
"""Replaces the masks other than the one to fill."""

PROMPT = f"""\
In the following text about a person, that person's names are hidden. Each {OTHER_MASK} and the one {MASK} stand for a \
name of that same person.

Text:
{{text}}

Who is the person at {MASK}? Give your {{k}} most probable answers as a JSON list of objects, the most probable first, \
each with the person's full name and your probability that it is right, such as:
[{{"name": "Jane Doe", "probability": 0.6}}, {{"name": "John Roe", "probability": 0.1}}]
Always guess, even if you are unsure. Answer with the JSON list only.
"""


class ChatModel:
    """``llm:MODEL@URL``, with the key from $OPENAI_API_KEY, or from the variable that ``key=NAME`` names.

    ``prompt=FILE`` replaces the prompt: ``{text}`` in it becomes the text, with ``<mask>`` for the name to guess and
    ``[…]`` for other masks, and ``{k}`` the number of names. ``temperature`` is 0 (``default`` omits it from requests),
    ``concurrency`` is the number of parallel requests. Names without probabilities are scored 1/rank.
    """

    live = True
    """The weights behind the name of a model may change on the server."""

    def __init__(self, spec: Spec) -> None:
        own = take_options(spec, *_OWN)
        self.spec = spec
        model, _, url = spec.argument.partition("@")
        base = (url or _DEFAULT_URL).rstrip("/").removesuffix("/chat/completions")
        self._model, self._url = model, f"{base}/chat/completions"
        if not model or not base.startswith(("http://", "https://")):
            raise InputError(
                f"llm:{spec.argument} does not name a model and an address", remedy="write llm:MODEL@https://host/v1"
            )
        self._client = Client.of_options(
            own, self._url, timeout="120", remedies=_REMEDIES, relief=", or lower concurrency"
        )
        self._concurrency = parse_positive("concurrency", own.get("concurrency", "1"))
        self._settings = _settings(own)
        self._prompt = _read_prompt(own["prompt"]) if "prompt" in own else PROMPT
        self.unusable = 0
        """Number of answers so far without names."""

    @property
    def identity(self) -> str:
        """The model, the address and the prompt; the weights behind the name are known only to the server."""
        # The content of the prompt counts, not its path.
        options = {name: value for name, value in self.spec.options.items() if name != "prompt"}
        return identity_of(
            Spec(self.spec.kind, self.spec.argument, options), f"{self._url} prompt {texts_stamp([self._prompt])}"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """The number of answers without names."""
        return (f"{self.unusable} answers of {self._model} had no names",) if self.unusable else ()

    def prepare(self, closed_set: ClosedSet) -> None:
        """Do nothing: the model does not use the closed set."""

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return the names in the answer for each mask; no guesses if an answer cannot be parsed."""
        check_k(k)
        with ThreadPoolExecutor(self._concurrency) as pool:
            results = [read_answer(answer, k) for answer in pool.map(lambda blank: self._ask(blank, k), blanks)]
        self.unusable += sum(not guesses.names for guesses in results)
        return results

    def question(self, blank: Blank, k: int) -> str:
        """Return the prompt for a mask."""
        text = blank.before.replace(MASK, OTHER_MASK) + MASK + blank.after.replace(MASK, OTHER_MASK)
        # Insert the text last, because it may contain {k}.
        return check_texts([self._prompt.replace("{k}", str(k)).replace("{text}", text)])[0]

    def _ask(self, blank: Blank, k: int) -> str:
        body = {"model": self._model, "messages": [{"role": "user", "content": self.question(blank, k)}]}
        answer = self._client.answer(self._url, json.dumps({**body, **self._settings}).encode())
        try:
            content = answer["choices"][0]["message"].get("content")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise GoldrankError(f"the answer of {self._url} does not have the form of a chat completion") from None
        # A model that refuses may return no content.
        return content if isinstance(content, str) else ""


def _settings(own: dict[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if own.get("temperature") != "default":
        settings["temperature"] = parse_number("temperature", own.get("temperature", "0"))
    if "max_tokens" in own:
        settings["max_tokens"] = parse_positive("max_tokens", own["max_tokens"])
    return settings


def _read_prompt(path: str) -> str:
    prompt = read_bytes(Path(path).expanduser()).decode()
    if "{text}" not in prompt:
        raise InputError(
            "the prompt has no placeholder for the text", where=path, remedy="write {text} for it, and {k} for k"
        )
    return prompt
