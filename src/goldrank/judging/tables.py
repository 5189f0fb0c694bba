"""The tables of a judging project's database and their version."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, MetaData, String, Table, Text

VERSION = 3
METADATA = MetaData()

ABOUT = Table(
    "goldrank_judging",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("identity", String(16), nullable=False),
    Column("created", String(40), nullable=False),
    # Names of the grades, as JSON.
    Column("scale", Text, nullable=False),
    # Method, depth, systems and size of the pool, as JSON.
    Column("pool", Text, nullable=False),
    Column("design", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("budget", Integer),
    # Attribute, values and allocation of the strata, as JSON; NULL if queries are drawn from all.
    Column("strata", Text),
    Column("provenance", Text, nullable=False),
)

QUERIES = Table(
    "goldrank_queries",
    METADATA,
    Column("position", Integer, primary_key=True),
    Column("query", Text, nullable=False, unique=True),
    Column("text", Text, nullable=False),
    # The pooled items with their ranks, as JSON.
    Column("pooled", Text, nullable=False),
    # The number of the stratum, from 0; NULL if there are none.
    Column("stratum", Integer),
)

ITEMS = Table(
    "goldrank_items",
    METADATA,
    Column("item", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
)

RANKINGS = Table(
    "goldrank_rankings",
    METADATA,
    Column("system", Text, primary_key=True),
    # A Parquet table.
    Column("run", LargeBinary, nullable=False),
)

UNITS = Table(
    "goldrank_units",
    METADATA,
    Column("position", Integer, primary_key=True),
    Column("query", Text, nullable=False),
    # Items and their probabilities of inclusion, as JSON.
    Column("items", Text, nullable=False),
    Column("inclusion", Text, nullable=False),
    # NULL if the unit was chosen by hand.
    Column("probability", Float),
    Column("judges", Integer, nullable=False),
    Column("grows", Boolean, nullable=False),
    # The number of the round from 1; 0 if the unit was planned.
    Column("round", Integer, nullable=False),
)

ROUNDS = Table(
    "goldrank_rounds",
    METADATA,
    Column("number", Integer, primary_key=True),
    # With which each pair of the pool was drawn, in its order: 64-bit floats, compressed by zlib.
    Column("probability", LargeBinary, nullable=False),
)

CLAIMS = Table(
    "goldrank_claims",
    METADATA,
    Column("position", Integer, primary_key=True),
    Column("judge", String(200), primary_key=True),
    # Seconds since 1970; a claim that has expired may be taken over.
    Column("expires", Float, nullable=False),
)

# Rows are only ever added: a label that was acknowledged is never changed or removed.
EVENTS = Table(
    "goldrank_label_events",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    # "label", or "undo", which takes back the label of the event `target`.
    Column("action", String(10), nullable=False),
    Column("target", Integer),
    Column("query", Text, nullable=False),
    Column("item", Text, nullable=False),
    Column("grade", Integer),
    Column("judge", String(200), nullable=False),
    Column("source", String(10), nullable=False),
    Column("created", String(40), nullable=False),
    Column("seconds", Float),
    Index("goldrank_label_events_by_query", "query"),
    Index("goldrank_label_events_by_judge", "judge"),
    sqlite_autoincrement=True,
)

MODEL_GRADES = Table(
    "goldrank_model_grades",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("query", Text, nullable=False),
    Column("item", Text, nullable=False),
    Column("grade", Integer),
    Column("judge", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("created", String(40), nullable=False),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Index("goldrank_model_grades_by_judge", "judge"),
    sqlite_autoincrement=True,
)
