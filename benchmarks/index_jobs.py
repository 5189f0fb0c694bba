"""Exact top k through goldrank, by its faiss index and by its exact index, against plain faiss Flat, tuned alike.

All search the same memory in turns in one process, so that a busy machine slows all; the best time of each counts.
CPU seconds are those of a single thread, because threads of faiss that wait for each other count as busy; wall seconds
are those of all cores.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.measure import peak_memory
from goldrank.index.base import Similarity, checked_similarity
from goldrank.index.exact.index import ExactIndex
from goldrank.index.faiss_index import FaissIndex, load_faiss

TURNS = 3
Vectors = NDArray[np.float32]


def unit_vectors(count: int, dimension: int, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def best_of_turns(works: dict[str, Callable[[], object]], turns: int, clock: Callable[[], float]) -> dict[str, float]:
    best = dict.fromkeys(works, float("inf"))
    for turn in range(turns):
        # Who goes first changes, because the second finds the caches warm.
        for name in list(works)[:: 1 if turn % 2 else -1]:
            before = clock()
            works[name]()
            best[name] = min(best[name], clock() - before)
    return best


def measure(
    items: Vectors, queries: Vectors, batch: int, k: int, similarity: Similarity, threads: int | None
) -> dict[str, float]:
    index = FaissIndex.build("Flat", items, similarity=similarity)
    exact = ExactIndex(items, similarity=similarity, threads=threads)
    faiss, flat = load_faiss(), index.faiss_index
    if threads is not None:
        faiss.omp_set_num_threads(threads)
    parts = [queries[start : start + batch] for start in range(0, len(queries), batch)]

    def plain() -> None:
        faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = 2000, 4096
        for part in parts:
            flat.search(part, k)
        faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = 128_000, 1024

    def ours() -> None:
        for part in parts:
            index.top_k(part, k)

    def by_exact_index() -> None:
        for part in parts:
            exact.top_k(part, k)

    clock = time.process_time if threads == 1 else time.perf_counter
    works: dict[str, Callable[[], object]] = {"goldrank": ours, "exact": by_exact_index, "faiss": plain}
    return best_of_turns(works, TURNS, clock)


def top_k(
    items: str, queries: str, batch: str, k: str, similarity: str, threads: str
) -> tuple[float, dict[str, float]]:
    """In turns on the same vectors; the first number is that of goldrank's faiss index, the others stand beside it."""
    vectors = unit_vectors(int(items), 384, 0), unit_vectors(int(queries), 384, 1)
    with threadpool_limits(int(threads) or None):
        seconds = measure(*vectors, int(batch), int(k), checked_similarity(similarity), int(threads) or None)
    return seconds.pop("goldrank"), seconds


JOBS = {"top_k": top_k}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
