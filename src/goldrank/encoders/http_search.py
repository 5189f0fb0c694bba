"""A live search server as a model: any address that answers a query with JSON, Elasticsearch, Typesense, Vespa …"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from goldrank.encoders.base import Options, checked_texts, identity_of, number, one_of, positive, refuse_ids
from goldrank.encoders.http_client import Client, refuse_unset
from goldrank.encoders.rankings import KnownItems, as_ranking, refuse_k
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.hits import Run
from goldrank.progress import Progress
from goldrank.specs import Spec

_OWN = (
    "method", "query", "size", "results", "id", "score", "body", "key_env", "key_header", "timeout", "retries",
    "concurrency",
)  # fmt: skip
_NONE_OF_THEM = ("query_prompt", "item_prompt", "batch_size", "device", "dtype", "max_length", "dim")
_REMEDY = {
    400: "check the names of the fields (query=, size=, body=)",
    401: "check the key, and name its variable with key_env=",
    403: "check what the key may do",
    404: "check the address",
    405: "try method=post or method=get",
    414: "send long queries with method=post",
}


class HttpSearch:
    """``http:URL``: asks ``URL?q=…&k=…``, or with ``method=post`` sends ``{"q": …, "k": …}``.

    ``query=`` and ``size=`` name the fields of the question, ``results=`` the list in the answer (empty where the
    answer itself is the list), ``id=`` and ``score=`` the fields of each result. All may be dotted paths:
    ``query=query.match.text`` sends ``{"query": {"match": {"text": …}}}``. ``body=`` is a JSON object with whatever
    else a POST has to say. The key is read from the variable that ``key_env=`` names and sent as a bearer token, or
    as it is in the header that ``key_header=`` names. Where results have no score, their order counts.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        _, own = Options.take(spec, *_OWN, without=_NONE_OF_THEM)
        self._url = _checked_url(spec.argument)
        self._posts = one_of("method", own.get("method", "get").lower(), ("get", "post")) == "post"
        self._query, self._size = _path("query", own, "q"), _path("size", own, "k")
        self._results, self._id = own.get("results", "results"), own.get("id", "id")
        self._score, self._scored = own.get("score", "score"), "score" in own
        self._body = _checked_body(own.get("body"), self._posts)
        self._question("", 1)  # so that a body with no room for it is refused now
        if "key_env" in own:
            refuse_unset("key_env", own["key_env"])
        elif "key_header" in own:
            raise InputError("key_header= says nothing without a key", remedy="name the key's variable with key_env=")
        self._client = Client(
            key_name=own.get("key_env", ""),
            key_header=own.get("key_header", ""),
            timeout=number("timeout", own.get("timeout", "60"), low=0.001),
            retries=int(number("retries", own.get("retries", "5"))),
            remedies=_REMEDY,
            relief=", or lower concurrency",
        )
        self._concurrency = positive("concurrency", own.get("concurrency", "1"))
        self._known = KnownItems()

    @property
    def identity(self) -> str:
        """The address and how it is asked; what stands behind it only the server knows."""
        return identity_of(self.spec, "live")

    @property
    def unknown(self) -> frozenset[str]:
        """Found ids that are no items of the corpus."""
        return self._known.unknown

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Remember the ids of the items, to check what is found; the server has its own corpus."""
        self._known.set(ids)

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """The k best items of each query, several asked for at a time if so told."""
        refuse_k(k)
        texts = checked_texts(texts)
        refuse_ids(ids, texts)
        rankings: dict[str, dict[str, float]] = {}
        pool = ThreadPoolExecutor(self._concurrency)
        try:
            with Progress(f"searching with {self.spec}", total=len(texts), unit="query") as progress:
                for query, ranking in zip(ids, pool.map(partial(self._ranking, k), ids, texts), strict=True):
                    rankings[query] = ranking
                    progress.advance()
        finally:
            # After a failure the queries that still wait are not sent.
            pool.shutdown(cancel_futures=True)
        self._known.check((item for ranking in rankings.values() for item in ranking), self._url)
        return Run(rankings)

    def _ranking(self, k: int, query: str, text: str) -> dict[str, float]:
        where = f"{self._url}: query {shorten(query)}"
        if self._posts:
            answer = self._client.answer(self._url, self._question(text, k), name=where)
        else:
            parts = urlsplit(self._url)
            asked_for = urlencode({".".join(self._query): text, ".".join(self._size): k})
            url = urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, asked_for)))))
            answer = self._client.answer(url, name=where)
        try:
            return as_ranking(self._found(answer), k, where)
        except InputError as error:
            # What a server says is no input of the user's: it failed.
            raise GoldrankError(str(error)) from None
        except LookupError as error:
            raise GoldrankError(f"{where}: {error.args[0]}; name the right field") from None

    def _question(self, text: str, k: int) -> bytes:
        asked: dict[str, Any] = json.loads(self._body)
        _put(asked, self._query, text)
        _put(asked, self._size, k)
        return json.dumps(asked).encode()

    def _found(self, answer: Any) -> list[Any]:
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


def _put(asked: dict[str, Any], path: Sequence[str], value: object) -> None:
    *outer, last = path
    for name in outer:
        inner = asked.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InputError(f"body= has no room for {'.'.join(path)}", remedy=f"make {name!r} an object there")
        asked = inner
    asked[last] = value


def _path(option: str, own: dict[str, str], default: str) -> list[str]:
    path = own.get(option, default).split(".")
    if not all(path):
        raise InputError(f"{option}={own[option]!r} is no field", remedy=f"write {option}={default}, or a.dotted.path")
    return path


def _checked_url(argument: str) -> str:
    # `http://host` by itself is a spec too, of the kind http.
    url = f"http:{argument}" if argument.startswith("//") else argument
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1)
    except ValueError:
        complete = False
    if not complete:
        raise InputError(f"http:{argument} is no address", remedy="write http:https://host/search")
    if parts.username or parts.password:
        raise InputError("the address of a search holds a password", remedy="take it out, and use key_env=")
    return quote(url, safe="%/:?&=#+,;@[]!$'()*~-._")


def _checked_body(text: str | None, posts: bool) -> str:
    if text is None:
        return "{}"
    if not posts:
        raise InputError("body= says nothing in a GET", remedy="add method=post")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise InputError(f"body={shorten(text)} is no JSON object", remedy="""write body='{"name": "value"}'""")
    return text
