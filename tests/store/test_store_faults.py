"""Test faults of a store: concurrent processes, kills, full disks, damage, and databases of other programs."""

import itertools
import os
import resource
import signal
import sqlite3
import sys

import pytest

from goldrank.errors import GoldrankError, InputError
from goldrank.store import Store, schema
from goldrank.store import store as store_module
from store.cases import a_record, assert_sound, inputs_of
from store.writer import Writer


@pytest.mark.slow
@pytest.mark.parametrize("how", ["once", "overwrite"])
def test_processes_that_save_at_once_lose_nothing_and_store_equal_inputs_once(where, how):
    ranges = [(0, 25), (0, 25), (15, 40)]
    writers = [Writer(where, *numbers, how) for numbers in ranges]
    for writer in writers:
        writer.go()
    printed = [writer.keys() for writer in writers]
    assert [writer.exit_code for writer in writers] == [0, 0, 0]
    assert printed[0] == printed[1]
    store = Store.open(where)
    assert sorted(run.inputs["number"] for run in store.list()) == list(range(40))
    assert {run.key for run in store.list()} == {key for keys in printed for key in keys}
    assert_sound(store)
    expected = {run.folder.name for run in store.list()}
    actual = {entry.name for entry in store._tables().iterdir()}
    # Replaced tables are kept for processes that still read them.
    assert actual == expected if how == "once" else actual > expected
    for entry in store._tables().iterdir():
        os.utime(entry, (0, 0))
    Store.open(where).save(a_record(0))
    assert {entry.name for entry in store._tables().iterdir()} == expected


@pytest.mark.slow
@pytest.mark.parametrize("how", ["once", "overwrite"])
def test_a_process_killed_at_any_step_leaves_a_sound_store(where, how):
    Store.open(where)
    count = 0
    # Two runs take about 65 steps; every fifth is tested.
    for step in itertools.count(1, 5):
        first = 0 if how == "overwrite" else count
        writer = Writer(where, first, first + 2, how, dies_at=step)
        writer.go()
        saved = set(writer.keys())
        store = Store.open(where)
        stored = {run.key for run in store.list()}
        assert saved <= stored, f"step {step}: a run was reported as saved and is gone"
        count = len(stored)
        if writer.exit_code == 0:
            break
        assert writer.exit_code == -signal.SIGKILL
    assert step > 20
    assert count > 1
    for number in range(max(0, count - 5), count + 1):
        store.save(a_record(number))
    assert_sound(store)
    assert len(store.list()) == count + 1
    for entry in store._tables().iterdir():
        os.utime(entry, (0, 0))
    store.delete([])
    assert len(list(store._tables().iterdir())) == count + 1


def test_a_kill_between_tables_and_row_leaves_an_orphan_that_hinders_nobody(where, monkeypatch):
    store = Store.open(where)
    store.save(a_record(1))
    monkeypatch.setattr(store_module.Store, "_insert", lambda *_: os._exit(9))
    child = os.fork()
    if child == 0:
        store.save(a_record(2))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    assert store.find(inputs_of(2)) is None
    assert len(list(store._tables().iterdir())) == 2
    store.save(a_record(2))
    assert_sound(store)
    assert len(store.list()) == 2


