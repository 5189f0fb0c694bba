"""Settings that all tests share, and where the public data lies that some of them read."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from databases import postgresql_server, where  # noqa: F401 - fixtures for all tests

# No test asserts a time, so none may fail on one: the first example of a test often pays for an import.
settings.register_profile("goldrank", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("goldrank")


@pytest.fixture(autouse=True, scope="session")
def _own_folders(tmp_path_factory):
    """No test reads or fills the user's cache or store."""
    names = ("GOLDRANK_CACHE", "GOLDRANK_STORE")
    before = {name: os.environ.get(name) for name in names}
    for name in names:
        os.environ[name] = str(tmp_path_factory.mktemp(name.lower()))
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data, or a skip that says where it was looked for."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GOLDRANK_TEST_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("no public data: set GOLDRANK_TEST_DATA, or put it in ../shared/data beside the repository")
    return folder
