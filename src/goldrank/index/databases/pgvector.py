"""PostgreSQL with pgvector as the index under test: loaded by binary COPY, searched exactly, by HNSW or by IVFFlat.

Everything that goldrank creates is in one schema: a table for each data set, its indexes, and the table of markers.
Data and marker are written in one transaction, so that a load is complete or absent.
"""

from __future__ import annotations

import hashlib
import re
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np

from goldrank.errors import GoldrankError, InputError, shorten, unknown_name
from goldrank.index.base import Dense, Similarity, blocks
from goldrank.index.databases.base import (
    DatabaseIndex,
    DatabaseSpec,
    Kinds,
    Marker,
    SearchResult,
    TableData,
    Value,
    fill_options,
    format_options,
    refuse_password,
    scores_of,
)
from goldrank.index.databases.postgresql import (
    COPY_END,
    COPY_START,
    TYPES,
    clear_errors,
    connect,
    drop_loads,
    exists,
    fetch_value,
    lock,
    make_schema,
    packed_rows,
    read_marker,
    write_marker,
)
from goldrank.progress import Progress

KINDS: Kinds = {
    "exact": {},
    "hnsw": {"m": 16, "ef_construction": 64, "ef_search": 40, "iterative_scan": "off"},
    "ivfflat": {"lists": 100, "probes": 1, "iterative_scan": "off"},
}
_SEARCH_OPTIONS = ("ef_search", "probes", "iterative_scan")
_SCANS = ("off", "relaxed_order", "strict_order")
_OPERATORS = {"cosine": "<=>", "dot": "<#>", "l2": "<->"}
_CLASSES = {"cosine": "cosine", "dot": "ip", "l2": "l2"}
_COPY_ROWS = 1 << 8


@dataclass(frozen=True)
class PostgresTarget:
    """A database, and the schema and table in it.

    >>> PostgresTarget.parse("postgresql://ann@host/db?sslmode=require&schema=tests&table=wines")
    PostgresTarget(url='postgresql://ann@host/db?sslmode=require', schema='tests', table='wines')
    """

    url: str
    schema: str = "goldrank"
    table: str | None = None
    """None stands for a name derived from the checksum of the data."""

    @classmethod
    def parse(cls, address: str) -> PostgresTarget:
        """Read the URL of a spec; a password in it is refused, because specs are stored and shown."""
        refuse_password(address, "leave it out and set PGPASSWORD, or write it into ~/.pgpass")
        parts = urlsplit(address)
        if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
            raise InputError(
                f"{shorten(address, 160)} is not the URL of a PostgreSQL database",
                remedy="write pgvector:postgresql://user@host:5432/database?table=name(index=hnsw)",
            )
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema, table = query.pop("schema", cls.schema), query.pop("table", None)
        for name in (schema, table):
            if name is not None and not re.fullmatch(r"[a-z_][a-z0-9_]{0,47}", name):
                raise InputError(
                    f"{shorten(name)} is not a valid name of a schema or table",
                    remedy="use up to 48 lower-case letters, digits and _, not starting with a digit",
                )
        return cls(urlunsplit(parts._replace(query=urlencode(query))), schema, table)

    def address(self, table: str) -> str:
        """Return the URL with schema and table, as a spec has it."""
        parts = urlsplit(self.url)
        query = [*parse_qsl(parts.query), ("schema", self.schema), ("table", table)]
        return urlunsplit(parts._replace(query=urlencode(query)))


def read_spec(spec: str) -> tuple[PostgresTarget, dict[str, Value]]:
    """Return the target and the options of a spec, checked before connecting."""
    parsed = DatabaseSpec.parse(spec)
    options = fill_options(parsed, KINDS, {"type": "vector"}, "exact")
    for name, allowed in (("type", tuple(TYPES)), ("iterative_scan", _SCANS)):
        if name in options and options[name] not in allowed:
            raise unknown_name(f"value of the option {name}", str(options[name]), allowed, " or ".join(allowed))
    return PostgresTarget.parse(parsed.address), options


