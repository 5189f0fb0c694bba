"""BEIR folders: splits, compression, streaming, and missing or wrong parts."""

import bz2
import gzip
import json
import lzma
import os
import tracemalloc

import pytest
import zstandard

from goldrank.data.collections import Document, read_collection, records
from goldrank.data.collections.beir import read
from goldrank.errors import InputError

PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    # The largest dictionaries of xz are larger than the files of these tests.
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": bz2.compress,
}
CORPUS = [
    {"_id": "d1", "title": "Wine", "text": "Grapes – and sun.", "metadata": {}},
    {"_id": "d2", "title": "", "text": "A game."},
    {"_id": "d3", "title": "Both", "sections": [["", "Lead."], ["History", "Old."]]},
]
QUERIES = [{"_id": "q1", "text": "what is wine"}, {"_id": "q2", "text": "never judged"}]
HEADER = "query-id\tcorpus-id\tscore\n"


def jsonl(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def folder(path, corpus=None, suffix="", splits=("test",)):
    (path / "qrels").mkdir(parents=True)
    (path / f"corpus.jsonl{suffix}").write_bytes(PACK[suffix](jsonl(CORPUS) if corpus is None else corpus))
    (path / "queries.jsonl").write_bytes(jsonl(QUERIES))
    for grade, split in enumerate(splits, 1):
        (path / "qrels" / f"{split}.tsv").write_text(f"{HEADER}q1\td1\t{grade}\n")
    return path


def test_a_folder_is_read_with_all_its_queries_and_sections(tmp_path):
    collection = read_collection(folder(tmp_path / "set"))
    assert (collection.name, collection.format, collection.split, collection.splits, collection.related) == (
        "set",
        "beir",
        "test",
        ("test",),
        False,
    )
    assert list(collection.items) == [
        Document("d1", "Wine", (("", "Grapes – and sun."),)),
        Document("d2", "", (("", "A game."),)),
        Document("d3", "Both", (("", "Lead."), ("History", "Old."))),
    ]
    assert collection.queries.ids == ["q1", "q2"]
    assert (collection.gold.queries, collection.gold.items, collection.gold.values.tolist()) == (["q1"], ["d1"], [1.0])


@pytest.mark.parametrize("suffix", PACK)
def test_streaming_equals_reading_into_memory_in_every_compression(tmp_path, monkeypatch, suffix):
    path = folder(tmp_path / "set", suffix=suffix)
    in_memory = read(path)
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    streamed = read(path)
    assert (in_memory.items.streamed, streamed.items.streamed) == (False, True)
    assert list(streamed.items) == list(in_memory.items)
    assert streamed.items.ids == in_memory.items.ids
    assert streamed.checksum == in_memory.checksum


@pytest.mark.slow
@pytest.mark.parametrize("suffix", PACK)
def test_a_streamed_corpus_is_never_held(tmp_path, monkeypatch, suffix):
    corpus = jsonl({"_id": str(number), "text": os.urandom(1000).hex()} for number in range(4000))
    path = folder(tmp_path / "set", corpus, suffix)
    size = len(corpus)
    del corpus
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    collection = read(path)
    tracemalloc.start()
    assert sum(1 for _ in collection.items) == 4000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size / 2


def test_a_file_of_several_packed_parts_is_read_to_its_end(tmp_path):
    lines = jsonl(CORPUS).splitlines(keepends=True)
    for suffix in (".gz", ".zst", ".xz", ".bz2"):
        path = folder(tmp_path / suffix[1:], b"", suffix)
        (path / f"corpus.jsonl{suffix}").write_bytes(b"".join(PACK[suffix](line) for line in lines))
        assert read(path).items.ids == ["d1", "d2", "d3"]


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".xz", ".bz2"])
def test_a_truncated_corpus_is_refused_streamed_or_not(tmp_path, monkeypatch, suffix):
    path = folder(tmp_path / "set", jsonl({"_id": str(n), "text": os.urandom(40).hex()} for n in range(500)), suffix)
    file = path / f"corpus.jsonl{suffix}"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(InputError, match="is truncated or corrupt"):
        read(path)
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    with pytest.raises(InputError, match="is truncated or corrupt"):
        list(read(path).items)


def test_the_test_split_is_the_default_and_others_go_by_their_names(tmp_path):
    path = folder(tmp_path / "set", splits=("train", "dev", "test"))
    (path / "qrels" / "README.txt").write_text("Judged by three people.\n")
    assert read(path).splits == ("test", "dev", "train")
    assert [read(path, split).gold.values.tolist() for split in (None, "train", "validation")] == [[3], [1], [2]]
    with pytest.raises(InputError, match=r"there is no split 'tset'; choose 'test' or 'dev' or 'train'"):
        read(path, "tset")


def test_without_a_test_split_the_only_one_is_read(tmp_path):
    assert read(folder(tmp_path / "set", splits=("dev",))).split == "dev"


@pytest.mark.parametrize(("name", "content"), [("qrels.tsv", HEADER + "q1\td2\t2\n"), ("qrels.txt", "q1 0 d2 2\n")])
def test_qrels_may_lie_beside_the_corpus(tmp_path, name, content):
    path = folder(tmp_path / "set", splits=())
    (path / name).write_text(content)
    collection = read(path)
    assert (collection.split, collection.gold.items, collection.gold.values.tolist()) == ("test", ["d2"], [2.0])


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("corpus.jsonl", "the folder holds no corpus.jsonl"),
        ("queries.jsonl", "the folder holds no queries.jsonl"),
        ("qrels/test.tsv", r"holds corpus.jsonl and queries.jsonl but no qrels; add qrels/test.tsv"),
    ],
)
def test_a_missing_file_is_named(tmp_path, missing, message):
    path = folder(tmp_path / "set")
    (path / missing).unlink()
    with pytest.raises(InputError, match=message):
        read_collection(path)


