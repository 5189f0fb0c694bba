"""Let standard output and standard error accept every character, and detect failures to write to them."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from goldrank import terminal


def _replace_characters(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return terminal.similar_ascii(error.object[error.start : error.end]), error.end


class _ClosedOutput(io.RawIOBase):
    """Standard output of a process that was started without one."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, "it is closed")


def prepare_streams() -> None:
    """Make sure that neither a character nor a missing stream makes printing fail."""
    codecs.register_error("goldrank", _replace_characters)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ClosedOutput()), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="goldrank")


def write_failure() -> str | None:
    """Flush standard output; if that fails, discard it and return the reason."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        _discard(sys.stdout)
        return (getattr(error, "strerror", None) or str(error)).lower()
    return None


def _discard(stream: TextIO) -> None:
    """Keep Python from flushing the stream again at exit, which would print an error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return
    # The stream has no file descriptor: replace it.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process
    with suppress(OSError, ValueError):
        stream.close()
