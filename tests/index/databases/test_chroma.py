"""A Chroma server: search close to exact search, loads that fail as a whole, and a token that is never shown."""

import os
import signal
import sys

import numpy as np
import pytest

from goldrank.analysis.audit import audit_vectors
from goldrank.cli.main import main
from goldrank.errors import GoldrankError, InputError, MissingExtraError
from goldrank.hits import Gold
from goldrank.index.base import Index, build, drop
from goldrank.index.databases.chroma import ChromaTarget, read_spec
from http_servers import HttpServer, json_reply
from vector_servers import (  # noqa: F401 - fixtures
    ChromaServer,
    chroma_server,
    clustered,
    load_and_be_killed,
    recall,
    same_sets,
    small_disk,
)

pytestmark = pytest.mark.heavy

SIMILARITIES = ["cosine", "dot", "l2"]
ITEMS, QUERIES = clustered(1500, 16), clustered(20, 16, seed=1)
# Chroma has no exact search; with as many candidates as items its graph search finds every item.
ALL = "max_neighbors=64,ef_construction=400,ef_search=1500"


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_search_of_the_whole_graph_finds_what_ours_finds(chroma_server, similarity):  # noqa: F811
    ours = build("exact", ITEMS, None, similarity).top_k(QUERIES, 10)
    theirs = build(f"chroma:{chroma_server.url}/whole({ALL})", ITEMS, None, similarity).top_k(QUERIES, 10)
    assert same_sets(ours, theirs)
    for query in ours:
        np.testing.assert_allclose(list(theirs[query].values()), list(ours[query].values()), rtol=1e-4, atol=1e-4)


def test_the_settings_of_the_graph_are_in_force_and_an_audit_tells_what_they_do(chroma_server):  # noqa: F811
    gold = Gold({f"q{n}": {str(item): 1} for n, item in enumerate(range(0, 1500, 15))})
    queries = ITEMS[::15] + 0.3 * clustered(100, 16, seed=5)
    base = f"chroma:{chroma_server.url}/audited"
    audit = audit_vectors(
        ITEMS, [str(n) for n in range(1500)], queries, [f"q{n}" for n in range(100)], gold,
        [f"{base}(max_neighbors=2,ef_construction=2,ef_search=2)", f"{base}({ALL})"],
    )  # fmt: skip
    weak, whole = audit.indexes
    assert weak.recall < whole.recall
    assert whole.recall > 0.999
    assert weak.pairs[0].interval.low <= weak.pairs[0].difference <= weak.pairs[0].interval.high
    assert weak.speed > 0
    assert weak.cost.bytes is None


def test_the_spec_of_an_index_builds_the_same_index(chroma_server):  # noqa: F811
    index = build(f"chroma:{chroma_server.url}/again(ef_search=50)", ITEMS)
    assert isinstance(index, Index)
    assert (
        index.spec == f"chroma:{chroma_server.url}/again(index=hnsw,max_neighbors=16,ef_construction=100,ef_search=50)"
    )
    assert (index.count, index.dimension, index.similarity) == (1500, 16, "cosine")
    assert build(index.spec, ITEMS).collection.id == index.collection.id


def test_a_query_is_left_out_by_its_id_and_ranks_are_refused(chroma_server):  # noqa: F811
    names = [f"d{n}" for n in range(50)]
    index = build(f"chroma:{chroma_server.url}/selves({ALL})", ITEMS[:50], names)
    run = index.top_k(ITEMS[:5], 7, query_ids=names[:5], exclude_self=True)
    assert all(name not in run[name] and len(run[name]) == 7 for name in names[:5])
    with pytest.raises(InputError, match="only supports top-k search"):
        index.exact_hits(QUERIES, Gold({"0": {"d7": 1}}))
    with pytest.raises(InputError, match="3 dimensions, the index has 16"):
        index.top_k(np.ones((1, 3)), 1)


def test_an_identical_load_is_used_again_and_others_are_refused(chroma_server, capsys):  # noqa: F811
    spec = f"chroma:{chroma_server.url}/loaded"
    index = build(spec, ITEMS)
    with pytest.raises(InputError, match=r"1500 other items of 16 dimensions are loaded there; .*index drop"):
        build(spec, ITEMS[:9])
    index.collection.delete(ids=["7"])
    with pytest.raises(InputError, match="1500 items were loaded and 1499 are there now"):
        build(spec, ITEMS)
    build(spec, ITEMS, similarity="l2")
    assert main(["index", "drop", spec]) == 0
    assert capsys.readouterr().out.count("loaded-") == 2
    assert main(["index", "drop", spec]) == 2
    theirs = index.server.connect().create_collection(index.collection.name, embedding_function=None)
    with pytest.raises(InputError, match="the collection exists, and goldrank did not load it"):
        build(spec, ITEMS)
    assert drop(spec) == []
    assert theirs.count() == 0


