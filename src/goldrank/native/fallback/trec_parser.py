"""Parse TREC qrels and runs into columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from mmap import mmap

import numpy as np

from goldrank.native.faults import TEXT_LIMIT, RowFault

RANK_COLUMN = 3


def parse_trec(
    data: bytes | bytearray | memoryview | mmap, width: int, value_column: int, /
) -> tuple[list[str], bytearray, list[str], bytearray, bytearray, int]:
    """Parse the query (column 0), item (column 2) and number (`value_column`) of every line, grouped by query.

    Args:
        data: TREC text.
        width: Number of columns of a line.
        value_column: Index of the column that holds the grade or score.

    Returns:
        A tuple `(queries, starts, items, values, ranks, long_lines)`:

        - the query ids in order of first appearance, each once even if their lines are interleaved;
        - `len(queries) + 1` int64 numbers: query `q` owns the rows `starts[q]` to `starts[q + 1]`;
        - the item ids, within a query in the order of the input;
        - one float64 number for each row;
        - the ranks of column 3 as float64, NaN where it holds no finite number; empty if `value_column` is 3;
        - the number of lines with text after the tag.

    Raises:
        RowFault: A line cannot be read; the earliest such line is reported.

    >>> queries, starts, items, values, _, _ = parse_trec(b"q1 0 a 1\\nq2 0 b 0\\nq1 0 c 2\\n", 4, 3)
    >>> queries, np.frombuffer(starts, np.int64).tolist(), items, np.frombuffer(values).tolist()
    (['q1', 'q2'], [0, 2, 3], ['a', 'c', 'b'], [1.0, 2.0, 0.0])
    """
    if not 2 < value_column < width:
        raise ValueError("value_column must be greater than 2, the column of the item, and less than width")
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    long_lines = 0
    for line, query_bytes, item_bytes, value, rank, is_long in parse_rows(data, width, value_column):
        try:
            query, item = query_bytes.decode(), item_bytes.decode()
        except UnicodeDecodeError:
            raise RowFault(line, "encoding") from None
        group = groups.setdefault(query, {})
        if item in group:
            raise RowFault(line, "duplicate", item, query)
        group[item] = value, rank
        long_lines += is_long
    starts = np.cumsum([0, *map(len, groups.values())], dtype=np.int64)
    cells = [cell for group in groups.values() for cell in group.values()]
    values, ranks = np.array(cells, np.float64).reshape(-1, 2).T
    items = [item for group in groups.values() for item in group]
    return (
        list(groups),
        bytearray(starts.tobytes()),
        items,
        bytearray(values.tobytes()),
        bytearray(ranks.tobytes() if value_column > RANK_COLUMN else b""),
        long_lines,
    )


def parse_rows(
    data: bytes | bytearray | memoryview | mmap, width: int, value_column: int
) -> Iterator[tuple[int, bytes, bytes, float, float, bool]]:
    """Yield the line number, query, item, number and rank of each row, and whether it has text after the tag."""
    has_rank, has_tag = value_column > RANK_COLUMN, value_column + 1 < width
    for line, text in enumerate(bytes(data).split(b"\n"), start=1):
        tokens = text.split()
        if not tokens:
            continue
        is_long = len(tokens) > width
        rank = _parse_rank(tokens[RANK_COLUMN]) if has_rank and len(tokens) >= width else math.nan
        # A space in the item id shifts the columns, so that the column of the rank holds text. That is an error, not a
        # comment after the tag.
        if len(tokens) < width or (is_long and (not has_tag or math.isnan(rank))):
            kind = "comment" if tokens[0].startswith(b"#") else "columns"
            raise RowFault(line, kind, len(tokens), width)
        yield line, tokens[0], tokens[2], _parse_number(line, tokens[value_column]), rank, is_long


def _parse_rank(token: bytes) -> float:
    try:
        return _parse_number(0, token)
    except RowFault:
        return math.nan


def _parse_number(line: int, token: bytes) -> float:
    kind = "nonfinite"
    try:
        # float() reads 1_0 as 10, unlike all other readers of these files.
        value = float(token.replace(b"_", b"?"))
    except ValueError:
        kind, value = "number", math.nan
    if not math.isfinite(value):
        raise RowFault(line, kind, token.decode(errors="replace")[:TEXT_LIMIT])
    return value
