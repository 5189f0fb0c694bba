"""A Chroma server as the index under test: loaded in batches over HTTP, searched by its HNSW.

Chroma has no transactions: a collection says in its metadata that it is being loaded, and last of all that it is whole.
What was left half-loaded is removed before the next load. The settings of HNSW belong to a collection, so that each
set of them has its own, named after the one that was asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from goldrank.errors import GoldrankError, InputError, MissingExtraError, shorten, unknown_name
from goldrank.index.base import Dense, Similarity, blocks, checked_similarity
from goldrank.index.databases.base import (
    FORMAT,
    DatabaseIndex,
    DatabaseSpec,
    Kinds,
    Marker,
    SearchResult,
    TableData,
    Value,
    chosen_options,
    numbered,
    refuse_password,
    scores_of,
    written,
)
from goldrank.progress import Progress
from goldrank.redaction import redact

KINDS: Kinds = {"hnsw": {"max_neighbors": 16, "ef_construction": 100, "ef_search": 100}}
_SPACES = {"cosine": "cosine", "dot": "ip", "l2": "l2"}
_QUERIES_AT_ONCE = 32
_LISTED_AT_ONCE = 100
_LOADING, _LOADED = "loading", "loaded"
_CONNECTING = {"tenant": "default_tenant", "database": "default_database"}


@dataclass(frozen=True)
class Server:
    """A server, where on it to look, and the name that collections are made under.

    >>> Server.parse("https://host:8000/wines?tenant=team", "KEY")
    Server(host='host', port=8000, ssl=True, name='wines', scope={'tenant': 'team'}, key='KEY', timeout=300)
    """

    host: str
    port: int
    ssl: bool
    name: str
    scope: dict[str, str]
    key: str
    """The environment variable that holds the token; empty where there is none."""
    timeout: int = 300
    """Seconds to wait for an answer."""

    @classmethod
    def parse(cls, address: str, key: str, timeout: int = timeout) -> Server:
        """Read the URL of a spec; a password or token in it is refused."""
        refuse_password(address, "leave it out, and name the environment variable of the token: key=CHROMA_TOKEN")
        parts = urlsplit(address)
        name = parts.path.strip("/")
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if parts.scheme not in ("http", "https") or not host or not name:
            raise InputError(
                f"{shorten(address, 160)} is no URL of a Chroma collection",
                remedy="write chroma:http://host:8000/collection",
            )
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,199}", name):
            raise InputError(
                f"{shorten(name)} is no name for a collection",
                remedy="use 2 to 200 letters, digits, dots, - and _, a letter or digit first",
            )
        scope = dict(parse_qsl(parts.query))
        for given in scope:
            if given not in _CONNECTING:
                raise unknown_name("part of a Chroma URL", given, _CONNECTING, " and ".join(_CONNECTING))
        ssl = parts.scheme == "https"
        return cls(host, port or (443 if ssl else 8000), ssl, name, scope, key, timeout)

    @property
    def address(self) -> str:
        """The URL, as a spec has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        query = f"?{urlencode(self.scope)}" if self.scope else ""
        return f"http{'s' if self.ssl else ''}://{host}:{self.port}/{self.name}{query}"

    def connect(self) -> Any:
        """A client of the server."""
        try:
            import chromadb
            from chromadb.config import Settings
        except ImportError:
            raise MissingExtraError("the index chroma", "chromadb", "chroma") from None
        headers = {}
        if self.key:
            token = os.environ.get(self.key)
            if not token:
                raise InputError(
                    f"the environment variable {self.key} is not set", remedy="put the token of the server into it"
                )
            # Proxies look for the one, Chroma's own service for the other.
            headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token}
        with clear_errors(f"chroma:{self.address}"):
            client = chromadb.HttpClient(
                host=self.host,
                port=self.port,
                ssl=self.ssl,
                headers=headers,
                settings=Settings(anonymized_telemetry=False),
                **{**_CONNECTING, **self.scope},
            )
        # The client would wait for ever, and a server that ran out of disk was seen to take requests and not answer.
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = self.timeout
        return client


