"""Digest texts, and files by their content; the digests of large files are cached until the files change."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from goldrank.io.files import cache_folder, write_atomically
from goldrank.io.private_files import make_private_folder

FOLDER = "fingerprints"
_CHUNK = 1 << 22
# Files up to this size are always read, which takes at most a second.
_ALWAYS_READ = 1 << 26
# A file may change again within the resolution of its times, which is up to two seconds.
_SETTLED_SECONDS = 3.0
FileState = tuple[int, int, int, int, int]


def file_state(path: str | os.PathLike[str]) -> FileState:
    """Return what shows whether a file has changed: device, inode, size, and the times of both changes.

    Only the system sets the time of the last status change (ctime): it changes even if someone writes or replaces a
    file and sets its modification time back.
    """
    status = Path(path).stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's content, as hexadecimal digits.

    The digest of a file over 64 MiB is cached under the state of the file, so that the file is read again only after a
    change.
    """
    file = Path(path)
    state = file_state(file)
    remembered = _remembered(file, state)
    if remembered is not None and (known := _read(remembered)) is not None:
        return known
    digest = content_digest(file, "sha256")
    settled = time.time() - max(state[3], state[4]) / 1e9 > _SETTLED_SECONDS
    if remembered is not None and settled and file_state(file) == state:
        # A cache that cannot be written is not an error.
        with suppress(Exception):
            make_private_folder(remembered.parent)
            write_atomically(remembered, lambda out: out.write(digest.encode()))
    return digest


def add_text(digest: hashlib._Hash, text: str) -> None:
    """Add a text with its length to a digest, so that ("ab", "c") and ("a", "bc") have different digests."""
    encoded = text.encode("utf-8", "surrogatepass")
    digest.update(len(encoded).to_bytes(8, "little"))
    digest.update(encoded)


def content_digest(file: Path, algorithm: str) -> str:
    """Return a digest of a file's content, as hexadecimal digits."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with file.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _remembered(file: Path, state: FileState) -> Path | None:
    """Return the cache file for the digest of a large file; None for small ones, and on Windows (no ctime)."""
    if state[2] <= _ALWAYS_READ or sys.platform == "win32":
        return None
    name = hashlib.sha256(json.dumps([str(file.resolve()), state]).encode()).hexdigest()[:32]
    return cache_folder() / FOLDER / name


def _read(remembered: Path) -> str | None:
    try:
        known = remembered.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return None
    return known if len(known) == 64 and set(known) <= set("0123456789abcdef") else None
