"""Asks a server for JSON over HTTP, with a key if there is one, and again where it was only busy."""

from __future__ import annotations

import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from goldrank.encoders.base import number
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.io.downloads import EndlessAnswerError, read_answer

_LONGEST_WAIT = 60.0
# So many timeouts may a whole answer take, however steadily it comes.
_ANSWER_TIME = 10
_LONGEST_REFUSAL = 1 << 16


@dataclass(frozen=True)
class Client:
    """How to ask.

    Rate limits, server errors, timeouts and broken connections are tried again, after the time the server asks for
    or one that doubles; any other refusal is an error at once.
    """

    key_name: str = ""
    """The environment variable that holds the key; the key itself is in no message and no attribute."""
    key_header: str = ""
    """The header that carries the key as it is; ``Authorization: Bearer`` if empty."""
    timeout: float = 60.0
    retries: int = 5
    remedies: Mapping[int, str] = field(default_factory=dict)
    """What to do about a refusal, by HTTP status."""
    relief: str = ""
    """What else to try when the server does not answer."""

    @classmethod
    def of_options(
        cls, options: Mapping[str, str], url: str, *, timeout: str, remedies: Mapping[int, str], relief: str
    ) -> Client:
        """Return the client of a spec with the options ``key``, ``timeout`` and ``retries``."""
        refuse_user(url, "key")
        if "key" in options:
            refuse_unset("key", options["key"])
        return cls(
            key_name=options.get("key", "OPENAI_API_KEY"),
            timeout=number("timeout", options.get("timeout", timeout), low=0.001),
            retries=int(number("retries", options.get("retries", "5"))),
            remedies=remedies,
            relief=relief,
        )

    def answer(self, url: str, body: bytes | None = None, *, name: str | None = None) -> Any:
        """The JSON that the server answers to a POST of *body*, or to a GET; messages call it *name*."""
        name = name or url
        reason = ""
        for attempt in range(self.retries + 1):
            try:
                with urllib.request.urlopen(self._request(url, body), timeout=self.timeout) as reply:
                    return json.loads(read_answer(reply, seconds=_ANSWER_TIME * self.timeout))
            except urllib.error.HTTPError as error:
                if error.code != 429 and error.code < 500:
                    raise self._refused(error, name) from None
                asked, reason = _retry_after(error), f"HTTP {error.code}"
            except (OSError, http.client.HTTPException) as error:
                asked, reason = None, str(getattr(error, "reason", error) or type(error).__name__)
            except EndlessAnswerError as error:
                raise GoldrankError(f"{name} answered with {error}; ask for less at a time{self.relief}") from None
            except (ValueError, RecursionError):
                raise GoldrankError(f"{name} answered with something that is not JSON") from None
            if attempt < self.retries:
                # Jitter, so that many clients turned away together do not come back together.
                time.sleep(
                    asked if asked is not None else min(_LONGEST_WAIT, 0.5 * 2**attempt) * random.uniform(0.5, 1)
                )
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
            # A server that sends us elsewhere must not send the key there too.
            request.add_unredirected_header(
                self.key_header or "Authorization", key if self.key_header else f"Bearer {key}"
            )
        return request

    def _refused(self, error: urllib.error.HTTPError, name: str) -> InputError:
        said = _message(error)
        if key := self._key():
            said = said.replace(key, "***")
        remedy = self.remedies.get(error.code, "check the request")
        if error.code in (401, 403) and self.key_name:
            remedy += f" in ${self.key_name}"
        return InputError(f"{name} refused with HTTP {error.code}{said and ': '}{said[:160]}", remedy=remedy)


def refuse_unset(option: str, variable: str) -> None:
    """Raise where the variable that an option names is not set; it is perhaps the key itself, so not repeated."""
    if not os.environ.get(variable):
        raise InputError(
            f"{option}= names a variable that is not set", remedy="export the key under that name; never write it here"
        )


def refuse_user(url: str, option: str) -> None:
    """Raise where an address holds a user or a password: it would be sent with every request, and shown in errors."""
    try:
        parts = urlsplit(url)
        holds = parts.username is not None or parts.password is not None
    except ValueError:
        raise InputError(f"{shorten(url)} is no address", remedy="write https://host/path") from None
    if holds:
        raise InputError("the address holds a password", where=url, remedy=f"take it out, and use {option}=VARIABLE")


def _message(error: urllib.error.HTTPError) -> str:
    """What a refusing server says: {"error": {"message": …}} or {"error": …}, or nothing that can be read."""
    try:
        told = json.loads(error.read(_LONGEST_REFUSAL))
        inner = told.get("error", told)
        return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
    except (ValueError, OSError, AttributeError, RecursionError, http.client.HTTPException):
        return ""


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
    return min(max(0.0, wait), _LONGEST_WAIT)  # in this order "nan" is 0 too
