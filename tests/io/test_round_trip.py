"""Columns read back as they were written, in every format and compression, or are refused before writing."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.io import FORMATS, Columns, TableKind, read, write
from goldrank.io.compression import COMPRESSIONS
from profiles import examples

QUICK = examples(0.4)
PLAIN_IDS = st.text("abcdefgh0123456789-_.é日", min_size=1, max_size=8).filter(lambda text: text.strip(" "))
ANY_IDS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('\t\r\n ,"#\0\ufeff')),
    min_size=1,
    max_size=6,
)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
GRADES = st.one_of(st.integers(-3, 5).map(float), SCORES)
PLAIN_FORMATS = [name for name in FORMATS if name != "diversity"]  # diversity is for gold with subtopics


def tables(ids: st.SearchStrategy[str], values: st.SearchStrategy[float]) -> st.SearchStrategy[Columns]:
    rankings = st.dictionaries(ids, st.dictionaries(ids, values, min_size=1, max_size=5), min_size=1, max_size=4)
    return rankings.map(_columns)


def _columns(rankings: dict[str, dict[str, float]]) -> Columns:
    starts = np.cumsum([0, *map(len, rankings.values())])
    values = [value for ranking in rankings.values() for value in ranking.values()]
    return Columns(list(rankings), starts, [i for r in rankings.values() for i in r], np.array(values), "made here")


def assert_same(actual: Columns, expected: Columns) -> None:
    assert actual.queries == expected.queries
    assert actual.starts.tolist() == expected.starts.tolist()
    assert actual.items == expected.items
    assert actual.starts.dtype == np.int64
    assert actual.values.dtype == np.float64
    assert actual.values.tolist() == expected.values.tolist()


@pytest.mark.parametrize("format", PLAIN_FORMATS)
@QUICK
@given(columns=tables(ANY_IDS, SCORES))
def test_any_ids_come_back_or_are_refused(format: str, columns: Columns) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.any"
        try:
            write(columns, path, "run", format)
        except InputError:
            assert format not in ("json", "jsonl", "parquet")
            assert list(Path(folder).iterdir()) == []
            return
        actual = read(path, "run", format)
        assert_same(actual, columns)
        assert actual.values.tobytes() == columns.values.tobytes()


@pytest.mark.parametrize("kind", ["gold", "run"])
@pytest.mark.parametrize("format", PLAIN_FORMATS)
@QUICK
@given(columns=tables(PLAIN_IDS, GRADES))
def test_plain_ids_come_back_with_the_format_recognised(format: str, kind: TableKind, columns: Columns) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(columns, path, kind, format)
        assert_same(read(path, kind), columns)


@pytest.mark.parametrize("suffix", ["", *COMPRESSIONS])
@pytest.mark.parametrize("name", ["x.run", "x.csv", "x.tsv", "x.json", "x.jsonl", "x.ndjson", "x.parquet", "x"])
@pytest.mark.parametrize("kind", ["gold", "run"])
def test_every_suffix_and_compression(tmp_path: Path, name: str, suffix: str, kind: TableKind) -> None:
    columns = _columns({"q1": {"d2": 2.0, "d10": 0.1 + 0.2}, "q2": {"é": -1e-300, "d2": 5.0}})
    path = tmp_path / (name + suffix)
    write(columns, path, kind)
    assert_same(read(path, kind), columns)
    first = path.read_bytes()
    write(columns, path, kind)
    assert path.read_bytes() == first
    renamed = path.rename(tmp_path / "no-suffix-at-all")
    assert_same(read(renamed, kind), columns)


GOLD = {"q1": {"d2": 2.0, "d,1": 0.5}}


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("x.qrels", "gold", "q1 0 d2 2\nq1 0 d,1 0.5\n"),
        ("x.run", "run", "q1 Q0 d2 1 2.0 mine\nq1 Q0 d,1 2 0.5 mine\n"),
        ("x.csv", "gold", 'query,item,grade\nq1,d2,2\nq1,"d,1",0.5\n'),
        ("x.csv", "run", 'query,item,score\nq1,d2,2.0\nq1,"d,1",0.5\n'),
        ("x.tsv", "gold", "query-id\tcorpus-id\tscore\nq1\td2\t2\nq1\td,1\t0.5\n"),
        ("x.tsv", "run", "query\titem\tscore\nq1\td2\t2.0\nq1\td,1\t0.5\n"),
        ("x.json", "gold", '{\n  "q1": {"d2": 2, "d,1": 0.5}\n}\n'),
        (
            "x.jsonl",
            "gold",
            '{"query": "q1", "item": "d2", "grade": 2}\n{"query": "q1", "item": "d,1", "grade": 0.5}\n',
        ),
    ],
)
def test_text_written_is_exactly_this(tmp_path: Path, name: str, kind: TableKind, text: str) -> None:
    write(_columns(GOLD), tmp_path / name, kind, tag="mine")
    assert (tmp_path / name).read_text() == text


def test_trec_rank_follows_score_then_id_descending_and_rows_keep_their_order(tmp_path: Path) -> None:
    write(_columns({"q": {"a": 0.5, "c": 0.9, "b": 0.5, "é": 0.5}}), tmp_path / "x.run", "run")
    rows = [line.split() for line in (tmp_path / "x.run").read_text().splitlines()]
    assert [(row[2], row[3]) for row in rows] == [("a", "4"), ("c", "1"), ("b", "3"), ("é", "2")]


def test_whole_grades_are_integers_in_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write(_columns({"q": {"a": 2.0}}), tmp_path / "x.parquet", "gold")
    assert str(parquet.read_schema(tmp_path / "x.parquet").field("grade").type) == "int64"


def test_query_without_items_survives_json(tmp_path: Path) -> None:
    columns = Columns(["q1", "q2"], np.array([0, 1, 1]), ["a"], np.array([1.0]), "made here")
    write(columns, tmp_path / "x.json", "run")
    assert_same(read(tmp_path / "x.json", "run"), columns)
