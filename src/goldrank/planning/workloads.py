"""Synthetic jobs and texts of any size for measurements, and the timing of work."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from goldrank.encoders.base import Dense
from goldrank.hits import Gold, Hits, Run
from goldrank.index.exact.index import ExactIndex

clock: Callable[[], float] = time.perf_counter
"""The clock of `best`; benchmarks may set it to ``time.process_time``, which other processes disturb less."""


def best(work: Callable[[], object], repeats: int, *, before: Callable[[], object] = lambda: None) -> float:
    """Return the shortest time of *work* in seconds; *before* is called before each repeat and not timed."""
    times = []
    for _ in range(repeats):
        before()
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def fit_costs(rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """Return the non-negative cost of each feature that minimises the squared relative errors of the times.

    >>> [round(cost, 6) for cost in fit_costs([[1, 10, 0], [1, 50, 0], [1, 70, 9]], [0.3, 1.1, 1.5])]
    [0.1, 0.02, 0.0]
    """
    from scipy.optimize import nnls

    features, times = np.asarray(rows, np.float64), np.asarray(seconds, np.float64)
    relative = features / times[:, None]
    # Features differ by ten orders of magnitude, so they are scaled for the solver.
    sizes = np.abs(relative).max(axis=0)
    sizes[sizes == 0] = 1
    costs, _ = nnls(relative / sizes, np.ones(len(times)))
    return [float(cost) for cost in costs / sizes]


class SyntheticJob:
    """Random unit vectors, and queries at different distances from their gold."""

    def __init__(self, items: Dense, queries: Dense, gold: Gold) -> None:
        self.items, self.queries, self.gold = items, queries, gold
        self.ids = [f"d{row}" for row in range(len(items))]

    def index(self) -> ExactIndex:
        """Return a new exact index of the items."""
        return ExactIndex(self.items, self.ids, "dot")

    def count(self, index: ExactIndex | None = None) -> Hits:
        """Return the exact ranks of the gold."""
        return (index or self.index()).exact_hits(self.queries, self.gold, self.gold.queries)

    def search(self, depth: int, index: ExactIndex | None = None) -> Run:
        """Return the top *depth* of every query."""
        return (index or self.index()).top_k(self.queries, depth, self.gold.queries)


def synthetic_job(items: int, dimension: int, queries: int, judged: int = 1, *, seed: int = 7) -> SyntheticJob:
    """Return a job of the given size; the same arguments give the same job."""
    rng = np.random.default_rng(seed)
    vectors = _unit(rng.standard_normal((items, dimension), dtype=np.float32))
    right = rng.integers(0, items, (queries, judged))
    # A mixture of easy and hard queries: ranks go from 1 to some thousands.
    closeness = rng.uniform(0.05, 0.5, (queries, 1)).astype(np.float32)
    noise = rng.standard_normal((queries, dimension), dtype=np.float32) / np.float32(dimension) ** 0.5
    query_vectors = _unit(closeness * vectors[right[:, 0]] + noise)
    gold = Gold({f"q{row}": {f"d{item}": 1 for item in numbers} for row, numbers in enumerate(right.tolist())})
    return SyntheticJob(vectors, query_vectors, gold)


def _unit(rows: Dense) -> Dense:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def synthetic_hits(queries: int, items: int) -> Hits:
    """Return hits with the ranks of a mediocre model, without ranking anything."""
    above = np.floor(np.random.default_rng(9).pareto(0.5, queries)).clip(max=items - 1).astype(np.int64)
    none = np.zeros(queries, np.int64)
    return Hits(
        queries=[f"q{row}" for row in range(queries)],
        starts=np.arange(queries + 1),
        items=[f"d{row}" for row in range(queries)],
        grade=np.ones(queries),
        above=above,
        tied=none,
        tied_docid=none,
        tied_input=none,
        depth=np.full(queries, items),
        precision="float64",
        corpus=items,
        outside=np.zeros(queries, np.bool_),
        ignored_queries=0,
        dropped_self=0,
    )


@cache
def _words() -> list[str]:
    """Return the words of the demonstration data in their order."""
    lines = (files("goldrank") / "demo" / "persons.jsonl").read_text(encoding="utf-8").splitlines()
    return [word for line in lines for word in json.loads(line)["text"].split()]


def synthetic_texts(count: int, words: int, *, seed: int = 1) -> list[str]:
    """Return different texts of so many words each, cut from the demonstration data."""
    source, generator = _words(), random.Random(seed)
    texts = []
    for number in range(count):
        start = generator.randrange(len(source))
        chosen = [source[(start + offset) % len(source)] for offset in range(max(1, words - 1))]
        texts.append(" ".join([*chosen, str(number)][:words]))
    return texts


def write_texts(path: Path, texts: list[str]) -> None:
    """Write texts as JSON lines with ids."""
    with path.open("w", encoding="utf-8") as stream:
        for number, text in enumerate(texts):
            stream.write(json.dumps({"_id": f"d{number:09}", "text": text}) + "\n")
