"""`report`, `plot` and `serve` on files of gold and runs: values equal those of `score`, and the store stays empty."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest

import goldrank as gr
from command_runs import next_command, run
from goldrank.runs.file_runs import file_runs

GOLD = {f"q{n}": {f"d{n}": 1, f"d{n + 1}": 2, "d0": 0} for n in range(1, 9)}
RUNS = {
    "a": {f"q{n}": {f"d{(n * k) % 11}": 9.0 - k for k in range(1, 9)} for n in range(1, 9)},
    "b": {f"q{n}": {f"d{(n + k * k) % 13}": 9.0 - k for k in range(6)} for n in range(1, 9)},
}


@pytest.fixture
def files(own_folder, monkeypatch):
    (own_folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own_folder / "tmp"))
    gr.Gold(GOLD).write("qrels.txt", format="trec")
    for name, rankings in RUNS.items():
        gr.Run(rankings).write(f"{name}.run", format="trec")
    yield own_folder
    assert not (own_folder / "store").exists()
    assert not list((own_folder / "tmp").iterdir())


def test_a_student_with_qrels_and_runs_has_a_leaderboard_and_a_report_after_two_commands(files, capsys, monkeypatch):
    monkeypatch.setenv("GOLDRANK_STORE", str(files / "other"))
    code, out, err = run(capsys, "run", "-m", "run:a.run", "run:b.run", "-t", "qrels.txt")
    assert code == 0
    assert next_command(err)[0] == "report"
    first, second = re.findall(r"^([ab]) run:(?:[ab])\.run +(0\.\d+)", out, re.MULTILINE)
    assert (first[0], second[0]) == ("a", "b")
    assert float(first[1]) > float(second[1])
    code, out, _ = run(capsys, "report", "qrels.txt", "a.run", "b.run", "-o", "report.html")
    assert (code, out) == (0, "report.html\n")
    page = (files / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert first[1] in page
    assert second[1] in page


def test_the_columns_of_a_run_file_are_said_and_the_next_step_needs_no_texts(files, capsys, monkeypatch):
    monkeypatch.setenv("GOLDRANK_STORE", str(files / "other"))
    rows = [f"{query},{item},{score},x" for query, ranking in RUNS["a"].items() for item, score in ranking.items()]
    Path("a.csv").write_text("\n".join(["query,item,score,note", *rows]) + "\n")
    code, out, err = run(capsys, "run", "-m", "run:a.csv", "-t", "qrels.txt")
    assert code == 0
    assert "query = query, item = item, score = score; ignored: note" in " ".join(out.split())
    assert "such as -m run:a.csv run:OTHER_FILE;" in err


def test_a_report_of_files_has_the_numbers_of_compare_and_says_how_it_was_made(files, capsys):
    code, _, _ = run(capsys, "report", "qrels.txt", "a.run", "b.run", "-o", "r.md", "-M", "ndcg@10", "-M", "mrr")
    assert code == 0
    page = (files / "r.md").read_text("utf-8")
    _, out, _ = run(capsys, "compare", "qrels.txt", "a.run", "b.run", "-M", "ndcg@10", "-M", "mrr", "--format", "json")
    for entry in json.loads(out)["runs"]:
        for score in entry["scores"].values():
            assert f"{score['mean']:.4f}" in page
            assert f"[{score['low']:.4f}, {score['high']:.4f}]" in page
    assert "goldrank report qrels.txt a.run b.run -M ndcg@10 -M mrr --format markdown -o r.md" in page
    assert "key:" not in page
    report = gr.report({"a": RUNS["a"], "b": RUNS["b"]}, gold=GOLD, metrics=["ndcg@10", "mrr"])
    assert report.sections[0].verdicts[0] in page.replace("**", "")


def test_runs_of_equal_names_and_compressed_runs_are_told_apart_by_their_paths(files, capsys):
    for folder, name in (("x", "a"), ("y", "b")):
        (files / folder).mkdir()
        (files / folder / "run.txt.gz").write_bytes(gzip.compress((files / f"{name}.run").read_bytes()))
    runs = ["x/run.txt.gz", "y/run.txt.gz"]
    assert run(capsys, "report", "qrels.txt", *runs, "-o", "r.md", "-M", "mrr")[0] == 0
    page = (files / "r.md").read_text("utf-8")
    assert "a x/run.txt.gz" in page
    assert "b y/run.txt.gz" in page
    code, out, _ = run(capsys, "plot", "qrels.txt", *runs, "--figure", "leaderboard")
    assert (code, out) == (0, "figures-x-run.txt.gz-and-1-more/leaderboard.png\n")


def test_texts_of_tables_and_collections_appear_in_a_report(files, capsys):
    (files / "queries.tsv").write_text("".join(f"q{n}\tquestion {n}\n" for n in range(1, 9)))
    (files / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": f"d{n}", "title": f"Title {n}", "text": "x"}) + "\n" for n in range(13))
    )
    texts = ["--texts", "corpus.jsonl", "--texts", "queries.tsv"]
    code, _, err = run(capsys, "report", "qrels.txt", "a.run", "b.run", *texts, "-o", "r.md")
    assert code == 0
    assert "texts of 8 of 8 queries and of 10 of 10 judged items" in err
    page = (files / "r.md").read_text("utf-8")
    assert re.search(r"> \(q\d\) question \d", page)
    assert re.search(r"Title \d", page)
    assert "--texts corpus.jsonl --texts queries.tsv" in page


def test_a_table_of_texts_belongs_to_the_side_that_has_more_of_its_ids(files):
    gold = {"1": {"2": 1, "3": 1}, "2": {"4": 1}}
    (files / "corpus.tsv").write_text("".join(f"{n}\titem {n}\n" for n in range(9)))
    (files / "queries.tsv").write_text("1\tquery 1\n2\tquery 2\n")
    with file_runs(gold, {"a": {"1": {"2": 1.0}}}, texts=["corpus.tsv", "queries.tsv"]) as stored_runs:
        texts = stored_runs.store.texts(stored_runs.runs["a"].inputs["data"])
        assert texts.find(["1", "2"], "query")["2"].text == "query 2"
        assert texts.find(["1", "2"], "item")["2"].text == "item 2"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["report", "qrels.txt"], "no run is given; give run files after the gold"),
        (["plot", "qrels.txt"], "no run is given; give run files after the gold"),
        (["serve", "qrels.txt"], "no run is given; give run files after the gold"),
        (["report", "qrels.txt", "wines-bm25-91c0"], "keys of stored runs cannot be mixed with files"),
        (["plot", "qrels.txt", "a.run", "wines-bm25-91c0"], "keys of stored runs cannot be mixed with files"),
        (["serve", "qrels.txt", "wines-bm25-91c0"], "keys of stored runs cannot be mixed with files"),
        (["report", "wines-bm25-91c0", "a.run"], "'a.run' cannot be the key of a stored run"),
        (["serve", "wines-bm25-91c0"], "there is no gold file 'wines-bm25-91c0'"),
        (["report", "qrels.txt", "a.run", "--store", "x"], "--store has no effect on files"),
        (["plot", "qrels.txt", "a.run", "--store", "x"], "--store has no effect on files"),
        (["serve", "qrels.txt", "a.run", "--store", "x"], "--store has no effect on files"),
        (["serve", "qrels.txt", "a.run", "--allow-delete"], "--allow-delete has no effect on files"),
        (["serve", "--texts", "x"], "--texts has no effect on stored runs"),
        (["report", "some-key", "--texts", "x"], "--texts needs files"),
        (["plot", "some-key", "--scores", "ignore"], "--scores has no effect without gold and runs"),
        (["plot", "qrels.txt", "a.run", "--unit", "page"], "--unit has no effect on rankings"),
        (["plot", "qrels.txt", "a.run", "--profile", "strict"], "--profile has no effect on rankings"),
        (["report", "a.run", "qrels.txt"], "this may be a run: give the qrels here"),
        (["plot", "a.run", "b.run"], "this may be a run: give the qrels here"),
        (["report", "qrels.txt", "a.run", "a.run"], "the run 'a.run' is given twice"),
        (["report", "qrels.txt", "a.run", "--texts", "wines"], "none of the queries and items has a text there"),
        (["report", "qrels.txt", "a.run", "--texts", "qrels.txt"], "none of its ids is a query or a judged item"),
        (["report", "qrels.txt", "a.run", "--texts", "sts-b:qrels.txt"], "qrels.txt"),
        (["report", "qrels.txt", "a.run", "--corpus", "2"], "the size of the corpus is 2"),
        (["plot", "qrels.txt", "none.run"], "none.run"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(files, capsys, arguments, what):
    before = set(files.iterdir())
    # Another program may use the default port.
    port = ["--port", "0"] if arguments[0] == "serve" else []
    code, out, err = run(capsys, *arguments, *port)
    assert (code, out) == (2, "")
    assert what in err
    assert set(files.iterdir()) == before


def test_scores_that_are_distances_are_read_as_such(files, capsys):
    rising = {query: {item: -score for item, score in ranking.items()} for query, ranking in RUNS["a"].items()}
    gr.Run(rising).write("far.run", format="trec")
    lines = [line.split() for line in (files / "far.run").read_text().splitlines()]
    (files / "far.run").write_text(
        "".join(f"{q} Q0 {d} {10 - i % 8} {s} x\n" for i, (q, _, d, _, s, _) in enumerate(lines))
    )
    for precision in ("float64", "float32"):
        options = ["--scores", "distance", "--precision", precision, "-M", "mrr"]
        assert run(capsys, "report", "qrels.txt", "far.run", *options, "-o", "r.md")[0] == 0
        page = (files / "r.md").read_text("utf-8")
        _, out, _ = run(capsys, "score", "qrels.txt", "far.run", *options, "--format", "json")
        assert f"{json.loads(out)['runs'][0]['scores']['mrr']['mean']:.4f}" in page
        assert "scores=distance" in page


def test_warnings_about_the_files_are_printed_and_stand_in_the_report(files, capsys):
    upper = {query: {item.upper(): score for item, score in row.items()} for query, row in RUNS["a"].items()}
    gr.Run(upper).write("up.run", format="trec")
    code, _, err = run(capsys, "report", "qrels.txt", "up.run", "-o", "r.md")
    assert code == 0
    assert "warning: up:" in err
    assert "differ only in case" in err
    assert "differ only in case" in (files / "r.md").read_text("utf-8")
    assert "differ only in case" in run(capsys, "plot", "qrels.txt", "up.run", "--figure", "rank-curve")[2]


def test_options_of_files_are_refused_on_stored_runs_in_python(files):
    for option in ({"texts": "x"}, {"corpus": 3}, {"gold_format": "trec"}, {"run_format": "trec"}):
        with pytest.raises(gr.InputError, match="has no effect on stored runs"):
            gr.report(["some-key"], **option)
    with pytest.raises(gr.InputError, match="store has no effect on run files"):
        gr.report("a.run", gold="qrels.txt", store=files / "x")
    with pytest.raises(gr.InputError, match="scores has no effect without gold"):
        gr.plot(["some-key"], scores="distance")
    with pytest.raises(gr.InputError, match="has no name"):
        gr.report([RUNS["a"]], gold=GOLD)


SERVE = "import sys; from goldrank.cli.main import main; sys.exit(main(['serve', *sys.argv[1:]]))"


@pytest.mark.slow
def test_the_explorer_of_files_shows_them_and_removes_its_store(files):
    pytest.importorskip("fastapi", reason="the explorer needs the extra web")
    command = [sys.executable, "-c", SERVE, "qrels.txt", "a.run", "b.run", "--port", "0", "-M", "mrr"]
    environment = {**os.environ, "TMPDIR": str(files / "tmp")}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        printed = server.stdout.readline() + server.stdout.readline()
        assert "2 run files; nothing is stored for later" in printed
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/", printed)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url}api/runs", timeout=300) as answer:
            runs = {entry["model"]: entry["headline"] for entry in json.load(answer)["runs"]}
        assert any(Path(files / "tmp").iterdir())
        server.send_signal(signal.SIGINT)
        _, complaints = server.communicate(timeout=300)
    finally:
        server.kill()
    assert (server.returncode, "Traceback" in complaints) == (0, False)
    for name in RUNS:
        expected = gr.score(GOLD, RUNS[name], "mrr")["mrr"]
        assert runs[name] == {
            "metric": "mrr",
            "value": expected.value,
            "low": expected.interval.low,
            "high": expected.interval.high,
        }
