"""`goldrank runs`, and keys in place of files: stored runs are shown, exported, scored, compared and deleted."""

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from goldrank import Gold, Run, score
from goldrank.cli.main import main
from goldrank.store import RunRecord

GOLD = Gold({"q1": {"d1": 2, "d2": 0}, "q2": {"d4": 1}, "q3": {"d9": 1}})
LEXICAL = Run({"q1": {"d2": 3.5, "d1": 3.0, "d7": 1.0}, "q2": {"d8": 2.0, "d4": 1.0}})
DENSE = Run({"q1": {"d1": 0.9, "d3": 0.8}, "q2": {"d4": 0.7}, "q3": {"d9": 0.7}})


class Terminal(io.StringIO):
    def isatty(self):
        return True


def record(model, run, task="wines", gold=GOLD, **changes):
    inputs = {"task": task, "model": model, "text": {"title": True, "limit": None}}
    fields = {"run": run, "metrics": ("mrr", "recall@1"), **changes}
    return RunRecord(task, model, inputs, {"seconds": 2.25, "python": "3"}, run.hits(gold, corpus=20), **fields)


@pytest.fixture
def store(own_folder, store):
    store.lexical = store.save(record("bm25", LEXICAL)).key
    store.dense = store.save(record("st:a/dense", DENSE)).key
    return store


def run(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_list_shows_the_first_metric_and_the_store(capsys, store):
    code, out, err = run(capsys, "runs", "list")
    assert (code, err) == (0, "")
    for expected in (store.lexical, store.dense, "st:a/dense", "mrr↑", "0.3333", "1.0000", "2 runs in", store.where):
        assert expected in out


def test_list_has_the_same_content_in_all_formats(capsys, store):
    content = json.loads(run(capsys, "runs", "list", "--format", "json")[1])
    assert [(entry["key"], entry["metric"], entry["queries"]) for entry in content["runs"]] == [
        (store.lexical, "mrr", 3),
        (store.dense, "mrr", 3),
    ]
    rows = list(csv.DictReader(io.StringIO(run(capsys, "runs", "list", "--format", "csv")[1])))
    assert [(row["key"], float(row["value"])) for row in rows] == [(e["key"], e["value"]) for e in content["runs"]]
    assert f"| {store.dense} |" in run(capsys, "runs", "list", "--format", "markdown")[1]


def test_list_selects_by_task_and_model_and_reports_no_match(capsys, store):
    out = run(capsys, "runs", "list", "--model", "st:*", "--task", "wines", "--format", "csv")[1]
    assert store.dense in out
    assert store.lexical not in out
    assert run(capsys, "runs", "list", "--task", "games")[1].startswith("There are no runs that match in")
    assert run(capsys, "runs", "list", "--store", "none")[1].startswith("There are no runs in")


def test_list_includes_runs_with_damaged_tables(capsys, store):
    (store.get(store.dense).folder / "hits.parquet").write_bytes(b"")
    code, out, _ = run(capsys, "runs", "list")
    assert code == 0
    assert "the tables of 1 run cannot be read" in out
    code, _, err = run(capsys, "runs", "show", store.dense)
    assert code == 2
    assert "--overwrite always" in err


def test_show_gives_provenance_and_scores(capsys, store):
    code, out, err = run(capsys, "runs", "show", store.dense[:-1])
    assert (code, err) == (0, "")
    for expected in (store.dense, "st:a/dense", "inputs.text.title", "environment.python", "mrr↑", "3 queries"):
        assert expected in out
    content = json.loads(run(capsys, "runs", "show", store.dense, "--format", "json")[1])
    assert content["inputs"]["text"] == {"title": True, "limit": None}
    assert content["runs"][0]["scores"]["recall@1"]["mean"] == 1.0
    assert ["inputs.model", "st:a/dense"] in list(
        csv.reader(io.StringIO(run(capsys, "runs", "show", store.dense, "--format", "csv")[1]))
    )


@pytest.mark.parametrize("suffix", ["run", "json", "csv", "parquet", "run.gz"])
def test_an_exported_run_reads_back_the_same(capsys, store, suffix):
    assert run(capsys, "runs", "export", store.lexical, "-o", f"out.{suffix}") == (0, "", "")
    assert Run.read(f"out.{suffix}") == LEXICAL


def test_several_runs_are_exported_to_a_folder_only(capsys, store, tmp_path):
    arguments = ["runs", "export", store.lexical, store.dense, "--what", "gold"]
    assert run(capsys, *arguments, "-o", "out")[0] == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(
        [f"{store.lexical}.qrels", f"{store.dense}.qrels"]
    )
    assert Gold.read(f"out/{store.dense}.qrels") == GOLD
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert "name a folder" in err


def test_exported_hits_are_one_row_per_judged_item(capsys, store):
    _, out, _ = run(capsys, "runs", "export", store.lexical, "--what", "hits")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["query"], row["item"], row["above"], row["depth"]) for row in rows] == [
        ("q1", "d1", "1", "3"),
        ("q1", "d2", "0", "3"),
        ("q2", "d4", "1", "2"),
        ("q3", "d9", "-1", "0"),
    ]
    run(capsys, "runs", "export", store.lexical, "--what", "hits", "-o", "hits.parquet")
    assert pyarrow.parquet.read_table("hits.parquet")["above"].to_pylist() == [1, 0, 1, -1]
    run(capsys, "runs", "export", store.lexical, "--what", "hits", "-o", "hits.json")
    assert [entry["above"] for entry in json.loads(Path("hits.json").read_text())] == [1, 0, 1, -1]
    code, _, err = run(capsys, "runs", "export", store.lexical, "--what", "hits", "--format", "trec")
    assert code == 2
    assert "hits cannot be written as trec" in err


