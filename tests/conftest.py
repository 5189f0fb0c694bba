"""Settings and fixtures that all tests share, including the folder of public data."""

import os
from pathlib import Path

import pytest

import profiles  # noqa: F401 - chooses the profile of Hypothesis
from databases import postgresql_server, where  # noqa: F401 - fixtures for all tests
from goldrank.store import Store

# The layout of output must not depend on pytest-xdist, which sets the width for its workers.
for _name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
    os.environ.pop(_name, None)

# Compiling ranx with numba takes minutes; uncompiled, it computes the same except for the order of ties.
os.environ["NUMBA_DISABLE_JIT"] = "1"


def pytest_collection_modifyitems(items):
    """Start the files of slow tests first, so that the other processes do not wait for one of them at the end."""
    slow = {item.path for item in items if any(item.get_closest_marker(mark) for mark in ("slow", "heavy"))}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True, scope="session")
def _own_folders(tmp_path_factory):
    """Give each test its own cache and store, so that none uses those of the user."""
    names = ("GOLDRANK_CACHE", "GOLDRANK_STORE")
    before = {name: os.environ.get(name) for name in names}
    for name in names:
        os.environ[name] = str(tmp_path_factory.mktemp(name.lower()))
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


@pytest.fixture
def own_folder(tmp_path, monkeypatch) -> Path:
    """Make the test's folder the current folder, with the default store and cache in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def store(tmp_path) -> Store:
    """An empty store; it is the default store in tests that also use `own_folder`."""
    return Store.open(tmp_path / "store")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data; the test is skipped if there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GOLDRANK_TEST_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("no public data: set GOLDRANK_TEST_DATA, or put it in ../shared/data beside the repository")
    return folder
