"""Test run files evaluated on gold without a corpus: stored like other models, with the values of `score`."""

import json

import pytest

import goldrank as gr
from command_runs import run as command

GOLD = {f"q{n}": {f"d{n}": 1, f"d{n + 1}": 2, "d0": 0} for n in range(1, 9)}
RUNS = {
    "a": {f"q{n}": {f"d{(n * k) % 11}": round(5 - k / 2) for k in range(1, 9)} for n in range(1, 9)},
    "b": {f"q{n}": {f"d{(n + k * k) % 13}": 9.0 - k for k in range(6)} for n in range(1, 8)},
}


@pytest.fixture
def files(own_folder):
    gr.Gold(GOLD).write("qrels.txt", format="trec")
    for name, rankings in RUNS.items():
        gr.Run(rankings).write(f"{name}.run", format="trec")
    return own_folder


def test_run_files_on_gold_have_the_scores_and_intervals_of_score(files):
    board = gr.run(["run:a.run", "run:b.run"], "qrels.txt")["qrels"]
    for name in RUNS:
        expected = gr.score("qrels.txt", f"{name}.run", list(board.comparison.scores[f"run:{name}.run"]))
        scores = board.comparison.scores[f"run:{name}.run"]
        assert {metric: score.value for metric, score in scores.items()} == {
            metric: score.value for metric, score in expected.items()
        }
        assert [score.interval for score in scores.values()] == [score.interval for score in expected.values()]


@pytest.mark.parametrize("ties", ["docid", "input", "expected", "optimistic"])
def test_every_tie_policy_gives_the_numbers_of_score(files, ties):
    board = gr.run("run:a.run", "qrels.txt", metrics=["mrr", "ndcg@3"], ties=ties)["qrels"]
    expected = gr.score("qrels.txt", "a.run", ["mrr", "ndcg@3"], ties=ties)
    scores = board.comparison.scores["run:a.run"]
    assert [score.value for score in scores.values()] == [score.value for score in expected.values()]


def test_rankings_are_not_cut_unless_a_depth_is_given(own_folder):
    deep = {"q": {f"d{n:04}": 3000.0 - n for n in range(1500)}}
    gr.Gold({"q": {"d1400": 1}}).write("qrels.txt", format="trec")
    gr.Run(deep).write("deep.run", format="trec")
    assert gr.evaluate("run:deep.run", "qrels.txt", metrics="mrr").scores["mrr"].value == 1 / 1401
    assert gr.evaluate("run:deep.run", "qrels.txt", metrics="mrr", depth=1000).scores["mrr"].value == 0


def test_a_fusion_of_run_files_needs_no_texts_and_other_models_do(files, capsys):
    code, out, _ = command(capsys, "run", "-m", "fuse:rrf(run:a.run,run:b.run)", "-t", "qrels.txt", "--format", "json")
    assert code == 0
    assert json.loads(out)["tasks"][0]["items"] is None
    for model in ("bm25", "wordllama", "fuse:rrf(bm25,run:a.run)", "overlap"):
        code, _, err = command(capsys, "run", "-m", model, "-t", "qrels.txt")
        assert code == 2
        assert f"qrels.txt: {model} needs the texts of queries and items" in err
        assert "corpus.jsonl, queries.jsonl and qrels/test.tsv" in err
        assert "-m run:FILE" in err
    assert command(capsys, "run", "-m", "run:a.run", "-t", "qrels.txt", "--rerank", "overlap")[0] == 2


def test_ids_that_differ_in_form_and_queries_without_gold_are_said(files, capsys):
    gr.Run({q.upper(): ranking for q, ranking in RUNS["a"].items()} | {"q1": {"D1": 1.0}}).write(
        "up.run", format="trec"
    )
    code, out, _ = command(capsys, "run", "-m", "run:up.run", "-t", "qrels.txt")
    assert code == 0
    assert "query ids of the gold and the run differ only in case" in out
    assert "run:up.run: 8 queries without gold ignored." in out
    assert "Gold alone, from qrels.txt: the corpus is not known." in out
    assert "text of an item" not in out
    assert "Empty texts" not in out


def test_the_warnings_are_those_of_compare_each_once(files, capsys):
    shallow = {query: dict.fromkeys(list(ranking)[:2], 1.0) for query, ranking in RUNS["a"].items()}
    gr.Run(shallow).write("shallow.run", format="trec")
    models, metrics = ["run:b.run", "run:shallow.run"], ["--metric", "ndcg@5"]
    _, out, _ = command(capsys, "run", "-m", *models, "-t", "qrels.txt", *metrics)
    assert "The runs have different depths (run:b.run 6, run:shallow.run 2)" in " ".join(out.split())
    _, out, _ = command(capsys, "run", "-m", *models, "-t", "qrels.txt", *metrics, "--format", "json")
    codes = [warning["code"] for warning in json.loads(out)["tasks"][0]["warnings"]]
    assert codes == ["all-tied", "different-queries", "different-depths"]


def test_worst_queries_and_dry_run_show_ids(files, capsys):
    code, out, _ = command(capsys, "run", "-m", "run:b.run", "-t", "qrels.txt", "--worst", "1")
    assert code == 0
    assert "The worst query of run:b.run" in out
    assert "\nq" in out
    code, out, _ = command(capsys, "run", "-m", "run:b.run", "-t", "gold:qrels.txt", "--dry-run", "--format", "json")
    assert code == 0
    assert json.loads(out)["rows"][0]["estimated MB"] is None
