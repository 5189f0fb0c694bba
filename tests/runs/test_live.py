"""Test live models (servers, search functions, databases, objects): evaluated again and stored as dated versions."""

from __future__ import annotations

import importlib
import json
import sys
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import command_runs
import goldrank as gr
from goldrank.encoders import load
from goldrank.engines.local import LocalEngine
from goldrank.errors import GoldrankError, InputError
from goldrank.io.files import cache_folder
from goldrank.store import Store
from goldrank.tasks.ranking.sharding import Sharding
from http_servers import HttpServer, Reply, json_reply

CORPUS = {f"d{at:02}": f"word{at} common" for at in range(40)}
QUERIES = {f"q{at:02}": f"word{at}" for at in range(40)}
TASK = {"corpus": CORPUS, "queries": QUERIES, "qrels": {query: {query.replace("q", "d"): 1} for query in QUERIES}}
FAILURE = Reply(b"", 404)


def mrr(boards):
    (board,) = boards
    (scores,) = board.scores.values()
    return scores["mrr"].value


@pytest.fixture
def search_server():
    """A server whose first result is relevant, unless ``shift`` is set."""

    def answer(request):
        query = parse_qs(urlsplit(request.path).query)
        number = int(query["q"][0].removeprefix("word"))
        return json_reply({"results": [{"id": f"d{(number + server.shift) % 40:02}", "score": 1.0}]})

    with HttpServer(answer) as server:
        server.shift = 0
        yield server


@pytest.fixture
def embedding_server():
    """A server that returns distinct vectors, which depend on ``seed``."""

    def vector(text):
        return np.random.default_rng([server.seed, *text.encode()]).normal(size=8).tolist()

    def answer(request):
        texts = request.json()["input"]
        server.encoded += texts
        return json_reply({"data": [{"index": at, "embedding": vector(text)} for at, text in enumerate(texts)]})

    with HttpServer(answer) as server:
        server.seed, server.encoded = 0, []
        yield server


def test_a_server_that_changed_is_evaluated_again_and_both_versions_are_kept(own_folder, store, search_server):
    spec = f"http:{search_server.url}/search"
    assert mrr(gr.run(spec, [TASK], store, metrics="mrr")) == 1.0
    search_server.shift = 1
    assert mrr(gr.run(spec, [TASK], store, metrics="mrr")) == 0.0
    old, new = store.list()
    assert old.name == new.name == store.get(new.name).name
    assert old.key != new.key
    assert old.evaluated < new.evaluated
    assert store.get(new.name).key == new.key
    assert store.get(old.key).key == old.key
    assert store.find({key: value for key, value in old.inputs.items() if key != "evaluated"}).key == new.key


def test_reuse_takes_the_newest_version_and_never_shows_it(own_folder, store, search_server):
    spec = f"http:{search_server.url}/search"
    gr.run(spec, [TASK], store)
    search_server.shift = 1
    gr.run(spec, [TASK], store)
    search_server.requests.clear()
    assert mrr(gr.run(spec, [TASK], store, reuse=True, metrics="mrr")) == 0.0
    assert mrr(gr.run(spec, [TASK], store, overwrite="never", metrics="mrr")) == 0.0
    assert not search_server.requests
    assert len(store.list()) == 2


def test_overwrite_always_replaces_the_newest_version(own_folder, store, search_server):
    spec = f"http:{search_server.url}/search"
    for overwrite in ("missing", "missing", "always"):
        gr.run(spec, [TASK], store, overwrite=overwrite)
    first, *others, last = store.list()
    assert not others
    assert first.evaluated < last.evaluated


def test_reuse_without_a_live_model_is_refused(store):
    with pytest.raises(InputError, match="reuse has no effect, because no model is live"):
        gr.run("bm25", [TASK], store, reuse=True)
    with pytest.raises(InputError, match="reuse has no effect, because no model is live"):
        gr.sensitivity("wordllama", "wines", store=store, reuse=True)
    with pytest.raises(InputError, match="reuse has no effect, because the model has no vectors of a live model"):
        gr.evaluate("wordllama", TASK, reuse=True)


