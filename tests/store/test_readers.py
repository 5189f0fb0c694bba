"""Test readers of a store while other processes overwrite, sweep and delete: each keeps the version that it holds."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.store import Store
from goldrank.store import store as store_module
from store.cases import a_record, assert_sound, inputs_of, same_hits

_CONTEXT = multiprocessing.get_context("forkserver")
COMMANDS = (["score", "KEY"], ["runs", "show", "KEY"], ["runs", "list"], ["report", "KEY", "-o", "OUT.md"])
ROUNDS = 3


def _read(where, key, out, rounds, stop, failures):
    words = {"KEY": key, "OUT.md": f"{out}.md"}
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    while not stop.is_set():
        for command in COMMANDS:
            code = main([*(words.get(word, word) for word in command), "--store", where])
            if code:
                failures.put((command, code))
        with rounds.get_lock():
            rounds.value += 1


@pytest.mark.slow
def test_processes_that_read_while_a_run_is_overwritten_never_fail(where, tmp_path):
    store = Store.open(where)
    record = a_record(environment={"seconds": 1.5})
    key = store.save(record).key
    stop, failures = _CONTEXT.Event(), _CONTEXT.Queue()
    rounds = [_CONTEXT.Value("i", 0) for _ in range(3)]
    readers = [
        _CONTEXT.Process(target=_read, args=(where, key, tmp_path / str(at), count, stop, failures))
        for at, count in enumerate(rounds)
    ]
    for reader in readers:
        reader.start()
    # The loop ends when every reader has run its commands often enough, on a machine of any speed.
    while all(reader.is_alive() for reader in readers) and any(count.value < ROUNDS for count in rounds):
        store.save(record, overwrite=True)
    stop.set()
    for reader in readers:
        reader.join(300)
    assert [reader.exitcode for reader in readers] == [0] * len(readers)
    assert failures.empty(), failures.get()
    assert_sound(store)


def test_a_reader_keeps_the_version_it_holds_until_it_is_swept_and_then_gets_the_new_one(where):
    store = Store.open(where)
    stored = store.save(a_record())
    store.save(a_record(hits=a_record(7).hits, run=None), overwrite=True)
    assert same_hits(stored.hits(), a_record().hits)
    assert stored.run() == a_record().run
    for entry in store._tables().iterdir():
        os.utime(entry, (0, 0))
    Store.open(where).save(a_record(1))
    assert not stored.folder.exists()
    assert same_hits(stored.hits(), a_record(7).hits)
    assert stored.judged_items("q7")
    with pytest.raises(InputError, match=r"a table of the stored run .* is missing"):
        stored.run()
    store.delete([stored.key])
    with pytest.raises(InputError, match="was removed meanwhile"):
        stored.hits()


def test_a_replaced_table_is_kept_for_an_hour_from_then_on_however_old_it_is(where):
    store = Store.open(where)
    stored = store.save(a_record())
    os.utime(stored.folder, (0, 0))
    store.save(a_record(), overwrite=True)
    Store.open(where).save(a_record(1))
    assert stored.complete


def test_tables_that_were_swept_before_their_row_was_written_are_written_again(where, monkeypatch):
    store = Store.open(where)
    store.save(a_record(1))
    write = Store._write

    def write_and_sleep_long(self, folder, files):
        write(self, folder, files)
        monkeypatch.setattr(Store, "_write", write)
        os.utime(folder, (0, 0))
        Store.open(where).save(a_record(2))
        assert not folder.exists()

    monkeypatch.setattr(Store, "_write", write_and_sleep_long)
    store.save(a_record(3))
    assert_sound(store)
    assert store.find(inputs_of(3)) is not None


def test_a_sweep_spares_everything_while_a_row_is_damaged(where):
    store = Store.open(where)
    store.save(a_record(1))
    orphan = store.save(a_record(2)).folder
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE goldrank_runs SET folder = 'elsewhere' WHERE key LIKE '%%'")
    os.utime(orphan, (time.time() - 2 * store_module._ABANDONED_SECONDS,) * 2)
    Store.open(where).save(a_record(3))
    assert orphan.is_dir()


def test_another_machine_that_does_not_share_the_tables_is_refused(where, tmp_path, postgresql_server):
    if not where.startswith("postgresql"):
        where = f"sqlite:///{tmp_path}/runs.db?tables={tmp_path / 'tables'}"
    saved = Store.open(where).save(a_record())
    elsewhere = f"{where.partition('?')[0]}?tables={tmp_path / 'other'}"
    for use in (Store.list, lambda store: store.save(a_record(1)), lambda store: store.find(inputs_of(0))):
        with pytest.raises(InputError, match=r"not in this folder; they were put into .*tables on .*\?tables=FOLDER"):
            use(Store.open(elsewhere))
    assert not (tmp_path / "other").exists()
    assert Store.open(where).list() == [saved]
    # Tables that were moved are read from their new location.
    (tmp_path / "tables").rename(tmp_path / "other")
    assert_sound(Store.open(elsewhere))
    assert len(Store.open(elsewhere).list()) == 1
