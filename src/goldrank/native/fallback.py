"""The readers in Python and numpy: bit for bit what the compiled part does, where it could not be built."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from mmap import mmap
from typing import AnyStr

import numpy as np
from numpy.typing import NDArray

from goldrank.native.faults import RowFault

TEXT_LIMIT = 80
RUN_WIDTH, RUN_SCORE_COLUMN = 6, 4
RANK_COLUMN = 3
ORDER_DEPTH = 20


def trec_columns(
    data: bytes | bytearray | memoryview | mmap, width: int, value_column: int
) -> tuple[list[str], bytearray, list[str], bytearray, bytearray, int]:
    """The query (column 0), item (column 2) and number (`value_column`) of every line, grouped by query.

    Returns `(queries, starts, items, values, ranks, long_lines)`: the query ids in order of first appearance,
    each once even when their lines are interleaved; a bytearray of `len(queries) + 1` int64, where query `q`
    owns the rows `starts[q]` to `starts[q + 1]`; the item ids, inside a query in the order of the input; a
    bytearray with one float64 for each row; another with the ranks of column 3, NaN where it holds no finite
    number, which is empty if that column is the number's own; and how many lines have text after the tag.
    Raises the `RowFault` of the earliest line that has one.

    >>> queries, starts, items, values, _, _ = trec_columns(b"q1 0 a 1\\nq2 0 b 0\\nq1 0 c 2\\n", 4, 3)
    >>> queries, np.frombuffer(starts, np.int64).tolist(), items, np.frombuffer(values).tolist()
    (['q1', 'q2'], [0, 2, 3], ['a', 'c', 'b'], [1.0, 2.0, 0.0])
    """
    if not 2 < value_column < width:
        raise ValueError("the number stands in a column after the item's, which is the third")
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    long_lines = 0
    for line, query_bytes, item_bytes, value, rank, is_long in _rows(data, width, value_column):
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


def trec_hits(
    data: bytes | bytearray | memoryview | mmap,
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Where each judged item landed in a TREC run of six columns, and what the listing says about the scores.

    `gold_items[gold_starts[q]:gold_starts[q + 1]]` are the judged items of `gold_queries[q]`. Filled in
    place: for each judged item a column of `counts`, holding

    - how many of the query's results score strictly more (-1, and 0 below, when the item is not among them),
    - how many other results tie with it,
    - how many of these have an id that is bytewise greater,
    - how many of these come earlier in the input;

    and for each query its number of results in `depth`. With `float32` scores are rounded to single precision
    before they are compared. With `drop_self` a result whose id is that of its query is left out beforehand.

    Returns `(ignored, dropped, results, varied, contradicting, rising, by_rank, rank_like, long_lines)`: how
    many queries of the run have no gold, how many results `drop_self` removed, and how many results there are
    in all; over all queries of the run the sums of what `order_of` returns; and how many lines have text after
    the tag. Raises the `RowFault` of the earliest line that has one, in queries without gold too; what `counts`
    and `depth` hold is then undefined.
    """
    _check_gold(gold_queries, gold_starts, gold_items, counts, depth)
    queries, items = [query.encode() for query in gold_queries], [item.encode() for item in gold_items]
    rankings: dict[bytes, dict[bytes, float]] = {}
    ranks: dict[bytes, list[float]] = {}
    long_lines = 0
    for line, query, item, score, rank, is_long in _rows(data, RUN_WIDTH, RUN_SCORE_COLUMN):
        ranking = rankings.setdefault(query, {})
        if item in ranking:
            raise RowFault(line, "duplicate", item.decode(errors="replace"), query.decode(errors="replace"))
        ranking[item] = score
        ranks.setdefault(query, []).append(rank)
        long_lines += is_long
    totals = _count(rankings, queries, gold_starts, items, float32, drop_self, counts, depth)
    return *totals, *_orders(rankings, ranks, float32), long_lines


