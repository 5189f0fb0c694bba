"""The faiss index: results equal to exact search where it is exact, order, ids, and errors in one sentence."""

import sys

import numpy as np
import pytest

from goldrank.errors import GoldrankError, InputError
from goldrank.hits import Gold
from goldrank.index import faiss_index
from goldrank.index.base import Index, build
from goldrank.index.faiss_index import Factory, FaissIndex

faiss = pytest.importorskip("faiss")
SIMILARITIES = ["cosine", "dot", "l2"]


def vectors(count, dimension=16, seed=0):
    return np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)


def scores_by_hand(queries, items, similarity):
    q, x = queries.astype(np.float64), items.astype(np.float64)
    if similarity == "l2":
        return -np.sqrt(((q[:, None] - x[None]) ** 2).sum(-1))
    if similarity == "cosine":
        q, x = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (q, x))
    return q @ x.T


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_flat_finds_the_true_top_k_with_scores_that_grow_with_likeness(similarity):
    items, queries = vectors(500), vectors(20, seed=1)
    run = FaissIndex.build("Flat", items, None, similarity).top_k(queries, 10)
    truth = scores_by_hand(queries, items, similarity)
    for number, query in enumerate(run.queries):
        best = np.argsort(-truth[number])[:10]
        assert set(run[query]) == set(map(str, best))
        scores = list(run[query].values())
        assert scores == sorted(scores, reverse=True)
        np.testing.assert_allclose(scores, truth[number][best], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_flat_and_the_exact_index_agree_on_the_set(similarity):
    pytest.importorskip("goldrank.index.exact.index")
    items, queries = vectors(300), vectors(15, seed=1)
    flat, exact = (build(spec, items, None, similarity).top_k(queries, 7) for spec in ("faiss:Flat", "exact"))
    assert {q: set(flat[q]) for q in flat} == {q: set(exact[q]) for q in exact}


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_flat_knows_exact_ranks_and_an_approximate_index_says_why_it_does_not(similarity):
    pytest.importorskip("goldrank.index.exact.index")
    items, queries = vectors(200), vectors(5, seed=1)
    gold = Gold({str(q): {"7": 1, "50": 1} for q in range(5)})
    hits = FaissIndex.build("Flat", items, None, similarity).exact_hits(queries, gold)
    truth = scores_by_hand(queries, items, similarity)
    assert hits.above.tolist() == [(row > row[i]).sum() for row in truth for i in (7, 50)]
    with pytest.raises(InputError, match=r"approximate and finds only its top k.*exact"):
        FaissIndex.build("HNSW8", items).exact_hits(queries, gold)


@pytest.mark.parametrize("factory", ["HNSW16", "IVF8,Flat(nprobe=4)", "IVF4,PQ4x4(nprobe=4)", "PQ4x4fs,RFlat", "SQ8"])
def test_two_builds_of_one_index_give_the_same_run(factory):
    items, queries = vectors(400), vectors(10, seed=1)
    first, second = (FaissIndex.build(factory, items).top_k(queries, 10) for _ in range(2))
    assert first == second


def test_search_parameters_of_the_spec_are_in_force():
    items = vectors(400)
    one_probe, all_probes = (FaissIndex.build(f"IVF16,Flat(nprobe={n})", items) for n in (1, 16))
    assert (one_probe.faiss_index.nprobe, all_probes.faiss_index.nprobe) == (1, 16)
    assert FaissIndex.build("HNSW8( efSearch = 77 )", items).faiss_index.hnsw.efSearch == 77
    exact = FaissIndex.build("Flat", items).top_k(items[:20], 10)
    assert {q: set(r) for q, r in all_probes.top_k(items[:20], 10).to_dict().items()} == {
        q: set(exact[q]) for q in exact
    }


def test_the_spec_of_an_index_builds_the_same_index():
    index = build("faiss:IVF4,Flat(nprobe=2)", vectors(100))
    assert isinstance(index, Index)
    assert index.spec == "faiss:IVF4,Flat(nprobe=2)"
    assert (index.count, index.dimension, index.similarity) == (100, 16, "cosine")
    assert str(Factory.parse(index.spec)) == "IVF4,Flat(nprobe=2)"


def test_a_query_is_left_out_by_its_id_and_k_others_remain():
    items = vectors(50)
    names = [f"d{i}" for i in range(50)]
    index = FaissIndex.build("Flat", items, names)
    run = index.top_k(items[:5], 3, query_ids=["d0", "d1", "d2", "d3", "elsewhere"], exclude_self=True)
    assert all(query not in run[query] and len(run[query]) == 3 for query in run)
    assert "d4" in run["elsewhere"]


def test_equal_scores_come_by_descending_id():
    index = FaissIndex.build("Flat", np.ones((4, 3)), ["b", "é", "a", "z"])
    assert list(index.top_k([[1, 1, 1]], 4)["0"]) == ["é", "z", "b", "a"]


def test_a_tie_with_the_query_itself_does_not_take_another_item_out():
    index = FaissIndex.build("Flat", np.ones((4, 3)), ["b", "c", "a", "z"])
    run = index.top_k([[1, 1, 1]], 4, query_ids=["b"], exclude_self=True)
    assert list(run["b"]) == ["z", "c", "a"]


def test_places_that_faiss_leaves_empty_are_left_out():
    index = FaissIndex.build("IVF16,Flat(nprobe=1)", vectors(400))
    run = index.top_k(vectors(5, seed=1), 300)
    assert all(0 < len(run[query]) < 300 for query in run)
    assert len(FaissIndex.build("Flat", vectors(3)).top_k(vectors(1), 10)["0"]) == 3


def test_cosine_of_equal_vectors_never_exceeds_one():
    items = vectors(500, 384)
    run = FaissIndex.build("Flat", items).top_k(items, 1)
    assert max(run.columns.values) <= 1.0


def test_a_zero_vector_is_like_nothing():
    run = FaissIndex.build("Flat", [[0, 0], [1, 0], [-1, 0]]).top_k([[1, 0]], 3)
    assert run["0"] == {"1": 1.0, "0": 0.0, "2": -1.0}


@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_answer_does_not_depend_on_how_queries_are_batched(size, monkeypatch):
    index, queries = FaissIndex.build("Flat", vectors(300)), vectors(64, seed=1)
    whole = index.top_k(queries, 5)
    monkeypatch.setattr(faiss_index, "_QUERY_BLOCK", size)
    parts = index.top_k(queries, 5)
    assert {q: set(whole[q]) for q in whole} == {q: set(parts[q]) for q in parts}


def test_the_thresholds_of_faiss_are_set_during_a_search_and_restored_after(monkeypatch):
    before = {name: getattr(faiss.cvar, name) for name in faiss_index._TUNED}
    values = []
    index = FaissIndex.build("Flat", vectors(10))

    class Spy:
        d, ntotal = index.faiss_index.d, index.faiss_index.ntotal

        def search(self, block, k):
            values.append({name: getattr(faiss.cvar, name) for name in faiss_index._TUNED})
            raise RuntimeError("Error in void f() at /x/f.cpp:1: something")

    index.faiss_index = Spy()
    with pytest.raises(InputError, match=r"faiss cannot build or search Flat \(something\)"):
        index.top_k(vectors(2), 1)
    assert values == [faiss_index._TUNED]
    assert {name: getattr(faiss.cvar, name) for name in before} == before


def test_an_index_moves_to_the_gpus_where_faiss_sees_some(monkeypatch):
    index = FaissIndex.build("IVF4,Flat(nprobe=3)", vectors(100))
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1, raising=False)
    monkeypatch.setattr(faiss, "index_cpu_to_all_gpus", faiss.clone_index, raising=False)
    gpu_index = index.on_gpu()
    assert gpu_index.faiss_index is not index.faiss_index
    assert gpu_index.top_k(vectors(5, seed=1), 3) == index.top_k(vectors(5, seed=1), 3)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 0)
    with pytest.raises(InputError, match="sees no GPU"):
        index.on_gpu()


