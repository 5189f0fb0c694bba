"""Print results and messages. No other module prints, so that data can never control the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TextIO

from goldrank import terminal
from goldrank.errors import DataWarning, GoldrankError, InputError
from goldrank.escaping import escape_line, escape_text
from goldrank.redaction import redact
from goldrank.reporting.text.grids import Layout

# The styles that `reporting.text.grids` writes around text which it has escaped itself.
_STYLE = re.compile("(\x1b\\[[012]m)")


@dataclass
class _Level:
    """The amount of messages besides results, and the stream of the results."""

    quiet: bool = False
    verbose: bool = False
    output: TextIO | None = None
    """None for standard output."""


_level = _Level()


@contextmanager
def verbosity(*, quiet: bool, verbose: bool) -> Iterator[None]:
    """Print less or more in this context: without remarks, or with everything that is known."""
    before = _level.quiet, _level.verbose
    _level.quiet, _level.verbose = quiet, verbose
    try:
        yield
    finally:
        _level.quiet, _level.verbose = before


@contextmanager
def results_to(stream: TextIO) -> Iterator[None]:
    """Print results to *stream* in this context, and to standard error whatever else writes to standard output.

    Models may print: code of the user, and libraries.
    """
    before, _level.output = _level.output, stream
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _level.output = before


def is_verbose() -> bool:
    """Return True if notes are to be shown in full."""
    return _level.verbose


def show(text: str, *, end: str = "\n") -> None:
    """Print a result to standard output and flush it.

    A terminal gets control characters as escapes. A file or pipe gets the text unchanged, because JSON and CSV must
    keep data exact; tables are escaped when they are rendered.
    """
    stream = _level.output or sys.stdout
    if stream.isatty():
        text = "".join(part if at % 2 else escape_text(part) for at, part in enumerate(_STYLE.split(text)))
    print(text, end=end, file=stream, flush=True)


def show_prose(text: str, *, end: str = "\n") -> None:
    """Print sentences of a result to standard output, wrapped to the terminal; in a file or pipe each is one line."""
    width, text = terminal.output_width(sys.stdout), terminal.encodable(text, sys.stdout.encoding)
    show(text if width is None else "\n".join(terminal.wrap(text, width, hanging="  ")), end=end)


def layout() -> Layout:
    """Return how tables are laid out on standard output."""
    width, colours = terminal.output_width(sys.stdout), terminal.has_colours(sys.stdout)
    return Layout(width, colours, is_verbose(), sys.stdout.encoding or "utf-8")


def say(line: str, *, end: str = "\n") -> None:
    """Print an error, a warning or a question to standard error, without secrets and control characters.

    A terminal gets it wrapped; a file or pipe gets one line.
    """
    message = escape_line(redact(f"goldrank: {line}"))
    if sys.stderr.isatty() and (width := terminal.output_width(sys.stderr)) is not None:
        message = "\n".join(terminal.wrap(message, width, hanging="  ", break_words=False))
    print(message, end=end, file=sys.stderr, flush=True)


def warn(warnings: Iterable[DataWarning]) -> None:
    """Print warnings to standard error."""
    for warning in warnings:
        say(f"warning: {warning}")


def remark(line: str) -> None:
    """Print what is being done or worth knowing to standard error, unless the user wants it quiet."""
    if not _level.quiet:
        say(line)


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
    say(f"Remove {what}? [y/N]", end=" ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise GoldrankError("nothing was removed")
