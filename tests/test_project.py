"""Test that version, packaging, workflows, changelog and documentation agree with the package."""

import ast
import fnmatch
import re
import sys
from pathlib import Path

import pytest
import yaml

import goldrank

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_has_one_source():
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PYPROJECT["project"]
    assert PYPROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "goldrank.__version__"}


def test_the_citation_names_the_version_and_licence_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == goldrank.__version__
    assert citation["license"] == PYPROJECT["project"]["license"]


def test_no_page_names_another_version_of_goldrank():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        versions = re.findall(r"goldrank(?: |==|-)v?(\d+\.\d+\.\d+)", page.read_text(encoding="utf-8"))
        assert set(versions) <= {goldrank.__version__}, page


def test_the_changelog_has_the_form_of_keep_a_changelog():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    for version in versions[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version)
    assert not versions[1:] or versions[1].startswith(f"[{goldrank.__version__}]")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", changelog, re.MULTILINE)) <= kinds


def test_every_file_of_the_package_is_in_the_wheel():
    package = ROOT / "src" / "goldrank"
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["goldrank"]
    built_or_compiled = {".py", ".pyc", ".cpp", ".h", ".hpp", ".so", ".pyd"}
    for file in package.rglob("*"):
        if file.is_file() and file.suffix not in built_or_compiled:
            name = file.relative_to(package).as_posix()
            assert any(
                fnmatch.fnmatchcase(name, pattern) and name.count("/") == pattern.count("/") for pattern in patterns
            ), name


def test_every_package_folder_has_an_init_file():
    """`packages.find` leaves out folders without one."""
    for file in (ROOT / "src" / "goldrank").rglob("*.py"):
        assert (file.parent / "__init__.py").exists(), file.parent


def test_every_extra_is_documented():
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == sorted(EXTRAS)


def test_every_extra_that_an_error_or_a_page_names_exists():
    names = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for extras in re.findall(r"goldrank\[([\w,-]+)\]", page.read_text(encoding="utf-8")):
            names.update(extras.split(","))
    for module in (ROOT / "src" / "goldrank").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "MissingExtraError":
                names.update(arg.value for arg in node.args[2:] if isinstance(arg, ast.Constant))
    assert {"ray", "web", "plot"} <= names
    assert names <= set(EXTRAS)


def test_every_environment_variable_is_on_the_page_of_the_public_api():
    page = (ROOT / "docs" / "public-api.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(GOLDRANK_\w+)` \|", page, re.MULTILINE))
    sources = [ROOT / "setup.py", *(ROOT / "src" / "goldrank").rglob("*.py")]
    used = {name for file in sources for name in re.findall(r'"(GOLDRANK_[A-Z_]+)"', file.read_text(encoding="utf-8"))}
    assert used == documented


def _make_targets():
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def _steps(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job.get("steps", ())]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_make_target_and_file_that_a_workflow_uses_exists(workflow):
    targets = _make_targets()
    for step in _steps(workflow):
        command = step.get("run", "")
        assert set(re.findall(r"\bmake ([\w-]+)", command)) <= targets
        for path in re.findall(r"python ([\w/]+\.py)", command):
            assert (ROOT / path).exists(), path


def test_the_workflows_run_on_every_supported_python_version():
    classifiers = PYPROJECT["project"]["classifiers"]
    supported = [version for name in classifiers if (version := name.rpartition(" :: ")[2]).startswith("3.")]
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    matrix = tests["jobs"]["matrix"]["strategy"]["matrix"]
    assert matrix["python"] == supported
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    builds = PYPROJECT["tool"]["cibuildwheel"]["build"].split()
    assert builds == [f"cp{version.replace('.', '')}-*" for version in supported]


def test_the_release_reads_the_version_that_the_package_has():
    """The release workflow reads `__version__` with sed, before anything is installed."""
    source = (ROOT / "src" / "goldrank" / "__init__.py").read_text(encoding="utf-8")
    assert re.findall(r'^__version__ = "(.*)"$', source, re.MULTILINE) == [goldrank.__version__]


def test_continuous_integration_lints_and_runs_all_tests():
    commands = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert {"lint", "test-all"} <= set(re.findall(r"^make ([\w-]+)$", commands, re.MULTILINE)) <= _make_targets()
