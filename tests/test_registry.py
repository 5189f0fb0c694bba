"""Test a package that adds a model, an index, a metric and a task to goldrank through entry points."""

import json
import logging
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from goldrank.errors import GoldrankError
from goldrank.registry import Registry

PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "goldrank-tiny"
version = "1.0"

[tool.setuptools]
py-modules = ["goldrank_tiny"]

[project.entry-points."goldrank.encoders"]
letters = "goldrank_tiny:LETTERS"

[project.entry-points."goldrank.indexes"]
backwards = "goldrank_tiny:BACKWARDS"

[project.entry-points."goldrank.metrics"]
first = "goldrank_tiny:FIRST"

[project.entry-points."goldrank.tasks"]
fruit = "goldrank_tiny:FRUIT"
"""

MODULE = '''
import numpy as np
from goldrank import RankingTask
from goldrank.data.collections.in_memory import collection_from
from goldrank.encoders import ModelKind
from goldrank.encoders.base import BatchEncoder, Options
from goldrank.index.base import IndexKind
from goldrank.index.exact.index import ExactIndex
from goldrank.metrics import Definition, Values
from goldrank.metrics.precision_recall import found_within


class Letters(BatchEncoder):
    """Counts the letters of a text."""

    def __init__(self, spec):
        super().__init__(spec, Options.split(spec)[0])

    @property
    def version(self):
        return "1"

    def encode_batch(self, texts, side):
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[text.count(letter) for letter in alphabet] for text in texts], float)


LETTERS = ModelKind("goldrank_tiny", "Letters", "letters of a text, counted", "", "letters")


class Backwards(ExactIndex):
    """Ranks the items from the worst to the best."""

    spec = "backwards"


BACKWARDS = IndexKind(
    lambda spec, vectors, ids, similarity: Backwards(-np.asarray(vectors), ids, similarity), "worst first", "backwards"
)
FIRST = Definition(
    "first", "Is the first item relevant?", "1 if the first item is relevant, else 0",
    lambda p, k: Values((found_within(p, 1, None) > 0).astype(float)), aliases=("top",), cite="none",
)


def read(split):
    items = {"apple": "apple", "pear": "pear", "quince": "quince"}
    return collection_from({"corpus": items, "queries": {"q": "aplep"}, "qrels": {"q": {"apple": 1}}})


FRUIT = RankingTask("fruit", "retrieval", read, "three kinds of fruit", metrics=("first", "mrr"))
'''


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder into which pip has installed the package."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "goldrank_tiny.py").write_text(MODULE)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", site, source], check=True, capture_output=True)
    return site


@pytest.fixture
def goldrank(site, tmp_path, monkeypatch):
    """Run the command with the package installed, and return its output."""
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=":")
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))

    def run(*arguments, code=0):
        command = [sys.executable, "-m", "goldrank", *arguments]
        process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert process.returncode == code, process.stderr
        return process.stderr if code else process.stdout

    return run


@pytest.mark.parametrize(
    ("what", "name"), [("models", "letters"), ("indexes", "backwards"), ("metrics", "first"), ("tasks", "fruit")]
)
def test_what_a_package_adds_is_listed(goldrank, what, name):
    rows = json.loads(goldrank("list", what, "--format", "json"))["rows"]
    assert name in [next(iter(row.values())) for row in rows]


def test_what_a_package_adds_works_in_a_run(goldrank):
    command = ["run", "-m", "letters", "-t", "fruit", "--format", "json"]
    for options, first, mrr in (([], 1, 1), (["--index", "backwards"], 0, 1 / 3)):
        [board] = json.loads(goldrank(*command, *options))["tasks"]
        scores = board["runs"][0]["scores"]
        assert (scores["first"]["value"], scores["mrr"]["value"]) == (first, mrr)


def test_a_metric_of_a_package_is_explained_under_its_alias(goldrank):
    assert "Is the first item relevant?" in goldrank("explain", "top")


def entries(*values, name="thing"):
    return [EntryPoint(name, value, "goldrank.examples") for value in values]


@pytest.mark.parametrize(
    ("added", "reason"),
    [
        (entries("no_such_package:THING"), r"which cannot be imported \(ModuleNotFoundError: No module named"),
        (entries("json:dumps"), "which is of the type function and not int"),
        (entries("json:dumps", name="one"), "a name that goldrank has already"),
        (entries("json:dumps", "csv:QUOTE_ALL"), "a name that json adds as well"),
    ],
)
def test_a_faulty_package_is_named_with_the_reason(monkeypatch, added, reason):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: added)
    known = Registry("goldrank.examples", int, {"one": 1})
    assert known["one"] == 1
    with pytest.raises(GoldrankError, match=f"{reason}.*; update or uninstall"):
        known["thing"]


def test_an_object_with_another_name_than_its_entry_point_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries("logging:root"))
    with pytest.raises(GoldrankError, match=r"adds 'thing' to the entry points goldrank\.examples, .* name is 'root'"):
        Registry("goldrank.examples", logging.Logger, {})["thing"]


def test_objects_of_packages_are_imported_when_used(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries("csv:QUOTE_ALL", "csv:QUOTE_ALL"))
    known = Registry("goldrank.examples", int, {"one": 1})
    assert (list(known), len(known), "thing" in known, "other" in known) == (["one", "thing"], 2, True, False)
    assert known.added == {"thing": 1}
    with pytest.raises(KeyError):
        known["other"]
