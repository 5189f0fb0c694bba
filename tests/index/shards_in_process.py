"""Small problems in shards, an engine in this process that can be killed, and assertions that results are equal."""

import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np

from goldrank.io.formats.vector_shards import VectorShard, write_vectors

COLUMNS = ("starts", "grade", "above", "tied", "tied_docid", "tied_input", "depth", "outside")


class KilledError(Exception):
    """The engine was killed."""


class InProcess:
    """An engine that runs pending tasks in random order; tasks and results are pickled as between processes."""

    name = "in this process"

    def __init__(self, workers=2, seed=0, dies_after=None):
        self.workers, self.dies_after = workers, dies_after
        self.rng = np.random.default_rng(seed)
        self.done = []

    def map(self, work, tasks, *, what, total):
        waiting, pending, received = iter(tasks), [], 0
        while True:
            while len(pending) < self.workers and (task := next(waiting, None)) is not None:
                pending.append(pickle.dumps(task))
                received += 1
            if not pending:
                assert received == total
                return
            task = pending.pop(self.rng.integers(len(pending)))
            if self.dies_after == (work.__name__, len(self.of(work.__name__))):
                raise KilledError
            self.done.append((work.__name__, pickle.loads(task)))
            yield pickle.loads(pickle.dumps(work(pickle.loads(task))))

    def of(self, name):
        return [task for work, task in self.done if work == name]


def stored(folder, ids, items, cuts):
    """Write the items in shards that end at the cuts, and return the shards."""
    bounds = [0, *sorted(cuts), len(items)]
    shards = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        path = str(Path(folder, f"{number}.parquet"))
        write_vectors(path, ids[start:stop], items[start:stop])
        shards.append(VectorShard(path, start, stop - start))
    return shards


def assert_same_hits(actual, expected):
    assert (actual.queries, actual.items) == (expected.queries, expected.items)
    for name in COLUMNS:
        assert np.array_equal(getattr(actual, name), getattr(expected, name)), name
    for name in ("precision", "corpus", "ignored_queries", "dropped_self", "exhaustive"):
        assert getattr(actual, name) == getattr(expected, name), name


def assert_same_run(actual, expected):
    actual, expected = actual.to_dict(), expected.to_dict()
    assert list(actual) == list(expected)
    for query, ranking in expected.items():
        assert list(actual[query]) == list(ranking)
        bits = [np.array(list(ranks.values())).view(np.int64).tolist() for ranks in (actual[query], ranking)]
        assert bits[0] == bits[1]


def problem_of(n=500, dimension=12, n_queries=8, seed=4):
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((n, dimension)).astype(np.float32)
    queries = rng.standard_normal((n_queries, dimension)).astype(np.float32)
    ids = [f"i{number}" for number in range(n)]
    gold = {str(q): {ids[int(number)]: 1 for number in rng.integers(0, n, 3)} for q in range(n_queries)}
    return queries, items, ids, gold
