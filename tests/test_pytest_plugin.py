"""Test the pytest plugin: a test fails if a run is worse than its baseline."""

from pathlib import Path

import pytest

import goldrank as gr

pytest_plugins = ["pytester"]
GOLD = {f"q{number}": ["right"] for number in range(60)}
GOOD = {query: {"right": 2, "wrong": 1} for query in GOLD}
TESTS = """
GOLD = {f"q{number}": ["right"] for number in range(60)}
GOOD = {query: {"right": 2, "wrong": 1} for query in GOLD}
BAD = {query: {"right": 1, "wrong": 2} for query in GOLD}
NOISE = {query: BAD[query] if query in ("q1", "q2") else GOOD[query] for query in GOLD}

def test_good(goldrank):
    assert goldrank.gate("baseline.json", GOOD, gold=GOLD).answer == "not_worse"

def test_bad(goldrank):
    goldrank.gate("baseline.json", BAD, gold=GOLD)

def test_undecided(goldrank):
    goldrank.gate("baseline.json", NOISE, gold=GOLD)

def test_undecided_may_pass(goldrank):
    goldrank.gate("baseline.json", NOISE, gold=GOLD, cannot_tell="pass")
"""


@pytest.fixture
def suite(pytester):
    folder = pytester.mkdir("eval")
    (folder / "test_search.py").write_text(TESTS)
    gr.save_baseline(folder / "baseline.json", GOOD, "mrr", gold=GOLD)
    return pytester


def test_a_worse_run_fails_its_test_with_the_sentence(suite):
    result = suite.runpytest_inprocess("-p", "goldrank.pytest_plugin", "-p", "no:xdist", "-q", "eval")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*new is worse than base (baseline): mrr 0.5000 vs 1.0000, difference −0.5000*"])
    result.stdout.fnmatch_lines(["*Cannot tell whether new is worse than base (baseline): mrr*queries would decide*"])


def test_pytest_finds_the_plugin_under_the_name_of_its_module():
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\n"goldrank.pytest_plugin" = "goldrank.pytest_plugin"\n' in project
