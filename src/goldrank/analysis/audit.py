"""Compare approximate indexes with exact search on a task: metrics, recall, speed and size."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from goldrank import stats
from goldrank.comparing import Pair, compare_hits
from goldrank.data.collections import Collection
from goldrank.data.texts import TextList, beir_file, read_texts, texts_of
from goldrank.encoders.base import Encoder
from goldrank.errors import InputError
from goldrank.hits import Floats, Gold, Run
from goldrank.index.base import INDEXES, Index, Similarity, build
from goldrank.index.encoding import encode_texts, load_encoder
from goldrank.index.faiss_index import Factory
from goldrank.io.checks import find_duplicate
from goldrank.io.files import PathLike
from goldrank.metrics import Metric, parse_all
from goldrank.presentation import Result
from goldrank.progress import Progress
from goldrank.scoring import Bootstrap, Metrics, Scores
from goldrank.vectors.cache import live_vectors

EXACT = "exact"
_QRELS = ("qrels/test.tsv", "qrels.tsv", "qrels.txt", "qrels/test.txt")
_DEFAULT_DEPTH = 100
"""How deep a ranking goes for a metric without a cutoff."""
_MIN_ROUNDS = 3
# Searches are repeated until each index was timed for _MIN_SECONDS, or all of them for _MAX_SECONDS; an index that took
# _ENOUGH_SECONDS alone is not timed again.
_MIN_SECONDS, _MAX_SECONDS, _ENOUGH_SECONDS = 0.2, 20.0, 2.0
Value = TypeVar("Value")


@dataclass(frozen=True)
class Cost:
    """The time and space that an index needs."""

    build_seconds: float
    queries_per_second: float
    bytes: int | None
    """The size of the index file, or of the database's storage; None where the database does not report it."""


@dataclass(frozen=True)
class Audited:
    """One approximate index compared with exact search."""

    factory: str
    scores: Scores
    pairs: list[Pair]
    """One per metric: this index minus exact search."""
    recall: float
    """The share of the exact top k that the index returns, averaged over queries."""
    recall_interval: stats.Interval | None
    cost: Cost
    speed: float
    """Queries per second, as a multiple of exact search."""


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """Exact search, and the approximate indexes compared with it."""

    exact: Scores
    cost: Cost
    indexes: list[Audited]
    k: int
    depth: int
    """The length of the rankings that are scored."""
    items: int
    queries: int
    similarity: str
    alpha: float = 0.05

    @property
    def metrics(self) -> list[Metric]:
        """The metrics of the task."""
        return self.exact.metrics

    def harm(self, audited: Audited) -> list[Pair]:
        """Return the metrics on which an index is significantly worse than exact search."""
        return [
            pair
            for pair in audited.pairs
            if pair.winner(self.alpha, Metric.parse(pair.metric).definition.direction) == EXACT
        ]

    def verdicts(self) -> list[str]:
        """Return one sentence per index: does it hurt the metrics?"""
        return [self._verdict(audited) for audited in self.indexes]

    def _verdict(self, audited: Audited) -> str:
        context = f"recall@{self.k} {audited.recall:.3f}, {audited.speed:.1f}× the speed of exact search"
        if harmed := self.harm(audited):
            losses = ", ".join(f"{pair.metric} {_difference(pair)}" for pair in harmed)
            return f"{audited.factory} hurts: {losses} ({context})."
        if all(pair.difference == 0 for pair in audited.pairs):
            return f"{audited.factory} does not hurt: every metric is as with exact search ({context})."
        changes = ", ".join(f"{pair.metric} {_difference(pair)}, p = {pair.adjusted:.3f}" for pair in audited.pairs)
        detectable = max(pair.detectable for pair in audited.pairs)
        return (
            f"{audited.factory} is not shown to hurt: {changes}; {self.queries} queries could show a loss of "
            f"{detectable:.4f} ({context})."
        )


def _difference(pair: Pair) -> str:
    bounds = "" if pair.interval is None else f" [{pair.interval.low:+.4f}, {pair.interval.high:+.4f}]"
    return f"{pair.difference:+.4f}{bounds}".replace("-", "−")


