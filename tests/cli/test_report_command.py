import pytest

import stored_examples as examples
from goldrank.cli import report_command
from goldrank.errors import InputError
from goldrank.reporting.document.report import _command
from goldrank.store import Store

QUICK = ["--resamples", "200"]


def report(store, *arguments):
    return report_command.run(report_command.build_parser().parse_args([*arguments, "--store", store.where, *QUICK]))


@pytest.fixture
def keys(store):
    made = [run.key for run in examples.save_ranked(store, {"weak": 1, "strong": 9})]
    store.texts(examples.DATA).save(*examples.texts())
    return made


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
    assert "strong beats weak on mrr" in text
    assert "ndcg" not in text
    assert text.count("\n> ") == 1


def test_the_command_in_the_report_makes_it_again(store, keys, tmp_path):
    import shlex

    path = tmp_path / "a.md"
    given = ["-M", "map(denominator=hits)@10", "--ties", "expected", "--seed", "3", "--worst", "1", "--title", "It's"]
    report(store, *keys, "-o", str(path), *given)
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


def test_a_password_of_the_store_is_not_in_the_report(store, keys):
    url = "postgresql://me:secret@nowhere.invalid/runs"
    command = _command(keys, Store.open(url), [], {}, "html", "a.html")
    assert "--store" in command
    assert "secret" not in command


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["nothing-like-it"], "there is no stored run"),
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
