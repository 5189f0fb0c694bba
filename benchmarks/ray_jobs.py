"""Sixteen shards counted by two workers of a local Ray cluster, against a plain pool of two processes.

Both are given the very same tasks, captured from goldrank's own index over shards: exact counts, and the top 100. Both
have done a round of them before, so that neither start nor imports are in the seconds, which are of the wall; results
are taken in and not put together. Rounds are taken in turns, and the best of each counts.

    python -m benchmarks.ray_jobs shards 1000000
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.index_jobs import unit_vectors
from benchmarks.measure import peak_memory
from goldrank.engines import open_engine
from goldrank.engines.local import LocalEngine
from goldrank.index.sharded.index import ShardedIndex
from goldrank.io.formats.vector_shards import VectorShard, write_vectors

DIMENSION, QUERIES, SHARDS, WORKERS, TURNS = 384, 1000, 16, 2, 5
Work = Callable[[Any], Any]


class Capturing(LocalEngine):
    """Keeps what it is asked to do, by name."""

    def __init__(self) -> None:
        self.asked: dict[str, tuple[Work, list[Any]]] = {}

    def map(self, work: Work, tasks: Iterable[Any], *, what: str, total: int) -> Iterator[Any]:
        kept: list[Any] = []
        self.asked[what] = work, kept

        def keeping() -> Iterator[Any]:
            for task in tasks:
                kept.append(task)
                yield task

        yield from super().map(work, keeping(), what=what, total=total)


def shards_of(items: int, folder: Path) -> tuple[list[VectorShard], list[str]]:
    """Random unit vectors in shards."""
    ids = [str(number) for number in range(items)]
    bounds = np.linspace(0, items, SHARDS + 1).astype(int).tolist()
    shards = []
    for number, (first, last) in enumerate(pairwise(bounds)):
        path = str(folder / f"{number:03d}.parquet")
        write_vectors(path, ids[first:last], unit_vectors(last - first, DIMENSION, number))
        shards.append(VectorShard(path, first, last - first))
    return shards, ids


def shards(items: str) -> tuple[float, dict[str, float]]:
    """The seconds of Ray for both kinds of work, and beside them those of the pool."""
    with tempfile.TemporaryDirectory() as name:
        listed, ids = shards_of(int(items), Path(name))
        engine = Capturing()
        index = ShardedIndex(listed, ids, "dot", engine=engine, folder=f"{name}/jobs")
        queries = unit_vectors(QUERIES, DIMENSION, 99)
        gold = {str(query): [str(query * int(items) // QUERIES)] for query in range(QUERIES)}
        index.exact_hits(queries, gold)
        index.top_k(queries, 100)
        return _compared({kind: engine.asked[kind] for kind in ("exact ranks", "search")})


def _compared(asked: dict[str, tuple[Work, list[Any]]]) -> tuple[float, dict[str, float]]:
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    taken: dict[str, list[float]] = {}
    begun = time.perf_counter()
    ray = open_engine(f"ray:{WORKERS}")
    assert ray is not None
    start = time.perf_counter() - begun
    with ray, ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        ways: dict[str, Callable[[Work, list[Any]], Iterable[Any]]] = {
            "ray": lambda work, tasks: ray.map(work, tasks, what="shards", total=len(tasks)),
            "pool": pool.map,
        }
        for turn in range(TURNS + 1):
            for kind, (work, tasks) in asked.items():
                for name, way in ways.items():
                    begun = time.perf_counter()
                    done = sum(1 for _ in way(work, tasks))
                    assert done == SHARDS
                    if turn:
                        taken.setdefault(f"{name} {kind}", []).append(time.perf_counter() - begun)
    best = {name: min(seconds) for name, seconds in taken.items()}
    seconds = {name: sum(best[f"{name} {kind}"] for kind in asked) for name in ("ray", "pool")}
    ratios = {f"{kind} ratio": best[f"ray {kind}"] / best[f"pool {kind}"] for kind in asked}
    return seconds["ray"], {"pool": seconds["pool"], "start": start, **best, **ratios}


JOBS = {"shards": shards}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
