"""Compare approximate indexes with exact search on a task: metrics, recall, speed and size."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from goldrank import stats
from goldrank.comparing import Pair, compare_hits
from goldrank.errors import InputError
from goldrank.hits import Floats, Gold, Run
from goldrank.index.base import INDEXES, Index, Similarity, build
from goldrank.index.faiss_index import Factory
from goldrank.metrics import Metric, parse_all
from goldrank.progress import Progress
from goldrank.scoring import Bootstrap, Metrics, Scores

EXACT = "exact"
_DEEP_ENOUGH = 100
_TURNS = 3
_LONG_ENOUGH, _TOO_LONG = 0.2, 20.0
_SETTLED = 2.0
Result = TypeVar("Result")


@dataclass(frozen=True)
class Cost:
    """What an index takes."""

    build_seconds: float
    queries_per_second: float
    bytes: int | None
    """The size of the index as a file, or what the database takes for it; None where it does not say."""


@dataclass(frozen=True)
class Audited:
    """One approximate index beside exact search."""

    factory: str
    scores: Scores
    pairs: list[Pair]
    """One per metric: this index minus exact search."""
    recall: float
    """The share of the exact top k that it finds, averaged over queries."""
    recall_interval: stats.Interval | None
    cost: Cost
    speed: float
    """Queries per second, as a multiple of exact search."""


@dataclass(frozen=True)
class Audit:
    """Exact search and the indexes that were tried in its place."""

    exact: Scores
    cost: Cost
    indexes: list[Audited]
    k: int
    depth: int
    """How deep the rankings go that are scored."""
    items: int
    queries: int
    similarity: str
    alpha: float = 0.05

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of the task."""
        return self.exact.metrics

    def harm(self, audited: Audited) -> list[Pair]:
        """The metrics on which an index is significantly worse than exact search."""
        return [pair for pair in audited.pairs if self._worse(pair)]

    def _worse(self, pair: Pair) -> bool:
        return pair.winner(self.alpha, Metric.parse(pair.metric).definition.direction) == EXACT

    def verdicts(self) -> list[str]:
        """A sentence per index that answers the question."""
        return [self._verdict(audited) for audited in self.indexes]

    def _verdict(self, audited: Audited) -> str:
        beside = f"recall@{self.k} {audited.recall:.3f}, {audited.speed:.1f}× the speed of exact search"
        if harmed := self.harm(audited):
            said = ", ".join(f"{pair.metric} {_difference(pair)}" for pair in harmed)
            return f"{audited.factory} hurts: {said} ({beside})."
        if all(pair.difference == 0 for pair in audited.pairs):
            return f"{audited.factory} does not hurt: every metric is as with exact search ({beside})."
        said = ", ".join(f"{pair.metric} {_difference(pair)}, p = {pair.adjusted:.3f}" for pair in audited.pairs)
        could = max(pair.detectable for pair in audited.pairs)
        return (
            f"{audited.factory} is not shown to hurt: {said}; {self.queries} queries could show a loss of {could:.4f} "
            f"({beside})."
        )


def _difference(pair: Pair) -> str:
    bounds = "" if pair.interval is None else f" [{pair.interval.low:+.4f}, {pair.interval.high:+.4f}]"
    return f"{pair.difference:+.4f}{bounds}".replace("-", "−")