@pytest.mark.parametrize("model", ["fuse:rrf(bm25,http:{url}/search)", "http:{url}/search"])
@pytest.mark.parametrize("rerank", [None, "overlap"])
def test_a_model_with_a_live_part_is_live(own_folder, store, search_server, model, rerank):
    spec = model.format(url=search_server.url)
    for _ in range(2):
        assert gr.run(spec, [TASK], store, rerank=rerank)[0].outcomes[0].fresh
    assert len({run.name for run in store.list()}) == 1
    assert len(store.list()) == 2


def test_an_interrupted_search_resumes_if_the_answers_are_the_same(own_folder, store, search_server):
    spec = f"http:{search_server.url}/search(retries=0)"
    search_server.faults = [None] * 30 + [FAILURE]
    with pytest.raises(GoldrankError):
        gr.run(spec, [TASK], store)
    assert not store.list()
    search_server.requests.clear()
    (board,) = gr.run(spec, [TASK], store, metrics="mrr")
    assert board.scores[spec]["mrr"].value == 1.0
    searches = [parse_qs(urlsplit(request.path).query)["q"][0] for request in search_server.requests]
    # Batches of 1, 2, 4, 8 and 15 queries were saved; at most 16 of these queries are sent again.
    assert len(searches) < 10 + 16 + 16
    (remark,) = [remark for remark in board.outcomes[0].remarks if "interrupted" in remark]
    assert "had not changed" in remark
    assert not list((cache_folder() / "partial").glob("*"))


def test_an_interrupted_search_starts_again_if_an_answer_changed(own_folder, store, search_server):
    spec = f"http:{search_server.url}/search(retries=0)"
    search_server.faults = [None] * 30 + [FAILURE]
    with pytest.raises(GoldrankError):
        gr.run(spec, [TASK], store)
    search_server.shift = 1
    (board,) = gr.run(spec, [TASK], store, metrics="mrr")
    assert board.scores[spec]["mrr"].value == 0.0
    assert any("started again" in remark for remark in board.outcomes[0].remarks)


def test_vectors_of_a_server_are_requested_again_unless_reuse_is_asked_for(own_folder, store, embedding_server):
    spec = f"openai:m@{embedding_server.url}"
    before = mrr(gr.run(spec, [TASK], store, metrics="mrr"))
    assert len(embedding_server.encoded) == 80
    embedding_server.seed = 1
    after = mrr(gr.run(spec, [TASK], store, metrics="mrr"))
    assert after != before
    assert len(embedding_server.encoded) == 160
    assert gr.evaluate(spec, TASK, metrics="mrr").scores["mrr"].value == after
    assert len(embedding_server.encoded) == 240
    # Other settings are not stored, but the vectors are.
    (board,) = gr.run(spec, [TASK], store, similarity="dot", reuse=True)
    assert board.outcomes[0].fresh
    assert any("80 texts" in remark or "40 texts" in remark for remark in board.outcomes[0].remarks)
    gr.evaluate(spec, TASK, similarity="l2", reuse=True)
    assert len(embedding_server.encoded) == 240


def test_vectors_of_a_server_are_requested_once_for_all_tasks_of_a_run(own_folder, store, embedding_server):
    spec = f"openai:m@{embedding_server.url}"
    other = {**TASK, "qrels": {"q00": {"d01": 1}}}
    gr.run(spec, [TASK, other], store)
    assert len(embedding_server.encoded) == 80


