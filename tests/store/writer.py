"""Processes that save records, for tests of concurrent writers and of killed ones."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

from goldrank.store import Store
from killing import die_at_step
from store.cases import a_record

# Each process is forked from one that has imported everything and has no threads.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["goldrank.store", "goldrank.scoring", "pyarrow.parquet", "psycopg", "sqlalchemy.dialects.sqlite"]
)


class Writer:
    """A process that opens the store, waits for `go`, and sends the key of each run when it is saved.

    With *dies_at* it is killed at that step.
    """

    def __init__(self, where: str, first: int, last: int, how: str, dies_at: int | None = None) -> None:
        self._link, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_save, args=(theirs, where, first, last, how == "overwrite", dies_at))
        self._process.start()
        theirs.close()
        assert self._link.recv() == "ready"

    def go(self) -> None:
        self._link.send("go")

    def keys(self) -> list[str]:
        """Return all keys that were sent before the process ended."""
        keys = []
        try:
            while True:
                keys.append(self._link.recv())
        except (EOFError, ConnectionResetError):
            self._process.join()
            return keys

    @property
    def exit_code(self) -> int | None:
        return self._process.exitcode


def _save(link: Connection, where: str, first: int, last: int, overwrite: bool, dies_at: int | None) -> None:
    store = Store.open(where)
    link.send("ready")
    link.recv()
    if dies_at is not None:
        die_at_step(dies_at)
    for number in range(first, last):
        link.send(store.save(a_record(number), overwrite=overwrite).key)
