"""TREC collections: documents in many files, old and new topics, qrels by split, and broken tags."""

import gzip

import pytest

from goldrank.data.collections import Document, read_collection, records
from goldrank.data.collections.trec_topics import read
from goldrank.errors import InputError

DOCS = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<HEADLINE>Wine &amp; must</HEADLINE>
<TEXT>
Grapes <b>and</b>
sun.
</TEXT>
</DOC>
<DOC><DOCNO>FT911-2</DOCNO><DATE>1</DATE><TEXT>One.</TEXT><TEXT>Two.</TEXT></DOC> <DOC><DOCNO>FT911-3</DOCNO>
<TEXT></TEXT>
</DOC>
"""
MORE = "<DOC>\n<DOCNO>LA-1</DOCNO>\n<P>No text tag.</P>\n</DOC>\n"
TOPICS = """
<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that
participate, x < 5.

<narr> Narrative:
A relevant document must.
</top>
<top>
<num>Number: 051 </num>
<title>Topic: closed tags</title>
</top>
"""
QRELS = "301 0 FT911-1 2\n51 0 LA-1 1\n301 0 FT911-9 0\n"


def folder(path, docs=DOCS, topics=TOPICS, qrels=QRELS):
    (path / "docs" / "deep").mkdir(parents=True)
    (path / "docs" / "ft.trec").write_bytes(docs if isinstance(docs, bytes) else docs.encode())
    (path / "docs" / "deep" / "la.sgml.gz").write_bytes(gzip.compress(MORE.encode()))
    (path / "topics.301").write_text(topics)
    (path / "qrels.txt").write_text(qrels)
    return path


def test_documents_topics_and_qrels_are_read(tmp_path):
    collection = read_collection(folder(tmp_path / "trec"))
    assert (collection.format, collection.name, collection.split) == ("trec", "trec", "test")
    assert sorted(collection.items, key=lambda document: document.id) == [
        Document.plain("FT911-1", "Grapes and sun.", "Wine & must"),
        Document.plain("FT911-2", "One. Two."),
        Document("FT911-3"),
        Document.plain("LA-1", "No text tag."),
    ]
    assert list(collection.queries) == [
        Document(
            "301",
            "International Organized Crime",
            (
                ("description", "Identify organizations that participate, x < 5."),
                ("narrative", "A relevant document must."),
            ),
        ),
        Document("51", "closed tags"),
    ]
    assert collection.gold.queries == ["301", "51"]
    assert collection.remarks == [
        "a query is the title of its topic; description and narrative are kept and not used",
        "1 topic lost the leading zeros of the number, as in the qrels",
    ]


def test_streamed_documents_are_the_same(tmp_path, monkeypatch):
    path = folder(tmp_path / "trec")
    in_memory = read(path)
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    streamed = read(path)
    assert (in_memory.items.streamed, streamed.items.streamed) == (False, True)
    assert streamed.checksum == in_memory.checksum
    assert list(streamed.items) == list(streamed.items)


def test_latin_1_is_read_with_a_remark(tmp_path):
    collection = read(folder(tmp_path / "trec", DOCS.replace("sun", "août").encode("latin-1")))
    assert "Grapes and août." in [document.text for document in collection.items]
    assert "1 file not in UTF-8, read as latin-1 (the first is ft.trec)" in collection.remarks


def test_several_qrels_are_splits(tmp_path):
    path = folder(tmp_path / "trec")
    (path / "qrels.txt").rename(path / "qrels.test.txt")
    (path / "qrels.train.txt").write_text("51 0 LA-1 1\n")
    assert (read(path).split, read(path).splits) == ("test", ("test", "train"))
    assert read(path, "train").gold.queries == ["51"]
    (path / "qrels.test.txt").rename(path / "qrels.adhoc.txt")
    with pytest.raises(InputError, match=r"there are several qrels; choose one as the split: qrels.adhoc.txt, train"):
        read(path)


@pytest.mark.parametrize(("missing", "kind"), [("topics.301", "topics"), ("qrels.txt", "qrels")])
def test_a_missing_file_is_named(tmp_path, missing, kind):
    path = folder(tmp_path / "trec")
    (path / missing).unlink()
    with pytest.raises(InputError, match=f"the folder holds no {kind}"):
        read_collection(path)


def test_topics_without_documents_are_refused(tmp_path):
    (tmp_path / "topics").write_text(TOPICS)
    (tmp_path / "qrels").write_text(QRELS)
    with pytest.raises(InputError, match="the folder holds no documents"):
        read_collection(tmp_path)


BAD = {
    "no number": ({"docs": "\n<DOC>\n<TEXT>x</TEXT></DOC>\n"}, r"ft.trec:2: the document has no <DOCNO>"),
    "open": ({"docs": DOCS + "<DOC>\n<DOCNO>x</DOCNO>"}, r"ft.trec:12: the document has no </DOC>"),
    "twice": ({"docs": DOCS + DOCS[:60] + "</DOC>"}, r"ft.trec:12: the id 'FT911-1' is given twice \(first at .*:1\)"),
    "NUL": ({"docs": DOCS + "\0"}, r"ft.trec:12: this is not a text file"),
    "topic": ({"topics": "<top>\n<title> x\n</top>"}, r"topics.301:1: the topic has no <num>"),
    "topic twice": ({"topics": TOPICS + TOPICS}, r"topics.301:18: the id '301' is given twice \(first at .*:2\)"),
    "open topic": ({"topics": "<top>\n<num> 1\n"}, r"topics.301: no topic is complete"),
    "qrels": ({"qrels": "301 0 FT911-1 x\n"}, r"qrels.txt:1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_with_its_line(tmp_path, name):
    changed, message = BAD[name]
    with pytest.raises(InputError, match=message):
        read(folder(tmp_path / "trec", **changed))