@pytest.mark.parametrize("changed", [False, True])
def test_an_interrupted_encoding_resumes_unless_the_vectors_changed(own_folder, store, embedding_server, changed):
    spec = f"openai:m@{embedding_server.url}(retries=0,batch_size=10)"
    expected = {}
    for seed in (0, 1):
        embedding_server.seed = seed
        expected[seed] = mrr(gr.run(spec, [TASK], own_folder / f"other {seed}", metrics="mrr"))
    embedding_server.seed = 0
    # The corpus is encoded in one batch of the cache; the queries fail.
    embedding_server.faults = [None] * 4 + [FAILURE]
    with pytest.raises(GoldrankError):
        gr.run(spec, [TASK], store)
    embedding_server.seed = int(changed)
    embedding_server.encoded.clear()
    assert mrr(gr.run(spec, [TASK], store, metrics="mrr")) == expected[changed]
    assert len(embedding_server.encoded) == (16 + 80 if changed else 16 + 40)
    embedding_server.encoded.clear()
    gr.run(spec, [TASK], store)
    assert len(embedding_server.encoded) == 80


class Model:
    """A model in memory whose vectors change, as during training."""

    def __init__(self):
        self.seed = 0

    def encode(self, texts):
        return np.stack([np.random.default_rng([self.seed, *text.encode()]).normal(size=8) for text in texts])


def test_an_object_in_memory_is_evaluated_again_and_leaves_no_vectors_behind(own_folder, store):
    model = Model()
    before = mrr(gr.run(model, [TASK], store, metrics="mrr"))
    model.seed = 1
    after = mrr(gr.run(model, [TASK], store, metrics="mrr"))
    assert before != after
    assert [run.name for run in store.list()] == [store.list()[0].name] * 2
    assert not (cache_folder() / "embeddings").exists()


