"""Jobs made at random to measure with, of any size and the same each time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Gold, Hits, Run
from goldrank.index.exact.index import ExactIndex

Floats = NDArray[np.float32]


class MadeJob:
    """Unit vectors made at random, and queries that lie near their gold, some nearer than others."""

    def __init__(self, items: Floats, queries: Floats, gold: Gold) -> None:
        self.items, self.queries, self.gold = items, queries, gold
        self.ids = [f"d{row}" for row in range(len(items))]

    def index(self) -> ExactIndex:
        """The vectors to rank, of which nothing is known yet."""
        return ExactIndex(self.items, self.ids, "dot")

    def count(self, index: ExactIndex | None = None) -> Hits:
        """Exact ranks of the gold."""
        return (index or self.index()).exact_hits(self.queries, self.gold, self.gold.queries)

    def search(self, depth: int, index: ExactIndex | None = None) -> Run:
        """The top *depth* of every query."""
        return (index or self.index()).top_k(self.queries, depth, self.gold.queries)


def made_job(items: int, dimension: int, queries: int, judged: int = 1, *, seed: int = 7) -> MadeJob:
    """A job of any size; the same numbers give the same job."""
    rng = np.random.default_rng(seed)
    vectors = _unit(rng.standard_normal((items, dimension), dtype=np.float32))
    right = rng.integers(0, items, (queries, judged))
    # A model that is sometimes right and sometimes far off: its ranks go from 1 to some thousands.
    near = rng.uniform(0.05, 0.5, (queries, 1)).astype(np.float32)
    noise = rng.standard_normal((queries, dimension), dtype=np.float32) / np.float32(dimension) ** 0.5
    asked = _unit(near * vectors[right[:, 0]] + noise)
    gold = Gold({f"q{row}": {f"d{item}": 1 for item in numbers} for row, numbers in enumerate(right.tolist())})
    return MadeJob(vectors, asked, gold)


def _unit(rows: Floats) -> Floats:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def made_hits(queries: int, items: int) -> Hits:
    """Hits with ranks as a fair model gives them, without ranking anything."""
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
