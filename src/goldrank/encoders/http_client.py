"""Request JSON from a server over HTTP, with a key if there is one, and retry while the server is busy."""

from __future__ import annotations

import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from goldrank.encoders.base import parse_number
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.io.downloads import EndlessAnswerError, read_answer

_LONGEST_WAIT = 60.0
# A whole answer may take this many timeouts, however steadily it arrives.
_ANSWER_TIME = 10
_LONGEST_REFUSAL = 1 << 16
_REMEDIES = {
    401: "check the key",
    403: "check the permissions of the key",
    404: "check the address and the model",
}


class RefusedError(InputError):
    """The server refused a request with an HTTP status that a retry would not change."""

    status = 0


@dataclass(frozen=True)
class Client:
    """The settings of requests.

    Rate limits, server errors, timeouts and broken connections are retried after the delay that the server asks for, or
    one that doubles; any other refusal is an error at once.
    """

    key_name: str = ""
    """The environment variable that holds the key; the key itself is in no message and no attribute."""
    key_header: str = ""
    """The header that carries the key unchanged; ``Authorization: Bearer`` if empty."""
    timeout: float = 60.0
    retries: int = 5
    remedies: Mapping[int, str] = field(default_factory=dict)
    """The remedy for a refusal, by HTTP status."""
    relief: str = ""
    """The end of the remedy if the server does not answer."""
    before_attempt: Callable[[], None] | None = None
    """Called before each attempt, such as to wait for a rate limit."""

    @classmethod
    def of_options(
        cls,
        options: Mapping[str, str],
        url: str,
        *,
        key_option: str = "key",
        default_key: str = "OPENAI_API_KEY",
        timeout: str = "60",
        remedies: Mapping[int, str],
        relief: str,
    ) -> Client:
        """Return the client of a spec.

        Args:
            options: the options of the spec, of which the key, ``key_header``, ``timeout`` and ``retries`` are read.
            url: the address, which must not contain a user or password.
            key_option: the option that names the environment variable of the key.
            default_key: the variable if that option is not given.
            timeout: the default seconds of a request.
            remedies: the remedies for refusals that differ from the usual ones, by HTTP status.
            relief: the end of the remedy if the server does not answer.
        """
        _refuse_user(url, key_option)
        if key_option in options and not os.environ.get(options[key_option]):
            # The value may be the key itself, so it is not shown.
            raise InputError(
                f"{key_option}= names a variable that is not set",
                remedy="export the key under that name; never write it here",
            )
        return cls(
            key_name=options.get(key_option, default_key),
            key_header=options.get("key_header", ""),
            timeout=parse_number("timeout", options.get("timeout", timeout), low=0.001),
            retries=int(parse_number("retries", options.get("retries", "5"))),
            remedies={**_REMEDIES, **remedies},
            relief=relief,
        )

    def answer(self, url: str, body: bytes | None = None, *, name: str | None = None) -> Any:
        """Return the JSON answer to a POST of *body*, or to a GET; error messages call the server *name*."""
        name = name or url
        reason = ""
        for attempt in range(self.retries + 1):
            if self.before_attempt is not None:
                self.before_attempt()
            try:
                with urllib.request.urlopen(self._request(url, body), timeout=self.timeout) as reply:
                    return json.loads(read_answer(reply, seconds=_ANSWER_TIME * self.timeout))
            except urllib.error.HTTPError as error:
                if error.code != 429 and error.code < 500:
                    raise self._refused(error, name) from None
                delay, reason = _retry_after(error), f"HTTP {error.code}"
            except (OSError, http.client.HTTPException) as error:
                delay, reason = None, str(getattr(error, "reason", error) or type(error).__name__)
            except EndlessAnswerError as error:
                raise GoldrankError(f"{name} answered with {error}; ask for less at a time{self.relief}") from None
            except (ValueError, RecursionError):
                raise GoldrankError(f"{name} answered with something that is not JSON") from None
            if attempt < self.retries:
                if delay is None:
                    # Jitter, so that clients that were refused together do not retry together.
                    delay = min(_LONGEST_WAIT, 0.5 * 2**attempt) * random.uniform(0.5, 1)
                time.sleep(delay)
        raise GoldrankError(
            f"{name} gave no answer in {self.retries + 1} attempts ({reason}); check that the server is up{self.relief}"
        )

    def _key(self) -> str | None:
        return os.environ.get(self.key_name) if self.key_name else None

    def _request(self, url: str, body: bytes | None) -> urllib.request.Request:
        headers = {"Accept": "application/json", "User-Agent": "goldrank"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, body, headers)
        if key := self._key():
            # A redirect must not carry the key to another server.
            request.add_unredirected_header(
                self.key_header or "Authorization", key if self.key_header else f"Bearer {key}"
            )
        return request

    def _refused(self, error: urllib.error.HTTPError, name: str) -> RefusedError:
        message = _message(error)
        if key := self._key():
            message = message.replace(key, "***")
        remedy = self.remedies.get(error.code, "check the request")
        if error.code in (401, 403) and self.key_name:
            remedy += f" in ${self.key_name}"
        what = f"{name} refused with HTTP {error.code}{message and ': '}{message[:160]}"
        refused = RefusedError(what, remedy=remedy)
        refused.status = error.code
        return refused


def _refuse_user(url: str, option: str) -> None:
    """Raise if a URL holds a user or a password, which would be sent with every request and shown in errors."""
    try:
        parts = urlsplit(url)
        has_user = parts.username is not None or parts.password is not None
    except ValueError:
        raise InputError(f"{shorten(url)} is not an address", remedy="write https://host/path") from None
    if has_user:
        raise InputError("the address holds a password", where=url, remedy=f"remove it, and use {option}=VARIABLE")


def _message(error: urllib.error.HTTPError) -> str:
    """Return the message of a refusal, {"error": {"message": …}} or {"error": …}; empty if it cannot be read."""
    try:
        content = json.loads(error.read(_LONGEST_REFUSAL))
        inner = content.get("error", content)
        return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
    except (ValueError, OSError, AttributeError, RecursionError, http.client.HTTPException):
        return ""


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    """Return the seconds that a server asks to wait, given as seconds or as a date."""
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
    return min(max(0.0, wait), _LONGEST_WAIT)  # in this order NaN becomes 0
