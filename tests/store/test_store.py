"""Test the store on SQLite and PostgreSQL: each record is stored once, unchanged, under a unique key."""

import os
import sys
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from goldrank import Gold, Run
from goldrank.errors import AmbiguousNameError, InputError
from goldrank.store import Store, digest, rows
from goldrank.store import store as store_module
from goldrank.store.schema import RUNS
from store.cases import a_record, assert_sound, inputs_of, same_hits


def tables_of(store: Store) -> list[str]:
    folder = store._tables()
    return sorted(entry.name for entry in folder.iterdir()) if folder is not None and folder.exists() else []


def test_what_was_saved_is_found_by_its_inputs_and_its_key(where):
    record = a_record(conventions={"self_matches": "drop"}, profile="sdr", metrics=("mrr", "mpr"))
    before = datetime.now(timezone.utc)
    saved = Store.open(where).save(record)
    for run in (Store.open(where).find(inputs_of(0)), Store.open(where).get(saved.key)):
        assert run == saved
        assert run.digest == digest(record.inputs)
        assert run.key == f"wines-wordllama-{run.digest[:4]}"
        assert (run.task, run.model, run.profile, run.metrics) == ("wines", "wordllama", "sdr", ("mrr", "mpr"))
        assert (run.inputs, run.environment) == (record.inputs, record.environment)
        assert run.conventions == {"self_matches": "drop"}
        assert (run.queries, run.judged, run.seconds) == (3, 5, 1.5)
        assert before <= run.created <= datetime.now(timezone.utc)
        assert same_hits(run.hits(), record.hits)
        assert run.run() == record.run
        assert run.gold() == Gold({"q0": {"d1": 2, "d2": 0, "gone": 1}, "other": {"d3": 1}, "unanswered": {"d1": 1}})


def test_a_record_without_rankings_has_none(where):
    saved = Store.open(where).save(a_record(run=None))
    assert saved.run() is None
    assert Store.open(where).find(inputs_of(0)) == saved


def test_reading_from_a_store_that_is_not_there_finds_nothing_and_leaves_no_trace(tmp_path):
    store = Store.open(tmp_path / "none" / "store")
    assert store.find({}) is None
    assert store.list() == []
    assert store.delete([]) == []
    with pytest.raises(InputError, match="there is no stored run 'x'"):
        store.get("x")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_of_a_server_is_an_empty_store(where):
    assert Store.open(where).list() == []


def test_the_same_inputs_are_stored_once_and_left_as_they_were(where):
    store = Store.open(where)
    first = store.save(a_record())
    again = store.save(a_record(environment={"seconds": 9}))
    assert again == first
    assert len(store.list()) == len(tables_of(store)) == 1


def test_overwriting_keeps_the_key_and_replaces_the_rest(where):
    store = Store.open(where)
    first = store.save(a_record())
    other = a_record(hits=a_record(7).hits, run=None, environment={"seconds": 9})
    second = store.save(other, overwrite=True)
    assert (second.key, second.seconds) == (first.key, 9)
    assert second.created > first.created
    assert store.get(first.key) == second
    assert same_hits(store.get(first.key).hits(), a_record(7).hits)
    assert second.run() is None


def test_other_inputs_are_other_runs_listed_in_order_of_time(where):
    store = Store.open(where)
    keys = [store.save(a_record(number)).key for number in range(5)]
    assert [run.key for run in store.list()] == keys
    assert len(set(keys)) == 5
    assert_sound(store)


def test_a_list_is_narrowed_by_name_or_pattern(where):
    store = Store.open(where)
    store.save(a_record(1, task="wines", model="st:a/b"))
    store.save(a_record(2, task="wines-old", model="st:a/c"))
    store.save(a_record(3, task="games", model="bm25(k1=[1])"))
    for chosen, numbers in (
        ({"task": "wines"}, [1]),
        ({"task": "wines*"}, [1, 2]),
        ({"model": "st:*"}, [1, 2]),
        ({"model": "bm25(k1=[1])"}, [3]),
        ({"task": "games", "model": "st:*"}, []),
    ):
        assert [run.inputs["number"] for run in store.list(**chosen)] == numbers


def test_keys_grow_where_short_ones_are_taken(where, monkeypatch):
    for module in (store_module, rows):
        monkeypatch.setattr(module, "digest", lambda inputs: f"abcd{inputs['number']:02d}" + "0" * 58)
    store = Store.open(where)
    keys = [store.save(a_record(number)).key for number in (1, 2, 3)]
    assert keys == ["wines-wordllama-abcd", "wines-wordllama-abcd02", "wines-wordllama-abcd03"]
    assert store.get("wines-wordllama-abcd").inputs["number"] == 1
    assert [store.find(inputs_of(number)).key for number in (1, 2, 3)] == keys


