"""A packed run equals the run that is read row by row, and unusual or faulty runs are never packed."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import goldrank as gr
from goldrank.errors import InputError
from goldrank.io import RowsFile
from goldrank.native import COMPILED
from native.cases import FINITE, NOT_FINITE, NOT_NUMBERS, all_hits, implementations
from profiles import examples

pytestmark = pytest.mark.skipif(not COMPILED, reason="only compiled code packs runs")

fallback, compiled, _ = implementations("hit_counting")


def contents(file: RowsFile, pack: bool):
    """Return all values read from a file, with numbers as bytes; None if the file is refused or not packed."""
    if pack:
        packed = file.pack()
        if packed is None:
            return None
        columns = packed.columns()
    else:
        try:
            columns = file.parse()
        except InputError:
            return None
    ranks = None if columns.ranks is None else columns.ranks.tobytes()
    rows = (columns.queries, columns.starts.tolist(), columns.items, columns.values.tobytes(), ranks)
    return (*rows, columns.source, columns.unnamed, columns.by_position, columns.reading)


def agrees(data: bytes, format: str) -> bool:
    """Compare both ways of reading; return whether the run was packed."""
    file = RowsFile(data, "some.file", "run", format)
    packed = contents(file, pack=True)
    if packed is not None:
        assert packed == contents(file, pack=False)
    return packed is not None


ids = ["q1", "q2", "d1", "d2", "", " q1", "q1 ", '"q1"', '"q,2"', '""', '"a""b"', 'a"b', "é", "#x", "\t", "a\rb"]
rounded = ["9007199254740993.0", "1.5e+15x", "1.00000e+16"]
numbers = [*FINITE, "1_0", " 7", "7 ", "-0", "nan", "1e400", '"0.5"', "٣"]
cells = st.sampled_from([*ids, *rounded, *numbers])
ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \n", "", ","])
headers = st.sampled_from(["query,item,score\n", "query,item,score,rank\r\n", '"query","item","score"\n', "", "\n"])


@given(headers, st.lists(st.tuples(st.lists(cells, min_size=2, max_size=5), ends), max_size=8))
@example("query,item,score\n", [(["q1", "d1", "0.5"], "\n"), (["q1", "d1", "0.4"], "\n")])
@examples(3)
def test_delimited_rows_are_packed_as_they_are_parsed(header, rows):
    text = header + "".join(",".join(row) + end for row, end in rows)
    agrees(text.encode(), "csv")
    agrees(text.replace(",", "\t").encode(), "tsv")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "a b", "é"]), st.sampled_from(["x", "y", "1", "é"]), st.sampled_from(FINITE)
        ),
        unique_by=lambda row: row[:2],
        min_size=1,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_usual_rows_are_packed(rows, end, quoted):
    mark = '"' if quoted else ""
    lines = [f"{mark}{query}{mark},{mark}{item}{mark}, {score}" for query, item, score in rows]
    assert agrees(end.join(["query,item,score", *lines, ""]).encode(), "csv")
    assert agrees(end.join(lines).encode(), "csv")


@pytest.mark.parametrize("token", [*FINITE, *NOT_FINITE, *NOT_NUMBERS])
def test_scores_are_packed_as_they_are_parsed(token):
    expected = token in FINITE
    assert agrees(f"a,b,{token}\n".encode(), "csv") is expected
    assert agrees(f"query\titem\tscore\trank\na\tb\t{token}\t1\n".encode(), "tsv") is expected
    agrees(f'{{"q": {{"d": {token}}}}}'.encode(), "json")


json_texts = st.recursive(
    st.one_of(
        st.sampled_from(["1", "0", "-0", "-0.0", "1.5", "01", "1.", ".5", "+1", "1e3", "1E-3", "NaN", "null", "true"]),
        st.sampled_from(['"d"', '"\\u0041"', "-", "", "1" * 400, "12345678901234567890", "0.1e", "[]", "-1e5"]),
    ),
    lambda inner: st.lists(
        st.tuples(
            st.sampled_from(
                ['"q"', '"r"', '"é"', '""', '"a\\"b"', '"search_results"', '"mteb_model_meta"', '"query"', "q"]
            ),
            inner,
        ),
        max_size=3,
    ).map(lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"),
    max_leaves=8,
)


@given(json_texts, st.sampled_from(["", " ", "\n\t", "x", "}", ","]))
@example('{"q": {"d": 1, "d": 2}}', "")
@example('{"q": {"d": 1}, "q": {"e": 2}}', "")
@example('{"search_results": {"d": 1}}', "")
@examples(3)
def test_json_is_packed_as_it_is_decoded(text, rest):
    agrees((text + rest).encode(), "json")


@given(
    st.dictionaries(
        st.text(min_size=1), st.dictionaries(st.text(min_size=1), st.floats(allow_nan=False, allow_infinity=False))
    ),
    st.sampled_from([None, 2]),
)
def test_plain_json_is_packed(content, indent):
    text = json.dumps(content, ensure_ascii=False, indent=indent)
    plain = bool(content) and "\\" not in text
    assert agrees(text.encode(errors="replace"), "json") >= plain


def parquet(**columns) -> bytes:
    pyarrow, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    writer.write_table(pyarrow.table(columns), out, row_group_size=3)
    return out.getvalue()


def test_parquet_is_packed_as_it_is_parsed():
    pyarrow = pytest.importorskip("pyarrow")
    queries, items = ["q1", "q1", "q2", "q2", "q3"], ["a", "b", "a", "é", "a"]
    scores = [0.5, 0.25, 2.0, -0.0, 1e300]
    assert agrees(parquet(query=queries, item=items, score=scores), "parquet")
    assert agrees(parquet(text=items, score=scores, rank=[1, 2, 1, 2, 1], item=items, query=queries), "parquet")
    assert agrees(parquet(query=queries[::-1], item=items, score=pyarrow.array([1, 2, 3, 4, 5], "int16")), "parquet")
    mixed = ["q2", "q1", "q2", "q1", "q3"]
    items, scores = ["a", "b", "c", "é", "a"], [0.5, 0.1, 2.0, -0.0, 3.0]
    large = pyarrow.array(items, "large_string")
    assert agrees(parquet(query=mixed, item=large, score=pyarrow.array(scores, "float32")), "parquet")
    assert agrees(parquet(query=mixed, item=items, score=scores, rank=[1.0, float("nan"), 2, 3, 4]), "parquet")
    encoded = pyarrow.array(mixed).dictionary_encode()
    assert agrees(parquet(query=encoded, item=items, score=scores), "parquet")


def test_parquet_that_is_unusual_or_faulty_is_left_to_the_parser():
    pyarrow = pytest.importorskip("pyarrow")
    queries, items, scores = ["q1", "q1", "q2"], ["a", "b", "a"], [0.5, 0.25, 2.0]
    for changed in (
        {"query": [7, 7, 8]},
        {"item": [1, 2, 1]},
        {"item": ["a", "a", "a"]},
        {"item": ["a", "", "b"]},
        {"item": ["a", None, "b"]},
        {"query": ["q1", "", "q2"]},
        {"query": ["q1", None, "q2"]},
        {"score": [0.5, None, 1.0]},
        {"score": [0.5, float("nan"), 1.0]},
        {"score": ["1", "2", "3"]},
        {"item": pyarrow.array([b"a", b"\xff", b"b"], "binary")},
        {"rank": ["1", "2", "3"]},
    ):
        assert not agrees(parquet(**{"query": queries, "item": items, "score": scores, **changed}), "parquet")
    damaged = parquet(query=queries, item=items, score=scores)
    for position in range(4, len(damaged), 7):
        agrees(damaged[:position] + b"\x00\xff" + damaged[position + 2 :], "parquet")


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "é"]),
        st.dictionaries(
            st.sampled_from(["a", "b", "q1", "é", "日本"]), st.sampled_from([0.0, -0.0, 0.5, 1 / 3, 1 + 1e-12])
        ),
    ),
    st.dictionaries(st.sampled_from(["q1", "q2", "q9"]), st.lists(st.sampled_from(["a", "b", "é", "z"]), unique=True)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.int32, np.int64]),
)
def test_hits_of_packed_runs_are_those_of_mappings(run, gold, float32, drop_self, width):
    items = [item for ranking in run.values() for item in ranking]
    starts = np.cumsum([0, *map(len, run.values())])
    offsets = np.cumsum([0, *(len(item.encode()) for item in items)]).astype(width)
    values = np.array([score for ranking in run.values() for score in ranking.values()], np.float64)
    columns = (list(run), starts, offsets, "".join(items).encode(), values)
    options = {"float32": float32, "drop_self": drop_self}
    expected = all_hits(fallback.count_mapping_hits, run, gold, **options)
    for module in (fallback, compiled):

        def count(_, *arguments, module=module):
            return module.count_packed_hits(*columns, *arguments)

        assert all_hits(count, run, gold, **options) == expected


def test_packed_columns_that_do_not_fit_are_refused():
    gold = (["q"], np.array([0, 1]), ["d"], False, False, np.empty((4, 1), np.int64), np.empty(1, np.int64))
    starts, offsets, values = np.array([0, 2]), np.array([0, 1, 2]), np.array([1.0, 2.0])
    narrow = offsets.astype(np.int32)
    for columns in (
        (["q"], starts, narrow + np.int32(1), b"ab", values),
        (["q"], starts, narrow[[0, 2, 1]], b"ab", values),
        (["q"], starts, narrow[:2], b"ab", values),
        (["q"], np.array([0, 1]), offsets, b"ab", values),
        (["q", "r"], starts, offsets, b"ab", values),
        (["q"], starts, np.array([0, 1, 3]), b"ab", values),
        (["q"], starts, np.array([-1, 1, 2]), b"ab", values),
        (["q"], starts, np.array([0, 2, 1]), b"ab", values),
        (["q"], starts, offsets, b"ab", values[:1]),
        (["q"], starts, offsets, b"aa", values),
    ):
        with pytest.raises(ValueError, match=r"differ in length|item twice"):
            compiled.count_packed_hits(*columns, *gold)


def test_a_packed_run_is_used_like_any_other(tmp_path):
    rows = [(f"q{n % 7}", f"d{n}", n % 11 / 4, 1 + n // 7) for n in range(200)]
    lines = ["query,item,score,rank", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "run.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "quoted.csv").write_text("\n".join([*lines[:1], '"q0","d""x",-1,99', *lines[1:]]) + "\n")
    packed, parsed = gr.Run.read(tmp_path / "run.csv"), gr.Run.read(tmp_path / "quoted.csv")
    assert packed._packed is not None
    assert parsed._packed is None
    expected = {query: {i: s for i, s in items.items() if i != 'd"x'} for query, items in parsed.to_dict().items()}
    assert packed.to_dict() == expected
    assert packed.reading == parsed.reading.replace("quoted", "run")
    assert packed.listed_items(10)["q0"][:2] == ["d0", "d7"]
    assert packed.queries == parsed.queries
    assert struct.pack("d", packed["q1"]["d1"]) == struct.pack("d", 0.25)
    gold = gr.Gold({"q1": ["d1", "d8"], "q3": ["d3"]})
    from_columns = gr.Run.from_columns(packed.columns)
    for options in ({}, {"scores": "ignore"}, {"scores": "distance"}, {"precision": "float32", "drop_self": True}):
        ours, theirs = packed.hits(gold, **options), from_columns.hits(gold, **options)
        assert ours.to_dict() == theirs.to_dict()
        assert ours.order == theirs.order
