"""Texts with ids: all formats read alike, and errors name their line."""

import gzip
import io
import json

import pytest

from goldrank.data.texts import beir_file, read_texts
from goldrank.errors import InputError

IDS, TEXTS = ["d1", "d2"], ["Bach wrote fugues", "Curie, twice a laureate"]
RECORDS = [{"_id": "d1", "title": "Bach", "text": "wrote fugues"}, {"_id": "d2", "title": "", "text": TEXTS[1]}]
SAME = {
    "corpus.jsonl": "".join(json.dumps(record) + "\n" for record in RECORDS),
    "corpus.json": json.dumps(RECORDS, indent=1),
    "one_line.json": json.dumps(RECORDS),
    "map.json": json.dumps(dict(zip(IDS, TEXTS, strict=True))),
    "records.json": json.dumps({r["_id"]: {"title": r["title"], "text": r["text"]} for r in RECORDS}),
    "headed.csv": 'docid,title,text\nd1,Bach,wrote fugues\nd2,,"Curie, twice a laureate"\n',
    "bare.csv": 'd1,Bach wrote fugues\nd2,"Curie, twice a laureate"\n',
    "bare.tsv": "d1\tBach wrote fugues\nd2\tCurie, twice a laureate\n",
    "headed.txt": "id\ttext\nd1\tBach wrote fugues\nd2\tCurie, twice a laureate\n",
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_texts(tmp_path, name, packed):
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(SAME[name].encode()) if packed else SAME[name].encode())
    texts = read_texts(path)
    assert (texts.ids, texts.texts, texts.empty) == (IDS, TEXTS, 0)


def test_parquet_gives_the_same_texts(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": TEXTS, "id": IDS, "year": [1, 2]}), out)
    (tmp_path / "corpus.parquet").write_bytes(out.getvalue())
    assert read_texts(tmp_path / "corpus.parquet").texts == TEXTS
    (tmp_path / "cut.parquet").write_bytes(out.getvalue()[:60])
    with pytest.raises(InputError, match=r"cut.parquet: the Parquet file is truncated or corrupt"):
        read_texts(tmp_path / "cut.parquet")


def test_plain_lines_are_numbered_from_one_and_empty_ones_counted(tmp_path):
    (tmp_path / "lines.txt").write_text("first, with a comma\n\n{third}\r\n")
    texts = read_texts(tmp_path / "lines.txt")
    assert (texts.ids, texts.texts, texts.empty) == (["1", "2", "3"], ["first, with a comma", "", "{third}"], 1)


def test_a_beir_folder_is_read_by_its_corpus(tmp_path):
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(SAME["corpus.jsonl"].encode()))
    assert read_texts(tmp_path).ids == IDS
    with pytest.raises(InputError, match=r"the folder holds no qrels/test.tsv or qrels.tsv"):
        beir_file(tmp_path, "qrels/test.tsv", "qrels.tsv")


def test_integer_ids_become_strings_and_a_null_text_is_empty(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"id": 7, "text": null}\n{"id": 8, "text": "a"}\n')
    texts = read_texts(tmp_path / "x.jsonl")
    assert (texts.ids, texts.texts, texts.empty) == (["7", "8"], ["", "a"], 1)


BAD = {
    "twice.jsonl": (
        '{"id":"a","text":"x"}\n\n{"id":"a","text":"y"}\n',
        r"twice.jsonl:3: the id 'a' is given .*first at .*:1\)",
    ),
    "noid.jsonl": ('{"text":"x"}\n{"text":"y"}\n', r"noid.jsonl:1: there is no id \(fields: 'text'\)"),
    "notext.jsonl": ('{"id":"x","n":1}\n{"id":"y"}\n', r"notext.jsonl:1: there is no text"),
    "number.jsonl": ('{"id":"x","text":"t"}\n{"id":"y","text":3}\n', r"number.jsonl:2: the text 3 is not a string"),
    "broken.jsonl": ('{"id":"x","text":"t"}\n{"id":"y",}\n', r"broken.jsonl:2: this is not valid JSON"),
    "emptyid.jsonl": ('{"id":"","text":"t"}\n{"id":"y","text":"u"}\n', r"emptyid.jsonl:1: the document id is empty"),
    "list.json": ('["a", "b"]', r"list.json: record 1: 'a' is not a record"),
    "ragged.csv": ("id,text\na,b\nc,d,e\n", r"ragged.csv:3: the row has 3 columns"),
    "header.csv": ("a,b,c\n1,2,3\n", r"header.csv:1: there is no id"),
    "none.csv": ("id,text\n", r"none.csv: the file holds no texts"),
    "void.txt": ("", r"void.txt: the file is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_their_place(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_texts(tmp_path / name)
