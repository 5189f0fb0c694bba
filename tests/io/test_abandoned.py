"""Temporary files of killed processes are removed from the cache when they are old, and no other files are."""

import os
import time

from goldrank.io.cache_entries import ABANDONED_SECONDS, remove_abandoned
from goldrank.io.files import write_atomically

OLD = time.time() - 2 * ABANDONED_SECONDS


def test_only_old_temporary_files_and_folders_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    removed = [".words.npy.0123456789ab.tmp", "embeddings/a/.manifest.json.0123456789ab.tmp"]
    folder = "collections/.scifact.0123456789ab.tmp"
    expected = ["downloads/data.zip.part", "partial/3f2a.jsonl", "words/my.tmp", ".hidden.tmp", f"{folder}/deep/file"]
    for name in [*removed, *expected, "collections/.half.0123456789ab.tmp/corpus.jsonl"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "words" / ".new.0123456789ab.tmp").write_text("being written")
    for path in sorted(tmp_path.rglob("*"), key=lambda path: -len(path.parts)):
        if path.name != ".new.0123456789ab.tmp":
            os.utime(path, (OLD, OLD))
    # A folder in which a file was just written is in use.
    os.utime(tmp_path / folder / "deep" / "file")
    remove_abandoned()
    remaining = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert remaining == {*expected, "words/.new.0123456789ab.tmp"}
    assert not (tmp_path / "collections" / ".half.0123456789ab.tmp").exists()


def test_what_a_killed_write_leaves_is_recognised(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    child = os.fork()
    if child == 0:
        write_atomically(tmp_path / "file", lambda out: os._exit(9))
    os.waitpid(child, 0)
    (left,) = tmp_path.iterdir()
    remove_abandoned()
    assert left.exists()
    os.utime(left, (OLD, OLD))
    remove_abandoned()
    assert list(tmp_path.iterdir()) == []
