"""PostgreSQL for the pgvector index: connections, markers of loads, rows for binary COPY, and error messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from goldrank.errors import GoldrankError, InputError, MissingExtraError
from goldrank.index.base import Dense
from goldrank.index.databases.base import Marker
from goldrank.redaction import redact

MARKERS = "goldrank_loads"
TYPES = {"vector": ">f4", "halfvec": ">f2"}
COPY_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_END = b"\xff\xff"
_CONNECT_SECONDS = 10


def connect(url: str, where: str) -> Any:
    """Connect in autocommit mode, with the types and operators of pgvector in the search path."""
    try:
        import psycopg
        from pgvector.psycopg import register_vector
    except ImportError:
        raise MissingExtraError("the index pgvector", "psycopg and pgvector", "pgvector") from None
    given = dict(parse_qsl(urlsplit(url).query))
    options = {} if "connect_timeout" in given else {"connect_timeout": _CONNECT_SECONDS}
    try:
        connection = psycopg.connect(url, autocommit=True, application_name="goldrank", **options)
    except psycopg.Error as error:
        raise _refused(_message(error), where) from None
    try:
        with clear_errors(where):
            row = connection.execute(
                "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
                "WHERE extname = 'vector'"
            ).fetchone()
            if row is None:
                raise InputError(
                    "the database does not have the extension vector",
                    where=where,
                    remedy="install pgvector on the server and run there: CREATE EXTENSION vector",
                )
            # The operators are found in whichever schema the extension is, and no other names are.
            connection.execute(f"SET search_path = pg_catalog, {row[0]}")
            register_vector(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _refused(message: str, where: str) -> InputError:
    if "password" in message or "authentication failed" in message:
        return InputError(
            f"the server refuses the user or the password ({message})",
            where=where,
            remedy="set PGPASSWORD, or write the password into ~/.pgpass",
        )
    return InputError(f"the server cannot be reached ({message})", where=where, remedy="check the URL and the server")


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Raise errors of PostgreSQL as one sentence that says whether a load has to be repeated."""
    import psycopg

    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise GoldrankError(
            f"{where}: the server has no space left ({_message(error)}); nothing was kept, make space and run it again"
        ) from None
    except (psycopg.errors.ProgramLimitExceeded, psycopg.errors.InvalidParameterValue) as error:
        raise InputError(
            f"pgvector refuses this index ({_message(error)})",
            where=where,
            remedy="change its options; type=halfvec takes vectors of twice the size",
        ) from None
    except psycopg.errors.InsufficientPrivilege as error:
        raise InputError(
            f"the user lacks a privilege ({_message(error)})",
            where=where,
            remedy="name a schema= in which the user may create tables",
        ) from None
    except psycopg.OperationalError as error:
        raise GoldrankError(
            f"{where}: the server stopped or the connection was lost ({_message(error)}); "
            "an incomplete load was rolled back, run it again"
        ) from None
    except psycopg.Error as error:
        raise GoldrankError(f"{where}: PostgreSQL refused ({_message(error)})") from None


def _message(error: Exception) -> str:
    text = redact(str(error).strip().partition("\n")[0])
    return text.removeprefix("connection failed: ").rstrip(".") or type(error).__name__


def fetch_value(connection: Any, statement: str, *parameters: object) -> Any:
    """Return the first value of the first row; None if there is no row."""
    row = connection.execute(statement, parameters).fetchone()
    return None if row is None else row[0]


