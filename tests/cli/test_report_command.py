import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stored_examples as examples
from goldrank.cli import report_command
from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.runs.file_runs import store_words
from goldrank.store import Store

QUICK = ["--resamples", "200"]


def report(store, *arguments):
    return report_command.run(report_command.build_parser().parse_args([*arguments, "--store", store.where, *QUICK]))


@pytest.fixture
def keys(store):
    run_keys = [run.key for run in examples.save_ranked(store, {"weak": 1, "strong": 9})]
    store.texts(examples.DATA).save(*examples.texts())
    return run_keys


def test_one_file_is_written_and_named(store, keys, tmp_path, capsys):
    path = tmp_path / "mine.html"
    assert report(store, *keys, "-o", str(path)) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{path}\n"
    assert "opens offline" in printed.err
    assert path.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("a.md", [], "# wines\n"),
        ("a.html", [], "<!doctype html>"),
        ("a.txt", ["--format", "markdown"], "# wines\n"),
        ("a", [], "<!doctype html>"),
        ("a.md", ["--format", "html"], "<!doctype html>"),
        ("a.md", ["--title", "Mine"], "# Mine\n"),
    ],
)
def test_the_format_is_that_asked_for_or_the_end_of_the_name(store, keys, tmp_path, name, options, start):
    report(store, *keys, "-o", str(tmp_path / name), *options)
    assert (tmp_path / name).read_text("utf-8").startswith(start)


def test_without_a_name_the_report_goes_into_the_folder(store, keys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report(store, *keys, "--format", "markdown")
    assert (tmp_path / "report.md").is_file()


def test_options_may_stand_between_the_keys(store, keys, tmp_path):
    path = tmp_path / "a.md"
    report(store, keys[0], "-M", "mrr", keys[1], "-o", str(path), "--worst", "1")
    text = path.read_text("utf-8")
    assert "strong is better than weak on mrr" in text
    assert "ndcg" not in text
    assert text.count("\n> ") == 1


def test_the_command_in_the_report_makes_it_again(store, keys, tmp_path):
    path = tmp_path / "a.md"
    options = ["-M", "map(denominator=hits)@10", "--ties", "expected", "--seed", "3", "--worst", "1", "--title", "It's"]
    report(store, *keys, "-o", str(path), *options)
    first = path.read_text("utf-8")
    [line] = [line for line in first.splitlines() if line.startswith("goldrank report")]
    assert str(tmp_path / "a.md") not in line
    again = shlex.split(line)[2:]
    path.unlink()
    args = report_command.build_parser().parse_args(again)
    args.output = str(path)
    report_command.run(args)

    def without_the_time(text):
        return [part for part in text.splitlines() if "UTC" not in part]

    assert without_the_time(path.read_text("utf-8")) == without_the_time(first)


def test_a_password_of_the_store_is_not_in_the_report():
    url = "postgresql://me:secret@nowhere.invalid/runs"
    words = store_words(Store.open(url))
    assert words[0] == "--store"
    assert "secret" not in words[1]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["nothing-like-it"], "there is no file and no stored run"),
        (["--worst", "-1"], "cannot be shown"),
        (["-M", "ndgc@10"], "did you mean"),
        (["--profile", "nobody"], "there is no profile"),
        (["--alpha", "2"], "alpha is 2"),
        (["--resamples", "3"], "too few"),
        (["-o", "no/such/folder/a.html"], "the folder does not exist"),
        (["-o", "."], "this is a folder"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(store, keys, tmp_path, monkeypatch, arguments, what):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    chosen = arguments if arguments[0].startswith("nothing") else [*keys, *arguments]
    with pytest.raises(InputError, match=what):
        report_command.run(report_command.build_parser().parse_args([*chosen, "--store", store.where]))
    assert set(tmp_path.iterdir()) == before


def test_a_key_given_twice_is_refused(store, keys, tmp_path):
    with pytest.raises(InputError, match="given twice"):
        report(store, keys[0], keys[0], "-o", str(tmp_path / "a.html"))


def test_without_a_browser_no_work_is_done_for_a_pdf(store, keys, tmp_path, monkeypatch):
    from goldrank.reporting.document import content, pdf

    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    monkeypatch.setattr(content, "content_of", lambda *_, **__: pytest.fail("worked in vain"))
    with pytest.raises(InputError, match="none is installed"):
        report(store, *keys, "-o", str(tmp_path / "a.pdf"))


TITLE = 'it\'s $HOME & "more"; `ls`'


def test_commands_in_the_report_can_be_pasted_into_a_shell(own_folder, monkeypatch):
    """Each command line in a report, split as a shell does, reproduces its run or report."""
    place = own_folder / "my runs & more"
    model = "fuse:rrf(random:8,random:16)"
    line = ["goldrank", "run", "-m", model, "random:8", "-t", "wines", "--limit", "5", "--store", str(place), *QUICK]
    monkeypatch.setattr(sys, "argv", line)
    assert main() == 0
    keys = [run.key for run in Store.open(place).list()]
    options = ["--title", TITLE, "--ties", "expected", "--level", "0.9", "--alpha", "0.01", "-M", "ndcg(gain=exp)@10"]
    assert main(["report", *keys, "--store", str(place), *options, *QUICK, "-o", "first report.md"]) == 0
    block = Path("first report.md").read_text().rpartition("```sh\n")[2].partition("\n```")[0].splitlines()
    assert len(block) == 2
    run_words, report_words = map(shlex.split, block)
    assert run_words == line
    assert report_words[:2] == ["goldrank", "report"]
    Path("first report.md").rename("before.md")
    assert main(report_words[1:]) == 0
    # Everything but the time is the same.
    before, after = (Path(name).read_text().split("\n\n", 2) for name in ("before.md", "first report.md"))
    assert (before[0], before[2]) == (after[0], after[2])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_a_real_shell_runs_the_command_of_a_report(own_folder):
    program = own_folder / "goldrank"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m goldrank "$@"\n')
    program.chmod(0o755)
    place = Store.open(own_folder / "my runs")
    keys = [run.key for run in examples.save_ranked(place, {"fuse:rrf(a,b)": 1, "strong": 9})]
    assert main(["report", *keys, "--store", place.where, "--title", TITLE, *QUICK, "-o", "a $b.md"]) == 0
    before = Path("a $b.md").read_text()
    Path("a $b.md").unlink()
    (line,) = (line for line in before.splitlines() if line.startswith("goldrank report"))
    environment = {**os.environ, "PATH": f"{own_folder}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", line], check=True, env=environment, cwd=own_folder, capture_output=True)
    assert Path("a $b.md").read_text().partition("\n")[0] == before.partition("\n")[0]
