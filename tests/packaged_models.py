"""Find models inside installed packages, for tests that need a real model without a download."""

import importlib.util
from pathlib import Path

import pytest


def folder_in_package(package: str, *parts: str) -> Path:
    """Return a folder inside a package without importing it, or skip the test if the package is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return Path(next(iter(spec.submodule_search_locations))).joinpath(*parts)
