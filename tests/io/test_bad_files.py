"""Every bad file is refused in one sentence that names the place and the remedy."""

import bz2
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from goldrank.errors import GoldrankError, InputError
from goldrank.io import TableKind, read, write
from goldrank.io.columns import Columns

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

RUN = b"".join(b"q%d Q0 d%d %d %f tag\n" % (q, d, d + 1, 1 / (d + 1)) for q in range(20) for d in range(20))


def parquet_bytes(**columns: list[object]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


# name, kind, content, start of the message after the file's name, parts of the rest
CASES: list[tuple[str, TableKind, bytes, str, list[str]]] = [
    ("truncated gzip", "run", gzip.compress(RUN)[:-20], ": ", ["gzip", "truncated", "again"]),
    ("gzip with a wrong checksum", "run", flipped(gzip.compress(RUN), -8), ": ", ["gzip", "corrupt"]),
    ("gzip header alone", "run", b"\x1f\x8b", ": ", ["gzip", "truncated"]),
    ("truncated zstd", "run", zstandard.compress(RUN)[:-9], ": ", ["Zstandard", "truncated"]),
    ("corrupt zstd", "run", flipped(zstandard.compress(RUN), 30)[:-4], ": ", ["Zstandard", "corrupt"]),
    ("second zstd frame cut", "run", (zstandard.compress(RUN) * 2)[:-9], ": ", ["Zstandard", "truncated"]),
    ("truncated xz", "run", lzma.compress(RUN)[:-20], ": ", ["xz", "truncated", "again"]),
    ("truncated bzip2", "run", bz2.compress(RUN)[:-20], ": ", ["bzip2", "truncated", "again"]),
    ("empty", "run", b"", ": ", ["empty", "written completely"]),
    ("empty after decompression", "gold", gzip.compress(b""), ": ", ["empty"]),
    ("a byte order mark alone", "gold", b"\xef\xbb\xbf", ": ", ["empty"]),
    ("only blank lines", "gold", b"\n \n\t\n", ": ", ["no rows", "written completely"]),
    ("only comments", "gold", b"# qrels\n# of today\n", ":1: ", ["'# qrels'", "not recognised"]),
    ("a comment in qrels", "gold", b"# of today\nq1 0 d1 1\n", ":1: ", ["begins with #", "3 columns", "comment"]),
    ("NUL bytes", "run", b"q1 Q0 d1 1 0.5 t\nq1 Q0 d\x002 2 0.4 t\n", ":2: ", ["NUL", "offset 24", "UTF-8"]),
    ("PNG", "run", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", ":3: ", ["not a text file", "UTF-8"]),
    ("UTF-16", "run", "q1 Q0 d1 1 0.5 t\n".encode("utf-16"), ": ", ["UTF-16", "save it as UTF-8"]),
    ("UTF-32", "run", "q1 Q0 d1 1 0.5 t\n".encode("utf-32"), ": ", ["UTF-32", "save it as UTF-8"]),
    ("Latin-1", "gold", "q1 0 a 1\nq1 0 caf\xe9 1\n".encode("latin-1"), ":2: ", ["UTF-8", "0xe9"]),
    ("UTF-8 cut in a character", "gold", "q1 0 d 1\nq1 0 é".encode()[:-1], ":2: ", ["UTF-8"]),
    ("prose", "gold", b"Dear reader\n", ":1: ", ["'Dear reader'", "trec", "parquet", "4 columns"]),
    ("a line of 10 MB", "run", b"x" * 10_000_000, ":1: ", ["not recognised", "x…'"]),
    ("5-column run", "run", b"q1 Q0 d1 1 0.5\n", ":1: ", ["5 columns", "has 6", "add the missing column"]),
    ("7-column run", "run", RUN + b"q1 Q0 my doc 1 0.5 t\n", ":401: ", ["7 columns", "has 6", "csv or json"]),
    ("qrels where a run belongs", "run", b"q1 0 d1 1\n", ":1: ", ["4 columns", "may be the gold"]),
    ("a run where qrels belong", "gold", RUN, ":1: ", ["6 columns", "qrels have 4", "may be a run"]),
    ("3-column qrels", "gold", b"q1 d1 1\n", ":1: ", ["3 columns", "add the missing column"]),
    (
        "score of letters",
        "run",
        RUN + b"q30 Q0 d 1 abc t\n",
        ":401: ",
        ["score 'abc'", "not a number", "decimal"],
    ),
    ("grade of letters", "gold", b"q1 0 a 1\nq1 0 b yes\n", ":2: ", ["grade 'yes'", "decimal"]),
    ("score nan", "run", RUN + b"q30 Q0 d 1 nan t\n", ":401: ", ["score 'nan'", "finite"]),
    ("score inf", "run", RUN + b"q30 Q0 d 1 -inf t\n", ":401: ", ["score '-inf'", "finite"]),
    ("score 1e999", "run", RUN + b"q30 Q0 d 1 1e999 t\n", ":401: ", ["score '1e999'", "finite"]),
    ("score with underscores", "run", RUN + b"q30 Q0 d 1 1_0 t\n", ":401: ", ["score '1_0'", "not a number"]),
    (
        "duplicate in qrels",
        "gold",
        b"q1 0 a 1\nq2 0 a 1\nq1 0 a 2\n",
        ":3: ",
        ["'a'", "twice", "'q1'", "keep one"],
    ),
    ("duplicate in csv", "gold", b"query,item,grade\nq,a,1\nq,a,2\n", ":3: ", ["twice", ":2)", "keep one"]),
    ("ragged csv", "gold", b"query,item,grade\nq,a,1\nq,b\n", ":3: ", ["2 columns", "has 3", "quotes"]),
    (
        "csv without known names",
        "gold",
        b"foo,bar,baz\nq,a,1\n",
        ":1: ",
        ["no query column", "'foo'", "query_id"],
    ),
    (
        "two query columns",
        "run",
        b"qid,query_id,item,score\n1,1,a,1\n",
        ":1: ",
        ["several", "'qid'", "rename"],
    ),
    ("two equal columns", "run", b"query,query,item,score\n1,1,a,1\n", ":1: ", ["several", "rename"]),
    (
        "csv without a score",
        "run",
        b"query,item,rank\n1,a,1\n",
        ":1: ",
        ["no score column", "'rank'", "similarity"],
    ),
    (
        "gold csv where a run belongs",
        "run",
        b"query,item,grade\n1,a,1\n",
        ":1: ",
        ["no score column", "'grade'"],
    ),
    ("csv header alone", "gold", b"query,item,grade\n", ": ", ["no rows", "written completely"]),
    ("csv with an open quote", "gold", b'query,item,grade\nq,"a,1\n', ":2: ", ["CSV", "close every quote"]),
    (
        "csv with an empty id",
        "gold",
        b"query,item,grade\nq,a,1\nq,,1\n",
        ":3: ",
        ["item id is empty", "give every"],
    ),
    ("csv with a bad grade", "gold", b"query,item,grade\nq,a,1\nq,b,x\n", ":3: ", ["grade 'x'", "decimal"]),
    ("csv with nan", "gold", b"query,item,grade\nq,a,nan\n", ":2: ", ["grade 'nan'", "finite"]),
    (
        "csv with Arabic digits",
        "gold",
        "query,item,grade\nq,a,١\n".encode(),
        ":2: ",
        ["grade '١'", "decimal"],
    ),
    ("JSON syntax", "gold", b'{"q1": {"a": 1,\n "b": }}', ":2: ", ["JSON", "column 7", "repair"]),
    ("JSON cut off", "gold", b'{"q1": {"a": 1,\n', ":2: ", ["JSON", "repair"]),
    ("JSON duplicate item", "gold", b'{"q1": {"a": 1,\n "a": 2}}', ":2: ", ["'a'", "twice", "keep one"]),
    ("JSON duplicate query", "gold", b'{"q1": {"a": 1},\n\n"q1": {}}', ":3: ", ["'q1'", "twice", "keep one"]),
    ("JSON duplicate in a list", "gold", b'{"q1": ["a", "b", "a"]}', ": query 'q1', item 3: ", ["twice"]),
    ("JSON number for a query", "gold", b'{"q1": 3}', ": query 'q1': ", ["3 of type int", "list of items"]),
    ("JSON string for a query", "gold", b'{"q1": "d1"}', ": query 'q1': ", ["of type str", "list of items"]),
    ("JSON NaN", "run", b'{"q1": {\n"a": NaN}}', ":2: ", ["NaN", "finite"]),
    ("JSON 1e999", "run", b'{"q1": {"a": 1e999}}', ": query 'q1', item 1: ", ["finite"]),
    (
        "JSON huge integer",
        "run",
        b'{"q1": {"a": 1' + b"0" * 400 + b"}}",
        ": query 'q1', item 1: ",
        ["finite"],
    ),
    ("JSON absurd integer", "run", b'{"q1": {"a": ' + b"1" * 9999 + b"}}", ":1: ", ["digits"]),
    ("JSON deep nesting", "gold", b'{"a":' * 100_000, ":1: ", ["deeply", "write"]),
    ("JSON quoted grade", "gold", b'{"q1": {"a": "2"}}', ": query 'q1', item 1: ", ["'2'", "str", "int()"]),
    ("JSON bool grade", "gold", b'{"q1": {"a": true}}', ": query 'q1', item 1: ", ["bool", "real number"]),
    (
        "JSON null grade",
        "gold",
        b'{"q1": {"a": null}}',
        ": query 'q1', item 1: ",
        ["missing", "drop the row"],
    ),
    ("JSON empty id", "gold", b'{"q1": {"": 1}}', ": query 'q1', item 1: ", ["empty", "give every"]),
    ("JSON half a surrogate", "gold", b'{"q1": {"\\ud800": 1}}', ": query 'q1', item 1: ", ["surrogate"]),
    ("JSON empty map", "gold", b"{}", ": ", ["no rows"]),
    ("JSON rows", "gold", b'[["q1", "d1", 1]]', ": record 1: ", ["not a record", '"query"']),
    (
        "JSON lists of three numbers",
        "gold",
        b"[[1, 2, 3]]",
        ": ",
        ["may be a (query, item, grade) row or three items of one query", '{"0": […], "1": […]}'],
    ),
    ("JSON list of numbers", "gold", b'["a", 1]', ": record 1: ", ["not a record", '"query"']),
    (
        "JSON null id",
        "gold",
        b'[{"query": null, "item": "a", "grade": 1}]',
        ": record 1: ",
        ["missing", "id"],
    ),
    (
        "JSON float id",
        "gold",
        b'[{"query": 1.5, "item": "a", "grade": 1}]',
        ": record 1: ",
        ["float", "str("],
    ),
    ("JSON bool id", "gold", b'[{"query": true, "item": "a", "grade": 1}]', ": record 1: ", ["bool", "str("]),
    (
        "JSON broken pair",
        "run",
        b'{"q": [["a", 1], ["b"]]}',
        ": query 'q', item 2: ",
        ["pair", "write every"],
    ),
    (
        "JSON result without score",
        "run",
        b'{"q": [{"id": "a"}]}',
        ": query 'q', item 1: ",
        ["no score", "'id'"],
    ),
    (
        "JSONL bad line 3",
        "gold",
        b'{"query": 1, "item": 2, "grade": 1}\n\n{"query\n',
        ":3: ",
        ["JSON", "repair"],
    ),
    ("JSONL repeated key", "gold", b'{"qid":1,"pid":2,"rel":1}\n{"qid":1,"qid":3}\n', ":2: ", ["twice"]),
    ("JSONL number on line 2", "gold", b'{"qid":1,"pid":2,"rel":1}\n7\n', ":2: ", ["not a record", "write"]),
    (
        "JSONL without item",
        "gold",
        b'{"qid":1,"rel":1}\n{"qid":1,"rel":1}\n',
        ":1: ",
        ["no item column", "call"],
    ),
    ("JSONL duplicate", "run", b'{"qid":1,"pid":2,"score":1}\n' * 2, ":2: ", ["twice", ":1)", "keep one"]),
    ("corrupt Parquet", "gold", b"PAR1\x15\x00garbage" * 9, ": ", ["Parquet", "corrupt", "again"]),
    (
        "truncated Parquet",
        "gold",
        parquet_bytes(qid=["q"], pid=["a"], rel=[1])[:-9],
        ": ",
        ["truncated", "again"],
    ),
    (
        "Parquet without columns",
        "gold",
        parquet_bytes(foo=["q"], bar=[1]),
        ": ",
        ["no query column", "'foo'"],
    ),
    (
        "Parquet null id",
        "gold",
        parquet_bytes(qid=["q", None], pid=["a", "b"], rel=[1, 1]),
        ": row 2: ",
        ["missing"],
    ),
    (
        "Parquet nan",
        "run",
        parquet_bytes(qid=["q"], pid=["a"], score=[float("nan")]),
        ": row 1: ",
        ["finite"],
    ),
    (
        "Parquet float id",
        "gold",
        parquet_bytes(qid=[1.5], pid=["a"], rel=[1]),
        ": row 1: ",
        ["float", "str("],
    ),
    (
        "Parquet text grade",
        "gold",
        parquet_bytes(qid=["q"], pid=["a"], rel=["1"]),
        ": row 1: ",
        ["str", "int()"],
    ),
    ("Parquet bool grade", "gold", parquet_bytes(qid=["q"], pid=["a"], rel=[True]), ": row 1: ", ["bool"]),
    (
        "Parquet duplicate",
        "gold",
        parquet_bytes(qid=[1, 1], pid=[2, 2], rel=[1, 1]),
        ": row 2: ",
        ["row 1)", "keep"],
    ),
]


@pytest.mark.parametrize(("kind", "content", "place", "parts"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_bad_file_is_refused_with_place_and_remedy(
    tmp_path: Path, kind: TableKind, content: bytes, place: str, parts: list[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path, kind)
    message = str(caught.value)
    assert message.startswith(f"{path}{place}"), message
    assert all(part in message for part in parts), message
    assert caught.value.where
    assert caught.value.remedy
    assert "\n" not in message
    assert len(message) < 500


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        action()
    return str(caught.value)


def test_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "bm25.run").write_bytes(RUN)
    message = refusal(lambda: read(tmp_path / "bm52.run", "run"))
    assert message == f"{tmp_path}/bm52.run: there is no such file; did you mean '{tmp_path}/bm25.run'?"


def test_missing_folder_is_a_missing_file(tmp_path: Path) -> None:
    assert "no such file; check the path" in refusal(lambda: read(tmp_path / "no" / "run.txt", "run"))


def test_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(lambda: read(tmp_path, "run")).endswith("a folder, not a file; name a file inside it")


def test_path_with_nul_is_refused() -> None:
    assert "cannot be read" in refusal(lambda: read("a\0b", "run"))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.run"
    path.write_bytes(RUN)
    path.chmod(0)
    assert "may not be read; change its permissions" in refusal(lambda: read(path, "run"))


def test_unknown_format_name_suggests_one(tmp_path: Path) -> None:
    message = refusal(lambda: read(tmp_path / "any", "run", format="jsnol"))
    assert "no format 'jsnol'; did you mean 'jsonl'" in message


def test_text_format_named_for_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(parquet_bytes(qid=["q"], pid=["a"], rel=[1]))
    assert "this is a Parquet file; leave the format out" in refusal(lambda: read(path, "gold", format="csv"))


def test_parquet_named_for_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"q1 0 a 1\n")
    assert "Parquet file is truncated or corrupt" in refusal(lambda: read(path, "gold", format="parquet"))


def test_bad_standard_input_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q1 Q0 d1 1 0.5\n")))
    assert refusal(lambda: read("-", "run")).startswith("standard input:1: the line has 5 columns")


def columns_of(query: str, item: str) -> Columns:
    import numpy as np

    return Columns([query], np.array([0, 1]), [item], np.array([1.0]), "made here")


@pytest.mark.parametrize(
    ("name", "query", "item", "part"),
    [
        ("x.run", "a b", "d", "query id 'a b' holds white space"),
        ("x.run", "q", "a\tb", "item id 'a\\tb' holds white space"),
        ("x.run", "q", "a\u00a0b", "item id 'a\\xa0b' holds white space"),
        ("x.run.gz", "\ufeffq", "d", "starts with a byte order mark"),
        ("x.run", "q", "a\0b", "NUL"),
        ("x.csv", "q", "a\0b", "NUL"),
        ("x.tsv.zst", "q\0", "a", "NUL"),
    ],
)
def test_id_a_format_cannot_hold_is_refused_and_nothing_written(
    tmp_path: Path, name: str, query: str, item: str, part: str
) -> None:
    message = refusal(lambda: write(columns_of(query, item), tmp_path / name, "run"))
    assert part in message
    assert "json" in message
    assert list(tmp_path.iterdir()) == []


def test_query_without_items_is_refused_by_row_formats(tmp_path: Path) -> None:
    import numpy as np

    columns = Columns(["q1", "q2"], np.array([0, 1, 1]), ["a"], np.array([1.0]), "made here")
    for name in ("x.run", "x.csv", "x.tsv", "x.jsonl", "x.parquet"):
        with pytest.raises(InputError, match="'q2' has no items"):
            write(columns, tmp_path / name, "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tag", ["", "two words", "line\n"])
def test_tag_must_be_one_word(tmp_path: Path, tag: str) -> None:
    assert "not one word" in refusal(lambda: write(columns_of("q", "d"), tmp_path / "x.run", "run", tag=tag))


def test_write_into_missing_folder_is_refused(tmp_path: Path) -> None:
    message = refusal(lambda: write(columns_of("q", "d"), tmp_path / "no" / "x.run", "run"))
    assert message == f"{tmp_path}/no/x.run: the folder does not exist; create it first"


def test_write_onto_a_folder_is_refused(tmp_path: Path) -> None:
    assert "folder, not a file" in refusal(lambda: write(columns_of("q", "d"), tmp_path, "run", format="trec"))


def test_unknown_suffix_is_refused(tmp_path: Path) -> None:
    message = refusal(lambda: write(columns_of("q", "d"), tmp_path / "x.docx", "run"))
    assert "suffix '.docx' names no format; use one of .qrels, .run" in message


def test_failed_replacement_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(GoldrankError, match="No space left on device"):
        write(columns_of("q", "d"), tmp_path / "x.run", "run")
    assert list(tmp_path.iterdir()) == []