BAD = {
    "json": (b'{"_id": "a", "text": "x"}\n{"_id": "b",\n', r"corpus.jsonl:2: this is not valid JSON"),
    "no id": (b'\n{"text": "x"}\n', r"corpus.jsonl:2: there is no id \(fields: 'text'\)"),
    "no text": (b'{"_id": "a", "year": 1}\n', r"corpus.jsonl:1: there is no text"),
    "empty id": (b'{"_id": "", "text": "x"}\n', r"corpus.jsonl:1: the document id is empty"),
    "null id": (b'{"_id": null, "text": "x"}\n', r"corpus.jsonl:1: the document id is missing"),
    "number": (b'{"_id": "a", "text": 3}\n', r"corpus.jsonl:1: the text 3 is not a string"),
    "twice": (
        b'{"_id": "a", "text": "x"}\n\n{"_id": "a", "text": "y"}\n',
        r"corpus.jsonl:3: the id 'a' is given twice \(first at .*corpus.jsonl:1\)",
    ),
    "no record": (b'{"_id": "a", "text": "x"}\n[1]\n', r"corpus.jsonl:2: \[1\] is not a record"),
    "sections": (b'{"_id": "a", "sections": "x"}\n', r"corpus.jsonl:1: the sections are 'x', not a list"),
    "section": (b'{"_id": "a", "sections": [["x"]]}\n', r"corpus.jsonl:1: the section \['x'\] is not a heading"),
    "NUL": (b'{"_id": "a", "text": "x"}\n\0\n', r"corpus.jsonl:2: this is not a text file"),
    "latin-1": (
        '{"_id": "a", "text": "é"}\n'.encode("latin-1"),
        r"corpus.jsonl:1: the text is not valid UTF-8 \(byte 0xe9",
    ),
    "UTF-16": ('{"_id": "a", "text": "x"}\n'.encode("utf-16"), r"corpus.jsonl: the text is encoded as UTF-16"),
    "binary": (bytes(range(256)) * 20, r"corpus.jsonl:1: this is not a text file"),
    "empty": (b"", r"corpus.jsonl: the file is empty"),
    "blank": (b"\n\n", r"corpus.jsonl: the file holds no texts"),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_with_its_line(tmp_path, monkeypatch, name, streamed):
    content, message = BAD[name]
    path = folder(tmp_path / "set", content)
    if streamed:
        monkeypatch.setattr(records, "STREAM_FROM", -1)
    with pytest.raises(InputError, match=message):
        _ = read(path).items.ids


def test_a_corpus_that_changes_while_it_is_used_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    path = folder(tmp_path / "set")
    collection = read(path)
    assert len(collection.items) == 3
    (path / "corpus.jsonl").write_bytes(jsonl(CORPUS[:2]))
    with pytest.raises(InputError, match="the file was changed since it was first read"):
        list(collection.items)


def test_a_byte_order_mark_is_no_part_of_the_first_record(tmp_path):
    collection = read(folder(tmp_path / "set", b"\xef\xbb\xbf" + jsonl(CORPUS)))
    assert collection.items.ids == ["d1", "d2", "d3"]


def test_a_list_of_records_spread_over_lines_is_read_too(tmp_path):
    for content in (CORPUS, {record["_id"]: {"title": "t", "text": "x"} for record in CORPUS}):
        path = folder(tmp_path / type(content).__name__, json.dumps(content, indent=1).encode())
        assert read(path).items.ids == ["d1", "d2", "d3"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".csv.gz", ".json"])
def test_corpus_queries_and_qrels_may_be_other_tables_side_by_side(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    tables = {
        "corpus": [
            {"doc_id": "d1", "title": "Wine", "text": 'Grapes, "and" sun.'},
            {"doc_id": "d2", "text": "A game."},
        ],
        "queries": [{"query_id": "q1", "question": "what is wine"}],
        "qrels": [{"query_id": "q1", "doc_id": "d1", "score": 2}],
    }
    (tmp_path / "plain").mkdir()
    (tmp_path / "set").mkdir()
    for name, rows in tables.items():
        (tmp_path / "plain" / f"{name}.jsonl").write_bytes(jsonl(rows))
        frame, file = pandas.DataFrame(rows), tmp_path / "set" / f"{name}{suffix}"
        if suffix == ".parquet":
            frame.to_parquet(file)
        elif suffix == ".json":
            frame.to_json(file, orient="records")
        else:
            frame.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")
    collection = read_collection(tmp_path / "set")
    assert collection.format == "beir"
    assert collection.checksum == read_collection(tmp_path / "plain").checksum


def test_of_two_files_of_the_corpus_the_one_that_is_read_is_said(tmp_path):
    path = folder(tmp_path / "set")
    (path / "corpus.csv").write_text("id,text\nx,y\n")
    collection = read_collection(path)
    assert (len(collection.items), collection.remarks) == (3, ["the file corpus.jsonl was read, not corpus.csv"])


def test_a_table_without_a_text_is_refused_with_its_line(tmp_path):
    (tmp_path / "corpus.csv").write_text("id,words\nx,y\n")
    (tmp_path / "queries.csv").write_text("id,text\nq,y\n")
    with pytest.raises(InputError, match=r"holds corpus\.csv and queries.csv but no qrels"):
        read_collection(tmp_path)
    (tmp_path / "qrels.csv").write_text("query_id,doc_id,score\nq,x,1\n")
    with pytest.raises(InputError, match=r"corpus.csv:2: there is no text \(fields: 'id', 'words'\)"):
        read_collection(tmp_path)
