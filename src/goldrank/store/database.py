"""The connection to a store's database, SQLite or PostgreSQL, with transactions and errors that people understand."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, text
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError

from goldrank.errors import GoldrankError, InputError, MissingExtraError

_WAIT_SECONDS = 60
# Any number will do that nothing else on the server is likely to lock.
_SETUP_LOCK = 0x60_1D_2A_4B
# Words in a driver's message, what they mean for the store, and what to do.
_FAULTS = (
    (("not a database",), "this is not a goldrank store", "name another with --store"),
    (
        ("malformed", "could not decode", "no such ", "duplicate column"),
        "the database is damaged",
        "restore a copy, or name another store with --store",
    ),
    (
        ("readonly", "read-only", "permission denied"),
        "the store may not be written",
        "change its permissions, or name another with --store",
    ),
    (("unable to open",), "the store cannot be opened", "check the folder and its permissions"),
    (("locked",), "another process keeps the store busy", "wait for it to end and try again"),
)


class Database:
    """One database, connected anew for each transaction, so that processes may fork and nothing stays open."""

    def __init__(self, url: URL, where: str) -> None:
        self.where = where
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.file = Path(url.database or "") if self.is_sqlite else None
        self._engine = _sqlite_engine(url) if self.is_sqlite else _postgresql_engine(url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self._translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed when the block ends well; SQLite lets in one writer at a time."""
        with self._translated(), self._engine.connect().execution_options(goldrank_writes=True) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def setting_up(self) -> Iterator[Connection]:
        """A transaction that creates or changes tables, one at a time on either kind of database."""
        with self.writing() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SETUP_LOCK})
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise self._fault(error) from error

    def _fault(self, error: DBAPIError) -> GoldrankError:
        reason = (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0].rstrip(".")
        for words, what, remedy in _FAULTS:
            if any(word in reason.lower() for word in words):
                return InputError(f"{what} ({reason})", where=self.where, remedy=remedy)
        if not self.is_sqlite and isinstance(error, (OperationalError, InterfaceError)):
            return InputError(
                f"the database cannot be reached ({reason})",
                where=self.where,
                remedy="check the URL and that the server runs",
            )
        return GoldrankError(f"{self.where}: the database failed ({reason}); nothing was stored")


def _sqlite_engine(url: URL) -> Engine:
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _WAIT_SECONDS})

    @event.listens_for(engine, "do_connect")
    def choose(_dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        if (address := _read_only_address(Path(url.database or ""))) is not None:
            arguments[0], options["uri"] = address, True

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        # Transactions are begun by `begin` below: the driver's own way takes the write lock too late, when
        # waiting for another writer is no longer possible.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        # Refused while another process is at work or where nothing may be written; then the file keeps its mode,
        # which is safe too.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("goldrank_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _read_only_address(file: Path) -> str | None:
    """Return the URI that opens a database which may only be read, on a read-only disk or of another user; else None.

    SQLite wants to make files beside a database in WAL mode even to read it. Where it may not and no process has
    left such files there, nobody is writing, and the file is read as it lies.
    """
    if not file.is_file() or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        return None
    log = file.with_name(f"{file.name}-wal")
    pending = log.is_file() and log.stat().st_size > 0
    return f"{file.absolute().as_uri()}?mode=ro{'' if pending else '&immutable=1'}"


def _postgresql_engine(url: URL) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtraError("a PostgreSQL store", "psycopg", "postgres") from None
    return create_engine(url.set(drivername="postgresql+psycopg"), poolclass=NullPool)
