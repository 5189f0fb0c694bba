"""A Chroma server as the index under test: loaded in batches over HTTP, searched by HNSW.

Chroma has no transactions: the metadata of a collection say that it is being loaded, and after the last batch that it
is complete. An incomplete load is removed before the next one. The settings of HNSW belong to a collection, so that
each set of options has a collection of its own, named after the requested one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from goldrank.errors import GoldrankError, InputError, MissingExtraError, shorten, unknown_name
from goldrank.index.base import Dense, Similarity, blocks
from goldrank.index.databases.base import (
    FORMAT,
    DatabaseIndex,
    DatabaseSpec,
    Kinds,
    Marker,
    SearchResult,
    TableData,
    Value,
    fill_options,
    format_options,
    name_variant,
    refuse_password,
    scores_of,
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
class ChromaTarget:
    """A server with the tenant and database, and the name under which collections are created.

    >>> ChromaTarget.parse("https://host:8000/wines?tenant=team", "KEY")
    ChromaTarget(host='host', port=8000, ssl=True, name='wines', scope={'tenant': 'team'}, key='KEY', timeout=300)
    """

    host: str
    port: int
    ssl: bool
    name: str
    scope: dict[str, str]
    key: str
    """The environment variable with the token; empty if the server needs none."""
    timeout: int = 300
    """The timeout of a request in seconds."""

    @classmethod
    def parse(cls, address: str, key: str, timeout: int = timeout) -> ChromaTarget:
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
                f"{shorten(address, 160)} is not the URL of a Chroma collection",
                remedy="write chroma:http://host:8000/collection",
            )
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,199}", name):
            raise InputError(
                f"{shorten(name)} is not a valid name of a collection",
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
        """Return a client of the server."""
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
            # Proxies read the first header, Chroma's own service the second.
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
        # The client has no timeout, and a server without disk space was seen to accept requests and never answer.
        session = getattr(getattr(client, "_server", None), "_session", None)
        if session is not None:
            session.timeout = self.timeout
        return client


def read_spec(spec: str) -> tuple[ChromaTarget, dict[str, Value]]:
    """Return the target and the options of a spec, checked before connecting."""
    parsed = DatabaseSpec.parse(spec)
    options = fill_options(parsed, KINDS, {"key": "", "timeout": ChromaTarget.timeout}, "hnsw")
    return ChromaTarget.parse(parsed.address, str(options["key"]), int(options["timeout"] or 0)), options


class ChromaIndex(DatabaseIndex):
    """Items in a collection of a Chroma server; several queries are sent in one request."""

    _read_spec = staticmethod(read_spec)

    def __init__(
        self,
        collection: Any,
        server: ChromaTarget,
        marker: Marker,
        similarity: Similarity,
        options: Mapping[str, Value],
    ) -> None:
        self.collection, self.server, self.similarity, self.options = collection, server, similarity, dict(options)
        self._marker = marker

    @classmethod
    def _load(
        cls, server: ChromaTarget, data: TableData, similarity: Similarity, options: dict[str, Value]
    ) -> ChromaIndex:
        client = server.connect()
        name = name_variant(server.name, {option: options[option] for option in KINDS["hnsw"]}, similarity)
        where = f"chroma:{server.address} ({name})"
        with clear_errors(where):
            collection = _find_load(client, name, data, where)
            if collection is None:
                collection = _create_collection(client, name, server.name, data, similarity, options)
        return cls(collection, server, Marker.of(data), similarity, options)

    def drop(self) -> None:
        """Remove the collection."""
        client = self.server.connect()
        with clear_errors(self.spec):
            client.delete_collection(self.collection.name)

    @property
    def spec(self) -> str:
        """The spec that builds an index like this one."""
        default = ("timeout",) if self.server.timeout == ChromaTarget.timeout else ()
        return f"chroma:{self.server.address}{format_options(self.options, without=default)}"

    @property
    def size(self) -> None:
        """None: Chroma does not report it."""
        return

    def _search(self, queries: Dense, k: int) -> Iterator[SearchResult]:
        for rows in blocks(len(queries), _QUERIES_AT_ONCE):
            with clear_errors(self.spec):
                response = self.collection.query(query_embeddings=queries[rows], n_results=k, include=["distances"])
            for ids, distances in zip(response["ids"], response["distances"], strict=True):
                yield ids, scores_of(distances, self.similarity, squared=True, one_minus_dot=True)


def drop(spec: str) -> list[str]:
    """Remove every collection that goldrank created under the name of a spec, and return their names."""
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


def _find_load(client: Any, name: str, data: TableData, where: str) -> Any:
    """Return the collection with a complete load of the same data, or None; remove an incomplete load."""
    from chromadb.errors import NotFoundError

    try:
        collection = client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return None
    metadata = collection.metadata or {}
    if metadata.get("goldrank") == _LOADING:
        client.delete_collection(name)
        return None
    if metadata.get("goldrank") != _LOADED:
        raise InputError(
            "the collection exists, and goldrank did not load it", where=where, remedy="choose another collection"
        )
    marker = Marker(str(metadata.get("checksum")), int(metadata.get("count", 0)), int(metadata.get("dimension", 0)))
    marker.refuse_other(data, where)
    marker.refuse_changed(collection.count(), where)
    return collection


def _create_collection(
    client: Any, name: str, given_name: str, data: TableData, similarity: str, options: Mapping[str, Value]
) -> Any:
    settings = {"space": _SPACES[similarity], **{option: options[option] for option in KINDS["hnsw"]}}
    metadata: dict[str, Any] = {"goldrank": _LOADING, "goldrank_name": given_name, "goldrank_format": FORMAT}
    collection = client.create_collection(
        name, configuration={"hnsw": settings}, metadata=metadata, embedding_function=None
    )
    actual = collection.configuration.get("hnsw") or {}
    if any(actual.get(option) != value for option, value in settings.items()):
        client.delete_collection(name)
        raise GoldrankError("this Chroma server ignores the settings of HNSW; version 1 or later is required")
    with Progress("loading (chroma)", total=len(data.ids)) as progress:
        for rows in blocks(len(data.ids), client.get_max_batch_size()):
            collection.add(ids=data.ids[rows], embeddings=data.vectors[rows])
            progress.advance(rows.stop - rows.start)
    if (count := collection.count()) != len(data.ids):
        raise GoldrankError(f"the server holds {count} of {len(data.ids)} items after the load; run it again")
    collection.modify(metadata={**metadata, "goldrank": _LOADED, **asdict(Marker.of(data))})
    return collection


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Raise errors of the client as one sentence that says whether a load has to be repeated."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, httpx.HTTPError, ValueError) as error:
        message = redact(str(error).strip().partition("\n")[0]) or type(error).__name__
        if re.search(r"(?i)\b40[13]\b|unauthori[sz]ed|forbidden", f"{type(error).__name__} {message}"):
            raise InputError(
                f"the server refuses the token ({message})",
                where=where,
                remedy="set it in the environment variable that key= names",
            ) from None
        if isinstance(error, httpx.ConnectError) or "Could not connect" in message:
            raise InputError(
                f"the server cannot be reached ({message})", where=where, remedy="check the URL, or start the server"
            ) from None
        raise GoldrankError(
            f"{where}: the server failed ({message}); an incomplete load is not used, run it again"
        ) from None
