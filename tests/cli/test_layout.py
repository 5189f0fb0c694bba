"""The output of every command fits the terminal: no line is wider, whatever the width, the encoding or the data."""

import csv
import io
import os
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from goldrank.cli.main import COMMANDS, main
from goldrank.terminal import display_width

LISTS = (
    "tasks collections models indexes predictors transforms similarities metrics profiles conventions formats slices"
)
SHOWN = [
    "run -m bm25 tfidf fuse:rrf(bm25,tfidf) -t wines --worst 2",
    "run -m bm25 -t wines --verbose",
    "run -m random:8 -t sentence-pairs",
    "run -m bm25 tfidf -t wines --dry-run",
    "score qrels.txt one.run two.run",
    "score qrels.txt a-run-with-a-long-name-日本語.run",
    "score qrels.txt one.run two.run a-run-with-a-long-name-日本語.run -M ndcg@1,2,3,4,5,6,7",
    "score qrels.txt one.run two.run a-run-with-a-long-name-日本語.run -M ndcg@1,2,3,4,5,6,7,8,9,10",
    "score qrels.txt one.run --profiles standard,trec_eval,sdr",
    "score qrels.txt one.run --per-query",
    "compare qrels.txt one.run two.run a-run-with-a-long-name-日本語.run",
    "run -m bm25 tfidf -t wines games",
    "compare --across wines-bm25 wines-tfidf games-bm25 games-tfidf",
    "compare wines-bm25 wines-tfidf -M mrr --slice query_length",
    "gate wines-bm25 wines-tfidf -M mrr -M ndcg@10 --slice query_length --fail-under mrr=0.1",
    "diff one.run two.run",
    "diff one.run two.run a-run-with-a-long-name-日本語.run",
    "meta scores.csv --downstream accuracy f1",
    "audit corpus.jsonl queries.jsonl qrels.tsv -m random:8 --factory Flat --factory HNSW8",
    "sensitivity -m random:8 random:4 -t wines --similarity cosine,dot --transform none,center --resamples 100",
    "masked score masked-persons",
    "masked check persons",
    "masked match Obama Barack Michelle",
    "runs list",
    "runs show wines-bm25",
    "cache info",
    "plan --item-count 1m --dim 64 --query-count 10",
    "data check wines",
    "index info index",
    "index search index text -k 2",
    "similarity red blue -m random:8",
    "explain ndcg@10 mrr --profile sdr",
    *(f"list {what}" for what in LISTS.split()),
    "--help",
]
# The exit codes of commands that answer a question with no, or with "cannot tell".
ANSWERS = {"diff one": 1, "gate wines": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Gold, runs, texts, a table of scores, and a store with a run of each kind."""
    place = tmp_path_factory.mktemp("layout")
    queries = range(1, 6)
    (place / "qrels.txt").write_text("".join(f"q{number} 0 d{number} 1\n" for number in queries))
    for name, gap in (("one", 0), ("two", 1), ("a-run-with-a-long-name-日本語", 2)):
        rows = [f"q{n} Q0 d{(n + gap + rank) % 6} {rank + 1} {9 - rank} x\n" for n in queries for rank in range(3)]
        (place / f"{name}.run").write_text("".join(rows))
    texts = [f'{{"_id": "d{number}", "text": "text {number} of some words"}}\n' for number in range(40)]
    (place / "corpus.jsonl").write_text("".join(texts))
    (place / "queries.jsonl").write_text("".join(f'{{"_id": "q{n}", "text": "text {n}"}}\n' for n in queries))
    (place / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{n}\td{n}\t1\n" for n in queries))
    scores = [f"m{model},{name},{model * weight % 7}\n" for model in range(6) for weight, name in NAMES.items()]
    (place / "scores.csv").write_text("model,evaluator,value\n" + "".join(scores))
    before = Path.cwd()
    os.chdir(place)
    try:
        assert main([*SHOWN[0].split(), "--quiet"]) == 0
        assert main(["masked", "predict", "persons", "-m", "names:majority", "--quiet"]) == 0
        assert main(["index", "build", "corpus.jsonl", "-m", "random:8", "-o", "index"]) == 0
    finally:
        os.chdir(before)
    return place


NAMES = {3: "an evaluator with a long name", 5: "STSBenchmark", 4: "accuracy", 2: "f1"}


@pytest.mark.parametrize(
    "width", [80, pytest.param(120, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.slow)]
)
def test_no_line_is_wider_than_the_terminal(folder, capsys, monkeypatch, width):
    monkeypatch.chdir(folder)
    for command in [*SHOWN, *(f"{name} --help" for name in COMMANDS)]:
        monkeypatch.setenv("COLUMNS", str(width))
        # argparse exits after --help.
        with suppress(SystemExit):
            assert main(command.split()) == exit_code(command)
        lines = capsys.readouterr().out.splitlines()
        assert lines
        # A word of a command cannot be broken.
        wide = [line for line in lines if display_width(line) > width and not _is_one_word(line)]
        assert wide == [], command


def exit_code(command):
    return next((code for beginning, code in ANSWERS.items() if command.startswith(beginning)), 0)


def _is_one_word(line):
    return line.startswith("      ") and " " not in line.strip().removesuffix(" \\")


def test_a_file_and_a_pipe_get_each_row_on_one_line_and_a_file_all_conventions(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    arguments = "score qrels.txt one.run two.run -M ndcg@1,2,3,4,5,6,7 --no-interval"
    assert main(arguments.split()) == 0
    piped = capsys.readouterr().out
    assert len(next(line for line in piped.splitlines() if line.startswith("one ")).split()) == 8
    assert "Standard conventions; --verbose shows all 21." in piped
    assert main([*arguments.split(), "-o", "table.txt"]) == 0
    written = (folder / "table.txt").read_text()
    assert "Profile standard: ties=docid" in written
    assert piped.splitlines()[0] == written.splitlines()[0]
    assert main([*arguments.split(), "--verbose"]) == 0
    assert capsys.readouterr().out == written


def test_the_line_on_conventions_names_those_that_are_not_standard(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["score", "qrels.txt", "one.run", "--ties", "expected", "-M", "mrr"]) == 0
    assert "Standard conventions except ties=expected; --verbose shows all 12." in capsys.readouterr().out
    assert main(["compare", "wines-bm25", "wines-tfidf", "-M", "mrr"]) == 0
    assert "\nStandard conventions except self_matches=drop; " in capsys.readouterr().out
    assert main(["score", "qrels.txt", "one.run", "--profile", "sdr", "-M", "mrr"]) == 0
    notes = " ".join(capsys.readouterr().out.split())
    assert "Profile sdr: standard conventions except " in notes
    assert "mrr(origin=0, unfound=skip, worst=queries); --verbose shows all" in notes


def test_quiet_prints_results_and_warnings_only(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["--quiet", "run", "-m", "bm25", "-t", "wines"]) == 0
    assert capsys.readouterr().err == ""
    assert "GOLDRANK_PROGRESS" not in os.environ
    assert main(["score", "qrels.txt", "two.run", "--format", "csv", "--quiet"]) == 0
    assert "warning: " in capsys.readouterr().err
    assert main(["score", "qrels.txt", "one.run", "--quiet", "--verbose"]) == 2
    assert "contradict each other" in capsys.readouterr().err


def run_on_terminal(arguments, folder, columns, **environment):
    """Return the exit code and the output of a command on a real terminal of this many columns."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 0, columns, 0, 0))
    command = [sys.executable, "-m", "goldrank", *arguments]
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, "TERM": "xterm", **environment}, stdin=inner, stdout=inner, stderr=inner
    ) as process:
        os.close(inner)
        output = b""
        # Reading from a terminal fails when the last process that has it open ends.
        while chunk := _read(outer):
            output += chunk
    os.close(outer)
    return process.returncode, output.decode(environment.get("PYTHONIOENCODING", "utf-8"))


