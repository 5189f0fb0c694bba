"""PostgreSQL with pgvector: exact search, separate indexes, loads that fail as a whole, and hidden passwords."""

import os
import sys
import threading

import numpy as np
import pytest

from goldrank.analysis.audit import audit_vectors
from goldrank.cli.main import main
from goldrank.errors import GoldrankError, InputError, MissingExtraError
from goldrank.hits import Gold
from goldrank.index.base import Index, build, drop
from goldrank.index.databases import pgvector as pgvector_index
from goldrank.index.databases.pgvector import PgvectorIndex, PostgresTarget, read_spec
from vector_servers import (  # noqa: F401 - fixtures
    PASSWORD,
    clustered,
    load_and_be_killed,
    pgvector_server,
    recall,
    same_sets,
    small_disk,
)

pytestmark = pytest.mark.heavy

SIMILARITIES = ["cosine", "dot", "l2"]
ITEMS, QUERIES = clustered(2000, 16), clustered(20, 16, seed=1)


@pytest.fixture(scope="module")
def url(pgvector_server):  # noqa: F811
    return pgvector_server.database("vectors")


@pytest.fixture(autouse=True)
def _no_password(monkeypatch, tmp_path):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))


def tables(server, database="vectors"):
    with server.connect(database) as connection:
        rows = connection.execute(
            "SELECT schemaname || '.' || tablename FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
        )
        return [name for (name,) in rows.fetchall()]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_exact_search_finds_what_ours_finds_with_the_same_scores(url, similarity):
    ours = build("exact", ITEMS, None, similarity).top_k(QUERIES, 10)
    theirs = build(f"pgvector:{url}", ITEMS, None, similarity).top_k(QUERIES, 10)
    assert same_sets(ours, theirs)
    for query in ours:
        np.testing.assert_allclose(list(theirs[query].values()), list(ours[query].values()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_several_indexes_of_one_table_are_told_apart(url, similarity):
    truth = build("exact", ITEMS, None, similarity).top_k(QUERIES, 10)
    recalls = {}
    for options in (
        "index=hnsw,ef_search=400",
        "index=hnsw,m=2,ef_construction=4,ef_search=10",
        "index=ivfflat,lists=20,probes=20",
        "index=ivfflat,lists=20,probes=1",
        "index=exact",
    ):
        index = build(f"pgvector:{url}?table=several({options})", ITEMS, None, similarity)
        recalls[options] = recall(index.top_k(QUERIES, 10), truth)
    assert recalls["index=exact"] == recalls["index=ivfflat,lists=20,probes=20"] == 1
    assert recalls["index=hnsw,ef_search=400"] > 0.95
    assert recalls["index=hnsw,m=2,ef_construction=4,ef_search=10"] < 0.9
    assert recalls["index=ivfflat,lists=20,probes=1"] < 1


def test_half_precision_is_a_table_of_its_own(url):
    index = build(f"pgvector:{url}(index=hnsw,type=halfvec,ef_search=400)", ITEMS)
    assert recall(index.top_k(QUERIES, 10), build("exact", ITEMS).top_k(QUERIES, 10)) > 0.9
    assert index.table.endswith("_halfvec")
    with pytest.raises(InputError, match="does not fit in 16 bits"):
        build(f"pgvector:{url}(type=halfvec)", ITEMS * 1e6)


def test_an_audit_tells_the_difference_with_interval_speed_and_size(url):
    gold = Gold({f"q{n}": {str(item): 1} for n, item in enumerate(range(0, 2000, 20))})
    queries = ITEMS[::20] + 0.3 * clustered(100, 16, seed=5)
    weak = f"pgvector:{url}?table=audited(index=hnsw,m=2,ef_construction=4,ef_search=10)"
    audit = audit_vectors(
        ITEMS, [str(n) for n in range(2000)], queries, [f"q{n}" for n in range(100)], gold,
        [weak, f"pgvector:{url}?table=audited", "HNSW8"],
    )  # fmt: skip
    approximate, exact, faiss = audit.indexes
    assert approximate.pairs[0].difference < 0
    assert approximate.pairs[0].interval.low <= approximate.pairs[0].difference <= approximate.pairs[0].interval.high
    assert approximate.speed > 0
    assert approximate.cost.bytes > exact.cost.bytes > ITEMS.nbytes
    assert exact.recall == 1
    assert "schema=goldrank&table=audited(index=hnsw,m=2" in approximate.factory
    assert faiss.factory == "HNSW8"


def test_the_spec_of_an_index_builds_the_same_index(url):
    index = build(f"pgvector:{url}?table=again(index=hnsw,m=8)", ITEMS[:50], [f"d{n}" for n in range(50)])
    assert isinstance(index, Index)
    assert index.spec.endswith(
        "table=again(index=hnsw,m=8,ef_construction=64,ef_search=40,iterative_scan=off,type=vector)"
    )
    assert (index.count, index.dimension, index.similarity) == (50, 16, "cosine")
    other = build(index.spec, ITEMS[:50], [f"d{n}" for n in range(50)])
    assert other.top_k(QUERIES, 5) == index.top_k(QUERIES, 5)


def test_a_query_is_left_out_by_its_id_and_k_others_remain(url):
    names = [f"d{n}" for n in range(50)]
    run = build(f"pgvector:{url}", ITEMS[:50], names).top_k(ITEMS[:5], 7, query_ids=names[:5], exclude_self=True)
    for name in names[:5]:
        assert name not in run[name]
        assert len(run[name]) == 7


def test_ids_of_any_text_come_back(url):
    names = ["", "a\tb\n", "é", "日本", "'; --", "\\N", "x" * 500]
    assert set(build(f"pgvector:{url}", ITEMS[:7], names).top_k(QUERIES[:1], 7)["0"]) == set(names)


def test_exact_ranks_are_refused_with_the_reason(url):
    with pytest.raises(InputError, match="only supports top-k search"):
        build(f"pgvector:{url}", ITEMS).exact_hits(QUERIES, Gold({"0": {"7": 1}}))


def test_an_identical_load_is_used_again_and_another_is_refused(url, pgvector_server):  # noqa: F811
    spec = f"pgvector:{url}?table=loaded"
    build(spec, ITEMS)
    with pgvector_server.connect("vectors") as connection:
        before = connection.execute("SELECT 'goldrank.loaded'::regclass::oid").fetchone()
        build(spec, ITEMS)
        assert connection.execute("SELECT 'goldrank.loaded'::regclass::oid").fetchone() == before
        for other, names in ((ITEMS[:99], None), (ITEMS + 1, None), (ITEMS, [f"d{n}" for n in range(2000)])):
            with pytest.raises(InputError, match=r"2000 other items of 16 dimensions are loaded there; .*index drop"):
                build(spec, other, names)
        with pytest.raises(InputError, match="the table holds vector"):
            build(f"{spec}(type=halfvec)", ITEMS)
        connection.execute("DELETE FROM goldrank.loaded WHERE id = '7'")
        with pytest.raises(InputError, match="2000 items were loaded and 1999 are there now"):
            build(spec, ITEMS)
        connection.execute("DROP TABLE goldrank.loaded")
        assert build(spec, ITEMS).count == 2000  # the marker alone is not trusted


def test_a_table_of_someone_else_is_neither_used_nor_dropped(url, pgvector_server, capsys):  # noqa: F811
    build(f"pgvector:{url}?schema=shared", ITEMS[:9])
    with pgvector_server.connect("vectors") as connection:
        connection.execute("CREATE TABLE shared.theirs (x int)")
    with pytest.raises(InputError, match="the table exists, and goldrank did not load it"):
        build(f"pgvector:{url}?schema=shared&table=theirs", ITEMS)
    assert main(["index", "drop", f"pgvector:{url}?schema=shared&table=theirs"]) == 2
    assert "goldrank loaded nothing there" in capsys.readouterr().err
    assert len(drop(f"pgvector:{url}?schema=shared")) == 1
    assert [name for name in tables(pgvector_server) if name.startswith("shared")] == ["shared.theirs"]


def test_all_is_in_the_schema_and_goes_on_request(pgvector_server, capsys):  # noqa: F811
    url = pgvector_server.database("tidy")
    build(f"pgvector:{url}?schema=ours&table=one(index=hnsw)", ITEMS)
    build(f"pgvector:{url}?schema=ours&table=two", ITEMS)
    assert tables(pgvector_server, "tidy") == ["ours.goldrank_loads", "ours.one", "ours.two"]
    assert main(["index", "drop", f"pgvector:{url}?schema=ours&table=one"]) == 0
    assert capsys.readouterr().out == "Dropped ours.one.\n"
    assert tables(pgvector_server, "tidy") == ["ours.goldrank_loads", "ours.two"]
    assert drop(f"pgvector:{url}?schema=ours") == ["ours.two"]
    assert drop(f"pgvector:{url}?schema=ours") == []
    with pgvector_server.connect("tidy") as connection:
        assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'ours'").fetchone() is None


def test_two_that_load_at_once_share_one_load(url):
    runs, start = [], threading.Barrier(3)

    def load():
        start.wait()
        runs.append(build(f"pgvector:{url}?schema=raced&table=both(index=hnsw)", ITEMS).top_k(QUERIES, 5))

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 3
    assert runs[0] == runs[1] == runs[2]


def test_a_server_killed_while_loading_leaves_nothing_and_the_next_load_is_whole(pgvector_server, monkeypatch):  # noqa: F811
    spec = f"pgvector:{pgvector_server.database('killed')}?table=items"
    items, pack = clustered(9000, 64), pgvector_index.packed_rows

    def kill_then_pack(ids, vectors, first, kind):
        if first == 2 * pgvector_index._COPY_ROWS:
            pgvector_server.kill()
        return pack(ids, vectors, first, kind)

    monkeypatch.setattr(pgvector_index, "packed_rows", kill_then_pack)
    try:
        with pytest.raises(GoldrankError, match=r"the server stopped or the connection was lost .* run it again"):
            build(spec, items)
        with pytest.raises(InputError, match="the server cannot be reached"):
            build(spec, items)
    finally:
        monkeypatch.undo()
        if pgvector_server.process.poll() is not None:
            pgvector_server.start()
    assert "goldrank.items" not in tables(pgvector_server, "killed")
    assert same_sets(build(spec, items).top_k(items[:5], 5), build("exact", items).top_k(items[:5], 5))


def test_a_server_that_stops_while_searching_is_said_to_have(pgvector_server):  # noqa: F811
    index = build(f"pgvector:{pgvector_server.database('stopped')}", ITEMS)
    pgvector_server.kill()
    try:
        with pytest.raises(GoldrankError, match="the server stopped or the connection was lost"):
            index.top_k(QUERIES, 5)
    finally:
        pgvector_server.start()


def test_a_loader_that_is_killed_leaves_nothing(pgvector_server, tmp_path):  # noqa: F811
    spec = f"pgvector:{pgvector_server.database('cut')}?table=items"
    items = clustered(9000, 32)
    load_and_be_killed("pgvector", "PgvectorIndex", spec, items, tmp_path)
    assert "goldrank.items" not in tables(pgvector_server, "cut")
    assert build(spec, items).count == 9000


def test_a_full_disk_is_said_and_nothing_is_kept(pgvector_server, small_disk):  # noqa: F811
    url = pgvector_server.database("filled")
    if pgvector_server.owner:
        os.chown(small_disk, pgvector_server.owner.pw_uid, pgvector_server.owner.pw_gid)
    items = clustered(4000, 512)
    with pgvector_server.connect() as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
        connection.execute("ALTER DATABASE filled SET default_tablespace = small")
        try:
            with pytest.raises(GoldrankError, match=r"no space left .* nothing was kept"):
                build(f"pgvector:{url}?table=items", items)
            assert "goldrank.items" not in tables(pgvector_server, "filled")
            connection.execute("ALTER DATABASE filled RESET default_tablespace")
            assert build(f"pgvector:{url}?table=items", items).count == 4000
        finally:
            connection.execute("DROP DATABASE filled WITH (FORCE)")
            connection.execute("DROP TABLESPACE small")


def test_a_wrong_password_is_refused_and_the_right_one_is_never_shown(pgvector_server, monkeypatch):  # noqa: F811
    pgvector_server.database("guarded")
    with pgvector_server.connect("guarded") as connection:
        connection.execute("CREATE SCHEMA mine AUTHORIZATION guarded")
    spec = f"pgvector:{pgvector_server.url('guarded', 'guarded')}?schema=mine"
    for password in (None, "wrong"):
        if password:
            monkeypatch.setenv("PGPASSWORD", password)
        with pytest.raises(InputError, match=r"refuses the user or the password .*set PGPASSWORD") as caught:
            build(spec, ITEMS)
        assert "wrong" not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    index = build(spec, ITEMS)
    assert PASSWORD not in index.spec + repr(vars(index)["target"])
    with pytest.raises(InputError, match="lacks a privilege"):
        build(f"pgvector:{pgvector_server.url('guarded', 'guarded')}?schema=other", ITEMS)


def test_a_database_without_the_extension_says_how_to_get_it(pgvector_server):  # noqa: F811
    plain = pgvector_server.database("plain", extension=False)
    with pytest.raises(InputError, match=r"does not have the extension vector; .*CREATE EXTENSION vector"):
        build(f"pgvector:{plain}", ITEMS)
    assert tables(pgvector_server, "plain") == []


def test_the_extension_may_be_in_any_schema(pgvector_server):  # noqa: F811
    other = pgvector_server.database("elsewhere", extension=False)
    with pgvector_server.connect("elsewhere") as connection:
        connection.execute('CREATE SCHEMA "Their Extensions"')
        connection.execute('CREATE EXTENSION vector SCHEMA "Their Extensions"')
    assert build(f"pgvector:{other}(index=hnsw)", ITEMS).top_k(QUERIES, 3).queries


@pytest.mark.parametrize(
    ("options", "items", "message"),
    [
        ("index=hnsw", np.ones((3, 2001), np.float32), r"refuses this index \(.*2000 dimensions.*type=halfvec"),
        ("index=hnsw,m=1", ITEMS, r"refuses this index \(.*\"m\""),
        ("index=hnsw,ef_search=5000", ITEMS, r"refuses this index \(.*ef_search"),
        ("index=exact", np.zeros((3, 4), np.float32), "item '0' is all zeros, and pgvector has no cosine"),
    ],
)
def test_what_pgvector_cannot_do_is_said_in_one_sentence(url, options, items, message):
    with pytest.raises(InputError, match=message) as caught:
        build(f"pgvector:{url}?schema=refused({options})", items)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("queries", "k", "message"),
    [
        (np.ones((1, 3)), 1, "3 dimensions, the index has 16"),
        (np.ones((1, 16)), 0, "k is 0"),
        (np.zeros((1, 16)), 1, "query '0' is all zeros"),
        (np.full((1, 16), np.nan), 1, "query 0 .* not finite"),
    ],
)
def test_what_cannot_be_searched_is_refused(url, queries, k, message):
    with pytest.raises(InputError, match=message):
        build(f"pgvector:{url}", ITEMS).top_k(queries, k)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pgvector:postgresql://me:secret@host/db", r"^postgresql://me:\*\*\*@host/db: the address holds a password"),
        ("pgvector:postgresql://me@host/db?password=secret", "holds a password; .*PGPASSWORD"),
        ("pgvector:mysql://me@host/db", "is not the URL of a PostgreSQL database"),
        ("pgvector:postgresql://me@host", "is not the URL of a PostgreSQL database"),
        ("pgvector:postgresql://host/db?schema=a%22b", "is not a valid name of a schema or table"),
        ("pgvector:postgresql://host/db(index=hnws)", "did you mean 'hnsw'"),
        ("pgvector:postgresql://host/db(index=hnsw,lists=3)", "no option of the pgvector index hnsw 'lists'"),
        ("pgvector:postgresql://host/db(index=hnsw,m=many)", "the option m is 'many'"),
        ("pgvector:postgresql://host/db(index=hnsw,m)", "'m' in .* has no value; write option=value"),
        ("pgvector:postgresql://host/db(type=bit)", "no value of the option type 'bit'"),
        ("pgvector:postgresql://host/db(index=hnsw,iterative_scan=1;DROP)", "no value of the option iterative_scan"),
        ("pgvektor:postgresql://me:secret@host/db", "no kind of index 'pgvektor'; did you mean 'pgvector'"),
    ],
)
def test_what_a_spec_cannot_say_is_refused_before_a_server_is_asked(spec, message):
    with pytest.raises(InputError, match=message) as caught:
        build(spec, ITEMS)
    assert "secret" not in str(caught.value)


def test_ids_that_no_database_can_hold_are_refused():
    for name in ("a\0b", "\ud800"):
        with pytest.raises(InputError, match="cannot store the item id"):
            PgvectorIndex.build("pgvector:postgresql://host/db", ITEMS[:1], [name])


def test_a_spec_is_read_with_the_defaults_of_pgvector():
    target, options = read_spec("pgvector:postgresql://me@host:6432/db?sslmode=require&table=wines( index = ivfflat )")
    assert target == PostgresTarget("postgresql://me@host:6432/db?sslmode=require", "goldrank", "wines")
    assert options == {"index": "ivfflat", "lists": 100, "probes": 1, "iterative_scan": "off", "type": "vector"}


def test_without_the_client_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgvector.psycopg", None)
    with pytest.raises(MissingExtraError, match=r"needs psycopg and pgvector, .*pip install 'goldrank\[pgvector\]'"):
        build("pgvector:postgresql://me@host/db", ITEMS)
