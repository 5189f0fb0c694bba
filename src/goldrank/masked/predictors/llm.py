"""Predict with chat models on an OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from goldrank.encoders.base import identity_of, take_options
from goldrank.encoders.chat import CHAT_OPTIONS, ChatEndpoint
from goldrank.encoders.provenance import texts_stamp
from goldrank.errors import InputError
from goldrank.io.files import read_bytes
from goldrank.masked.examples.chunks import MASK, Blank, Guesses
from goldrank.masked.predictors.answers import read_answer
from goldrank.masked.predictors.base import ClosedSet, check_k
from goldrank.specs import Spec

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
        own = take_options(spec, "prompt", *CHAT_OPTIONS)
        self.spec = spec
        self._endpoint = ChatEndpoint(spec, own)
        self._prompt = _read_prompt(own["prompt"]) if "prompt" in own else PROMPT
        self.unusable = 0
        """Number of answers so far without names."""

    @property
    def identity(self) -> str:
        """The model, the address and the prompt; the weights behind the name are known only to the server."""
        # The content of the prompt counts, not its path.
        options = {name: value for name, value in self.spec.options.items() if name != "prompt"}
        return identity_of(
            Spec(self.spec.kind, self.spec.argument, options),
            f"{self._endpoint.url} prompt {texts_stamp([self._prompt])}",
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """The number of answers without names."""
        return (f"{self.unusable} answers of {self._endpoint.model} had no names",) if self.unusable else ()

    def prepare(self, closed_set: ClosedSet) -> None:
        """Do nothing: the model does not use the closed set."""

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return the names in the answer for each mask; no guesses if an answer cannot be parsed."""
        check_k(k)
        with ThreadPoolExecutor(self._endpoint.concurrency) as pool:
            results = [read_answer(answer, k) for answer in pool.map(lambda blank: self._ask(blank, k), blanks)]
        self.unusable += sum(not guesses.names for guesses in results)
        return results

    def question(self, blank: Blank, k: int) -> str:
        """Return the prompt for a mask."""
        text = blank.before.replace(MASK, OTHER_MASK) + MASK + blank.after.replace(MASK, OTHER_MASK)
        # Insert the text last, because it may contain {k}.
        return self._prompt.replace("{k}", str(k)).replace("{text}", text)

    def _ask(self, blank: Blank, k: int) -> str:
        return self._endpoint.ask(self.question(blank, k)).text


def _read_prompt(path: str) -> str:
    prompt = read_bytes(Path(path).expanduser()).decode()
    if "{text}" not in prompt:
        raise InputError(
            "the prompt has no placeholder for the text", where=path, remedy="write {text} for it, and {k} for k"
        )
    return prompt
