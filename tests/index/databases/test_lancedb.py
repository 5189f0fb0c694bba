"""LanceDB: search equal to exact search, a table for each index, and loads that fail as a whole."""

import shutil
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from goldrank.analysis.audit import audit_vectors
from goldrank.cli.main import main
from goldrank.errors import GoldrankError, InputError, MissingExtraError
from goldrank.hits import Gold
from goldrank.index.base import Index, build, drop
from goldrank.index.databases import lancedb as lancedb_index
from goldrank.index.databases.lancedb import KINDS, LanceTarget, read_spec
from vector_servers import clustered, load_and_be_killed, recall, same_sets, small_disk  # noqa: F401 - fixture

# The tests import the package themselves, because importing it takes seconds in every process that collects tests.
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(find_spec("lancedb") is None, reason="the lancedb index needs the package lancedb"),
]
SIMILARITIES = ["cosine", "dot", "l2"]
ITEMS, QUERIES = clustered(1500, 16), clustered(20, 16, seed=1)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_exact_search_finds_what_ours_finds_with_the_same_scores(tmp_path, similarity):
    ours = build("exact", ITEMS, None, similarity).top_k(QUERIES, 10)
    theirs = build(f"lancedb:{tmp_path}/items", ITEMS, None, similarity).top_k(QUERIES, 10)
    assert same_sets(ours, theirs)
    for query in ours:
        np.testing.assert_allclose(list(theirs[query].values()), list(ours[query].values()), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "exact"])
def test_every_kind_of_index_is_built_used_and_refined(tmp_path, kind):
    truth = build("exact", ITEMS).top_k(QUERIES, 10)
    size = build(f"lancedb:{tmp_path}/items", ITEMS).size
    options = f"index={kind},num_partitions=4,nprobes=4" + (",m=8,ef_construction=50" if "hnsw" in kind else "")
    index = build(f"lancedb:{tmp_path}/items({options})", ITEMS)
    assert index.size > size
    assert len(index.table.list_indices()) == 1
    refined = build(f"lancedb:{tmp_path}/items({options},refine_factor=20)", ITEMS)
    assert refined.table.name == index.table.name  # search options are not part of the build
    assert recall(refined.top_k(QUERIES, 10), truth) > 0.9
    assert recall(refined.top_k(QUERIES, 10), truth) >= recall(index.top_k(QUERIES, 10), truth)


def test_an_audit_tells_the_difference_with_interval_speed_and_size(tmp_path):
    gold = Gold({f"q{n}": {str(item): 1} for n, item in enumerate(range(0, 1500, 15))})
    queries = ITEMS[::15] + 0.3 * clustered(100, 16, seed=5)
    audit = audit_vectors(
        ITEMS, [str(n) for n in range(1500)], queries, [f"q{n}" for n in range(100)], gold,
        [f"lancedb:{tmp_path}/items(index=ivf_flat,num_partitions=30,nprobes=1)", f"lancedb:{tmp_path}/items"],
    )  # fmt: skip
    weak, exact = audit.indexes
    assert weak.recall < exact.recall == 1
    assert weak.pairs[0].interval.low <= weak.pairs[0].difference <= weak.pairs[0].interval.high
    assert weak.speed > 0
    assert weak.cost.bytes > exact.cost.bytes > ITEMS.nbytes


def test_the_spec_of_an_index_builds_the_same_index(tmp_path):
    index = build(f"lancedb:{tmp_path}/again(index=hnsw_sq,ef=50)", ITEMS, [f"d{n}" for n in range(1500)])
    assert isinstance(index, Index)
    assert index.spec == f"lancedb:{tmp_path}/again(index=hnsw_sq,m=20,ef_construction=300,ef=50)"
    assert (index.count, index.dimension, index.similarity) == (1500, 16, "cosine")
    other = build(index.spec, ITEMS, [f"d{n}" for n in range(1500)])
    assert other.top_k(QUERIES, 5) == index.top_k(QUERIES, 5)


