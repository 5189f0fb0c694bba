"""NPL and LISA, which have record marks of their own: small files of the same layout, and malformed files."""

import gzip

import pytest

from goldrank.data.collections import Document, read_collection
from goldrank.data.collections.smart import matches, read
from goldrank.errors import InputError

STARS = "*" * 44 + "\n"
NPL = {
    "doc-text": "1\nwaves  in\nplasma\n   /\n2\nantenna 12 / 3 design\n   /\n10\nnoise\n   /\n",
    "doc-vecs": " 1     3     5     7\n  101   109 /\n 2     4 /\n",
    "query-text": "1\nWAVES IN PLASMA\n/\n2\nANTENNAS\n/\n",
    "query-vecs": "  1  1  10\n  309 /\n",
    "rlv-ass": "1\n    1    10\n    2\n   /\n2\n    2\n   /\n",
    "term-vocab": "1\n" + "ABSORB\n" * 50 + "/\n",
    "README": "The NPL collection\n",
}
LISA = {
    "LISA0.001": "Document    1\nLIBRARIES IN\nSWEDEN.\n     \nTEXT  OF ONE.\nMORE.\n"
    + STARS
    + "Document    2\nTITLE ALONE.\n"
    + STARS,
    "LISA5.850": "Document 5850\nONLINE SEARCHING.\n\nDESCRIBES\n\nDocument 7 AND MORE.\n" + STARS + "\x1a",
    "LISA.QUE": "1\nI AM INTERESTED IN LIBRARIES\nIN SWEDEN. #\n2\nC# AND ONLINE SEARCHING. #\n",
    "LISA.REL": "\nQuery 1\n2 Relevant Refs:\n1 2 -1\n\nQuery 2\n1 Relevant Refs:\n5850 -1\n",
    "LISARJ.NUM": "           1           2           1   \n           2\n           2           1        5850\n",
    "README": "LISA, 1982\n",
}


