"""Count where each judged item landed in a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from mmap import mmap
from typing import AnyStr, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldrank.native.fallback.trec_parser import parse_rows
from goldrank.native.faults import TEXT_LIMIT, RowFault

RUN_WIDTH, RUN_SCORE_COLUMN = 6, 4
ORDER_DEPTH = 20
"""How many results of a query `order_of` looks at."""


class RunTotals(NamedTuple):
    """Sums over all queries of a run, also those without gold; compiled code returns them as a plain tuple."""

    ignored: int
    """Queries of the run without gold."""
    dropped: int
    """Results that `drop_self` removed."""
    results: int
    """Results in total."""
    varied: int
    """This and the next four: the sums of what `order_of` returns."""
    contradicting: int
    rising: int
    by_rank: int
    rank_like: int
    long_lines: int
    """Lines of a TREC run with text after the tag."""
    special_text: int = 0
    """1 if a TREC run has a byte that is NUL or not ASCII, else 0."""


def count_trec_hits(
    data: bytes | bytearray | memoryview | mmap,
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
    threads: int = 1,
    /,
) -> RunTotals:
    """Count where each judged item landed in a TREC run, and how the order of the run agrees with its scores.

    Args:
        data: A TREC run of six columns.
        gold_queries: Query ids, each once.
        gold_starts: The judged items of `gold_queries[q]` are `gold_items[gold_starts[q]:gold_starts[q + 1]]`.
        gold_items: Item ids.
        float32: Round scores to single precision before they are compared.
        drop_self: Remove results whose id is that of their query beforehand.
        counts: Filled in; each judged item has a column of four numbers: how many results of the query score strictly
            more (-1, and 0 in the rows below, if the item is not in the results), how many other results tie with it,
            how many of these have a bytewise greater id, and how many of these come earlier in the run.
        depth: Filled in; the number of results of each query.
        threads: How many threads compiled code uses, each for a part of the file, if the lines of each query stand
            together.

    Returns:
        The numbers of `RunTotals`.

    Raises:
        RowFault: A line cannot be read, also of a query without gold; the earliest such line is reported. The contents
            of `counts` and `depth` are undefined then.
    """
    _check_gold(gold_queries, gold_starts, gold_items, counts, depth)
    queries, items = [query.encode() for query in gold_queries], [item.encode() for item in gold_items]
    rankings: dict[bytes, dict[bytes, float]] = {}
    ranks: dict[bytes, list[float]] = {}
    long_lines = 0
    for line, query, item, score, rank, is_long in parse_rows(data, RUN_WIDTH, RUN_SCORE_COLUMN):
        ranking = rankings.setdefault(query, {})
        if item in ranking:
            raise RowFault(line, "duplicate", item.decode(errors="replace"), query.decode(errors="replace"))
        ranking[item] = score
        ranks.setdefault(query, []).append(rank)
        long_lines += is_long
    totals = _count(rankings, queries, gold_starts, items, float32, drop_self, counts, depth)
    text = bytes(data)
    is_special = int(not text.isascii() or b"\0" in text)
    return RunTotals(*totals, *_sum_orders(rankings, ranks, float32), long_lines, is_special)


def count_mapping_hits(
    run: Mapping[str, Mapping[str, float]],
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
    /,
) -> RunTotals:
    """Count where each judged item landed in a run of the form `{query: {item: score}}`.

    The arguments and the result are those of `count_trec_hits`, except for the run. The order of the input is that of
    the mappings. A score is anything that converts to a float, except text.

    Raises:
        RowFault: An entry cannot be used; the first one is reported, with line 0.
    """
    _check_gold(gold_queries, gold_starts, gold_items, counts, depth)
    if not isinstance(run, Mapping):
        raise TypeError(f"a run must be a mapping, not {type(run).__name__}")
    rankings: dict[str, dict[str, float]] = {}
    for query, ranking in dict(run.items()).items():
        if not isinstance(query, str):
            raise RowFault(0, "query_type", repr(query)[:TEXT_LIMIT])
        if not isinstance(ranking, Mapping):
            raise RowFault(0, "mapping_type", query, type(ranking).__name__)
        rankings[query] = {item: _to_score(query, item, value) for item, value in dict(ranking.items()).items()}
    totals = _count(rankings, gold_queries, gold_starts, gold_items, float32, drop_self, counts, depth)
    return RunTotals(*totals, *_sum_orders(rankings, {}, float32), long_lines=0)


def count_column_hits(
    queries: Sequence[str],
    starts: NDArray[np.int64],
    items: Sequence[str],
    values: NDArray[np.float64],
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
    /,
) -> RunTotals:
    """Count where each judged item landed in a run held as columns.

    The results of `queries[q]` are the items and values from `starts[q]` to `starts[q + 1]`, each item once. The other
    arguments and the result are those of `count_mapping_hits`.
    """
    bounds = starts.tolist()
    rankings = {
        query: dict(zip(items[start:end], values[start:end].tolist(), strict=True))
        for query, start, end in zip(queries, bounds[:-1], bounds[1:], strict=True)
    }
    return count_mapping_hits(rankings, gold_queries, gold_starts, gold_items, float32, drop_self, counts, depth)


def count_packed_hits(
    queries: Sequence[str],
    starts: NDArray[np.int64],
    offsets: NDArray[np.int64] | NDArray[np.int32],
    text: bytes | memoryview,
    values: NDArray[np.float64],
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
    /,
) -> RunTotals:
    """Count where each judged item landed in a run whose item ids are one UTF-8 text.

    Item i is the text from `offsets[i]` to `offsets[i + 1]`; all values are finite. The other arguments and the result
    are those of `count_column_hits`.
    """
    items = unpacked(offsets, text)
    return count_column_hits(
        queries, starts, items, values, gold_queries, gold_starts, gold_items, float32, drop_self, counts, depth
    )


def unpacked(offsets: NDArray[np.int64] | NDArray[np.int32], text: bytes | memoryview) -> list[str]:
    """Return the strings of a text with the offset of each.

    >>> unpacked(np.array([0, 1, 3]), b"abc")
    ['a', 'bc']
    """
    bounds, joined = offsets.tolist(), bytes(text)
    if joined.isascii():
        decoded = joined.decode()
        return [decoded[start:end] for start, end in pairwise(bounds)]
    return [joined[start:end].decode() for start, end in pairwise(bounds)]


def order_of(scores: Sequence[float], ranks: Sequence[float]) -> tuple[int, int, int, int, int]:
    """Compare the order of one query's results with their scores, by the first 20 results.

    The order is that of the ranks if all of them are numbers and they are not all equal, else that of the list. A pair
    of neighbours with different scores and ranks is rising if the better rank has the lower score, else falling. The
    order contradicts the scores if, by ranks, more pairs rise than fall, or, without ranks, all pairs rise.

    Returns:
        A tuple `(varied, contradicts, rising, by_rank, rank_like)`: 1 if not all scores are equal; 1 if the order
        contradicts the scores; and if it does, the number of rising pairs, 1 if the order is that of the ranks, and 1
        if the scores are 0, 1, 2 … or 1, 2, 3 … in the order of the list, as if they were ranks.

    >>> order_of([0.1, 0.2, 0.4], []), order_of([3, 1, 2], [1, 2, 3]), order_of([1, 2, 3], [3, 2, 1])
    ((1, 1, 2, 0, 0), (1, 0, 0, 0, 0), (1, 0, 0, 0, 0))
    """
    scores, ranks = scores[:ORDER_DEPTH], ranks[:ORDER_DEPTH]
    by_rank = len(set(ranks)) > 1 and not any(map(math.isnan, ranks))
    rising = falling = 0
    for row in range(1, len(scores)):
        direction = (ranks[row] > ranks[row - 1]) - (ranks[row] < ranks[row - 1]) if by_rank else 1
        step = (scores[row] > scores[row - 1]) - (scores[row] < scores[row - 1])
        rising += direction * step > 0
        falling += direction * step < 0
    varied = int(len(set(scores)) > 1)
    if not (rising > falling if by_rank else rising > 0 and falling == 0):
        return varied, 0, 0, 0, 0
    first = scores[0]
    rank_like = first in (0, 1) and all(score == first + row for row, score in enumerate(scores))
    return varied, 1, rising, int(by_rank), int(rank_like)


def _sum_orders(
    rankings: Mapping[AnyStr, Mapping[AnyStr, float]], ranks: Mapping[AnyStr, Sequence[float]], float32: bool
) -> tuple[int, int, int, int, int]:
    sums = np.zeros(5, np.int64)
    for query, ranking in rankings.items():
        sums += order_of(_rounded(ranking.values(), float32).tolist(), ranks.get(query, ()))
    varied, contradicting, rising, by_rank, rank_like = sums.tolist()
    return varied, contradicting, rising, by_rank, rank_like


def _rounded(scores: Iterable[float], float32: bool) -> NDArray[np.floating]:
    with np.errstate(over="ignore"):
        return np.array(list(scores), np.float64).astype(np.float32 if float32 else np.float64)


def _to_score(query: str, item: object, value: object) -> float:
    if not isinstance(item, str):
        raise RowFault(0, "item_type", query, repr(item)[:TEXT_LIMIT])
    if isinstance(value, (str, bytes)):
        raise RowFault(0, "score_type", query, item, type(value).__name__)
    try:
        # float() would parse text in buffers; fsum accepts only numbers.
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
        raise TypeError("the ids of the gold must be strings")
    if len(set(queries)) != len(queries):
        raise ValueError("a query of the gold is listed twice")
    shapes = ((starts, (len(queries) + 1,)), (counts, (4, len(items))), (depth, (len(queries),)))
    if any(a.dtype != np.int64 or a.shape != shape or not a.flags.c_contiguous for a, shape in shapes):
        raise ValueError("the arrays must be int64, C-contiguous and of the lengths of the gold")
    if not (counts.flags.writeable and depth.flags.writeable):
        raise ValueError("counts and depth must be writable")
    if starts[0] != 0 or starts[-1] != len(items) or np.any(np.diff(starts) < 0):
        raise ValueError("gold_starts must ascend from 0 to the number of items")


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
            own = ids.index(query)
            del ids[own], values[own]
        index = gold_index.get(query)
        if index is None:
            continue
        depth[index] = len(ids)
        scores = _rounded(values, float32)
        position_of = {item: position for position, item in enumerate(ids)}
        for row in range(gold_starts[index], gold_starts[index + 1]):
            item = gold_items[row]
            position = position_of.get(item)
            if position is None:
                continue
            equal = np.flatnonzero(scores == scores[position])
            counts[:, row] = (
                np.count_nonzero(scores > scores[position]),
                len(equal) - 1,
                sum(ids[other] > item for other in equal),
                np.count_nonzero(equal < position),
            )
    ignored = sum(query not in gold_index for query in rankings)
    return ignored, dropped, sum(map(len, rankings.values()))
