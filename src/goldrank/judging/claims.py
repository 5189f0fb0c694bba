"""Choose the unit that a judge judges next, and reserve it, so that no two judges judge the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from goldrank.judging.plans import Unit
from goldrank.judging.tables import CLAIMS

LEASE = 1800.0
"""Seconds after which another judge may take over a unit whose judge has added no label to it."""


def read_claims(connection: Connection) -> dict[int, dict[str, float]]:
    """Return when the claim of each judge on each unit expires."""
    claims: dict[int, dict[str, float]] = {}
    for row in connection.execute(select(CLAIMS)):
        claims.setdefault(row.position, {})[row.judge] = row.expires
    return claims


def renew_claims(
    connection: Connection, judge: str, expires: float, position: int | None = None, *, known: bool = True
) -> None:
    """Extend all claims of a judge, or make one on a unit."""
    if not known:
        connection.execute(CLAIMS.insert(), {"position": position, "judge": judge, "expires": expires})
        return
    here = [] if position is None else [CLAIMS.c.position == position]
    connection.execute(CLAIMS.update().where(CLAIMS.c.judge == judge, *here).values(expires=expires))


def next_unit(
    units: Sequence[Unit],
    claims: Mapping[int, Mapping[str, float]],
    judges: Mapping[tuple[str, str], set[str]],
    judge: str,
    now: float,
) -> Unit | None:
    """Return the unit that a judge should judge now, as `JudgingProject.claim` does.

    Args:
        units: All units.
        claims: When the claim of each judge on each unit expires.
        judges: The people who judged each pair.
        judge: The judge.
        now: The time.
    """

    def is_open(unit: Unit, wanted: int) -> bool:
        others = {name for name, expires in claims.get(unit.position, {}).items() if name != judge and expires > now}
        return bool(open_items(replace(unit, judges=min(wanted, unit.judges)), judges, judge, others))

    begun = (unit for unit in units if judge in claims.get(unit.position, ()) and is_open(unit, unit.judges))
    first = (unit for unit in units if is_open(unit, 1))
    second = (unit for unit in units if is_open(unit, unit.judges))
    return next(begun, None) or next(first, None) or next(second, None)


def open_items(unit: Unit, judges: Mapping[tuple[str, str], set[str]], judge: str, others: set[str]) -> tuple[str, ...]:
    """Return the items for which there will be too few labels without this judge, if the *others* label all of them."""
    labelled = {item: judges.get((unit.query, item), set()) for item in unit.items}
    return tuple(item for item, names in labelled.items() if judge not in names and len(names | others) < unit.judges)