def lock(connection: Any, *names: str) -> None:
    """Take the advisory lock of these names until the end of the transaction."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (".".join(("goldrank", *names)),))


def exists(connection: Any, schema: str, name: str) -> bool:
    """Return True if the schema has a table or an index of this name."""
    statement = (
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relname = %s"
    )
    return fetch_value(connection, statement, schema, name) is not None


def make_schema(connection: Any, schema: str) -> None:
    """Create the schema and its table of markers if they do not exist."""
    # CREATE … IF NOT EXISTS would require the privilege to create a schema even if it exists.
    if exists(connection, schema, MARKERS):
        return
    with connection.transaction():
        lock(connection, schema)
        if fetch_value(connection, "SELECT 1 FROM pg_namespace WHERE nspname = %s", schema) is None:
            connection.execute(f'CREATE SCHEMA "{schema}"')
        connection.execute(
            f'CREATE TABLE IF NOT EXISTS "{schema}"."{MARKERS}" (name text PRIMARY KEY, checksum text NOT NULL, '
            "count bigint NOT NULL, dimension integer NOT NULL, type text NOT NULL, "
            "loaded timestamptz NOT NULL DEFAULT now())"
        )


def read_marker(connection: Any, schema: str, table: str) -> tuple[Marker, str] | None:
    """Return the marker of a table and the type of its vectors."""
    statement = f'SELECT checksum, count, dimension, type FROM "{schema}"."{MARKERS}" WHERE name = %s'
    row = connection.execute(statement, (table,)).fetchone()
    return None if row is None else (Marker(*row[:3]), row[3])


def write_marker(connection: Any, schema: str, table: str, marker: Marker, kind: str) -> None:
    """Mark the table as complete; to be called in the transaction that loads it."""
    # The marker of a table that was removed by hand may still exist.
    connection.execute(f'DELETE FROM "{schema}"."{MARKERS}" WHERE name = %s', (table,))
    connection.execute(
        f'INSERT INTO "{schema}"."{MARKERS}" (name, checksum, count, dimension, type) VALUES (%s, %s, %s, %s, %s)',
        (table, marker.checksum, marker.count, marker.dimension, kind),
    )


def drop_loads(connection: Any, schema: str, table: str | None) -> list[str]:
    """Remove one table that goldrank loaded into the schema, or all of them, and the schema if it is then empty.

    Tables without a marker are never removed.
    """
    if not exists(connection, schema, MARKERS):
        return []
    with connection.transaction():
        rows = connection.execute(f'SELECT name FROM "{schema}"."{MARKERS}" ORDER BY name').fetchall()
        names = [name for (name,) in rows if table in (None, name)]
        for name in names:
            connection.execute(f'DROP TABLE IF EXISTS "{schema}"."{name}"')
            connection.execute(f'DELETE FROM "{schema}"."{MARKERS}" WHERE name = %s', (name,))
        if table is None:
            connection.execute(f'DROP TABLE "{schema}"."{MARKERS}"')
            inside = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s LIMIT 1"
            if fetch_value(connection, inside, schema) is None:
                connection.execute(f'DROP SCHEMA "{schema}"')
    return names


def packed_rows(ids: Sequence[str], vectors: Dense, first: int, kind: str) -> bytes:
    """Return rows (position, id, embedding) in the binary format of COPY.

    NumPy lays out all vectors of a block at once; only the ids, which differ in length, are inserted one by one.

    >>> packed_rows(["a"], np.ones((1, 1), np.float32), 7, "vector").hex(" ", -4)[:44]
    '00030000 00080000 00000000 00070000 00016100'
    """
    count, dimension = vectors.shape
    values = np.dtype((TYPES[kind], (dimension,)))
    head = np.zeros(count, [("fields", ">i2"), ("size", ">i4"), ("position", ">i8"), ("length", ">i4")])
    tail = np.zeros(count, [("size", ">i4"), ("dimension", ">i2"), ("unused", ">i2"), ("values", values)])
    names = [name.encode() for name in ids]
    head["fields"], head["size"], head["position"] = 3, 8, np.arange(first, first + count)
    head["length"] = [len(name) for name in names]
    tail["size"], tail["dimension"], tail["values"] = 4 + values.itemsize, dimension, vectors
    # Views, so that each vector is copied once more and not three times.
    heads, tails = head.view(np.uint8).data, tail.view(np.uint8).data
    before, after = head.dtype.itemsize, tail.dtype.itemsize
    parts: list[bytes | memoryview] = []
    for row, name in enumerate(names):
        parts += (heads[row * before : (row + 1) * before], name, tails[row * after : (row + 1) * after])
    return b"".join(parts)