def test_a_key_taken_between_looking_and_inserting_is_noticed(where, monkeypatch):
    for module in (store_module, rows):
        monkeypatch.setattr(module, "digest", lambda inputs: f"abcd{inputs['number']:02d}" + "0" * 58)
    store = Store.open(where)
    store.save(a_record(1))
    honest, calls = store_module._insert_once, []

    def insert(connection, values, tables, overwrite):
        calls.append(values)
        if len(calls) == 1:
            # The other process commits after this one has looked for free keys.
            connection.execute(RUNS.insert().values({**values, "key": "wines-wordllama-abcd", "checksum": ""}))
        return honest(connection, values, tables, overwrite)

    monkeypatch.setattr(store_module, "_insert_once", insert)
    assert store.save(a_record(2)).key == "wines-wordllama-abcd02"
    assert len(calls) == len(store.list()) == 2


def test_a_unique_start_of_a_key_is_enough_and_an_ambiguous_one_is_refused(where):
    store = Store.open(where)
    wine = store.save(a_record(1))
    game = store.save(a_record(2, task="games"))
    store.save(a_record(3, task="games"))
    assert store.get("wines") == store.get(wine.key[:-1]) == wine
    with pytest.raises(InputError, match=rf"'games-word' may be any of .*{game.key}.*; write more of the key"):
        store.get("games-word")


@pytest.mark.parametrize("key", ["", "win%", "w_nes", "WINES", "wines-wordllama-zzzz"])
def test_an_unknown_key_is_refused_with_near_ones(where, key):
    store = Store.open(where)
    saved = store.save(a_record())
    with pytest.raises(InputError, match="there is no stored run") as caught:
        store.get(key)
    assert (saved.key in str(caught.value)) == (key == "wines-wordllama-zzzz")


def test_deleting_removes_rows_and_tables_or_nothing_where_a_key_is_unknown(where):
    store = Store.open(where)
    runs = [store.save(a_record(number)) for number in range(3)]
    with pytest.raises(InputError, match="there is no stored run"):
        store.delete([runs[0].key, "nobody"])
    assert len(store.list()) == 3
    deleted = store.delete([runs[0].key, runs[2].key, runs[2].key])
    assert deleted == [runs[0].key, runs[2].key]
    assert store.list() == [runs[1]]
    assert tables_of(store) == [runs[1].folder.name]
    assert store.find(inputs_of(0)) is None
    assert store.save(a_record(0)).key == runs[0].key


def test_what_a_crash_left_is_swept_when_it_is_old_and_kept_while_it_may_be_in_use(where):
    store = Store.open(where)
    saved = store.save(a_record())
    old, new = saved.folder.parent / f"{'a' * 64}.00000000", saved.folder.parent / f"{'b' * 64}.00000000"
    for folder in (old, new):
        folder.mkdir()
        (folder / ".hits.parquet.0.tmp").write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    os.utime(saved.folder, (time.time() - 7200,) * 2)
    store.delete([])
    assert tables_of(store) == sorted([saved.folder.name, new.name])
    assert_sound(store)


def test_stores_that_share_a_folder_for_tables_do_not_sweep_each_other(tmp_path):
    urls = [f"sqlite:///{tmp_path / name}.db?tables={tmp_path / 'shared'}" for name in ("a", "b")]
    a, b = map(Store.open, urls)
    saved = a.save(a_record(1))
    os.utime(saved.folder, (time.time() - 7200,) * 2)
    b.delete([b.save(a_record(1)).key])
    assert_sound(a)
    assert a.find(inputs_of(1)) == saved


def test_missing_tables_are_not_stored_and_saving_mends_them(where):
    store = Store.open(where)
    saved = store.save(a_record())
    (saved.folder / "run.parquet").unlink()
    assert store.find(inputs_of(0)) is None
    assert store.get(saved.key).key == saved.key
    with pytest.raises(InputError, match="missing; run it again with --overwrite always"):
        store.get(saved.key).run()
    assert store.save(a_record()).key == saved.key
    assert_sound(store)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other variables")
