"""The connection to the database of a store or a judging project: transactions, and errors as sentences."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, text
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError

from goldrank.errors import GoldrankError, InputError, MissingExtraError, reason_of

_WAIT_SECONDS = 60
# An arbitrary number that nothing else on the server is likely to lock.
_SETUP_LOCK = 0x60_1D_2A_4B
# Words of a driver's message, what they mean, and the remedy; {kind} is what the database holds, {other} how to name
# another one.
_FAULTS = (
    (("not a database",), "this is not a goldrank {kind}", "name {other}"),
    (
        ("malformed", "could not decode", "no such ", "duplicate column"),
        "the database is damaged",
        "restore a copy, or name {other}",
    ),
    (
        ("readonly", "read-only", "permission denied"),
        "the {kind} is not writable",
        "change its permissions, or name {other}",
    ),
    (("unable to open",), "the {kind} cannot be opened", "check the folder and its permissions"),
    (("locked",), "another process keeps the {kind} busy", "wait for it to end and try again"),
)


class Database:
    """A database with a new connection for each transaction, so that processes may fork and nothing stays open.

    Args:
        url: The address of the database.
        where: Its name in messages.
        kind: What it holds, for messages.
        other: How the user names another one, for messages.
    """

    def __init__(self, url: URL, where: str, *, kind: str = "store", other: str = "another store with --store") -> None:
        self.where = where
        self.kind, self.other = kind, other
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.file = Path(url.database or "") if self.is_sqlite else None
        self._engine = _sqlite_engine(url) if self.is_sqlite else _postgresql_engine(url)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read-only transaction."""
        with self._translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is committed if the block succeeds; SQLite allows one writer at a time."""
        with self._translated(), self._engine.connect().execution_options(goldrank_writes=True) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def setting_up(self) -> Iterator[Connection]:
        """Open a transaction that creates or changes tables, one at a time on either kind of database."""
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
        reason = reason_of(error.orig or error)
        for words, what, remedy in _FAULTS:
            if any(word in reason.lower() for word in words):
                names = {"kind": self.kind, "other": self.other}
                return InputError(f"{what.format(**names)} ({reason})", where=self.where, remedy=remedy.format(**names))
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
        # Transactions are begun by `begin` below: the driver would take the write lock too late to wait for another
        # writer.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        # Refused while another process uses the file, or if it is read-only; its journal mode is safe too.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
        # What was committed survives a power failure, too, whatever the default of this build of SQLite is.
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("goldrank_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _read_only_address(file: Path) -> str | None:
    """Return the URI that opens a database without write permission; None if it is writable.

    SQLite creates files beside a database in WAL mode even to read it. If it may not and there are no such files, no
    process is writing, and the file can be opened as immutable.
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
