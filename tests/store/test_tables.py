"""Test that hits and runs read from Parquet are bit-identical to those written."""

import math

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.hits import Gold, Hits, Run
from goldrank.io.columns import Columns
from goldrank.store.tables import dump_hits, dump_run, find_row, load_hits, load_run
from store.cases import same_hits

# Lone surrogates are included, because a path or an invalid JSON file may contain them.
IDS = st.text(st.characters(), max_size=5)
NUMBERS = st.floats(width=64)


@st.composite
def many_hits(draw):
    sizes = draw(st.lists(st.integers(0, 3), max_size=5))
    rows = sum(sizes)

    def counts(length=rows):
        return np.array(draw(st.lists(st.integers(-1, 2**62), min_size=length, max_size=length)), np.int64)

    return Hits(
        queries=draw(st.lists(IDS, min_size=len(sizes), max_size=len(sizes), unique=True)),
        starts=np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        items=draw(st.lists(IDS, min_size=rows, max_size=rows)),
        grade=np.array(draw(st.lists(NUMBERS, min_size=rows, max_size=rows)), np.float64),
        above=counts(),
        tied=counts(),
        tied_docid=counts(),
        tied_input=counts(),
        depth=counts(len(sizes)),
        precision=draw(st.sampled_from(["float64", "float32"])),
        corpus=draw(st.none() | st.integers(0, 2**40)),
        outside=np.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), bool)
        if draw(st.booleans())
        else np.zeros(0, bool),
        ignored_queries=draw(st.integers(0, 9)),
        dropped_self=draw(st.integers(0, 9)),
    )


@given(many_hits())
def test_hits_come_back_bit_for_bit(hits):
    assert same_hits(load_hits(dump_hits(hits), "here"), hits)


@given(many_hits())
def test_runs_come_back_bit_for_bit(hits):
    columns = Columns(hits.queries, hits.starts, hits.items, hits.grade, "there")
    loaded = load_run(dump_run(Run.from_columns(columns)), "here").columns
    assert (loaded.queries, loaded.items) == (columns.queries, columns.items)
    assert loaded.starts.tobytes() == columns.starts.tobytes()
    assert loaded.values.tobytes() == columns.values.tobytes()
    assert loaded.values.dtype == np.float64


def test_equal_content_gives_equal_bytes():
    run = Run({"q": {"d1": 0.1, "d2": math.pi}})
    assert dump_run(run) == dump_run(Run({"q": {"d1": 0.1, "d2": math.pi}}))


def test_ids_are_plain_strings_for_other_tools():
    read = pyarrow.parquet.read_table(pyarrow.BufferReader(dump_run(Run({"q": {"d1": 0.1, "d2": 0.2}}))))
    assert read.to_pylist() == [{"query": "q", "item": ["d1", "d2"], "score": [0.1, 0.2]}]


def test_a_large_run_is_small_and_whole():
    rng = np.random.default_rng(0)
    ids = [f"document-{number}" for number in range(2000)]
    picks = np.concatenate([rng.permutation(2000)[:1000] for _ in range(100)])
    columns = Columns(
        [f"q{number}" for number in range(100)],
        np.arange(0, 100_001, 1000),
        [ids[pick] for pick in picks],
        rng.random(100_000),
        "made",
    )
    data = dump_run(Run.from_columns(columns))
    assert len(data) < 100_000 * 12
    assert load_run(data, "here").columns.items == columns.items


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + b"\0" * 40 + b"PAR1"])
def test_what_is_no_table_is_refused(data):
    with pytest.raises(InputError, match="--overwrite always"):
        load_hits(data, "here")


def test_a_parquet_file_of_somebody_else_is_refused():
    out = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table({"query": ["q"]}), out)
    with pytest.raises(InputError, match="not a table of a store"):
        load_run(out.getvalue().to_pybytes(), "here")


@pytest.mark.parametrize("queries", [1024, 1025, 5000])
def test_many_queries_come_back_whole_and_one_by_one(queries, tmp_path):
    gold = Gold({f"q{n}": {f"d{n}": 1, "every": 2} for n in range(queries)})
    run = Run({f"q{n}": {f"d{n}": 0.5, f"x{n % 7}": float(n)} for n in range(queries)})
    hits = run.hits(gold)
    assert same_hits(load_hits(dump_hits(hits), "here"), hits)
    assert load_run(dump_run(run), "here") == run
    (tmp_path / "run.parquet").write_bytes(dump_run(run))
    for n in (0, queries // 2, queries - 1):
        row = find_row(tmp_path / "run.parquet", f"q{n}")
        assert dict(zip(row["item"], row["score"], strict=True)) == run[f"q{n}"]
    assert find_row(tmp_path / "run.parquet", f"q{queries}") is None


def test_a_query_that_is_no_valid_unicode_is_found_too(tmp_path):
    columns = Columns(["half \ud83d", "whole"], np.array([0, 1, 2]), ["d", "e"], np.array([1.0, 2.0]), "here")
    run = Run.from_columns(columns)
    (tmp_path / "run.parquet").write_bytes(dump_run(run))
    assert find_row(tmp_path / "run.parquet", "half \ud83d")["item"] == ["d"]
    assert find_row(tmp_path / "run.parquet", "whole")["item"] == ["e"]
