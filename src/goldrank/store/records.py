"""The records of a store: `RunRecord` to be saved, and `StoredRun` to be read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from goldrank.errors import InputError
from goldrank.hits import Gold, Hits, Run
from goldrank.io.columns import Columns
from goldrank.io.files import read_bytes
from goldrank.io.fingerprints import FileState, content_digest, file_state
from goldrank.store.keys import EVALUATED, run_name
from goldrank.store.tables import Load, find_row, load_hits, load_predictions, load_run

if TYPE_CHECKING:
    import pyarrow

_RUN_AGAIN = "run it again with --overwrite always"
ResultKind = Literal["ranked", "measured", "masked"]
"""What a run holds: rankings, measured values, or guesses at masks."""
HITS, RUN, PREDICTIONS = "hits.parquet", "run.parquet", "predictions.parquet"


@dataclass(frozen=True)
class RunRecord:
    """The result of one model on one task, to be saved."""

    task: str
    model: str
    """The spec as the user wrote it."""
    inputs: Mapping[str, Any]
    """Everything that determines the result, as JSON values; runs with equal inputs are the same run."""
    environment: Mapping[str, Any]
    """Further provenance: versions, machine, seconds, command line."""
    hits: Hits | None = None
    """Where the gold landed; None for a measurement, which has measured values instead."""
    run: Run | None = None
    """The top of the rankings, if there are rankings."""
    profile: str = "standard"
    metrics: tuple[str, ...] = ()
    """The default metrics; empty for those of the profile."""
    conventions: Mapping[str, Any] = field(default_factory=dict)
    """The conventions in which the task differs from the profile, used unless another profile is given."""
    measured: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The numbers of a measurement by name, each a value with its count and interval."""
    predictions: Mapping[str, Sequence[Any]] | pyarrow.Table | None = None
    """Columns of equal length from which the measured values or the hits were computed."""
    summary: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The headline metrics of the hits with their intervals, under the run's own conventions."""

    def __post_init__(self) -> None:
        if (self.hits is None) == (not self.measured):
            raise ValueError("a record has either hits or measured values")

    def dated(self, when: datetime) -> RunRecord:
        """Return the record as a dated version: one of several evaluations of equal inputs with different results."""
        return replace(self, inputs={**self.inputs, EVALUATED: when.isoformat(timespec="microseconds")})


