"""The documentation is generated from the registries and names everything in them."""

import csv
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from goldrank.cli.main import main
from goldrank.cli.run_config import known_names
from goldrank.data.collections import READERS
from goldrank.encoders import KINDS
from goldrank.encoders.pair_scorers import PAIR_KINDS
from goldrank.masked.predictors import PREDICTORS
from goldrank.metrics import PROFILES, REGISTRY
from goldrank.runs.evaluate import evaluate
from goldrank.tasks import TASKS, RankingTask

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_metrics_page_declares_every_metric_with_formula_and_source(generate):
    page = generate.metrics_page()
    for definition in REGISTRY.values():
        section = page.split(f"\n## {definition.name}\n")[1].split("\n## ")[0]
        assert definition.formula in section
        assert f"Source: {definition.cite}" in section
        assert definition.cite
        for parameter in definition.parameters:
            assert f"| `{parameter.name}` |" in section


def test_the_profiles_page_names_every_profile(generate):
    page = generate.profiles_page()
    assert all(f"\n## {name}\n" in page for name in PROFILES)


def test_the_tasks_page_tells_source_licence_counts_and_text_of_every_task(generate):
    page = generate.tasks_page()
    for task in TASKS.values():
        section = page.split(f"\n## {task.name}\n")[1].split("\n## ")[0]
        assert task.about is not None
        for told in (task.about.source, task.about.licence, task.about.counts, task.about.notes):
            assert told in section
        if isinstance(task, RankingTask):
            assert str(task.text) in section
            assert all(f"`{metric}`" in section for metric in task.default_metrics)
        assert f"| version | {task.version} |" in section
        assert not task.about.original or f"profiles.md#{task.about.original}" in section


def test_the_table_in_the_readme_is_what_the_command_prints(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    readme = (ROOT / "README.md").read_text()
    shown = re.search(r"```console\n\$ goldrank (?P<arguments>[^\n]*)\n\n(?P<output>.*?)```", readme, re.DOTALL)
    assert main(shlex.split(shown["arguments"])) == 0
    printed = [_timeless(line) for line in capsys.readouterr().out.splitlines()]
    for line in shown["output"].strip().splitlines():
        assert _timeless(line) in printed


def _run_pages(names, folder, **environment):
    """Run the commands of some pages as they stand, one page after the other; the process when it has ended."""
    commands = [block for name in names for block in _blocks(name, "sh")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    folders = {"GOLDRANK_CACHE": str(folder / "cache"), "GOLDRANK_STORE": str(folder / "store")}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **folders, **environment},
    )


def _blocks(name, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / name).read_text(), re.DOTALL)


def _assert_shown_lines_are_printed(names, done):
    assert done.returncode == 0, done.stderr
    printed = {_timeless(line) for line in done.stdout.splitlines()}
    for name in names:
        shown = [line for block in _blocks(name, "text") for line in block.splitlines()]
        assert shown
        for line in shown:
            assert _timeless(line) in printed, (name, line)


