"""Helpers for tests of compiled functions: both implementations, random files and runs, and counts by definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from goldrank.native import COMPILED
from goldrank.native.faults import RowFault

needs_compiled = pytest.mark.skipif(not COMPILED, reason="the extension modules are not built")


def implementations(subject: str) -> tuple[ModuleType, ModuleType | None, Any]:
    """Return the fallback and the compiled module of a subject, and a mark that runs a test with each as `module`."""
    fallback = import_module(f"goldrank.native.fallback.{subject}")
    compiled = import_module(f"goldrank.native._{subject}") if COMPILED else None
    modules = [
        pytest.param(fallback, id="fallback"),
        pytest.param(compiled, id="compiled", marks=needs_compiled),
    ]
    return fallback, compiled, pytest.mark.parametrize("module", modules)


Gold = dict[str, list[str]]

SHORT = ["1", "2", "1.0", "-1", "+1", ".5", "5.", "0", "-0.0", "1e3", "1E-3", "0.1", "0.000001", "7.12345678"]
LONG = ["0.30000000000000004", "12.345600128173828", "0.10000000000000001", "9007199254740993", "1" * 30]
EXTREME = ["1e-320", "1e-400", "5e-324", "2.5e-324", "1e22", "1e23", "1.7976931348623157e308", "0e999999"]
EQUAL_IN_FLOAT32 = ["16777216", "16777217", "1.00000001", "1.00000002", "3.4028236e38", "1e39"]
FINITE = [*SHORT, *LONG, *EXTREME, *EQUAL_IN_FLOAT32]

NOT_FINITE = ["nan", "-nan", "+NaN", "inf", "-Inf", "infinity", "+INFINITY", "1e400", "-1e99999", "9" * 400]

FOREIGN = [
    "1_0",
    "0x1p3",
    "1d3",
    "1,5",
    "١",
    "abc",
    "infinit",
    "nanx",
    "1\x00",
    "1.5\x00",
    "é" * 50,
    "x" * 99,
]
UNFINISHED = ["1e", "1e+", "e5", ".", "+", "-", "+-1", "--1", "1.2.3", "1e5.0", ".e1"]
NEARLY_DIGITS = ["1.:", "1./", "1.12:45", "1.x", "1.2345678x"]
NOT_NUMBERS = [*FOREIGN, *UNFINISHED, *NEARLY_DIGITS]

NOT_UTF8 = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82"]

ids = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "q1",
        "q2",
        "é",
        "日本",
        "𝄞",
        "\uffff",
        "longer-id",
        "longer-ie",
        "seventeen-letters",
        "#x",
    ]
)
queries = st.sampled_from(["q1", "q2", "q3", "a", "é", "longer-id", "#q"])
scores = st.one_of(
    st.sampled_from(FINITE),
    st.integers(0, 3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-100, 100).map("{:.6f}".format),
)
gaps = st.sampled_from([" ", " ", " ", "\t", "  ", " \t", "\v", "\f", "\r"])
blank = st.sampled_from(["", "   ", "\r"])
ranks = st.one_of(st.integers(0, 5).map(str), st.sampled_from(["x", "1.5", "-1", "1e3", "123456789012", "nan", "1_0"]))


@st.composite
def lines(draw: st.DrawFn, width: int, value_column: int, broken: bool) -> bytes:
    if draw(st.integers(0, 9)) == 0:
        return draw(blank).encode()
    tokens = ["x"] * width
    tokens[0], tokens[2], tokens[3] = draw(queries), draw(ids), draw(ranks)
    tokens[value_column] = draw(scores)
    if broken and draw(st.integers(0, 19)) == 0:
        tokens[value_column] = draw(st.sampled_from(NOT_FINITE + NOT_NUMBERS))
    if broken and draw(st.integers(0, 19)) == 0:
        tokens = draw(st.sampled_from([tokens[:-1], [*tokens, "x"], [*tokens, "x", "y"], tokens[:1], ["#"]]))
    gap = draw(gaps)
    before, after = draw(st.sampled_from(["", "", "", " "])), draw(st.sampled_from(["", "", " ", "\r"]))
    raw = (before + gap.join(tokens) + after).encode()
    if broken and draw(st.integers(0, 19)) == 0:
        raw = raw.replace(tokens[0].encode(), draw(st.sampled_from(NOT_UTF8)))
    return raw


@st.composite
def files(draw: st.DrawFn, width: int = 6, value_column: int = 4, broken: bool = True) -> bytes:
    """Generate TREC text that uses all of its grammar; if `broken`, with some faults."""
    rows = draw(st.lists(lines(width, value_column, broken), max_size=40))
    order = draw(st.sampled_from(["as drawn", "by query"]))
    if order == "by query":
        rows.sort(key=lambda row: row.split()[:1])
    if not broken or draw(st.booleans()):
        rows = list({tuple(row.split()[:3:2]) or index: row for index, row in enumerate(rows)}.values())
    return b"\n".join(rows) + draw(st.sampled_from([b"", b"\n", b"\n\n"]))


golds = st.dictionaries(queries, st.lists(ids, unique=True, max_size=8), max_size=5)


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call or the error it raises, as a value to compare two implementations."""
    try:
        return function(*arguments)
    except RowFault as fault:
        return "fault", fault.line, fault.kind, fault.details
    except Exception as error:
        return "error", type(error), str(error)


