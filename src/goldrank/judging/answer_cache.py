"""Keep the answers of chat models, so that no request is made twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from goldrank.encoders.chat import ChatAnswer
from goldrank.errors import GoldrankError
from goldrank.io.files import cache_folder, write_atomically
from goldrank.io.private_files import make_private_folder

FOLDER = "answers"


class AnswerCache:
    """The answers of one model with one set of settings, by prompt: a file each, written as soon as it is known."""

    def __init__(self, url: str, model: str, settings: Mapping[str, Any]) -> None:
        self._about = [url, model, dict(sorted(settings.items()))]
        self._folder = cache_folder() / FOLDER

    def get(self, prompt: str) -> ChatAnswer | None:
        """Return the answer to a prompt; None if it is not known."""
        try:
            return ChatAnswer(**json.loads(self._file(prompt).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def put(self, prompt: str, answer: ChatAnswer) -> None:
        """Keep an answer; a cache that cannot be written is not an error."""
        with suppress(OSError, GoldrankError):
            make_private_folder(self._folder)
            content = json.dumps(asdict(answer)).encode()
            write_atomically(self._file(prompt), lambda stream: stream.write(content))

    def _file(self, prompt: str) -> Any:
        digest = hashlib.sha256(json.dumps([*self._about, prompt]).encode()).hexdigest()[:32]
        return self._folder / f"{digest}.json"