def audit(
    data: Collection | PathLike | Sequence[PathLike],
    model: str | Encoder,
    factories: str | Sequence[str],
    *,
    metrics: Metrics = ("ndcg@10",),
    k: int = 10,
    similarity: Similarity = "cosine",
    exclude_self: bool = False,
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> Audit:
    """Find out what approximate indexes do to the metrics of a task.

    Args:
        data: A BEIR folder; or the files of the corpus, the queries and the qrels; or a Collection, see
            `load_data`.
        model: What encodes corpus and queries.
        factories: faiss factories, such as ``HNSW32`` or ``IVF256,PQ16(nprobe=8)``, or specs of a database.
        metrics: The metrics of the task.
        k: How many neighbours the recall counts.
        similarity: ``cosine``, ``dot`` or ``l2``.
        exclude_self: Leave out the item whose id is the query's; always so if the queries are items.
        alpha: The level at which a loss is called significant.
        bootstrap: The settings of the intervals.

    >>> from goldrank.data.collections.in_memory import collection_from
    >>> articles = [{"id": str(i), "text": f"wine {i}", "labels": [str(i // 2)]} for i in range(1, 9)]
    >>> result = audit(collection_from(articles), "random:8", "HNSW4", metrics="mrr", bootstrap=Bootstrap(200))
    >>> [audited.factory for audited in result.indexes]
    ['HNSW4']
    """
    if k < 1:
        raise InputError(f"k is {k}", remedy="count one neighbour or more")
    if isinstance(data, Collection):
        corpus, queries, gold = texts_of(data.items), texts_of(data.queries), Gold.from_columns(data.gold)
        exclude_self = exclude_self or data.related
    else:
        corpus, queries, gold = _read(data)
    encoder = load_encoder(model, corpus.texts)
    with live_vectors([encoder]):
        item_vectors, query_vectors = (
            encode_texts(encoder, corpus.texts, "item"),
            encode_texts(encoder, queries.texts, "query"),
        )
    return audit_vectors(
        item_vectors,
        corpus.ids,
        query_vectors,
        queries.ids,
        gold,
        [factories] if isinstance(factories, str) else factories,
        metrics=metrics,
        k=k,
        similarity=similarity,
        exclude_self=exclude_self,
        alpha=alpha,
        bootstrap=bootstrap,
    )


def _read(data: PathLike | Sequence[PathLike]) -> tuple[TextList, TextList, Gold]:
    paths: list[PathLike] = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    if len(paths) == 1:
        paths = [beir_file(paths[0], *names) for names in (("corpus.jsonl",), ("queries.jsonl",), _QRELS)]
    if len(paths) != 3:
        raise InputError(f"{len(paths)} files are given", remedy="give a BEIR folder, or CORPUS QUERIES QRELS")
    return read_texts(paths[0]), read_texts(paths[1]), Gold.read(paths[2])


def audit_vectors(
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
    """Search vectors with exact and approximate indexes, and compare the metrics query by query.

    Exact search is faiss's ``Flat``, so that its times are comparable with those of other faiss indexes. The times of a
    database include the round trip, and vectors that are already loaded there are not loaded again. Rankings are only
    as long as *k* and the metrics require (100 for a metric without a cutoff), because many indexes search more
    thoroughly for longer rankings. p-values are corrected by Holm over the indexes.

    Args:
        items, item_ids: the vectors of the corpus.
        queries, query_ids: the vectors of the queries; only those that the gold has are searched.
        gold: the relevant items.
        factories, metrics, k, similarity, exclude_self, alpha, bootstrap: as in `audit`.
    """
    parsed = parse_all(metrics or ("ndcg@10",))
    names = [_name(factory) for factory in factories]
    if not names:
        raise InputError("an audit needs at least one index", remedy="give one, such as --factory HNSW32")
    if repeated := find_duplicate(names):
        raise InputError(f"the index {names[repeated[0]]} is given twice", remedy="give each index once")
    judged = set(gold.queries)
    rows = [row for row, name in enumerate(query_ids) if name in judged]
    if not rows:
        raise InputError("no query is in the gold", remedy="check that both use the same query ids")
    vectors, judged_ids = np.asarray(queries, np.float32)[rows], [query_ids[row] for row in rows]
    depth = max([k, *(m.cutoff if isinstance(m.cutoff, int) else _DEFAULT_DEPTH for m in parsed)])

    corpus = frozenset(item_ids)

    def timed_build(factory: str) -> tuple[float, Index]:
        spec = factory if _is_spec(factory) else f"faiss:{factory}"
        return _timed(lambda: build(spec, items, item_ids, similarity))

    def search(index: Index) -> Run:
        return index.top_k(vectors, depth, query_ids=judged_ids, exclude_self=exclude_self)

    flat_seconds, flat = timed_build("Flat")
    exact_run = search(flat)
    exact_hits = exact_run.hits(gold, corpus=corpus)
    indexes, fastest = [], 0.0
    with Progress("auditing", total=len(names), unit="step") as progress:
        for name in names:
            seconds, index = timed_build(name)
            run = search(index)
            exact_rate, rate = (len(rows) / best for best in _alternating_times([flat, index], search))
            compared = compare_hits(
                {EXACT: exact_hits, name: run.hits(gold, corpus=corpus)},
                parsed,
                correction="none",
                alpha=alpha,
                bootstrap=bootstrap,
            )
            recalls = neighbour_recall(exact_run, run, k)
            (interval,) = bootstrap.intervals([stats.Sample(recalls)])
            scores, recall, cost = compared.scores[name], float(recalls.mean()), Cost(seconds, rate, _size(index))
            shown = index.spec if _is_spec(name) else name
            indexes.append(Audited(shown, scores, compared.pairs, recall, interval, cost, rate / exact_rate))
            fastest = max(fastest, exact_rate)
            progress.advance()
    cost = Cost(flat_seconds, fastest, _size(flat))
    scores = compared.scores[EXACT]
    return Audit(scores, cost, _corrected(indexes), k, depth, len(item_ids), len(rows), similarity, alpha)


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
    """Return, per query, the share of the exact top k that is in the run's top k.

    >>> neighbour_recall(Run({"q": {"a": 3, "b": 2, "c": 1}}), Run({"q": {"b": 3, "c": 2, "a": 1}}), 2)
    array([0.5])
    """
    approximate = run.to_dict()
    recalls = []
    for query, ranking in exact.to_dict().items():
        best = set(list(ranking)[:k])
        recalls.append(len(best & set(list(approximate.get(query, ()))[:k])) / len(best) if best else 1.0)
    return np.array(recalls)


def _timed(work: Callable[[], Value]) -> tuple[float, Value]:
    before = time.perf_counter()
    result = work()
    return time.perf_counter() - before, result


def _alternating_times(indexes: Sequence[Index], search: Callable[[Index], Run]) -> list[float]:
    """Return the best time of each index; they are searched alternately, so that other load slows all of them."""
    seconds: list[list[float]] = [[] for _ in indexes]
    while min(map(len, seconds)) < _MIN_ROUNDS or min(map(sum, seconds)) < _MIN_SECONDS:
        for times, index in zip(seconds, indexes, strict=True):
            # Without this a slow database would be searched a hundred times until faiss reaches _MIN_SECONDS.
            if len(times) >= _MIN_ROUNDS and sum(times) > _ENOUGH_SECONDS:
                continue
            times.append(_timed(lambda: search(index))[0])  # noqa: B023 - called at once
        if sum(map(sum, seconds)) > _MAX_SECONDS:
            break
    return [min(times) for times in seconds]


def _corrected(indexes: list[Audited]) -> list[Audited]:
    """Correct the p-values of each metric by Holm over the indexes."""
    p = np.array([[pair.p for pair in audited.pairs] for audited in indexes])
    adjusted = np.column_stack([stats.holm(column) for column in p.T])
    return [
        replace(
            audited,
            pairs=[replace(pair, adjusted=float(a)) for pair, a in zip(audited.pairs, row, strict=True)],
        )
        for audited, row in zip(indexes, adjusted, strict=True)
    ]
