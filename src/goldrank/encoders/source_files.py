"""Fingerprint Python functions by their file and all files of their project that it imports."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from goldrank.io.fingerprints import file_digest

_SUFFIXES = (".py", *EXTENSION_SUFFIXES)


def source_stamp(function: Callable[..., Any], *, by_name: bool) -> str:
    """Return a digest of the code of *function* and of the project's modules that it imports, directly or not.

    Included are modules named by import statements, also inside functions. Not included are the standard library,
    installed packages, modules that are imported in other ways, data files and servers.

    A function without a file (a lambda, or one typed into a notebook) and one with state (a closure, or a method of an
    object) get a digest that is different every time, except a method that was imported *by_name*: the code of its
    module determines its state.
    """
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", "<")
    bound = inspect.ismethod(function) and not inspect.isclass(function.__self__)
    stateful = bool(getattr(function, "__closure__", None)) or (bound and not by_name)
    if code is None or "<" in name or stateful or not Path(code.co_filename).is_file():
        return f"unnamed {os.urandom(8).hex()}"
    digest = hashlib.sha256()
    for module, file in sorted(imported_files(Path(code.co_filename)).items()):
        digest.update(f"{module}\0{file_digest(file)}\n".encode())
    return digest.hexdigest()[:16]


def imported_files(start: Path) -> dict[str, Path]:
    """Return *start* and the files of the same project that it imports, transitively, by the names of their modules."""
    start = start.resolve()
    root, parts = _placed(start)
    own = root / parts[0] if len(parts) > 1 else start
    files = {".".join(parts): start}
    waiting = [start]
    while waiting:
        file = waiting.pop()
        for name in _imports(file):
            for module, path in _located(name, file):
                if module not in files and (own in path.parents or not _is_foreign(path)):
                    files[module] = path
                    waiting.append(path)
    return files


def _imports(file: Path) -> Iterator[str]:
    """Yield the absolute names of all modules that a file may import."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    _, parts = _placed(file)
    package = parts if file.name == "__init__.py" else parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            # A name that is imported from a package may be a module.
            yield from (f"{module}.{alias.name}".lstrip(".") for alias in node.names)
        elif isinstance(node, ast.Call) and _is_import_call(node.func) and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("."):
                yield first.value


def _is_import_call(called: ast.expr) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in ("import_module", "__import__")


def _located(name: str, importer: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that run when the module *name* is imported, its packages first, as far as they are found."""
    parts = name.split(".")
    folders = [_placed(importer)[0], Path.cwd(), *(Path(entry or ".").resolve() for entry in sys.path)]
    for depth in range(1, len(parts) + 1):
        module = ".".join(parts[:depth])
        loaded = getattr(sys.modules.get(module), "__file__", None)
        file = Path(loaded).resolve() if loaded else _in_folders(parts[depth - 1], folders)
        if file is not None:
            yield module, file
            folders = [file.parent] if file.name == "__init__.py" else []
        else:
            # A namespace package, or a name that is not a module.
            folders = [folder / parts[depth - 1] for folder in folders if (folder / parts[depth - 1]).is_dir()]


def _in_folders(part: str, folders: list[Path]) -> Path | None:
    for folder in folders:
        candidates = [folder / part / "__init__.py", *(folder / f"{part}{suffix}" for suffix in _SUFFIXES)]
        if file := next((path for path in candidates if path.is_file()), None):
            return file.resolve()
    return None


def _placed(file: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the folder that imports start from, and the parts of the name of the module in *file*."""
    parts = () if file.name == "__init__.py" else (file.name.partition(".")[0],)
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts = (folder.name, *parts)
        folder = folder.parent
    return folder, parts


def _is_foreign(file: Path) -> bool:
    if any(part in ("site-packages", "dist-packages") for part in file.parts):
        return True
    return any(folder in file.parents for folder in _foreign_folders())


@cache
def _foreign_folders() -> tuple[Path, ...]:
    """Return the folders of the standard library and of goldrank, whose version is recorded elsewhere."""
    paths = sysconfig.get_paths()
    return (*(Path(paths[name]).resolve() for name in ("stdlib", "platstdlib")), Path(__file__).resolve().parents[1])
