"""Synthetic jobs and texts of any size to measure with, and the timing of work."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Gold, Hits, Run
from goldrank.index.exact.index import ExactIndex

_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.perf_counter)


@contextmanager
def timed_by(clock: Callable[[], float]) -> Iterator[None]:
    """Time by another clock, such as that of the processor's time, which other work disturbs less."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)


def best(work: Callable[[], object], repeats: int, *, before: Callable[[], object] = lambda: None) -> float:
    """The least seconds that *work* took; *before* is done each time and not counted."""
    taken, clock = [], _clock.get()
    for _ in range(repeats):
        before()
        start = clock()
        work()
        taken.append(clock() - start)
    return min(taken)


def fitted(rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """The cost of each feature, none below 0, for which the sums come nearest to the times, relatively.

    >>> [round(cost, 6) for cost in fitted([[1, 10, 0], [1, 50, 0], [1, 70, 9]], [0.3, 1.1, 1.5])]
    [0.1, 0.02, 0.0]
    """
    from scipy.optimize import nnls

    features, times = np.asarray(rows, np.float64), np.asarray(seconds, np.float64)
    relative = features / times[:, None]
    # Features differ by ten powers of ten; a solver wants them of a size.
    sizes = np.abs(relative).max(axis=0)
    sizes[sizes == 0] = 1
    costs, _ = nnls(relative / sizes, np.ones(len(times)))
    return [float(cost) for cost in costs / sizes]


Floats = NDArray[np.float32]


class SyntheticJob:
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


def synthetic_job(items: int, dimension: int, queries: int, judged: int = 1, *, seed: int = 7) -> SyntheticJob:
    """A job of any size; the same numbers give the same job."""
    rng = np.random.default_rng(seed)
    vectors = _unit(rng.standard_normal((items, dimension), dtype=np.float32))
    right = rng.integers(0, items, (queries, judged))
    # A model that is sometimes right and sometimes far off: its ranks go from 1 to some thousands.
    near = rng.uniform(0.05, 0.5, (queries, 1)).astype(np.float32)
    noise = rng.standard_normal((queries, dimension), dtype=np.float32) / np.float32(dimension) ** 0.5
    asked = _unit(near * vectors[right[:, 0]] + noise)
    gold = Gold({f"q{row}": {f"d{item}": 1 for item in numbers} for row, numbers in enumerate(right.tolist())})
    return SyntheticJob(vectors, asked, gold)


def _unit(rows: Floats) -> Floats:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def synthetic_hits(queries: int, items: int) -> Hits:
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


@cache
def _words() -> list[str]:
    """The words of the demonstration data, as they follow each other."""
    lines = (files("goldrank") / "demo" / "persons.jsonl").read_text(encoding="utf-8").splitlines()
    return [word for line in lines for word in json.loads(line)["text"].split()]


def synthetic_texts(count: int, words: int, *, seed: int = 1) -> list[str]:
    """Texts of so many words each, cut from the demonstration data and all different."""
    listed, draw = _words(), random.Random(seed)
    texts = []
    for number in range(count):
        start = draw.randrange(len(listed))
        some = [listed[(start + at) % len(listed)] for at in range(max(1, words - 1))]
        texts.append(" ".join([*some, str(number)][:words]))
    return texts


def write_texts(path: Path, texts: list[str]) -> None:
    """Texts as JSON lines with ids."""
    with path.open("w", encoding="utf-8") as stream:
        for number, text in enumerate(texts):
            stream.write(json.dumps({"_id": f"d{number:09}", "text": text}) + "\n")
