"""The judging project: one SQLite file with pool, plan, texts, rankings, claims, labels and model grades."""

from __future__ import annotations

import json
import math
import os
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import URL, Connection, inspect, select
from sqlalchemy.exc import NoResultFound

from goldrank.errors import InputError, reason_of, shorten, unknown_name
from goldrank.escaping import replace_surrogates
from goldrank.hits import Floats, Run
from goldrank.io.files import PathLike
from goldrank.io.private_files import make_private_folder
from goldrank.judging.claims import LEASE, next_unit, open_items, read_claims, renew_claims
from goldrank.judging.labels import GradeScale, Label, ModelGrade, by_query, check_judge, combine, timestamp
from goldrank.judging.plans import Plan, Unit, shuffled
from goldrank.judging.pools import Pool, PooledItem, next_items
from goldrank.judging.rows import (
    LABEL_COLUMNS,
    current_labels,
    dump_json,
    dump_strata,
    human_judges,
    insert_rows,
    item_row,
    query_row,
    read_labels,
    read_units,
    round_row,
    unit_row,
)
from goldrank.judging.strata import Strata
from goldrank.judging.tables import (
    ABOUT,
    EVENTS,
    ITEMS,
    METADATA,
    MODEL_GRADES,
    QUERIES,
    RANKINGS,
    ROUNDS,
    UNITS,
    VERSION,
)
from goldrank.slices import Slice
from goldrank.store.database import Database
from goldrank.store.tables import dump_run, load_run

FOLDER = "judging"
"""The folder of a project unless another is named."""
FILE = "judging.sqlite"


@dataclass(frozen=True)
class LabelEvent:
    """A label that was added, or taken back, in the order in which it happened."""

    number: int
    action: str
    """``label``, or ``undo`` for a label that its judge took back."""
    label: Label


