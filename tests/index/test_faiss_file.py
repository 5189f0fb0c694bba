"""Files of faiss.write_index: the tutorial's index.bin, all kinds of ids, both metrics, and damaged files."""

import random
import sys

import numpy as np
import pytest

import goldrank as gr
from goldrank.index import faiss_file
from goldrank.index.folder import write_index

faiss = pytest.importorskip("faiss")
LABELS = np.arange(300) * 3 + 1000


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)


def write(path, factory, vectors, metric=faiss.METRIC_INNER_PRODUCT, labels=None):
    index = faiss.index_factory(vectors.shape[1], factory, metric)
    index.train(vectors)
    index.add(vectors) if labels is None else index.add_with_ids(vectors, labels)
    faiss.write_index(index, str(path))
    return index


def test_the_cells_of_the_tutorial_and_goldrank_find_the_same(tmp_path, vectors):
    faiss.normalize_L2(vectors)
    path = str(tmp_path / "index.bin")
    index = write(path, "Flat", vectors)
    dists, ids = index.search(vectors[:5], k=3)
    opened = gr.open_index(path)
    assert opened.describe() == {
        "index": "faiss:Flat",
        "similarity": "dot",
        "dimension": 16,
        "count": 300,
        "trained": True,
        "ids": "counted from 0",
        "size": (tmp_path / "index.bin").stat().st_size,
    }
    run = opened.search(vectors[:5], 3)
    assert run == gr.Run((dists, ids))
    assert gr.score([[row] for row in range(5)], run, "mrr")["mrr"].mean == 1.0


@pytest.mark.parametrize(
    "factory", ["Flat", "HNSW8", "IVF4,Flat", "IVF4,PQ4x4", "PCA8,SQ8", "PQ4x4fs,RFlat", "NSG8,Flat"]
)
@pytest.mark.parametrize("metric", ["METRIC_INNER_PRODUCT", "METRIC_L2"])
def test_every_factory_answers_as_faiss_does_with_a_higher_score_for_the_better(tmp_path, vectors, factory, metric):
    index = write(tmp_path / "x", factory, vectors, getattr(faiss, metric))
    expected = index.search(vectors[:9], 5)
    opened = gr.open_index(tmp_path / "x")
    assert opened.index.similarity == {"METRIC_INNER_PRODUCT": "dot", "METRIC_L2": "l2"}[metric]
    run = opened.search(vectors[:9], 5)
    for query, (scores, labels) in enumerate(zip(*expected, strict=True)):
        ranking = run[str(query)]
        assert set(ranking) == {str(label) for label in labels if label >= 0}
        signed = scores if metric == "METRIC_INNER_PRODUCT" else -np.sqrt(np.maximum(scores, 0))
        np.testing.assert_allclose(list(ranking.values()), signed[labels >= 0], rtol=1e-5)


@pytest.mark.parametrize(
    "factory", ["IDMap,Flat", "IDMap2,HNSW8", "IVF4,Flat", "PCA8,IVF4,Flat", "PCA8,IDMap,Flat", "IDMap,PCA8,Flat"]
)
def test_ids_that_the_index_holds_are_the_ids(tmp_path, vectors, factory):
    shuffled = np.random.default_rng(1).permutation(LABELS)
    index = write(tmp_path / "x", factory, vectors, faiss.METRIC_L2, shuffled)
    opened = gr.open_index(tmp_path / "x")
    assert opened.ids_from == "held by the index"
    assert sorted(opened.ids) == sorted(map(str, LABELS))
    run, (_, labels) = opened.search(vectors[:9], 4), index.search(vectors[:9], 4)
    assert [set(run[query]) for query in run] == [set(map(str, row)) for row in labels.tolist()]
    own = opened.search(vectors[:9], 1, query_ids=[str(label) for label in shuffled[:9]], exclude_self=True)
    assert all(query not in own[query] and len(own[query]) == 1 for query in own)
    with pytest.raises(gr.InputError, match=r"the index holds ids of its own, such as \d+; leave the given ids out"):
        gr.open_index(tmp_path / "x", ids=[str(n) for n in range(300)])


