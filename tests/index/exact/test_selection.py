"""Top k loses no item to limits over blocks or integer scores, for all blocks, threads, ties and similarities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.index.exact import integer_selection, products
from goldrank.index.exact import search as exact_search
from goldrank.index.exact import selection as exact_selection
from goldrank.index.exact.index import exact_index
from goldrank.index.exact.search import search
from goldrank.index.exact.vectors import VectorTable
from goldrank.native import INTEGER_KERNELS
from native.vector_kinds import KINDS, close_rows, vectors


def reference(queries, items, similarity):
    wide_items, wide_queries = items.astype(np.float64), queries.astype(np.float64)
    if similarity == "l2":
        return -np.sqrt(np.square(wide_queries[:, None] - wide_items[None]).sum(axis=2))
    return wide_queries @ wide_items.T


PANELS = dict(INTEGER_KERNELS)


def engine(name):
    absent = pytest.mark.skipif(name not in PANELS, reason=f"not built, or this processor has no {name}")
    return pytest.param(name, marks=absent)


INTEGERS = [*map(engine, ("avx512-vnni", "avx-vnni", "avx2"))]
by_integers = pytest.mark.parametrize("product", INTEGERS, indirect=True)


@pytest.fixture(params=["blas", *INTEGERS], autouse=True)
def product(request, monkeypatch):
    """Run each test with each kind of product, in blocks so small that the limit rises many times."""
    kernels = [] if request.param == "blas" else [(request.param, PANELS[request.param])]
    monkeypatch.setattr(products, "INTEGER_KERNELS", kernels)
    monkeypatch.setattr(integer_selection, "_BLOCK_ELEMENTS", 64)
    monkeypatch.setattr(exact_selection, "_FIRST", 8)
    monkeypatch.setattr(exact_selection, "_FIRST_TIMES", 1)
    monkeypatch.setattr(exact_selection, "_BLOCK_ELEMENTS", 64)
    return request.param


@pytest.mark.parametrize("similarity", ["dot", "l2"])
@pytest.mark.parametrize("threads", [1, 2])
@given(seed=st.integers(0, 2**32), k=st.integers(1, 60), coarse=st.booleans())
def test_the_best_k_are_those_of_all_float64_scores(similarity, threads, seed, k, coarse):
    rng = np.random.default_rng(seed)
    items, queries = rng.standard_normal((900, 6)), rng.standard_normal((3, 6))
    if coarse:
        # With few different scores there are ties at the cutoff, which the ids break.
        items, queries = np.rint(items), np.rint(queries)
    items, queries = items.astype(np.float32), queries.astype(np.float32)
    ids = [f"d{number}" for number in range(len(items))]
    run = exact_index(items, ids, similarity, threads=threads).top_k(queries, k)
    for row, scores in enumerate(reference(queries, items, similarity)):
        best = sorted(zip(scores.round(9).tolist(), ids, strict=True), reverse=True)[:k]
        ranked = run[str(row)]
        np.testing.assert_allclose(list(ranked.values()), [score for score, _ in best], atol=1e-6)
        if coarse:
            assert list(ranked) == [name for _, name in best]


def hard_vectors(kind, rng):
    if kind == "close":
        items = close_rows(1200, 24, rng)
    elif kind == "equal":
        items = np.full((1200, 24), 0.1, np.float32)
    elif kind == "twice":
        items = np.repeat(rng.standard_normal((300, 24)), 4, axis=0).astype(np.float32)
    else:
        items = vectors(kind, 1200, 24, rng)
    return items, np.concatenate(
        [np.ones((1, 24), np.float32), items[:30], -items[30:40], np.zeros((2, 24), np.float32)]
    )


@by_integers
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("kind", ["close", "equal", "twice", *KINDS])
def test_the_best_k_and_their_scores_do_not_depend_on_the_product(similarity, kind, monkeypatch):
    items, queries = hard_vectors(kind, np.random.default_rng(4))
    ids = [f"d{number % 7}-{number}" for number in range(len(items))]

    def best(k, threads, part):
        index = exact_index(items, ids, similarity, threads=threads)
        # The second search reuses the integers of the first.
        runs = [index.top_k(queries[part], k, exclude_self=False) for _ in range(2)]
        assert runs[0].to_dict() == runs[1].to_dict()
        return [list(ranked.items()) for ranked in runs[0].to_dict().values()]

    cases = [(k, threads, part) for k, threads in ((1, 1), (10, 2), (300, 1)) for part in (slice(0, 1), slice(None))]
    ours = [best(*case) for case in cases]
    monkeypatch.setattr(products, "INTEGER_KERNELS", [])
    assert ours == [best(*case) for case in cases]


@pytest.mark.parametrize("squared", [False, True])
def test_items_below_the_least_score_may_be_left_out_but_no_others(squared):
    rng = np.random.default_rng(8)
    items, queries = rng.standard_normal((900, 6), np.float32), rng.standard_normal((80, 6), np.float32)
    tables = [VectorTable(rows, "rows", normalise=False) for rows in (queries, items)]
    lengths = tables[1].check(1)
    everything = list(search(*tables, lengths, 20, squared=squared, threads=1))
    # The least scores range from none to one that no item reaches.
    least = np.array(
        [
            [-np.inf, scores[19], scores[5], scores[0], scores[0] / 2 + 1][q % 5]
            for q, (_, scores) in enumerate(everything)
        ]
    )
    for query, (numbers, scores) in enumerate(search(*tables, lengths, 20, squared=squared, threads=1, least=least)):
        wanted = everything[query][1] >= least[query]
        reached = scores >= least[query]
        assert numbers[reached].tolist() == everything[query][0][wanted].tolist()
        assert scores[reached].tolist() == everything[query][1][wanted].tolist()


@by_integers
def test_many_integers_are_not_kept(monkeypatch):
    items, queries = hard_vectors("normal", np.random.default_rng(4))
    index = exact_index(items, similarity="cosine")
    expected = index.top_k(queries, 5).to_dict()
    assert len(index._integers._kept) == len(index._integers.starts)
    monkeypatch.setattr(integer_selection, "_KEPT_BYTES", 2 * items.size - 1)
    index = exact_index(items, similarity="cosine")
    assert index.top_k(queries, 5).to_dict() == expected
    assert not index._integers._kept


def test_few_queries_at_a_time_are_searched_where_many_candidates_are_wanted(product, monkeypatch):
    items, queries = hard_vectors("twice", np.random.default_rng(4))
    expected = exact_index(items).top_k(queries, 50).to_dict()
    monkeypatch.setattr(exact_search, "_ENTRIES", 1000)
    assert exact_index(items).top_k(queries, 50).to_dict() == expected


def test_an_index_is_searched_in_two_precisions(product):
    items, queries = hard_vectors("normal", np.random.default_rng(4))
    index = exact_index(items, similarity="cosine")
    narrow = index.top_k(queries, 5)
    wide = exact_index(items, similarity="cosine").top_k(queries.astype(np.float64), 5).to_dict()
    assert index.top_k(queries.astype(np.float64), 5).to_dict() == wide
    assert index.top_k(queries, 5).to_dict() == narrow.to_dict()


@by_integers
def test_integers_of_a_mapped_file_are_not_kept(tmp_path):
    items, queries = hard_vectors("normal", np.random.default_rng(4))
    np.save(tmp_path / "items.npy", items)
    mapped = exact_index(np.load(tmp_path / "items.npy", mmap_mode="r"), similarity="dot")
    assert mapped.top_k(queries, 5).to_dict() == exact_index(items, similarity="dot").top_k(queries, 5).to_dict()
    assert not mapped._integers._kept
