"""`goldrank cache`: entries are listed in every format, and removed only after confirmation."""

import csv
import io
import json
import os
import time

import pytest

from goldrank.cli import cache_command
from goldrank.cli.main import main
from goldrank.vectors.cache import EmbeddingCache
from vectors.cache_cases import CountingEncoder


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def cache(tmp_path):
    """A cache of two models, one of them not used for ten days."""
    cache = EmbeddingCache(tmp_path / "cache")
    cache.encode(CountingEncoder("st:old"), ["a", "b"], "item")
    os.utime(cache.info()[0].folder / "manifest.json", (time.time() - 10 * 86400,) * 2)
    cache.encode(CountingEncoder("st:new", prompts={"query": "find: "}), ["a"], "query")
    return cache


def run(capsys, cache, *arguments):
    code = main(["cache", *arguments, "--folder", str(cache.folder)])
    out, err = capsys.readouterr()
    return code, out, err


def identities(cache):
    return sorted(entry.identity for entry in cache.info())


def test_info_shows_models_counts_and_the_folder(capsys, cache):
    code, out, err = run(capsys, cache, "info")
    assert (code, err) == (0, "")
    for expected in ("st:old", "st:new", "query", "'find: '", "3 vectors", str(cache.folder)):
        assert expected in out


def test_json_and_csv_have_the_same_entries(capsys, cache):
    content = json.loads(run(capsys, cache, "info", "--format", "json")[1])
    assert content["folder"] == str(cache.folder)
    assert [entry["identity"] for entry in content["entries"]] == ["st:new", "st:old"]
    rows = list(csv.DictReader(io.StringIO(run(capsys, cache, "info", "--format", "csv")[1])))
    assert [{key: str(value) for key, value in entry.items()} for entry in content["entries"]] == rows


@pytest.mark.parametrize("look", ["markdown", "latex"])
def test_info_in_the_other_formats_names_the_models(capsys, cache, look):
    code, out, _ = run(capsys, cache, "info", "--format", look)
    assert code == 0
    assert "st:old" in out


def test_an_empty_cache_is_reported(capsys, cache, tmp_path):
    assert run(capsys, EmbeddingCache(tmp_path / "none"), "info")[:2] == (
        0,
        f"Nothing to show in {tmp_path / 'none'}.\n",
    )
    assert json.loads(run(capsys, cache, "info", "--model", "nobody", "--format", "json")[1])["entries"] == []


def test_entries_are_selected_by_model_and_age(capsys, cache):
    for flags, expected in ((["--model", "NEW"], ["st:new"]), (["--older-than", "5"], ["st:old"])):
        content = json.loads(run(capsys, cache, "info", *flags, "--format", "json")[1])
        assert [entry["identity"] for entry in content["entries"]] == expected


def test_clear_with_yes_removes_and_lists_the_selected_entries(capsys, cache):
    code, out, err = run(capsys, cache, "clear", "--older-than", "5", "--yes")
    assert (code, err) == (0, "")
    assert "2 vectors" in out
    assert "removed" in out
    assert identities(cache) == ["st:new"]
    assert run(capsys, cache, "clear", "--older-than", "5", "--yes")[1].startswith("Nothing to remove")


def test_clear_without_yes_is_refused_without_a_terminal(capsys, cache):
    code, out, err = run(capsys, cache, "clear")
    assert (code, out) == (2, "")
    assert "this would remove 3 vectors" in err
    assert "--yes" in err
    assert identities(cache) == ["st:new", "st:old"]


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, []), ("no\n", 1, ["st:new"]), ("", 1, ["st:new"])])
def test_clear_asks_on_a_terminal_and_only_yes_removes(monkeypatch, cache, answer, code, left):
    cache.clear("old")
    terminal = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["cache", "clear", "--folder", str(cache.folder)]) == code
    assert "Remove 1 vector (" in terminal.getvalue()
    assert identities(cache) == left


@pytest.mark.parametrize("days", ["-1", "nan", "inf"])
def test_an_invalid_age_is_refused(capsys, cache, days):
    code, _, err = run(capsys, cache, "clear", f"--older-than={days}", "--yes")
    assert code == 2
    assert "is not a number of days" in err
    assert identities(cache) == ["st:new", "st:old"]


def test_a_folder_that_is_a_file_is_refused(capsys, cache, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = run(capsys, EmbeddingCache(tmp_path / "file"), "info")
    assert code == 2
    assert "the cache cannot be read" in err


def test_the_default_folder_is_that_of_the_environment(capsys, cache, monkeypatch, tmp_path):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    (tmp_path / "cache").rename(tmp_path / "embeddings")
    assert cache_command.run(cache_command.build_parser().parse_args(["info"])) == 0
    assert "st:old" in capsys.readouterr().out


@pytest.fixture
def shards(tmp_path, monkeypatch):
    """Shards of cluster jobs, one of them ten days old."""
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    for name, days in (("vectors", 0), ("jobs", 10)):
        (tmp_path / "shards" / name / "deep").mkdir(parents=True)
        file = tmp_path / "shards" / name / "deep" / "000000.parquet"
        file.write_bytes(b"x" * 2000)
        os.utime(file, (time.time() - days * 86400,) * 2)
    return tmp_path / "shards"


def test_other_kinds_are_listed_with_their_size(capsys, shards):
    assert main(["cache", "info"]) == 0
    assert "Other entries (--kind): shards 4.0 kB." in capsys.readouterr().out
    assert main(["cache", "info", "--kind", "shards", "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [(entry["name"], entry["bytes"]) for entry in content["entries"]] == [("vectors", 2000), ("jobs", 2000)]
    assert main(["cache", "info", "--kind", "partial"]) == 0
    assert capsys.readouterr().out.startswith("Nothing to show in ")


def test_other_kinds_are_cleared_by_age_after_confirmation(capsys, shards):
    assert main(["cache", "clear", "--kind", "shards", "--older-than", "5"]) == 2
    assert "this would remove 2.0 kB of shards" in capsys.readouterr().err
    assert sorted(path.name for path in shards.iterdir()) == ["jobs", "vectors"]
    assert main(["cache", "clear", "--kind", "shards", "--older-than", "5", "--yes"]) == 0
    assert [path.name for path in shards.iterdir()] == ["vectors"]
    assert main(["cache", "clear", "--kind", "shards", "--yes", "--format", "csv"]) == 0
    assert not list(shards.iterdir())


def test_other_kinds_have_no_model(capsys, shards):
    assert main(["cache", "info", "--kind", "shards", "--model", "st"]) == 2
    assert "not cached by model" in capsys.readouterr().err
