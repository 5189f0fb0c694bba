"""Small problems in shards, an engine in this process that can be killed, and what makes two results the same."""

import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np

from goldrank.io.formats.vector_shards import VectorShard, write_vectors

COLUMNS = ("starts", "grade", "above", "tied", "tied_docid", "tied_input", "depth", "outside")


class KilledError(Exception):
    """The engine was killed."""


class InProcess:
    """Holds a few tasks at a time and does them in any order; everything travels as it would between processes."""

    name = "in this process"

    def __init__(self, workers=2, seed=0, dies_after=None):
        self.workers, self.dies_after = workers, dies_after
        self.rng = np.random.default_rng(seed)
        self.done = []

    def map(self, work, tasks, *, what, total):
        waiting, held, drawn = iter(tasks), [], 0
        while True:
            while len(held) < self.workers and (task := next(waiting, None)) is not None:
                held.append(pickle.dumps(task))
                drawn += 1
            if not held:
                assert drawn == total
                return
            task = held.pop(self.rng.integers(len(held)))
            if self.dies_after == (work.__name__, len(self.of(work.__name__))):
                raise KilledError
            self.done.append((work.__name__, pickle.loads(task)))
            yield pickle.loads(pickle.dumps(work(pickle.loads(task))))

    def of(self, name):
        return [task for work, task in self.done if work == name]


def stored(folder, ids, items, cuts):
    """The items in shards that end at the cuts."""
    bounds = [0, *sorted(cuts), len(items)]
    shards = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        path = str(Path(folder, f"{number}.parquet"))
        write_vectors(path, ids[start:stop], items[start:stop])
        shards.append(VectorShard(path, start, stop - start))
    return shards


def assert_same_hits(found, wanted):
    assert (found.queries, found.items) == (wanted.queries, wanted.items)
    for name in COLUMNS:
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    for name in ("precision", "corpus", "ignored_queries", "dropped_self", "exhaustive"):
        assert getattr(found, name) == getattr(wanted, name), name


def assert_same_run(found, wanted):
    found, wanted = found.to_dict(), wanted.to_dict()
    assert list(found) == list(wanted)
    for query, ranking in wanted.items():
        assert list(found[query]) == list(ranking)
        bits = [np.array(list(each.values())).view(np.int64).tolist() for each in (found[query], ranking)]
        assert bits[0] == bits[1]


def problem_of(n=500, dimension=12, n_queries=8, seed=4):
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((n, dimension)).astype(np.float32)
    queries = rng.standard_normal((n_queries, dimension)).astype(np.float32)
    ids = [f"i{number}" for number in range(n)]
    gold = {str(q): {ids[int(number)]: 1 for number in rng.integers(0, n, 3)} for q in range(n_queries)}
    return queries, items, ids, gold
