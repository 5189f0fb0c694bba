"""The store: save runs under keys, find them by their inputs, list and delete them."""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from goldrank.errors import AmbiguousNameError, GoldrankError, InputError, counts, shorten, unknown_name
from goldrank.io.cache_entries import remove_abandoned
from goldrank.io.files import PathLike, write_atomically
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.private_files import make_private_file, make_private_folder, restrict
from goldrank.redaction import redact
from goldrank.store import schema
from goldrank.store.database import Database
from goldrank.store.keys import EVALUATED, candidates, dated_keys, digest, run_name, undated, versions_back
from goldrank.store.locations import locate_store
from goldrank.store.records import HITS, PREDICTIONS, RUN, RunRecord, StoredRun
from goldrank.store.rows import DamagedRowError, is_folder_name, make_row, read_row, with_checksum
from goldrank.store.schema import RUNS
from goldrank.store.tables import dump_hits, dump_predictions, dump_run
from goldrank.store.texts import Texts

_ATTEMPTS = 50
_MOST_BY_NAME = 200
# A folder that no row names may be one that another process is writing, or one that was replaced while another process
# reads it. Both are touched then, so a folder of this age was left by a crash or an overwrite.
_ABANDONED_SECONDS = 3600.0


class Store:
    """Stored runs: rows in a database, hits and rankings as Parquet files beside it.

    Each save writes its tables into a new folder and then the row that names it, so that a row never names incomplete
    tables, and two processes never write into the same folder. Replaced tables stay for an hour, so that processes that
    have read their row can still read them. Opening a store, and reading from one that does not exist yet, creates no
    files.

    >>> import tempfile
    >>> from goldrank import Gold, Run
    >>> store = Store.open(tempfile.mkdtemp())
    >>> hits = Run({"q1": {"d1": 0.9, "d3": 0.4}}).hits(Gold({"q1": {"d3": 1}}))
    >>> inputs = {"task": "wines", "model": "wordllama", "seed": 0}
    >>> saved = store.save(RunRecord("wines", "wordllama", inputs, {"seconds": 0.1}, hits))
    >>> store.find(inputs).key == saved.key == "wines-wordllama-" + saved.digest[:4]
    True
    """

    def __init__(self, where: PathLike | None = None) -> None:
        self._location = locate_store(where)
        self._database = Database(self._location.url, self._location.name)
        self._folder: Path | None = None
        self._swept_at = -float("inf")

    @classmethod
    def open(cls, where: Store | PathLike | None = None) -> Store:
        """Return the store in a folder or at a URL (sqlite or postgresql); by default $GOLDRANK_STORE or the user's.

        A store that is open already is returned as it is.
        """
        return where if isinstance(where, Store) else cls(where)

    @property
    def where(self) -> str:
        """The folder, or the URL without its password."""
        return self._location.name

    def __repr__(self) -> str:
        return f"Store({self.where!r})"

    @property
    def is_default(self) -> bool:
        """Whether this is the store that commands use by default."""
        return self._location == locate_store(None)

    def find(self, inputs: Mapping[str, Any]) -> StoredRun | None:
        """Return the stored run of these inputs, of several dated versions the newest.

        None is returned if there is none, its row is damaged or its tables are gone.
        """
        # The caller evaluates what is missing: without pyarrow, fail now and not when the result is saved.
        load_pyarrow()
        return self._find_exact(inputs) or next(iter(self.versions(inputs)), None)

    def versions(self, inputs: Mapping[str, Any]) -> builtins.list[StoredRun]:
        """Return the dated versions of these inputs, the newest first."""
        shared = digest(undated(inputs))
        task, model = (redact(str(inputs.get(name, ""))) for name in ("task", "model"))
        shortest = next(candidates(task, model, shared))
        try:
            runs = self._select(RUNS.c.key.startswith(shortest, autoescape=True))
        except DamagedRowError:
            return []
        dated = [run for run in runs if run.evaluated is not None and digest(undated(run.inputs)) == shared]
        return [run for run in reversed(dated) if run.complete]

    def _find_exact(self, inputs: Mapping[str, Any]) -> StoredRun | None:
        try:
            run = self._reload(digest(inputs))
        except DamagedRowError:
            return None
        return run if run is not None and run.complete else None

    def get(self, key: str) -> StoredRun:
        """Return the run of that key, or the only one whose key begins with it; of dated versions the newest."""
        full = self.complete_key(key)
        for run in self._select(RUNS.c.key == full):
            return run
        raise InputError(f"the stored run {full} was removed just now", where=self.where, remedy="goldrank runs list")

    def complete_key(self, key: str, *, newest: bool = True) -> str:
        """Return *key* if it exists, or the only key that begins with it.

        If the keys that begin with it are dated versions of one run, the *newest* is returned, or an error is raised.
        ``KEY~1`` is the version before the newest, ``KEY~2`` the one before that.
        """
        key, back = versions_back(key)
        tables = self._tables()
        matching: builtins.list[str] = []
        if tables is not None:
            with self._database.reading() as connection:
                query = select(RUNS.c.key).where(RUNS.c.key.startswith(key, autoescape=True))
                query = query.order_by(RUNS.c.created, RUNS.c.key)
                # SQLite ignores case when it compares prefixes.
                matching = [name for name in connection.execute(query).scalars() if name.startswith(key)]
        if key in matching:
            matching = [key]
        is_one_run = len({run_name(name) for name in matching}) == 1
        if key and is_one_run and back is not None:
            if back >= len(matching):
                raise InputError(
                    f"{shorten(key)} has {counts(len(matching), 'version')}, and none {back} before the newest",
                    where=self.where,
                    remedy="goldrank runs list",
                )
            return matching[-1 - back]
        if key and (len(matching) == 1 or (newest and is_one_run)):
            return matching[-1]
        if not key or not matching:
            keys = [run.key for run in self.list()]
            raise unknown_name("stored run", key, keys, "goldrank runs list", where=self.where)
        shown = ", ".join(sorted(matching)[:5]) + (", …" if len(matching) > 5 else "")
        raise AmbiguousNameError(f"{shorten(key)} may be any of {shown}", remedy="write more of the key")

    def list(self, *, task: str | None = None, model: str | None = None) -> list[StoredRun]:
        """Return all runs, the oldest first; *task* and *model* are names or patterns such as ``st:*``."""
        return [run for run in self._select() if _matches(run.task, task) and _matches(run.model, model)]

    def latest(self, task: str) -> builtins.list[StoredRun]:
        """Return the runs of a task on the data that was evaluated last; of dated versions the newest."""
        runs = self._select(RUNS.c.task == task)
        if not runs:
            with self._database.reading() as connection:
                known = list(connection.execute(select(RUNS.c.task).distinct()).scalars()) if self._tables() else []
            raise unknown_name("task in the store", task, known, "goldrank runs list", where=self.where)
        data = runs[-1].inputs.get("data")
        newest = {run_name(run.key): run for run in runs if run.inputs.get("data") == data}
        return list(newest.values())

    def models(self) -> builtins.list[str]:
        """Return the models of all runs, each once, in the order of their first runs."""
        if self._tables() is None:
            return []
        with self._database.reading() as connection:
            first = func.min(RUNS.c.created)
            rows = connection.execute(select(RUNS.c.model).group_by(RUNS.c.model).order_by(first, RUNS.c.model))
            return list(rows.scalars())

    @property
    def file(self) -> Path | None:
        """The file of the database; None if it is on a server."""
        return self._database.file

    def read_changes(self, known: Mapping[tuple[str, str], StoredRun]) -> dict[tuple[str, str], StoredRun]:
        """Return all runs by digest and checksum of their rows, the oldest first; only those not *known* are read."""
        tables = self._tables()
        if tables is None:
            return {}
        with self._database.reading() as connection:
            order = (RUNS.c.created, RUNS.c.key)
            rows = connection.execute(select(RUNS.c.digest, RUNS.c.checksum).order_by(*order)).all()
            names = [(digest, checksum) for digest, checksum in rows]
            missing = {name[0] for name in names if name not in known}
            chosen = select(RUNS) if len(missing) > _MOST_BY_NAME else select(RUNS).where(RUNS.c.digest.in_(missing))
            read = {
                row["digest"]: self._read(row, tables)
                for row in (connection.execute(chosen).mappings() if missing else ())
            }
        return {name: read[name[0]] if name[0] in read else known[name] for name in names}

    def save(self, record: RunRecord, *, overwrite: bool = False) -> StoredRun:
        """Save a run; one of the same inputs is returned unchanged, unless *overwrite* is set."""
        values = make_row(record)
        tables = self._tables(create=True)
        assert tables is not None
        self._sweep_now_and_then()
        present = self._find_exact(record.inputs)
        if present is not None and not overwrite:
            return present
        files = _files(record)
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        folder = tables / f"{values['digest']}.{os.urandom(4).hex()}"
        columns = {"hits_checksum": HITS, "run_checksum": RUN, "predictions_checksum": PREDICTIONS}
        values |= {"folder": folder.name, **{column: sums.get(name) for column, name in columns.items()}}
        try:
            self._write(folder, files)
            stored = self._insert(values, overwrite, files)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if stored.folder != folder:
            shutil.rmtree(folder, ignore_errors=True)
        return stored

    def texts(self, data: str) -> Texts | None:
        """Return the texts of the data set with that checksum; None if the store does not exist yet."""
        tables = self._tables()
        return None if tables is None or not re.fullmatch(r"[0-9a-f]{8,64}", data) else _texts(tables, data)

    def delete(self, keys: Sequence[str]) -> builtins.list[str]:
        """Delete runs, also damaged ones, and the remains of crashed processes; return the complete keys.

        If one of the keys is unknown, or stands for several dated versions, nothing is deleted.
        """
        complete = builtins.list(dict.fromkeys(self.complete_key(key, newest=False) for key in keys))
        if complete:
            tables = self._tables()
            assert tables is not None
            with self._database.writing() as connection:
                chosen = RUNS.c.key.in_(complete)
                folders = connection.execute(select(RUNS.c.folder).where(chosen)).scalars().all()
                connection.execute(RUNS.delete().where(chosen))
            for name in filter(is_folder_name, folders):
                shutil.rmtree(tables / name, ignore_errors=True)
        self._sweep()
        return complete

    def _tables(self, *, create: bool = False) -> Path | None:
        """Return the folder of this store's tables, and *create* the database; None if there is no store."""
        if self._folder is not None and (self._database.file is None or self._database.file.is_file()):
            return self._folder
        if self._database.file is not None and not self._database.file.is_file():
            if not create:
                return None
            self._make_folder(self._database.file.parent)
            make_private_file(self._database.file)
        with self._database.reading() as connection:
            store = schema.read_identity(connection, self.where)
        if store is None and not create:
            return None
        if store is None:
            store = self._set_up()
        folder = self._location.folder_of(store.identity)
        if self._location.shared and not folder.is_dir():
            raise InputError(
                f"the tables of this store are not in this folder; they were put into {store.tables or 'another one'}",
                where=str(folder),
                remedy="name the folder that all machines share with ?tables=FOLDER at the end of the URL; "
                "if the tables are lost, create this folder",
            )
        self._folder = folder
        return folder

    def _set_up(self) -> schema.StoreIdentity:
        """Create the database together with the folder of its tables, unless another process was faster."""
        with self._database.setting_up() as connection:
            store = schema.read_identity(connection, self.where)
            if store is None:
                store = schema.create(connection, f"{self._location.tables} on {socket.gethostname()}")
                if self._location.shared:
                    # A machine that shares the database but not this folder does not find it and gets an error.
                    self._make_folder(self._location.folder_of(store.identity))
        return store

    def _reload(self, digest: str) -> StoredRun | None:
        """Return the run of that digest as it is stored now."""
        return next(iter(self._select(RUNS.c.digest == digest)), None)

    def _select(self, *conditions: Any) -> builtins.list[StoredRun]:
        tables = self._tables()
        if tables is None:
            return []
        with self._database.reading() as connection:
            rows = connection.execute(select(RUNS).where(*conditions).order_by(RUNS.c.created, RUNS.c.key)).mappings()
            return [self._read(row, tables) for row in rows]

    def _read(self, row: Mapping[str, Any] | Any, tables: Path) -> StoredRun:
        return read_row(row, tables, self.where, self._reload)

    def _write(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self._make_folder(folder)
        for name, data in files.items():
            write_atomically(folder / name, lambda out, data=data: out.write(data))  # type: ignore[misc]
            restrict(folder / name)

    def _make_folder(self, folder: Path) -> None:
        try:
            make_private_folder(folder)
        except (PermissionError, FileExistsError, NotADirectoryError) as error:
            raise InputError(
                f"the folder cannot be created ({error.strerror})",
                where=str(folder),
                remedy="name another store with --store, or change the permissions",
            ) from None
        except OSError as error:
            raise GoldrankError(
                f"{folder}: the folder cannot be created ({error.strerror}); nothing was stored"
            ) from None

    def _insert(self, values: dict[str, Any], overwrite: bool, files: Mapping[str, bytes]) -> StoredRun:
        """Insert the row and return the stored run of these inputs."""
        tables = self._tables(create=True)
        assert tables is not None
        for _ in range(_ATTEMPTS):
            try:
                # Exclusively, so that no sweep removes the tables before the row that names them is inserted.
                with self._database.setting_up() as connection:
                    if not _touch(tables / values["folder"]):
                        self._write(tables / values["folder"], files)
                    return self._read(_insert_once(connection, values, tables, overwrite), tables)
            except IntegrityError:
                # Another process has used the key or saved the same inputs meanwhile: try again.
                continue
        raise GoldrankError(f"{self.where}: the run could not be stored, other processes were always faster; try again")

    def _sweep_now_and_then(self) -> None:
        """Remove the remains of killed processes from store and cache, at the first save and then once an hour."""
        if time.monotonic() - self._swept_at > _ABANDONED_SECONDS:
            self._sweep()
            remove_abandoned()

    def _sweep(self) -> None:
        """Remove tables that no row names and that are too old to be in use."""
        self._swept_at = time.monotonic()
        tables = self._tables()
        if tables is None or not tables.is_dir():
            return
        with self._database.reading() as connection:
            abandoned = self._abandoned(connection, tables)
        if not abandoned:
            return
        with self._database.setting_up() as connection:
            for entry in self._abandoned(connection, tables):
                with suppress(OSError):
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def _abandoned(self, connection: Connection, tables: Path) -> builtins.list[Path]:
        old = [entry for entry in tables.iterdir() if _is_old(entry)]
        if not old:
            return []
        try:
            runs = [self._read(row, tables) for row in connection.execute(select(RUNS)).mappings()]
        except DamagedRowError:
            # The damaged row may name a folder that would be removed.
            return []
        named = {run.folder.name for run in runs}
        for texts in (_texts(tables, str(run.inputs.get("data"))) for run in runs):
            named |= {texts.path.name, texts.attributes_path.name}
        return [entry for entry in old if entry.name not in named]


def _texts(tables: Path, data: str) -> Texts:
    return Texts(tables / f"texts-{data[:40]}.parquet")


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED_SECONDS
    except OSError:
        return False


def _touch(folder: Path) -> bool:
    """Prevent the removal of a folder as abandoned for an hour; return False if it does not exist."""
    try:
        os.utime(folder)
    except OSError:
        return False
    return True


def _insert_once(
    connection: Connection, values: dict[str, Any], tables: Path, overwrite: bool
) -> Mapping[str, Any] | Any:
    """Return the row of these inputs: the existing one, or *values* with a key."""
    same = RUNS.c.digest == values["digest"]
    row = connection.execute(select(RUNS).where(same).with_for_update()).mappings().one_or_none()
    if row is not None:
        if not overwrite and _is_whole(row, tables):
            return row
        if is_folder_name(row["folder"]):
            # Readers may still have the old row: its tables are swept after an hour.
            _touch(tables / row["folder"])
        values = with_checksum({**values, "key": row["key"]})
        connection.execute(RUNS.update().where(same).values(values))
        return values
    values = with_checksum({**values, "key": _new_key(connection, values)})
    connection.execute(RUNS.insert().values(values))
    return values


def _new_key(connection: Connection, values: Mapping[str, Any]) -> str:
    """Return the shortest key that no row has; dated versions have the same name, which no other run has."""
    inputs = json.loads(values["inputs"])
    evaluated, shared = inputs.get(EVALUATED), digest(undated(inputs))
    names = list(candidates(values["task"], values["model"], shared))
    begins = RUNS.c.key.startswith(names[0], autoescape=True)
    used = {row.key: row.inputs for row in connection.execute(select(RUNS.c.key, RUNS.c.inputs).where(begins))}
    others = {run_name(key) for key, stored in used.items() if _shared_digest(stored) != shared}
    for name in names:
        for key in [name] if evaluated is None else dated_keys(name, evaluated):
            if name not in others and key not in used:
                return key
    raise GoldrankError(f"all keys of {values['task']} and {values['model']} are used; wait a moment and try again")


def _shared_digest(inputs: str) -> str:
    """Return the digest that all dated versions of a row share; that of a damaged row is empty."""
    try:
        return digest(undated(json.loads(inputs)))
    except (ValueError, AttributeError, RecursionError, InputError):
        return ""


def _is_whole(row: Mapping[str, Any] | Any, tables: Path) -> bool:
    try:
        return read_row(row, tables, "").complete
    except DamagedRowError:
        return False


def _files(record: RunRecord) -> dict[str, bytes]:
    """Return the Parquet files of a record by name."""
    files = {}
    if record.hits is not None:
        files[HITS] = dump_hits(record.hits)
    if record.run is not None:
        files[RUN] = dump_run(record.run)
    if record.predictions is not None:
        files[PREDICTIONS] = dump_predictions(record.predictions)
    return files


def _matches(text: str, pattern: str | None) -> bool:
    return pattern is None or text == pattern or fnmatchcase(text, pattern)
