"""Read and write CSV and TSV files, including BEIR qrels: with a header, or with three columns without one."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from goldrank import native
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import find_duplicate, is_number, refuse_rounded
from goldrank.io.column_names import describe_found, find_columns, normal
from goldrank.io.columns import (
    VALUE_WORD,
    Columns,
    TableKind,
    columns_of_cells,
    expand_subtopics,
    number_text,
    refuse_empty_queries,
    row_queries,
)
from goldrank.io.memory_mapping import MappedFile
from goldrank.io.packed import PackedRun

_DELIMITER = {"csv": ",", "semicolon": ";", "tsv": "\t", "beir": "\t"}
_SKIPS_BLANKS = ("csv", "semicolon")
_MUST_QUOTE = {
    "csv": re.compile('[,"\r\n]|^ '),
    "tsv": re.compile('[\t"\r\n]'),
    "beir": re.compile('[\t"\r\n]'),
}


def load(data: bytes, kind: TableKind, name: str, format: str) -> Columns:
    """Read a table whose header names query, item and value, or that has these three columns and no header."""
    rows = split_rows(data, name, format)
    first_line, first = next(rows, (0, []))
    if not first:
        raise InputError("the file holds no rows", where=name, remedy="check that it was written completely")
    # The name of a column is not a number, so a number in the third of three columns shows a row, not a header.
    bare = len(first) == 3 and is_number(first[2])
    positions = [0, 1, 2] if bare else find_columns(first, kind, where=f"{name}:{first_line}")
    lines: list[int] = []
    cells: list[list[str]] = [[] for _ in positions]
    for line, row in chain([(first_line, first)], rows) if bare else rows:
        lines.append(line)
        for column, position in zip(cells, positions, strict=True):
            column.append(row[position])
    columns = columns_of_cells(cells, kind, source=name, place=lambda row: f"{name}:{lines[row]}", as_text=True)
    return replace(columns, unnamed=bare, reading="" if bare else describe_found(name, first, kind, positions))


def pack(data: bytes | MappedFile, name: str, format: str) -> PackedRun | None:
    """Read a run as `load` does; return None if `load` has to read it row by row."""
    visible = re.search(rb"[^\r\n]", data)
    begin = 0 if visible is None else visible.start()
    end = data.find(b"\n", begin) + 1 or len(data)
    line = data[begin:end]
    if line.count(b'"') % 2 or b"\r" in line.rstrip(b"\r\n"):
        return None
    try:
        _, first = next(split_rows(line, name, format), (0, []))
        bare = len(first) == 3 and is_number(first[2])
        positions = [0, 1, 2] if bare else find_columns(first, "run", where=name)
    except InputError:
        return None
    query, item, value, rank = (*positions, -1)[:4]
    blanks = format in _SKIPS_BLANKS
    packed = native.pack_delimited(
        data, begin if bare else end, _DELIMITER[format], blanks, len(first), query, item, value, rank
    )
    if packed is None:
        return None
    run = PackedRun.from_packed(packed, name, has_ranks=rank >= 0)
    return replace(run, unnamed=bare, reading="" if bare else describe_found(name, first, "run", positions))


def split_rows(data: bytes, name: str, format: str, *, skip_blanks: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the number of its first line; all rows must have the same length.

    With *skip_blanks*, blanks after a comma of CSV are not part of the cell: "q1, d1, 1" means the item "d1".
    """
    text = io.StringIO(data.decode(), newline="")
    return refuse_ragged(parse_rows(text, name, format, skip_blanks=skip_blanks, longest=len(data)), name)


def refuse_ragged(rows: Iterable[tuple[int, list[str]]], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their line numbers, and raise InputError for one that is not as long as the first."""
    width = 0
    for line, row in rows:
        width = width or len(row)
        if len(row) != width:
            raise InputError(
                f"the row has {counts(len(row), 'column')}, the first one has {width}",
                where=f"{name}:{line}",
                remedy='put cells that hold a comma, a tab or a line break in "quotes"',
            )
        yield line, row


def parse_rows(
    lines: Iterable[str], name: str, format: str, *, skip_blanks: bool = True, longest: int = 1 << 30
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the number of its first line; a cell has at most *longest* characters."""
    # A cell may contain a whole article, so the default limit of csv is too low.
    csv.field_size_limit(max(csv.field_size_limit(), longest))
    reader = csv.reader(
        lines,
        delimiter=_DELIMITER[format],
        # `dump` quotes ids that start with a space.
        skipinitialspace=skip_blanks and format in _SKIPS_BLANKS,
        strict=True,
    )
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"the row is not valid {format.upper()} ({error})",
            where=f"{name}:{line}",
            remedy='close every quote, and write a quote inside quotes twice ("")',
        ) from None


def table_records(data: bytes, name: str, format: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row of a table as a record with the names of the header as keys, with its place."""
    rows = split_rows(data, name, format)
    first_line, header = next(rows, (1, []))
    names = [normal(cell) for cell in header if cell.strip()]
    if duplicate := find_duplicate(names):
        raise InputError(
            f"two columns are called {shorten(names[duplicate[1]])}",
            where=f"{name}:{first_line}",
            remedy="rename one",
        )
    for line, row in rows:
        yield f"{name}:{line}", dict(zip(header, row, strict=True))


def dump(columns: Columns, kind: TableKind, format: str, tag: str = "") -> bytes:
    """Return the content of the file, with a header; cells are quoted only if necessary."""
    refuse_empty_queries(columns, format.upper())
    for role, ids in (("query", columns.queries), ("item", columns.items)):
        refuse_rounded(ids, role=role, place=lambda _: columns.source)
    if "\0" in "".join(columns.queries) or "\0" in "".join(columns.items):
        raise InputError(
            f"an id holds a NUL character, which a {format.upper()} file cannot hold",
            where=columns.source,
            remedy="write json, jsonl or parquet instead",
        )
    header = ["query-id", "corpus-id", "score"] if format == "beir" else ["query", "item", VALUE_WORD[kind]]
    subtopics = [""] * len(columns.items)
    if columns.subtopics is not None:
        if format == "beir":
            raise InputError(
                "the gold is judged by subtopic, which BEIR's qrels cannot hold",
                where=columns.source,
                remedy="write tsv, csv, trec, json, jsonl or parquet instead",
            )
        columns, subtopics = expand_subtopics(columns)
        header.append("subtopic")
    delimiter, must_quote = _DELIMITER[format], _MUST_QUOTE[format]

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if must_quote.search(text) else text

    quoted_query = {query: quoted(query) for query in columns.queries}
    lines = [delimiter.join(header)]
    lines += [
        delimiter.join((quoted_query[query], quoted(item), number_text(value, kind), quoted(subtopic))[: len(header)])
        for query, item, value, subtopic in zip(
            row_queries(columns), columns.items, columns.values.tolist(), subtopics, strict=True
        )
    ]
    return ("\n".join(lines) + "\n").encode()
