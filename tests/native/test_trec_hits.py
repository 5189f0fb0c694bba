"""Test that both implementations of `count_trec_hits` count as documented, for any order and any faults of the file."""

from __future__ import annotations

import random
import re
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldrank.native.faults import RowFault
from native.cases import (
    Gold,
    all_hits,
    files,
    golds,
    hits,
    hits_by_definition,
    implementations,
    needs_compiled,
    parsed,
)
from profiles import examples

fallback, compiled, both_implementations = implementations("hit_counting")


@needs_compiled
@given(files(), golds, st.booleans(), st.booleans())
@example(b"q1 Q0 a 1 2 t\nq2 Q0 a 1 2 t\nq1 Q0 a 1 2 t\nq1 Q0 a 1 x t\n", {}, False, False)
@examples(3)
def test_compiled_and_python_agree(data, gold, float32, drop_self):
    options = {"float32": float32, "drop_self": drop_self}
    assert all_hits(compiled.count_trec_hits, data, gold, **options) == all_hits(
        fallback.count_trec_hits, data, gold, **options
    )


@both_implementations
@given(data=files(broken=False), gold=golds, float32=st.booleans(), drop_self=st.booleans())
def test_counts_are_those_of_the_definition(module: ModuleType, data, gold, float32, drop_self):
    expected = hits_by_definition(parsed(data), gold, float32, drop_self)
    assert hits(module.count_trec_hits, data, gold, float32=float32, drop_self=drop_self) == expected


