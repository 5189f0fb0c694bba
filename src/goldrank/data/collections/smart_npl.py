"""Read the files of NPL (the Vaswani collection): numbered texts and lists of numbers that end with a slash."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from goldrank.data.collections.smart_files import END_OF_FILE, Judgments, Records, judgments, read_numbered
from goldrank.data.collections.streams import lines, text_encoding
from goldrank.errors import InputError, shorten

_END = "/"


def is_records(start: bytes) -> bool:
    """Return True if a file with this beginning contains numbered texts."""
    body = _first_body(start)
    return body is not None and not all(map(bytes.isdigit, body.split()))


def is_judgments(start: bytes) -> bool:
    """Return True if a file with this beginning contains the numbers of relevant documents."""
    body = _first_body(start)
    return body is not None and all(map(bytes.isdigit, body.split()))


def _first_body(start: bytes) -> bytes | None:
    """Return the content between the number and the slash of the first record; None if there is no such record."""
    record = re.match(rb"\s*\d+[ \t]*\r?\n(.*?)^[ \t]*/[ \t]*\r?$", start, re.DOTALL | re.MULTILINE)
    return record[1] if record and record[1].strip() else None


def read_records(path: Path) -> Records:
    """Read the numbered texts of a file."""
    remedy = "write a number, the text and a slash, each on lines of their own"
    return read_numbered(path, _END, inline=False, remedy=remedy)


def read_judgments(path: Path) -> Judgments:
    """Return the judgments of a file: the number of a query, those of its relevant documents, and a slash."""
    flat: list[tuple[int, str, str]] = []
    query: str | None = None
    for number, token in _tokens(path):
        if token == _END:
            query = None
        elif query is None:
            query = token
        else:
            flat.append((number, query, token))
    return judgments(path, flat)


def _tokens(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in lines(path, text_encoding(path)):
        for token in line.strip(END_OF_FILE).split():
            if token != _END and not (token.isascii() and token.isdigit()):
                raise InputError(
                    f"{shorten(token)} is neither a number nor a slash",
                    where=f"{path}:{number}",
                    remedy="write the number of a query, those of its documents, and a slash",
                )
            yield number, token