class JudgingProject:
    """A judging project in a folder; several processes may claim and label at once.

    Labels are only ever added, and one that was acknowledged survives the end of any process. Create a project with
    `create`, or open one with `open`.

    >>> import tempfile
    >>> from goldrank.judging.plans import plan_queries
    >>> from goldrank.judging.pools import build_pool
    >>> runs = {"bm25": Run({"q1": {"a": 2.0, "b": 1.0}}), "dense": Run({"q1": {"c": 0.9}})}
    >>> pool = build_pool(runs, ["q1"])
    >>> project = JudgingProject.create(
    ...     tempfile.mkdtemp(), pool=pool, plan=plan_queries(pool), queries={"q1": "who?"},
    ...     texts=dict.fromkeys("abc", "text"), titles={}, rankings=runs, scale=GradeScale(), provenance={},
    ... )
    >>> unit = project.claim("ann")
    >>> unit.query, sorted(unit.items)
    ('q1', ['a', 'b', 'c'])
    >>> project.add_label("q1", "a", 3, "ann", seconds=2.5).grade
    3
    >>> project.remaining(unit, "ann") == tuple(item for item in unit.items if item != "a")
    True
    """

    def __init__(self, folder: Path, database: Database, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._database = database
        self._clock = clock

    @classmethod
    def create(
        cls,
        folder: PathLike,
        *,
        pool: Pool,
        plan: Plan,
        queries: Mapping[str, str],
        texts: Mapping[str, str],
        titles: Mapping[str, str],
        rankings: Mapping[str, Run],
        scale: GradeScale = GradeScale(),  # noqa: B008 - frozen
        provenance: Mapping[str, Any],
        budget: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> JudgingProject:
        """Create a project in *folder*, completely or not at all.

        Args:
            folder: The folder, which is created if it does not exist.
            pool: The pool.
            plan: What is judged, in order.
            queries: The text of every query of the pool.
            texts: The text of every pooled item; others are not stored.
            titles: The titles of items that have one.
            rankings: The rankings of the systems, at least as deep as the pool.
            scale: The grades.
            provenance: Whatever describes data and systems, as JSON can hold it.
            budget: The number of labels that the plan was made for.
            clock: Returns the seconds since 1970, for leases.

        Raises:
            InputError: The folder holds a project already, or the parts do not fit together.
        """
        _check_parts(pool, plan, queries, texts, rankings)
        place = Path(folder)
        try:
            make_private_folder(place)
        except OSError as error:
            what = f"the folder cannot be created ({error.strerror})"
            raise InputError(what, where=str(folder), remedy="name another folder") from None
        database = _database(place)
        pooled = dict.fromkeys(entry.item for query in pool.items for entry in pool.items[query])
        about = {
            "id": 1,
            "version": VERSION,
            "identity": os.urandom(8).hex(),
            "created": timestamp(),
            "scale": dump_json(scale.names),
            "pool": dump_json({field: getattr(pool, field) for field in ("method", "depth", "systems", "size")}),
            "design": plan.design,
            "seed": plan.seed,
            "budget": budget,
            "strata": None if plan.strata is None else dump_strata(plan.strata),
            "provenance": dump_json(provenance),
        }
        number = {} if plan.strata is None else plan.strata.number
        with database.setting_up() as connection:
            if inspect(connection).get_table_names():
                raise InputError(
                    "the folder holds a judging project already", where=str(folder), remedy="name another folder"
                )
            METADATA.create_all(connection)
            connection.execute(ABOUT.insert(), about)
            rows = [query_row(at, query, queries, pool, number.get(query)) for at, query in enumerate(pool.items)]
            insert_rows(connection, QUERIES, rows)
            insert_rows(connection, ITEMS, [item_row(item, titles.get(item, ""), texts[item]) for item in pooled])
            insert_rows(
                connection, RANKINGS, [{"system": name, "run": dump_run(run)} for name, run in rankings.items()]
            )
            insert_rows(connection, UNITS, [unit_row(unit) for unit in plan.units])
        return cls(place, database, clock)

    @classmethod
    def open(cls, folder: PathLike, *, clock: Callable[[], float] = time.time) -> JudgingProject:
        """Open the project in *folder*.

        Raises:
            InputError: There is none, or it was written by another version of goldrank.
        """
        place = Path(folder)
        if not cls.exists(place):
            raise InputError(
                "there is no judging project in this folder" if place.is_dir() else "there is no such folder",
                where=str(folder),
                remedy="goldrank judge start creates one",
            )
        database = _database(place)
        with database.reading() as connection:
            version = _version(connection)
        if version != VERSION:
            age, remedy = ("a newer", "update goldrank") if version > VERSION else ("an older", "use that version")
            raise InputError(
                f"the judging project was written by {age} goldrank (version {version}, this one knows {VERSION})",
                where=str(folder),
                remedy=remedy,
            )
        return cls(place, database, clock)

    @staticmethod
    def exists(folder: PathLike) -> bool:
        """Return whether there is a complete project in *folder*."""
        place = Path(folder)
        if not (place / FILE).is_file():
            return False
        with _database(place).reading() as connection:
            return ABOUT.name in inspect(connection).get_table_names()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what reading damaged rows raises into one sentence."""
        try:
            yield
        except (ValueError, TypeError, LookupError, NoResultFound, zlib.error) as error:
            raise InputError(
                f"the judging project is damaged ({reason_of(error)})", where=str(self.folder), remedy="restore a copy"
            ) from error

    def __repr__(self) -> str:
        return f"JudgingProject({str(self.folder)!r})"

    @cached_property
    def _about(self) -> dict[str, Any]:
        with self._translated(), self._database.reading() as connection:
            return dict(connection.execute(select(ABOUT)).mappings().one())

    @property
    def identity(self) -> str:
        """A random name that no other project has."""
        return str(self._about["identity"])

    @property
    def created(self) -> str:
        """When the project was created, as ISO 8601 in UTC."""
        return str(self._about["created"])

    @cached_property
    def scale(self) -> GradeScale:
        """The grades."""
        with self._translated():
            return GradeScale(tuple(json.loads(self._about["scale"])))

    @property
    def budget(self) -> int | None:
        """The number of labels that the plan was made for; None if all of the pool is planned."""
        with self._translated(), self._database.reading() as connection:
            budget = connection.execute(select(ABOUT.c.budget)).scalar_one()
        return None if budget is None else int(budget)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What describes data and systems."""
        with self._translated():
            return dict(json.loads(self._about["provenance"]))

    @cached_property
    def pool(self) -> Pool:
        """The pool."""
        with self._translated(), self._database.reading() as connection:
            about = json.loads(self._about["pool"])
            rows = connection.execute(select(QUERIES.c.query, QUERIES.c.pooled).order_by(QUERIES.c.position))
            items = {query: tuple(PooledItem(*entry) for entry in json.loads(pooled)) for query, pooled in rows}
            return Pool(about["method"], about["depth"], tuple(about["systems"]), items, about["size"])

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that contributed to the pool."""
        return self.pool.systems

    @property
    def plan(self) -> Plan:
        """The plan as it is now; `extend` adds units."""
        with self._translated(), self._database.reading() as connection:
            design, seed = connection.execute(select(ABOUT.c.design, ABOUT.c.seed)).one()
            return Plan(design, seed, tuple(read_units(connection)), self._strata)

    @cached_property
    def _strata(self) -> Strata | None:
        if self._about["strata"] is None:
            return None
        with self._translated(), self._database.reading() as connection:
            about = json.loads(self._about["strata"])
            queries: list[list[str]] = [[] for _ in about["values"]]
            for row in connection.execute(select(QUERIES.c.query, QUERIES.c.stratum).order_by(QUERIES.c.position)):
                queries[row.stratum].append(row.query)
            parts = zip(about["values"], queries, strict=True)
            slices = tuple(Slice(about["attribute"], value, tuple(part)) for value, part in parts)
            return Strata(slices, about["allocation"])

    @property
    def queries(self) -> list[str]:
        """The ids of all queries."""
        return list(self.pool.items)

    @cached_property
    def _query_texts(self) -> dict[str, str]:
        with self._translated(), self._database.reading() as connection:
            return {row.query: row.text for row in connection.execute(select(QUERIES))}

    def query_text(self, query: str) -> str:
        """Return the text of a query."""
        if query not in self._query_texts:
            raise unknown_name("query", query, self._query_texts, "goldrank judge status", where=str(self.folder))
        return self._query_texts[query]

    def item_text(self, item: str) -> tuple[str, str]:
        """Return title and text of a pooled item."""
        with self._translated(), self._database.reading() as connection:
            row = connection.execute(select(ITEMS.c.title, ITEMS.c.text).where(ITEMS.c.item == item)).first()
        if row is None:
            raise InputError(f"the item {shorten(item)} is not in the pool", where=str(self.folder))
        return row.title, row.text

    def rankings(self) -> dict[str, Run]:
        """Return the rankings of all systems, at least as deep as the pool."""
        with self._translated(), self._database.reading() as connection:
            rows = {row.system: row.run for row in connection.execute(select(RANKINGS))}
        return {system: load_run(rows[system], f"{self.folder}: {system}") for system in self.systems}

    # Judging

    def claim(self, judge: str) -> Unit | None:
        """Return the unit that this judge should judge now, and reserve it until its lease expires; None at the end.

        This is the unit that the judge has begun, else the first that nobody has, else one that is planned for a
        second judge. No two judges get the same unit at once, unless it is planned for both.
        """
        judge = check_judge(judge)
        with self._translated(), self._database.writing() as connection:
            units, judges = read_units(connection), human_judges(connection)
            now, claims = self._clock(), read_claims(connection)
            unit = next_unit(units, claims, judges, judge, now)
            if unit is not None:
                renew_claims(
                    connection, judge, now + LEASE, unit.position, known=judge in claims.get(unit.position, {})
                )
        return unit

    def remaining(self, unit: Unit, judge: str) -> tuple[str, ...]:
        """Return the items of a unit that this judge has yet to judge; some may have labels enough of others."""
        with self._translated(), self._database.reading() as connection:
            judges = human_judges(connection, EVENTS.c.query == unit.query)
        return open_items(unit, judges, judge, set())

    def add_label(self, query: str, item: str, grade: int | None, judge: str, seconds: float | None = None) -> Label:
        """Store a label of a person; once this returns, it is never lost. A later label of a pair replaces the earlier.

        Args:
            query: The query.
            item: An item of its pool.
            grade: The grade; None if the judge cannot judge it.
            judge: The name of the judge.
            seconds: The time that the judge took.

        Raises:
            InputError: The pair is not in the pool, or the grade is not on the scale.
        """
        judge, grade = check_judge(judge), self.scale.check(grade)
        if (query, item) not in self.pairs:
            raise InputError(f"{shorten(item)} is not in the pool of query {shorten(query)}", where=str(self.folder))
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
            raise InputError(f"the time {seconds} is not a number of seconds", remedy="give a number from 0 up")
        label = Label(query, item, grade, judge, "human", timestamp(), seconds)
        with self._translated(), self._database.writing() as connection:
            connection.execute(EVENTS.insert(), {"action": "label", **asdict(label)})
            if self.pool.size is not None:
                self._grow(connection, query)
            renew_claims(connection, judge, self._clock() + LEASE)
        return label

    def _grow(self, connection: Connection, query: str) -> None:
        """Add the next items to the unit of a query once all of its items are labelled."""
        condition = (UNITS.c.query == query) & UNITS.c.grows
        for unit in read_units(connection, condition):
            labels = current_labels(connection, EVENTS.c.query == query, EVENTS.c.source == "human").values()
            grades = {
                **dict.fromkeys((label.item for label in labels), None),
                **by_query(combine(labels)).get(query, {}),
            }
            if all(item in grades for item in unit.items) and (wanted := next_items(self.pool, query, grades)):
                seed = connection.execute(select(ABOUT.c.seed)).scalar_one()
                items = (*unit.items, *shuffled(wanted, seed, len(unit.items)))
                row = unit_row(replace(unit, items=items, inclusion=(1.0,) * len(items)))
                connection.execute(UNITS.update().where(UNITS.c.position == unit.position).values(**row))

    def undo(self, judge: str) -> Label | None:
        """Take back the judge's last label and return it; None if there is none. Both stay in the history."""
        judge = check_judge(judge)
        with self._translated(), self._database.writing() as connection:
            mine = read_labels(connection, EVENTS.c.judge == judge, EVENTS.c.source == "human")
            number, label = next(iter(deque(mine, maxlen=1)), (None, None))
            if label is None:
                return None
            undone = {**asdict(label), "action": "undo", "target": number, "created": timestamp()}
            connection.execute(EVENTS.insert(), undone)
            renew_claims(connection, judge, self._clock() + LEASE)
        return label

    def complete_units(self) -> list[Unit]:
        """Return the units from position 0 up to the first that is not completely labelled: a random prefix.

        A unit is complete once every item has a label of a person on the judging page, be it "cannot judge".
        """
        with self._translated(), self._database.reading() as connection:
            units, judged = read_units(connection), human_judges(connection)
        complete: list[Unit] = []
        for unit in units:
            if not all(judged.get((unit.query, item)) for item in unit.items):
                break
            complete.append(unit)
        return complete

    # Labels

    def labels(self, *sources: str) -> list[Label]:
        """Return the current label of each judge for each pair, of the given sources or of all."""
        with self._translated(), self._database.reading() as connection:
            conditions = [EVENTS.c.source.in_(sources)] if sources else []
            return list(current_labels(connection, *conditions).values())

    def history(self, after: int = 0) -> list[LabelEvent]:
        """Return everything that was labelled and taken back, in order, behind the event with the number *after*."""
        with self._translated(), self._database.reading() as connection:
            rows = connection.execute(
                select(EVENTS.c.id, EVENTS.c.action, *LABEL_COLUMNS).where(EVENTS.c.id > after).order_by(EVENTS.c.id)
            )
            return [LabelEvent(number, action, Label(*values)) for number, action, *values in rows]

    def add_labels(self, labels: Iterable[Label]) -> int:
        """Import labels in one transaction; return how many were added, without those that are there already.

        Raises:
            InputError: A label is not imported or weak, or its grade is not on the scale.
        """
        labels = list(labels)
        for label in labels:
            if label.source not in ("imported", "weak"):
                raise InputError(f"a label of the source {shorten(label.source)} cannot be imported")
            self.scale.check(label.grade, f"{label.judge}: query {shorten(label.query)}, item {shorten(label.item)}")
        with self._translated(), self._database.writing() as connection:
            there = current_labels(connection)
            new = []
            for label in labels:
                known = there.get((label.judge, label.source, *label.pair))
                if known is None or known.grade != label.grade:
                    new.append(label)
            insert_rows(connection, EVENTS, [{"action": "label", **asdict(label)} for label in new])
        return len(new)

    def add_model_grades(self, grades: Iterable[ModelGrade]) -> None:
        """Store grades of model judges in one transaction; a later grade of a pair replaces the earlier."""
        rows = [{**asdict(grade), "answer": replace_surrogates(grade.answer)} for grade in grades]
        for row in rows:
            self.scale.check(row["grade"], row["judge"])
            if (row["query"], row["item"]) not in self.pairs:
                raise InputError(f"{shorten(row['item'])} is not in the pool of query {shorten(row['query'])}")
        with self._translated(), self._database.writing() as connection:
            insert_rows(connection, MODEL_GRADES, rows)

    def model_grades(self, judge: str) -> list[ModelGrade]:
        """Return the current grade of a model judge for each pair."""
        with self._translated(), self._database.reading() as connection:
            rows = connection.execute(
                select(MODEL_GRADES).where(MODEL_GRADES.c.judge == judge).order_by(MODEL_GRADES.c.id)
            ).mappings()
            grades = {
                (row["query"], row["item"]): ModelGrade(**{name: row[name] for name in row if name != "id"})
                for row in rows
            }
        return list(grades.values())

    def model_judges(self) -> list[str]:
        """Return the specs of the model judges that have graded something, in order of their first grade."""
        with self._translated(), self._database.reading() as connection:
            rows = connection.execute(select(MODEL_GRADES.c.judge).order_by(MODEL_GRADES.c.id)).scalars()
            return list(dict.fromkeys(rows))

    # The plan

    def extend(
        self, units: Sequence[Unit], *, budget: int | None = None, rounds: Mapping[int, Floats] | None = None
    ) -> None:
        """Add units behind those of the plan, in one transaction.

        Args:
            units: The units, whose positions continue those of the plan.
            budget: The new budget; None leaves it as it is.
            rounds: The probability with which each pair of the pool was drawn, for every new round.

        Raises:
            InputError: The positions do not continue the plan, because another process has extended it meanwhile, or
                the items are not in the pool of the query.
        """
        for unit in units:
            _check_unit(unit, self.pool)
        with self._translated(), self._database.writing() as connection:
            next_position = len(read_units(connection))
            if [unit.position for unit in units] != list(range(next_position, next_position + len(units))):
                raise InputError(
                    f"the plan has {next_position} units, so that these do not follow", where=str(self.folder),
                    remedy="read the plan again: another process may have extended it",
                )  # fmt: skip
            insert_rows(connection, UNITS, [unit_row(unit) for unit in units])
            insert_rows(connection, ROUNDS, [round_row(number, chance) for number, chance in (rounds or {}).items()])
            if budget is not None:
                connection.execute(ABOUT.update().values(budget=budget))

    def rounds(self) -> dict[int, Floats]:
        """Return the probability with which each pair of the pool was drawn, in its order, for every round."""
        with self._translated(), self._database.reading() as connection:
            rows = connection.execute(select(ROUNDS).order_by(ROUNDS.c.number)).all()
        with self._translated():
            return {row.number: np.frombuffer(zlib.decompress(row.probability), "<f8") for row in rows}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """All pairs of a query and an item of the pool."""
        return frozenset((query, entry.item) for query, pooled in self.pool.items.items() for entry in pooled)


def open_project(folder: PathLike = FOLDER) -> JudgingProject:
    """Open the judging project in *folder*.

    >>> open_project("no-such-folder")
    Traceback (most recent call last):
    goldrank.errors.InputError: no-such-folder: there is no such folder; goldrank judge start creates one
    """
    return JudgingProject.open(folder)


def _database(folder: Path) -> Database:
    url = URL.create("sqlite", database=str((folder / FILE).absolute()))
    return Database(url, str(folder), kind="judging project", other="another folder")


def _version(connection: Connection) -> int:
    return int(connection.execute(select(ABOUT.c.version)).scalar_one())


def _check_unit(unit: Unit, pool: Pool) -> None:
    items = {entry.item for entry in pool.items.get(unit.query, ())}
    if unit.query not in pool.items or not items.issuperset(unit.items):
        raise InputError(f"the unit at position {unit.position} has items outside of the pool")
    if len(set(unit.items)) < len(unit.items) or len(unit.inclusion) != len(unit.items) or unit.judges < 1:
        raise InputError(f"the unit at position {unit.position} is not consistent")


def _check_parts(
    pool: Pool, plan: Plan, queries: Mapping[str, str], texts: Mapping[str, str], rankings: Mapping[str, Run]
) -> None:
    if set(pool.systems) != set(rankings):
        raise InputError("the systems of the pool are not those of the rankings")
    if plan.strata is not None and (
        sum(plan.strata.sizes) != len(pool.items) or plan.strata.number.keys() != pool.items.keys()
    ):
        raise InputError("the queries of the strata are not those of the pool")
    for number, unit in enumerate(plan.units):
        _check_unit(unit, pool)
        if unit.position != number:
            raise InputError(f"unit {number} of the plan has the position {unit.position}")
    for query, pooled in pool.items.items():
        if query not in queries:
            raise InputError(f"the query {shorten(query)} of the pool has no text")
        for entry in pooled:
            if entry.item not in texts:
                raise InputError(f"the item {shorten(entry.item)} of the pool has no text")
