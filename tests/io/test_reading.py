"""Good files of every shape give the columns they hold."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard

from goldrank.errors import InputError
from goldrank.io import TableKind, read
from goldrank.io.formats.detection import recognise
from goldrank.io.formats.trec import fault_to_error
from goldrank.native import RowFault

Rows = dict[str, dict[str, float]]
TWO: Rows = {"q1": {"d1": 2.0, "d2": 1.0}}


def rows_of(path: Path | str, kind: TableKind, format: str | None = None) -> Rows:
    columns = read(path, kind, format)
    bounds = columns.starts.tolist()
    return {
        query: dict(zip(columns.items[start:end], columns.values[start:end].tolist(), strict=True))
        for query, start, end in zip(columns.queries, bounds[:-1], bounds[1:], strict=True)
    }


CASES: list[tuple[str, TableKind, str, str, Rows]] = [
    ("qrels", "gold", "q1 0 d1 2\nq1 0 d2 1\n", "trec", TWO),
    ("qrels with tabs, CRLF and no last newline", "gold", "q1\t0\td1\t2\r\nq1\t0\td2\t1", "trec", TWO),
    ("qrels with blank lines", "gold", "\nq1 0 d1 2\n  \nq1 0 d2 1\n", "trec", TWO),
    ("qrels whose queries start with #", "gold", "#1 0 d1 2\n", "trec", {"#1": {"d1": 2.0}}),
    ("run whose queries start with #", "run", "#1 Q0 d1 1 2 t\n", "trec", {"#1": {"d1": 2.0}}),
    ("run with text after the tag", "run", "q1 Q0 d1 1 2 t as we said\nq1 Q0 d2 2 1 t\n", "trec", TWO),
    ("qrels with a byte order mark", "gold", "\ufeffq1 0 d1 2\nq1 0 d2 1\n", "trec", TWO),
    ("run", "run", "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1e0 t\n", "trec", TWO),
    (
        "run of interleaved queries",
        "run",
        "a Q0 x 1 2 t\nb Q0 x 1 3 t\na Q0 y 2 1 t\n",
        "trec",
        {"a": {"x": 2.0, "y": 1.0}, "b": {"x": 3.0}},
    ),
    ("qrels with commas in ids", "gold", "q 0 x,y, 1\n", "trec", {"q": {"x,y,": 1.0}}),
    ("BEIR", "gold", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\n", "beir", TWO),
    ("tsv with a header", "run", "Query_ID\tDocNo\tScore\nq1\td1\t2\nq1\td2\t1\n", "tsv", TWO),
    ("tsv of three bare columns", "gold", "q1\td1\t2\nq1\td2\t1\n", "tsv", TWO),
    ("tsv of ids with spaces", "gold", "a query\td1\t2\n", "tsv", {"a query": {"d1": 2.0}}),
    ("csv with a header", "gold", "query,item,grade\nq1,d1,2\nq1,d2,1\n", "csv", TWO),
    ("csv of three bare columns", "gold", "q1,d1,2\nq1,d2,1\n", "csv", TWO),
    ("csv with spaces after commas", "gold", "q1, d1, 2\nq1, d2, 1\n", "csv", TWO),
    ("csv of a query of two words", "gold", "two words, d1, 2\n", "csv", {"two words": {"d1": 2.0}}),
    ("csv with quotes", "gold", '"query","item","grade"\n"q1","d1","2"\n"q1","d2","1"\n', "csv", TWO),
    ("csv whose ids start with #", "gold", "#1,d1,2\n", "csv", {"#1": {"d1": 2.0}}),
    ("csv with more columns", "gold", "rank,qid,doc_id,rel,x\n1,q1,d1,2,\n2,q1,d2,1,\n", "csv", TWO),
    ("grade and score side by side", "gold", "qid,pid,score,grade\nq1,d1,9,2\nq1,d2,8,1\n", "csv", TWO),
    ("score and grade side by side", "run", "qid,pid,score,grade\nq1,d1,2,9\nq1,d2,1,8\n", "csv", TWO),
    ("PyTerrier's frame", "run", "qid,docid,docno,score,query\nq1,7,d1,2,text\nq1,8,d2,1,text\n", "csv", TWO),
    ("JSON", "gold", '{"q1": {"d1": 2, "d2": 1}}', "json", TWO),
    ("JSON over lines", "gold", '{\n"q1":\n{"d1": 2,\n"d2": 1}\n}\n', "json", TWO),
    ("JSON with the object on its own line", "gold", '{"q1":\n{"d1": 2, "d2": 1}}', "json", TWO),
    ("JSON list in gold", "gold", '{"q1": ["d1", "d2"]}', "json", {"q1": {"d1": 1.0, "d2": 1.0}}),
    ("JSON list in a run", "run", '{"q1": ["d1", "d2"], "q2": []}', "json", {**TWO, "q2": {}}),
    ("JSON list of integers", "run", '{"q1": [7, 8]}', "json", {"q1": {"7": 2.0, "8": 1.0}}),
    ("JSON lists by position", "gold", "[[7, 8], []]", "json", {"0": {"7": 1.0, "8": 1.0}, "1": {}}),
    (
        "JSON of FlagEmbedding's evaluation",
        "run",
        '{"eval_name": "set", "split": "dev", "search_results": {"q1": {"d1": 2, "d2": 1.0}}}',
        "json",
        TWO,
    ),
    ("JSON pairs", "run", '{"q1": [["d1", 2], ["d2", 1.0]]}', "json", TWO),
    (
        "JSON result objects",
        "run",
        '{"q1": [{"id": "d1", "score": 2}, {"docno": "d2", "score": 1}]}',
        "json",
        TWO,
    ),
    (
        "JSON records",
        "gold",
        '[{"qid": "q1", "pid": "d1", "rel": 2},\n{"qid": "q1", "pid": "d2", "rel": 1}]',
        "json",
        TWO,
    ),
    ("JSON record alone", "gold", '{"query": 1, "item": 2, "grade": 3}', "json", {"1": {"2": 3.0}}),
    ("JSON map with a query called query", "gold", '{"query": {"d1": 2}}', "json", {"query": {"d1": 2.0}}),
    ("JSON of an empty query", "run", '{"q1": {}, "q2": {"a": 1}}', "json", {"q1": {}, "q2": {"a": 1.0}}),
    (
        "JSONL records",
        "gold",
        '{"qid": "q1", "pid": "d1", "rel": 2}\n\n{"rel": 1, "qid": "q1", "pid": "d2"}\n',
        "jsonl",
        TWO,
    ),
    (
        "JSONL results",
        "run",
        '{"query": "q1", "results": {"d1": 2, "d2": 1}}\n{"query": 2, "results": []}\n{"query": "3", "results": ["a"]}',
        "jsonl",
        {**TWO, "2": {}, "3": {"a": 1.0}},
    ),
    (
        "sentence-transformers' predictions",
        "run",
        '{"query_id": "q1", "query": "text", "results": [{"corpus_id": "d1", "score": 2}, '
        '{"corpus_id": "d2", "score": 1}]}\n{"query_id": "q2", "query": "other", "results": []}\n',
        "jsonl",
        {**TWO, "q2": {}},
    ),
    (
        "mteb's predictions",
        "run",
        '{"mteb_model_meta": {"model_name": "m", "revision": "1"}, "default": {"test": {"q1": {"d2": 1, "d1": 2}}}}',
        "json",
        TWO,
    ),
]


@pytest.mark.parametrize(
    ("kind", "text", "format", "rows"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_file_is_recognised_and_read(tmp_path: Path, kind: TableKind, text: str, format: str, rows: Rows) -> None:
    path = tmp_path / "file"
    path.write_bytes(text.encode())
    assert recognise(text.removeprefix("\ufeff").encode(), kind, "file") == format
    assert rows_of(path, kind) == rows
    assert list(rows_of(path, kind)) == list(rows)
    assert rows_of(path, kind, format) == rows


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b'{"mteb_model_meta": {}, "en": {"dev": {"q": {"d": 1}}, "test": {"q": {"d": 1}}}}',
            "mteb's predictions are of 2 splits (en/dev, en/test), not of one; "
            "write the split that is meant to a file of its own",
        ),
        (
            b'{"mteb_model_meta": {}, "en": {"test": {"q": {"d": "x", "e": 1}}}}',
            "query 'q', item 1: the score 'x' is of type str, not a number; "
            "every score must be a real number: convert it with int() or float()",
        ),
        (
            b'{"dataset_revision": "1", "task_name": "SciFact", "mteb_version": "2", "scores": {"test": [{"a": NaN}]}}',
            "this is mteb's result of a task, which holds its scores and no rankings; let mteb keep the rankings "
            "(mteb.evaluate(..., prediction_folder=FOLDER)) and give FOLDER/TASK_predictions.json",
        ),
        (
            b"\x04\x22\x4d\x18@@\xc0z\0\0",
            "the file is compressed with LZ4, as ranx saves a run; save it as JSON: "
            "ranx.Run.from_file('run.lz4').save('run.json'), or score that Run in Python",
        ),
    ],
    ids=["mteb, two splits", "mteb, no number", "mteb's scores", "ranx's LZ4"],
)
def test_files_of_other_tools_that_hold_no_run_say_what_they_are(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        rows_of(path, "run")
    assert str(caught.value) == f"{path}: {sentence}"


def test_several_zstd_frames_are_one_file(tmp_path: Path) -> None:
    frames = [zstandard.compress(line) for line in (b"q1 0 d1 2\n", b"q1 0 d2 1\n")]
    (tmp_path / "file").write_bytes(b"".join(frames))
    assert rows_of(tmp_path / "file", "gold") == TWO


def test_parquet_of_integer_and_dictionary_ids(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    items = pyarrow.array(["d1", "d2"]).dictionary_encode()
    table = pyarrow.table({"text": ["x", "y"], "corpus-id": items, "query-id": [7, 7], "score": [2, 1]})
    parquet.write_table(table, tmp_path / "file")
    assert rows_of(tmp_path / "file", "gold") == {"7": {"d1": 2.0, "d2": 1.0}}


def test_text_that_starts_like_parquet_is_text(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"PAR1 0 d1 2\n")
    assert rows_of(tmp_path / "file", "gold") == {"PAR1": {"d1": 2.0}}


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q1 0 d1 2\nq1 0 d2 1\n")))
    assert rows_of("-", "gold") == TWO


def test_bare_csv_scores_are_not_taken_for_ranks(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"q1,d1,2\nq1,d2,1\nq2,d1,1\n")
    assert rows_of(tmp_path / "file", "run") == {**TWO, "q2": {"d1": 1.0}}


def test_non_ascii_text_longer_than_a_chunk_is_checked_to_its_end(tmp_path: Path) -> None:
    line = "q1 0 é{} 1\n"
    text = "".join(line.format(number) for number in range(350_000)).encode()
    assert len(text) > 1 << 22
    (tmp_path / "file").write_bytes(text)
    assert len(read(tmp_path / "file", "gold").items) == 350_000
    (tmp_path / "file").write_bytes(text + b"q1 0 \xe9 1\n")
    with pytest.raises(Exception, match=r"file:350001: the text is not valid UTF-8 \(byte 0xe9"):
        read(tmp_path / "file", "gold")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (RowFault(0, "query_type", "7"), "run: the query id 7 is not a string; ids are strings: use str(…)"),
        (RowFault(0, "item_type", "q", "7"), "run: query 'q': the item id 7 is not a string"),
        (RowFault(0, "mapping_type", "q", "int"), "run: query 'q': the query holds a int, not its items"),
        (RowFault(0, "score_type", "q", "d", "str"), "run: query 'q', item 'd': the score is of type str"),
        (RowFault(0, "nonfinite", "q", "d"), "run: query 'q', item 'd': the score is not a finite number"),
        (RowFault(3, "encoding"), "run:3: the text is not valid UTF-8; save it as UTF-8"),
    ],
)
def test_native_faults_become_sentences(fault: RowFault, message: str) -> None:
    assert str(fault_to_error(fault, "run", "run")).startswith(message)


def test_importing_io_loads_no_reader() -> None:
    heavy = {
        "csv",
        "gzip",
        "pyarrow",
        "zstandard",
        "pandas",
        "goldrank.io.formats.detection",
        "goldrank.io.formats.json_files",
    }
    code = f"import sys, goldrank.io; print(*{heavy} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == []


def test_values_are_doubles_and_starts_integers(tmp_path: Path) -> None:
    for name, content in (("a", b"q 0 d 1\n"), ("b", b"q,d,1\n"), ("c", b'{"q": {"d": 1}}')):
        (tmp_path / name).write_bytes(content)
        columns = read(tmp_path / name, "gold")
        assert columns.values.dtype == np.float64
        assert columns.starts.dtype == np.int64
        assert columns.source == str(tmp_path / name)
