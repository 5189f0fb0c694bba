"""A small judging project, and processes that judge it."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

from goldrank.hits import Run
from goldrank.judging.plans import plan_queries
from goldrank.judging.pools import build_pool
from goldrank.judging.project import JudgingProject
from killing import die_at_step

# Each process is forked from one that has imported everything and has no threads.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["goldrank.judging.project", "pyarrow.parquet", "sqlalchemy.dialects.sqlite"])


def rankings(queries=3, systems=2):
    """Return runs in which system s ranks the items s, s + 1 ..., so that neighbours share all but one item."""
    return {
        f"system{s}": Run({f"q{q}": {f"q{q}d{s + rank}": 9.0 - rank for rank in range(3)} for q in range(queries)})
        for s in range(systems)
    }


def create(folder, queries=3, systems=2, *, method="depth", size=None, clock=None, **plan):
    runs = rankings(queries, systems)
    pool = build_pool(runs, [f"q{q}" for q in range(queries)], depth=3, method=method, size=size)
    items = {entry.item for pooled in pool.items.values() for entry in pooled}
    return JudgingProject.create(
        folder,
        pool=pool,
        plan=plan_queries(pool, **{"double": 0, **plan}),
        queries={query: f"what is {query}?" for query in pool.items},
        texts={item: f"text of {item}" for item in items},
        titles={},
        rankings=runs,
        provenance={},
        **({} if clock is None else {"clock": clock}),
    )


def judge_all(project, judge, grade=1):
    """Judge until no unit is left; return the labelled pairs in order."""
    pairs = []
    while (unit := project.claim(judge)) is not None:
        for item in project.remaining(unit, judge):
            project.add_label(unit.query, item, grade, judge, seconds=1.0)
            pairs.append((unit.query, item))
    return pairs


class Judge:
    """A process that judges until no unit is left, and sends each pair once its label is acknowledged.

    With *dies_at* it is killed at that step.
    """

    def __init__(self, folder, name, dies_at=None) -> None:
        self._link, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_judge, args=(theirs, str(folder), name, dies_at))
        self._process.start()
        theirs.close()
        assert self._link.recv() == "ready"

    def go(self) -> None:
        self._link.send("go")

    def pairs(self) -> list[tuple[str, str]]:
        """Return all pairs whose labels were acknowledged before the process ended."""
        pairs = []
        try:
            while True:
                pairs.append(self._link.recv())
        except (EOFError, ConnectionResetError):
            self._process.join()
            return pairs

    @property
    def exit_code(self) -> int | None:
        return self._process.exitcode


def _judge(link: Connection, folder: str, name: str, dies_at: int | None) -> None:
    project = JudgingProject.open(folder)
    link.send("ready")
    link.recv()
    if dies_at is not None:
        die_at_step(dies_at)
    while (unit := project.claim(name)) is not None:
        for item in project.remaining(unit, name):
            project.add_label(unit.query, item, 1, name)
            link.send((unit.query, item))


class Creator:
    """A process that creates a project and is killed at a step."""

    def __init__(self, folder, dies_at) -> None:
        self._process = _CONTEXT.Process(target=_create, args=(str(folder), dies_at))
        self._process.start()
        self._process.join()
        self.exit_code = self._process.exitcode


def _create(folder: str, dies_at: int) -> None:
    die_at_step(dies_at)
    create(folder)
