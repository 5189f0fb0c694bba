"""Standard output and standard error that take every character, and failures to write to them."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
import unicodedata
from contextlib import suppress
from typing import TextIO

# What tables and sentences are drawn with, for terminals that know ASCII or Latin-1 only.
_PLAIN = {
    "─": "-", "│": "|", "–": "-", "—": "-", "−": "-", "↑": "^", "↓": "v", "→": ">", "←": "<", "≤": "<=", "≥": ">=",
    "≈": "~", "×": "x", "·": ".", "•": "*", "…": "...", "█": "#", "‘": "'", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def _closest(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that the encoding lacks: a similar sign, else their number as \\u03b1."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = "".join(_PLAIN.get(sign, sign) for sign in error.object[error.start : error.end])
    # Superscripts and ligatures are letters in another form; NFKD names the letters.
    letters = "".join(unicodedata.normalize("NFKD", sign) if ord(sign) > 127 else sign for sign in text)
    return (letters if letters.isascii() else text).encode("ascii", "backslashreplace").decode(), error.end


class _ClosedOutput(io.RawIOBase):
    """Standard output of a process that was started without one."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.EBADF, "it is closed")


def prepare_streams() -> None:
    """Let no character and no missing stream make printing fail."""
    codecs.register_error("goldrank", _closest)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_ClosedOutput()), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="goldrank")


def write_failure() -> str | None:
    """Why what was printed cannot be written, or None if it can; nothing more is written if not."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        _discard(sys.stdout)
        return (getattr(error, "strerror", None) or str(error)).lower()
    return None


def _discard(stream: TextIO) -> None:
    """Keep Python from trying again at its end, and from complaining."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return
    # Whatever is left in it goes nowhere.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - as long as the process
    with suppress(OSError, ValueError):
        stream.close()
