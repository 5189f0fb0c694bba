"""Test that no store, key, error or command line contains a secret, and that no terminal gets control characters."""

import ast
import io
import json
import sys
from pathlib import Path

import pytest

import goldrank
from goldrank.cli import printing
from goldrank.cli.main import main
from goldrank.encoders import load
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.escaping import escape_cell, escape_json, escape_line, escape_text
from goldrank.redaction import redact, redact_all, redact_command
from goldrank.reporting.text import results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.store import Store
from goldrank.store.keys import canonical_json, digest
from goldrank.tasks.ranking.models import load_model
from http_servers import HttpServer, json_reply

SECRET = "s3cr3t"
WITH_A_SECRET = [
    f"postgresql://me:{SECRET}@host/db",
    f"postgresql://me:{SECRET}/with@signs@host:5432/db",
    f"postgresql://host/db?user=me&password={SECRET}",
    f"http:https://host/search?api_key={SECRET}&size=3(results=hits)",
    f"http:https://{SECRET}@host/search",
    f"openai:m@https://user:{SECRET}@host/v1",
    f"s3://key:{SECRET}@bucket/a?region=eu",
    f"https://bucket/a?X-Amz-Signature={SECRET}&X-Amz-Date=1",
    f"https://host/a?accessToken={SECRET}",
    f"""http:http://host/s(method=post,body='{{"api_key": "{SECRET}", "k": 3}}')""",
    f"Authorization: Bearer {SECRET}",
    f"authorization: {SECRET}",
    f"fuse:rrf(bm25,http:http://h/s?token={SECRET},http:http://g/s?secret={SECRET})",
]
WITHOUT = [
    "fuse:rrf(openai:bge@http://h1:8000/v1,openai:e5@http://h2:9000/v1)",
    "openai:bge@http://localhost:8000/v1(key=MY_KEY)",
    "pgvector:postgresql://me@localhost:5432/db?table=a",
    "http:http://h/search?sort_key=date&max_tokens=3&author=x",
    "st:BAAI/bge-base-en-v1.5(query_prompt='query: a bearer of news')",
    "set a token with --token or GOLDRANK_TOKEN",
    "mail me@host about 12:30@noon",
]


@pytest.mark.parametrize("text", WITH_A_SECRET)
def test_a_secret_is_hidden_everywhere_and_redacting_twice_changes_nothing(text):
    assert SECRET not in redact(text)
    assert redact(redact(text)) == redact(text)
    assert SECRET not in str(InputError(f"cannot reach {text}", where=text, remedy=text))
    assert SECRET not in str(GoldrankError(text))
    assert SECRET not in shorten(text, limit=text.index(SECRET) + 3)
    assert SECRET not in json.dumps(redact_all({"a": [text], "b": {"c": text}}))


@pytest.mark.parametrize("text", WITHOUT)
def test_what_holds_no_secret_stays_as_it_is(text):
    assert redact(text) == text


def test_what_differs_only_in_a_secret_has_one_key_and_everything_else_keeps_its_own():
    first, second = ({"model": f"http://host/a?token={word}&k=3"} for word in ("abc", "xyz"))
    assert digest(first) == digest(second)
    assert digest({"model": "http://host/a?k=3"}) != digest({"model": "http://host/a?k=4"})
    assert "abc" not in canonical_json(first, "inputs")


def test_a_model_is_named_and_identified_without_its_secret():
    specs = [f"http:http://localhost:1/search?api_key={word}" for word in ("abc", "xyz")]
    first, second = map(load_model, specs)
    assert (first.spec, first.identity) == (second.spec, second.identity)
    assert "abc" not in first.spec + first.identity
    assert load(specs[0]).identity == load(specs[1]).identity


def test_the_variable_that_holds_a_key_is_no_part_of_an_identity(monkeypatch):
    monkeypatch.setenv("ONE", "a")
    monkeypatch.setenv("TWO", "b")
    assert load("openai:m@http://h/v1(key=ONE)").identity == load("openai:m@http://h/v1(key=TWO)").identity


def test_a_stored_command_line_holds_no_value_of_a_secret_option():
    line = redact_command(["run", "--token", SECRET, f"--api-key={SECRET}", f"A_TOKEN={SECRET}", "--store", "a b"])
    assert SECRET not in line
    assert line.endswith("--store 'a b'")
    assert redact_command(["run", "--password", "--debug"]) == "run --password --debug"


