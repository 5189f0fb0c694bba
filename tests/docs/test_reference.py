"""Test the reference pages generated from the registries, and that other pages name every registered entry."""

import argparse
import importlib.util
import re
import shlex
from importlib import import_module

import pytest

import goldrank
from docs_pages import DOCS, timeless
from goldrank.cli.main import COMMANDS, main
from goldrank.cli.run_config import known_names
from goldrank.data.collections import READERS
from goldrank.encoders import KINDS
from goldrank.encoders.pair_scorers import PAIR_KINDS
from goldrank.masked.predictors import PREDICTORS
from goldrank.metrics import PROFILES, REGISTRY
from goldrank.schemas import load_schema, schema_names
from goldrank.tasks import TASKS, RankingTask


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_json_outputs_has_every_field_of_every_schema(generate):
    page = generate.schemas_page()
    for name in schema_names():
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for field in load_schema(name).get("properties", {}):
            assert f"`{field}`" in section
    links = set(re.findall(r"\]\(#([\w-]+)\)", page))
    assert links <= {heading.lower() for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}


def test_the_metrics_page_declares_every_metric_with_formula_and_source(generate):
    page = generate.metrics_page()
    for definition in REGISTRY.values():
        section = page.split(f"\n## {definition.name}\n")[1].split("\n## ")[0]
        assert definition.formula in section
        assert f"Source: {definition.cite}" in section
        assert definition.cite
        for parameter in definition.parameters:
            assert f"| `{parameter.name}` |" in section


def test_the_page_of_the_python_api_has_every_public_name(generate):
    documented = re.findall(r"^::: goldrank\.(?:\S+\.)?(\w+)$", generate.api_page(), re.MULTILINE)
    assert set(documented) >= set(goldrank.__all__) - {"PROFILES", "judging", "masked"}
    assert {"predict", "score", "MaskedPredictions", "MaskedResult"} <= set(documented)


def test_the_page_of_the_commands_has_every_option_with_its_help(generate):
    page = generate.commands_page()
    count = 0
    parsers = [import_module(f"goldrank.cli.{name}_command").build_parser() for name in COMMANDS]
    while parsers:
        parser = parsers.pop()
        (section,) = re.findall(rf"^##+ {parser.prog}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers += action.choices.values()
            elif action.help != argparse.SUPPRESS and action.dest != "help":
                count += 1
                assert action.help, (parser.prog, action.dest)
                assert all(f"`{name}`" in section for name in action.option_strings)
                assert action.option_strings or re.search(
                    rf"^\| `.*{action.metavar or action.dest}", section, re.MULTILINE
                )
    assert count > 200


def test_the_profiles_page_names_every_profile(generate):
    page = generate.profiles_page()
    assert all(f"\n## {name}\n" in page for name in PROFILES)


def test_the_tasks_page_tells_source_licence_counts_and_text_of_every_task(generate):
    page = generate.tasks_page()
    for task in TASKS.values():
        section = page.split(f"\n## {task.name}\n")[1].split("\n## ")[0]
        assert task.about is not None
        for fact in (task.about.source, task.about.licence, task.about.counts, task.about.notes):
            assert fact in section
        if isinstance(task, RankingTask):
            assert str(task.text) in section
            assert all(f"`{metric}`" in section for metric in task.default_metrics)
        assert f"| version | {task.version} |" in section
        assert not task.about.original or f"profiles.md#{task.about.original}" in section


def test_the_table_in_the_readme_is_what_the_command_prints(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    readme = (DOCS.parent / "README.md").read_text()
    example = re.search(r"```console\n\$ goldrank (?P<arguments>[^\n]*)\n\n(?P<output>.*?)```", readme, re.DOTALL)
    assert main(shlex.split(example["arguments"])) == 0
    printed = [timeless(line) for line in capsys.readouterr().out.splitlines()]
    for line in example["output"].strip().splitlines():
        assert timeless(line) in printed


def test_the_run_file_of_the_tasks_page_names_every_entry():
    (file,) = re.findall(r"cat > run.toml <<'END'\n(.*?)END", (DOCS / "guide" / "tasks.md").read_text(), re.DOTALL)
    entries = set(re.findall(r"^(?:# )?(\w+) = |^\[(\w+)\]", file, re.MULTILINE))
    assert {name or table for name, table in entries} >= set(known_names())


def test_the_collections_page_tells_every_layout():
    page = (DOCS / "guide" / "collections.md").read_text()
    by_name = {"ir_datasets": "irds:", "hub": "hf:"}
    assert all(by_name.get(name, f"**{name}**") in page for name in READERS)


def test_the_security_page_tells_what_every_kind_of_model_may_do():
    page = (DOCS / "guide" / "security.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    phrases = {
        "local": ("no third-party code", "read local files"),
        "download": ("downloads a model",),
        "hub": ("**Code runs**",),
        "network": ("**send texts to the server**",),
        "code": ("**run the Python code**",),
    }
    for kinds in (KINDS, PAIR_KINDS, PREDICTORS):
        for name, kind in kinds.items():
            (row,) = [row for row in rows if f"`{name}`" in row.split("|")[1] or f"`{name}:`" in row.split("|")[1]]
            assert any(words in row for words in phrases[kind.access]), name