def long_run(seed: int, queries: int, results: int, levels: int, order: str) -> tuple[bytes, Gold]:
    rng = random.Random(seed)
    rows, gold = [], {}
    for query in range(queries):
        items = [f"doc-{number}" for number in rng.sample(range(10 * results), results)]
        values = [rng.randrange(levels) / 8 for _ in items]
        if order == "sorted":
            values.sort(reverse=True)
        rows += [f"q{query} Q0 {item} 1 {value} tag\n" for item, value in zip(items, values, strict=True)]
        gold[f"q{query}"] = [*rng.sample(items, rng.choice([3, results // 2])), "absent"]
    if order == "interleaved":
        rng.shuffle(rows)
    return "".join(rows).encode(), gold


@needs_compiled
@pytest.mark.parametrize("order", ["sorted", "shuffled", "interleaved"])
@pytest.mark.parametrize("levels", [1, 5, 10_000])
@pytest.mark.parametrize("seed", range(4))
def test_long_lists_agree_however_the_ranks_are_found(seed, levels, order):
    data, gold = long_run(seed, queries=6, results=400, levels=levels, order=order)
    assert all_hits(compiled.count_trec_hits, data, gold) == all_hits(fallback.count_trec_hits, data, gold)


@needs_compiled
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b" \r\n", b"\n\r\n"])
@pytest.mark.parametrize("width", [4, 70, 200])
def test_scattered_lines_of_any_length_and_ending_agree(ending, width):
    data, gold = long_run(1, queries=3, results=1500, levels=200, order="interleaved")
    data = data.replace(b"doc-", b"d" * width).replace(b"\n", ending)
    gold = {query: [item.replace("doc-", "d" * width) for item in items] for query, items in gold.items()}
    for file in (data, data.rstrip(), data + data[: data.index(b"\n") + 1], data + b"q1 Q0 x 1 nan t\n"):
        assert all_hits(compiled.count_trec_hits, file, gold) == all_hits(fallback.count_trec_hits, file, gold)
    ordered = b"".join(sorted(data.splitlines(keepends=True), key=lambda line: line.partition(b" ")[0]))
    assert hits(compiled.count_trec_hits, ordered, gold) == hits(compiled.count_trec_hits, data, gold)


@needs_compiled
def test_scattered_lines_may_be_far_apart():
    data, gold = long_run(1, queries=3, results=1500, levels=200, order="interleaved")
    middle = data.index(b"\n", len(data) // 2) + 1
    padded = data[:middle] + b" " * (1 << 26) + b"\n" + data[middle:]
    assert hits(compiled.count_trec_hits, padded, gold) == hits(compiled.count_trec_hits, data, gold)


@needs_compiled
def test_scores_of_many_lines_are_those_of_float():
    rng = random.Random(5)
    numbers = [
        f"{rng.randrange(10 ** rng.randint(1, 9))}.{rng.randrange(10 ** rng.randint(1, 9))}" for _ in range(2000)
    ]
    numbers = [rng.choice(["", "-", "+"]) + number for number in numbers]
    numbers += ["5", "-0.0", ".5", "-.5", "1e3", "1.5e-3", "0.1234567", "1.2345678", "12345678.9", "99999999.0"]
    data = "".join(f"q Q0 d{row} 1 {number} t\n" for row, number in enumerate(numbers)).encode()
    gold = {"q": [f"d{row}" for row in range(len(numbers))]}
    scores = np.array([float(number) for number in numbers])
    above = [int((scores > score).sum()) for score in scores]
    tied = [int((scores == score).sum()) - 1 for score in scores]
    assert hits(compiled.count_trec_hits, data, gold)[1][:2] == [above, tied]


@needs_compiled
@given(files(), golds, st.booleans(), st.booleans(), st.integers(2, 5))
@example(b"q1 Q0 a 1 2 t\nq2 Q0 a 1 2 t\nq1 Q0 b 1 2 t\n", {"q1": ["a", "b"]}, False, False, 3)
@example(b"q1 Q0 a 1 2 t\nq2 Q0 a 1 2 t\nq3 Q0 b 1 2 t\nq2 Q0 a 1 x t\n", {}, False, False, 4)
@examples(3)
def test_threads_change_nothing(data, gold, float32, drop_self, threads):
    def in_threads(*arguments):
        return compiled.count_trec_hits(*arguments, threads)

    options = {"float32": float32, "drop_self": drop_self}
    expected = all_hits(compiled.count_trec_hits, data, gold, **options)
    assert all_hits(in_threads, data, gold, **options) == expected


@needs_compiled
@pytest.mark.parametrize("order", ["sorted", "shuffled", "interleaved"])
def test_threads_agree_on_long_files(order):
    data, gold = long_run(3, queries=40, results=50, levels=30, order=order)
    expected = all_hits(compiled.count_trec_hits, data, gold)
    repeated = data + data[: data.index(b"\n") + 1]
    for threads in (2, 3, 39, 100):

        def in_threads(*arguments, threads=threads):
            return compiled.count_trec_hits(*arguments, threads)

        assert all_hits(in_threads, data, gold) == expected
        assert all_hits(in_threads, repeated, gold) == all_hits(compiled.count_trec_hits, repeated, gold)


@both_implementations
def test_ties_are_counted_by_id_and_by_input(module: ModuleType):
    data = b"q Q0 b 1 5 t\nq Q0 top 2 6 t\nq Q0 c 3 5 t\nq Q0 a 4 5.0 t\nq Q0 low 5 4 t\n"
    _, counts, depth = hits(module.count_trec_hits, data, {"q": ["c", "absent"]})
    assert (counts, depth) == ([[1, -1], [2, 0], [0, 0], [1, 0]], [5])


@both_implementations
def test_float32_makes_ties_of_what_only_doubles_tell_apart(module: ModuleType):
    data = b"q Q0 a 1 1.00000001 t\nq Q0 b 2 1.00000002 t\n"
    assert hits(module.count_trec_hits, data, {"q": ["a"]})[1] == [[1], [0], [0], [0]]
    assert hits(module.count_trec_hits, data, {"q": ["a"]}, float32=True)[1] == [[0], [1], [1], [0]]


@both_implementations
def test_drop_self_leaves_the_query_out_of_its_own_results(module: ModuleType):
    data = b"x Q0 x 1 9 t\nx Q0 y 2 8 t\nother Q0 other 1 1 t\nz Q0 a 1 1 t\nx Q0 z 3 7 t\nz Q0 z 2 9 t\n"
    totals, counts, depth = hits(module.count_trec_hits, data, {"x": ["x", "y"], "z": ["a"]}, drop_self=True)
    assert (totals, counts[0], depth) == ((1, 3, 6), [-1, 0, 0], [2, 1])


def run_of(*lines: str) -> bytes:
    """Return a run file from lines of query, item and score."""
    return "".join("{} Q0 {} 1 {} t\n".format(*line.split()) for line in lines).encode()


@both_implementations
@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"q Q0 a 1 1 t\n\n \nq Q0 b 1 1\n", (4, "columns", (5, 6))),
        (b"q Q0 a 1 1 t\n# a comment of seven words, not six\n", (2, "comment", (8, 6))),
        (b"q Q0 an item 1 1 t\n", (1, "columns", (7, 6))),
        (run_of("q a 1_0"), (1, "number", ("1_0",))),
        (b"q Q0 a 1 \xffx t", (1, "number", ("\ufffdx",))),
        (run_of("q a " + "y" * 100), (1, "number", ("y" * 80,))),
        (run_of("q a -Infinity"), (1, "nonfinite", ("-Infinity",))),
        (run_of("q a 1e999"), (1, "nonfinite", ("1e999",))),
        (run_of("q a 1", "q b 1", "q a 1", "q b x"), (3, "duplicate", ("a", "q"))),
        (run_of("q a 1", "p a 1", "q a 1", "p b 1", "p b 1"), (3, "duplicate", ("a", "q"))),
        (run_of("q a 1", "p a 1", "q b 1", "r b 1", "r b 1", "q a 1"), (5, "duplicate", ("b", "r"))),
        (run_of("q a 1", "p a 1", "q a 1", "r b x"), (3, "duplicate", ("a", "q"))),
        (b"q\xff Q0 a 1 1 t\nq\xff Q0 a 1 1 t", (2, "duplicate", ("a", "q\ufffd"))),
    ],
)
def test_the_earliest_fault_is_raised(module: ModuleType, data, fault):
    assert hits(module.count_trec_hits, data, {"q": ["a"]}) == ("fault", *fault)


