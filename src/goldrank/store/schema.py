"""The tables of a store's database and their version."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Column, Connection, Float, Integer, MetaData, String, Table, Text, inspect, text

from goldrank.errors import InputError

VERSION = 5
_IDENTITY = re.compile(r"[0-9a-f]{16}")
_METADATA = MetaData()

ABOUT = Table(
    "goldrank_store",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("identity", String(16), nullable=False),
    # The machine and folder of the tables, for the error message on a machine that does not find them.
    Column("tables", Text),
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
    # As ISO 8601 in UTC, which every database sorts the same way and none converts.
    Column("created", String(40), nullable=False),
    Column("queries", Integer, nullable=False),
    Column("judged", Integer, nullable=False),
    Column("seconds", Float),
    Column("folder", String(100), nullable=False),
    # The values of a measurement; empty for a run with hits.
    Column("measured", Text, nullable=False),
    # The headline metrics of a run with hits, so that a list of runs need not score them.
    Column("summary", Text, nullable=False),
    Column("hits_checksum", String(64)),
    Column("run_checksum", String(64)),
    Column("predictions_checksum", String(64)),
    # Of all other columns, so that a damaged row is detected.
    Column("checksum", String(64), nullable=False),
)


@dataclass(frozen=True)
class StoreIdentity:
    """The store of a database, and its version."""

    version: int
    identity: str
    tables: str | None = None
    """The machine and folder where the tables were first written."""


def read_identity(connection: Connection, where: str) -> StoreIdentity | None:
    """Return the store of this database; None if there is none yet, an error if there cannot be one."""
    names = inspect(connection).get_table_names()
    if ABOUT.name not in names:
        # A database on a server may be shared; an SQLite file with other tables belongs to another program.
        if names and connection.dialect.name == "sqlite":
            raise InputError(
                f"this database is not a goldrank store (it holds the table {names[0]!r})",
                where=where,
                remedy="name another with --store",
            )
        return None
    # Other versions may have other columns, so all of them are read.
    first = connection.execute(text(f"SELECT * FROM {ABOUT.name}")).mappings().first()
    row: dict[str, Any] = {} if first is None else {str(name): value for name, value in first.items()}
    version, identity = row.get("version"), row.get("identity")
    if not isinstance(version, int) or not isinstance(identity, str) or not _IDENTITY.fullmatch(identity):
        raise InputError(
            "the database is damaged (it does not say which store it holds)",
            where=where,
            remedy="restore a copy, or name another store with --store",
        )
    if version != VERSION:
        age, remedy = ("a newer", "update goldrank") if version > VERSION else ("an older", "run the models again")
        raise InputError(
            f"the store was written by {age} goldrank (store version {version}, this one knows {VERSION})",
            where=where,
            remedy=f"{remedy}, or name another store with --store",
        )
    return StoreIdentity(version, identity, row.get("tables"))


def create(connection: Connection, tables: str) -> StoreIdentity:
    """Create the tables of the database; *tables* is the location of the Parquet files."""
    _METADATA.create_all(connection)
    identity = StoreIdentity(VERSION, os.urandom(8).hex(), tables)
    connection.execute(ABOUT.insert().values(id=1, **asdict(identity)))
    return identity
