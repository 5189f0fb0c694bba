"""Test the wheel, installed with the oldest declared version of every dependency, on every available Python."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import installation

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "src")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel for any Python, without the compiled modules: each has a Python twin, and other tests cover both."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
        else:
            shutil.copy(path, source)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source]
    _run(pip, CC="false", CXX="false")
    tags = ["--python-tag=py3", "--abi-tag=none", "--platform-tag=any"]
    _run([sys.executable, "-m", "wheel", "tags", *tags, *folder.glob("*.whl")])
    (path,) = folder.glob("*-py3-none-any.whl")
    return path


def _run(command, **environment):
    process = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **environment})
    assert process.returncode == 0, process.stdout + process.stderr


# The installation without extras is tested once, because its requirements are a subset of those of the extra.
@pytest.mark.parametrize(
    ("version", "extras"),
    [("3.10", ""), ("3.10", "models"), ("3.11", "models"), ("3.12", "models"), ("3.13", "models")],
)
def test_the_oldest_declared_versions_work(wheel, version, extras):
    if installation.find_python(version) is None:
        pytest.skip(f"Python {version} is not installed")
    print(installation.check_distribution(wheel, version, extras, oldest=True))