def folder(path, files, **changed):
    path.mkdir(exist_ok=True)
    changed = {name.replace("__", "-").replace("_", "."): content for name, content in changed.items()}
    for name, content in {**files, **changed}.items():
        if content is not None:
            (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(columns):
    bounds = columns.starts.tolist()
    return {
        query: set(columns.items[start:end])
        for query, start, end in zip(columns.queries, bounds[:-1], bounds[1:], strict=True)
    }


def test_npl_is_recognised_and_read_with_its_white_space(tmp_path):
    collection = read_collection(folder(tmp_path / "npl", NPL))
    assert (collection.name, collection.format) == ("npl", "smart")
    assert list(collection.items) == [
        Document.plain("1", "waves  in\nplasma"),
        Document.plain("2", "antenna 12 / 3 design"),
        Document.plain("10", "noise"),
    ]
    assert [(query.id, query.text) for query in collection.queries] == [("1", "WAVES IN PLASMA"), ("2", "ANTENNAS")]
    assert rows(collection.gold) == {"1": {"1", "2", "10"}, "2": {"2"}}
    assert set(collection.gold.values.tolist()) == {1.0}
    assert collection.remarks == ["rlv-ass gives no grades: what it lists has grade 1"]


def test_lisa_is_recognised_and_read_from_all_of_its_files(tmp_path):
    collection = read_collection(folder(tmp_path / "lisa", LISA))
    assert (collection.name, collection.format) == ("lisa", "smart")
    assert list(collection.items) == [
        Document.plain("1", "TEXT  OF ONE.\nMORE.", "LIBRARIES IN\nSWEDEN."),
        Document.plain("2", "", "TITLE ALONE."),
        Document.plain("5850", "DESCRIBES\n\nDocument 7 AND MORE.", "ONLINE SEARCHING."),
    ]
    assert [(query.id, query.text) for query in collection.queries] == [
        ("1", "I AM INTERESTED IN LIBRARIES\nIN SWEDEN."),
        ("2", "C# AND ONLINE SEARCHING."),
    ]
    assert rows(collection.gold) == {"1": {"1", "2"}, "2": {"5850"}}
    assert collection.remarks == ["LISARJ.NUM gives no grades: what it lists has grade 1"]


@pytest.mark.parametrize("missing", ["LISA.REL", "LISARJ.NUM"])
def test_lisa_is_read_with_either_file_of_judgments(tmp_path, missing):
    collection = read_collection(folder(tmp_path / "lisa", {**LISA, missing: None}))
    assert rows(collection.gold) == {"1": {"1", "2"}, "2": {"5850"}}


def test_judgments_of_lisa_that_differ_are_told(tmp_path):
    collection = read(
        folder(
            tmp_path / "lisa", LISA, LISA_REL="Query 1\n2 Relevant Refs:\n1 -1\nQuery 2\n1 Relevant Refs:\n5850 -1\n"
        )
    )
    assert rows(collection.gold)["1"] == {"1", "2"}
    assert "LISA.REL has other judgments of 1 query than LISARJ.NUM, which is used" in collection.remarks
    collection = read(folder(tmp_path / "lisa", {"LISARJ.NUM": "0"}))
    assert "1 query of LISA.REL list another number of documents than said" in collection.remarks


def test_a_document_of_lisa_that_is_given_twice_counts_once(tmp_path):
    again = LISA["LISA0.001"] + "Document    2\nANOTHER.\n" + STARS
    collection = read(folder(tmp_path / "lisa", LISA, LISA0_001=again))
    assert [document.title for document in collection.items if document.id == "2"] == ["TITLE ALONE."]
    assert "1 document with the number of an earlier one left out, 1 of them with another text" in collection.remarks
    same = read(folder(tmp_path / "same", {**LISA, "LISA0.501": LISA["LISA0.001"]}))
    assert "2 documents with the number of an earlier one left out, with the same text" in same.remarks


@pytest.mark.parametrize("files", [NPL, LISA], ids=["npl", "lisa"])
def test_line_ends_and_compression_change_nothing(tmp_path, files):
    plain = read(folder(tmp_path / "plain", files))
    packed = {f"{name}.gz": gzip.compress(text.replace("\n", "\r\n").encode()) for name, text in files.items()}
    assert read(folder(tmp_path / "packed", packed)).checksum == plain.checksum


def test_a_file_that_ends_inside_of_a_text_is_read_with_a_remark(tmp_path):
    collection = read(
        folder(tmp_path / "npl", {**NPL, "doc-text": "1\nwaves\n   /\n2\nantenna\n", "rlv-ass": "1\n1 2\n/\n"})
    )
    assert [document.text for document in collection.items] == ["waves", "antenna"]
    assert "doc-text ends inside of a text; it may be incomplete" in collection.remarks
    collection = read(
        folder(tmp_path / "lisa", LISA, LISA5_850="Document 5850\nONLINE.\n\nDESCRI", LISA_QUE="1\nA #\n2\nB")
    )
    assert [document.text for document in collection.items][-1] == "DESCRI"
    assert [query.text for query in collection.queries] == ["A", "B"]
    assert {
        "lisa ends inside of a text; it may be incomplete",
        "LISA.QUE ends inside of a text; it may be incomplete",
    } <= {*collection.remarks}


def test_latin_1_is_read_with_a_remark(tmp_path):
    collection = read(folder(tmp_path / "npl", {**NPL, "doc-text": "1\nécoulement\n/\n".encode("latin-1")}))
    assert next(iter(collection.items)).text == "écoulement"
    assert "doc-text is not UTF-8 and was read as latin-1" in collection.remarks


@pytest.mark.parametrize(
    ("files", "missing", "what"),
    [
        (NPL, "query-text", "none of queries"),
        (NPL, "rlv-ass", "none of judgments"),
        (LISA, "LISA.QUE", "none of queries"),
    ],
)
def test_a_missing_file_is_named(tmp_path, files, missing, what):
    with pytest.raises(InputError, match=what):
        read_collection(folder(tmp_path / "data", {**files, missing: None}))


def test_lisa_without_judgments_is_refused(tmp_path):
    with pytest.raises(InputError, match="none of judgments"):
        read(folder(tmp_path / "lisa", {**LISA, "LISA.REL": None, "LISARJ.NUM": None}))


WRONG = {
    "text for a number": (
        NPL,
        "doc-text",
        "1\na\n/\nno number\nb\n/\n",
        "doc-text:4: 'no number' stands where the number",
    ),
    "a number twice": (NPL, "doc-text", "1\na\n/\n01\nb\n/\n", "doc-text:4: .*'1'"),
    "a query twice": (NPL, "query-text", "1\na\n/\n1\nb\n/\n", "query-text:4: .*'1'"),
    "words in judgments": (NPL, "rlv-ass", "1\n2 3\n/\n2\nx\n/\n", "rlv-ass:5: 'x' is neither a number nor a slash"),
    "other digits": (NPL, "rlv-ass", "1\n2 3\n/\n2\n²\n/\n", "rlv-ass:5: '²' is neither"),
    "text between documents": (LISA, "LISA0.001", "Document 1\nA\n" + STARS + "B\n", "LISA0.001:4: 'B' stands between"),
    "text for a query": (LISA, "LISA.QUE", "1\nA #\nB\n", "LISA.QUE:3: 'B' stands where the number of a text"),
    "a LISA query twice": (LISA, "LISA.QUE", "1\nA #\n1\nB #\n", "LISA.QUE:3: .*'1'"),
    "too few numbers": (LISA, "LISARJ.NUM", "1 2 1 2\n2 9 5\n", "LISARJ.NUM:2: query '2' has 1 documents where 9"),
    "no count": (LISA, "LISARJ.NUM", "1 2 1 2\n2\n", "LISARJ.NUM:2: query '2' has 0 documents where a number"),
    "a word among numbers": (LISA, "LISARJ.NUM", "1 2 1 2\n2 1 x\n", "LISARJ.NUM:2: 'x' is not the number"),
    "a huge count": (LISA, "LISARJ.NUM", "1 1 1\n2 " + "9" * 5000, "LISARJ.NUM:2: .* is not the number"),
    "documents of no query": (
        LISA,
        "LISA.REL",
        "Query 1\n1 Relevant Refs:\n1 -1\n2\n",
        "LISA.REL:4: '2' is not a document",
    ),
    "a NUL": (LISA, "LISA0.001", "Document 1\nA\0\n" + STARS, "LISA0.001:2: this is not a text file"),
    "UTF-16": (NPL, "rlv-ass", "1\n2\n/\n".encode("utf-16"), "none of judgments"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_line(tmp_path, name):
    files, file, content, says = WRONG[name]
    with pytest.raises(InputError, match=says) as caught:
        read(folder(tmp_path / "data", {**files, file: content}))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "text",
    ["1\nno end\n", "1\n2\n3\n", "/\n", "12 apples\n/\n", "Document\n", "Document one\n", "1\n/\n", "", "Query 1\n"],
)
def test_other_texts_are_not_taken_for_npl_or_lisa(tmp_path, text):
    (tmp_path / "notes.txt").write_text(text)
    assert not matches(tmp_path)
