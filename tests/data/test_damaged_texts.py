"""Every reader of collections and masked data reads damaged text files, or refuses them in one sentence.

Texts that are read in spite of the damage can be written as UTF-8.
"""

import csv
import io
import json
import sys

import pytest

from goldrank.data.collections import read_collection
from goldrank.errors import InputError
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.examples.pages import read_pages
from goldrank.masked.names.aliases import read_aliases
from goldrank.masked.predictions.files import prediction_batches, read_predictions


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def table(*rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


STARS = "*" * 44
COLLECTIONS = {
    "beir": {
        "corpus.jsonl": jsonl(
            {"_id": "d1", "title": "Wine", "text": "Grapes and sun."}, {"_id": "d2", "text": "A game."}
        ),
        "queries.jsonl": jsonl({"_id": "q1", "text": "what is wine"}),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
    },
    "articles": {
        "test.jsonl": jsonl(
            {"id": "a", "title": "Wine", "sections": [["", "Grapes."]], "labels": [{"id": "b", "text": "Must"}]},
            {"id": "b", "title": "Must", "sections": [["", "Juice."]], "labels": []},
        )
    },
    "smart": {
        "cran.all": ".I 1\n.T\nwings\n.W\nwings in flow\n.I 2\n.W\nheat\n",
        "cran.qry": ".I 1\n.W\nwhat flows\n",
        "cranqrel": "1 1 2\n1 2 1\n",
    },
    "smart (TIME)": {"TIME.ALL": "*TEXT 017\n\nALLIES\n*STOP\n", "TIME.QUE": "*FIND 1\n\nWHO\n", "TIME.REL": "1 1\n"},
    "smart (NPL)": {"doc-text": "1\nwaves\n   /\n", "query-text": "1\nWAVES\n/\n", "rlv-ass": "1\n 1\n /\n"},
    "smart (LISA)": {
        "LISA0.001": f"Document 1\nTITLE\n\nTEXT\n{STARS}\n",
        "LISA.QUE": "1\nI AM INTERESTED #\n",
        "LISA.REL": "Query 1\n1 Relevant Refs:\n1 -1\n",
    },
    "wiki": {
        "wines.txt": table(("Title", "Sections"), ("Wine", '[["", "Grapes."]]'), ("Must", '[["", "Juice."]]')),
        "wines_gold.json": json.dumps({"Wine": {"Must": 1}}),
    },
    "trec": {
        "docs/a.trec": "<DOC>\n<DOCNO>d1</DOCNO>\n<TEXT>Grapes and sun.</TEXT>\n</DOC>\n",
        "topics.301": "<top>\n<num> Number: 301\n<title> crime\n</top>\n",
        "qrels.txt": "301 0 d1 1\n",
    },
    "evalrank": {"pairs.tsv": "a b\tc d\n", "background.txt": "e f\ng h\n"},
    "pairs": {"faq.csv": "query,item,grade\nwhat is wine,grapes,2\nwho plays,games,1\n"},
}
# Old collections are latin-1, and their readers say so in a remark.
LATIN = ("smart", "trec", "evalrank")
CHUNK = {"id": 7, "sequence_number": 0, "title": "Lise Meitner", "texts": "<mask> met Otto.", "masks": ["Lise"]}
PAGE = {"id": 7, "title": "Lise Meitner", "text": "Lise Meitner was a physicist.", "names": ["Lise"], "views": 3}
PREDICTION = {"id": 7, "sequence_number": 0, "mask": 0, "title": "Lise Meitner", "predictions": ["Lise"], "scores": [1]}
MASKED = {
    "chunks": (jsonl(CHUNK, {**CHUNK, "id": 8}), "data.jsonl", read_chunks),
    "pages": (jsonl(PAGE, {**PAGE, "id": 8}), "pages.jsonl", read_pages),
    "pages as JSON": (json.dumps([PAGE, {**PAGE, "id": 8}]), "pages.json", read_pages),
    "pages as CSV": (table(("id", "title", "text"), (7, "Lise Meitner", "Lise met Otto.")), "pages.csv", read_pages),
    "a page": ("Lise Meitner met Otto.", "folder/Lise_Meitner.txt", lambda path: read_pages(path.parent)),
    "predictions": (jsonl(PREDICTION), "predictions.jsonl", read_predictions),
    "predictions as batches": (jsonl(PREDICTION), "predictions.jsonl", prediction_batches),
    "predictions as CSV": (
        table(("id", "mask", "title", "predictions", "scores"), (7, 0, "Lise Meitner", '["Lise"]', "[1]")),
        "predictions.csv",
        read_predictions,
    ),
    "aliases as JSON": (json.dumps({"Lise Meitner": ["Lise"]}), "aliases.json", read_aliases),
    "aliases as JSON Lines": (jsonl({"title": "Lise Meitner", "alias": "Lise"}), "aliases.jsonl", read_aliases),
    "aliases as CSV": (table(("title", "alias"), ("Lise Meitner", "Lise")), "aliases.csv", read_aliases),
}


def middle(data, inserted):
    positions = [position for position in range(len(data)) if chr(data[position]).isalnum()]
    position = positions[len(positions) // 2]
    return data[:position] + inserted + data[position:]


def in_string(data, inserted):
    """Return the data with bytes inserted into the last string of the file, or in the middle if it has no string."""
    end = data.rfind(b'"')
    return data[:end] + inserted + data[end:] if end >= 0 else middle(data, inserted)


NO_TEXT = {
    "latin-1": lambda data: middle(data, b"caf\xe9"),
    "latin-1 at the end": lambda data: data + b"\xe9",
    "a cut character": lambda data: in_string(data, "é".encode()[:1]),
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-16 without a mark": lambda data: data.decode().encode("utf-16-le"),
    "UTF-32": lambda data: data.decode().encode("utf-32"),
    "a NUL": lambda data: middle(data, b"\0"),
    "NULs at the end": lambda data: data + b"\0" * 512,
    "a surrogate in UTF-8": lambda data: middle(data, b"\xed\xa0\x80"),
}
OTHERS = {
    "empty": lambda _: b"",
    "white space": lambda _: b" \n\t\n",
    "half": lambda data: data[: len(data) // 2],
    "without its end": lambda data: data.rstrip()[:-1],
    "half a surrogate pair": lambda data: in_string(data, rb"\ud800"),
    "the other half": lambda data: in_string(data, rb"x\uDC00y"),
    "a surrogate as Python writes it": lambda data: in_string(data, rb"\U0000d800"),
    "nested too deeply": lambda _: b"[" * 200_000,
    "objects nested too deeply": lambda _: b'{"id":' * 100_000,
    "nested deeply": lambda data: data.replace(b'"views": 3', b'"views": ' + b"[" * 900 + b"]" * 900),
    "a nested text": lambda data: in_string(data, b'", "x": ' + b"[" * 300 + b"]" * 300 + b', "y": "'),
    "a number of 5,000 digits": lambda data: data.replace(b"7", b"7" * 5_000).replace(b"1", b"1" * 5_000),
    "a number of 4,000 digits": lambda data: data.replace(b"7", b"7" * 4_000).replace(b"1", b"1" * 4_000),
    "a negative number": lambda data: data.replace(b"7", b"-7").replace(b"1", b"-1"),
    "no number": lambda data: data.replace(b"7", b"NaN").replace(b"1", b"Infinity"),
    "numbers as floats": lambda data: data.replace(b"7", b"7e400").replace(b"1", b"1.5"),
    "control characters": lambda data: middle(data, b"\x1b[31m\x07\x1a"),
    "lines of Windows and a mark": lambda data: b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"),
    "no line ends": lambda data: data.replace(b"\n", b" "),
    "old line ends": lambda data: data.replace(b"\n", b"\r"),
    "another format": lambda _: b"PK\x03\x04 not text",
}
DAMAGES = {**NO_TEXT, **OTHERS}


def consume(read):
    """Read everything and check that it can be encoded; return the error message if it is refused, else None."""
    refused = None
    try:
        "\n".join(read()).encode()
    except InputError as error:
        refused = error
    if refused is None:
        return None
    message = str(refused)
    assert refused.remedy, message
    assert "\n" not in message
    assert len(message) < 1_500
    message.encode()
    return message


def texts_of_collection(path, format):
    collection = read_collection(path, format=format)
    texts = [*collection.remarks, *collection.gold.queries, *collection.gold.items]
    for documents in (collection.items, collection.queries):
        for document in documents:
            texts += [document.id, document.title, *(part for section in document.sections for part in section)]
    return texts


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in (*value, *value.values()):
            yield from strings(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from strings(part)
    elif hasattr(value, "__dataclass_fields__"):
        yield from strings(vars(value))
    elif hasattr(value, "to_pylist"):
        yield from strings(value.to_pylist())


def write_collection(folder, files, damaged="", damage=None):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(damage(content.encode()) if name == damaged else content.encode())
    return folder / next(iter(files)) if len(files) == 1 else folder


@pytest.mark.parametrize("layout", COLLECTIONS)
def test_the_whole_collections_are_read(tmp_path, layout):
    path = write_collection(tmp_path, COLLECTIONS[layout])
    assert consume(lambda: texts_of_collection(path, None)) is None


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    ("layout", "file"), [(layout, file) for layout, files in COLLECTIONS.items() for file in files]
)
def test_a_damaged_collection_is_read_or_refused(tmp_path, layout, file, damage):
    path = write_collection(tmp_path, COLLECTIONS[layout], file, DAMAGES[damage])
    format = layout.partition(" ")[0]
    messages = [
        consume(lambda given_format=given_format: texts_of_collection(path, given_format))
        for given_format in (format, None)
    ]
    if damage in NO_TEXT and not (format in LATIN and damage not in ("a NUL", "NULs at the end")):
        assert all(messages), damage
        assert any(str(tmp_path) in message for message in messages)


@pytest.mark.parametrize("kind", MASKED)
def test_whole_masked_data_is_read(tmp_path, kind):
    content, name, read = MASKED[kind]
    path = write_collection(tmp_path, {name: content})
    assert consume(lambda: [*strings(_listed(read(path)))]) is None


def _listed(content):
    return content if isinstance(content, dict) else list(content)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", MASKED)
def test_damaged_masked_data_is_read_or_refused(tmp_path, kind, damage):
    content, name, read = MASKED[kind]
    path = write_collection(tmp_path, {name: content}, name, DAMAGES[damage])
    message = consume(lambda: [*strings(_listed(read(path)))])
    if damage in NO_TEXT:
        assert message, damage
        assert str(path) in message


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["chunks", "pages"])
def test_damaged_standard_input_is_read_or_refused(monkeypatch, kind, damage):
    content, _, read = MASKED[kind]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DAMAGES[damage](content.encode()))))
    message = consume(lambda: [*strings(_listed(read("-")))])
    if damage in NO_TEXT:
        assert "standard input" in message