@pytest.fixture
def project(own_folder, monkeypatch):
    (own_folder / "mymodel.py").write_text("import helper\n\ndef encode(texts):\n    return helper.vectors(texts)\n")
    (own_folder / "helper.py").write_text(
        "import numpy\nSEED = 0\n"
        "def vectors(texts):\n"
        "    return numpy.stack([numpy.random.default_rng([SEED, *t.encode()]).normal(size=8) for t in texts])\n"
    )
    (own_folder / "unrelated.py").write_text("A = 1\n")

    def reload():
        for name in ("mymodel", "helper"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    reload()
    yield own_folder, reload
    reload()


def test_a_function_is_evaluated_again_when_a_module_that_it_imports_changed(project, store):
    folder, reload = project

    def fresh():
        reload()
        (board,) = gr.run("python:mymodel:encode", [TASK], store, metrics="mrr")
        return board.outcomes[0].fresh, mrr([board])

    first = fresh()
    assert first[0]
    assert fresh() == (False, first[1])
    (folder / "unrelated.py").write_text("A = 2\n")
    assert fresh() == (False, first[1])
    (folder / "helper.py").write_text((folder / "helper.py").read_text().replace("SEED = 0", "SEED = 1"))
    changed = fresh()
    assert changed[0]
    assert changed[1] != first[1]


@pytest.mark.parametrize(
    ("source", "live"),
    [
        ("def encode(texts): ...", False),
        ("import importlib\nimportlib.import_module('helper')\ndef encode(texts): ...", False),
        ("import importlib\nname = 'helper'\nimportlib.import_module(name)\ndef encode(texts): ...", True),
    ],
)
def test_a_function_whose_imports_are_computed_cannot_be_fingerprinted(project, source, live):
    folder, reload = project
    (folder / "mymodel.py").write_text(source)
    reload()
    assert load("python:mymodel:encode").live == live
    assert load("python:mymodel:encode(live=true)").live


def test_a_function_that_is_imported_from_another_module_knows_both_files(project):
    folder, reload = project
    (folder / "mymodel.py").write_text("from helper import vectors as encode\n")
    reload()
    identities = [load("python:mymodel:encode").identity]
    for name in ("mymodel.py", "helper.py"):
        (folder / name).write_text((folder / name).read_text() + "# changed\n")
        reload()
        identities.append(load("python:mymodel:encode").identity)
    assert len(set(identities)) == 3


def test_files_of_rankings_and_vectors_are_evaluated_again_when_they_changed(own_folder, store):
    run_file, vectors = own_folder / "a.run", own_folder / "a.npz"
    gr.Run({query: {query.replace("q", "d"): 1.0} for query in QUERIES}).write(run_file, format="trec")
    random = np.random.default_rng(0)

    def write_vectors():
        ids = [*CORPUS, *QUERIES]
        np.savez(vectors, ids=np.array(ids), vectors=random.normal(size=(len(ids), 4)).astype("f4"))

    write_vectors()
    for spec in (f"run:{run_file}", f"vectors:{vectors}"):
        first, again = (gr.run(spec, [TASK], store, metrics="mrr") for _ in range(2))
        assert [board.outcomes[0].fresh for board in (*first, *again)] == [True, False]
        gr.Run({query: {"d00": 1.0} for query in QUERIES}).write(run_file, format="trec")
        write_vectors()
        (changed,) = gr.run(spec, [TASK], store, metrics="mrr")
        assert changed.outcomes[0].fresh
        assert mrr([changed]) != mrr(first)


@pytest.mark.heavy
def test_a_database_is_searched_again(own_folder, store):
    pytest.importorskip("lancedb")
    for _ in range(2):
        (board,) = gr.run("wordllama", [TASK], store, index=f"lancedb:{own_folder}/db/table")
        assert board.outcomes[0].fresh
    assert len({run.name for run in store.list()}) == 1
    assert len(store.list()) == 2


def test_the_commands_list_compare_and_report_versions(own_folder, search_server, capsys):
    def run(*arguments, expected=0):
        code, out, err = command_runs.run(capsys, *arguments)
        assert code == expected, err
        return out, err

    for name, rows in (("corpus", CORPUS), ("queries", QUERIES)):
        lines = (json.dumps({"_id": id, "text": text}) + "\n" for id, text in rows.items())
        (own_folder / f"{name}.jsonl").write_text("".join(lines))
    (own_folder / "qrels").mkdir()
    lines = (f"{query}\td{query[1:]}\t1\n" for query in QUERIES)
    (own_folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    command = ["run", "-m", f"http:{search_server.url}/search", "-t", str(own_folder), "--metric", "mrr"]
    run(*command)
    search_server.shift = 1
    _, message = run(*command)
    assert "again, because it may have changed (--reuse takes the stored result)" in message
    old, new = Store.open().list()
    listed, _ = run("runs", "list")
    assert old.key in listed
    assert new.key in listed
    compared, _ = run("compare", old.key, new.key, "-M", "mrr")
    assert "1.0000" in compared
    assert run("compare", f"{new.name}~1", new.name, "-M", "mrr")[0] == compared
    assert json.loads(run("runs", "show", new.name, "--format", "json")[0])["key"] == new.key
    _, message = run("runs", "delete", new.name, "--yes", expected=2)
    assert "may be any of" in message
    assert len(Store.open().list()) == 2
    for keys, used in (([new.name], new), ([old.key], old), ([old.key, new.key], new)):
        run("report", *keys, "-o", "report.md")
        assert used.key in (own_folder / "report.md").read_text()
    assert f"/search, {old.evaluated:%Y-%m-%d %H:%M:%S} UTC" in (own_folder / "report.md").read_text()
    search_server.requests.clear()
    run(*command, "--reuse")
    assert not search_server.requests


def test_vectors_in_shards_of_a_live_model_are_not_used_by_the_next_evaluation(own_folder, embedding_server):
    sharding = Sharding(LocalEngine(), str(own_folder / "work"), 4096)
    model, spec = Model(), f"openai:m@{embedding_server.url}"

    def both():
        embedding_server.seed = model.seed
        return [
            gr.evaluate(candidate, TASK, sharding=sharding, metrics="mrr").scores["mrr"].value
            for candidate in (model, spec)
        ]

    before = both()
    model.seed = 1
    after = both()
    assert before[0] != after[0]
    assert before[1] != after[1]
    embedding_server.seed = 2
    assert gr.evaluate(spec, TASK, sharding=sharding, metrics="mrr", reuse=True).scores["mrr"].value == after[1]
