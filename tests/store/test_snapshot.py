"""Test snapshots of a store: always the current rows, of which only changed ones are read again."""

import shutil

from goldrank.store import Store
from goldrank.store.snapshot import Snapshots
from store.cases import a_record


def test_a_snapshot_follows_every_change_and_stays_the_same_without_one(where):
    other, snapshots = Store.open(where), Snapshots(Store.open(where))
    assert snapshots.newest().runs == ()
    first = other.save(a_record(1))
    assert snapshots.newest().runs == (first,)
    assert snapshots.newest() is snapshots.newest()
    again = other.save(a_record(1, environment={}), overwrite=True)
    second = other.save(a_record(2))
    stored = snapshots.newest().by_key[again.key]
    assert sorted(run.key for run in snapshots.newest().runs) == sorted([again.key, second.key])
    assert stored == again
    other.save(a_record(3))
    assert snapshots.newest().by_key[again.key] is stored
    other.delete([again.key])
    assert again.key not in snapshots.newest().by_key


def test_a_store_that_was_replaced_is_read_anew(tmp_path):
    store = Store.open(tmp_path / "store")
    store.save(a_record(1))
    snapshots = Snapshots(store)
    assert len(snapshots.newest().runs) == 1
    shutil.rmtree(tmp_path / "store")
    assert snapshots.newest().runs == ()
    Store.open(tmp_path / "store").save(a_record(2))
    assert [run.inputs["number"] for run in snapshots.newest().runs] == [2]
