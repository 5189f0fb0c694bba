"""The store: runs saved once under a key, found again by their inputs, listed and deleted."""

from __future__ import annotations

import builtins
import hashlib
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

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from goldrank.errors import AmbiguousNameError, GoldrankError, InputError, shorten, unknown_name
from goldrank.io.cache_entries import remove_abandoned
from goldrank.io.files import PathLike, write_atomically
from goldrank.io.private_files import make_private_file, make_private_folder, restrict
from goldrank.store import schema
from goldrank.store.database import Database
from goldrank.store.keys import candidates, digest
from goldrank.store.locations import find_place
from goldrank.store.records import HITS, PREDICTIONS, RUN, Record, StoredRun
from goldrank.store.rows import DamagedRowError, is_folder_name, make_row, read_row, with_checksum
from goldrank.store.schema import RUNS
from goldrank.store.tables import dump_hits, dump_predictions, dump_run
from goldrank.store.texts import Texts

_ATTEMPTS = 50
_MOST_BY_NAME = 200
# A folder that no row names may be one that another process is filling, or one that was replaced while another
# process reads it. Both are touched at the time; a folder this old is what a crash or an overwriting left.
_ABANDONED_SECONDS = 3600.0


class Store:
    """Stored runs: rows in a database, hits and rankings as Parquet beside it.

    Each save writes its tables into a folder of its own and then the row that names it, so that a row never
    stands for tables that are half there, and two processes never write into one folder. Tables that were replaced
    stay for an hour, so that whoever has read their row can still read them. Opening a store and reading from one
    that does not exist yet leaves no trace.

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
        self._swept_at = -float("inf")

    @classmethod
    def open(cls, where: PathLike | None = None) -> Store:
        """The store in a folder or at a URL (sqlite or postgresql); by default $GOLDRANK_STORE or the user's own."""
        return cls(where)

    @property
    def where(self) -> str:
        """The folder, or the URL without its password."""
        return self._place.name

    @property
    def is_default(self) -> bool:
        """Whether it is the store that commands use if none is named."""
        return self._place == find_place(None)

    def find(self, inputs: Mapping[str, Any]) -> StoredRun | None:
        """The stored run of these inputs; None where there is none, its row is damaged or its tables are gone."""
        try:
            found = self._reload(digest(inputs))
        except DamagedRowError:
            return None
        return found if found is not None and found.complete else None

    def get(self, key: str) -> StoredRun:
        """The run of that key, or the only one whose key starts so."""
        full = self.complete_key(key)
        for run in self._select(RUNS.c.key == full):
            return run
        raise InputError(f"the stored run {full} was removed just now", where=self.where, remedy="goldrank runs list")

    def complete_key(self, key: str) -> str:
        """Return the key that *key* is, or the only one that it is the start of."""
        tables = self._tables()
        matching: builtins.list[str] = []
        if tables is not None:
            with self._database.reading() as connection:
                starts = RUNS.c.key.startswith(key, autoescape=True)
                # SQLite takes capitals for small letters when it looks for a start.
                matching = [
                    one for one in connection.execute(select(RUNS.c.key).where(starts)).scalars() if one.startswith(key)
                ]
        found = [one for one in matching if one == key] or matching
        if key and len(found) == 1:
            return found[0]
        if not key or not found:
            keys = [run.key for run in self.list()]
            raise unknown_name("stored run", key, keys, "goldrank runs list", where=self.where)
        shown = ", ".join(sorted(found)[:5]) + (", …" if len(found) > 5 else "")
        raise AmbiguousNameError(f"{shorten(key)} may be any of {shown}", remedy="write more of the key")

    def list(self, *, task: str | None = None, model: str | None = None) -> list[StoredRun]:
        """All runs, the oldest first; *task* and *model* are names or patterns such as ``st:*``."""
        return [run for run in self._select() if _matches(run.task, task) and _matches(run.model, model)]

    @property
    def file(self) -> Path | None:
        """The file of the database; None where it is on a server."""
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
            some = select(RUNS) if len(missing) > _MOST_BY_NAME else select(RUNS).where(RUNS.c.digest.in_(missing))
            read = {
                row["digest"]: self._read(row, tables)
                for row in (connection.execute(some).mappings() if missing else ())
            }
        return {name: read[name[0]] if name[0] in read else known[name] for name in names}

    def save(self, record: Record, *, overwrite: bool = False) -> StoredRun:
        """Keep a run; one of the same inputs is left as it is, unless *overwrite* asks for it anew."""
        values = make_row(record)
        tables = self._tables(create=True)
        assert tables is not None
        self._sweep_now_and_then()
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
            stored = self._insert(values, overwrite, files)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if stored.folder != folder:
            shutil.rmtree(folder, ignore_errors=True)
        return stored

    def texts(self, data: str) -> Texts | None:
        """The texts of the data set with that checksum; None where there is no store yet."""
        tables = self._tables()
        return None if tables is None or not re.fullmatch(r"[0-9a-f]{8,64}", data) else Texts(tables, data)

    def delete(self, keys: Sequence[str]) -> builtins.list[str]:
        """Remove runs, all of them or (where a key is unknown) none, and what crashed processes left behind.

        Damaged rows can be removed too. The complete keys of what was removed are returned.
        """
        gone = builtins.list(dict.fromkeys(map(self.complete_key, keys)))
        if gone:
            tables = self._tables()
            assert tables is not None
            with self._database.writing() as connection:
                chosen = RUNS.c.key.in_(gone)
                folders = connection.execute(select(RUNS.c.folder).where(chosen)).scalars().all()
                connection.execute(RUNS.delete().where(chosen))
            for name in filter(is_folder_name, folders):
                shutil.rmtree(tables / name, ignore_errors=True)
        self._sweep()
        return gone

    def _tables(self, *, create: bool = False) -> Path | None:
        """The folder of this store's tables, its database created if need be; None where there is no store."""
        if self._folder is not None and (self._database.file is None or self._database.file.is_file()):
            return self._folder
        if self._database.file is not None and not self._database.file.is_file():
            if not create:
                return None
            self._make_folder(self._database.file.parent)
            make_private_file(self._database.file)
        with self._database.reading() as connection:
            about = schema.read_about(connection, self.where)
        if about is None and not create:
            return None
        if about is None:
            about = self._set_up()
        folder = self._place.folder_of(about.identity)
        if self._place.shared and not folder.is_dir():
            raise InputError(
                f"the tables of this store are not in this folder; they were put into {about.tables or 'another one'}",
                where=str(folder),
                remedy="name the folder that all machines share with ?tables=FOLDER at the end of the URL; "
                "if the tables are lost, create this folder",
            )
        self._folder = folder
        return folder

    def _set_up(self) -> schema.About:
        """Create the database together with the folder of its tables, unless another process was faster."""
        with self._database.setting_up() as connection:
            about = schema.read_about(connection, self.where)
            if about is None:
                about = schema.create(connection, f"{self._place.tables} on {socket.gethostname()}")
                if self._place.shared:
                    # Whoever shares the database without sharing this folder will not find it, and is refused.
                    self._make_folder(self._place.folder_of(about.identity))
        return about

    def _reload(self, digest: str) -> StoredRun | None:
        """The run of that digest as it is stored now."""
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
                f"the folder cannot be made ({error.strerror})",
                where=str(folder),
                remedy="name another store with --store, or change the permissions",
            ) from None
        except OSError as error:
            raise GoldrankError(f"{folder}: the folder cannot be made ({error.strerror}); nothing was stored") from None

    def _insert(self, values: dict[str, Any], overwrite: bool, files: Mapping[str, bytes]) -> StoredRun:
        """The run that stands for these inputs afterwards."""
        tables = self._tables(create=True)
        assert tables is not None
        for _ in range(_ATTEMPTS):
            try:
                # Alone, so that no sweep removes the tables between the look at them and the row that names them.
                with self._database.setting_up() as connection:
                    if not _touch(tables / values["folder"]):
                        self._write(tables / values["folder"], files)
                    return self._read(_insert_once(connection, values, tables, overwrite), tables)
            except IntegrityError:
                # Another process took the key or saved the same inputs meanwhile: look again.
                continue
        raise GoldrankError(f"{self.where}: the run could not be stored, other processes were always faster; try again")

    def _sweep_now_and_then(self) -> None:
        """Remove what killed processes left in the store and in the cache: at the first save and once an hour."""
        if time.monotonic() - self._swept_at > _ABANDONED_SECONDS:
            self._sweep()
            remove_abandoned()

    def _sweep(self) -> None:
        """Remove tables that no row names and that nobody can be writing or reading any more."""
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
            # It may be the one that names what would be removed.
            return []
        named = {run.folder.name for run in runs}
        named |= {Texts(tables, str(run.inputs.get("data"))).path.name for run in runs}
        return [entry for entry in old if entry.name not in named]


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED_SECONDS
    except OSError:
        return False


