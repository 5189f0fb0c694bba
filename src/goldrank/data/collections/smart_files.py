"""Read files of SMART collections: records with dotted fields (.I .T .W), starred records (TIME), and judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goldrank.data.collections.collection import Document
from goldrank.data.collections.records import unique_documents
from goldrank.data.collections.streams import lines, text_encoding
from goldrank.errors import InputError, shorten
from goldrank.io.checks import parse_values
from goldrank.io.columns import Columns, group

_MARK = re.compile(r"\.([A-Z])(?:\s+(.*))?$")
_STARRED = re.compile(r"\*(TEXT|FIND)\s+(\d+)\b")
_STOP = re.compile(r"\*STOP\b")
_NUMBER = re.compile(r"\s*(\d+)\s*")
END_OF_FILE = "\x1a"
"""The end-of-file character of CP/M and DOS, with which old files may end."""
Lines = Iterable[tuple[int, str]]


@dataclass(frozen=True)
class Records:
    """The documents or queries of one file, and how many of them have field marks inside their text."""

    documents: list[Document]
    broken: int
    starred: bool
    latin: bool
    unended: int = 0
    """The number of its files that end inside a record."""


def is_records(start: bytes) -> bool:
    """Return True if a file with this beginning contains documents or queries."""
    return re.match(rb"\s*(\.I\s+\S|\*(TEXT|FIND)\s+\d)", start) is not None


def is_judgments(start: bytes) -> bool:
    """Return True if a file with this beginning may contain judgments: the number of a query, and more."""
    return re.match(rb"\s*\d+[ \t]+\S", start) is not None


def read_smart(path: Path) -> Records:
    """Return the records of a file; a file that is not UTF-8 is read as latin-1.

    White space and line breaks inside a text are not changed. The id of a document of TIME is its position in the
    file, which is what the judgments refer to.
    """
    encoding = text_encoding(path)
    numbered = list(lines(path, encoding))
    first = next((line for _, line in numbered if line.strip()), "")
    starred = _STARRED.match(first) is not None
    if starred:
        documents, broken = _starred(numbered, path), 0
    else:
        documents, broken = _dotted(numbered, path)
    return Records(documents, broken, starred, encoding != "utf-8")


def plain_id(number: str) -> str:
    """Return an id without leading zeros, which some files of a collection have and others do not.

    >>> plain_id("007"), plain_id("d-07")
    ('7', 'd-07')
    """
    return str(int(number)) if number.isascii() and number.isdigit() and len(number) < 100 else number


def _starred(numbered: Lines, path: Path) -> list[Document]:
    texts: list[tuple[str, str, list[str]]] = []
    for number, line in numbered:
        if mark := _STARRED.match(line):
            texts.append((f"{path}:{number}", plain_id(mark[2]) if mark[1] == "FIND" else str(len(texts) + 1), []))
        elif texts and not _STOP.match(line):
            texts[-1][2].append(line)
    return _plain_documents(texts)


def _plain_documents(texts: Iterable[tuple[str, str, list[str]]]) -> list[Document]:
    """Return documents of places, ids and lines."""
    return unique_documents([(place, Document.plain(text_id, verbatim(body))) for place, text_id, body in texts])


def _dotted(numbered: Lines, path: Path) -> tuple[list[Document], int]:
    placed: list[tuple[str, Document]] = []
    broken = 0
    for number, name, body in _bodies(numbered, path):
        title, text, is_broken = _fields(body)
        broken += is_broken
        placed.append((f"{path}:{number}", Document.plain(plain_id(name), text, title)))
    return unique_documents(placed), broken


def _bodies(numbered: Lines, path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the line at which each record starts, its number, and the lines that follow."""
    current: tuple[int, str, list[str]] | None = None
    for number, line in numbered:
        mark = _MARK.match(line)
        words = (mark[2] or "").split() if mark and mark[1] == "I" else ["no", "mark"]
        # If more than a number follows, the line is text (".I think that").
        if len(words) < 2:
            if current:
                yield current
            if not words:
                raise InputError("the record has no number", where=f"{path}:{number}", remedy="write it after .I")
            current = number, words[0], []
        elif current:
            current[2].append(line)
        elif line.strip():
            raise InputError(
                f"the text {shorten(line.strip())} stands before the first record",
                where=f"{path}:{number}",
                remedy="start every record with .I and its number",
            )
    if current:
        yield current


