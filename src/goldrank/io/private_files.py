"""Folders and files that hold texts and results of the user: readable by nobody else."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Make *folder*, and those around it that are missing, for the user alone; one that is there stays as it is.

    Inside a folder that the group may write, and not everybody, the group has access too: that is how people share.
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
    """Create an empty file for the user alone, unless it is there."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        restrict(file)


def restrict(file: Path) -> None:
    """Take away everybody's access to a file but the user's, and the group's where the folder is shared."""
    with suppress(OSError):
        file.chmod(0o660 if _is_shared(file.parent) else 0o600)


def _is_shared(folder: Path) -> bool:
    return stat.S_IMODE(folder.stat().st_mode) & 0o022 == 0o020