def test_the_size_is_that_of_the_file(tmp_path):
    index = FaissIndex.build("HNSW8", vectors(100))
    faiss.write_index(index.faiss_index, str(tmp_path / "x"))
    assert index.size == (tmp_path / "x").stat().st_size


ERRORS = {
    "unknown factory": ("Flatt", {}, r"faiss knows no index 'Flatt'; write a factory such as Flat"),
    "empty factory": ("", {}, r"faiss knows no index ''"),
    "wrong dimension": ("PQ5", {}, r"'PQ5' for 16 dimensions \(.*multiple of the number of subquantizers"),
    "too few for IVF": (
        "IVF512,Flat",
        {},
        r"trained on 512 vectors or more, and there are 100; use IVF2",
    ),
    "too few for PQ": ("PQ4", {}, r"256 vectors or more, and there are 100; use an index without PQ"),
    "unknown parameter": ("Flat(nprobe=3)", {}, r"the index Flat\(nprobe=3\) has no search parameter 'nprobe'"),
    "unknown similarity": ("Flat", {"similarity": "cosin"}, "no similarity 'cosin'; use one of cosine, dot, l2"),
    "ids too few": ("Flat", {"ids": ["a"]}, "1 ids for 100 item vectors"),
    "ids twice": ("Flat", {"ids": ["a", "b"] * 50}, "the item id 'a' is given twice"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_what_cannot_be_built_is_said_in_one_sentence(case):
    factory, options, message = ERRORS[case]
    with pytest.raises(InputError, match=message) as caught:
        FaissIndex.build(factory, vectors(100), **options)
    assert "\n" not in str(caught.value)
    assert ".cpp" not in str(caught.value)


@pytest.mark.parametrize(
    ("queries", "k", "message"),
    [
        (np.ones((1, 3)), 1, "3 dimensions, the index has 16"),
        (np.ones(16), 1, r"the shape \(16,\)"),
        (np.full((1, 16), np.nan), 1, "query 0 .* not finite"),
        (np.ones((1, 16)), 0, "k is 0"),
        ([[1.0], [1.0, 2.0]], 1, "not a matrix"),
    ],
)
def test_what_cannot_be_searched_is_refused(queries, k, message):
    with pytest.raises(InputError, match=message):
        FaissIndex.build("Flat", vectors(10)).top_k(queries, k)


def test_vectors_that_are_not_finite_and_no_vectors_are_refused():
    bad = vectors(100)
    bad[42, 3] = np.inf
    with pytest.raises(InputError, match=r"item 42 .* not finite"):
        FaissIndex.build("Flat", bad)
    with pytest.raises(InputError, match="no items"):
        FaissIndex.build("Flat", np.zeros((0, 4)))
    with pytest.raises(InputError, match="no kind of index 'annoy'"):
        build("annoy", bad)


def test_without_faiss_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(GoldrankError, match=r"needs faiss, .*pip install 'goldrank\[models\]'"):
        build("faiss:Flat", vectors(3))


def test_sparse_vectors_are_refused_by_every_index():
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(np.eye(4))
    for spec in ("exact", "faiss:Flat"):
        with pytest.raises(InputError, match="sparse, which this index cannot hold"):
            build(spec, sparse)


def test_a_factory_that_is_no_text_for_faiss_is_refused():
    vectors = np.ones((3, 4), np.float32)
    for factory in ("Flat\ud800", "Fl\0at"):
        with pytest.raises(InputError, match=r"faiss (cannot make|knows no index)"):
            FaissIndex.build(factory, vectors, ["a", "b", "c"])