def test_the_default_is_the_environment_and_then_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "mine"))
    assert Store.open().where == str(tmp_path / "mine")
    monkeypatch.delenv("GOLDRANK_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert Store.open().where == str(tmp_path / "data" / "goldrank")


def test_a_relative_folder_stays_where_it_was_when_the_process_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store.open("store")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.save(a_record()).folder.is_relative_to(tmp_path / "store" / "tables")
    assert (tmp_path / "store" / "goldrank.db").is_file()


def test_a_store_can_be_moved_with_its_folder(tmp_path):
    Store.open(tmp_path / "a").save(a_record())
    (tmp_path / "a").rename(tmp_path / "b")
    assert_sound(Store.open(tmp_path / "b"))
    assert len(Store.open(tmp_path / "b").list()) == 1


def test_an_open_store_whose_folder_was_removed_starts_anew(tmp_path):
    import shutil

    store = Store.open(tmp_path / "a")
    store.save(a_record())
    shutil.rmtree(tmp_path / "a")
    assert store.list() == []
    store.save(a_record(1))
    assert [run.inputs["number"] for run in store.list()] == [1]


def test_a_file_by_url_keeps_its_tables_beside_it(tmp_path):
    store = Store.open(f"sqlite:///{tmp_path}/runs.db")
    saved = store.save(a_record())
    assert saved.folder.is_relative_to(tmp_path / "tables")
    assert store.where == f"sqlite:///{tmp_path}/runs.db"
    assert_sound(Store.open(f"sqlite:///{tmp_path}/runs.db"))


def test_the_password_is_never_shown(monkeypatch, tmp_path):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("GOLDRANK_TABLES", str(tmp_path))
    store = Store.open("postgresql://me:secret@127.0.0.1:1/runs?tables=/tmp/x&connect_timeout=2")
    assert "secret" not in store.where
    assert "tables" not in store.where
    with pytest.raises(InputError, match="cannot be reached") as caught:
        store.list()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("mysql://me:secret@host/runs", "a database of the kind 'mysql'"),
        ("postgresql://host", "names no database"),
        ("sqlite://", "names no database"),
        ("postgresql://me:secret@host:port/runs", "is not a URL"),
    ],
)
def test_urls_that_name_no_store_are_refused(where, expected):
    with pytest.raises(InputError, match=expected) as caught:
        Store.open(where)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [{"task": "a\udcff"}, {"model": "a\0b"}, {"task": " "}, {"inputs": {"a": object()}}, {"environment": {"a": set()}}],
)
def test_a_record_that_cannot_be_kept_is_refused_before_anything_is_made(tmp_path, changes):
    with pytest.raises(InputError):
        Store.open(tmp_path / "store").save(replace(a_record(), **changes))
    assert not (tmp_path / "store").exists()


def test_ids_of_any_characters_are_kept(where):
    run = Run({"q\x00": {"d\x00": 0.5, " ": 1.0, "é\u0301": 2.0}})
    hits = run.hits(Gold({"q\x00": {"d\x00": 1, " ": 1}}))
    saved = Store.open(where).save(a_record(hits=hits, run=run))
    assert same_hits(saved.hits(), hits)
    assert saved.run() == run


def test_where_is_what_was_given(tmp_path):
    assert Store.open(tmp_path / "store").where == str(tmp_path / "store")
    assert Path(Store.open("~/x").where) == Path.home() / "x"


def test_dated_versions_have_one_name_which_stands_for_the_newest(where):
    store = Store.open(where)
    moments = [datetime(2026, 11, 16, 18, 7, second, tzinfo=timezone.utc) for second in (1, 2)]
    first, second = (store.save(a_record().dated(moment)) for moment in moments)
    assert first.name == second.name
    assert (first.key, second.key) == (f"{first.name}-20261116t1807z", f"{first.name}-20261116t180702z")
    assert store.get(first.name).key == store.find(inputs_of(0)).key == second.key
    assert store.get(first.key).key == first.key
    assert [run.key for run in store.versions(inputs_of(0))] == [second.key, first.key]
    assert [store.get(f"{first.name}{suffix}").key for suffix in ("~0", "~1")] == [second.key, first.key]
    with pytest.raises(InputError, match="has 2 versions, and none 2 before the newest"):
        store.get(f"{first.name}~2")
    with pytest.raises(AmbiguousNameError, match="may be any of"):
        store.delete([first.name])
    assert store.delete([second.key]) == [second.key]
    assert store.get(first.name).key == first.key


def test_dated_versions_of_other_inputs_have_another_name_although_their_digests_begin_alike(where, monkeypatch):
    monkeypatch.setattr("goldrank.store.keys._SHORTEST_DIGEST", 2)
    store = Store.open(where)
    moment = datetime(2026, 11, 16, 18, 7, tzinfo=timezone.utc)
    names = {store.save(a_record(seed).dated(moment)).name for seed in range(60)}
    names |= {store.save(a_record(seed)).name for seed in range(60, 90)}
    assert len(names) == 90
    for seed in range(60):
        assert store.find(inputs_of(seed)).inputs["number"] == seed