@both_implementations
@pytest.mark.parametrize("data", [b"", b"\n", b"  \r\n\t"])
def test_a_file_without_results_has_none(module: ModuleType, data):
    assert hits(module.count_trec_hits, data, {"q": ["a"], "p": []}) == ((0, 0, 0), [[-1], [0], [0], [0]], [0, 0])


ASCENDING = ["q a 1 0.1", "q b 2 0.2", "q c 3 0.4"]


@both_implementations
@pytest.mark.parametrize(
    ("lines", "order"),
    [
        (ASCENDING, (1, 1, 2, 1, 0)),
        ([line.replace(" 1 ", " - ") for line in ASCENDING], (1, 1, 2, 0, 0)),
        (ASCENDING[::-1], (1, 1, 2, 1, 0)),
        ([ASCENDING[0], "p a 1 0.1", *ASCENDING[1:]], (1, 1, 2, 1, 0)),
        ([ASCENDING[0], "p a 1 0.1", "p b 2 0.2", *ASCENDING[1:]], (2, 2, 3, 2, 0)),
        (["q a 3 0.1", "q b 2 0.2", "q c 1 0.4"], (1, 0, 0, 0, 0)),
        (["q a 1 0.1", "q b 2 0.4", "q c 3 0.2"], (1, 0, 0, 0, 0)),
        (["q a 1 0.1", "q b 2 0.4", "q c 3 0.2", "q d 4 0.3"], (1, 1, 2, 1, 0)),
        (["q a 0 0.1", "q b 0 0.4", "q c 0 0.2", "q d 0 0.3"], (1, 0, 0, 0, 0)),
        (["q a 0 0", "q b 0 1", "q c 0 2"], (1, 1, 2, 0, 1)),
        (["q a 1 1", "q b 2 2", "q c 3 3"], (1, 1, 2, 1, 1)),
        (["q a 1 5", "q b 2 5"], (0, 0, 0, 0, 0)),
        (["q a 1 5"], (0, 0, 0, 0, 0)),
    ],
)
def test_ranks_and_lists_that_contradict_the_scores_are_counted(module: ModuleType, lines, order):
    data = "".join("{} Q0 {} {} {} t\n".format(*line.split()) for line in lines).encode()
    for gold in ({"q": ["a"]}, {"other": ["a"]}):
        assert all_hits(module.count_trec_hits, data, gold)[0][3:8] == order


@both_implementations
def test_text_after_the_tag_is_left_out_and_counted(module: ModuleType):
    data = b"q Q0 a 1 3 t and more\nq Q0 b 2 2 t\nq Q0 c 3 1 t x\n"
    totals, counts, depth = all_hits(module.count_trec_hits, data, {"q": ["c"]})
    assert (totals[8], counts[0], depth) == (2, [2], [3])


