"""CSV and TSV files with a header of known names, BEIR qrels among them, or with three bare columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from goldrank.errors import InputError, counts
from goldrank.io.checks import id_strings, is_number, parse_ranks, parse_values, refuse_rounded
from goldrank.io.column_names import choose, rank_column, subtopic_column
from goldrank.io.columns import VALUE_WORD, Columns, Kind, group, number_text, refuse_empty_queries, row_queries
from goldrank.io.formats.subtopics import expand_subtopics, group_subtopics

_DELIMITER = {"csv": ",", "tsv": "\t", "beir": "\t"}
_MUST_QUOTE = {
    "csv": re.compile('[,"\r\n]|^ '),
    "tsv": re.compile('[\t"\r\n]'),
    "beir": re.compile('[\t"\r\n]'),
}


def load(data: bytes, kind: Kind, name: str, format: str) -> Columns:
    """Read a table whose header names the query, item and value, or that is just those three columns."""
    rows = split_rows(data, name, format)
    first_line, first = next(rows, (0, []))
    if not first:
        raise InputError("the file holds no rows", where=name, remedy="check that it was written completely")
    # No column is named by a number, so a number in the third of three columns is a row, not a header.
    bare = len(first) == 3 and is_number(first[2])
    query_at, item_at, value_at = (0, 1, 2) if bare else choose(first, kind, where=f"{name}:{first_line}")
    subtopic_at = None if bare else subtopic_column(first, kind)
    rank_at = None if bare else rank_column(first, kind)
    lines: list[int] = []
    queries: list[str] = []
    items: list[str] = []
    tokens: list[str] = []
    subtopics: list[str] = []
    ranks: list[str] = []
    for line, row in chain([(first_line, first)], rows) if bare else rows:
        if len(row) != len(first):
            raise InputError(
                f"the row has {counts(len(row), 'column')}, the first one has {len(first)}",
                where=f"{name}:{line}",
                remedy='put ids that hold a comma, a tab or a line break in "quotes"',
            )
        lines.append(line)
        queries.append(row[query_at])
        items.append(row[item_at])
        tokens.append(row[value_at])
        if subtopic_at is not None:
            subtopics.append(row[subtopic_at])
        if rank_at is not None:
            ranks.append(row[rank_at])

    def place(row: int) -> str:
        return f"{name}:{lines[row]}"

    queries = refuse_rounded(id_strings(queries, role="query", integers=False, place=place), role="query", place=place)
    items = refuse_rounded(id_strings(items, role="item", integers=False, place=place), role="item", place=place)
    values = parse_values(tokens, value=VALUE_WORD[kind], place=place)
    if subtopic_at is not None:
        subtopics = id_strings(subtopics, role="subtopic", integers=False, place=place)
        return group_subtopics(queries, subtopics, items, values, source=name, place=place)
    columns = group(
        queries,
        items,
        values,
        value=VALUE_WORD[kind],
        source=name,
        place=place,
        ranks=None if rank_at is None else parse_ranks(ranks),
    )
    return replace(columns, unnamed=bare)


def split_rows(data: bytes, name: str, format: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the line it starts in."""
    # A cell may hold a whole article; csv's own limit is for those who cannot know the size beforehand.
    csv.field_size_limit(max(csv.field_size_limit(), len(data)))
    reader = csv.reader(
        io.StringIO(data.decode(), newline=""),
        delimiter=_DELIMITER[format],
        # "q1, d1, 1" means the item "d1"; our own writer quotes the ids that do start with a space.
        skipinitialspace=format == "csv",
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


def dump(columns: Columns, kind: Kind, format: str) -> bytes:
    """The text of the file, with a header, quoting only what has to be quoted."""
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