@dataclass(frozen=True)
class StoredRun:
    """A run in a store; its tables are read on demand, and their checksums are compared."""

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
    measured: Mapping[str, Mapping[str, Any]]
    """The values of a measurement; empty for a run with hits."""
    summary: Mapping[str, Mapping[str, Any]]
    """The headline metrics of a run with hits, if they were stored."""
    folder: Path = field(repr=False)
    hits_checksum: str | None = field(repr=False)
    run_checksum: str | None = field(repr=False)
    predictions_checksum: str | None = field(repr=False)
    reload: Callable[[str], StoredRun | None] | None = field(default=None, repr=False, compare=False)
    """Returns the run with a digest as it is stored now."""
    held_hits: Hits | None = field(default=None, repr=False, compare=False)
    """The hits in memory, passed on by the caller that saved the run, so that they need not be read back."""
    held_run: Run | None = field(default=None, repr=False, compare=False)
    """The rankings in memory, if they are not in the store."""
    label: str = field(default="", compare=False)
    """The name that the user gives it in a report or figure."""

    @property
    def name(self) -> str:
        """The name that all dated versions of the same inputs share; the key of a run without a date."""
        return run_name(self.key)

    @property
    def evaluated(self) -> datetime | None:
        """When a dated version was evaluated; None for a run that its inputs determine."""
        when = self.inputs.get(EVALUATED)
        return None if when is None else datetime.fromisoformat(when)

    @property
    def result_kind(self) -> ResultKind:
        """The kind of result."""
        if self.inputs.get("kind") == "masked":
            return "masked"
        return "measured" if self.hits_checksum is None else "ranked"

    def hits(self) -> Hits:
        """Return where the gold landed."""
        if self.held_hits is not None:
            return self.held_hits
        if self.hits_checksum is None:
            raise InputError(
                f"{self.key} is a measurement ({', '.join(self.measured)}), which has no ranks",
                remedy="goldrank runs show prints its values",
            )
        return load_hits(self._read(HITS), str(self.folder / HITS))

    def predictions(self) -> dict[str, list[Any]]:
        """Return the columns from which the values of a measurement were computed; empty if none were stored."""
        if self.predictions_checksum is None:
            return {}
        table = self.predictions_table()
        return {name: table[name].to_pylist() for name in table.column_names}

    def predictions_table(self) -> pyarrow.Table:
        """Return the predictions as an Arrow table."""
        if self.predictions_checksum is None:
            raise InputError(f"{self.key} has no predictions", remedy="choose a run that holds them")
        return load_predictions(self._read(PREDICTIONS), str(self.folder / PREDICTIONS))

    def run(self) -> Run | None:
        """Return the top of the rankings, None if it was not stored."""
        if self.held_run is not None:
            return self.held_run
        if self.run_checksum is None:
            return None
        return load_run(self._read(RUN), str(self.folder / RUN))

    def ranking(self, query: str, load: Load = lambda _part, read: read()) -> dict[str, float]:
        """Return the stored top of one query's ranking, without reading the others; empty if there is none."""
        if self.held_run is not None:
            return self.held_run.get(query, {})
        if self.run_checksum is None:
            return {}
        row = find_row(self.verified(RUN), query, load)
        return {} if row is None else dict(zip(row["item"], row["score"], strict=True))

    def chunks(self, query: str, load: Load = lambda _part, read: read()) -> dict[str, str]:
        """Return the best chunk of each item in `ranking`; empty if documents were ranked whole."""
        row = None if self.run_checksum is None else find_row(self.verified(RUN), query, load)
        return dict(zip(row["item"], row["chunk"], strict=True)) if row is not None and "chunk" in row else {}

    def judged_items(self, query: str, load: Load = lambda _part, read: read()) -> list[dict[str, Any]]:
        """Return a row for each judged item of one query, without reading the others: item, grade, above, tied …"""
        row = None if self.hits_checksum is None else find_row(self.verified(HITS), query, load)
        if row is None:
            return []
        columns = {name: values for name, values in row.items() if isinstance(values, list)}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    def gold(self) -> Gold:
        """Return the gold of the run."""
        hits = self.hits()
        return Gold.from_columns(Columns(hits.queries, hits.starts, hits.items, hits.grade, f"the gold of {self.key}"))

    @property
    def complete(self) -> bool:
        """Whether all its tables exist; their content is not checked."""
        return all(
            (self.folder / name).is_file() for name in (HITS, RUN, PREDICTIONS) if self._checksum(name) is not None
        )

    def verified(self, name: str) -> Path:
        """Return the path of a table after comparing its checksum, which is computed once until the file changes."""
        run = self._with_tables(name)
        path = run.folder / name
        if _digest_of(path, file_state(path)) != run._checksum(name):
            raise run._damaged(name)
        return path

    def _checksum(self, name: str) -> str | None:
        return {HITS: self.hits_checksum, RUN: self.run_checksum, PREDICTIONS: self.predictions_checksum}[name]

    def _read(self, name: str) -> bytes:
        run = self._with_tables(name)
        try:
            data = (run.folder / name).read_bytes()
        except OSError:
            data = read_bytes(run.folder / name)  # raises an error with the reason
        if hashlib.sha256(data).hexdigest() != run._checksum(name):
            raise run._damaged(name)
        return data

    def _with_tables(self, name: str) -> StoredRun:
        """Return this run, or if its tables are gone, the run of the same inputs that replaced it."""
        path = self.folder / name
        if path.is_file():
            return self
        current = None if self.reload is None else self.reload(self.digest)
        if current is not None and current.folder != self.folder and (current.folder / name).is_file():
            return current
        if self.reload is not None and current is None:
            raise InputError(f"the stored run {self.key} was removed meanwhile", remedy="goldrank runs list")
        raise InputError(f"a table of the stored run {self.key} is missing", where=str(path), remedy=_RUN_AGAIN)

    def _damaged(self, name: str) -> InputError:
        what = f"the table of the stored run {self.key} is truncated or was changed"
        return InputError(what, where=str(self.folder / name), remedy=_RUN_AGAIN)


@lru_cache(maxsize=4096)
def _digest_of(path: Path, _state: FileState) -> str:
    return content_digest(path, "sha256")
