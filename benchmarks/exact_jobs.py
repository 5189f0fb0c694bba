"""Exact ranks against the ways people take them, one job per process; prints seconds, peak memory and a result.

Each job takes two numbers, queries and items, and gives the CPU seconds of the best of three goes, which other work
on the machine disturbs least; the wall seconds stand beside the result.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import peak_memory

Vectors = NDArray[np.float32]
Result = dict[str, float]
REPEATS = 3


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """The best of a few goes after the data is made; the memory is that of the work alone."""
    before = peak_memory()
    cpu, wall = [], []
    for _ in range(REPEATS):
        start = time.process_time(), time.perf_counter()
        result = work()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return min(cpu), {**result, "wall": min(wall), "extra_mb": peak_memory() - before}


def _data(queries: int, items: int, dimension: int) -> tuple[Vectors, Vectors, NDArray[np.int64]]:
    """Unit vectors and one gold item for each query."""
    rng = np.random.default_rng(11)
    matrices = [rng.standard_normal((count, dimension), dtype=np.float32) for count in (queries, items)]
    for vectors in matrices:
        # In place and by rows, so that making the data does not raise the peak that is measured.
        for start in range(0, len(vectors), 4096):
            part = vectors[start : start + 4096]
            part /= np.linalg.norm(part, axis=1, keepdims=True)
    return matrices[0], matrices[1], rng.integers(0, items, queries)


def _goldrank(queries: str, items: str, dimension: int, **options: Any) -> tuple[float, Result]:
    from goldrank.index.exact.index import exact_hits

    asked, corpus, numbers = _data(int(queries), int(items), dimension)
    gold = {str(row): {str(number): 1} for row, number in enumerate(numbers)}
    exact_hits(asked[:16], corpus[:4096], {"0": {"0": 1}}, **options)
    return _timed(lambda: {"mean_above": float(exact_hits(asked, corpus, gold, **options).above.mean())})


def goldrank_certified(queries: str, items: str) -> tuple[float, Result]:
    return _goldrank(queries, items, 384, similarity="dot")


def goldrank_plain(queries: str, items: str) -> tuple[float, Result]:
    return _goldrank(queries, items, 384, similarity="dot", certify=False)


def sgemm(queries: str, items: str) -> tuple[float, Result]:
    """The bare product, into memory that is there already."""
    asked, corpus, _ = _data(int(queries), int(items), 384)
    product = np.zeros((len(asked), len(corpus)), np.float32)

    def work() -> Result:
        np.matmul(asked, corpus.T, out=product)
        return {}

    return _timed(work)


def argsort(queries: str, items: str) -> tuple[float, Result]:
    """Sort all scores and look the gold up."""
    asked, corpus, numbers = _data(int(queries), int(items), 384)

    def work() -> Result:
        order = np.argsort(-(asked @ corpus.T), axis=1)
        return {"mean_above": float((order == numbers[:, None]).argmax(axis=1).mean())}

    return _timed(work)


def faiss_all(queries: str, items: str) -> tuple[float, Result]:
    """Ask faiss for the whole ranking, k = N."""
    import faiss

    asked, corpus, numbers = _data(int(queries), int(items), 384)
    index = faiss.IndexFlatIP(corpus.shape[1])
    index.add(corpus)

    def work() -> Result:
        _, order = index.search(asked, len(corpus))
        return {"mean_above": float((order == numbers[:, None]).argmax(axis=1).mean())}

    return _timed(work)


def goldrank_pairs_cosine(pairs: str, items: str) -> tuple[float, Result]:
    return _goldrank(pairs, items, 300, similarity="cosine")


def goldrank_pairs_l2(pairs: str, items: str) -> tuple[float, Result]:
    return _goldrank(pairs, items, 300, similarity="l2")


def loop_pairs_cosine(pairs: str, items: str) -> tuple[float, Result]:
    return _loop(pairs, items, lambda corpus, query: corpus @ query)


def loop_pairs_l2(pairs: str, items: str) -> tuple[float, Result]:
    return _loop(pairs, items, lambda corpus, query: 1 / (1 + np.linalg.norm(corpus - query, axis=1)))


def _loop(pairs: str, items: str, score: Callable[[Vectors, Vectors], Vectors]) -> tuple[float, Result]:
    """Pair by pair as EvalRank does it: score the whole background, sort, find the positive's place.

    A fiftieth of the pairs is timed, since each of them costs the same.
    """
    asked, corpus, numbers = _data(int(pairs), int(items), 300)
    share = max(1, len(asked) // 50)

    def work() -> Result:
        above = 0
        for query, number in zip(asked[:share], numbers[:share], strict=True):
            scores = score(corpus, query)
            positive = scores[number]
            scores = np.sort(scores)
            above += len(scores) - int(np.searchsorted(scores, positive, "right"))
        return {"mean_above": above / share}

    seconds, result = _timed(work)
    scale = len(asked) / share
    return seconds * scale, {**result, "wall": result["wall"] * scale}


JOBS: dict[str, Callable[[str, str], tuple[float, Result]]] = {
    job.__name__: job
    for job in (
        goldrank_certified,
        goldrank_plain,
        sgemm,
        argsort,
        faiss_all,
        goldrank_pairs_cosine,
        goldrank_pairs_l2,
        loop_pairs_cosine,
        loop_pairs_l2,
    )
}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
