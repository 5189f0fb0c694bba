"""Convert the parts of a judging project to rows of its tables, and read units and labels from these."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, select

from goldrank.escaping import replace_surrogates
from goldrank.hits import Floats
from goldrank.judging.labels import Label
from goldrank.judging.plans import Unit
from goldrank.judging.pools import Pool
from goldrank.judging.strata import Strata
from goldrank.judging.tables import EVENTS, UNITS

LABEL_COLUMNS = [EVENTS.c[entry.name] for entry in fields(Label)]
"""The columns of an event that make a label."""


def dump_json(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def insert_rows(connection: Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, if there are any."""
    if rows:
        connection.execute(table.insert(), rows)


def dump_strata(strata: Strata) -> str:
    """Return the JSON of everything but the queries of the strata."""
    values = [part.value for part in strata.slices]
    # Values may hold characters that the database cannot store.
    return json.dumps({"attribute": strata.attribute, "values": values, "allocation": strata.allocation})


def query_row(position: int, query: str, texts: Mapping[str, str], pool: Pool, stratum: int | None) -> dict[str, Any]:
    """Return the row of a query with its pooled items."""
    pooled = [(entry.item, entry.ranks) for entry in pool.items[query]]
    text = replace_surrogates(texts[query])
    return {"position": position, "query": query, "text": text, "pooled": dump_json(pooled), "stratum": stratum}


def item_row(item: str, title: str, text: str) -> dict[str, str]:
    """Return the row of a pooled item."""
    return {"item": item, "title": replace_surrogates(title), "text": replace_surrogates(text)}


def unit_row(unit: Unit) -> dict[str, Any]:
    """Return the row of a unit."""
    return {
        "position": unit.position,
        "query": unit.query,
        "items": dump_json(unit.items),
        "inclusion": json.dumps(unit.inclusion),
        "probability": None if math.isnan(unit.probability) else unit.probability,
        "judges": unit.judges,
        "grows": unit.grows,
        "round": unit.round,
    }


def round_row(number: int, probability: Floats) -> dict[str, Any]:
    """Return the row of a round, with the probability of each pair of the pool."""
    return {"number": number, "probability": zlib.compress(probability.astype("<f8").tobytes())}


def read_units(connection: Connection, *conditions: Any) -> list[Unit]:
    """Return the units of the plan in order."""
    rows = connection.execute(select(UNITS).where(*conditions).order_by(UNITS.c.position))
    return [
        Unit(
            row.position,
            row.query,
            tuple(json.loads(row.items)),
            math.nan if row.probability is None else row.probability,
            tuple(json.loads(row.inclusion)),
            row.judges,
            row.grows,
            row.round,
        )
        for row in rows
    ]


def read_labels(connection: Connection, *conditions: Any) -> Iterator[tuple[int, Label]]:
    """Yield the labels that were not taken back, with the number of their event, in order."""
    undo = EVENTS.alias()
    taken_back = select(undo.c.target).where(undo.c.action == "undo")
    rows = connection.execute(
        select(EVENTS.c.id, *LABEL_COLUMNS)
        .where(EVENTS.c.action == "label", EVENTS.c.id.not_in(taken_back), *conditions)
        .order_by(EVENTS.c.id)
    )
    for number, *values in rows:
        yield number, Label(*values)


def current_labels(connection: Connection, *conditions: Any) -> dict[tuple[str, str, str, str], Label]:
    """Return the last label that was not taken back, by judge, source, query and item."""
    labels = read_labels(connection, *conditions)
    return {(label.judge, label.source, label.query, label.item): label for _, label in labels}


def human_judges(connection: Connection, *conditions: Any) -> dict[tuple[str, str], set[str]]:
    """Return the people who judged each pair on the judging page."""
    undo = EVENTS.alias()
    taken_back = select(undo.c.target).where(undo.c.action == "undo")
    rows = connection.execute(
        select(EVENTS.c.query, EVENTS.c.item, EVENTS.c.judge).where(
            EVENTS.c.action == "label", EVENTS.c.source == "human", EVENTS.c.id.not_in(taken_back), *conditions
        )
    )
    judges: dict[tuple[str, str], set[str]] = {}
    for query, item, judge in rows:
        judges.setdefault((query, item), set()).add(judge)
    return judges
