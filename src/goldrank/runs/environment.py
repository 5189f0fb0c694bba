"""Describe the environment of a result: versions, machine, command line and git commit."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import goldrank
from goldrank.encoders.provenance import version_of
from goldrank.redaction import redact_command

_PACKAGES = ("numpy", "scipy", "scikit-learn", "faiss-cpu", "bm25s", "wordllama", "pyarrow", "SQLAlchemy")

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHOWN_DIGITS = 12
_SECONDS = 10
# A reference may name another one; this stops a chain of references that is endless.
_MOST_REFERENCES = 5


def environment() -> dict[str, Any]:
    """Return versions, machine, git commit and command line, which are stored with a result but not part of its key."""
    return {
        "goldrank": goldrank.__version__,
        "python": platform.python_version(),
        "packages": {name: version_of(name).rpartition(" ")[2] for name in _PACKAGES},
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
        "commit": git_commit(),
        "command": redact_command(sys.argv[1:]) if _is_command_line(sys.argv) else "",
    }


def _is_command_line(arguments: Sequence[str]) -> bool:
    """Return True if the process is the command `goldrank`, or `python -m goldrank`."""
    program = Path(arguments[0]) if arguments else Path()
    return program.stem == "goldrank" or program.parts[-2:] == ("goldrank", "__main__.py")


@dataclass(frozen=True)
class _Repository:
    root: Path
    git: Path
    """The folder with HEAD and index of this working tree."""
    common: Path
    """The folder with objects and branches, which several working trees may share."""


def git_commit(folder: Path | None = None) -> str | None:
    """Return the commit of the working tree, with a + if tracked files differ from it; None outside a repository.

    The configuration of a repository may come from anyone, and git runs programs that it names (file system monitors,
    filters, hooks). Therefore HEAD is read here without git, and git looks for changes in a new, empty repository that
    borrows only the index and the objects. A repository that belongs to another user is not read.
    """
    try:
        repository = _find_repository(Path.cwd() if folder is None else folder.resolve())
        commit = None if repository is None else _head(repository)
    except (OSError, ValueError):
        return None
    if repository is None or commit is None:
        return None
    return commit[:_SHOWN_DIGITS] + ("+" if _is_changed(repository, commit) else "")


def _find_repository(folder: Path) -> _Repository | None:
    for root in (folder, *folder.parents):
        place = root / ".git"
        if not place.exists():
            continue
        git = place
        if place.is_file():
            # In a linked working tree or a submodule, .git is a file that names the folder.
            content = place.read_text(encoding="utf-8").strip()
            git = (root / content.removeprefix("gitdir:").strip()).resolve()
        common = git
        if (git / "commondir").is_file():
            common = (git / (git / "commondir").read_text(encoding="utf-8").strip()).resolve()
        own = not hasattr(os, "getuid") or all(path.stat().st_uid == os.getuid() for path in (root, place, git, common))
        return _Repository(root, git, common) if own and (git / "HEAD").is_file() else None
    return None


def _head(repository: _Repository) -> str | None:
    name = "HEAD"
    for _ in range(_MOST_REFERENCES):
        content = _reference(repository, name)
        if content is None or _COMMIT.fullmatch(content):
            return content
        name = content.removeprefix("ref:").strip()
        if not name.startswith("refs/") or ".." in name.split("/"):
            return None
    return None


def _reference(repository: _Repository, name: str) -> str | None:
    for folder in (repository.git, repository.common):
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return (folder / name).read_text(encoding="utf-8").strip()
    with suppress(FileNotFoundError):
        for line in (repository.common / "packed-refs").read_text(encoding="utf-8").splitlines():
            commit, _, packed = line.partition(" ")
            if packed == name:
                return commit
    return None


def _is_changed(repository: _Repository, commit: str) -> bool:
    program = shutil.which("git")
    # On Windows, which() also looks in the working folder, which may hold a program of anyone.
    if program is None or os.name == "nt":
        return False
    with tempfile.TemporaryDirectory(prefix="goldrank-git-") as scratch:
        place = Path(scratch)
        (place / "objects" / "info").mkdir(parents=True)
        (place / "refs").mkdir()
        (place / "HEAD").write_text(f"{commit}\n")
        version = 1 if len(commit) == 64 else 0
        extension = "[extensions]\n\tobjectFormat = sha256\n" if version else ""
        (place / "config").write_text(f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n{extension}")
        (place / "objects" / "info" / "alternates").write_text(f"{repository.common / 'objects'}\n")
        try:
            for index in [repository.git / "index", *repository.git.glob("sharedindex.*")]:
                shutil.copyfile(index, place / index.name)
            result = subprocess.run(
                [program, f"--git-dir={place}", f"--work-tree={repository.root}", "--no-optional-locks",
                 "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}",
                 "diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", commit, "--"],
                cwd=repository.root,
                env=_git_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return False
    return result.returncode == 1


def _git_environment() -> dict[str, str]:
    """Return the environment variables without those of git, and without the configuration of user and system."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ATTR_NOSYSTEM": "1",
    }
