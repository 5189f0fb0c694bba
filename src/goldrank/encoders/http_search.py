"""A search server as a searcher: any URL that answers a query with JSON, such as Elasticsearch, Typesense or Vespa."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from goldrank.encoders.base import LIVE, parse_choice, parse_positive
from goldrank.encoders.http_client import Client
from goldrank.encoders.rankings import ExternalSearcher, as_ranking
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.specs import Spec

_OWN = (
    "method", "query", "size", "results", "id", "score", "body", "key_env", "key_header", "timeout", "retries",
    "concurrency",
)  # fmt: skip
_REMEDIES = {
    400: "check the names of the fields (query=, size=, body=)",
    401: "check the key, and name its variable with key_env=",
    404: "check the address",
    405: "try method=post or method=get",
    414: "send long queries with method=post",
}


class HttpSearch(ExternalSearcher):
    """``http:URL``: requests ``URL?q=…&k=…``, or with ``method=post`` sends ``{"q": …, "k": …}``.

    ``query=`` and ``size=`` name the fields of the request, ``results=`` the list in the answer (empty if the answer
    itself is the list), ``id=`` and ``score=`` the fields of each result. All may be dotted paths:
    ``query=query.match.text`` sends ``{"query": {"match": {"text": …}}}``. ``body=`` is a JSON object with the other
    fields of a POST. The key is read from the environment variable that ``key_env=`` names and sent as a bearer token,
    or unchanged in the header that ``key_header=`` names. Results without scores are ranked by their order.
    """

    live = True
    resumable = True

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, *_OWN)
        own = self._own
        self._url = _checked_url(spec.argument)
        self._posts = parse_choice("method", own.get("method", "get").lower(), ("get", "post")) == "post"
        self._query, self._size = _path("query", own, "q"), _path("size", own, "k")
        self._results, self._id = own.get("results", "results"), own.get("id", "id")
        self._score, self._scored = own.get("score", "score"), "score" in own
        self._body = _checked_body(own.get("body"), self._posts)
        self._request_body("", 1)  # refuses a body without room for the query
        if "key_header" in own and "key_env" not in own:
            raise InputError("key_header= has no effect without a key", remedy="name the key's variable with key_env=")
        self._client = Client.of_options(
            own, self._url, key_option="key_env", default_key="", remedies=_REMEDIES, relief=", or lower concurrency"
        )
        self._concurrency = parse_positive("concurrency", own.get("concurrency", "1"))

    @property
    def version(self) -> str:
        """Unknown: a server does not tell the version of its index."""
        return LIVE

    def rank(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Iterator[dict[str, float]]:
        """Send the queries, ``concurrency`` at a time."""
        pool = ThreadPoolExecutor(self._concurrency)
        try:
            yield from pool.map(partial(self._ranking, k), ids, texts)
        finally:
            # After a failure, the queries that are still waiting are not sent.
            pool.shutdown(cancel_futures=True)

    def _ranking(self, k: int, query: str, text: str) -> dict[str, float]:
        where = f"{self._url}: query {shorten(query)}"
        if self._posts:
            answer = self._client.answer(self._url, self._request_body(text, k), name=where)
        else:
            parts = urlsplit(self._url)
            added = urlencode({".".join(self._query): text, ".".join(self._size): k})
            url = urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, added)))))
            answer = self._client.answer(url, name=where)
        try:
            return as_ranking(self._results_of(answer), k, where)
        except InputError as error:
            # An answer that cannot be used is a failure of the server, not bad input of the user.
            raise GoldrankError(str(error)) from None
        except LookupError as error:
            raise GoldrankError(f"{where}: {error.args[0]}; name the right field") from None

    def _request_body(self, text: str, k: int) -> bytes:
        body: dict[str, Any] = json.loads(self._body)
        _put(body, self._query, text)
        _put(body, self._size, k)
        return json.dumps(body).encode()

    def _results_of(self, answer: Any) -> list[Any]:
        results = _take(answer, self._results, "results", "the answer")
        if not isinstance(results, list):
            raise LookupError(f"results={self._results} is {type(results).__name__}, not a list")
        if not any(isinstance(result, dict) for result in results):
            return results
        ids = [_take(result, self._id, "id", f"result {at}") for at, result in enumerate(results, start=1)]
        if not self._scored and not any(isinstance(result, dict) and self._score in result for result in results):
            return ids
        scores = [_take(result, self._score, "score", f"result {at}") for at, result in enumerate(results, start=1)]
        return list(zip(ids, scores, strict=True))


def _take(value: Any, path: str, option: str, what: str) -> Any:
    for name in path.split(".") if path else ():
        if not isinstance(value, dict) or name not in value:
            there = f"it has {', '.join(map(str, value))}" if isinstance(value, dict) else f"it is {shorten(value)}"
            raise LookupError(f"{what} has no {option}={path} ({there[:120]})")
        value = value[name]
    return value


def _put(body: dict[str, Any], path: Sequence[str], value: object) -> None:
    *outer, last = path
    for name in outer:
        inner = body.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InputError(f"body= has no room for {'.'.join(path)}", remedy=f"make {name!r} an object there")
        body = inner
    body[last] = value


def _path(option: str, own: dict[str, str], default: str) -> list[str]:
    path = own.get(option, default).split(".")
    if not all(path):
        raise InputError(
            f"{option}={own[option]!r} is not a field", remedy=f"write {option}={default} or a dotted path"
        )
    return path


def _checked_url(argument: str) -> str:
    # `http://host` without another `http:` is parsed as the kind http too.
    url = f"http:{argument}" if argument.startswith("//") else argument
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1)
    except ValueError:
        complete = False
    if not complete:
        raise InputError(f"http:{argument} is not an address", remedy="write http:https://host/search")
    return quote(url, safe="%/:?&=#+,;@[]!$'()*~-._")


def _checked_body(text: str | None, posts: bool) -> str:
    if text is None:
        return "{}"
    if not posts:
        raise InputError("body= has no effect on a GET request", remedy="add method=post")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise InputError(f"body={shorten(text)} is not a JSON object", remedy="""write body='{"name": "value"}'""")
    return text
