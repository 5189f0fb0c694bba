"""Python objects of every kind give the same columns, and bad cells are refused with their row."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.io.columns import Columns
from goldrank.io.tables import columns_from, columns_from_arrays

QUERY, ITEM, SCORE = ["q2", "q1", "q2"], ["b", "a", "a"], [0.5, 1.0, 0.25]
TABLE = {"query": QUERY, "item": ITEM, "score": SCORE}
ROWS = list(zip(QUERY, ITEM, SCORE, strict=True))


def pandas_frame(**options: object) -> object:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(TABLE, **options)


def pandas_categories() -> object:
    return pandas_frame(index=[9, 9, 9]).astype({"query": "category", "item": "category"})  # type: ignore[attr-defined]


def polars_frame() -> object:
    return pytest.importorskip("polars").DataFrame(TABLE)


def polars_categories() -> object:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(TABLE, schema_overrides={"query": polars.Categorical})


def arrow_table() -> object:
    return pytest.importorskip("pyarrow").table(TABLE)


def arrow_dictionary() -> object:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({**TABLE, "query": pyarrow.array(QUERY).dictionary_encode()})


def arrow_reader() -> object:
    return arrow_table().to_reader()  # type: ignore[attr-defined]


def dataset() -> object:
    return pytest.importorskip("datasets").Dataset.from_dict(TABLE)


def dataset_selected() -> object:
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict({"query": ["x", *QUERY], "item": ["x", *ITEM], "score": [9.0, *SCORE]})
    return whole.select([1, 2, 3])


def structured() -> object:
    return np.array(ROWS, dtype=[("query", "U5"), ("item", "U5"), ("score", "f8")])


def mapping() -> object:
    return {"q2": {"b": 0.5, "a": 0.25}, "q1": {"a": 1}}


def mapping_of_numpy() -> object:
    return {np.str_("q2"): {"b": np.float32(0.5), "a": np.float64(0.25)}, "q1": {"a": np.int64(1)}}


def mapping_of_pairs() -> object:
    return {"q2": [("b", 0.5), ("a", 0.25)], "q1": [("a", 1)]}


def tuples() -> object:
    return ROWS


class ScoredDoc(NamedTuple):
    """The named tuple of ir_measures and ir_datasets, with a field that is ignored."""

    query_id: str
    doc_id: str
    score: float
    iteration: str = "0"


def named_tuples() -> object:
    return [ScoredDoc(*row) for row in ROWS]


def generator() -> object:
    return (ScoredDoc(*row) for row in ROWS)


MAKERS = [
    pandas_frame,
    pandas_categories,
    polars_frame,
    polars_categories,
    arrow_table,
    arrow_dictionary,
    arrow_reader,
    dataset,
    dataset_selected,
    structured,
    mapping,
    mapping_of_numpy,
    mapping_of_pairs,
    tuples,
    named_tuples,
    generator,
]


def assert_expected(columns: Columns) -> None:
    assert columns.queries == ["q2", "q1"]
    assert columns.starts.tolist() == [0, 2, 3]
    assert columns.items == ["b", "a", "a"]
    assert columns.values.tolist() == [0.5, 0.25, 1.0]
    assert all(type(text) is str for text in columns.queries + columns.items)


@pytest.mark.parametrize("make", MAKERS, ids=[maker.__name__ for maker in MAKERS])
def test_every_kind_of_object_gives_the_same_columns(make: Callable[[], object]) -> None:
    assert_expected(columns_from(make(), "run"))


@pytest.mark.slow
def test_the_objects_of_ranx_are_read_as_gold_and_run() -> None:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    # ranx sorts the queries.
    run = columns_from(ranx.Run({"q1": {"a": 1.0}, "q2": {"b": 0.5, "a": 0.25}}), "run")
    assert (run.queries, run.items, run.values.tolist()) == (["q1", "q2"], ["a", "b", "a"], [1.0, 0.5, 0.25])
    gold = columns_from(ranx.Qrels({"q1": {"a": 2}}), "gold")
    assert (gold.queries, gold.items, gold.values.tolist()) == (["q1"], ["a"], [2.0])


@pytest.mark.parametrize("library", ["list", "numpy", "pandas", "polars", "pyarrow"])
def test_three_arrays(library: str) -> None:
    makers: dict[str, Callable[[list[object]], object]] = {
        "list": list,
        "numpy": np.array,
        "pandas": lambda cells: pytest.importorskip("pandas").Series(cells),
        "polars": lambda cells: pytest.importorskip("polars").Series(cells),
        "pyarrow": lambda cells: pytest.importorskip("pyarrow").array(cells),
    }
    make = makers[library]
    assert_expected(columns_from_arrays(make(list(QUERY)), make(list(ITEM)), make(list(SCORE)), "run"))
    integers = columns_from_arrays(make([7, 7]), make([10, 9]), make([2, 1]), "gold")
    assert integers.queries == ["7"]
    assert integers.items == ["10", "9"]
    assert integers.values.tolist() == [2.0, 1.0]


def test_lists_of_items_are_grades_of_one_or_a_ranking() -> None:
    assert columns_from({"q": ["b", "a"]}, "gold").values.tolist() == [1.0, 1.0]
    assert columns_from({"q": ["b", "a"]}, "run").values.tolist() == [2.0, 1.0]
    assert columns_from({"q": np.array(["b", "a"])}, "run").items == ["b", "a"]
    assert columns_from({"q": {"b", "a"}}, "gold").items == ["a", "b"]


def test_integers_in_dicts_are_ids() -> None:
    columns = columns_from({0: {11: 1}, np.int64(7): [4, 16]}, "gold")
    assert (columns.queries, columns.items) == (["0", "7"], ["11", "4", "16"])


def test_query_without_items_is_kept() -> None:
    columns = columns_from({"q1": {}, "q2": {"a": 1}}, "run")
    assert columns.queries == ["q1", "q2"]
    assert columns.starts.tolist() == [0, 0, 1]


def test_columns_can_be_named() -> None:
    frame = pandas_frame().rename(columns={"query": "Frage", "item": "Text", "score": "Note"})  # type: ignore[attr-defined]
    assert_expected(columns_from(frame, "run", query="Frage", item="Text", value="Note"))


def frame_with(**cells: list[object]) -> object:
    return pytest.importorskip("pandas").DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [1, 2]} | cells)


def polars_with(**cells: list[object]) -> object:
    return pytest.importorskip("polars").DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [1, 2]} | cells)


BAD: list[tuple[str, Callable[[], object], list[str]]] = [
    ("float query in a dict", lambda: {1.0: {"a": 1}}, ["query id 1.0", "ids are strings: use str("]),
    (
        "bool item in a dict",
        lambda: {"q": {True: 1}},
        ["query 'q', item 1", "bool", "ids are strings: use str("],
    ),
    ("integer and text for one query", lambda: {1: {"a": 1}, "1": {"b": 1}}, ["the query '1' is listed twice"]),
    ("bool score", lambda: {"q": {"a": True}}, ["bool", "real number"]),
    ("numpy bool score", lambda: {"q": {"a": np.True_}}, ["bool", "real number"]),
    ("text score", lambda: {"q": {"a": "1"}}, ["str", "real number"]),
    ("complex score", lambda: {"q": {"a": 1j}}, ["complex", "real number"]),
    ("nan score", lambda: {"q": {"a": 1, "b": float("nan")}}, ["query 'q', item 2", "finite"]),
    ("huge score", lambda: {"q": {"a": 10**400}}, ["finite"]),
    ("None as an id", lambda: {"q": {None: 1}}, ["missing"]),
    ("surrogate", lambda: {"q": {"\ud800": 1}}, ["surrogate", "UTF-8"]),
    ("empty query", lambda: {"": {"a": 1}}, ["query id is empty"]),
    ("number for a query", lambda: {"q": 3}, ["query 'q'", "type int", "list of items"]),
    ("string for a query", lambda: {"q": "abc"}, ["query 'q'", "type str", "list of items"]),
    ("set in a run", lambda: {"q": {"a", "b"}}, ["type set"]),
    (
        "pandas missing id",
        lambda: frame_with(query=["q", None]),
        ["row 1 (counted from 0)", "missing", "drop"],
    ),
    ("pandas float id", lambda: frame_with(item=[1.5, 2.5]), ["row 0", "float", "str("]),
    ("pandas bool score", lambda: frame_with(score=[True, False]), ["row 0", "bool"]),
    ("pandas text score", lambda: frame_with(score=["1", "2"]), ["row 0", "str"]),
    ("pandas nan score", lambda: frame_with(score=[1.0, float("nan")]), ["row 1", "finite"]),
    ("pandas duplicate", lambda: frame_with(item=["a", "a"]), ["row 1", "listed twice", "keep one"]),
    ("pandas two queries", lambda: frame_with(query=["q", "q"], topic=["q", "q"]), ["several", "'topic'"]),
    ("polars missing id", lambda: polars_with(query=["q", None]), ["row 1", "missing"]),
    ("polars missing score", lambda: polars_with(score=[1.0, None]), ["row 1", "missing"]),
    ("polars names", lambda: polars_with().rename({"item": "x"}), ["no item column", "'x'"]),  # type: ignore[attr-defined]
    ("short tuple", lambda: [("q", "a", 1), ("q", "a")], ["row 1", "three values"]),
    ("not a tuple", lambda: ["abc"], ["'abc'", "three values"]),
    ("a number", lambda: 3, ["a int does not hold a run", "data frame"]),
    ("a string", lambda: "bm25.run", ["a str does not hold a run"]),
    ("bytes ids", lambda: [(b"q", b"a", 1)], ["bytes", "str("]),
    (
        "a dataset of splits",
        lambda: pytest.importorskip("datasets").DatasetDict({"test": dataset()}),
        ["split"],
    ),
    ("streaming", lambda: dataset().to_iterable_dataset(), ["without streaming"]),  # type: ignore[attr-defined]
]


@pytest.mark.parametrize(("make", "parts"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_object_is_refused_with_row_and_remedy(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        columns_from(make(), "run")
    assert all(part in str(caught.value) for part in parts), str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("arrays", "part"),
    [
        ((["q"], ["a", "b"], [1]), "1, 2 and 1 entries"),
        ((["q"], ["a"], np.ones((1, 1))), "2 dimensions"),
        (("q", "a", "b"), "a str is not a column"),
        ((3, 4, 5), "a int is not a column"),
    ],
)
def test_arrays_must_be_columns_of_one_length(arrays: tuple[object, object, object], part: str) -> None:
    with pytest.raises(InputError, match=part):
        columns_from_arrays(*arrays, "run")


def test_unknown_column_name_is_refused() -> None:
    with pytest.raises(InputError, match="there is no column 'nope'"):
        columns_from(pandas_frame(), "run", query="nope")


def test_rows_that_are_lists_are_no_labelled_records():
    assert columns_from([["q1", "d1", 1], ["q1", "d2", 2]], "gold").items == ["d1", "d2"]