@both_implementations
def test_a_byte_that_is_nul_or_not_ascii_is_seen_wherever_it_stands(module: ModuleType):
    data = (
        b"".join(b"q Q0 d%d 1 %d t\n" % (row, 99 - row) for row in range(40))
        + b"q Q0 "
        + b"x" * 80
        + b"  1 1 t\nq Q0 y 1 0 t"
    )
    assert all_hits(module.count_trec_hits, data, {"q": ["d1"]})[0][9] == 0
    for at in (match.start() for match in re.finditer(rb"[dtxy]", data)):
        for byte in (b"\0", b"\xff", b"\x80"):
            changed = data[:at] + byte + data[at + 1 :]
            assert all_hits(module.count_trec_hits, changed, {"q": ["d1"]})[0][9] == 1, at


@both_implementations
def test_queries_that_begin_with_a_hash_are_counted(module: ModuleType):
    assert hits(module.count_trec_hits, b"#1 Q0 a 1 3 t\n", {"#1": ["a"]}) == ((0, 0, 1), [[0], [0], [0], [0]], [1])


@both_implementations
def test_lines_longer_than_a_chunk_are_read(module: ModuleType):
    long = "x" * 30_000
    data = f"q Q0 a 1 2 t\nq Q0 {long} 1 3 t\nq Q0 c 1 1 {long}".encode()
    assert hits(module.count_trec_hits, data, {"q": ["a", long, "c"]})[1][0] == [1, 0, 2]


@both_implementations
def test_any_buffer_is_read(module: ModuleType, tmp_path: Path):
    (tmp_path / "run").write_bytes(b"q Q0 a 1 1 t\nq Q0 b 2 .5 t")
    expected = ((0, 0, 2), [[1], [0], [0], [0]], [2])
    with (tmp_path / "run").open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
        assert hits(module.count_trec_hits, mapped, {"q": ["b"]}) == expected
    assert hits(module.count_trec_hits, memoryview(b"q Q0 a 1 1 t\nq Q0 b 2 .5 t"), {"q": ["b"]}) == expected


def arguments(**changed: object) -> list[object]:
    """Return arguments for two queries with one judged item each, with some changes."""
    fitting = {
        "gold_queries": ["q", "p"],
        "gold_starts": np.array([0, 1, 2]),
        "gold_items": ["a", "b"],
        "float32": False,
        "drop_self": False,
        "counts": np.zeros((4, 2), np.int64),
        "depth": np.zeros(2, np.int64),
    }
    return list({**fitting, **changed}.values())


@pytest.mark.parametrize(("name", "run"), [("count_trec_hits", b""), ("count_mapping_hits", {})])
@both_implementations
@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"gold_queries": ["q", "q"]}, ValueError),
        ({"gold_queries": ["q"]}, ValueError),
        ({"gold_starts": np.array([0, 1, 3])}, ValueError),
        ({"gold_starts": np.array([0, 3, 2])}, ValueError),
        ({"gold_starts": np.array([1, 1, 2])}, ValueError),
        ({"gold_starts": np.array([0, 1, 2], np.int32)}, ValueError),
        ({"counts": np.zeros((3, 2), np.int64)}, ValueError),
        ({"counts": np.zeros((4, 2))}, ValueError),
        ({"counts": np.zeros((4, 2), ">i8")}, ValueError),
        ({"counts": np.zeros((2, 4), np.int64).T}, ValueError),
        ({"depth": np.broadcast_to(np.int64(0), 2)}, ValueError),
        ({"gold_items": ["a", 1]}, TypeError),
    ],
)
def test_arrays_that_do_not_fit_the_gold_are_refused(module: ModuleType, name, run, changed, error):
    function = getattr(module, name)
    function(run, *arguments())
    with pytest.raises(error):
        function(run, *arguments(**changed))


@both_implementations
def test_gold_that_is_not_text_is_left_to_python(module: ModuleType):
    assert hits(module.count_trec_hits, b"", {"q": ["\ud800"]})[1] is UnicodeEncodeError


def test_a_fault_keeps_what_it_says_when_it_is_pickled():
    import pickle

    fault = pickle.loads(pickle.dumps(RowFault(3, "duplicate", "a", "q")))
    assert (fault.line, fault.kind, fault.details) == (3, "duplicate", ("a", "q"))


@needs_compiled
@given(st.binary(max_size=300))
@examples(2)
def test_arbitrary_bytes_end_alike(data):
    assert all_hits(compiled.count_trec_hits, data, {"q": ["a"]}) == all_hits(
        fallback.count_trec_hits, data, {"q": ["a"]}
    )
