"""`goldrank run` and `goldrank demo`: flags and run files, every format, and errors before any work."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from goldrank.cli.main import main

pytestmark = pytest.mark.usefixtures("own_folder")

CORPUS = (
    '{"_id": "d1", "title": "Wine", "text": "red grapes"}\n{"_id": "d2", "title": "Games", "text": "dice, cards"}\n'
)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "my-folder"
    (path / "qrels").mkdir(parents=True)
    (path / "corpus.jsonl").write_text(CORPUS)
    (path / "queries.jsonl").write_text('{"_id": "q1", "text": "grapes"}\n{"_id": "q2", "text": "cards"}\n')
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    return path


def run(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_own_data_in_two_minutes(capsys, folder):
    code, out, err = run(capsys, "run", "-m", "wordllama", "bm25", "-t", str(folder))
    assert code == 0
    assert "my-folder" in out
    assert "wordllama" in out
    assert "1.0000" in out
    assert "my-folder-bm25-" in out
    assert "stored in" in err


def test_the_relevance_level_comes_from_a_flag_or_from_a_run_file(capsys, folder):
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\n")
    Path("run.toml").write_text("[conventions]\nrelevance_level = 2\n")
    arguments = ["run", "-m", "bm25", "-t", str(folder), "--metric", "recall@1", "--format", "json"]
    for options in (["-l", "2"], ["--config", "run.toml"]):
        code, out, _ = run(capsys, *arguments, "--overwrite", "always", *options)
        assert code == 0
        (task,) = json.loads(out)["tasks"]
        assert task["conventions"]["relevance_level"] == 2
        assert task["runs"][0]["scores"]["recall@1"]["mean"] == 0.5


def test_a_stored_run_is_scored_and_compared_by_its_key(capsys):
    _, out, _ = run(capsys, "run", "-m", "wordllama", "bm25", "-t", "questions", "--format", "json")
    keys = json.loads(out)["tasks"][0]["keys"]
    code, out, _ = run(capsys, "score", keys["bm25"], "-M", "recall@5", "--format", "json")
    assert code == 0
    assert json.loads(out)["runs"][0]["scores"]["recall@5"]["mean"] > 0.3
    code, out, _ = run(capsys, "compare", keys["bm25"], keys["wordllama"], "-M", "ndcg@10")
    assert code == 0
    assert out.startswith(f"{keys['wordllama']} and {keys['bm25']} cannot be told apart on ndcg@10: 0.")


def test_a_run_ends_with_the_verdict_and_a_next_step(capsys, folder):
    code, out, err = run(capsys, "run", "-m", "bm25", "-t", str(folder))
    assert code == 0
    assert out.strip().splitlines()[-1].startswith("bm25 reaches ndcg@10 ")
    assert "next: add a model to compare with, such as -m bm25 wordllama; goldrank explain ndcg@10 says what" in err
    code, out, err = run(capsys, "run", "-m", "bm25", "tfidf", "-t", str(folder))
    sentence = out.strip().splitlines()[-1]
    assert "bm25" in sentence
    assert "tfidf" in sentence
    *_, stored, step = err.splitlines()
    assert stored.startswith("goldrank: stored in ")
    words = shlex.split(step.removeprefix("goldrank: next: "))
    assert (words[:2], words[-2:]) == (["goldrank", "report"], ["-o", "report.html"])
    assert run(capsys, *words[1:-1], str(folder / "report.md"))[0] == 0
    assert sentence in (folder / "report.md").read_text()
    _, out, err = run(capsys, "run", "-m", "bm25", "tfidf", "-t", str(folder), "--format", "json")
    assert json.loads(out)["tasks"][0]["verdict"] == sentence
    assert "next:" not in err


def test_a_model_that_leaves_queries_unanswered_is_named_before_the_verdict(capsys, folder):
    with (folder / "queries.jsonl").open("a") as queries, (folder / "qrels" / "test.tsv").open("a") as qrels:
        queries.write('{"_id": "qx", "text": "zzz yyy"}\n')
        qrels.write("qx\td1\t1\n")
    _, out, _ = run(capsys, "run", "-m", "bm25", "tfidf", "-t", str(folder))
    sentence = out.strip().splitlines()[-1]
    assert sentence.startswith("bm25 answered ")
    assert " queries; missing queries count as 0. " in sentence


def test_a_run_file_that_lacks_queries_is_not_compared_even_under_a_label(capsys, tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 right 1\n" for n in range(9)))
    for name, queries in (("whole", 9), ("cut", 1)):
        rows = [f"q{n} Q0 right 1 1.0 t\n" for n in range(queries)]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    named = ["-m", "run:whole.run", "--label", "short=run:cut.run", "-t", "qrels.txt", "--metric", "mrr"]
    _, out, _ = run(capsys, "run", *named)
    assert out.strip().splitlines()[-1].startswith("short answered 1 of 9 queries. So it is not compared: say how ")
    _, out, _ = run(capsys, "run", *named, "--missing", "zero")
    assert "short answered 1 of 9 queries; missing queries count as 0. run:whole.run is better than short" in out


def test_a_run_file_says_everything_and_flags_override_it(capsys, tmp_path):
    (tmp_path / "run.toml").write_text(
        'models = ["bm25", "random:16"]\ntasks = ["wines"]\nmetrics = ["mrr", "recall@5"]\nlimit = 10\nseed = 3\n'
        'depth = "all"\n[text]\nparts = "title+text"\nwords = 50\n[conventions]\nties = "expected"\n'
    )
    code, out, _ = run(capsys, "run", "--config", "run.toml", "--format", "json")
    content = json.loads(out)["tasks"][0]
    assert code == 0
    assert list(content["keys"]) == ["bm25", "random:16"]
    assert content["conventions"]["ties"] == "expected"
    assert content["runs"][0]["queries"] == 10
    assert set(content["runs"][0]["scores"]) == {"mrr", "recall@5"}
    _, out, _ = run(capsys, "run", "--config", "run.toml", "--limit", "5", "-m", "tfidf", "--format", "json")
    other = json.loads(out)["tasks"][0]
    assert list(other["keys"]) == ["tfidf"]
    assert other["runs"][0]["queries"] == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('model = ["bm25"]', "did you mean 'models'"),
        ("models = 3", "models is 3"),
        ('models = ["bm25"', "not valid TOML"),
        ('models = ["bm25"]\ntasks = ["wines"]\nlimit = "ten"', "limit is 'ten'"),
        ('models = ["bm25"]\ntasks = ["wines"]\nsimilarity = "cosin"', "did you mean 'cosine'"),
        ('models = ["bm25"]\ntasks = ["wines"]\n[text]\npart = "title"', "did you mean 'parts'"),
        ('models = ["bm25"]\ntasks = ["wines"]\n[conventions]\ntie = "docid"', "no convention 'tie'"),
        ('models = ["bm25"]\ntasks = ["wines"]\noverwrite = "maybe"', "overwrite"),
        ('models = ["bm25"]\ntasks = ["wines"]\nlevel = 2', "level"),
        ('models = [1]\ntasks = ["wines"]', "is not a text"),
        ('models = ["bm25"]\ntasks = ["wines"]\ntext = 3', "text is not a table"),
        ('models = ["bm25"]\ntasks = ["wines"]\nconventions = 3', "conventions is not a table"),
        ('models = ["bm25"]\ntasks = ["wines"]\ninterval = "foo"', "kind of interval"),
        ('models = ["bm25"]\ntasks = ["wines"]\nalpha = 7', "alpha is 7"),
    ],
)
def test_a_run_file_that_is_wrong_says_where(capsys, tmp_path, content, said):
    (tmp_path / "run.toml").write_text(content)
    code, out, err = run(capsys, "run", "--config", "run.toml")
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_dry_run_estimates_and_stores_nothing(capsys):
    code, out, _ = run(
        capsys, "run", "-m", "wordllama", "tfidf", "overlap", "-t", "questions", "--dry-run", "--format", "json"
    )
    rows = json.loads(out)["rows"]
    assert code == 0
    assert [row["model"] for row in rows] == ["wordllama", "tfidf", "overlap"]
    assert rows[0]["items"] == 200
    assert rows[0]["dimension"] == 256
    assert all(row["stored as"] is None for row in rows)
    _, out, _ = run(capsys, "runs", "list", "--format", "json")
    assert json.loads(out)["runs"] == []


def test_the_worst_queries_show_what_stood_above_the_gold(capsys):
    code, out, _ = run(capsys, "run", "-m", "bm25", "-t", "questions", "--worst", "2", "--format", "json")
    worst = json.loads(out)["tasks"][0]["worst"]
    assert code == 0
    assert len(worst) == 2
    for miss in worst:
        assert miss["value"] <= 0.5
        best = min(item["rank"] or 10**9 for item in miss["gold"])
        assert all(item["rank"] < best for item in miss["above"])
    code, out, _ = run(capsys, "run", "-m", "bm25", "-t", "questions", "--worst", "2")
    assert worst[0]["query"] in out


@pytest.mark.parametrize("look", ["table", "json", "csv", "markdown", "latex"])
def test_every_format_names_task_model_and_key(capsys, look, tmp_path):
    run(capsys, "run", "-m", "bm25", "random", "-t", "wines")
    code, out, _ = run(capsys, "run", "-m", "bm25", "random", "-t", "wines", "--format", look)
    assert code == 0
    assert "wines-bm25-" in out
    code, _, _ = run(
        capsys, "run", "-m", "bm25", "random", "-t", "wines", "--format", look, "-o", str(tmp_path / "out")
    )
    written = (tmp_path / "out").read_text()
    if look == "table":
        # A file lists all conventions, the terminal only those that are not standard.
        assert "Standard conventions except self_matches=drop; --verbose shows all 20." in out
        assert "Profile standard: ties=docid, precision=float64" in written
    else:
        assert written.strip() == out.strip()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "bm25"], "no task"),
        (["-t", "wines"], "no model"),
        (["-m", "bm52", "-t", "wines"], "did you mean 'bm25'"),
        (["-m", "bm25", "-t", "whines"], "did you mean 'wines'"),
        (["-m", "bm25", "-t", "./nowhere"], "no such file"),
        (["-m", "fuse:rrf(bm25", "-t", "wines"], "fus"),
        (["-m", "bm25", "-t", "wines", "--rerank", "crosss:x"], "pair scorer"),
        (["-m", "bm25", "-t", "wines", "--metric", "ndgc@10"], "did you mean 'ndcg'"),
        (["-m", "bm25", "-t", "wines", "--profile", "trec"], "profile"),
        (["-m", "bm25", "-t", "wines", "--depth", "-3"], "depth"),
        (["-m", "bm25", "-t", "wines", "--text", "titel"], "did you mean 'title'"),
        (["-m", "bm25", "-t", "wines", "--config", "missing.toml"], "missing.toml"),
        (["-m", "bm25", "-t", "wines", "--store", "nosuch://db"], "store"),
        (["-m", "bm25", "-t", "wines", "--worst", "-1"], "worst"),
        (["-m", "bm25", "-t", "wines", "--fit-on", "nofile"], "nofile"),
        (["-m", "bm25", "-t", "wines", "-o", "no/such/folder/out.md"], "no/such/folder"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments, said):
    code, out, err = run(capsys, "run", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_corrupt_folder_is_refused_with_its_place(capsys, folder):
    (folder / "corpus.jsonl").write_text(CORPUS + '{"_id": "d3", "text": \n')
    code, _, err = run(capsys, "run", "-m", "bm25", "-t", str(folder))
    assert code == 2
    assert "corpus.jsonl:3" in err
    (folder / "corpus.jsonl").unlink()
    code, _, err = run(capsys, "run", "-m", "bm25", "-t", str(folder))
    assert code == 2
    assert "corpus.jsonl" in err


@pytest.mark.slow
def test_demo_shows_five_models_on_three_tasks_with_the_worst_queries_the_store_and_a_report(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "demo")
    assert code == 0
    for name in ("random", "bm25", "tfidf", "wordllama", "fuse:rrf(bm25,wordllama)", "wines", "games", "questions"):
        assert name in out
    assert out.count("The 3 worst queries of ") == 3
    assert out.count(" leads with ") == 3
    assert str(tmp_path / "store") in out
    assert "15 of them evaluated now" in out
    report = (tmp_path / "goldrank-demo.html").read_text()
    assert "goldrank demo" in report
    assert all(f">{task}<" in report for task in ("wines", "games", "questions"))
    assert "0 of them evaluated now" in run(capsys, "demo", "-o", str(tmp_path / "again.html"))[1]
    assert (tmp_path / "again.html").is_file()


def test_a_module_of_ones_own_searches_and_encodes(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def encode(texts): return np.array([[len(t), t.count('e'), 1] for t in texts], float)\n"
        "def search(query, k): return ['w001', 'g001'][:k]\n"
        "def score(pairs): return [float(len(set(a.split()) & set(b.split()))) for a, b in pairs]\n"
    )
    command = [
        sys.executable,
        "-m",
        "goldrank",
        "run",
        "-m",
        "python:mine:encode",
        "search:mine:search",
        "pairs:mine:score",
    ]
    process = subprocess.run(
        [*command, "-t", "questions", "--format", "json"], capture_output=True, cwd=tmp_path, check=True
    )
    assert len(json.loads(process.stdout)["tasks"][0]["keys"]) == 3
    assert not list(Path(tmp_path).glob("**/partial/*"))


def test_pairs_with_scores_become_an_evalrank_task(capsys, tmp_path):
    rows = ["first,second,score", "a red wine,a wine that is red,5", "a card game,a game of cards,4.5"]
    rows += ["a loud dog,the quiet sea,0.5", "grapes,stars,0.1"]
    (tmp_path / "pairs.csv").write_text("\n".join(rows) + "\n")
    arguments = ["run", "-m", "wordllama", "--from-pairs", "pairs.csv", "--top", "0.5", "--format", "json"]
    code, out, _ = run(capsys, *arguments)
    (task,) = json.loads(out)["tasks"]
    assert code == 0
    assert (task["task"], task["items"], task["runs"][0]["queries"]) == ("pairs", 8, 4)
    assert task["positives_filtered"]["wordllama"] >= task["runs"][0]["scores"]["mrr(of=all)"]["mean"]
    assert task["remarks"] == [
        "pairs: text1 = first, text2 = second, score = score",
        "pairs: 2 pairs of 4, scored 4.5 or more, taken as positives",
    ]
    code, out, _ = run(capsys, *arguments, "--no-reverse")
    content = json.loads(out)["tasks"][0]
    assert content["runs"][0]["queries"] == 2
    assert content["runs"][0]["scores"]["hits@1"]["mean"] == 1.0
    code, _, err = run(capsys, *arguments[:5], "--top", "3")
    assert (code, "top share is 3" in err) == (2, True)
    code, _, err = run(capsys, *arguments[:5], "--split", "dev")
    assert (code, "--split has no effect with --from-pairs" in err) == (2, True)
    for option in (["--top", "0.5"], ["--no-reverse"], ["--self-pairs", "drop"], ["--case", "keep"]):
        code, _, err = run(capsys, "run", "-m", "wordllama", "-t", "wines", *option)
        name = option[0].replace("no-", "")
        assert (code, f"{name} has no effect without --from-pairs" in err) == (2, True)


def test_measured_and_ranking_tasks_run_side_by_side(capsys):
    code, out, _ = run(
        capsys, "run", "-m", "wordllama", "random:8", "-t", "wines", "sentence-pairs", "--format", "json"
    )
    wines, pairs = json.loads(out)["tasks"]
    assert code == 0
    assert "runs" in wines
    assert next(iter(pairs["measured"]["wordllama"])) == "spearman"
    (tested,) = pairs["p_adjusted"]
    assert (tested["better"], tested["worse"]) == ("wordllama", "random:8")
    assert tested["cannot_tell"] == (tested["p"] > 0.05)
    code, out, _ = run(capsys, "runs", "show", pairs["keys"]["wordllama"])
    assert "spearman" in out
    code, out, _ = run(capsys, "runs", "export", pairs["keys"]["wordllama"], "--what", "predictions", "-o", "-")
    assert out.splitlines()[0].startswith("id,")
    code, _, err = run(capsys, "score", pairs["keys"]["wordllama"])
    assert (code, "has no ranks" in err) == (2, True)


def test_run_score_and_compare_compute_nauc_from_the_stored_rankings(capsys):
    options = ("--metric", "nauc_ndcg_at_10_max", "--format", "json")
    code, out, _ = run(capsys, "run", "-m", "bm25", "wordllama", "-t", "questions", *options)
    assert code == 0
    (board,) = json.loads(out)["tasks"]
    name = "nauc(of=ndcg@10,confidence=max)"
    of_run = {entry["name"]: entry["scores"][name]["value"] for entry in board["runs"]}
    keys = board["keys"]
    for command in (("score", keys["bm25"]), ("compare", keys["bm25"], keys["wordllama"])):
        code, out, _ = run(capsys, *command, *options)
        assert code == 0
        assert json.loads(out)["runs"][0]["scores"][name]["value"] == of_run["bm25"]
    assert of_run["bm25"] != of_run["wordllama"]
