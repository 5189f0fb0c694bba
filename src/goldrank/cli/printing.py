"""Print to the terminal: the only place of the commands that does, so that nothing from data can control a terminal."""

from __future__ import annotations

import re
import sys

from goldrank.escaping import escape_line, escape_text
from goldrank.redaction import redact

# The styles that `report.grids` writes around text which it has escaped itself.
_STYLE = re.compile("(\x1b\\[[012]m)")


def show(text: str, *, end: str = "\n") -> None:
    """Print a result to standard output, at once.

    On a terminal control characters are shown as escapes. A file or pipe gets the text as it is, because JSON and CSV
    keep data exact; tables are escaped where they are rendered.
    """
    if sys.stdout.isatty():
        text = "".join(part if at % 2 else escape_text(part) for at, part in enumerate(_STYLE.split(text)))
    print(text, end=end, flush=True)


def say(line: str, *, end: str = "\n") -> None:
    """Print one line for people to standard error, without secrets and control characters."""
    print(escape_line(redact(f"goldrank: {line}")), end=end, file=sys.stderr, flush=True)
