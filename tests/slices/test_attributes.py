"""Test attributes of queries: reading them from tables, and dividing the queries into slices."""

import json

import pytest

from goldrank.errors import InputError
from goldrank.slices import Attributes, make_slices, read_attributes

QUERIES = [f"q{number}" for number in range(20)]


def attribute(values):
    return Attributes({"a": dict(zip(QUERIES, values, strict=True))})


def cut(values, **keywords):
    return {part.value: len(part) for part in make_slices(attribute(values), QUERIES, ["a"], **keywords)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "language,qid,kind\nde,q1,x\nen,q2,\n"),
        ("a.tsv", "query\tlanguage\tkind\nq1\tde\tx\nq2\ten\t\n"),
        ("a.jsonl", '{"query_id": "q1", "language": "de", "kind": "x"}\n{"query_id": "q2", "language": "en"}\n'),
        ("a.csv", "name;language;kind\nq1;de;x\nq2;en;\n"),
    ],
)
def test_every_column_but_the_ids_is_an_attribute_in_any_table(tmp_path, name, content):
    file = tmp_path / name
    file.write_text(content)
    attributes = read_attributes(str(file))
    assert attributes.values == {"language": {"q1": "de", "q2": "en"}, "kind": {"q1": "x"}}
    assert "further columns: language, kind" in attributes.reading


def test_parquet_and_records_give_the_same_attributes(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"qid": [1, 2], "n": [3.0, 4.5]}), tmp_path / "a.parquet")
    expected = {"n": {"1": "3", "2": "4.5"}}
    assert read_attributes(str(tmp_path / "a.parquet")).values == expected
    assert read_attributes([{"qid": 1, "n": 3.0}, {"qid": 2, "n": 4.5}]).values == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("qid,a\nq1,x\nq1,y\n", r"a.csv:3: the query 'q1' has two rows \(first at .*a.csv:2\)"),
        ("qid\nq1\n", "there is no attribute beside the ids"),
        ("qid,a\n,x\n", "the query id is empty"),
        ("qid,a\n", "the table has no rows"),
    ],
)
def test_a_faulty_table_is_refused_with_its_place(tmp_path, content, message):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_attributes(str(tmp_path / "a.csv"))


def test_unknown_queries_are_refused_and_no_overlap_is_said_to_be_one():
    with pytest.raises(InputError, match=r"1 query is not in the gold, such as 'q99'; correct the ids"):
        Attributes({"a": {"q1": "x", "q99": "x"}}).refuse_unknown(QUERIES)
    with pytest.raises(InputError, match=r"none of its 1 query is in the gold \(it has 'Q1', the gold has 'q0'\)"):
        Attributes({"a": {"Q1": "x"}}).refuse_unknown(QUERIES)


def test_slices_keep_the_order_of_the_queries_and_contain_each_query_once():
    parts = make_slices(attribute(["de", "en"] * 10), list(reversed(QUERIES)))
    assert [str(part) for part in parts] == ["a=de", "a=en"]
    assert parts[0].queries == ("q18", "q16", "q14", "q12", "q10", "q8", "q6", "q4", "q2", "q0")
    assert sorted(parts[0].queries + parts[1].queries) == sorted(QUERIES)


def test_small_values_are_merged_and_a_single_small_one_keeps_its_name():
    assert cut(["de"] * 10 + ["en"] * 5 + list("abcde")) == {"de": 10, "en": 5, "(other)": 5}
    parts = make_slices(attribute(["de"] * 10 + ["en"] * 7 + ["fr"] * 3), QUERIES)
    assert [(part.value, part.too_small) for part in parts] == [("de", False), ("en", False), ("fr", True)]


def test_the_most_frequent_values_stay_where_there_are_many():
    queries = [str(number) for number in range(300)]
    values = {query: f"v{min(int(query) // 6, 30)}" for query in queries}
    parts = make_slices(Attributes({"a": values}), queries)
    assert len(parts) == 21
    assert parts[0].value == "v30"
    assert parts[-1].value == "(other)"
    assert sum(map(len, parts)) == 300


def test_queries_without_a_value_are_a_slice_of_their_own():
    values = Attributes({"a": dict.fromkeys(QUERIES[:10], "x")})
    assert {part.value: len(part) for part in make_slices(values, QUERIES)} == {"x": 10, "(none)": 10}


def test_few_numbers_stay_apart_in_their_order_and_many_become_bands():
    assert list(cut(["10"] * 5 + ["9"] * 5 + ["1"] * 10)) == ["1", "9", "10"]
    assert cut([str(number) for number in range(20)]) == {"0–4": 5, "5–9": 5, "10–14": 5, "15–19": 5}
    assert next(iter(cut([str(number) for number in range(-10, 10)]))) == "-10 to -6"


def test_equal_numbers_are_never_in_two_bands():
    values = ["1"] * 12 + [str(number) for number in range(2, 10)]
    sizes = cut(values)
    assert sizes["1"] == 12
    assert sum(sizes.values()) == 20
    # 1 and 1.0 are the same number.
    assert cut(["1", "1.0"] * 6 + values[12:])["1"] == 12


def test_bands_that_six_digits_do_not_tell_apart_are_written_in_full():
    sizes = cut([f"1000000.{number:02d}" for number in range(20)])
    assert next(iter(sizes)) == "1000000–1000000.04"
    assert len(sizes) == 4


def test_an_attribute_that_divides_nothing_is_left_out_or_refused_by_name():
    both = Attributes({"text": {query: f"text {query}" for query in QUERIES}, "k": dict.fromkeys(QUERIES, "x")})
    with pytest.raises(InputError, match="no value has 5 queries or more"):
        make_slices(both, QUERIES, ["text"])
    with pytest.raises(InputError, match="all have the value 'x'"):
        make_slices(both, QUERIES, ["k"])
    with pytest.raises(InputError, match=r"no attribute divides the queries into slices of 5 or more \(text, k\)"):
        make_slices(both, QUERIES)
    half = Attributes({**both.values, "half": dict(zip(QUERIES, "xy" * 10, strict=True))})
    assert {part.attribute for part in make_slices(half, QUERIES)} == {"half"}


def test_an_unknown_attribute_names_those_that_exist():
    with pytest.raises(InputError, match=r"there is no attribute of queries 'b'; see the list \(there are a\)"):
        make_slices(attribute(["x"] * 20), QUERIES, ["b"])


def test_values_of_records_are_texts_and_lists_are_left_out(tmp_path):
    file = tmp_path / "a.jsonl"
    records = [{"qid": query, "a": value} for query, value in zip("2345", [True, None, [1], {"b": 2}], strict=True)]
    file.write_text("\n".join(map(json.dumps, records)))
    assert read_attributes(str(file)).values == {"a": {"2": "true"}, "a.b": {"5": "2"}}
