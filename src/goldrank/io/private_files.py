"""Create folders and files that nobody but the user can read, and lock files between processes."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def lock_file(stream: BinaryIO) -> Iterator[None]:
    """Hold a lock on an open file; the system releases it when the process ends, however it ends."""
    if sys.platform == "win32":
        import msvcrt

        while True:
            with suppress(OSError):
                # A byte far behind the end: on Windows a lock keeps others from reading what it covers.
                stream.seek(1 << 62)
                msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
                break
            time.sleep(0.2)
        try:
            yield
        finally:
            stream.seek(1 << 62)
            msvcrt.locking(stream.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(stream.fileno(), fcntl.LOCK_UN)


def make_private_folder(folder: Path) -> None:
    """Create *folder*, and missing ones around it, for the user alone; one that exists stays as it is.

    Inside a folder that the group, but not everybody, may write, the group has access too: that is how people share.
    """
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_private_folder(folder.parent)
    shared = _is_shared(folder.parent)
    folder.mkdir(mode=0o770 if shared else 0o700, exist_ok=True)
    if shared:
        # The umask took the group's right to write; another user may own it by now.
        with suppress(OSError):
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o070)


def make_private_file(file: Path) -> None:
    """Create an empty file for the user alone, unless it exists."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        restrict(file)


def restrict(file: Path) -> None:
    """Leave access to a file to the user alone, and to the group where the folder is shared."""
    with suppress(OSError):
        file.chmod(0o660 if _is_shared(file.parent) else 0o600)


def _is_shared(folder: Path) -> bool:
    return stat.S_IMODE(folder.stat().st_mode) & 0o022 == 0o020