def test_a_query_is_left_out_by_its_id_and_ranks_are_refused(tmp_path):
    names = [f"d{n}" for n in range(50)]
    index = build(f"lancedb:{tmp_path}/items", ITEMS[:50], names)
    run = index.top_k(ITEMS[:5], 7, query_ids=names[:5], exclude_self=True)
    assert all(name not in run[name] and len(run[name]) == 7 for name in names[:5])
    with pytest.raises(InputError, match="only supports top-k search"):
        index.exact_hits(QUERIES, Gold({"0": {"d7": 1}}))
    with pytest.raises(InputError, match="3 dimensions, the index has 16"):
        index.top_k(np.ones((1, 3)), 1)
    for zeros in (lambda: index.top_k(np.zeros((1, 16)), 1), lambda: build(index.spec, np.zeros((1, 16)))):
        with pytest.raises(InputError, match="all zeros, and LanceDB has no cosine"):
            zeros()


def test_an_identical_load_is_used_again_and_others_are_refused(tmp_path, capsys, monkeypatch):
    import lancedb

    spec = f"lancedb:{tmp_path}/items"
    index = build(spec, ITEMS)
    before = index.table.version
    assert build(spec, ITEMS, similarity="l2").table.version == before
    with pytest.raises(InputError, match=r"1500 other items of 16 dimensions are loaded there; .*index drop"):
        build(spec, ITEMS[:9])
    index.table.delete("id = '7'")
    with pytest.raises(InputError, match="1500 items were loaded and 1499 are there now"):
        build(spec, ITEMS)
    build(f"{spec}(index=ivf_flat)", ITEMS)
    monkeypatch.setattr(lancedb_index, "_LISTED_AT_ONCE", 2)
    lancedb.connect(tmp_path).create_table("items-theirs", [{"x": 1}])
    lancedb.connect(tmp_path).create_table("theirs", [{"x": 1}])
    with pytest.raises(InputError, match="the table exists, and goldrank did not load it"):
        build(f"lancedb:{tmp_path}/theirs", ITEMS)
    assert main(["index", "drop", spec]) == 0
    assert capsys.readouterr().out.startswith("Dropped items, items-")
    assert drop(spec) == drop(f"lancedb:{tmp_path}/theirs") == []
    assert lancedb.connect(tmp_path).list_tables().tables == ["items-theirs", "theirs"]


def test_what_a_killed_loader_left_is_no_table_and_the_next_load_is_whole(tmp_path):
    spec, items = f"lancedb:{tmp_path}/db/items", clustered(40000, 16)
    load_and_be_killed("lancedb", "LancedbIndex", spec, items, tmp_path)
    assert build(spec, items).count == 40000
    assert same_sets(build(spec, items).top_k(QUERIES, 5), build("exact", items).top_k(QUERIES, 5))


def test_a_full_disk_is_said_and_nothing_is_trusted(small_disk, tmp_path):  # noqa: F811
    items = clustered(8000, 512)
    for _ in range(2):
        with pytest.raises(GoldrankError, match="there is no space left; make space and run it again"):
            build(f"lancedb:{small_disk}/db/items", items)
    shutil.copytree(small_disk / "db", tmp_path / "db")
    assert build(f"lancedb:{tmp_path}/db/items", items).count == 8000


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lancedb:items", "is not the name of a table of LanceDB; write lancedb:folder/table"),
        ("lancedb:folder/it ems", "is not the name of a table of LanceDB"),
        ("lancedb:folder/items(index=ivf)", "no lancedb index 'ivf'"),
        ("lancedb:folder/items(nprobes=3)", "no option of the lancedb index exact 'nprobes'"),
        ("lancedb:folder/items(index=ivf_pq,nprobes=-3)", "the option nprobes is '-3'"),
    ],
)
def test_what_a_spec_cannot_say_is_refused_before_anything_is_opened(spec, message):
    with pytest.raises(InputError, match=message):
        build(spec, ITEMS)


def test_a_spec_is_read_with_what_is_left_to_lancedb_left_out():
    target, options = read_spec("lancedb:s3://bucket/db/wines(index=ivf_pq,nprobes=9)")
    assert target == LanceTarget("s3://bucket/db", "wines")
    assert options == {
        "index": "ivf_pq", "num_partitions": None, "nprobes": 9, "refine_factor": None, "num_sub_vectors": None,
    }  # fmt: skip


def test_without_the_client_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(MissingExtraError, match=r"needs lancedb, .*pip install 'goldrank\[lancedb\]'"):
        build("lancedb:folder/items", ITEMS)
