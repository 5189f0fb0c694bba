"""`--label` of score, compare, report and plot: a run has the name that the user gives it, and no label is ignored."""

import json
import re

import pytest

import goldrank as gr
from command_runs import run
from goldrank.store import Store
from stored_examples import gold, rankings, save_masked, save_ranked

FAST = ("--resamples", "200", "--worst", "0")
FIGURE = ("--figure", "leaderboard", "--format", "svg", "-o", "figures")


@pytest.fixture
def store(own_folder, monkeypatch):
    """A store with two models on two tasks, and the gold and the rankings of one as files."""
    monkeypatch.setenv("GOLDRANK_STORE", str(own_folder / "store"))
    store = Store.open(own_folder / "store")
    for task in ("wines", "films"):
        save_ranked(store, {"bm25": 2, "st:a/long-name": 9}, task)
    gold().write("qrels.txt", format="trec")
    for name, skill in {"one": 2, "two": 9}.items():
        rankings(skill).write(f"{name}.run", format="trec")
    return store


def names(path):
    """Return the first cell of each row of a leaderboard in a report in Markdown."""
    return set(re.findall(r"^\| [ab] (\S+) \|", path.read_text("utf-8"), re.MULTILINE))


def test_a_label_names_stored_runs_by_key_or_model_in_a_report(store, own_folder, capsys):
    report = own_folder / "report.md"
    assert run(capsys, "report", "--task", "wines", "--label", "small=st:a/long-name", "-o", "report.md", *FAST)[0] == 0
    assert names(report) == {"bm25", "small"}
    assert "small is better than bm25" in report.read_text("utf-8")
    [key] = [run.key for run in store.latest("wines") if run.model == "bm25"]
    assert run(capsys, "report", "wines-st", "--label", f"lexical={key}", "-o", "report.md", *FAST)[0] == 0
    assert names(report) == {"lexical", "st:a/long-name"}
    assert re.search(rf"goldrank report \S+ \S+ --label lexical={key} ", report.read_text("utf-8"))


def test_a_label_of_a_model_names_its_runs_of_all_tasks(store):
    labels, how = {"small": "st:a/long-name"}, gr.Bootstrap(resamples=200)
    report = gr.report([run.key for run in store.list()], labels=labels, worst=0, bootstrap=how)
    assert [{origin.name for origin in section.runs} for section in report.sections] == [{"bm25", "small"}] * 2


def test_a_label_names_files_in_a_report(store, own_folder, capsys):
    files = ("qrels.txt", "one.run", "--label", "second=two.run")
    assert run(capsys, "report", *files, "-o", "report.md", *FAST)[0] == 0
    assert names(own_folder / "report.md") == {"one", "second"}
    assert "qrels.txt one.run two.run --label second=two.run" in (own_folder / "report.md").read_text("utf-8")
    runs, how = {"a": "one.run", "b": rankings(9)}, gr.Bootstrap(resamples=200)
    named = gr.report(runs, gold="qrels.txt", labels={"first": "a"}, worst=0, bootstrap=how)
    assert {origin.name for origin in named.sections[0].runs} == {"first", "b"}


def test_a_label_names_runs_in_figures(store, own_folder, capsys):
    figure = own_folder / "figures" / "leaderboard.svg"
    for arguments, expected in (
        (("wines-bm25", "--label", "small=wines-st", "--label", "lexical=bm25"), {"lexical", "small"}),
        (("qrels.txt", "one.run", "--label", "second=two.run"), {"one", "second"}),
    ):
        assert run(capsys, "plot", *arguments, *FIGURE)[0] == 0
        labels = set(re.findall(r"<!-- (\S+) -->", figure.read_text("utf-8")))
        assert expected <= labels
        assert not labels & {"bm25", "st:a/long-name", "one", "two"} - expected


def test_a_label_names_files_of_masked_predictions_and_keeps_their_size(store, own_folder):
    record = {"page": 7, "mask": 0, "title": "Ada Fox", "guesses": ["Fox"], "scores": [0.5]}
    (own_folder / "net-7b.jsonl").write_text(json.dumps(record))
    [stored] = save_masked(store, ["names:majority"], 3)
    labels = {"net": "net-7b.jsonl", "guess": "names:majority"}
    plots = gr.plot(["net-7b.jsonl", stored.key], figures=["accuracy-by-k"], labels=labels)
    assert {"net", "guess"} <= set(plots.figures[0].palette)


def test_score_and_compare_take_models_as_labels_too(store, capsys):
    for command in ("score", "compare"):
        code, out, _ = run(
            capsys, command, "--task", "wines", "--label", "small=st:a/long-name", "-M", "mrr", "--format", "json"
        )
        assert code == 0
        assert "small" in [entry["name"] for entry in json.loads(out)["runs"]]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("report qrels.txt one.run --label x=tow.run", "did you mean 'two.run'?"),
        ("report qrels.txt one.run two.run --label two=one.run", "the label 'two' is the name of another run"),
        ("report --task wines --label x=bm52", "there is no run for the label 'x': 'bm52'; did you mean 'bm25'?"),
        ("score --task wines --label x=films-bm25", "there is no run for the label 'x': 'films-bm25'"),
        ("compare --task wines --label x=bm52", "there is no run for the label 'x': 'bm52'; did you mean 'bm25'?"),
        ("plot --task wines --label x=one.run", "there is no run for the label 'x': 'one.run'"),
        ("plot wines-bm25 --label x=nothing", "there is no stored run 'nothing'"),
        ("report --task wines --label bm25=wines-st", "the label 'bm25' is the name of another run"),
        ("report --task wines --label a=bm25 --label b=wines-bm25", "has the labels 'a' and 'b'; give it one"),
        ("report wines-bm25 --label bm25", "write --label NAME=SPEC"),
        ("compare --task wines --task films --label x=bm25", "the label 'x' stands for"),
    ],
)
def test_a_label_of_no_run_or_with_a_name_of_another_is_refused(store, capsys, command, said):
    code, _, err = run(capsys, *command.split())
    assert code == 2
    assert said in " ".join(err.split())