class PgvectorIndex(DatabaseIndex):
    """Items in a table of PostgreSQL, searched by pgvector over one connection, one query at a time."""

    _without_zero = "pgvector"
    _read_spec = staticmethod(read_spec)

    def __init__(
        self,
        connection: Any,
        target: PostgresTarget,
        table: str,
        marker: Marker,
        similarity: Similarity,
        options: Mapping[str, Value],
    ) -> None:
        self.target, self.table, self.similarity, self.options = target, table, similarity, dict(options)
        self._connection, self._marker = connection, marker
        self._close = weakref.finalize(self, connection.close)

    @classmethod
    def _load(
        cls, target: PostgresTarget, data: TableData, similarity: Similarity, options: dict[str, Value]
    ) -> PgvectorIndex:
        if options["type"] == "halfvec":
            _refuse_too_large(data)
        table = target.table or f"items_{data.checksum[:16]}_{options['type']}"
        where = f"pgvector:{target.address(table)}"
        index = cls(connect(target.url, where), target, table, Marker.of(data), similarity, options)
        try:
            with clear_errors(where):
                index._create_table(data, where)
                index._create_index()
                index._configure_search(where)
        except BaseException:
            index.close()
            raise
        return index

    def close(self) -> None:
        """Close the connection; the loaded data stay."""
        self._close()

    def drop(self) -> None:
        """Remove the table, its indexes and its marker."""
        with clear_errors(self.spec):
            drop_loads(self._connection, self.target.schema, self.table)

    @property
    def spec(self) -> str:
        """The spec that builds an index like this one."""
        return f"pgvector:{self.target.address(self.table)}{format_options(self.options)}"

    @property
    def size(self) -> int:
        """The bytes of the table with its TOAST data, and of the index that is searched, if any."""
        name = f"{self.target.schema}.{self.table}"
        with clear_errors(self.spec):
            size = fetch_value(self._connection, "SELECT pg_table_size(%s::regclass)", name)
            if self.options["index"] != "exact":
                index = f"{self.target.schema}.{self._index_name}"
                size += fetch_value(self._connection, "SELECT pg_relation_size(%s::regclass)", index)
        return int(size)

    @property
    def _number(self) -> int:
        """A number that identifies this index among those of the table, from the similarity and the build options."""
        build_options = [(n, v) for n, v in self.options.items() if n not in _SEARCH_OPTIONS]
        return int(hashlib.sha256(repr((self.similarity, build_options)).encode()).hexdigest()[:7], 16) + 1

    @property
    def _index_name(self) -> str:
        return f"{self.table}_{self._number:07x}"

    @property
    def _table(self) -> str:
        # Both names were checked to be letters, digits and _.
        return f'"{self.target.schema}"."{self.table}"'

    def _create_table(self, data: TableData, where: str) -> None:
        schema, kind = self.target.schema, str(self.options["type"])
        make_schema(self._connection, schema)
        with self._connection.transaction():
            # If two processes load the same table at once, the second waits and finds a complete load.
            lock(self._connection, schema, self.table)
            marker = read_marker(self._connection, schema, self.table)
            if exists(self._connection, schema, self.table):
                if marker is None:
                    raise InputError(
                        "the table exists, and goldrank did not load it", where=where, remedy="choose another table="
                    )
                loaded, loaded_as = marker
                loaded.refuse_other(data, where)
                if loaded_as != kind:
                    raise InputError(f"the table holds {loaded_as}", where=where, remedy="choose another table=")
                loaded.refuse_changed(fetch_value(self._connection, f"SELECT count(*) FROM {self._table}"), where)
                return
            self._connection.execute(
                f"CREATE TABLE {self._table} "
                f"(position bigint NOT NULL, id text NOT NULL, embedding {kind}({data.dimension}) NOT NULL)"
            )
            # With FREEZE the first search does not have to write to every page that it reads.
            self._copy(data, f"COPY {self._table} FROM STDIN (FORMAT BINARY, FREEZE)")
            write_marker(self._connection, schema, self.table, self._marker, kind)

    def _copy(self, data: TableData, statement: str) -> None:
        with (
            self._connection.cursor() as cursor,
            cursor.copy(statement) as copy,
            Progress("loading (pgvector)", total=len(data.ids)) as progress,
        ):
            copy.write(COPY_START)
            for rows in blocks(len(data.ids), _COPY_ROWS):
                copy.write(packed_rows(data.ids[rows], data.vectors[rows], rows.start, str(self.options["type"])))
                progress.advance(rows.stop - rows.start)
            copy.write(COPY_END)

    def _create_index(self) -> None:
        kind = str(self.options["index"])
        if kind == "exact":
            return
        settings = ", ".join(f"{name} = {self.options[name]}" for name in KINDS[kind] if name not in _SEARCH_OPTIONS)
        operators = f"{self.options['type']}_{_CLASSES[self.similarity]}_ops"
        with self._connection.transaction():
            lock(self._connection, self.target.schema, self.table)
            if not exists(self._connection, self.target.schema, self._index_name):
                # The condition is true for every row. It lets a query choose one of several indexes of a column, for
                # which PostgreSQL has no other means.
                self._connection.execute(
                    f'CREATE INDEX "{self._index_name}" ON {self._table} USING {kind} (embedding {operators}) '
                    f"WITH ({settings}) WHERE position <> -{self._number}"
                )

    def _configure_search(self, where: str) -> None:
        """Set how this connection searches, and check that the query plan follows."""
        kind = str(self.options["index"])
        exact = kind == "exact"
        # The settings of the library are known only once it is loaded.
        self._connection.execute("SELECT '[1]'::vector")
        for name in ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"):
            self._connection.execute(f"SET {name} = {'off' if exact else 'on'}")
        self._connection.execute(f"SET enable_seqscan = {'on' if exact else 'off'}")
        for name in _SEARCH_OPTIONS:
            if name in self.options:
                self._connection.execute(f"SET {kind}.{name} = {self.options[name]}")
        probe = np.ones((1, self.dimension), np.float32)
        plan = self._connection.execute(f"EXPLAIN {self._statement(1)}", (self._parameter(probe[0]),), prepare=False)
        text = "\n".join(row[0] for row in plan.fetchall())
        if (self._index_name in text) == exact:
            raise GoldrankError(f"{where}: PostgreSQL does not use the index {kind}, but this plan: {text}")

    def _statement(self, k: int) -> str:
        distance = f"embedding {_OPERATORS[self.similarity]} %b::{self.options['type']}"
        where = "" if self.options["index"] == "exact" else f"WHERE position <> -{self._number} "
        return f"SELECT id, {distance} FROM {self._table} {where}ORDER BY 2 LIMIT {k}"

    def _parameter(self, vector: Dense) -> Any:
        from pgvector import HalfVector, Vector

        return (HalfVector if self.options["type"] == "halfvec" else Vector)(vector)

    def _search(self, queries: Dense, k: int) -> Iterator[SearchResult]:
        statement = self._statement(k)
        with clear_errors(self.spec), self._connection.cursor(binary=True) as cursor:
            for query in queries:
                rows = cursor.execute(statement, (self._parameter(query),), prepare=True).fetchall()
                ids, distances = [row[0] for row in rows], [row[1] for row in rows]
                yield ids, scores_of(distances, self.similarity, squared=False, one_minus_dot=False)


def drop(spec: str) -> list[str]:
    """Remove the table of a spec, or all tables that goldrank loaded into its schema if it names none."""
    target, _ = read_spec(spec)
    where = f"pgvector:{target.url}"
    connection = connect(target.url, where)
    try:
        with clear_errors(where):
            return [f"{target.schema}.{name}" for name in drop_loads(connection, target.schema, target.table)]
    finally:
        connection.close()


def _refuse_too_large(data: TableData) -> None:
    limit = float(np.finfo(np.float16).max)
    for rows in blocks(len(data.ids)):
        fits = (np.abs(data.vectors[rows]) <= limit).all(axis=1)
        if not fits.all():
            raise InputError(
                f"the vector of the item {shorten(data.ids[rows.start + int(fits.argmin())])} does not fit in 16 bits",
                remedy="use type=vector",
            )
