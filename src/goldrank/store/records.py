"""What goes into a store, and what comes out of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from goldrank.errors import InputError
from goldrank.hits import Gold, Hits, Run
from goldrank.io.columns import Columns
from goldrank.io.files import read_bytes
from goldrank.store.tables import load_hits, load_run

HITS, RUN = "hits.parquet", "run.parquet"


@dataclass(frozen=True)
class Record:
    """One model on one task, to be saved."""

    task: str
    model: str
    """The spec as it was written."""
    inputs: Mapping[str, Any]
    """All that decides the result, as JSON can hold it; equal inputs are the same run."""
    environment: Mapping[str, Any]
    """What else should be known of it: versions, machine, seconds, command line."""
    hits: Hits
    run: Run | None = None
    """The top of the rankings, where there is one."""
    profile: str = "standard"
    metrics: tuple[str, ...] = ()
    """What to score when nothing else is asked for; empty for the profile's own."""
    conventions: Mapping[str, Any] = field(default_factory=dict)
    """In what the task differs from the profile, used when no other profile is asked for."""


@dataclass(frozen=True)
class StoredRun:
    """A run in a store; its tables are read when they are asked for, and checked."""

    key: str
    digest: str
    task: str
    model: str
    inputs: Mapping[str, Any]
    environment: Mapping[str, Any]
    profile: str
    metrics: tuple[str, ...]
    conventions: Mapping[str, Any]
    created: datetime
    queries: int
    judged: int
    seconds: float | None
    folder: Path = field(repr=False)
    hits_checksum: str = field(repr=False)
    run_checksum: str | None = field(repr=False)

    def hits(self) -> Hits:
        """Where the gold landed."""
        return load_hits(self._read(HITS, self.hits_checksum), self._place(HITS))

    def run(self) -> Run | None:
        """The top of the rankings, where it was stored."""
        if self.run_checksum is None:
            return None
        return load_run(self._read(RUN, self.run_checksum), self._place(RUN))

    def gold(self) -> Gold:
        """The gold that the run was judged by."""
        hits = self.hits()
        return Gold.from_columns(Columns(hits.queries, hits.starts, hits.items, hits.grade, f"the gold of {self.key}"))

    @property
    def complete(self) -> bool:
        """Whether its tables are there, whole or not."""
        return (self.folder / HITS).is_file() and (self.run_checksum is None or (self.folder / RUN).is_file())

    def _place(self, name: str) -> str:
        return str(self.folder / name)

    def _read(self, name: str, checksum: str) -> bytes:
        path, remedy = self.folder / name, "run it again with --overwrite always"
        if not path.is_file():
            raise InputError(f"a table of the stored run {self.key} is missing", where=str(path), remedy=remedy)
        try:
            data = path.read_bytes()
        except OSError:
            data = read_bytes(path)  # says what is wrong
        if hashlib.sha256(data).hexdigest() != checksum:
            raise InputError(
                f"the table of the stored run {self.key} is truncated or was changed", where=str(path), remedy=remedy
            )
        return data
