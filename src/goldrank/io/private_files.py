"""Create folders and files that only the user can read, and lock files between processes."""

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
                # Lock a byte far behind the end: on Windows, other processes cannot read locked bytes.
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
    """Create *folder* and its missing parents for the user only; an existing folder is not changed.

    Inside a folder that the group, but not everybody, may write to, the group has access as well, for sharing.
    """
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_private_folder(folder.parent)
    shared = _is_shared(folder.parent)
    folder.mkdir(mode=0o770 if shared else 0o700, exist_ok=True)
    if shared:
        # The umask may have removed the group's permission to write; another user may own the folder by now.
        with suppress(OSError):
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o070)


def make_private_file(file: Path) -> None:
    """Create an empty file for the user only, unless it exists."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        restrict(file)


def restrict(file: Path) -> None:
    """Restrict access to a file to the user, and to the group if the folder is shared."""
    with suppress(OSError):
        file.chmod(0o660 if _is_shared(file.parent) else 0o600)


def _is_shared(folder: Path) -> bool:
    return stat.S_IMODE(folder.stat().st_mode) & 0o022 == 0o020
