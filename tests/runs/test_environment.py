"""Test reading the commit of the working folder without running commands that a downloaded repository configures."""

import os
import shutil
import subprocess

import pytest

from goldrank.runs.environment import git_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    name = ["-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false"]
    process = subprocess.run(["git", *name, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return process.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def head(folder):
    return git(folder, "rev-parse", "HEAD")[:12]


def test_the_commit_with_a_plus_where_a_tracked_file_differs(repository):
    assert git_commit(repository) == head(repository)
    (repository / "new.txt").write_text("untracked files do not count\n")
    assert git_commit(repository) == head(repository)
    (repository / "a.txt").write_text("two\n")
    assert git_commit(repository) == head(repository) + "+"
    git(repository, "add", "a.txt")
    assert git_commit(repository) == head(repository) + "+"
    git(repository, "commit", "-qm", "second")
    assert git_commit(repository) == head(repository)
    os.utime(repository / "a.txt", (1, 1))
    assert git_commit(repository) == head(repository)


def test_packed_branches_tags_detached_heads_subfolders_and_linked_folders(repository, tmp_path):
    git(repository, "pack-refs", "--all")
    git(repository, "gc", "-q")
    assert git_commit(repository) == head(repository)
    (repository / "sub" / "folder").mkdir(parents=True)
    assert git_commit(repository / "sub" / "folder") == head(repository)
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    (tmp_path / "linked" / "a.txt").write_text("three\n")
    assert git_commit(tmp_path / "linked") == head(repository) + "+"
    git(repository, "checkout", "-q", "--detach")
    assert git_commit(repository) == head(repository)


def test_what_is_no_repository_has_no_commit(tmp_path):
    assert git_commit(tmp_path) is None
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert git_commit(tmp_path) is None
    (tmp_path / ".git").unlink()
    git(tmp_path, "init", "-q")
    assert git_commit(tmp_path) is None
    for content in ("ref: ../../etc/passwd", "ref: refs/../../x", "no commit", "ref: HEAD", "\udcff"):
        (tmp_path / ".git" / "HEAD").write_bytes(content.encode("utf-8", "surrogateescape"))
        assert git_commit(tmp_path) is None


def test_no_program_that_the_repository_names_is_run(repository, tmp_path, monkeypatch):
    marker = tmp_path / "ran"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"):
        shutil.copy(program, hooks / hook)
        shutil.copy(program, repository / ".git" / "hooks" / hook)
    settings = {
        "core.fsmonitor": program, "core.hooksPath": hooks, "core.pager": program, "core.sshCommand": program,
        "core.editor": program, "core.alternateRefsCommand": program, "core.askPass": program,
        "filter.evil.clean": program, "filter.evil.smudge": program, "filter.evil.process": program,
        "diff.evil.textconv": program, "diff.evil.command": program, "diff.external": program,
        "credential.helper": program, "alias.diff": f"!{program}", "gpg.program": program,
    }  # fmt: skip
    for name, value in settings.items():
        git(repository, "config", name, str(value))
    included = tmp_path / "included"
    included.write_text(f"[core]\n\tfsmonitor = {program}\n")
    git(repository, "config", "include.path", str(included))
    (repository / "a.txt").write_text("two\n")  # so that Git runs filters
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.chdir(repository)
    assert git_commit().endswith("+")
    assert not marker.exists()
    subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=False)
    assert marker.exists(), "the trap itself does not work"


def test_no_program_that_a_submodule_names_is_run(repository, tmp_path):
    marker = tmp_path / "ran"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    other = tmp_path / "other"
    shutil.copytree(repository, other)
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    git(repository, "commit", "-qm", "submodule")
    git(repository / "sub", "config", "core.fsmonitor", str(program))
    (repository / "sub" / "a.txt").write_text("two\n")
    marker.unlink(missing_ok=True)
    assert git_commit(repository) == head(repository)
    assert not marker.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("part", [".", ".git"])
def test_the_repository_of_another_user_is_left_alone(repository, part):
    os.chown(repository / part, 65534, 65534)
    assert git_commit(repository) is None
