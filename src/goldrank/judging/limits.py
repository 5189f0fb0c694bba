"""Limits of requests: so many requests and tokens per minute, and a highest cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from goldrank.errors import InputError, shorten


@dataclass(frozen=True)
class Price:
    """The price of a million tokens, in any currency.

    >>> Price.parse("0.15/0.60").of(2_000_000, 100_000)
    0.36
    """

    prompt: float
    completion: float

    @classmethod
    def parse(cls, text: str) -> Price:
        """Parse ``PROMPT/COMPLETION``, or one price for both."""
        parts = text.split("/")
        try:
            values = [float(part) for part in parts]
        except ValueError:
            values = []
        if not 1 <= len(values) <= 2 or not all(0 <= value < 1e9 for value in values):
            raise InputError(
                f"the price {shorten(text)} is not one or two numbers",
                remedy="write the prices of a million tokens of prompts and answers, such as 0.15/0.60",
            )
        return cls(values[0], values[-1])

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of so many tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


class RateLimit:
    """Spaces requests evenly, so that in no minute there are more requests or tokens than allowed.

    A request waits until those before it are paid for: with 60 requests per minute, a second after the one before.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        for name, value in (("requests", requests_per_minute), ("tokens", tokens_per_minute)):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"the limit of {value:g} {name} per minute", remedy="give a number above 0")
        self._requests, self._tokens = requests_per_minute, tokens_per_minute
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._free = clock()

    def wait(self, tokens: int) -> None:
        """Wait until a request of so many tokens may be sent."""
        seconds = [0.0]
        if self._requests is not None:
            seconds.append(60 / self._requests)
        if self._tokens is not None:
            seconds.append(60 * tokens / self._tokens)
        with self._lock:
            now = self._clock()
            start = max(now, self._free)
            self._free = start + max(seconds)
        if start > now:
            self._sleep(start - now)


class Budget:
    """Refuses a request that could raise the cost above the limit, together with those that are running."""

    def __init__(self, price: Price | None = None, limit: float | None = None) -> None:
        if limit is not None and price is None:
            raise InputError("a highest cost needs a price", remedy="give the price of a million tokens with --price")
        if limit is not None and not 0 <= limit < float("inf"):
            raise InputError(f"the highest cost {limit:g} is not a number from 0 up", remedy="give one such as 2.50")
        self._price, self._limit = price, limit
        self._lock = threading.Lock()
        self.spent = 0.0
        """The cost of what was answered."""
        self._reserved = 0.0

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return the cost that a request is expected to have, which is set aside; None if the budget is used up."""
        cost = self._price.of(prompt_tokens, completion_tokens) if self._price else 0.0
        with self._lock:
            if self._limit is not None and self.spent + self._reserved + cost > self._limit:
                return None
            self._reserved += cost
        return cost

    def settle(self, reserved: float, prompt_tokens: int, completion_tokens: int) -> None:
        """Replace what was set aside for a request by what it has cost."""
        cost = self._price.of(prompt_tokens, completion_tokens) if self._price else 0.0
        with self._lock:
            self._reserved -= reserved
            self.spent += cost