def _touch(folder: Path) -> bool:
    """Keep a folder from being swept for a while; False where it is gone."""
    try:
        os.utime(folder)
    except OSError:
        return False
    return True


def _insert_once(
    connection: Connection, values: dict[str, Any], tables: Path, overwrite: bool
) -> Mapping[str, Any] | Any:
    """Return the row that stands for these inputs afterwards: the one that is there, or *values* with a key."""
    same = RUNS.c.digest == values["digest"]
    row = connection.execute(select(RUNS).where(same).with_for_update()).mappings().one_or_none()
    if row is not None:
        if not overwrite and _is_whole(row, tables):
            return row
        if is_folder_name(row["folder"]):
            # Readers may have the old row still: its tables are swept when they have had time to read them.
            _touch(tables / row["folder"])
        values = with_checksum({**values, "key": row["key"]})
        connection.execute(RUNS.update().where(same).values(values))
        return values
    possible = list(candidates(values["task"], values["model"], values["digest"]))
    taken = set(connection.execute(select(RUNS.c.key).where(RUNS.c.key.in_(possible))).scalars())
    values = with_checksum({**values, "key": next(key for key in possible if key not in taken)})
    connection.execute(RUNS.insert().values(values))
    return values


def _is_whole(row: Mapping[str, Any] | Any, tables: Path) -> bool:
    try:
        return read_row(row, tables, "").complete
    except DamagedRowError:
        return False


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


def _matches(text: str, pattern: str | None) -> bool:
    return pattern is None or text == pattern or fnmatchcase(text, pattern)