@pytest.mark.slow
def test_the_commands_of_the_embeddings_and_index_pages_run_as_they_stand(tmp_path):
    done = _run_pages(("guide/embeddings.md", "guide/indexes.md"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"1 +[\d.]+ +curie", done.stdout)
    assert '"id": "armstrong"' in done.stdout
    assert '"id": "cleopatra"' in done.stdout


SCORING_PAGES = ("guide/scoring.md", "guide/comparing.md", "guide/conventions.md")
TASK_PAGES = (
    "guide/tasks.md", "guide/collections.md", "guide/store.md", "guide/evaluators.md", "guide/meta.md",
    "guide/masked.md", "guide/seeing.md", "guide/plan.md", "guide/cluster.md",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("pages", [SCORING_PAGES, TASK_PAGES], ids=["scoring", "tasks"])
def test_the_commands_of_the_pages_run_as_they_stand_and_print_what_is_shown(tmp_path, pages):
    _assert_shown_lines_are_printed(pages, _run_pages(pages, tmp_path))


def test_the_table_of_the_released_logs_is_what_its_command_prints(capsys, shared_data):
    """The meta page: the mean correlation of each evaluator, its interval, and the means that the paper prints."""
    page = (ROOT / "docs" / "guide" / "meta.md").read_text()
    (command,) = re.findall(r"\$ goldrank (meta evalrank_logs\.csv .*?)```", page, re.DOTALL)
    published = shared_data / "published"
    arguments = shlex.split(
        command.replace("\\\n", " ").replace("evalrank_logs.csv", str(published / "evalrank_logs.csv"))
    )
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    with (published / "evalrank_meta_correlations.csv").open() as file:
        printed = [row for row in csv.DictReader(file) if row["level"] == "sentence"]
    names = {"SICK-R": "SICKRelatedness", "STS-B": "STSBenchmark"}
    rows = re.findall(r"^\| ([\w @-]+) \| (−?\d\.\d\d) \| (−?\d\.\d\d) (\[.*?\]) \|$", page, re.MULTILINE)
    assert len(rows) == 10
    for shown, in_the_paper, mean, interval in rows:
        name = names.get(shown, shown)
        (place,) = [n for n, line in enumerate(lines) if re.match(rf"{name}( spearman)? +{mean} ", line)]
        assert lines[place + 1].strip().startswith(interval)
        rho = [float(row["rho_x100"]) / 100 for row in printed if row["intrinsic"] == name.replace(" ", "-")]
        assert f"{sum(rho) / len(rho):.2f}".replace("-", "−") == in_the_paper
        if name == "EvalRank MRR":
            left_out = "the mean of EvalRank's MRR is −0.14; without `bert:bert-base-uncased:last-avg` it is 0.21."
            assert left_out in " ".join(page.split())
            assert (lines[place].split()[-1], lines[place + 1].split()[-2:]) == ("−0.14", ["to", "0.21"])


def test_the_number_of_the_python_page_is_that_of_its_call():
    page = (ROOT / "docs" / "guide" / "python.md").read_text()
    (shown,) = re.findall(r'result\.scores\["ndcg@10"\]\.mean  # (\d\.\d+)…', page)
    assert 'result = gr.evaluate("wordllama", "questions")' in page
    assert str(evaluate("wordllama", "questions").scores["ndcg@10"].mean).startswith(shown)


@pytest.mark.slow
def test_the_code_of_the_python_page_runs(own_folder):
    names: dict[str, object] = {}
    for block in _blocks("guide/python.md", "python"):
        exec(compile(block, "guide/python.md", "exec"), names)
    assert (own_folder / "report.md").is_file()
    assert (own_folder / "figures" / "rank-curve.png").is_file()


COMING_FROM = [
    f"coming-from/{path.name}" for path in sorted((ROOT / "docs" / "coming-from").glob("*.md")) if path.stem != "index"
]
# What a page imports beside goldrank. Heavy ones are installed by `make test-all` only, or compile for half a minute.
PEERS = {"pytrec_eval", "ir_measures"}
HEAVY_PEERS = {"ranx", "beir", "mteb", "sentence_transformers", "torch", "FlagEmbedding"}


def _peers(page):
    return set(re.findall(r"^\s*(?:import|from) (\w+)", "\n".join(_blocks(page, "sh")), re.MULTILINE)) & (
        PEERS | HEAVY_PEERS
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.heavy] if _peers(page) & HEAVY_PEERS else []) for page in COMING_FROM],
)
def test_the_commands_of_a_page_for_users_of_another_tool_print_what_is_shown(tmp_path, request, page):
    for peer in sorted(_peers(page)):
        if importlib.util.find_spec(peer) is None:
            pytest.skip(f"{peer} is not installed")
    environment = {}
    if "GOLDRANK_TEST_DATA" in "".join(_blocks(page, "sh")):
        environment["GOLDRANK_TEST_DATA"] = str(request.getfixturevalue("shared_data"))
    _assert_shown_lines_are_printed([page], _run_pages([page], tmp_path, **environment))


def test_there_is_a_page_for_users_of_each_tool_and_the_navigation_has_them_all():
    assert {Path(page).stem for page in COMING_FROM} == {
        "wikipedia-similarities", "evalrank", "bge-flagembedding", "masked-persons",
        "trec_eval", "ranx", "ir_measures", "pytrec_eval", "beir", "mteb", "sentence-transformers",
    }  # fmt: skip
    section = (ROOT / "mkdocs.yml").read_text().split("  - Coming from:\n")[1].split("\n  - ")[0]
    pages = [f"coming-from/{path.name}" for path in (ROOT / "docs" / "coming-from").glob("*.md")]
    assert sorted(re.findall(r": (\S+\.md)$", section, re.MULTILINE)) == sorted(pages)


def _timeless(line):
    """A line without what differs from run to run and from version to version: digests, dates and seconds."""
    line = re.sub(r"-[0-9a-f]{4}\b", "-digest", line)
    return re.sub(r" +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S* +[\d.]+$", " date seconds", line).rstrip()


def test_the_run_file_of_the_tasks_page_names_every_entry():
    (file,) = re.findall(
        r"cat > run.toml <<'END'\n(.*?)END", (ROOT / "docs" / "guide" / "tasks.md").read_text(), re.DOTALL
    )
    there = set(re.findall(r"^(?:# )?(\w+) = |^\[(\w+)\]", file, re.MULTILINE))
    assert {name or table for name, table in there} >= set(known_names())


def test_the_collections_page_tells_every_layout():
    page = (ROOT / "docs" / "guide" / "collections.md").read_text()
    by_name = {"ir_datasets": "irds:", "hub": "hf:"}
    assert all(by_name.get(name, f"**{name}**") in page for name in READERS)


def test_the_security_page_tells_what_every_kind_of_model_may_do():
    page = (ROOT / "docs" / "guide" / "security.md").read_text()
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
