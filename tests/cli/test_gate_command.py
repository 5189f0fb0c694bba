"""`goldrank gate` and `goldrank baseline`: exit codes, output formats, and refusals without an answer."""

import csv
import json
from pathlib import Path

import jsonschema
import pytest
from lxml import etree

import goldrank
from goldrank.cli.main import main
from goldrank.reporting.text.gate import to_junit
from goldrank.runs import gate as gate_module

XSD = etree.XMLSchema(etree.parse(str(Path(__file__).parent / "junit.xsd")))


def write_run(path, ranks):
    lines = [
        f"q{number} Q0 {'right' if place == rank else f'x{place}'} {place} {20 - place} t"
        for number, rank in enumerate(ranks)
        for place in range(1, 7)
    ]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(own_folder):
    """Gold, and runs that are the same, noisy and worse."""
    ranks = [1 + number * 7 % 4 for number in range(80)]
    (own_folder / "qrels.txt").write_text("".join(f"q{number} 0 right 1\n" for number in range(80)))
    write_run(own_folder / "main.run", ranks)
    write_run(own_folder / "same.run", ranks)
    write_run(own_folder / "noise.run", [max(1, rank + (-1, 1, 0)[at % 3]) for at, rank in enumerate(ranks)])
    write_run(own_folder / "bad.run", [rank + at % 3 for at, rank in enumerate(ranks)])
    return own_folder


ANSWERS = {"same": 0, "bad": 1, "noise": 3}


@pytest.mark.parametrize("new", ANSWERS)
def test_the_exit_code_is_the_answer_in_every_format(folder, capsys, new):
    for look in ("table", "json", "csv", "markdown", "github"):
        assert main(["gate", "qrels.txt", "main.run", f"{new}.run", "-M", "mrr", "--format", look]) == ANSWERS[new]
        captured = capsys.readouterr()
        assert new in captured.out or look == "csv"
        if look == "json":
            content = json.loads(captured.out)
            jsonschema.validate(content, goldrank.load_schema("gate"))
            assert content["exit_code"] == ANSWERS[new]


def test_csv_has_the_thresholds_that_the_answer_follows_from(folder, capsys):
    words = ["gate", "qrels.txt", "main.run", "same.run", "-M", "mrr", "--fail-under", "recall@1=0.5"]
    assert main([*words, "--format", "csv"]) == 1
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [(row["metric"], row["new"], row["limit"], row["answer"]) for row in rows] == [
        ("mrr", rows[0]["base"], "", "not_worse"),
        ("recall@1", "0.25", "0.5", "worse"),
    ]


