"""Measuring what ranking costs, at sizes that tell its parts from each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from goldrank.index.exact.index import ExactIndex
from goldrank.planning.constants import RankingCost, ranking_features
from goldrank.planning.synthetic_jobs import MadeJob, made_job
from goldrank.planning.timing import best, fitted

# Items, dimension, queries, and judged items or results of a query.
Size = tuple[int, int, int, int]
COUNTING: tuple[Size, ...] = (
    (8_000, 64, 128, 1),
    (50_000, 64, 1_500, 1),
    (50_000, 256, 128, 1),
    (10_000, 1024, 1_200, 1),
    (40_000, 256, 2_500, 1),
    (25_000, 512, 600, 4),
    (12_000, 128, 6_000, 1),
    (250_000, 256, 1_500, 1),
    (60_000, 1024, 1_500, 1),
)
SEARCH: tuple[Size, ...] = (
    (8_000, 64, 128, 10),
    (50_000, 64, 600, 100),
    (50_000, 256, 100, 10),
    (12_000, 1024, 500, 50),
    (30_000, 256, 1_200, 200),
    (15_000, 64, 128, 300),
    (50_000, 256, 100, 1_000),
    (12_000, 1024, 500, 400),
    (60_000, 256, 600, 1_000),
    (120_000, 128, 400, 400),
    (250_000, 256, 500, 1_000),
    (60_000, 1024, 1_500, 500),
)
ALL_PARTS = tuple(part.name for part in fields(RankingCost))
COUNTING_PARTS = ("start", "number", "multiply", "pair", "entry")
_REPEATS = 3


def ranking_cost(
    sizes: Sequence[Size],
    stage: str,
    *,
    index: Callable[[MadeJob], ExactIndex] | None = None,
    parts: Sequence[str] = ALL_PARTS,
    repeats: int = _REPEATS,
) -> RankingCost:
    """The cost of exact ranks or of the top k, from jobs of these sizes.

    Args:
        sizes: the jobs.
        stage: ``exact ranks`` or ``top k``.
        index: makes what is asked, which is not counted; by default the exact index, whose making is.
        parts: those of a RankingCost that matter; the others stay at 0.
        repeats: how often each is done; the least time counts.
    """
    rows, seconds = [], []
    for items, dimension, queries, entries in sizes:
        counts = stage == "exact ranks"
        job = made_job(items, dimension, queries, entries if counts else 1)
        rows.append(ranking_features(items, dimension, queries, entries, entries if counts else 1))
        made = index(job) if index is not None else None
        seconds.append(best(_work(job, made, None if counts else entries), repeats))
    chosen = [list(ALL_PARTS).index(part) for part in parts]
    costs = fitted([[row[part] for part in chosen] for row in rows], seconds)
    return RankingCost(**{**dict.fromkeys(ALL_PARTS, 0.0), **dict(zip(parts, costs, strict=True))})


def _work(job: MadeJob, index: ExactIndex | None, depth: int | None) -> Callable[[], object]:
    return lambda: job.count(index) if depth is None else job.search(depth, index)
