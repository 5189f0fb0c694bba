"""Permissions of a store and a cache, and reading a store without write permission."""

import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

import stored_examples as examples
from goldrank.errors import InputError
from goldrank.io.checkpoints import Checkpoint
from goldrank.io.private_files import make_private_folder
from goldrank.store import Store
from goldrank.store.texts import Text
from goldrank.vectors.cache import EmbeddingCache

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="access is granted otherwise there")


def modes(folder):
    return {
        str(path.relative_to(folder.parent)): stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]
    }


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def fill(place):
    store = Store.open(place)
    examples.save_ranked(store, {"a": 1, "b": 2})
    store.texts(examples.DATA).save([Text("q", "", "a query")], [Text("d", "", "a text")])
    return store


def test_everything_of_a_store_is_for_the_user_alone_whatever_the_umask(tmp_path):
    tmp_path.chmod(0o755)
    fill(tmp_path / "deep" / "store")
    modes_by_name = modes(tmp_path / "deep")
    assert any(name.endswith("goldrank.db") for name in modes_by_name)
    assert any(name.endswith(".parquet") for name in modes_by_name)
    for name, mode in modes_by_name.items():
        assert mode == (0o700 if (tmp_path / name).is_dir() else 0o600), name


def test_a_store_in_a_folder_that_the_group_may_write_is_for_the_group_too(tmp_path):
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o770)
    os.umask(0o077)
    fill(place)
    for name, mode in modes(place).items():
        assert mode == (0o770 if (tmp_path / name).is_dir() else 0o660), name


def test_a_folder_that_everybody_may_write_shares_nothing(tmp_path):
    place = tmp_path / "public"
    place.mkdir()
    place.chmod(0o1777)
    make_private_folder(place / "own")
    assert stat.S_IMODE((place / "own").stat().st_mode) == 0o700


def test_the_cache_folder_is_for_the_user_alone(tmp_path, monkeypatch):
    from goldrank.encoders import load

    tmp_path.chmod(0o755)
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    EmbeddingCache().encode(load("random:4"), ["a text"], "item")
    Checkpoint("abc").add({"q": {"d": 1.0}})
    folders = [path for path in (tmp_path / "cache", *(tmp_path / "cache").rglob("*")) if path.is_dir()]
    assert len(folders) >= 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


READ = """
import json, sys
from goldrank.cli.main import main
from goldrank.store import Store
store = Store.open(sys.argv[1])
[run, _] = store.list()
assert run.hits() is not None and run.run() is not None
assert store.texts(run.inputs["data"]).find(["q"], "query")["q"].text == "a query"
from fastapi.testclient import TestClient
from goldrank.web.app import create_app
from goldrank.web.security import Access
explorer = TestClient(create_app(store, access=Access()), base_url="http://127.0.0.1:8321")
for address in ("/", "/api/runs", f"/api/runs/{run.key}", f"/api/score?key={run.key}"):
    assert explorer.get(address).status_code == 200, address
codes = [main(["runs", "list", "--store", sys.argv[1]]),
         main(["runs", "show", run.key, "--store", sys.argv[1]]),
         main(["report", run.key, "--store", sys.argv[1], "-o", sys.argv[2]]),
         main(["runs", "delete", run.key, "--yes", "--store", sys.argv[1]])]
print(json.dumps(codes))
"""


def read_elsewhere(prefix, place, output):
    code = [sys.executable, "-c", READ, str(place), str(output)]
    environment = {**os.environ, "HOME": str(output.parent), "GOLDRANK_CACHE": str(output.parent / "cache")}
    process = subprocess.run([*prefix, *code], capture_output=True, text=True, env=environment, check=False)
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout.splitlines()[-1]) == [0, 0, 0, 2]
    assert "the store is not writable" in process.stderr
    assert output.stat().st_size > 1000


@pytest.mark.slow
def test_a_store_without_permission_to_write_can_be_read_reported_and_explored(tmp_path):
    # Root may write any file unless it drops this capability.
    prefix = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    if prefix and (
        shutil.which("setpriv") is None
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("root cannot give up its rights here")
    place = tmp_path / "store"
    fill(place)
    for path in (place, *place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted(place.rglob("*"))
    try:
        read_elsewhere(prefix, place, tmp_path / "report.html")
        assert sorted(place.rglob("*")) == before
    finally:
        for path in (place, *place.rglob("*")):
            path.chmod(0o755)


@pytest.mark.slow
def test_a_store_on_a_read_only_mount_can_be_read_reported_and_explored(tmp_path):
    mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
    tried = ["unshare", "-m", "sh", "-c", f'{mount} && ! touch "$1/x" 2>/dev/null', "sh", str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run(tried, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount")
    place = tmp_path / "store"
    fill(place)
    prefix = ["unshare", "-m", "sh", "-c", mount + ' && shift && exec "$@"', "sh", str(place)]
    read_elsewhere(prefix, place, tmp_path / "report.html")


def test_a_log_that_was_not_merged_is_not_ignored(tmp_path, monkeypatch):
    """Rows that are only in the write-ahead log are read, not ignored."""
    from goldrank.store import database

    store = fill(tmp_path / "store")
    monkeypatch.setattr(database.os, "access", lambda path, mode: False)
    address = database._read_only_address(tmp_path / "store" / "goldrank.db")
    assert address.endswith("goldrank.db?mode=ro&immutable=1")
    (tmp_path / "store" / "goldrank.db-wal").write_bytes(b"rows")
    assert database._read_only_address(tmp_path / "store" / "goldrank.db").endswith("?mode=ro")
    (tmp_path / "store" / "goldrank.db-wal").unlink()
    assert len(store.list()) == 2
    with pytest.raises(InputError, match="is not writable"):
        store.delete([store.list()[0].key])
