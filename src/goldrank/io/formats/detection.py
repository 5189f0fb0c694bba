"""Recognise the format of a file by its content, never by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from goldrank.errors import InputError, shorten
from goldrank.io.checks import is_number
from goldrank.io.column_names import ITEM, QUERY, normal
from goldrank.io.columns import TableKind
from goldrank.io.files import is_parquet
from goldrank.io.formats import FORMATS, TREC_LAYOUT

_JSON_START = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[{"\]])')
_VISIBLE = re.compile(rb"\S")
_LINE_END = re.compile(rb"[\r\n]|$")
_DELIMITERS = {"tsv": "\t", "csv": ","}


def recognise(data: bytes, kind: TableKind, name: str) -> str:
    """Return the format of *data*, one of `FORMATS`; raise InputError with the first line if it is unknown."""
    if is_parquet(data):
        return "parquet"
    if _JSON_START.match(data):
        return _json_or_jsonl(data)
    first = next(_lines(data), None)
    if first is None:
        raise InputError(
            "the file holds no rows, only blank lines", where=name, remedy="check that it was written completely"
        )
    at, line = first
    format = _tabular(line, kind)
    if format is None and line.lstrip().startswith("#"):
        # No format has comments; the reader of the recognised format reports this line.
        row = next((text for _, text in _lines(data) if not text.lstrip().startswith("#")), "")
        format = _tabular(row, kind)
    format = format or _nearly(line)
    if format is None:
        raise InputError(
            f"the format is not recognised from the line {shorten(line.strip())}",
            where=f"{name}:{data.count(bytes([10]), 0, at) + 1}",
            remedy=f"give {', '.join(FORMATS)} (TREC qrels have 4 columns, runs 6), or name the format",
        )
    return format


def recognise_first_line(data: bytes, kind: TableKind) -> str | None:
    """Return the format of the first line if it is a header or a row without fault; None otherwise."""
    with suppress(UnicodeDecodeError):
        first = next(_lines(data), None)
        return None if first is None else _tabular(first[1], kind)
    return None


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield each line that is not blank, with the offset of its first character that is not white space."""
    end = 0
    while (visible := _VISIBLE.search(data, end)) is not None:
        line_end = _LINE_END.search(data, visible.start())
        assert line_end is not None  # the end of the data also ends a line
        start, end = end, line_end.start()
        blank = data[start : visible.start()]
        indent = len(blank) - max(blank.rfind(b"\n"), blank.rfind(b"\r")) - 1
        yield visible.start(), data[visible.start() - indent : end].decode()


def _tabular(line: str, kind: TableKind) -> str | None:
    return _headed(line) or _bare(line, "tsv") or _trec(line, kind) or _bare(line, "csv")


def _cells(line: str, format: str) -> list[str]:
    return [cell.strip(' "') for cell in line.split(_DELIMITERS[format])]


def _words(line: str) -> list[str]:
    # The native reader splits at ASCII white space only, str.split() at any white space of Unicode.
    return [word.decode() for word in line.encode().split()]


def _headed(line: str) -> str | None:
    """Recognise TSV, BEIR or CSV by a header of known names."""
    for format in _DELIMITERS:
        names = [normal(cell) for cell in _cells(line, format)]
        if format == "tsv" and names == ["query_id", "corpus_id", "score"]:
            return "beir"
        if len(names) > 2 and _any_named(names, QUERY) and _any_named(names, ITEM):
            return format
    return None


def _any_named(names: list[str], groups: tuple[tuple[str, ...], ...]) -> bool:
    return any(name in accepted for accepted in groups for name in names)


def _trec(line: str, kind: TableKind) -> str | None:
    width, value_column = TREC_LAYOUT[kind]
    cells = _words(line)
    # A run may have text after its tag. The second column is 0 or Q0; a comma in it shows a CSV row whose ids hold
    # spaces.
    fits = len(cells) == width or (kind == "run" and len(cells) > width and is_number(cells[value_column - 1]))
    fits = fits and "," not in cells[1] and is_number(cells[value_column])
    return "trec" if fits else None


def _bare(line: str, format: str) -> str | None:
    """Recognise TSV or CSV by three columns, of which the last is a number."""
    cells = _cells(line, format)
    return format if len(cells) == 3 and all(cells) and is_number(cells[2]) else None


def _nearly(line: str) -> str | None:
    """Return the probable format of a faulty line, whose reader then reports the fault."""
    cells = _words(line)
    if 3 <= len(cells) <= 8 and "," not in cells[1] and any(map(is_number, cells[1:])):
        return "trec"
    if len(cells) in (4, 6) and cells[1] == "Q0":
        return "trec"
    for format in _DELIMITERS:
        if len(_cells(line, format)) > 2:
            return format
    return "json" if cells and cells[0][0] in "{[" else None


def _json_or_jsonl(data: bytes) -> str:
    lines = _lines(data)
    first, second = next(lines), next(lines, None)
    if second is None or first[1].lstrip().startswith("["):
        return "json"
    if first[1].rstrip().endswith("}") and second[1].lstrip().startswith("{"):
        return "jsonl"
    import json

    try:
        json.loads(first[1])
    except (ValueError, RecursionError):
        return "json"
    return "jsonl"