def _read(descriptor):
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("columns", "width", "environment"),
    [
        (80, 80, {}),
        (0, 80, {"PYTHONIOENCODING": "ascii"}),
        pytest.param(120, 120, {"NO_COLOR": "1"}, marks=pytest.mark.slow),
        pytest.param(40, 40, {"PYTHONIOENCODING": "cp1252"}, marks=pytest.mark.slow),
        pytest.param(0, 80, {}, marks=pytest.mark.slow),
        pytest.param(200, 60, {"COLUMNS": "60"}, marks=pytest.mark.slow),
    ],
)
def test_a_comparison_fits_a_real_terminal(folder, columns, width, environment):
    arguments = ["compare", "qrels.txt", "one.run", "two.run", "a-run-with-a-long-name-日本語.run"]
    code, output = run_on_terminal([*arguments, "--resamples", "100"], folder, columns, **environment)
    assert code == 0
    lines = output.splitlines()
    assert max(map(display_width, lines)) <= width
    assert any("ndcg@10" in line for line in lines)
    assert ("\x1b[1m" in output) == ("NO_COLOR" not in environment)


def test_force_color_styles_a_pipe(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["score", "qrels.txt", "one.run", "two.run"]) == 0
    assert "\x1b[1m" in capsys.readouterr().out
    assert main(["score", "qrels.txt", "one.run", "two.run", "-o", "coloured.txt"]) == 0
    assert "\x1b" not in (folder / "coloured.txt").read_text()