@pytest.mark.parametrize("table", ["hits", "run"])
@pytest.mark.parametrize("damage", ["truncated", "changed", "empty"])
def test_a_damaged_table_is_refused_with_the_remedy_and_mended_by_overwriting(where, table, damage):
    store = Store.open(where)
    saved = store.save(a_record())
    path = saved.folder / f"{table}.parquet"
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes({"truncated": bytes(data[: len(data) // 2]), "changed": bytes(data), "empty": b""}[damage])
    with pytest.raises(InputError, match="truncated or was changed; run it again with --overwrite always") as caught:
        getattr(store.get(saved.key), table)()
    assert str(path) in str(caught.value)
    store.save(a_record(), overwrite=True)
    assert_sound(store)


def in_a_process_with_files_up_to(size: int, work) -> str:
    """Return the error of *work* if no file may grow beyond *size* bytes, as on a full disk."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            work()
            message = "nothing was raised"
        except GoldrankError as error:
            message = f"refused: {error}"
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
        os.write(write, message.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as stream:
        return stream.read()


@pytest.mark.parametrize("size", [0, 1000, 3000, 5000])
def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path, size):
    store = Store.open(tmp_path / "store")
    saved = store.save(a_record(1))
    message = in_a_process_with_files_up_to(size, lambda: Store.open(tmp_path / "store").save(a_record(2)))
    assert message.startswith("refused: "), message
    assert "\n" not in message
    assert store.list() == [saved]
    assert_sound(store)
    assert [entry.name for entry in (tmp_path / "store" / "tables").iterdir()] == [saved.folder.name]
    store.save(a_record(2))
    assert_sound(store)


def test_a_full_disk_while_a_store_is_made_leaves_one_that_can_be_made(tmp_path):
    message = in_a_process_with_files_up_to(2000, lambda: Store.open(tmp_path / "store").save(a_record(2)))
    assert message.startswith("refused: "), message
    Store.open(tmp_path / "store").save(a_record(2))
    assert_sound(Store.open(tmp_path / "store"))


def test_a_failed_overwrite_leaves_the_old_run_as_it_was(where, monkeypatch):
    store = Store.open(where)
    saved = store.save(a_record())

    def fail(*_):
        raise GoldrankError("the disk is full")

    monkeypatch.setattr(store_module, "write_atomically", fail)
    with pytest.raises(GoldrankError, match="full"):
        store.save(a_record(environment={}), overwrite=True)
    assert store.list() == [saved]
    assert_sound(store)
    assert len(list(saved.folder.parent.iterdir())) == 1


def test_an_interrupted_save_takes_its_tables_back(where, monkeypatch):
    store = Store.open(where)
    saved = store.save(a_record())

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store_module, "_insert_once", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.save(a_record(1))
    assert list(saved.folder.parent.iterdir()) == [saved.folder]


def test_a_read_only_database_is_read_and_refuses_to_be_written(tmp_path, monkeypatch):
    saved = Store.open(tmp_path / "store").save(a_record())
    # Root ignores file permissions, so the connection itself is made read-only.
    before = sqlite3.connect

    def connect(*args, **options):
        connection = before(*args, **options)
        connection.execute("PRAGMA query_only = ON")
        return connection

    monkeypatch.setattr(sqlite3.dbapi2, "connect", connect)
    read_only = Store.open(tmp_path / "store")
    assert read_only.list() == [saved]
    with pytest.raises(InputError, match="is not writable"):
        read_only.save(a_record(1))
    assert list(saved.folder.parent.iterdir()) == [saved.folder]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(InputError, match="cannot be created"):
        Store.open(tmp_path / "closed" / "store").save(a_record())


def test_a_path_through_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be created"):
        Store.open(tmp_path / "file" / "store").save(a_record())
    with pytest.raises(InputError, match="this is a file, not the folder of a store"):
        Store.open(tmp_path / "file")


@pytest.mark.parametrize("content", [b"hello, I am no database" * 100, os.urandom(5000), b"SQLite format 3\0junk" * 99])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "goldrank.db").write_bytes(content)
    for use in (lambda store: store.list(), lambda store: store.save(a_record())):
        with pytest.raises(GoldrankError, match=r"not a goldrank store|damaged|failed"):
            use(Store.open(tmp_path))
    assert (tmp_path / "goldrank.db").read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["goldrank.db"]


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "goldrank.db").touch()
    assert Store.open(tmp_path).list() == []
    Store.open(tmp_path).save(a_record())
    assert_sound(Store.open(tmp_path))


def test_a_database_of_somebody_else_is_refused_and_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "goldrank.db") as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    for use in (lambda store: store.list(), lambda store: store.save(a_record())):
        with pytest.raises(InputError, match=r"not a goldrank store .it holds the table 'photos'"):
            use(Store.open(tmp_path))
    with sqlite3.connect(tmp_path / "goldrank.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]
    connection.close()


def test_a_server_database_may_hold_other_tables_too(postgresql_server, tmp_path):
    import psycopg

    with psycopg.connect(f"{postgresql_server}/postgres", autocommit=True) as connection:
        connection.execute("CREATE DATABASE shared")
    with psycopg.connect(f"{postgresql_server}/shared", autocommit=True) as connection:
        connection.execute("CREATE TABLE runs (name TEXT)")
    store = Store.open(f"{postgresql_server}/shared?tables={tmp_path}")
    assert store.list() == []
    store.save(a_record())
    assert_sound(store)


def test_a_store_of_a_newer_version_is_refused_and_left_alone(where, monkeypatch):
    with monkeypatch.context() as newer:
        newer.setattr(schema, "VERSION", 7)
        Store.open(where).save(a_record())
    for use in (lambda store: store.list(), lambda store: store.save(a_record(1))):
        with pytest.raises(
            InputError, match=rf"newer goldrank \(store version 7, this one knows {schema.VERSION}\); update goldrank"
        ):
            use(Store.open(where))


def test_an_older_store_is_refused_and_left_as_it_is(where):
    saved = Store.open(where).save(a_record())
    set_version(Store.open(where), schema.VERSION - 1)
    for use in (lambda store: store.list(), lambda store: store.save(a_record(1))):
        with pytest.raises(InputError, match=r"written by an older goldrank .*; run the models again, or name another"):
            use(Store.open(where))
    set_version(Store.open(where), schema.VERSION)
    assert Store.open(where).list() == [saved]


def set_version(store, version):
    with store._database.setting_up() as connection:
        connection.execute(schema.ABOUT.update().values(version=version))


def test_a_missing_driver_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(GoldrankError, match=r"pip install 'goldrank\[postgres\]'"):
        Store.open("postgresql://host/runs")
