"""SMART collections: Cranfield, CISI and TIME as published, their irregularities, and files of other kinds."""

import gzip

import pytest

from goldrank.data.collections import Document, read_collection
from goldrank.data.collections.smart import read
from goldrank.errors import InputError

FILES = {
    "cran.all": ".I 1\n.T\nwings in\nflow\n.A\nb.\n.B\nj. 1\n.W\nwings  in\nflow .\n.X\n1 5 1\n.I 2\n.T\n.W\nheat\n",
    "cran.qry": ".I 001\n.W\nwhat flows\n.I 004\n.W\nwhat heats .\n",
    "cranqrel": "1 1 2 \n1 2 -1\n2 2 3\n",
}
TIME = {
    "TIME.ALL": "*TEXT 017 01/04/63 PAGE 020\n\nTHE ALLIES\n\nAFTER\n\n*TEXT 018 01/04/63\n\nSECOND\n*STOP\n",
    "TIME.QUE": "*FIND    1\n\n KENNEDY\n\n*FIND    2\n\n WHO\n",
    "TIME.REL": "1  1\n",
    "TIME.REL.ALL": "1  1 2\n\n2   2\n",
    "TIME.STP": "A\n\nABOUT\n",
}


def folder(path, files=FILES, **changed):
    path.mkdir(exist_ok=True)
    for name, content in {**files, **{key.replace("_", "."): value for key, value in changed.items()}}.items():
        (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def one_line(text):
    return " ".join(text.split())


def rows(columns):
    bounds = columns.starts.tolist()
    return {
        query: dict(zip(columns.items[start:end], columns.values[start:end].tolist(), strict=True))
        for query, start, end in zip(columns.queries, bounds[:-1], bounds[1:], strict=True)
    }


def test_cranfield_has_its_1400_documents_and_225_queries(shared_data):
    collection = read_collection(shared_data / "collections" / "cran")
    assert (collection.format, len(collection.items), len(collection.queries), len(collection.gold.items)) == (
        "smart",
        1400,
        225,
        1837,
    )
    assert collection.queries.ids == [str(number) for number in range(1, 226)] == collection.gold.queries
    by_order = list(collection.queries)
    assert by_order[2].text == "what problems of heat conduction in composite slabs have been solved so\nfar ."
    assert rows(collection.gold)["3"]["5"] == 3
    assert rows(collection.gold)["1"]["486"] == -1
    assert set(collection.gold.items) <= set(collection.items.ids)
    assert [document.id for document in collection.items if document.is_empty] == ["471", "995"]
    remarks = "\n".join(collection.remarks)
    for remark in (
        "2 records of cran.all.1400 without any text: 471, 995",
        "225 judgments with a negative grade",
        "the judgments count the queries from 1 to 225 in the order of their file",
        "as they are (1, 2, 3, 4)",
    ):
        assert remark in remarks


def test_a_text_of_cranfield_that_holds_field_marks_is_whole(shared_data):
    collection = read(shared_data / "collections" / "cran")
    (broken,) = [document for document in collection.items if document.id == "240"]
    assert "application to turbulent separations is made for a prandtl number of unity in low-speed flow" in one_line(
        broken.text
    )
    assert "3 texts of cran.all.1400 held field marks, which were left out" in collection.remarks


def test_cisi_has_76_of_112_queries_judged_and_no_grades(shared_data):
    collection = read_collection(shared_data / "collections" / "cisi")
    assert (len(collection.items), len(collection.queries), len(collection.gold.queries)) == (1460, 112, 76)
    assert set(collection.gold.values.tolist()) == {1.0}
    assert set(collection.gold.items) <= set(collection.items.ids)
    assert set(collection.gold.queries) <= set(collection.queries.ids)
    assert collection.remarks == [
        "CISI.REL gives no grades: what it lists has grade 1",
        "36 of 112 queries are not judged",
    ]
    first = next(iter(collection.items))
    assert first.title == "18 Editions of the Dewey Decimal Classifications"
    assert one_line(first.text).startswith(
        "The present study is a history of the DEWEY Decimal Classification. The first"
    )
    assert "1024" not in first.text


def test_time_has_its_shifted_judgments(shared_data):
    collection = read_collection(shared_data / "collections" / "time")
    assert (
        len(collection.items),
        len(collection.queries),
        len(collection.gold.queries),
        len(collection.gold.items),
    ) == (423, 83, 83, 324)
    gold = rows(collection.gold)
    assert gold["4"] == {"370": 1, "376": 1, "383": 1, "407": 1, "419": 1}
    assert gold["23"] == {"423": 1}
    assert set(collection.gold.items) <= set(collection.items.ids)
    assert any(
        "2 was subtracted from the document's number in 34 judgments (from 378 on)" in remark
        for remark in collection.remarks
    )
    # Query 7 asks for Sihanouk's refusal of aid; unshifted, its judgments name other articles.
    texts = {document.id: document.text for document in collection.items}
    assert all("CAMBODIA" in texts[item] for item in gold["7"])
    assert gold["7"] == {"384": 1, "406": 1}


def test_fields_are_kept_as_written_and_the_rest_left_out(tmp_path):
    collection = read(folder(tmp_path / "cran"))
    first = Document.plain("1", "wings  in\nflow .", "wings in\nflow")
    assert list(collection.items) == [first, Document.plain("2", "heat")]
    assert list(collection.queries) == [Document.plain("1", "what flows"), Document.plain("2", "what heats .")]
    assert rows(collection.gold) == {"1": {"1": 2, "2": -1}, "2": {"2": 3}}


def test_queries_go_by_their_own_numbers_where_the_judgments_do(tmp_path):
    collection = read(folder(tmp_path / "cran", cranqrel="1 1 1\n4 2 1\n"))
    assert collection.queries.ids == ["1", "4"]
    assert rows(collection.gold) == {"1": {"1": 1}, "4": {"2": 1}}


def test_judgments_come_in_four_shapes(tmp_path):
    for number, text in enumerate(("1 2\n2 1\n", "1 2 0 0.0\n2 1 0 0.0\n", "1 0 2 1\n2 0 1 1\n", "1 2 1\n2 1 1\n")):
        collection = read(folder(tmp_path / str(number), cranqrel=text))
        assert rows(collection.gold) == {"1": {"2": 1}, "2": {"1": 1}}


def test_time_is_read_by_its_stars_and_the_fuller_judgments(tmp_path):
    collection = read_collection(folder(tmp_path / "time", TIME))
    assert list(collection.items) == [Document.plain("1", "THE ALLIES\n\nAFTER"), Document.plain("2", "SECOND")]
    assert [query.text for query in collection.queries] == [" KENNEDY", " WHO"]
    assert rows(collection.gold) == {"1": {"1": 1, "2": 1}, "2": {"2": 1}}


def test_a_judged_document_that_is_not_there_is_kept_and_counted(tmp_path):
    collection = read(folder(tmp_path / "cran", cranqrel="1 99 1\n2 1 1\n"))
    assert rows(collection.gold)["1"] == {"99": 1}
    assert "1 judgment of documents that are not there" in collection.remarks


def test_latin_1_is_read_with_a_remark(tmp_path):
    collection = read(folder(tmp_path / "cran", cran_all=".I 1\n.W\nécoulement\n.I 2\n.W\nx\n".encode("latin-1")))
    assert next(iter(collection.items)).text == "écoulement"
    assert "cran.all is not UTF-8 and was read as latin-1" in collection.remarks


def test_packed_files_and_line_ends_of_windows_change_nothing(tmp_path):
    plain = read(folder(tmp_path / "cran"))
    packed = tmp_path / "packed"
    packed.mkdir()
    for name, content in FILES.items():
        (packed / f"{name}.gz").write_bytes(gzip.compress(content.replace("\n", "\r\n").encode()))
    assert read(packed).checksum == plain.checksum


@pytest.mark.parametrize(
    ("missing", "message"),
    [("cran.all", "none of documents"), ("cran.qry", "none of queries"), ("cranqrel", "none of judgments")],
)
def test_a_missing_file_is_named(tmp_path, missing, message):
    path = folder(tmp_path / "cran")
    (path / missing).unlink()
    with pytest.raises(InputError, match=message):
        read_collection(path)


BAD = {
    "twice": (
        {"cran_all": ".I 1\n.W\na\n.I 01\n.W\nb\n"},
        r"cran.all:4: the id '1' is given twice \(first at .*all:1\)",
    ),
    "no number": ({"cran_all": ".I 1\n.W\na\n.I\n.W\nb\n"}, r"cran.all:4: the record has no number"),
    "NUL": ({"cran_all": b".I 1\n.W\na\0b\n"}, r"cran.all:3: this is not a text file"),
    "ragged": ({"cranqrel": "1 1 2\n1 2\n"}, r"cranqrel:2: the line has 2 columns"),
    "wide": ({"cranqrel": "1 1 2 3 4\n"}, r"cranqrel:1: the line has 5 columns"),
    "grade": ({"cranqrel": "1 1 2\n1 2 x\n"}, r"cranqrel:2: the grade 'x' is not a number"),
    "query": ({"cranqrel": "1 1 2\nq 2 1\n"}, r"cranqrel:2: the id 'q' is not a number"),
    "judged twice": ({"cranqrel": "1 1 2\n1 01 3\n"}, r"cranqrel:2: the item '1' is listed twice for query '1'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_with_its_line(tmp_path, name):
    changed, message = BAD[name]
    with pytest.raises(InputError, match=message):
        read(folder(tmp_path / "cran", **changed))


def test_text_that_starts_like_a_mark_stays_text(tmp_path):
    collection = read(folder(tmp_path / "cran", cran_all=".I 1\n.W\nwell\n.I think so\n.A man\n.I 2\n.W\nx\n"))
    assert [document.text for document in collection.items] == ["well\n.I think so\n.A man", "x"]


def test_an_unknown_split_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no split 'train'; choose 'test'"):
        read(folder(tmp_path / "cran"), "train")