def _fields(body: Sequence[str]) -> tuple[str, str, bool]:
    """Return the title and the text, and whether there are marks inside the text."""
    parts: dict[str, list[str]] = {}
    field, broken = "", False
    for line in body:
        mark = _MARK.match(line)
        if mark is None or (mark[2] or "").strip():
            # A line of text may begin like a mark (".I think"), but a mark is alone in its line.
            parts.setdefault(field, []).append(line)
        elif field == "W" and mark[1] in parts:
            # No field follows the text, so these marks are errors inside it, as in document 240 of Cranfield.
            broken = True
        else:
            field = mark[1]
            parts.setdefault(field, [])
    return verbatim(parts.get("T", ())), verbatim(parts.get("W", ())), broken


def verbatim(text: Sequence[str]) -> str:
    """Return the lines of a text unchanged, without blank lines before and after it.

    >>> verbatim(["", "  wings  in", "flow", " "])
    '  wings  in\\nflow'
    """
    full = [at for at, line in enumerate(text) if line.strip()]
    return "\n".join(text[full[0] : full[-1] + 1]) if full else ""


@dataclass(frozen=True)
class Judgments:
    """Rows of query, document and grade as in a file, with their line numbers."""

    path: Path
    lines: list[int]
    queries: list[str]
    items: list[str]
    grades: list[str]
    graded: bool
    """Whether the file has grades; otherwise it lists the relevant documents."""

    def columns(self, queries: Sequence[str], items: Sequence[str]) -> Columns:
        """Return the grouped rows, with these ids instead of those of the file."""

        def place(row: int) -> str:
            return f"{self.path}:{self.lines[row]}"

        values = parse_values(self.grades, value="grade", place=place) if self.grades else np.zeros(0)
        return group(queries, items, values, "gold", source=str(self.path), place=place)


def read_numbered(path: Path, end: str, *, inline: bool, remedy: str) -> Records:
    """Read numbered texts: a line with a number, and lines of text up to an *end* mark.

    Args:
        path: The file; one that is not UTF-8 is read as latin-1.
        end: The mark that ends a text.
        inline: Whether the mark ends the last line of the text; else it is a separate line.
        remedy: How a text should be written, for error messages.
    """
    encoding = text_encoding(path)
    texts: list[tuple[str, str, list[str]]] = []
    is_open = False
    for number, line in lines(path, encoding):
        place, bare = f"{path}:{number}", line.strip()
        if is_open:
            is_open = not (bare.endswith(end) if inline else bare == end)
            if is_open or inline:
                texts[-1][2].append(line if is_open else line.rstrip().removesuffix(end).rstrip())
        elif number_line := _NUMBER.fullmatch(line):
            texts.append((place, plain_id(number_line[1]), []))
            is_open = True
        elif line.strip(END_OF_FILE).strip():
            raise InputError(
                f"{shorten(bare)} stands where the number of a text is expected", where=place, remedy=remedy
            )
    return Records(_plain_documents(texts), 0, starred=False, latin=encoding != "utf-8", unended=int(is_open))


def read_judgments(path: Path, *, lists: bool) -> Judgments:
    """Read judgments of two to four columns, or *lists*, lines of a query with its documents, as in TIME.

    The columns are query and document, optionally followed by a grade (Cranfield) or two zeros (CISI); or those of
    TREC.
    """
    rows = [(number, line.split()) for number, line in lines(path, text_encoding(path)) if line.strip()]
    for number, cells in rows:
        for cell in cells[:1] if not lists else cells:
            if not (cell.isascii() and cell.isdigit()):
                raise InputError(
                    f"the id {shorten(cell)} is not a number",
                    where=f"{path}:{number}",
                    remedy="judgments are lines of numbers: query, document, grade",
                )
    if lists:
        flat = [(number, cells[0], item) for number, cells in rows for item in cells[1:]]
        return judgments(path, flat)
    width = len(rows[0][1]) if rows else 0
    for number, cells in rows:
        if len(cells) != width or not 2 <= width <= 4:
            raise InputError(
                f"the line has {len(cells)} columns, judgments have two to four and the first line has {width}",
                where=f"{path}:{number}",
                remedy="write query, document and grade",
            )
    trec = width == 4 and all(cells[1] in ("0", "Q0") for _, cells in rows)
    flat = [(number, cells[0], cells[2 if trec else 1]) for number, cells in rows]
    grades = [cells[3 if trec else 2] for _, cells in rows] if width > 2 else []
    return judgments(path, flat, grades if any(grade.strip("0.") for grade in grades) else None)


def judgments(path: Path, flat: list[tuple[int, str, str]], grades: list[str] | None = None) -> Judgments:
    """Return the judgments of rows of line number, query and document; without *grades* all are relevant."""
    if not flat:
        raise InputError("the file holds no judgments", where=str(path), remedy="check that it was written completely")
    return Judgments(
        path,
        [number for number, _, _ in flat],
        [plain_id(query) for _, query, _ in flat],
        [plain_id(item) for _, _, item in flat],
        grades or ["1"] * len(flat),
        graded=grades is not None,
    )
