"""The documentation is made from the registries and names everything they hold."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from goldrank.cli.main import main
from goldrank.metrics import PROFILES, REGISTRY

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


def test_the_table_in_the_readme_is_what_the_command_prints(capsys):
    readme = (ROOT / "README.md").read_text()
    shown = re.search(r"```console\n\$ goldrank compare (?P<arguments>[^\n]*)\n\n(?P<output>.*?)```", readme, re.DOTALL)
    folder = ROOT / "src" / "goldrank" / "demo"
    arguments = [str(folder / part) if (folder / part).is_file() else part for part in shown["arguments"].split()]
    assert main(["compare", *arguments]) == 0
    assert shown["output"].strip() in capsys.readouterr().out


def test_the_commands_of_the_embeddings_and_index_pages_run_as_they_stand(tmp_path):
    pages = [(ROOT / "docs" / "guide" / name).read_text() for name in ("embeddings.md", "indexes.md")]
    commands = [block for page in pages for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(commands)],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "GOLDRANK_CACHE": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"1 +[\d.]+ +curie", done.stdout)
    assert '"id": "armstrong"' in done.stdout
    assert '"id": "cleopatra"' in done.stdout