def mapping_hits(
    run: Mapping[str, Mapping[str, float]],
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Where each judged item landed in a run of the form `{query: {item: score}}`.

    Fills `counts` and `depth` and returns what `trec_hits` does; the order of the input is that of the
    mappings. A score is anything that converts to a float, except text. Raises the `RowFault` of the first
    entry that has one, with line 0.
    """
    _check_gold(gold_queries, gold_starts, gold_items, counts, depth)
    if not isinstance(run, Mapping):
        raise TypeError(f"a run is a mapping, not {type(run).__name__}")
    rankings: dict[str, dict[str, float]] = {}
    for query, ranking in dict(run.items()).items():
        if not isinstance(query, str):
            raise RowFault(0, "query_type", repr(query)[:TEXT_LIMIT])
        if not isinstance(ranking, Mapping):
            raise RowFault(0, "mapping_type", query, type(ranking).__name__)
        rankings[query] = {item: _score(query, item, value) for item, value in dict(ranking.items()).items()}
    totals = _count(rankings, gold_queries, gold_starts, gold_items, float32, drop_self, counts, depth)
    return *totals, *_orders(rankings, {}, float32), 0


def order_of(scores: Sequence[float], ranks: Sequence[float]) -> tuple[int, int, int, int, int]:
    """What the listing of one query says about its scores, read off the first 20 results.

    Of two neighbouring results with different scores and ranks, the pair rises where the better rank has the lower
    score. Ranks count only if all of them are numbers and not all are equal; else the place in the list is the rank.

    Returns `(varied, contradicts, rising, by_rank, rank_like)`: 1 if not all scores are equal; 1 if the order
    contradicts the scores, which is if by given ranks more pairs rise than fall, and without given ranks if all
    of them rise; and for such a query the number of pairs that rise, 1 if the ranks were given, and 1 if the scores
    are 0, 1, 2 … or 1, 2, 3 … in the order of the list, as ranks are.

    >>> order_of([0.1, 0.2, 0.4], []), order_of([3, 1, 2], [1, 2, 3]), order_of([1, 2, 3], [3, 2, 1])
    ((1, 1, 2, 0, 0), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0))
    """
    scores, ranks = scores[:ORDER_DEPTH], ranks[:ORDER_DEPTH]
    by_rank = len(set(ranks)) > 1 and not any(map(math.isnan, ranks))
    up = down = 0
    for row in range(1, len(scores)):
        way = (ranks[row] > ranks[row - 1]) - (ranks[row] < ranks[row - 1]) if by_rank else 1
        step = (scores[row] > scores[row - 1]) - (scores[row] < scores[row - 1])
        up += way * step > 0
        down += way * step < 0
    varied = int(len(set(scores)) > 1)
    if not (up > down if by_rank else up > 0 and down == 0):
        return varied, 0, 0, 0, 0
    first = scores[0]
    rank_like = first in (0, 1) and all(score == first + row for row, score in enumerate(scores))
    return varied, 1, up, int(by_rank), int(rank_like)


def _orders(
    rankings: Mapping[AnyStr, Mapping[AnyStr, float]], ranks: Mapping[AnyStr, Sequence[float]], float32: bool
) -> tuple[int, int, int, int, int]:
    sums = np.zeros(5, np.int64)
    for query, ranking in rankings.items():
        with np.errstate(over="ignore"):
            scores = np.array(list(ranking.values()), np.float64).astype(np.float32 if float32 else np.float64)
        sums += order_of(scores.tolist(), ranks.get(query, ()))
    varied, contradicting, rising, by_rank, rank_like = sums.tolist()
    return varied, contradicting, rising, by_rank, rank_like


def _rows(
    data: bytes | bytearray | memoryview | mmap, width: int, value_column: int
) -> Iterator[tuple[int, bytes, bytes, float, float, bool]]:
    has_rank, has_tag = value_column > RANK_COLUMN, value_column + 1 < width
    for line, text in enumerate(bytes(data).split(b"\n"), start=1):
        tokens = text.split()
        if not tokens:
            continue
        is_long = len(tokens) > width
        rank = _rank(tokens[RANK_COLUMN]) if has_rank and len(tokens) >= width else math.nan
        # A space inside the item's id would shift the columns: then there is text in the place of the rank.
        if len(tokens) < width or (is_long and (not has_tag or math.isnan(rank))):
            kind = "comment" if tokens[0].startswith(b"#") else "columns"
            raise RowFault(line, kind, len(tokens), width)
        yield line, tokens[0], tokens[2], _number(line, tokens[value_column]), rank, is_long


def _rank(token: bytes) -> float:
    try:
        return _number(0, token)
    except RowFault:
        return math.nan


def _number(line: int, token: bytes) -> float:
    kind = "nonfinite"
    try:
        # float() takes 1_0 for 10, which no other reader of these files does.
        value = float(token.replace(b"_", b"?"))
    except ValueError:
        kind, value = "number", math.nan
    if not math.isfinite(value):
        raise RowFault(line, kind, token.decode(errors="replace")[:TEXT_LIMIT])
    return value


def _score(query: str, item: object, value: object) -> float:
    if not isinstance(item, str):
        raise RowFault(0, "item_type", query, repr(item)[:TEXT_LIMIT])
    if isinstance(value, (str, bytes)):
        raise RowFault(0, "score_type", query, item, type(value).__name__)
    try:
        # float() would read numbers out of text in buffers; fsum takes numbers only.
        score = math.fsum((value,))  # type: ignore[arg-type]
    except TypeError:
        raise RowFault(0, "score_type", query, item, type(value).__name__) from None
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise RowFault(0, "nonfinite", query, item)
    return score


def _check_gold(
    queries: Sequence[str],
    starts: NDArray[np.int64],
    items: Sequence[str],
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> None:
    if not all(isinstance(text, str) for texts in (queries, items) for text in texts):
        raise TypeError("the ids of the gold are strings")
    if len(set(queries)) != len(queries):
        raise ValueError("a query of the gold is listed twice")
    shapes = ((starts, (len(queries) + 1,)), (counts, (4, len(items))), (depth, (len(queries),)))
    if any(a.dtype != np.int64 or a.shape != shape or not a.flags.c_contiguous for a, shape in shapes):
        raise ValueError("the arrays of the gold are int64, C-contiguous and as long as the gold")
    if not (counts.flags.writeable and depth.flags.writeable):
        raise ValueError("the arrays for the counts are read-only")
    if starts[0] != 0 or starts[-1] != len(items) or np.any(np.diff(starts) < 0):
        raise ValueError("the starts of the gold do not ascend from 0 to the number of its items")


def _count(
    rankings: Mapping[AnyStr, Mapping[AnyStr, float]],
    gold_queries: Sequence[AnyStr],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[AnyStr],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> tuple[int, int, int]:
    counts[0], counts[1:], depth[:] = -1, 0, 0
    gold_index = {query: index for index, query in enumerate(gold_queries)}
    dropped = 0
    for query, ranking in rankings.items():
        ids, values = list(ranking), list(ranking.values())
        if drop_self and query in ranking:
            dropped += 1
            place = ids.index(query)
            del ids[place], values[place]
        index = gold_index.get(query)
        if index is None:
            continue
        depth[index] = len(ids)
        with np.errstate(over="ignore"):
            scores = np.array(values, dtype=np.float64).astype(np.float32 if float32 else np.float64)
        place_of = {item: place for place, item in enumerate(ids)}
        for row in range(gold_starts[index], gold_starts[index + 1]):
            item = gold_items[row]
            found = place_of.get(item)
            if found is None:
                continue
            equal = np.flatnonzero(scores == scores[found])
            counts[:, row] = (
                np.count_nonzero(scores > scores[found]),
                len(equal) - 1,
                sum(ids[other] > item for other in equal),
                np.count_nonzero(equal < found),
            )
    ignored = sum(query not in gold_index for query in rankings)
    return ignored, dropped, sum(map(len, rankings.values()))
