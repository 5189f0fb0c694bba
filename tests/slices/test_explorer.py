"""Test slices in the report and in the explorer's API: equal to those of the commands."""

import json

import pytest

import goldrank as gr
from goldrank.cli.main import main
from goldrank.store import Store

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

from goldrank.web.app import create_app

QUERIES = [f"q{number}" for number in range(24)]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with two models on queries in two languages."""
    data = {
        "corpus": {f"d{number}": f"word{number} wine {'red' if number % 3 else 'white'}" for number in range(24)},
        "queries": [
            {
                "id": query,
                "text": f"word{at} red" if at % 2 else f"which word{at}",
                "language": "de" if at < 10 else "en",
            }
            for at, query in enumerate(QUERIES)
        ],
        "qrels": {query: {f"d{at}": 1, f"d{(at + 1) % 24}": 1} for at, query in enumerate(QUERIES)},
    }
    store = Store.open(str(tmp_path_factory.mktemp("store")))
    gr.run(["bm25", "random"], [data], store=store, metrics=["mrr", "ndcg@10"])
    return store


@pytest.fixture(scope="module")
def client(store):
    with TestClient(create_app(store), base_url="http://127.0.0.1") as client:
        yield client


def keys(store):
    return [run.key for run in store.list()]


def test_the_slices_of_a_run_are_listed(client, store):
    slices = client.get("/api/slices", params={"key": keys(store)}).json()["slices"]
    assert {"attribute": "language", "value": "de", "queries": 10, "too_small": False, "name": "language=de"} in slices
    assert {part["attribute"] for part in slices} == {"language", "question_word", "gold_overlap"}


def test_every_page_can_be_restricted_to_a_slice_with_the_numbers_of_the_command(client, store, capsys):
    assert main(["compare", *keys(store), "--store", store.where, "--slice", "language", "--format", "json"]) == 0
    [german, _] = json.loads(capsys.readouterr().out)["slices"][::-1]
    assert german["value"] == "de"
    expected = {run["name"]: run["scores"]["ndcg@10"]["value"] for run in german["runs"]}
    only = {"key": keys(store), "slice": "language=de"}
    scored = client.get("/api/score", params=only).json()["runs"]
    assert {run["name"]: run["scores"]["ndcg@10"]["value"] for run in scored} == expected
    [section] = client.get("/api/compare", params={**only, "worst": 2}).json()["sections"]
    models = {run.model: run.key for run in store.list()}
    assert {models[run["name"]]: run["scores"]["ndcg@10"]["value"] for run in section["numbers"]["runs"]} == expected
    assert "only the 10 queries of language=de." in section["quality"]
    assert {case["query"]["id"] for case in section["cases"]} <= set(QUERIES[:10])
    listed = client.get("/api/queries", params={**only, "size": 100}).json()
    assert {entry["id"] for entry in listed["queries"]} == set(QUERIES[:10])
    [pair] = client.get("/api/diff", params=only).json()["pairs"]
    restricted = [{query: dict(run.run()[query]) for query in QUERIES[:10]} for run in store.list()]
    assert pair["queries"]["both"] == 10
    assert pair["measures"]["rbo"]["mean"] == gr.diff(*restricted)["rbo"].mean


def test_the_list_of_runs_has_the_headlines_of_a_slice(client, store):
    only = {"key": keys(store), "slice": "language=de", "metric": "ndcg@10"}
    expected = {run["name"]: run["scores"]["ndcg@10"] for run in client.get("/api/score", params=only).json()["runs"]}
    reply = client.get("/api/runs", params={"slice": "language=de", "sort": "value"}).json()
    assert {run["key"]: run["queries"] for run in reply["runs"]} == dict.fromkeys(expected, 10)
    for run in reply["runs"]:
        headline = {name: expected[run["key"]][name] for name in ("value", "low", "high")}
        assert run["headline"] == {"metric": "ndcg@10", **headline}
    values = [run["headline"]["value"] for run in reply["runs"]]
    assert values == sorted(values, reverse=True)
    assert client.get("/api/runs", params={"slice": "language=fr"}).json()["total"] == 0


def test_tables_by_slice_are_those_of_the_command(client, store, capsys):
    assert main(["score", *keys(store), "--store", store.where, "--slice", "language", "--format", "json"]) == 0
    expected = json.loads(capsys.readouterr().out)["slices"]
    content = client.get("/api/scores-by-slice", params={"key": keys(store), "by": "language"}).json()
    assert content["slices"] == expected
    assert [grid["title"] for grid in content["tables"]] == ["By language"]
    [section] = client.get("/api/compare", params={"key": keys(store), "by": "language"}).json()["sections"]
    assert any(grid["title"].startswith("By language: ") for grid in section["tables"])
    assert any("By slice, on ndcg@10" in verdict for verdict in section["verdicts"])


@pytest.mark.parametrize(
    ("path", "parameters", "message"),
    [
        ("score", {"slice": "language=fr"}, "there is no slice 'language=fr'"),
        ("queries", {"slice": "x"}, "there is no slice 'x'"),
        ("compare", {"slice": "<b>"}, "there is no slice '<b>'"),
        ("compare", {"by": "nothing"}, "there is no attribute of queries 'nothing'"),
        ("diff", {"slice": "x"}, "there is no slice 'x'"),
        ("scores-by-slice", {"by": "nothing"}, "there is no attribute 'nothing' that divides the queries"),
    ],
)
def test_an_unknown_slice_is_an_error_of_the_request(client, store, path, parameters, message):
    reply = client.get(f"/api/{path}", params={"key": keys(store), **parameters})
    assert reply.status_code in (400, 404, 422)
    assert message in reply.json()["error"]


def test_a_report_has_tables_by_slice_and_a_command_that_writes_it_again(store, tmp_path, capsys):
    (tmp_path / "kinds.csv").write_text("\n".join(["qid,kind", *(f"{q},{at % 2}" for at, q in enumerate(QUERIES))]))
    command = ["report", *keys(store), "--store", store.where, "--slices", str(tmp_path / "kinds.csv")]
    assert main([*command, "--slice", "kind", "--slice", "language", "-o", str(tmp_path / "r.md"), "--worst", "0"]) == 0
    assert "note: kinds.csv: query = qid; further columns: kind." in capsys.readouterr().err
    text = (tmp_path / "r.md").read_text()
    assert "By kind" in text
    assert "By language" in text
    assert "--slice kind --slice language" in text
    assert main([*command, "--slice", "nothing", "-o", str(tmp_path / "x.md")]) == 2
    assert "there is no attribute of queries 'nothing'" in capsys.readouterr().err
    assert not (tmp_path / "x.md").exists()
