"""The environment of a result: versions, machine, command line and git commit."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
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
# A folder may be linked from another one, not through a chain of them.
_MOST_REFERENCES = 5


def environment() -> dict[str, Any]:
    """Return where a result was computed: versions, machine, commit and command; no part of its key."""
    return {
        "goldrank": goldrank.__version__,
        "python": platform.python_version(),
        "packages": {name: version_of(name).rpartition(" ")[2] for name in _PACKAGES},
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
        "commit": git_commit(),
        "command": redact_command(sys.argv[1:]) if sys.argv and sys.argv[0].endswith("goldrank") else "",
    }


@dataclass(frozen=True)
class _Repository:
    root: Path
    git: Path
    """HEAD and index of this working folder."""
    common: Path
    """Objects and branches, which several working folders may share."""


def git_commit(folder: Path | None = None) -> str | None:
    """Return the commit of the working folder, with a + where tracked files differ from it; None outside a repository.

    The configuration of a repository is data that may come from anyone, and git runs programs that it names (file
    system monitors, filters, hooks). So HEAD is read here, and changes are looked for by git in an empty repository of
    our own that borrows only the index and the objects. The repository of another user is left alone.
    """
    try:
        found = _find(Path.cwd() if folder is None else folder.resolve())
        commit = None if found is None else _head(found)
    except (OSError, ValueError):
        return None
    if found is None or commit is None:
        return None
    return commit[:_SHOWN_DIGITS] + ("+" if _is_changed(found, commit) else "")


def _find(folder: Path) -> _Repository | None:
    for root in (folder, *folder.parents):
        place = root / ".git"
        if not place.exists():
            continue
        git = place
        if place.is_file():
            # Of a linked working folder or a submodule.
            named = place.read_text(encoding="utf-8").strip()
            git = (root / named.removeprefix("gitdir:").strip()).resolve()
        common = git
        if (git / "commondir").is_file():
            common = (git / (git / "commondir").read_text(encoding="utf-8").strip()).resolve()
        own = all(_is_own(path) for path in (root, place, git, common))
        return _Repository(root, git, common) if own and (git / "HEAD").is_file() else None
    return None


def _is_own(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


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
    # On Windows the program might come from the working folder itself.
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
            done = subprocess.run(
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
    return done.returncode == 1


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