def hits(function: Callable[..., Any], run: Any, gold: Gold, *, float32: bool = False, drop_self: bool = False) -> Any:
    """Return the first three totals, the counts and the depths, or the fault."""
    result = all_hits(function, run, gold, float32=float32, drop_self=drop_self)
    return result if isinstance(result[0], str) else (result[0][:3], *result[1:])


def all_hits(
    function: Callable[..., Any], run: Any, gold: Gold, *, float32: bool = False, drop_self: bool = False
) -> Any:
    """Return the same as `hits`, with all totals."""
    items = [item for judged in gold.values() for item in judged]
    starts = np.cumsum([0, *map(len, gold.values())], dtype=np.int64)
    counts, depth = np.full((4, len(items)), 99, np.int64), np.full(len(gold), 99, np.int64)
    result = outcome(function, run, list(gold), starts, items, float32, drop_self, counts, depth)
    faulty = isinstance(result[0], str)
    return result if faulty else (result, counts.tolist(), depth.tolist())


def hits_by_definition(run: Mapping[str, Mapping[str, float]], gold: Gold, float32: bool, drop_self: bool) -> Any:
    """Return the counts, computed pair by pair as the documentation defines them."""
    columns, depth, dropped = [], [], 0
    remaining: dict[str, list[tuple[str, float]]] = {}
    for query, ranking in run.items():
        with np.errstate(over="ignore"):
            round_score = (lambda score: float(np.float32(score))) if float32 else float
            pairs = [(item, round_score(score)) for item, score in ranking.items()]
        remaining[query] = [pair for pair in pairs if not (drop_self and pair[0] == query)]
        dropped += len(pairs) - len(remaining[query])
    for query, judged in gold.items():
        results = remaining.get(query, [])
        depth.append(len(results))
        for item in judged:
            column = [-1, 0, 0, 0]
            for place, (result, score) in enumerate(results):
                if result != item:
                    continue
                tied = [(at, other) for at, (other, s) in enumerate(results) if s == score and other != item]
                column = [
                    sum(s > score for _, s in results),
                    len(tied),
                    sum(other.encode() > item.encode() for _, other in tied),
                    sum(at < place for at, _ in tied),
                ]
            columns.append(column)
    totals = (len(set(run) - set(gold)), dropped, sum(map(len, run.values())))
    return totals, [list(row) for row in zip(*columns, strict=True)] or [[]] * 4, depth


def parsed(data: bytes) -> dict[str, dict[str, float]]:
    """Return a valid run as dictionaries."""
    run: dict[str, dict[str, float]] = {}
    for line in data.split(b"\n"):
        tokens = line.split()
        if tokens:
            run.setdefault(tokens[0].decode(), {})[tokens[2].decode()] = float(tokens[4])
    return run