def test_a_server_killed_while_loading_leaves_nothing_that_is_trusted(chroma_server, monkeypatch):  # noqa: F811
    from chromadb.api.models.Collection import Collection

    spec, items = f"chroma:{chroma_server.url}/killed(ef_search=400)", clustered(12000, 8)
    add = Collection.add

    def kill_then_add(self, ids, **arguments):
        if ids[0] != "0":
            chroma_server.kill()
        return add(self, ids, **arguments)

    monkeypatch.setattr(Collection, "add", kill_then_add)
    try:
        with pytest.raises(GoldrankError, match="the server"):
            build(spec, items)
        with pytest.raises(InputError, match="the server cannot be reached"):
            build(spec, items)
    finally:
        monkeypatch.undo()
        if chroma_server.process.poll() is not None:
            chroma_server.start()
    index = build(spec, items)
    assert index.collection.count() == 12000
    assert recall(index.top_k(items[:20], 5), build("exact", items).top_k(items[:20], 5)) > 0.99


def test_what_a_killed_loader_left_is_not_trusted(chroma_server, tmp_path):  # noqa: F811
    spec, items = f"chroma:{chroma_server.url}/cut", clustered(12000, 8)
    load_and_be_killed("chroma", "ChromaIndex", spec, items, tmp_path)
    index = build(spec, items)
    assert index.collection.count() == 12000
    assert index.collection.metadata["goldrank"] == "loaded"


def test_a_full_disk_is_said_and_nothing_is_trusted(chroma_server, small_disk, tmp_path):  # noqa: F811
    items = clustered(6000, 256)
    small = ChromaServer(chroma_server.program, tmp_path)
    (tmp_path / "data").symlink_to(small_disk)
    small.start()
    try:
        for _ in range(2):
            with pytest.raises(GoldrankError, match=r"disk is full.* not used, run it again"):
                build(f"chroma:{small.url}/items", items)
    finally:
        small.kill()


def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(chroma_server):  # noqa: F811
    index = build(f"chroma:{chroma_server.url}/mute(timeout=1)", ITEMS[:50])
    chroma_server.process.send_signal(signal.SIGSTOP)
    os.waitpid(chroma_server.process.pid, os.WUNTRACED)  # until all of its threads have stopped
    try:
        with pytest.raises(GoldrankError, match=r"the server failed \(timed out\)"):
            index.top_k(QUERIES, 3)
    finally:
        chroma_server.process.send_signal(signal.SIGCONT)
    assert index.spec.endswith("timeout=1)")


def test_the_token_comes_from_the_environment_and_is_never_shown(chroma_server, monkeypatch):  # noqa: F811
    monkeypatch.setenv("TOKEN_OF_TEAM", "a-secret")
    refusal = json_reply({"error": "AuthError", "message": "Unauthorized"}, 401)
    with HttpServer(lambda request: refusal) as guard:
        with pytest.raises(InputError, match=r"refuses the token .* key= names") as caught:
            build(f"chroma:{guard.url}/items(key=TOKEN_OF_TEAM)", ITEMS)
        assert "a-secret" not in str(caught.value)
        headers = guard.requests[0].headers
        assert (headers["Authorization"], headers["X-Chroma-Token"]) == ("Bearer a-secret", "a-secret")
    index = build(f"chroma:{chroma_server.url}/keyed(key=TOKEN_OF_TEAM)", ITEMS[:20])
    assert "a-secret" not in index.spec + repr(index.server)
    assert index.spec.endswith("key=TOKEN_OF_TEAM)")
    monkeypatch.delenv("TOKEN_OF_TEAM")
    with pytest.raises(InputError, match="the environment variable TOKEN_OF_TEAM is not set"):
        build(index.spec, ITEMS[:20])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("chroma:http://me:secret@host/items", r"^http://me:\*\*\*@host/items: the address holds a password; .*key="),
        ("chroma:host:8000/items", "is not the URL of a Chroma collection"),
        ("chroma:http://host:8000", "is not the URL of a Chroma collection"),
        ("chroma:http://host:x/items", "is not the URL of a Chroma collection"),
        ("chroma:http://host/a/b", "is not a valid name of a collection"),
        ("chroma:http://host/items?tennant=x", "did you mean 'tenant'"),
        ("chroma:http://host/items(index=exact)", "no chroma index 'exact'.*hnsw"),
        ("chroma:http://host/items(ef_search=0)", "the option ef_search is '0'"),
    ],
)
def test_what_a_spec_cannot_say_is_refused_before_a_server_is_asked(spec, message):
    with pytest.raises(InputError, match=message) as caught:
        build(spec, ITEMS)
    assert "secret" not in str(caught.value)


def test_a_spec_is_read_with_the_defaults_of_chroma():
    server, options = read_spec("chroma:https://host/wines?database=d(ef_search=7)")
    assert server == ChromaTarget("host", 443, True, "wines", {"database": "d"}, "")
    assert options == {
        "index": "hnsw",
        "max_neighbors": 16,
        "ef_construction": 100,
        "ef_search": 7,
        "key": "",
        "timeout": 300,
    }


def test_without_the_client_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(MissingExtraError, match=r"needs chromadb, .*pip install 'goldrank\[chroma\]'"):
        build("chroma:http://host/items", ITEMS)
