"""Test the architecture of the package: imports follow the layers, and importing the package is cheap."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import goldrank

ROOT = Path(goldrank.__file__).parent
# Each layer may import from those before it, and from itself.
LAYERS = [
    "redaction", "escaping", "terminal", "errors", "presentation", "progress", "units", "specs", "registry", "schemas",
    "engines", "native", "io", "data", "ordering", "hits", "fusion", "encoders", "vectors", "index", "metrics",
    "stats", "data_warnings", "scoring", "comparing", "slices", "gating", "baselines", "store", "tasks", "masked",
    "runs", "planning", "analysis", "judging", "reporting", "web", "cli", "pytest_plugin", "evaluation",
]  # fmt: skip


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "goldrank" else None


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "goldrank":
            yield from (f"goldrank.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_layer_imports_only_from_layers_before_it():
    edges = set()
    for path in sorted(ROOT.rglob("*.py")):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer in ("__init__", "__main__"):
            continue
        assert layer in LAYERS, f"{layer} has no place in the order of the layers"
        if path in (ROOT / "masked" / "__init__.py", ROOT / "judging" / "__init__.py"):
            continue  # public names, loaded when first used
        for module in imports(path):
            other = layer_of(module)
            if other in LAYERS:
                edges.add((layer, other))
                assert LAYERS.index(other) <= LAYERS.index(layer), f"{path.name} imports {module}"
    assert ("scoring", "metrics") in edges


def test_importing_goldrank_and_scoring_loads_no_heavy_package():
    code = (
        "import sys, goldrank; goldrank.score({'q': {'d': 1}}, {'q': {'d': 1.0}}, 'mrr')['mrr'].interval;"
        "heavy = ('scipy', 'pandas', 'pyarrow', 'polars', 'torch', 'sklearn', 'datasets', 'jinja2', 'fsspec');"
        "print(sorted(m for m in heavy if m in sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_no_two_public_classes_share_a_name():
    paths = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                paths[node.name].append(path.relative_to(ROOT).as_posix())
    assert "Hits" in paths
    assert {name: modules for name, modules in paths.items() if len(modules) > 1} == {}


def test_no_module_asks_pyarrow_for_types_of_pandas():
    """Up to version 25, pyarrow imports pandas for that, which the extra `models` does not install."""
    names = [
        path.name
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "to_pandas_dtype"
    ]
    assert names == []


def test_every_public_name_can_be_loaded_and_nothing_else():
    for name in goldrank.__all__:
        assert getattr(goldrank, name) is not None
    assert set(goldrank.__all__) <= set(dir(goldrank))
    assert not hasattr(goldrank, "no_such_name")


def test_contributing_names_modules_that_exist():
    page = (ROOT.parents[1] / "CONTRIBUTING.md").read_text()
    modules = re.findall(r"^\| .* \| `([\w/]+\.py)` \|$", page, re.MULTILINE)
    assert len(modules) >= 20
    assert [module for module in modules if not (ROOT / module).is_file()] == []
