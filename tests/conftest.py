"""Settings that all tests share, and where the public data lies that some of them read."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test asserts a time, so none may fail on one: the first example of a test often pays for an import.
settings.register_profile("goldrank", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("goldrank")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    """No test reads or fills the user's cache."""
    before = os.environ.get("GOLDRANK_CACHE")
    os.environ["GOLDRANK_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("GOLDRANK_CACHE")
    if before is not None:
        os.environ["GOLDRANK_CACHE"] = before


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data, or a skip that says where it was looked for."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GOLDRANK_TEST_DATA") or beside)
    if not folder.is_dir():
        pytest.skip("no public data: set GOLDRANK_TEST_DATA, or put it in ../shared/data beside the repository")
    return folder
