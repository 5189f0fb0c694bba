"""Exact top-100 through goldrank, by its faiss index and by its exact index, against plain faiss Flat, tuned alike.

All search the same memory in turns in one process, so that a busy machine slows all; the best time of each counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import peak_memory
from goldrank.index.exact.index import ExactIndex
from goldrank.index.faiss_index import FaissIndex, load_faiss

K = 100
TURNS = 5
Vectors = NDArray[np.float32]


def unit_vectors(count: int, dimension: int, seed: int) -> Vectors:
    made = np.random.default_rng(seed).standard_normal((count, dimension), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def best_of_turns(works: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    best = dict.fromkeys(works, float("inf"))
    for turn in range(turns):
        # Who goes first changes, because the second finds the caches warm.
        for name in list(works)[:: 1 if turn % 2 else -1]:
            before = time.perf_counter()
            works[name]()
            best[name] = min(best[name], time.perf_counter() - before)
    return best


def measure(items: Vectors, queries: Vectors, batch: int, turns: int) -> dict[str, float]:
    index, exact = FaissIndex.build("Flat", items, similarity="cosine"), ExactIndex(items)
    faiss, flat = load_faiss(), index.faiss_index
    parts = [queries[start : start + batch] for start in range(0, len(queries), batch)]

    def plain() -> None:
        faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = 2000, 4096
        for part in parts:
            flat.search(part, K)
        faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = 128_000, 1024

    def ours() -> None:
        for part in parts:
            index.top_k(part, K)

    def by_exact_index() -> None:
        for part in parts:
            exact.top_k(part, K)

    return best_of_turns({"goldrank": ours, "exact": by_exact_index, "faiss": plain}, turns)


def top_k(items: str, batch: str) -> tuple[float, dict[str, float]]:
    """In turns on the same vectors; the first number is that of goldrank's faiss index, the others stand beside it."""
    count = int(items)
    seconds = measure(unit_vectors(count, 384, 0), unit_vectors(count // 100, 384, 1), int(batch), TURNS)
    return seconds.pop("goldrank"), seconds


JOBS = {"top_k": top_k}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
