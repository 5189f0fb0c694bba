"""Print results and messages. No other module prints, so that data can never control the terminal."""

from __future__ import annotations

import re
import sys

from goldrank.errors import GoldrankError, InputError
from goldrank.escaping import escape_line, escape_text
from goldrank.redaction import redact

# The styles that `reporting.text.grids` writes around text which it has escaped itself.
_STYLE = re.compile("(\x1b\\[[012]m)")


def show(text: str, *, end: str = "\n") -> None:
    """Print a result to standard output and flush it.

    A terminal gets control characters as escapes. A file or pipe gets the text unchanged, because JSON and CSV must
    keep data exact; tables are escaped when they are rendered.
    """
    if sys.stdout.isatty():
        text = "".join(part if at % 2 else escape_text(part) for at, part in enumerate(_STYLE.split(text)))
    print(text, end=end, flush=True)


def say(line: str, *, end: str = "\n") -> None:
    """Print a message to standard error as one line, without secrets and control characters."""
    print(escape_line(redact(f"goldrank: {line}")), end=end, file=sys.stderr, flush=True)


def confirm_removal(what: str, *, confirmed: bool) -> None:
    """Ask on the terminal whether to remove *what*, unless it is *confirmed* already.

    Raises:
        InputError: There is no terminal to ask on.
        GoldrankError: The answer is no.
    """
    if confirmed:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"this would remove {what}", remedy="add --yes to remove it without confirmation")
    say(f"Remove {what}? [y/N] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise GoldrankError("nothing was removed")
