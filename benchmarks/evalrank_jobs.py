"""EvalRank from vectors in memory to scores, against the reference's loop over pairs; one job per process.

The loop is `loop_pairs_…` of the exact ranks: for each pair it scores the whole background, sorts it and looks the
positive up. Ours counts all pairs, asks how each query's own entry stands, and scores MRR, mean rank and Hits@k; or
goes the whole way of a task, reading and keying left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.exact_jobs import Result, Vectors, _data, _timed, loop_pairs_cosine, loop_pairs_l2
from benchmarks.measure import peak_memory

_METRICS = ["mrr(of=all)", "mean_rank", *(f"hits@{k}" for k in range(1, 16))]


def _vectors(items: int) -> Vectors:
    return _data(8, items, 300)[1]


# EvalRank's words ask in several pairs each, its sentences nearly always in one: so many queries its files have.
_QUERIES = {5514: 2774, 6989: 6784}


def _pairs(count: int, items: int) -> list[tuple[str, str]]:
    """Pairs of random items with as many different queries as the data has; the first ones, as in its background."""
    rng = np.random.default_rng(7)
    different = _QUERIES.get(count, count)
    queries = np.concatenate([np.arange(different), rng.integers(0, different, count - different)])
    return [(f"s{first}", f"s{other}") for first, other in zip(queries, rng.integers(0, items, count), strict=True)]


def _task(pairs: str, items: str, similarity: str) -> tuple[float, Result]:
    from goldrank.data.collections.evalrank import PositivePair, collection_of
    from goldrank.tasks import Settings, task_of
    from goldrank.tasks.ranking.data import RankingData
    from goldrank.tasks.ranking.models import load_model

    vectors, names = _vectors(int(items)), [f"s{row}" for row in range(int(items))]
    row = {name: number for number, name in enumerate(names)}

    class Known:
        """Gives the rows of its texts."""

        identity, by = "known vectors", "id"

        def encode_items(self, ids: Sequence[str]) -> Vectors:
            return vectors[[row[name] for name in ids]]

        encode_queries = encode_items

    positives = [PositivePair(*pair) for pair in _pairs(int(pairs), int(items))]
    model, task = load_model(Known()), task_of(collection_of(positives, names, "bench", "bench", []))
    data = RankingData.load(task, Settings(similarity=similarity))
    data.query_texts, data.item_texts  # noqa: B018 - reading is not what is measured

    def work() -> Result:
        scores = data.evaluate(model).score(_METRICS)
        return {"mrr": scores["mrr(of=all)"].mean, "hits15": scores["hits@15"].mean}

    return _timed(work)


def goldrank_cosine(pairs: str, items: str) -> tuple[float, Result]:
    return _task(pairs, items, "cosine")


def goldrank_l2(pairs: str, items: str) -> tuple[float, Result]:
    return _task(pairs, items, "l2")


def loop_cosine(pairs: str, items: str) -> tuple[float, Result]:
    return loop_pairs_cosine(pairs, items)


def loop_l2(pairs: str, items: str) -> tuple[float, Result]:
    return loop_pairs_l2(pairs, items)


def sgemm(pairs: str, items: str) -> tuple[float, Result]:
    """The bare product of the queries with all items, which no exact count can do without."""
    vectors = _vectors(int(items))
    query_vectors = vectors[: len({query for query, _ in _pairs(int(pairs), int(items))})]
    product = np.zeros((len(query_vectors), len(vectors)), np.float32)

    def work() -> Result:
        np.matmul(query_vectors, vectors.T, out=product)
        return {}

    return _timed(work)


JOBS: dict[str, Callable[[str, str], tuple[float, Any]]] = {
    job.__name__: job for job in (goldrank_cosine, goldrank_l2, loop_cosine, loop_l2, sgemm)
}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
