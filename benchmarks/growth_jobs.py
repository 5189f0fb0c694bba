"""One work at one size in a process of its own, on one core: ``python -m benchmarks.growth_jobs top_k 1000000 1000``.

Every job takes the number of items and of queries, makes its data, and prints the CPU seconds of its work without the
making, the peak memory of the process, the size of its input and the number of its results. The work is first done at
the smallest size, so that imports are not timed, and then once, so that no memory or cache of a repeat helps.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.masked_scoring_jobs import GUESSES, in_child, make_predictions
from benchmarks.measure import peak_memory

DIMENSION, DEPTH, WORDS, QUESTION, VOCABULARY = 32, 100, 8, 3, 50_000
METRICS = ["ndcg@10", "map", "mrr@10", "recall@100", "precision@10"]
_BLOCK = 1 << 16
Result = tuple[float, int, int]
"""CPU seconds, bytes of the input, and number of results in memory."""


def score(items: int, queries: int, folder: Path) -> Result:
    """Read a TREC run of *items* lines in all and its gold, and compute five metrics with intervals."""
    import goldrank as gr

    run, gold = folder / "run", folder / "qrels"
    depth = items // queries
    with run.open("w") as run_file, gold.open("w") as gold_file:
        for query in range(queries):
            first = 7919 * query
            lines = (f"q{query} Q0 d{first + at} {at + 1} {(depth - at) / depth:.6f} growth\n" for at in range(depth))
            run_file.write("".join(lines))
            gold_file.write(f"q{query} 0 d{first + query % depth} 1\n")

    def work() -> object:
        return [value.interval for value in gr.score(gr.Gold.read(gold), gr.Run.read(run), METRICS).values()]

    return _timed(work), run.stat().st_size + gold.stat().st_size, queries


def exact_ranks(items: int, queries: int, folder: Path) -> Result:
    """Count the items that beat one gold item of each query."""
    from goldrank.index.exact.index import exact_hits

    corpus, query_vectors = _unit_vectors(items, 0), _unit_vectors(queries, 1)
    gold = {str(query): {str(query * 7919 % items): 1} for query in range(queries)}
    seconds = _timed(lambda: exact_hits(query_vectors, corpus, gold, similarity="dot"))
    return seconds, corpus.nbytes + query_vectors.nbytes, queries


def top_k(items: int, queries: int, folder: Path) -> Result:
    """Find the 100 nearest items of each query with the exact index."""
    from goldrank.index.exact.index import ExactIndex

    corpus, query_vectors = _unit_vectors(items, 0), _unit_vectors(queries, 1)
    seconds = _timed(lambda: ExactIndex(corpus, similarity="dot").top_k(query_vectors, DEPTH))
    return seconds, corpus.nbytes + query_vectors.nbytes, queries * DEPTH


def bm25(items: int, queries: int, folder: Path) -> Result:
    """Index texts of eight words and find the best 100 for each question of three."""
    from goldrank.encoders import load

    texts, questions = list(_texts(items, WORDS, 0)), list(_texts(queries, QUESTION, 1))
    item_ids, query_ids = [f"d{row}" for row in range(items)], [f"q{row}" for row in range(queries)]

    def work() -> None:
        model: Any = load("bm25")
        model.index(item_ids, texts)
        model.search(query_ids, questions, DEPTH)

    held = sum(sys.getsizeof(text) + 8 for column in (texts, item_ids, questions, query_ids) for text in column)
    return _timed(work), held, queries * DEPTH


def masked(items: int, queries: int, folder: Path) -> Result:
    """Score *queries* masks with five guesses each from a Parquet file at three levels."""
    from goldrank.masked.scoring.levels import score_predictions

    path = folder / "predictions.parquet"
    in_child(make_predictions, path, queries)
    return _timed(lambda: score_predictions(path, workers=1)), path.stat().st_size, queries * GUESSES


def store(items: int, queries: int, folder: Path) -> Result:
    """Save a run of *items* results in all and its hits, and read both again."""
    from goldrank import Gold, Run
    from goldrank.store import RunRecord, Store

    depth = items // queries
    ids = [f"d{row}" for row in range(2 * depth)]
    scores = np.linspace(1, 0, depth)
    rankings = ((np.roll(np.arange(2 * depth), 7919 * query)[:depth], scores) for query in range(queries))
    names = [f"q{query}" for query in range(queries)]
    run = Run.from_positions(names, ids, rankings, "growth")
    hits = run.hits(Gold({name: {ids[query % depth]: 1} for query, name in enumerate(names)}))

    def work() -> None:
        stored = Store.open(folder / "store").save(
            RunRecord("growth", "run", {"task": "growth"}, {}, hits=hits, run=run)
        )
        stored.hits(), stored.run()

    # A result is its place in the list of ids and a score.
    return _timed(work), 16 * items + sum(map(sys.getsizeof, ids)), items


def _timed(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _unit_vectors(count: int, seed: int) -> NDArray[np.float32]:
    """Return random vectors, made block by block so that making them needs no further memory."""
    rng, vectors = np.random.default_rng(seed), np.empty((count, DIMENSION), np.float32)
    for start in range(0, count, _BLOCK):
        part = vectors[start : start + _BLOCK]
        part[:] = rng.standard_normal(part.shape, np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return vectors


def _texts(count: int, words: int, seed: int) -> Iterator[str]:
    """Yield texts in which the n-th word of the vocabulary has a probability of about 1/n."""
    rng, vocabulary = np.random.default_rng(seed), np.array([f"word{number}" for number in range(VOCABULARY)], object)
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start), words
        yield from map(" ".join, vocabulary[(VOCABULARY ** rng.random(size)).astype(np.int64) - 1].tolist())


JOBS: dict[str, Callable[[int, int, Path], Result]] = {
    job.__name__: job for job in (score, exact_ranks, top_k, bm25, masked, store)
}


def main() -> None:
    """Run the job that is named on the command line."""
    if hasattr(os, "sched_setaffinity"):
        # Threads that wait for each other count as busy, so that only the CPU time of one core is comparable.
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    for items, queries in ((100, 10), tuple(map(int, sys.argv[2:]))):
        with tempfile.TemporaryDirectory(prefix="goldrank-growth-") as folder:
            seconds, data, results = JOBS[sys.argv[1]](items, queries, Path(folder))
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), "input_mb": data / 2**20, "results": results}))


if __name__ == "__main__":
    main()
