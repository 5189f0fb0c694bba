"""Test that both implementations of `parse_trec` group by query and parse numbers as Python does."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from native.cases import FINITE, NOT_FINITE, NOT_NUMBERS, files, implementations, needs_compiled, outcome
from profiles import examples

fallback, compiled, both_implementations = implementations("trec_parser")

decimals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.floats(-1e9, 1e9).map("{:.6f}".format),
    st.floats(-1e9, 1e9).map("{:.17e}".format),
    st.from_regex(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"[+-]?\.[0-9]{1,9}", fullmatch=True),
    st.integers(2**52, 2**54).map(lambda mantissa: f"{mantissa}.5"),
    st.sampled_from(FINITE),
)


def value_read(module: ModuleType, token: str) -> object:
    result = outcome(module.parse_trec, f"q 0 a {token}\n".encode(), 4, 3)
    return result if result[0] == "fault" else np.frombuffer(result[3])[0].tobytes()


@both_implementations
@given(token=decimals)
@example(token="1" + "0" * 800 + "e-800")
@example(token="2.2250738585072011e-308")
@example(token="0." + "0" * 400 + "1e400")
@example(token="1e000000000000000000000000000005")
@examples(5)
def test_decimals_are_read_as_float_reads_them(module: ModuleType, token: str):
    value = float(token)
    finite = np.isfinite(value)
    expected = np.float64(value).tobytes() if finite else ("fault", 1, "nonfinite", (token[:80],))
    assert value_read(module, token) == expected


@both_implementations
@pytest.mark.parametrize("token", ["1", "123", "12.", "1.5", "12.345678", "0.12345678", "123456789.12345678"])
@pytest.mark.parametrize("item", ["a", "1.", "12.5"])
def test_the_column_before_a_number_is_no_part_of_it(module: ModuleType, item: str, token: str):
    result = outcome(module.parse_trec, f"q 0 {item} {token}\n".encode(), 4, 3)
    assert np.frombuffer(result[3]).tolist() == [float(token)]


@both_implementations
@pytest.mark.parametrize("token", NOT_FINITE)
def test_what_is_not_finite_is_a_fault(module: ModuleType, token: str):
    assert value_read(module, token) == ("fault", 1, "nonfinite", (token[:80],))


@both_implementations
@pytest.mark.parametrize("token", NOT_NUMBERS)
def test_what_is_not_a_number_is_a_fault(module: ModuleType, token: str):
    assert value_read(module, token) == ("fault", 1, "number", (token[:80],))


@needs_compiled
@given(st.text("0123456789.eE+-_infaty", min_size=1, max_size=12))
@examples(5)
def test_near_numbers_end_alike(token):
    assert value_read(compiled, token) == value_read(fallback, token)


@needs_compiled
@pytest.mark.parametrize("shape", [(6, 4), (4, 3), (5, 4)])
@given(content=st.data())
@examples(1.2)
def test_compiled_and_python_agree(shape, content):
    data = content.draw(files(*shape))
    assert outcome(compiled.parse_trec, data, *shape) == outcome(fallback.parse_trec, data, *shape)


@both_implementations
def test_interleaved_queries_are_grouped_in_order_of_appearance(module: ModuleType):
    data = b"b 0 x 1\r\na\t0\ty\t2\n\nb 0 y 3\nc 0 x 4\na 0 x 5"
    queries, starts, items, values, ranks, long_lines = module.parse_trec(data, 4, 3)
    assert queries == ["b", "a", "c"]
    assert np.frombuffer(starts, np.int64).tolist() == [0, 2, 4, 5]
    assert items == ["x", "y", "y", "x", "x"]
    assert np.frombuffer(values).tolist() == [1, 3, 2, 5, 4]
    assert (ranks, long_lines) == (bytearray(), 0)


@both_implementations
def test_ranks_are_grouped_with_their_rows_and_text_after_the_tag_is_counted(module: ModuleType):
    data = b"a Q0 x 2 1 t\nb Q0 x - 2 t more text\na Q0 y 1 3 t\n".replace(b"- 2", b"7 2")
    _, _, items, values, ranks, long_lines = module.parse_trec(data, 6, 4)
    assert (items, np.frombuffer(values).tolist()) == (["x", "y", "x"], [1, 3, 2])
    assert (np.frombuffer(ranks).tolist(), long_lines) == ([2, 1, 7], 1)
    without = module.parse_trec(b"a Q0 x - 1 t\n", 6, 4)[4]
    assert np.isnan(np.frombuffer(without)).tolist() == [True]


@both_implementations
def test_a_line_that_begins_with_a_hash_is_data(module: ModuleType):
    assert module.parse_trec(b"#1 0 x 1\n# 0 y 2\n", 4, 3)[0] == ["#1", "#"]


@both_implementations
def test_an_empty_file_has_no_queries(module: ModuleType):
    assert module.parse_trec(b"", 4, 3) == ([], bytearray(8), [], bytearray(), bytearray(), 0)


@both_implementations
@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"q 0 a 1\nq 0 \xff 1\n", (2, "encoding", ())),
        (b"\xed\xa0\x80 0 a 1\n", (1, "encoding", ())),
        (b"q 0 \xff x\n", (1, "number", ("x",))),
        ("q 0 é 1\np 0 a 1\nq 0 é 1\np 0 \x01".encode(), (3, "duplicate", ("é", "q"))),
        (b"q 0 a 1\nq 0 a 1\nq 0 b\n", (2, "duplicate", ("a", "q"))),
        (b"q 0 a 1\nq 0 b\nq 0 a 1\n", (2, "columns", (3, 4))),
        (b"q 0 a 1 more\n", (1, "columns", (5, 4))),
        (b"q 0 a 1\n# a comment\n", (2, "comment", (3, 4))),
    ],
)
def test_the_earliest_fault_is_raised(module: ModuleType, data, fault):
    assert outcome(module.parse_trec, data, 4, 3) == ("fault", *fault)


@needs_compiled
@given(st.binary(min_size=1, max_size=12).filter(lambda token: token.split() == [token]))
@examples(5)
def test_ids_are_utf8_where_python_says_so(token):
    data = b"q 0 " + token + b" 1\n"
    assert outcome(compiled.parse_trec, data, 4, 3) == outcome(fallback.parse_trec, data, 4, 3)


@both_implementations
@pytest.mark.parametrize("shape", [(4, 4), (3, 2), (6, -1)])
def test_a_number_before_the_item_is_refused(module: ModuleType, shape):
    with pytest.raises(ValueError, match="value_column"):
        module.parse_trec(b"", *shape)


@needs_compiled
@given(st.randoms(use_true_random=False), st.sampled_from(["\n", "\r\n"]))
@examples(1)
def test_irregular_lines_among_many_regular_ones_end_alike(random, ending):
    """The file is longer than the parts whose white space is indexed at once."""
    lines = [f"q{row // 50} 0 d{row} {row / 8}" for row in range(400)]
    for _ in range(random.randrange(4)):
        irregular = random.choice(
            ["", " q 0 x 1", "q  0 x 1", "q 0 y 1 ", "q\t0\vz\t2", "q 0 w 3\r", "q 0 v " + "1" * 5000]
        )
        lines.insert(random.randrange(400), irregular.replace("q", f"q{random.randrange(9)}"))
    if random.random() < 0.3:
        lines[random.randrange(400)] = random.choice(["q 0", "q 0 d\nd 1", "a b c\nd e", "q 0 d 1 2", "q 0 d x"])
    data = ending.join(lines).encode()
    assert outcome(compiled.parse_trec, data, 4, 3) == outcome(fallback.parse_trec, data, 4, 3)


@needs_compiled
@given(st.binary(max_size=300))
@examples(2)
def test_arbitrary_bytes_end_alike(data):
    for shape in ((4, 3), (6, 4)):
        assert outcome(compiled.parse_trec, data, *shape) == outcome(fallback.parse_trec, data, *shape)