def test_a_run_without_rankings_cannot_be_exported_as_one(capsys, store):
    key = store.save(replace(record("other", DENSE), run=None)).key
    code, _, err = run(capsys, "runs", "export", key)
    assert code == 2
    assert "--what hits" in err


def test_delete_needs_yes_without_a_terminal(capsys, store):
    code, out, err = run(capsys, "runs", "delete", store.dense)
    assert (code, out) == (2, "")
    assert f"this would remove {store.dense}" in err
    assert len(store.list()) == 2
    assert run(capsys, "runs", "delete", store.dense, "--yes")[0] == 0
    assert [entry.key for entry in store.list()] == [store.lexical]


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 1), ("n\n", 1, 2), ("", 1, 2)])
def test_delete_asks_on_a_terminal(monkeypatch, store, answer, code, left):
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", Terminal())
    assert main(["runs", "delete", store.dense]) == code
    assert len(store.list()) == left


def test_score_of_keys_gives_the_run_s_own_metrics_and_any_others(capsys, store):
    content = json.loads(run(capsys, "score", store.lexical, store.dense, "--format", "json")[1])
    assert [entry["name"] for entry in content["runs"]] == [store.lexical, store.dense]
    assert list(content["runs"][0]["scores"]) == ["mrr", "recall@1"]
    content = json.loads(run(capsys, "score", "wines-bm25", "-M", "ndcg@10", "--format", "json")[1])
    expected = score(GOLD, LEXICAL, "ndcg@10")["ndcg@10"].mean
    assert content["runs"][0]["scores"]["ndcg@10"]["mean"] == expected


@pytest.mark.parametrize("profile", ["trec_eval9", "beir", "evalrank", "sdr"])
def test_score_of_a_key_under_a_profile_is_that_of_the_files(capsys, store, profile):
    GOLD.write("qrels.txt")
    LEXICAL.write("lexical.run")
    options = ["--profile", profile, "--format", "json", "-M", "mrr", "-M", "recall@2"]
    by_key = json.loads(run(capsys, "score", store.lexical, *options)[1])
    by_file = json.loads(run(capsys, "score", "qrels.txt", "lexical.run", "--corpus", "20", *options)[1])
    assert by_key["runs"][0]["scores"] == by_file["runs"][0]["scores"]
    assert by_key["conventions"] == by_file["conventions"]


def test_profiles_side_by_side_are_explained(capsys, store):
    code, out, _ = run(capsys, "score", store.lexical, "--profiles", "standard,trec_eval", "-M", "mrr")
    assert code == 0
    assert "missing zero → skip" in out


def test_score_takes_options_between_files(capsys, store):
    GOLD.write("qrels.txt")
    LEXICAL.write("lexical.run")
    DENSE.write("dense.run")
    code, out, _ = run(capsys, "score", "qrels.txt", "-M", "mrr", "lexical.run", "--format", "csv", "dense.run")
    assert code == 0
    assert [row["run"] for row in csv.DictReader(io.StringIO(out))] == ["lexical", "dense"]


def test_a_file_takes_precedence_over_a_key(capsys, store, tmp_path):
    GOLD.write(store.lexical, format="trec")
    LEXICAL.write("lexical.run")
    code, out, _ = run(capsys, "score", store.lexical, "lexical.run", "-M", "mrr", "--format", "csv")
    assert code == 0
    assert out.splitlines()[1].startswith("lexical,mrr,")