def test_a_secret_of_a_model_reaches_no_file_no_output_and_no_page(tmp_path, monkeypatch, capsys):
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    (data / "corpus.jsonl").write_text("".join(json.dumps({"_id": n, "text": n}) + "\n" for n in ("d1", "d2")))
    (data / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "which"}) + "\n")
    (data / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    server = HttpServer(lambda request: json_reply({"results": [{"id": "d1", "score": 1.0}]}))
    store, report = str(tmp_path / "store"), str(tmp_path / "report.html")
    model = f"http:{server.url}/search?api_key={SECRET}"
    command = ["run", "-m", model, "bm25", "-t", str(data), "--store", store]
    monkeypatch.setattr(sys, "argv", ["goldrank", *command])
    assert main([*command, "--format", "json"]) == 0
    assert main(command) == 0
    other = [word.replace(SECRET, "an0th3r") for word in command]
    server.close()
    assert main([*other, "--reuse"]) == 0, "another secret is no other model, so that nothing is asked again"
    keys = [run.key for run in Store.open(store).list()]
    assert len(keys) == 3  # two versions of the server, and bm25
    for key in keys:
        assert main(["runs", "show", key, "--store", store, "--format", "json"]) == 0
    assert main(["runs", "list", "--store", store]) == 0
    assert main(["report", *keys, "--store", store, "-o", report]) == 0
    output = capsys.readouterr()
    assert "api_key=***" in output.out
    for word in (SECRET, "an0th3r"):
        assert word not in output.out + output.err
        for path in tmp_path.rglob("*"):
            assert word not in path.name
            assert path.is_dir() or word.encode() not in path.read_bytes(), path


CONTROLS = ["\x1b[2J", "\x07", "\x9b31m", "\u202e", "\u2066", "\r", "\x00", "\x7f", "\ud800"]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("look", ["table", "markdown", "latex"])
def test_no_table_carries_a_control_character(control, look):
    grid = Grid([f"h{control}"], [[Cell(f"id{control}", detail=f"d{control}")]], f"t{control}", [f"n{control}"])
    assert control[0] not in render([grid], look)


@pytest.mark.parametrize("control", CONTROLS)
def test_what_is_said_or_shown_on_a_terminal_carries_no_control_character(control, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", out := Terminal())
    monkeypatch.setattr(sys, "stderr", err := io.StringIO())
    printing.show(f"id {control}\nsecond")
    printing.say(f"no file {control}\ngoldrank: all is well")
    assert control[0] not in out.getvalue() + err.getvalue()
    assert out.getvalue().count("\n") == 2
    assert err.getvalue().count("\n") == 1


def test_a_pipe_gets_csv_exactly_and_json_the_same_data(monkeypatch):
    monkeypatch.setattr(sys, "stdout", out := io.StringIO())
    printing.show("a\x1bb")
    assert out.getvalue() == "a\x1bb\n"
    content = {"id": "a\u202e\x9b\x1b\n"}
    assert json.loads(results.to_json(content)) == content
    assert results.to_json(content).isascii()
    assert escape_json('{"é": 1}') == '{"é": 1}'


def test_visible_escapes_can_be_told_apart():
    assert escape_text("a\tb\nc") == "a\tb\nc"
    assert escape_line("a\tb\nc") == r"a\tb\nc"
    assert escape_text("naïve 日本 🙂") == "naïve 日本 🙂"


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(1)"])
def test_no_cell_of_a_report_is_a_formula(cell):
    written = results.to_csv([["run"], [cell]])
    assert f"'{cell}" in written
    assert escape_cell(f"x{cell}") == f"x{cell}"


@pytest.mark.parametrize("cell", [-0.5, "-0.5", "+1e-3", "-12", None, 0, "bm25", ""])
def test_numbers_and_plain_names_stay_as_they_are_in_a_report(cell):
    assert escape_cell(cell) == cell


def test_run_files_keep_ids_that_look_like_formulas(tmp_path):
    run = goldrank.Run({"=q": {"-d1": 2.0, "@d2": 1.0, "'+d3": 0.5}})
    run.write(tmp_path / "run.csv")
    assert goldrank.Run.read(tmp_path / "run.csv").to_dict() == run.to_dict()


def test_only_the_module_for_printing_prints():
    package = Path(goldrank.__file__).parent
    for path in sorted(package.rglob("*.py")):
        if path.name == "printing.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id
            assert called != "print", f"{path.name}:{node.lineno}: use goldrank.cli.printing"
