"""The tables of a store's database, their version, and how an older version becomes this one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Float, Integer, MetaData, String, Table, Text, inspect, select, text

from goldrank.errors import InputError

VERSION = 2


def _add_summary(connection: Connection) -> None:
    connection.execute(text(f"ALTER TABLE {RUNS.name} ADD COLUMN summary TEXT NOT NULL DEFAULT '{{}}'"))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _add_summary}
"""For each older version, what makes the next one of it."""

_METADATA = MetaData()

ABOUT = Table(
    "goldrank_store",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("identity", String(16), nullable=False),
)

RUNS = Table(
    "goldrank_runs",
    _METADATA,
    Column("digest", String(64), primary_key=True),
    Column("key", String(160), nullable=False, unique=True),
    Column("task", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("inputs", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Column("metrics", Text, nullable=False),
    Column("conventions", Text, nullable=False),
    # As ISO 8601 in UTC, which every database orders alike and none converts.
    Column("created", String(40), nullable=False),
    Column("queries", Integer, nullable=False),
    Column("judged", Integer, nullable=False),
    Column("seconds", Float),
    Column("folder", String(100), nullable=False),
    # The numbers of a measurement; empty for a run whose numbers are scored from its hits.
    Column("figures", Text, nullable=False),
    # The headline numbers of a run that has hits, so that a list of runs need not score them.
    Column("summary", Text, nullable=False, server_default="{}"),
    Column("hits_checksum", String(64)),
    Column("run_checksum", String(64)),
    Column("predictions_checksum", String(64)),
)


@dataclass(frozen=True)
class About:
    """Which store a database holds, and of which version."""

    version: int
    identity: str


def read_about(connection: Connection, where: str) -> About | None:
    """The store in this database; None where there is none yet, an error where there cannot be one."""
    names = inspect(connection).get_table_names()
    if ABOUT.name not in names:
        # A server's database may be shared with others; a file with other tables is somebody else's.
        if names and connection.dialect.name == "sqlite":
            raise InputError(
                f"this database is not a goldrank store (it holds the table {names[0]!r})",
                where=where,
                remedy="name another with --store",
            )
        return None
    version, identity = connection.execute(select(ABOUT.c.version, ABOUT.c.identity)).one()
    if version > VERSION:
        raise InputError(
            f"the store was written by a newer goldrank (store version {version}, this one knows {VERSION})",
            where=where,
            remedy="update goldrank, or name another store with --store",
        )
    return About(version, identity)


def create_or_migrate(connection: Connection, where: str) -> About:
    """Make the tables where there are none, and bring older ones up to date."""
    about = read_about(connection, where)
    if about is None:
        _METADATA.create_all(connection)
        about = About(VERSION, os.urandom(8).hex())
        connection.execute(ABOUT.insert().values(id=1, version=about.version, identity=about.identity))
    for old in range(about.version, VERSION):
        if old not in MIGRATIONS:
            raise InputError(
                f"the store is of version {old}, which this goldrank cannot bring up to date",
                where=where,
                remedy="name another store with --store and run again",
            )
        MIGRATIONS[old](connection)
        connection.execute(ABOUT.update().values(version=old + 1))
    return About(VERSION, about.identity)