def test_compare_of_keys_is_that_of_the_files(capsys, store):
    GOLD.write("qrels.txt")
    LEXICAL.write(f"{store.lexical}.run")
    DENSE.write(f"{store.dense}.run")
    # A run file that lacks queries is compared only if --missing says how they count.
    options = ["-M", "mrr", "--missing", "zero", "--format", "json"]
    by_key = json.loads(run(capsys, "compare", store.lexical, store.dense, *options)[1])
    by_file = json.loads(run(capsys, "compare", "qrels.txt", f"{store.lexical}.run", f"{store.dense}.run", *options)[1])
    assert by_key["comparison"] == by_file["comparison"]
    assert by_key["comparison"]["pairs"]


def test_a_task_stands_for_its_runs_on_the_data_that_was_evaluated_last(capsys, store, tmp_path):
    options = ["-M", "mrr", "--format", "json"]
    by_task = run(capsys, "score", "--task", "wines", *options)
    assert by_task == run(capsys, "score", store.lexical, store.dense, *options)
    assert run(capsys, "compare", "--task", "wines", *options)[0] == 0
    code, out, _ = run(capsys, "report", "--task", "wines", "-o", "report.md")
    assert (code, out) == (0, "report.md\n")
    page = (tmp_path / "report.md").read_text("utf-8")
    assert store.lexical in page
    assert store.dense in page
    code, out, _ = run(capsys, "plot", "--task", "wines", "--figure", "leaderboard", "-o", "figures")
    assert (code, out) == (0, "figures/leaderboard.png\n")
    newer = record("bm25", DENSE)
    key = store.save(replace(newer, inputs={**newer.inputs, "data": "changed"})).key
    code, out, err = run(capsys, "score", "--task", "wines", *options)
    assert (code, out) == run(capsys, "score", key, *options)[:2]
    assert "note: 2 runs of wines on other data are left out; name keys to choose runs" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "--task", "wine"], "there is no task in the store 'wine'; did you mean 'wines'?"),
        (["report", "--task", "wines", "x.run"], "'x.run' is given beside --task; give keys or files, or --task"),
        (["compare"], "no run is given; give GOLD and run files, keys of stored runs, or --task TASK"),
        (["plot"], "no run is given; give GOLD and run files, keys of stored runs, or --task TASK"),
    ],
)
def test_a_task_without_runs_or_beside_keys_is_refused(capsys, store, arguments, message):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert message in err


def test_runs_that_cannot_be_compared_are_refused(capsys, store):
    other_task = store.save(record("bm25", LEXICAL, task="games")).key
    code, _, err = run(capsys, "compare", store.dense, other_task)
    assert code == 2
    assert "are of different tasks (wines and games)" in err
    other_gold = store.save(record("limited", LEXICAL, gold=Gold({"q1": {"d1": 1}}))).key
    code, _, err = run(capsys, "compare", store.dense, other_gold)
    assert code == 2
    assert "were judged by different gold" in err
    other_profile = store.save(record("other", LEXICAL, profile="sdr")).key
    code, _, err = run(capsys, "compare", store.dense, other_profile)
    assert code == 2
    assert "--profile" in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["score", "nobody"], "there is no file and no stored run 'nobody'"),
        (["score", "wines"], "may be any of"),
        (["score", "wines-bm25", "missing.run"], "'missing.run' cannot be the key of a stored run"),
        (["score", "wines-bm25", "--corpus", "9"], "--corpus needs files, and there is no file 'wines-bm25'"),
        (["score", "wines-bm25", "wines-bm25"], "given twice"),
        (["compare", "wines-bm25"], "two runs or more"),
        (["score", "wines-bm25", "-M", "nonsense"], "nonsense"),
        (["runs", "show", "nobody"], "there is no stored run 'nobody'"),
        (["runs", "delete", "nobody", "--yes"], "there is no stored run 'nobody'"),
        (["runs"], "list|show|export|delete"),
        (["runs", "list", "--store", "mysql://host/x"], "a database of the kind 'mysql'"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(capsys, store, arguments, expected):
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_scoring_files_does_not_load_the_database(store):
    GOLD.write("qrels.txt")
    LEXICAL.write("lexical.run")
    code = (
        "import sys; from goldrank.cli.main import main; main(['score', 'qrels.txt', 'lexical.run', '-M', 'mrr']);"
        "sys.exit(sum(name in sys.modules for name in ('sqlalchemy', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
