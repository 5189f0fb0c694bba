"""Recognition of layouts: each collection is read by the right reader, and other files by none."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import READERS, read_collection
from goldrank.errors import InputError

RECORD = '{"id": "d1", "text": "Grapes.", "labels": ["d2"]}\n'
LAYOUTS = {
    "beir": {
        "corpus.jsonl": '{"_id": "d1", "text": "x"}\n',
        "queries.jsonl": '{"_id": "q1", "text": "x"}\n',
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
        "README.md": "text",
    },
    "smart": {"x.all": ".I 1\n.W\nx\n", "x.qry": ".I 1\n.W\nx\n", "x.rel": "1 1 1\n", "README": "text"},
    "articles": {"test.jsonl": RECORD, "train.jsonl": RECORD, "README.md": "text"},
    "trec": {
        "docs/a.sgml": "<DOC><DOCNO>d1</DOCNO><TEXT>x</TEXT></DOC>\n",
        "topics.txt": "<top><num>1<title>x</top>",
        "qrels": "1 0 d1 1\n",
    },
    "pairs": {"test.csv": "query,item\na,b\n"},
}
LOCAL = [name for name in READERS if name not in ("ir_datasets", "hub")]
NEARLY = {
    "corpus without qrels": ({"corpus.jsonl": RECORD, "queries.jsonl": RECORD}, "but no qrels"),
    "corpus alone": ({"corpus.jsonl": RECORD}, "holds no queries.jsonl"),
    "qrels without a corpus": ({"queries.jsonl": RECORD, "qrels/test.tsv": "x"}, "holds no corpus.jsonl"),
    "documents alone": ({"a.sgml": LAYOUTS["trec"]["docs/a.sgml"]}, "holds no topics"),
    "SMART documents alone": ({"x.all": ".I 1\n.W\nx\n"}, "none of queries"),
}
NOTHING = {
    "empty": {},
    "data": {"notes.dat": "nothing to rank\n"},
    "python": {"a.py": "print(1)\n", "b/c.py": "print(2)\n"},
    "judgments": {"judgments.json": json.dumps({"q1": {"d1": 1}})},
    "hidden": {".corpus.jsonl": RECORD},
}


def fill(path, files):
    path.mkdir()
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return path


def attempt(path, format):
    try:
        return read_collection(path, format=format)
    except InputError as error:
        return error


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_read_by_its_reader_and_claimed_by_no_earlier_one(tmp_path, name):
    path = fill(tmp_path / "x", LAYOUTS[name])
    collection = read_collection(path)
    assert (collection.format, collection.source) == (name, str(path))
    assert next(reader for reader in LOCAL if READERS[reader].matches(path)) == name
    assert read_collection(str(path), format=name).checksum == collection.checksum


@pytest.mark.parametrize("name", LAYOUTS)
def test_packed_files_are_recognised_too(tmp_path, name):
    collection = read_collection(fill(tmp_path / "plain", LAYOUTS[name]))
    path = tmp_path / "packed"
    for file, content in LAYOUTS[name].items():
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / f"{file}.gz").write_bytes(gzip.compress(content.encode()))
    assert read_collection(path).checksum == collection.checksum


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_nearly_a_collection_is_told_what_is_missing(tmp_path, name):
    files, message = NEARLY[name]
    with pytest.raises(InputError, match=message):
        read_collection(fill(tmp_path / "x", files))


@pytest.mark.parametrize("name", NOTHING)
def test_a_folder_that_is_nothing_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="this is not a collection that goldrank can read"):
        read_collection(fill(tmp_path / "x", NOTHING[name]))


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file or folder"):
        read_collection(tmp_path / "none")
    for path in (tmp_path / "none", tmp_path / ("long" * 500), tmp_path / "long.csv" / ("long.csv" * 500)):
        assert not any(READERS[name].matches(path) for name in LAYOUTS)


def test_an_unknown_format_names_the_nearest(tmp_path):
    with pytest.raises(InputError, match="did you mean 'beir'"):
        read_collection(tmp_path, format="beri")


@given(st.binary(max_size=300))
def test_whatever_bytes_a_folder_holds_it_is_read_or_refused(tmp_path_factory, data):
    names = ("corpus.jsonl", "x.all", "test.jsonl", "test.parquet", "docs.sgml", "test.csv", "x.json", "x.gz", "qrels")
    path = tmp_path_factory.mktemp("bytes")
    for name in names:
        folder = path / f"only-{name}"
        folder.mkdir()
        (folder / name).write_bytes(data)
        for place in (folder, folder / name):
            with pytest.raises(InputError):
                read_collection(place)


@given(st.data())
def test_a_damaged_file_is_read_or_refused_and_nothing_else(tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(LAYOUTS)))
    path = fill(tmp_path_factory.mktemp("damaged") / "x", LAYOUTS[name])
    file = path / data.draw(st.sampled_from(sorted(LAYOUTS[name])))
    content = file.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    file.write_bytes(content[:start] + data.draw(st.binary(max_size=4)) + content[end:])
    for format in (None, name):
        outcome = attempt(path, format)
        if isinstance(outcome, InputError):
            assert outcome.where
            assert outcome.remedy
        else:
            assert len(outcome.items) == len(list(outcome.items)) > 0


@pytest.mark.parametrize("start", [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh91AY&SY", b"PAR1\x15"])
def test_a_broken_packed_file_is_matched_or_not_but_never_raises_in_the_look(tmp_path, start):
    for name in ("test.jsonl.gz", "x.all", "corpus.jsonl.gz", "a.sgml"):
        (tmp_path / name).write_bytes(start + b"garbage" * 20)
    for reader in LOCAL:
        assert READERS[reader].matches(tmp_path) in (True, False)
        assert READERS[reader].matches(Path(tmp_path) / "x.all") in (True, False)