class ChromaIndex(DatabaseIndex):
    """Items in a collection of a Chroma server, some queries to a request.

    Scores are Chroma's distances turned round: 1 minus the cosine distance, the inner product, minus the distance.
    """

    def __init__(
        self, collection: Any, server: Server, marker: Marker, similarity: Similarity, options: Mapping[str, Value]
    ) -> None:
        self.collection, self.server, self.similarity, self.options = collection, server, similarity, dict(options)
        self._marker = marker

    @classmethod
    def build(
        cls, spec: str, vectors: Any, ids: Sequence[str] | None = None, similarity: Similarity = "cosine"
    ) -> ChromaIndex:
        """Load the vectors unless an identical load is there.

        Args:
            spec: ``chroma:http://host:8000/collection(ef_search=100,…)``.
            vectors: one row per item.
            ids: their ids, by default "0", "1", ….
            similarity: ``cosine``, ``dot`` or ``l2``.
        """
        server, options = read_spec(spec)
        checked = checked_similarity(similarity)
        data = TableData.of(vectors, ids)
        client = server.connect()
        name = numbered(server.name, {option: options[option] for option in KINDS["hnsw"]}, checked)
        where = f"chroma:{server.address} ({name})"
        with clear_errors(where):
            collection = _found(client, name, data, where) or _load(client, name, server.name, data, checked, options)
        return cls(collection, server, Marker.of(data), checked, options)

    def drop(self) -> None:
        """Remove the collection."""
        client = self.server.connect()
        with clear_errors(self.spec):
            client.delete_collection(self.collection.name)

    @property
    def spec(self) -> str:
        """The spec that builds an index like this one."""
        usual = ("timeout",) if self.server.timeout == Server.timeout else ()
        return f"chroma:{self.server.address}{written(self.options, without=usual)}"

    @property
    def size(self) -> None:
        """None: the server has no call that tells it."""
        return

    def _search(self, queries: Dense, k: int) -> Iterator[SearchResult]:
        for rows in blocks(len(queries), _QUERIES_AT_ONCE):
            with clear_errors(self.spec):
                response = self.collection.query(query_embeddings=queries[rows], n_results=k, include=["distances"])
            for ids, distances in zip(response["ids"], response["distances"], strict=True):
                yield ids, scores_of(distances, self.similarity, squared=True, one_minus_dot=True)


def read_spec(spec: str) -> tuple[Server, dict[str, Value]]:
    """Return the target and the options of a spec, checked before connecting."""
    place = DatabaseSpec.parse(spec)
    options = chosen_options(place, KINDS, {"key": "", "timeout": Server.timeout}, "hnsw")
    return Server.parse(place.address, str(options["key"]), int(options["timeout"] or 0)), options


def drop(spec: str) -> list[str]:
    """Remove every collection that goldrank made under the name of a spec, whatever its settings."""
    server, _ = read_spec(spec)
    client = server.connect()
    with clear_errors(f"chroma:{server.address}"):
        names = sorted(
            collection.name
            for offset in range(0, client.count_collections(), _LISTED_AT_ONCE)
            for collection in client.list_collections(limit=_LISTED_AT_ONCE, offset=offset)
            if (collection.metadata or {}).get("goldrank_name") == server.name
        )
        for name in names:
            client.delete_collection(name)
    return names


def _found(client: Any, name: str, data: TableData, where: str) -> Any:
    """The collection, if a whole load of the same data is there; a half load of goldrank's own is removed."""
    from chromadb.errors import NotFoundError

    try:
        collection = client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None
    told = collection.metadata or {}
    if told.get("goldrank") == _LOADING:
        client.delete_collection(name)
        return None
    if told.get("goldrank") != _LOADED:
        raise InputError(
            "a collection is there that goldrank did not load", where=where, remedy="choose another collection"
        )
    marker = Marker(str(told.get("checksum")), int(told.get("count", 0)), int(told.get("dimension", 0)))
    marker.refuse_other(data, where)
    marker.refuse_changed(collection.count(), where)
    return collection


def _load(
    client: Any, name: str, given_name: str, data: TableData, similarity: str, options: Mapping[str, Value]
) -> Any:
    settings = {"space": _SPACES[similarity], **{option: options[option] for option in KINDS["hnsw"]}}
    told: dict[str, Any] = {"goldrank": _LOADING, "goldrank_name": given_name, "goldrank_format": FORMAT}
    collection = client.create_collection(
        name, configuration={"hnsw": settings}, metadata=told, embedding_function=None
    )
    actual = collection.configuration.get("hnsw") or {}
    if any(actual.get(option) != value for option, value in settings.items()):
        client.delete_collection(name)
        raise GoldrankError("this Chroma server does not take the settings of HNSW; it has to be of version 1 or later")
    with Progress("loading (chroma)", total=len(data.ids)) as progress:
        for rows in blocks(len(data.ids), client.get_max_batch_size()):
            collection.add(ids=data.ids[rows], embeddings=data.vectors[rows])
            progress.advance(rows.stop - rows.start)
    if (count := collection.count()) != len(data.ids):
        raise GoldrankError(f"the server holds {count} of {len(data.ids)} items after the load; run it again")
    whole = Marker.of(data)
    told |= {"goldrank": _LOADED, "checksum": whole.checksum, "count": whole.count, "dimension": whole.dimension}
    collection.modify(metadata=told)
    return collection


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Errors of the client as one sentence that says what became of the data."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, httpx.HTTPError, ValueError) as error:
        said = redact(str(error).strip().partition("\n")[0]) or type(error).__name__
        if re.search(r"(?i)\b40[13]\b|unauthori[sz]ed|forbidden", f"{type(error).__name__} {said}"):
            raise InputError(
                f"the server refuses the token ({said})",
                where=where,
                remedy="set it in the environment variable that key= names",
            ) from None
        if isinstance(error, httpx.ConnectError) or "Could not connect" in said:
            raise InputError(
                f"the server cannot be reached ({said})", where=where, remedy="check the URL, or start the server"
            ) from None
        raise GoldrankError(
            f"{where}: the server failed ({said}); a load that was under way is not used, run it again"
        ) from None