def test_a_label_names_a_model_or_a_run(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["run", "-m", "bm25", "--label", "tiny=random:8", "-t", "wines", "-M", "mrr"]) == 0
    out, err = capsys.readouterr()
    assert "tiny is random:8" in err
    assert {"a bm25", "b tiny"} <= {" ".join(line.split()[:2]) for line in out.splitlines()}
    assert main(["score", "qrels.txt", "one.run", "--label", "second=two.run", "-M", "mrr", "--no-interval"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith(("one", "sec"))] == [
        "one",
        "second",
    ]
    assert main(["compare", "wines-bm25", "wines-tiny", "--label", "lexical=wines-bm25", "-M", "mrr"]) == 0
    assert "a lexical" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("score qrels.txt one.run --label two", "write --label NAME=SPEC"),
        ("score qrels.txt one.run two.run --label two=one.run", "the label 'two' is the name of another run"),
        ("run -m bm25 --label x=bm25 --label x=tfidf -t wines", "repeats a name or a spec"),
        ("score qrels.txt one.run --label x=on.run", "did you mean 'one.run'?"),
        ("score qrel.txt one.run", "did you mean 'qrels.txt'?"),
        ("score qrels.txt one.run -M ngcd@10", "did you mean 'ndcg'?"),
        ("score qrels.txt one.run --metrc mrr", "there is no option '--metrc'; did you mean '--metric'?"),
        # Another action has an option --count.
        ("judge next --count 3", "there is no option '--count'; did you mean '--output'?"),
        ("score qrels.txt one.run --profile standrd", "did you mean 'standard'"),
        ("run -m BAAI/bge-small -t wines", "did you mean 'st:BAAI/bge-small'?"),
        ("run -m text-embedding-3-small -t wines", "did you mean 'openai:text-embedding-3-small'?"),
        ("run -m ./dense.npz -t wines", "did you mean 'vectors:./dense.npz'?"),
        ("run -m bm25 -t whines", "did you mean 'wines'?"),
        ("run -m bm25 -t ./indx", "did you mean 'index'?"),
        ("run -m random:8 -t wines --transform cneter", "did you mean 'center'?"),
        ("run -m random:8 -t wines --similarity cosin", "did you mean 'cosine'?"),
        ("run -m random:8 -t wines --index exat", "did you mean 'exact'?"),
        ("masked predict person -m names:majority", "did you mean 'persons'?"),
        ("masked check ./one.rn", "did you mean 'one.run'?"),
        ("scor qrels.txt", "there is no command 'scor'; did you mean 'score'?"),
        ("runs lst", "there is no runs command 'lst'; did you mean 'list'?"),
        ("list metrcs", "did you mean 'metrics'?"),
        ("help ngcd", "did you mean 'ndcg'?"),
        ("help scor", "did you mean 'score'?"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_one(folder, capsys, monkeypatch, command, said):
    monkeypatch.chdir(folder)
    assert main(command.split()) == 2
    assert said in capsys.readouterr().err


def test_help_of_a_command_is_its_own_help_and_that_of_a_metric_its_explanation(capsys):
    for first, second in (("help score", "score --help"), ("help runs list", "runs list --help")):
        with suppress(SystemExit):
            main(first.split())
        help_text = capsys.readouterr().out
        with suppress(SystemExit):
            main(second.split())
        assert help_text == capsys.readouterr().out != ""
    assert main(["help", "ndcg"]) == 0
    assert "Normalised discounted cumulative gain" in capsys.readouterr().out


@pytest.mark.parametrize(
    "metrics", [["-M", "mrr,ndcg@5,10"], ["--metric", "mrr ndcg@5 ndcg@10"], ["-M", "mrr, ndcg@5,10"]]
)
def test_metrics_are_listed_with_commas_or_blanks(folder, capsys, monkeypatch, metrics):
    monkeypatch.chdir(folder)
    assert main(["score", "qrels.txt", "one.run", *metrics, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["metric"] for row in rows] == ["mrr", "ndcg@5", "ndcg@10"]


# Commands whose only output formats are text, or text and JSON.
NO_CSV = ("explain", "masked check", "masked match", "data check", "index info", "--help")


def test_csv_is_one_table_with_one_header(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    for command in SHOWN:
        if not command.startswith(NO_CSV):
            arguments = [*command.replace(" --worst 2", "").split(), "--format", "csv"]
            assert main(arguments) == exit_code(command), command
            out = capsys.readouterr().out
            header, *rows = csv.reader(io.StringIO(out))
            assert len(set(header)) == len(header), command
            assert rows, command
            assert {len(row) for row in rows} == {len(header)}, command
            assert not out.startswith("#"), command
