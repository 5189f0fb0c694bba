"""Fixture of the store that the tests of the explorer read."""

import pytest

from web.stores import filled


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("explorer"))
