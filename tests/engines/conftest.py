"""Fixtures: a Ray cluster for the tests of one file, and an engine connected to it."""

import pytest

from engines.ray_nodes import ray_cluster
from goldrank.engines import open_engine


@pytest.fixture(scope="module")
def nodes():
    with ray_cluster(head_cpus=0, workers=2) as started:
        yield started


@pytest.fixture(scope="module")
def joined(nodes):
    with open_engine(nodes.address) as engine:
        yield engine
