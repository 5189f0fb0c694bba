"""Keep all runs of a store in memory for a server, and read only those that another process has changed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from goldrank.store.records import StoredRun
from goldrank.store.store import Store


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The runs of a store at one time, the oldest first."""

    runs: tuple[StoredRun, ...] = ()
    by_key: Mapping[str, StoredRun] = field(default_factory=dict)
    number: int = 0
    """Counts the changes: equal numbers mean equal runs."""


class Snapshots:
    """The newest snapshot of a store, for any number of threads.

    SQLite reports whether the database was changed (`PRAGMA data_version`); for another database, the checksums of all
    rows are read. Only new rows are read in full.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._watch = _Watch(store.file) if store.file is not None else None
        self._version: object = None
        self._now = Snapshot()
        self._known: dict[tuple[str, str], StoredRun] = {}

    def newest(self) -> Snapshot:
        """Return the runs as they are now."""
        with self._lock:
            version = None if self._watch is None else self._watch.version()
            if version is None or version != self._version:
                self._read()
                self._version = version
            return self._now

    def _read(self) -> None:
        before = [(run.digest, run.folder.name) for run in self._now.runs]
        self._known = self._store.read_changes(self._known)
        runs = tuple(self._known.values())
        if [(run.digest, run.folder.name) for run in runs] != before:
            by_key = MappingProxyType({run.key: run for run in runs})
            self._now = Snapshot(runs, by_key, self._now.number + 1)


class _Watch:
    """Detects changes of an SQLite file, through a connection that never writes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._inode: int | None = None
        self._connection: sqlite3.Connection | None = None

    def version(self) -> tuple[int, int] | None:
        """Return a value that stays equal until the file is changed; None if it cannot be determined."""
        try:
            inode = self._file.stat().st_ino
            if self._connection is None or inode != self._inode:
                self._connection = sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, check_same_thread=False)
                self._inode = inode
            return inode, int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        except (OSError, sqlite3.Error):
            self._connection = None
            return None
