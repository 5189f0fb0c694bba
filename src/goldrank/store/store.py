"""The store: runs saved once under a key, found again by their inputs, listed and deleted."""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from goldrank.errors import GoldrankError, InputError, shorten, unknown_name
from goldrank.io.files import PathLike, write_atomically
from goldrank.store import schema
from goldrank.store.database import Database
from goldrank.store.keys import candidates, canonical_json, digest
from goldrank.store.places import find_place
from goldrank.store.records import HITS, PREDICTIONS, RUN, Record, StoredRun
from goldrank.store.schema import RUNS
from goldrank.store.tables import dump_hits, dump_predictions, dump_run
from goldrank.store.texts import Texts

_ATTEMPTS = 50
# A folder that no row names may be one that another process is filling; one this old is what a crash left.
_ABANDONED_SECONDS = 3600.0


class Store:
    """Stored runs: rows in a database, hits and rankings as Parquet beside it.

    Each save writes its tables into a folder of its own and then the row that names it, so that a row never
    stands for tables that are half there, and two processes never write into one folder. Opening a store and
    reading from one that does not exist yet leaves no trace.

    >>> import tempfile
    >>> from goldrank import Gold, Run
    >>> store = Store.open(tempfile.mkdtemp())
    >>> hits = Run({"q1": {"d1": 0.9, "d3": 0.4}}).hits(Gold({"q1": {"d3": 1}}))
    >>> inputs = {"task": "wines", "model": "wordllama", "seed": 0}
    >>> saved = store.save(Record("wines", "wordllama", inputs, {"seconds": 0.1}, hits))
    >>> store.find(inputs).key == saved.key == "wines-wordllama-" + saved.digest[:4]
    True
    """

    def __init__(self, where: PathLike | None = None) -> None:
        self._place = find_place(where)
        self._database = Database(self._place.url, self._place.name)
        self._folder: Path | None = None

    @classmethod
    def open(cls, where: PathLike | None = None) -> Store:
        """The store in a folder or at a URL (sqlite or postgresql); by default $GOLDRANK_STORE or the user's own."""
        return cls(where)

    @property
    def where(self) -> str:
        """The folder, or the URL without its password."""
        return self._place.name

    def find(self, inputs: Mapping[str, Any]) -> StoredRun | None:
        """The stored run of these inputs; None where there is none or its tables are gone."""
        wanted = digest(inputs)
        found = next(iter(self._select(RUNS.c.digest == wanted)), None)
        return found if found is not None and found.complete else None

    def get(self, key: str) -> StoredRun:
        """The run of that key, or the only one whose key starts so."""
        # SQLite takes capitals for small letters when it looks for a start.
        matching = [run for run in self._select(RUNS.c.key.startswith(key, autoescape=True)) if run.key.startswith(key)]
        exact = [run for run in matching if run.key == key]
        if key and len(found := exact or matching) == 1:
            return found[0]
        if not key or not found:
            error = unknown_name("stored run", key, [run.key for run in self.list()], "goldrank runs list")
            raise InputError(error.what, where=self.where, remedy=error.remedy)
        shown = ", ".join(sorted(run.key for run in found)[:5]) + (", …" if len(found) > 5 else "")
        raise InputError(f"{shorten(key)} may be any of {shown}", remedy="write more of the key")

    def list(self, *, task: str | None = None, model: str | None = None) -> list[StoredRun]:
        """All runs, the oldest first; *task* and *model* are names or patterns such as ``st:*``."""
        return [run for run in self._select() if _matches(run.task, task) and _matches(run.model, model)]

    def save(self, record: Record, *, overwrite: bool = False) -> StoredRun:
        """Keep a run; one of the same inputs is left as it is, unless *overwrite* asks for it anew."""
        values = _values(record)
        tables = self._tables(create=True)
        assert tables is not None
        present = self.find(record.inputs)
        if present is not None and not overwrite:
            return present
        files = _files(record)
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        folder = tables / f"{values['digest']}.{os.urandom(4).hex()}"
        columns = {"hits_checksum": HITS, "run_checksum": RUN, "predictions_checksum": PREDICTIONS}
        values |= {"folder": folder.name, **{column: sums.get(name) for column, name in columns.items()}}
        try:
            self._write(folder, files)
            stored, obsolete = self._insert(values, overwrite)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        for name in obsolete:
            shutil.rmtree(tables / name, ignore_errors=True)
        return stored

    def texts(self, data: str) -> Texts | None:
        """The texts of the data set with that checksum; None where there is no store yet."""
        tables = self._tables()
        return None if tables is None or not re.fullmatch(r"[0-9a-f]{8,64}", data) else Texts(tables, data)

    def delete(self, keys: Sequence[str]) -> builtins.list[StoredRun]:
        """Remove runs, all of them or (where a key is unknown) none, and what crashed processes left behind."""
        gone = list({run.digest: run for run in map(self.get, keys)}.values())
        if gone:
            with self._database.writing() as connection:
                connection.execute(RUNS.delete().where(RUNS.c.digest.in_([run.digest for run in gone])))
            for run in gone:
                shutil.rmtree(run.folder, ignore_errors=True)
        self._sweep()
        return gone

    def _tables(self, *, create: bool = False) -> Path | None:
        """The folder of this store's tables, its database made or brought up to date; None where there is no store."""
        if self._folder is not None and (self._database.file is None or self._database.file.is_file()):
            return self._folder
        if self._database.file is not None and not self._database.file.is_file():
            if not create:
                return None
            self._make_folder(self._database.file.parent)
        with self._database.reading() as connection:
            about = schema.read_about(connection, self.where)
        if about is None and not create:
            return None
        if about is None or about.version < schema.VERSION:
            with self._database.setting_up() as connection:
                about = schema.create_or_migrate(connection, self.where)
        self._folder = self._place.tables / about.identity if self._place.shared else self._place.tables
        return self._folder

    def _select(self, *conditions: Any) -> builtins.list[StoredRun]:
        tables = self._tables()
        if tables is None:
            return []
        with self._database.reading() as connection:
            rows = connection.execute(select(RUNS).where(*conditions).order_by(RUNS.c.created, RUNS.c.key)).mappings()
            return [_stored(row, tables) for row in rows]

    def _write(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self._make_folder(folder)
        for name, data in files.items():
            write_atomically(folder / name, lambda out, data=data: out.write(data))  # type: ignore[misc]

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (PermissionError, FileExistsError, NotADirectoryError) as error:
            raise InputError(
                f"the folder cannot be made ({error.strerror})",
                where=str(folder),
                remedy="name another store with --store, or change the permissions",
            ) from None
        except OSError as error:
            raise GoldrankError(f"{folder}: the folder cannot be made ({error.strerror}); nothing was stored") from None

    def _insert(self, values: dict[str, Any], overwrite: bool) -> tuple[StoredRun, builtins.list[str]]:
        """The row that stands for these inputs afterwards, and the folders that no row names any more."""
        tables = self._tables(create=True)
        assert tables is not None
        for _ in range(_ATTEMPTS):
            try:
                with self._database.writing() as connection:
                    return _insert_once(connection, values, tables, overwrite)
            except IntegrityError:
                # Another process took the key or saved the same inputs meanwhile: look again.
                continue
        raise GoldrankError(f"{self.where}: the run could not be stored, other processes were always faster; try again")

    def _sweep(self) -> None:
        tables = self._tables()
        if tables is None or not tables.is_dir():
            return
        with self._database.reading() as connection:
            named = set(connection.execute(select(RUNS.c.folder)).scalars())
            data = {
                str(json.loads(inputs).get("data")) for inputs in connection.execute(select(RUNS.c.inputs)).scalars()
            }
        named |= {Texts(tables, checksum).path.name for checksum in data}
        for entry in tables.iterdir():
            with suppress(OSError):
                if entry.name not in named and time.time() - entry.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _insert_once(
    connection: Connection, values: dict[str, Any], tables: Path, overwrite: bool
) -> tuple[StoredRun, list[str]]:
    same = RUNS.c.digest == values["digest"]
    row = connection.execute(select(RUNS).where(same).with_for_update()).mappings().one_or_none()
    if row is not None:
        present = _stored(row, tables)
        if present.complete and not overwrite:
            return present, [values["folder"]]
        values = {**values, "key": present.key}
        connection.execute(RUNS.update().where(same).values(values))
        return _stored(values, tables), [present.folder.name]
    possible = list(candidates(values["task"], values["model"], values["digest"]))
    taken = set(connection.execute(select(RUNS.c.key).where(RUNS.c.key.in_(possible))).scalars())
    values = {**values, "key": next(key for key in possible if key not in taken)}
    connection.execute(RUNS.insert().values(values))
    return _stored(values, tables), []


def _files(record: Record) -> dict[str, bytes]:
    """The tables of a record by their names."""
    files = {}
    if record.hits is not None:
        files[HITS] = dump_hits(record.hits)
    if record.run is not None:
        files[RUN] = dump_run(record.run)
    if record.predictions is not None:
        files[PREDICTIONS] = dump_predictions(record.predictions)
    return files


def _values(record: Record) -> dict[str, Any]:
    """The row of a record, as far as it does not depend on the store."""
    for name, text in (("task", record.task), ("model", record.model), ("profile", record.profile)):
        _refuse_bad_text(name, text)
    seconds = record.environment.get("seconds")
    return {
        "digest": digest(record.inputs),
        "task": record.task,
        "model": record.model,
        "inputs": canonical_json(record.inputs, "inputs"),
        "environment": canonical_json(record.environment, "environment"),
        "profile": record.profile,
        "metrics": json.dumps(record.metrics),
        "conventions": canonical_json(record.conventions, "conventions"),
        "created": datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        "queries": 0 if record.hits is None else len(record.hits.queries),
        "judged": 0 if record.hits is None else len(record.hits.items),
        # In their order, of which the first is the headline.
        "figures": json.dumps(record.figures),
        "summary": json.dumps(record.summary),
        "seconds": float(seconds) if isinstance(seconds, (int, float)) else None,
    }


def _refuse_bad_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the {name} {ascii(text)[:80]} is not valid Unicode", remedy="rename it") from None
    if not text.strip() or "\0" in text:
        raise InputError(f"the {name} {shorten(text)} cannot be stored", remedy="give a name of printable characters")


def _stored(row: Mapping[str, Any] | Any, tables: Path) -> StoredRun:
    return StoredRun(
        key=row["key"],
        digest=row["digest"],
        task=row["task"],
        model=row["model"],
        inputs=json.loads(row["inputs"]),
        environment=json.loads(row["environment"]),
        profile=row["profile"],
        metrics=tuple(json.loads(row["metrics"])),
        conventions=json.loads(row["conventions"]),
        created=datetime.fromisoformat(row["created"]),
        queries=row["queries"],
        judged=row["judged"],
        seconds=row["seconds"],
        figures=json.loads(row["figures"]),
        summary=json.loads(row["summary"]),
        folder=tables / row["folder"],
        hits_checksum=row["hits_checksum"],
        run_checksum=row["run_checksum"],
        predictions_checksum=row["predictions_checksum"],
    )


def _matches(text: str, pattern: str | None) -> bool:
    return pattern is None or text == pattern or fnmatchcase(text, pattern)
