"""Test the audit of an index: the loss of a weak index, no loss of an exact one, speed, size and verdict."""

import numpy as np
import pytest

from goldrank.analysis.audit import audit_vectors, neighbour_recall
from goldrank.errors import InputError
from goldrank.hits import Gold, Run

faiss = pytest.importorskip("faiss")
WEAK, FULL = "IVF32,Flat(nprobe=1)", "Flat"


def clustered(seed=0, clusters=40, size=40, dimension=16):
    """Return clustered items, and queries near their gold item: every index does badly on independent vectors."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(clusters, dimension))
    items = np.repeat(centres, size, axis=0) + 0.8 * rng.normal(size=(clusters * size, dimension))
    chosen = rng.choice(len(items), 150, replace=False)
    queries = items[chosen] + 0.5 * rng.normal(size=(len(chosen), dimension))
    gold = Gold({f"q{n}": {f"d{item}": 1} for n, item in enumerate(chosen)})
    return items, [f"d{i}" for i in range(len(items))], queries, [f"q{n}" for n in range(len(chosen))], gold


@pytest.fixture(scope="module")
def result():
    return audit_vectors(*clustered(), [WEAK, FULL, "IVF32,Flat(nprobe=32)"], metrics=["ndcg@10", "mrr"])


def test_a_weak_index_finds_fewer_neighbours_and_is_told_to_hurt(result):
    weak = result.indexes[0]
    assert weak.recall < 0.95
    assert weak.recall_interval.low <= weak.recall <= weak.recall_interval.high
    assert weak.pairs[0].difference < 0
    assert [pair.metric for pair in result.harm(weak)] == ["ndcg@10", "mrr"]
    assert result.verdicts()[0].startswith(f"{WEAK} hurts: ndcg@10 −0.")


def test_an_index_that_misses_nothing_is_told_not_to_hurt(result):
    for full, verdict in zip(result.indexes[1:], result.verdicts()[1:], strict=True):
        assert full.recall == 1
        assert [pair.difference for pair in full.pairs] == [0, 0]
        assert result.harm(full) == []
        assert "does not hurt: every metric is as with exact search" in verdict


def test_speed_size_and_build_time_are_measured(result):
    for audited in result.indexes:
        assert audited.speed > 0
        assert audited.cost.queries_per_second > 0
        assert audited.cost.build_seconds > 0
    assert result.cost.bytes >= 1600 * 16 * 4
    assert result.depth == 100  # mrr has no cutoff


def test_rankings_are_no_deeper_than_the_metric_needs():
    assert audit_vectors(*clustered(), [WEAK], k=5).depth == 10


def test_p_values_are_corrected_over_the_indexes(result):
    alone = audit_vectors(*clustered(), [WEAK], metrics=["ndcg@10", "mrr"])
    assert result.indexes[0].pairs[0].p == alone.indexes[0].pairs[0].p
    assert result.indexes[0].pairs[0].adjusted == pytest.approx(3 * alone.indexes[0].pairs[0].adjusted)


def test_recall_of_neighbours_is_counted_per_query():
    exact, run = Run({"q": {"a": 2, "b": 1}, "p": {"c": 2, "d": 1}}), Run({"q": {"b": 2, "a": 1}, "p": {"x": 1}})
    assert neighbour_recall(exact, run, 2).tolist() == [1, 0]
    assert neighbour_recall(exact, run, 1).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("factories", "query_prefix", "message"),
    [
        ([], "q", "an audit needs at least one index"),
        (["HNSW8", "faiss:HNSW8"], "q", "the index HNSW8 is given twice"),
        (["HNSW8"], "other", "no query is in the gold"),
        (["Foo"], "q", "faiss knows no index 'Foo'"),
    ],
)
def test_what_cannot_be_audited_is_refused(factories, query_prefix, message):
    items, ids, queries, names, gold = clustered()
    with pytest.raises(InputError, match=message):
        audit_vectors(items, ids, queries, [query_prefix + name[1:] for name in names], gold, factories)
