"""Fingerprint Python functions by their file and all files of their project that it imports."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from goldrank.io.fingerprints import file_digest

_SUFFIXES = (".py", *EXTENSION_SUFFIXES)


def source_stamp(function: Callable[..., Any], module: str) -> str | None:
    """Return a digest of the code of *function*, of the *module* it was imported from, and of all that these import.

    Included are the modules of the project that import statements name, directly or not, also inside functions. Not
    included are the standard library, installed packages, data files and servers.

    Returns:
        The digest; None if the code cannot be known, because the module has no file or because a file imports modules
        whose names are computed.
    """
    named = getattr(sys.modules.get(module), "__file__", None)
    if named is None or not Path(named).is_file():
        return None
    files = imported_files(Path(named))
    # The function may be imported from another file, such as that of a decorator.
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is not None and Path(code.co_filename).is_file() and not _is_foreign(Path(code.co_filename).resolve()):
        files |= imported_files(Path(code.co_filename))
    if any(_computes_imports(file) for file in files.values()):
        return None
    digest = hashlib.sha256()
    for name, file in sorted(files.items()):
        digest.update(f"{name}\0{file_digest(file)}\n".encode())
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
    _, parts = _placed(file)
    package = parts if file.name == "__init__.py" else parts[:-1]
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            # A name that is imported from a package may be a module.
            yield from (f"{module}.{alias.name}".lstrip(".") for alias in node.names)
        elif (name := _imported_by_call(node)) is not None:
            level = len(name) - len(name.lstrip("."))
            yield ".".join([*(package[: len(package) - level + 1] if level else ()), name.lstrip(".")])


def _nodes(file: Path) -> Iterator[ast.AST]:
    """Yield the syntax nodes of a Python file; none of a compiled module or of a file that cannot be parsed."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    yield from ast.walk(tree)


def _imported_by_call(node: ast.AST) -> str | None:
    """Return the name that ``import_module("name")`` or ``__import__("name")`` imports; None for any other node."""
    if isinstance(node, ast.Call) and _is_import_call(node.func) and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first.value
    return None


def _computes_imports(file: Path) -> bool:
    """Return True if a file imports a module whose name is not written in it."""
    calls = (node for node in _nodes(file) if isinstance(node, ast.Call) and _is_import_call(node.func))
    return any(_imported_by_call(call) is None for call in calls)


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
