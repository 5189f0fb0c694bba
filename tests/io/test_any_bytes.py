"""Readers raise no error but GoldrankError for any bytes; tests/fuzz does the same for the commands."""

import bz2
import gzip
import io
import lzma
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from goldrank.errors import GoldrankError
from goldrank.io import FORMATS, Columns, TableKind, read, write
from profiles import examples

FUZZ = settings(examples(1.5), suppress_health_check=list(HealthCheck), database=None)
KINDS = st.sampled_from(["gold", "run"])
NAMED = st.one_of(st.none(), st.sampled_from(sorted(FORMATS)))
SHAPED = st.text('{}[]":,.\t\n\r 0123456789eE+-#QqdNaIinfty_', max_size=60).map(str.encode)
LINES = st.lists(
    st.lists(st.sampled_from(["q1", "Q0", "0", "d1", "1", "0.5", "nan", "1e999", "é", '"', "query", "item", "score"])),
    max_size=4,
)


def valid_files() -> list[bytes]:
    columns = Columns(["q1", "q2"], np.array([0, 2, 3]), ["d1", "é", "d1"], np.array([2.0, 0.25, 1.0]), "made here")
    judged = [{"1": 2.0, "2": 0.0}, {"2": 0.25}, {"ü": 1.0}]
    files = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for kind in ("gold", "run"):
            for format in FORMATS:
                if kind == "run" and format == "diversity":
                    continue
                write(replace(columns, subtopics=judged) if format == "diversity" else columns, path, kind, format)
                files.append(path.read_bytes())
    packers = (gzip.compress, zstandard.compress, lzma.compress, bz2.compress)
    return files + [pack(data) for pack in packers for data in files[:1]]


VALID = valid_files()


def check(data: bytes, kind: TableKind, format: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        try:
            columns = read(path, kind, format)
        except GoldrankError as error:
            message = str(error)
        else:
            message = ""
            check_columns(columns)
    assert "\n" not in message
    assert len(message) < 1000


def check_columns(columns: Columns) -> None:
    assert columns.starts[0] == 0
    assert columns.starts[-1] == len(columns.items) == len(columns.values)
    assert len(columns.starts) == len(columns.queries) + 1
    assert np.isfinite(columns.values).all()
    assert all(columns.items)
    assert len(set(columns.queries)) == len(columns.queries) > 0


def fuzz(strategy: st.SearchStrategy[bytes]) -> None:
    @FUZZ
    @seed(0)
    @given(data=strategy, kind=KINDS, format=NAMED)
    def example(data: bytes, kind: TableKind, format: str | None) -> None:
        check(data, kind, format)

    example()


def test_arbitrary_bytes() -> None:
    fuzz(st.binary(max_size=200))


def test_text_in_the_shape_of_the_formats() -> None:
    fuzz(SHAPED)


@pytest.mark.parametrize("separator", [" ", "\t", ","])
def test_lines_of_known_words(separator: str) -> None:
    fuzz(LINES.map(lambda lines: "\n".join(separator.join(words) for words in lines).encode()))


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, len(data)))
        action = draw(st.sampled_from(["cut", "insert", "change", "repeat", "delete"]))
        if action == "cut":
            del data[position:]
        elif action == "insert":
            data[position:position] = draw(st.binary(min_size=1, max_size=4))
        elif action == "change" and position < len(data):
            data[position] = draw(st.integers(0, 255))
        elif action == "repeat":
            data[position:position] = data[position : position + draw(st.integers(1, 40))]
        elif action == "delete":
            del data[position : position + draw(st.integers(1, 10))]
    return bytes(data)


def test_mutated_valid_files() -> None:
    fuzz(mutations())


def test_every_prefix_of_a_valid_file() -> None:
    for data in VALID:
        for kind in ("gold", "run"):
            for end in range(0, len(data), max(1, len(data) // 60)):
                check(data[:end], kind)


def test_parquet_with_odd_columns() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    for query in ([[1]], [{"a": 1}], [b"x"], [None], [1.5], [True], [""]):
        out = io.BytesIO()
        parquet.write_table(pyarrow.table({"query": query, "item": ["a"], "score": [1.0]}), out)
        check(out.getvalue(), "run")