@pytest.mark.parametrize("given", ["list", "integers", "array", "file"])
def test_given_ids_name_the_vectors_in_their_order(tmp_path, vectors, given):
    write(tmp_path / "x", "IVF4,Flat", vectors)
    names = [f"d{n}" for n in range(300)] if given in ("list", "file") else list(range(7, 307))
    (tmp_path / "ids.txt").write_text("".join(f"{name}\r\n" for name in names))
    ids = {"file": tmp_path / "ids.txt", "array": np.array(names)}.get(given, names)
    opened = gr.open_index(tmp_path / "x", ids=ids)
    assert opened.ids == [str(name) for name in names]
    assert opened.ids_from == (str(tmp_path / "ids.txt") if given == "file" else "given")
    run, counted = opened.search(vectors[:5], 2), gr.open_index(tmp_path / "x").search(vectors[:5], 2)
    assert [list(run[q]) for q in run] == [[str(names[int(n)]) for n in counted[q]] for q in counted]


def test_lists_that_lie_in_another_file_are_opened_for_reading_only(tmp_path, vectors):
    index = faiss.index_factory(16, "IVF4,Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    lists = faiss.OnDiskInvertedLists(index.nlist, index.code_size, str(tmp_path / "lists.ivfdata"))
    index.replace_invlists(lists)
    index.add(vectors)
    faiss.write_index(index, str(tmp_path / "x"))
    before = (tmp_path / "lists.ivfdata").read_bytes()
    opened = gr.open_index(tmp_path / "x")
    assert opened.search(vectors[:5], 3) == gr.Run(index.search(vectors[:5], 3))
    assert faiss.downcast_InvertedLists(opened.index.faiss_index.invlists).read_only
    assert (tmp_path / "lists.ivfdata").read_bytes() == before


def test_a_large_flat_file_is_mapped_and_searches_alike(tmp_path, vectors, monkeypatch):
    write(tmp_path / "x", "Flat", vectors)
    plain = gr.open_index(tmp_path / "x").search(vectors[:9], 3)
    monkeypatch.setattr(faiss_file, "MAP_FROM", 0)
    assert gr.open_index(tmp_path / "x").search(vectors[:9], 3) == plain
    (tmp_path / "short").write_bytes((tmp_path / "x").read_bytes()[:-10])
    with pytest.raises(gr.InputError, match="short: faiss cannot read the file"):
        gr.open_index(tmp_path / "short")


@pytest.mark.parametrize("factory", ["Flat", "IDMap,Flat"])
def test_a_flat_file_knows_exact_ranks(tmp_path, vectors, factory):
    write(tmp_path / "x", factory, vectors, labels=np.arange(300) if "IDMap" in factory else None)
    opened = gr.open_index(tmp_path / "x")
    hits = opened.index.exact_hits(vectors[:3], gr.Gold([[5], [6], [7]]))
    products = vectors[:3].astype(float) @ vectors.T.astype(float)
    assert hits.above.tolist() == [int((row > row[item]).sum()) for row, item in zip(products, (5, 6, 7), strict=True)]


NEITHER = "neither an index folder nor a file of faiss; give what goldrank index build or faiss.write_index wrote"
FOREIGN = {
    "empty": (b"", NEITHER),
    "text": (b"id\ttext\n", NEITHER),
    "truncated": (None, "faiss cannot read the file (read error in"),
    "noise": (b"IxFI" + bytes(range(255, 0, -1)), "faiss cannot read the file"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_files_that_faiss_did_not_write_are_refused_in_one_sentence(tmp_path, vectors, case):
    content, message = FOREIGN[case]
    write(tmp_path / "x", "Flat", vectors)
    (tmp_path / "y").write_bytes((tmp_path / "x").read_bytes()[:-7] if content is None else content)
    with pytest.raises(gr.InputError) as caught:
        gr.open_index(tmp_path / "y")
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'y'}: ")
    assert "\n" not in str(caught.value)


def test_binary_indexes_and_other_metrics_are_refused(tmp_path, vectors):
    binary = faiss.IndexBinaryFlat(128)
    binary.add(np.zeros((3, 16), np.uint8))
    faiss.write_index_binary(binary, str(tmp_path / "b"))
    with pytest.raises(
        gr.InputError, match=r"the file holds a binary index, which compares bits; give an index of float"
    ):
        gr.open_index(tmp_path / "b")
    write(tmp_path / "l1", "Flat", vectors, faiss.METRIC_L1)
    with pytest.raises(
        gr.InputError, match=r"the metric of the index is METRIC_L1; goldrank searches indexes of METRIC_I"
    ):
        gr.open_index(tmp_path / "l1")


def test_what_does_not_apply_is_an_error(tmp_path, vectors):
    write(tmp_path / "x", "Flat", vectors)
    opened = gr.open_index(tmp_path / "x")
    for call, message in (
        (
            lambda: gr.open_index(tmp_path / "x", verify=True),
            "a faiss file has no checksums to verify; leave verify out",
        ),
        (
            lambda: opened.search(np.ones((1, 3)), 1),
            "the query vectors have 3 dimensions, the index has 16; encode both",
        ),
        (opened.model, "a faiss file does not say which model made its vectors; name it with -m"),
        (
            lambda: gr.open_index(tmp_path / "x", ids=["a"]),
            "there are 1 ids for 300 item vectors; give one id per vector",
        ),
        (
            lambda: gr.open_index(tmp_path / "z"),
            "there is no such folder or file; build one with: goldrank index build",
        ),
    ):
        with pytest.raises(gr.InputError) as caught:
            call()
        assert message in str(caught.value)
    (tmp_path / "ids.txt").write_text("a\nb\n")
    with pytest.raises(gr.InputError, match=r"ids.txt: the file holds 2 ids for 300 vectors; write one id per line"):
        gr.open_index(tmp_path / "x", ids=tmp_path / "ids.txt")
    write_index(tmp_path / "folder", "faiss:Flat", vectors, [str(n) for n in range(300)])
    with pytest.raises(gr.InputError, match="an index folder holds its ids; leave the given ids out"):
        gr.open_index(tmp_path / "folder", ids=["a"])


def test_an_empty_index_can_be_described_and_not_searched(tmp_path):
    faiss.write_index(faiss.IndexFlatIP(4), str(tmp_path / "x"))
    opened = gr.open_index(tmp_path / "x")
    assert opened.describe()["count"] == 0
    with pytest.raises(gr.InputError, match="the index holds no vectors"):
        opened.search(np.ones((1, 4)), 1)


def test_vectors_that_are_not_finite_give_no_run(tmp_path, vectors):
    vectors[7] = np.inf
    write(tmp_path / "x", "Flat", vectors)
    with pytest.raises(gr.InputError, match="the index holds vectors that are not finite"):
        gr.open_index(tmp_path / "x").search(np.ones((1, 16)), 3)


@pytest.mark.parametrize("factory", ["Flat", "IVF4,Flat", "IDMap,Flat", "IVF4,PQ4x4"])
def test_damaged_headers_give_a_sentence_or_a_run_and_never_another_error(tmp_path, vectors, factory):
    write(tmp_path / "x", factory, vectors, labels=LABELS if "IDMap" in factory else None)
    good = (tmp_path / "x").read_bytes()
    draw = random.Random(15)
    messages = []
    for _ in range(60):
        data = bytearray(good)
        start, width = draw.randrange(4, 120), draw.choice([1, 4, 8])
        data[start : start + width] = bytes(draw.choice([0, 255, draw.randrange(256)]) for _ in range(width))
        (tmp_path / "y").write_bytes(data)
        try:
            opened = gr.open_index(tmp_path / "y")
            opened.search(np.ones((1, opened.index.dimension)), 3)
        except gr.InputError as error:
            messages.append(str(error))
    assert len(messages) > 10
    assert not any("\n" in message for message in messages)


def test_the_memory_limit_of_faiss_is_restored(tmp_path, vectors):
    if not hasattr(faiss, "get_deserialization_vector_byte_limit"):
        pytest.skip("this faiss has no such limit")
    before = faiss.get_deserialization_vector_byte_limit()
    write(tmp_path / "x", "Flat", vectors)
    gr.open_index(tmp_path / "x")
    assert faiss.get_deserialization_vector_byte_limit() == before


def test_without_faiss_the_message_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"IxFI")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(
        gr.GoldrankError, match=r"needs faiss, which is not installed; run: pip install 'goldrank\[models\]'"
    ):
        gr.open_index(tmp_path / "x")
