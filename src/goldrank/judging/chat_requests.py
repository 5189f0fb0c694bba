"""Ask a chat model many prompts: at once, within limits, each prompt only once, and with what it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from goldrank.encoders.chat import ChatAnswer, ChatEndpoint
from goldrank.encoders.http_client import RefusedError
from goldrank.errors import GoldrankError, counts
from goldrank.judging.answer_cache import AnswerCache
from goldrank.judging.limits import Budget, Price, RateLimit
from goldrank.specs import Spec

_REFUSALS = (400, 413, 422)
"""HTTP statuses by which a server refuses one text: too long, or filtered."""
_HOPELESS = 3
"""After so many refusals and no answer, it is not the texts that are wrong."""


@dataclass(frozen=True)
class Limits:
    """The limits of requests to a chat model."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    """Of a million tokens."""
    max_cost: float | None = None
    """In the currency of the price; no request is sent that could exceed it."""


@dataclass(frozen=True)
class Expense:
    """Requests, their tokens and their cost, measured or estimated."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """In the currency of the price; None without a price."""


class ChatRequests:
    """Requests to one chat model with one set of settings.

    Args:
        spec: ``KIND:MODEL@URL``.
        options: The options of `ChatEndpoint`.
        answer_tokens: What an answer is expected to have, unless ``max_tokens`` is set.
    """

    def __init__(self, spec: Spec, options: Mapping[str, str], answer_tokens: int) -> None:
        self._endpoint = ChatEndpoint(spec, options)
        self._cache = AnswerCache(self._endpoint.url, self._endpoint.model, self._endpoint.settings)
        limit = self._endpoint.settings.get("max_tokens")
        self._answer_tokens = limit if isinstance(limit, int) else answer_tokens
        self.limit(Limits())
        self.stopped = False
        """Whether the highest cost was reached before the end."""
        self._requests = self._prompt_tokens = self._completion_tokens = self._uncounted = 0
        self._refusals: list[tuple[str, RefusedError]] = []

    def limit(self, limits: Limits) -> None:
        """Set the limits."""
        self._price = limits.price
        self._rate_limit = RateLimit(limits.requests_per_minute, limits.tokens_per_minute)
        self._budget = Budget(limits.price, limits.max_cost)

    @property
    def expense(self) -> Expense:
        """What the requests so far took; tokens that the server did not state are estimated."""
        cost = self._budget.spent if self._price else None
        return Expense(self._requests, self._prompt_tokens, self._completion_tokens, cost)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was unusual about the answers."""
        number = self._uncounted
        return (f"Estimated, because the server did not state them: tokens of {counts(number, 'answer')}.",) * bool(
            number
        )

    def estimate(self, prompts: Sequence[str]) -> Expense:
        """Return about what the prompts would take that are not cached."""
        new = [prompt for prompt in dict.fromkeys(prompts) if self._cache.get(prompt) is None]
        tokens = sum(map(estimate_tokens, new)), len(new) * self._answer_tokens
        return Expense(len(new), *tokens, self._price.of(*tokens) if self._price else None)

    def ask(self, prompts: Sequence[str]) -> Iterator[list[tuple[str, ChatAnswer | RefusedError]]]:
        """Yield prompts with their answers as they come, or with the server's refusal of that prompt alone.

        Raises:
            GoldrankError: The server does not answer; what was answered until then has been yielded.
        """
        known = {prompt: self._cache.get(prompt) for prompt in prompts}
        yield [(prompt, answer) for prompt, answer in known.items() if answer is not None]
        waiting = [prompt for prompt, answer in known.items() if answer is None]
        failure: GoldrankError | None = None
        rest = iter(waiting)
        running: dict[Future[ChatAnswer], tuple[str, float]] = {}
        with ThreadPoolExecutor(self._endpoint.concurrency) as pool:
            while True:
                if failure is None:
                    self._send(rest, running, pool)
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                answers: list[tuple[str, ChatAnswer | RefusedError]] = []
                for future in done:
                    prompt, reserved = running.pop(future)
                    try:
                        answer = future.result()
                    except GoldrankError as error:
                        self._budget.settle(reserved, 0, 0)
                        # What runs is still waited for, so that no answer that was paid for is lost.
                        failure = failure or self._failure(error, prompt)
                    else:
                        self._count(prompt, answer, reserved)
                        answers.append((prompt, answer))
                yield answers
        if self._requests:
            yield [*self._refusals]
        elif self._refusals:
            failure = failure or self._refusals[0][1]
        if failure is not None:
            raise failure

    def _send(
        self, rest: Iterator[str], running: dict[Future[ChatAnswer], tuple[str, float]], pool: ThreadPoolExecutor
    ) -> None:
        """Send as many prompts as may run at once."""
        while not self.stopped and len(running) < self._endpoint.concurrency:
            if (prompt := next(rest, None)) is None:
                break
            reserved = self._budget.reserve(estimate_tokens(prompt), self._answer_tokens)
            if reserved is None:
                self.stopped = True
            else:
                running[pool.submit(self._request, prompt)] = prompt, reserved

    def _request(self, prompt: str) -> ChatAnswer:
        tokens = estimate_tokens(prompt) + self._answer_tokens
        answer = self._endpoint.ask(prompt, before_attempt=lambda: self._rate_limit.wait(tokens))
        # Here and not where it is used, so that it is kept if the process is interrupted meanwhile.
        self._cache.put(prompt, answer)
        return answer

    def _failure(self, error: GoldrankError, prompt: str) -> GoldrankError | None:
        """Return the error that ends the requests; None if the server refused this prompt only."""
        if not isinstance(error, RefusedError) or error.status not in _REFUSALS:
            return error
        self._refusals.append((prompt, error))
        return error if not self._requests and len(self._refusals) >= _HOPELESS else None

    def _count(self, prompt: str, answer: ChatAnswer, reserved: float) -> None:
        self._uncounted += answer.prompt_tokens is None or answer.completion_tokens is None
        prompt_tokens, completion_tokens = answer.prompt_tokens, answer.completion_tokens
        prompt_tokens = estimate_tokens(prompt) if prompt_tokens is None else prompt_tokens
        completion_tokens = estimate_tokens(answer.text) if completion_tokens is None else completion_tokens
        self._requests += 1
        self._prompt_tokens += prompt_tokens
        self._completion_tokens += completion_tokens
        self._budget.settle(reserved, prompt_tokens, completion_tokens)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has: one for four bytes of UTF-8.

    >>> estimate_tokens("How many tokens are these?")
    7
    """
    return -(-len(text.encode("utf-8", "replace")) // 4)