def test_a_baseline_finds_its_gold_and_gives_the_numbers_of_the_run(folder, capsys):
    (folder / "eval").mkdir()
    assert main(["baseline", "save", "qrels.txt", "main.run", "-M", "mrr", "-o", "eval/baseline.json"]) == 0
    assert capsys.readouterr().out == "eval/baseline.json: main, 80 queries, mrr 0.5208\n"
    assert json.loads((folder / "eval/baseline.json").read_text())["data"]["file"] == "../qrels.txt"
    results = []
    for words in (["qrels.txt", "main.run"], ["eval/baseline.json"], ["qrels.txt", "eval/baseline.json"]):
        assert main(["gate", *words, "bad.run", "-M", "mrr", "--format", "json"]) == 1
        results.append(json.loads(capsys.readouterr().out)["checks"])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["qrels.txt", "main.run"], "this is not valid JSON"),
        (["main.run"], "required|arguments"),
        (["qrels.txt", "main.run", "bad.run", "same.run"], "4 arguments are given"),
        (["qrels.txt", "main.run", "none.run"], "none.run"),
        (["qrels.txt", "main.run", "bad.run", "--margin", "x"], "'x' is not a number"),
        (["qrels.txt", "main.run", "bad.run", "--margin", "nan"], "'nan' is not a number"),
        (["qrels.txt", "main.run", "bad.run", "--margin", "-1"], "not a number from 0 up"),
        (["qrels.txt", "main.run", "bad.run", "--margin", "ndcg@5=0.1"], "ndcg@5, which is not checked"),
        (["qrels.txt", "main.run", "bad.run", "--fail-under", "0.5"], "names no metric"),
        (["qrels.txt", "main.run", "bad.run", "--slice", "language"], "no attribute of queries 'language'"),
        (["qrels.txt", "main.run", "bad.run", "--store", "x"], "--store has no effect"),
        (["qrels.txt", "main.run", "bad.run", "--junit", "none/x.xml"], "the folder does not exist"),
        (["no-key-0000", "other-key-1111"], "no-key-0000"),
    ],
)
def test_bad_input_exits_with_2_and_prints_no_answer(folder, capsys, words, message):
    assert main(["gate", *words, "-M", "mrr"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert any(part in captured.err for part in message.split("|"))


def test_an_internal_error_exits_with_70_and_never_looks_like_a_decision(folder, capsys, monkeypatch):
    def fail(*_arguments, **_keywords):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(gate_module, "check_runs", fail)
    assert main(["gate", "qrels.txt", "main.run", "same.run", "-M", "mrr"]) == 70
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(gate_module, "check_runs", lambda *_: (_ for _ in ()).throw(MemoryError))
    assert main(["--quiet", "gate", "qrels.txt", "main.run", "same.run", "-M", "mrr"]) == 70
    monkeypatch.setattr(gate_module, "check_runs", lambda *_: (_ for _ in ()).throw(goldrank.GoldrankError("x")))
    assert main(["gate", "qrels.txt", "main.run", "same.run", "-M", "mrr"]) == 70


@pytest.mark.parametrize("new", ANSWERS)
@pytest.mark.parametrize("cannot_tell", ["pass", "fail", None])
def test_junit_fits_its_schema_and_counts_the_answers(folder, new, cannot_tell):
    options = [] if cannot_tell is None else ["--cannot-tell", cannot_tell]
    words = ["gate", "qrels.txt", "main.run", f"{new}.run", "-M", "mrr", "--fail-under", "mrr=0.9"]
    code = main([*words, "--junit", "gate.xml", *options])
    assert code == 1  # the threshold is missed
    tree = etree.parse("gate.xml")
    XSD.assertValid(tree)
    suite = tree.getroot()[0]
    undecided = {"pass": "skipped", "fail": "failure", None: "error"}[cannot_tell]
    first = {"same": "system-out", "bad": "failure", "noise": undecided}[new]
    assert [case[0].tag for case in suite] == [first, "failure"]
    assert suite.get("failures") == str(1 + (first == "failure"))


def test_junit_of_a_refused_gate_replaces_an_earlier_one_by_an_error(folder):
    assert main(["gate", "qrels.txt", "main.run", "same.run", "-M", "mrr", "--junit", "gate.xml"]) == 0
    (folder / "same.run").write_text("damaged\n")
    assert main(["gate", "qrels.txt", "main.run", "same.run", "-M", "mrr", "--junit", "gate.xml"]) == 2
    tree = etree.parse("gate.xml")
    XSD.assertValid(tree)
    assert tree.getroot()[0].get("errors") == "1"


def test_junit_of_an_internal_error_replaces_an_earlier_one_by_an_error(folder, monkeypatch):
    words = ["gate", "qrels.txt", "main.run", "same.run", "-M", "mrr", "--junit", "gate.xml"]
    assert main(words) == 0
    monkeypatch.setattr(gate_module, "check_runs", lambda *_: 1 / 0)
    assert main(words) == 70
    suite = etree.parse("gate.xml").getroot()[0]
    assert (suite.get("errors"), suite.get("tests")) == ("1", "1")
    assert "internal error, ZeroDivisionError" in suite[0][0].get("message")


def test_text_of_users_cannot_break_junit_annotations_or_markdown(folder, capsys):
    XSD.assertValid(etree.fromstring(to_junit(None, "a<b> & \x00 \x1b ]]>")).getroottree())
    name = "50%\n::error::x<img>\x1b[2J.run"
    (folder / name).write_text((folder / "bad.run").read_text())
    assert main(["gate", "qrels.txt", "main.run", name, "-M", "mrr", "--format", "github"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::error title=goldrank%3A worse::50%25%0A::error::x<img>\\x1b[2J is worse than main")
    assert main(["gate", "qrels.txt", "main.run", name, "-M", "mrr"]) == 1
    assert "\n::error::" not in capsys.readouterr().out
    assert main(["gate", "qrels.txt", "main.run", name, "-M", "mrr", "--format", "markdown"]) == 1
    assert "<img>" not in capsys.readouterr().out.split("<details>")[0]


def test_slices_of_a_file_are_checked_with_all_queries(folder, capsys):
    rows = "".join(f"q{number},{'de' if number % 2 else 'en'}\n" for number in range(80))
    (folder / "queries.csv").write_text(f"query,language\n{rows}")
    words = ["gate", "qrels.txt", "main.run", "bad.run", "-M", "mrr", "--slices", "queries.csv"]
    for more in ([], ["--slice", "language"]):
        assert main([*words, *more, "--format", "json"]) == 1
        content = json.loads(capsys.readouterr().out)
        assert sorted(check["slice"] for check in content["checks"]) == ["", "language=de", "language=en"]


def test_a_sequential_gate_reads_the_first_queries(folder, capsys):
    (folder / "part.run").write_text("\n".join((folder / "bad.run").read_text().splitlines()[: 6 * 60]) + "\n")
    assert main(["gate", "qrels.txt", "main.run", "part.run", "-M", "mrr"]) == 2
    assert "part answered 60 of 80 queries" in capsys.readouterr().err
    assert main(["gate", "qrels.txt", "main.run", "part.run", "-M", "mrr", "--sequential", "--format", "json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert (content["planned"], content["checks"][0]["queries"]) == (80, 60)
