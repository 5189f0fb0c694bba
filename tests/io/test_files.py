"""Files are written completely or not at all, and the same content always gives the same bytes."""

import io
import os
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import read_bytes, write_atomically


def filler(content: bytes):  # type: ignore[no-untyped-def]
    def fill(out: BinaryIO) -> None:
        out.write(content)

    return fill


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
def test_interrupted_write_keeps_the_old_file_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run.txt{suffix}"
    write_atomically(path, filler(b"old content"))

    def interrupted(out: BinaryIO) -> None:
        out.write(b"half of the new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, interrupted)
    assert read_bytes(path) == b"old content"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_bytes_do_not_depend_on_name_or_time(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        write_atomically(tmp_path / f"{name}{suffix}", filler(b"content " * 100))
    first, second = sorted(tmp_path.iterdir())
    assert first.read_bytes() == second.read_bytes()
    assert len(first.read_bytes()) < 400
    assert read_bytes(first) == b"content " * 100


def test_link_is_followed_and_mode_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, filler(b"new"))
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="no umask")
def test_new_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_atomically(tmp_path / "x", filler(b"new"))
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


def test_name_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_atomically(path, filler(b"new"))
    assert path.read_bytes() == b"new"


def test_dash_is_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    write_atomically("-", filler(b"content"))
    assert out.buffer.getvalue() == b"content"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no such device")
def test_device_is_written_to_and_stays() -> None:
    write_atomically("/dev/null", filler(b"content"))
    assert not Path("/dev/null").is_file()
