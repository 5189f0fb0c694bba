"""Test the public API: every command has a function, and every name is documented."""

import doctest
import inspect
from pathlib import Path

import pytest

import goldrank as gr
from goldrank.cli.main import COMMANDS
from goldrank.presentation import Result

ROOT = Path(gr.__file__).parent
# The Python function of each command.
CALLS = {
    "run": ["run", "evaluate"],
    "score": ["score", "score_hits"],
    "compare": ["compare", "compare_hits", "compare_across"],
    "gate": ["gate"],
    "baseline": ["save_baseline"],
    "diff": ["diff", "rbo"],
    "explain": ["explain"],
    "similarity": ["similarity"],
    "index": ["build_index", "open_index"],
    "sensitivity": ["sensitivity"],
    "audit": ["audit"],
    "judge": [
        *("judging.start", "judging.open_project", "judging.status", "judging.export", "judging.import_labels"),
        *("judging.make_queries", "judging.grade", "judging.agreement", "judging.judge_quality"),
        *("judging.leaderboard", "judging.plan_next"),
    ],
    "masked": ["masked.predict", "masked.score"],
    "report": ["report"],
    "plot": ["plot"],
    "meta": ["meta"],
    "runs": ["Store"],
    "data": ["load_data"],
    "demo": ["run", "report"],
    "schema": ["load_schema"],
    "list": ["PROFILES", "load_model", "load_data"],
}
# Servers, the planning of jobs for clusters, and the management of the cache are commands only.
COMMANDS_ONLY = {"serve", "plan", "encode", "cache", "completion", "mcp"}
PACKAGES = {"judging", "masked"}
FUNCTIONS = [name for name in gr.__all__ if inspect.isfunction(getattr(gr, name))]
INNER = [f"{package}.{name}" for package in sorted(PACKAGES) for name in getattr(gr, package).__all__]


def _public(name):
    value = gr
    for part in name.split("."):
        value = getattr(value, part)
    return value


def test_every_command_has_its_public_call():
    assert {*CALLS, *COMMANDS_ONLY} == set(COMMANDS)
    for names in CALLS.values():
        for name in names:
            assert _public(name) is not None
            assert name.partition(".")[0] in gr.__all__


def test_no_module_or_package_has_the_name_of_a_public_function():
    modules = {path.stem for path in ROOT.glob("*.py")} | {path.name for path in ROOT.iterdir() if path.is_dir()}
    assert modules & set(gr.__all__) == PACKAGES
    assert not modules & {"score", "run", "report", "plot", "audit", "meta", "explain"}


@pytest.mark.parametrize("name", sorted(set(gr.__all__) - {"PROFILES", *PACKAGES}))
def test_every_public_name_is_documented(name):
    value = getattr(gr, name)
    assert inspect.getdoc(value)
    assert name not in FUNCTIONS or value.__module__.startswith("goldrank.")


@pytest.mark.parametrize("name", [*sorted(FUNCTIONS), *(name for name in INNER if inspect.isfunction(_public(name)))])
def test_every_public_function_has_an_example(name):
    assert doctest.DocTestFinder(recurse=False).find(_public(name))[0].examples, name


def test_every_result_has_data_a_data_frame_and_both_views():
    results = [getattr(gr, name) for name in gr.__all__ if inspect.isclass(getattr(gr, name))]
    results = [kind for kind in results if issubclass(kind, Result)]
    assert {kind.__name__ for kind in results} >= {"Scores", "Comparison", "Leaderboards", "Sensitivity", "Audit"}
    for kind in [
        *results,
        gr.masked.MaskedPredictions,
        gr.masked.MaskedResult,
        gr.judging.JudgingStatus,
        gr.judging.NextLabels,
    ]:
        for method in ("to_dict", "to_pandas", "__repr__", "_repr_html_"):
            assert getattr(kind, method) is not getattr(object, method, None), (kind, method)
            assert getattr(kind, method).__qualname__ != "__create_fn__", kind