def audit(
    items: Any,
    item_ids: Sequence[str],
    queries: Any,
    query_ids: Sequence[str],
    gold: Gold,
    factories: Sequence[str],
    *,
    metrics: Metrics = ("ndcg@10",),
    k: int = 10,
    similarity: Similarity = "cosine",
    exclude_self: bool = False,
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> Audit:
    """Search with exact and approximate indexes, and compare the task's metrics query by query.

    Exact search is faiss's ``Flat``, so that the times compare like with like; those of a database include the way
    there and back, and a load that is there already is not made again. Rankings are as deep as *k* and the metrics
    need, and not deeper, because many indexes search harder when asked for more: a metric without a cutoff reads 100
    results. p-values are corrected by Holm over the indexes.

    Args:
        items, item_ids: the vectors of the corpus.
        queries, query_ids: the vectors of the queries; only those that the gold has are searched.
        gold: the right items.
        factories: faiss factories, such as ``HNSW32`` or ``IVF256,PQ16(nprobe=8)``, or specs of a database.
        metrics: the metrics of the task.
        k: how many neighbours the recall counts.
        similarity: ``cosine``, ``dot`` or ``l2``.
        exclude_self: leave out the item whose id is the query's.
        alpha: the level at which a loss is called significant.
        bootstrap: how intervals are made.
    """
    asked = parse_all(metrics or ("ndcg@10",))
    names = [_name(factory) for factory in factories]
    if not names or len(set(names)) != len(names):
        raise InputError("an audit needs indexes, each named once", remedy="give --factory HNSW32, say")
    judged = set(gold.queries)
    chosen = [row for row, name in enumerate(query_ids) if name in judged]
    if not chosen:
        raise InputError("no query is in the gold", remedy="check that both use the same query ids")
    vectors, chosen_ids = np.asarray(queries, np.float32)[chosen], [query_ids[row] for row in chosen]
    depth = max([k, *(m.cutoff if isinstance(m.cutoff, int) else _DEEP_ENOUGH for m in asked)])

    corpus = frozenset(item_ids)

    def made(factory: str) -> tuple[float, Index]:
        spec = factory if _is_spec(factory) else f"faiss:{factory}"
        return _timed(lambda: build(spec, items, item_ids, similarity))

    def search(index: Index) -> Run:
        return index.top_k(vectors, depth, query_ids=chosen_ids, exclude_self=exclude_self)

    flat_seconds, flat = made("Flat")
    exact_run = search(flat)
    exact_hits = exact_run.hits(gold, corpus=corpus)
    found, fastest = [], 0.0
    with Progress("auditing", total=len(names), unit="step") as progress:
        for name in names:
            seconds, index = made(name)
            run = search(index)
            exact_rate, rate = (len(chosen) / best for best in _in_turns([flat, index], search))
            compared = compare_hits(
                {EXACT: exact_hits, name: run.hits(gold, corpus=corpus)},
                asked,
                correction="none",
                alpha=alpha,
                bootstrap=bootstrap,
            )
            shares = neighbour_recall(exact_run, run, k)
            (interval,) = bootstrap.intervals([stats.Sample(shares)])
            scores, mean, cost = compared.scores[name], float(shares.mean()), Cost(seconds, rate, _size(index))
            shown = index.spec if _is_spec(name) else name
            found.append(Audited(shown, scores, compared.pairs, mean, interval, cost, rate / exact_rate))
            fastest = max(fastest, exact_rate)
            progress.advance()
    cost = Cost(flat_seconds, fastest, _size(flat))
    scores = compared.scores[EXACT]
    return Audit(scores, cost, _corrected(found), k, depth, len(item_ids), len(chosen), similarity, alpha)


def _is_spec(factory: str) -> bool:
    """Return whether *factory* is the spec of an index, and not a factory string of faiss."""
    kind = factory.strip().partition(":")[0]
    return kind not in ("exact", "cuda", "faiss") and kind in INDEXES


def _name(factory: str) -> str:
    return factory.strip() if _is_spec(factory) else str(Factory.parse(factory))


def _size(index: Index) -> int | None:
    size: int | None = getattr(index, "size", None)
    return size


def neighbour_recall(exact: Run, run: Run, k: int) -> Floats:
    """Per query, the share of the exact top k that is in the run's top k.

    >>> neighbour_recall(Run({"q": {"a": 3, "b": 2, "c": 1}}), Run({"q": {"b": 3, "c": 2, "a": 1}}), 2)
    array([0.5])
    """
    truth, found = exact.to_dict(), run.to_dict()
    shares = []
    for query, ranked in truth.items():
        best = set(list(ranked)[:k])
        shares.append(len(best & set(list(found.get(query, ()))[:k])) / len(best) if best else 1.0)
    return np.array(shares)


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    before = time.perf_counter()
    result = work()
    return time.perf_counter() - before, result


def _in_turns(indexes: Sequence[Index], search: Callable[[Index], Run]) -> list[float]:
    """The best time of each, searched in turns, so that a machine that is busy for a while slows all of them."""
    taken: list[list[float]] = [[] for _ in indexes]
    while min(map(len, taken)) < _TURNS or min(map(sum, taken)) < _LONG_ENOUGH:
        for times, index in zip(taken, indexes, strict=True):
            # A database takes so much longer than faiss that it would be asked a hundred times for nothing.
            if len(times) >= _TURNS and sum(times) > _SETTLED:
                continue
            times.append(_timed(lambda: search(index))[0])  # noqa: B023 - called at once
        if sum(map(sum, taken)) > _TOO_LONG:
            break
    return [min(times) for times in taken]


def _corrected(found: list[Audited]) -> list[Audited]:
    """The p-values after Holm, over the indexes and for each metric."""
    p = np.array([[pair.p for pair in audited.pairs] for audited in found])
    adjusted = np.column_stack([stats.holm(column) for column in p.T])
    return [
        replace(
            audited,
            pairs=[replace(pair, adjusted=float(a)) for pair, a in zip(audited.pairs, row, strict=True)],
        )
        for audited, row in zip(found, adjusted, strict=True)
    ]
