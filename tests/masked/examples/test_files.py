"""Test reading and writing of chunks and pages."""

import bz2
import gzip
import io
import json
import lzma
import sys

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import GoldrankError, InputError
from goldrank.masked.examples.chunks import MASK, Chunk, MaskKey
from goldrank.masked.examples.files import read_chunks, write_chunks
from goldrank.masked.examples.pages import Page, read_pages

RECORD = {
    "id": 7,
    "sequence_number": 3,
    "title": "Lise Meitner",
    "type": "original",
    "size": 512,
    "texts": "<mask> met Otto. So <mask> said.",
    "masks": ["Lise Meitner", "Lise"],
}
CHUNK = Chunk("7", 3, "Lise Meitner", RECORD["texts"], ("Lise Meitner", "Lise"), "original", 512)
PACKERS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def without(field):
    return {name: value for name, value in RECORD.items() if name != field}


def refusal(tmp_path, *lines):
    path = tmp_path / "data.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    with pytest.raises(InputError) as caught:
        list(read_chunks(path))
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "data.jsonl")


def test_a_line_becomes_a_chunk_with_the_keys_of_its_masks(tmp_path):
    (chunk,) = read_chunks(write_lines(tmp_path / "data.jsonl", RECORD))
    assert chunk == CHUNK
    assert chunk.keys == [MaskKey("7", 3, 0), MaskKey("7", 3, 1)]


def test_unknown_fields_are_kept_and_a_copy_of_the_text_is_not(tmp_path):
    same = {**RECORD, "views": 12, "input_string": RECORD["texts"]}
    other = {**RECORD, "id": "x8", "input_string": "shorter"}
    first, second = read_chunks(write_lines(tmp_path / "data.jsonl", same, other))
    assert first.extra == {"views": 12}
    assert (second.page, second.extra) == ("x8", {"input_string": "shorter"})


def test_type_and_size_may_be_missing_or_null(tmp_path):
    short = {name: value for name, value in RECORD.items() if name not in ("type", "size")}
    path = write_lines(tmp_path / "data.jsonl", short, {**short, "type": None, "size": None})
    assert [(chunk.kind, chunk.size) for chunk in read_chunks(path)] == [("original", 0)] * 2


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_are_read_whatever_their_name(tmp_path, suffix):
    path = tmp_path / "data.jsonl"
    path.write_bytes(PACKERS[suffix](json.dumps(RECORD).encode()))
    assert list(read_chunks(path)) == [CHUNK]


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_what_is_written_reads_back_with_any_compression(tmp_path, suffix):
    chunks = [
        CHUNK,
        Chunk("ü", 0, "Émilie", "<mask>\u2028 und", ("É",), "paraphrased", 9, {"views": 1.5, "tags": ["a"]}),
    ]
    path = tmp_path / f"data.jsonl{suffix}"
    assert write_chunks(iter(chunks), path) == 2
    assert list(read_chunks(path)) == chunks
    if suffix:
        assert not path.read_bytes().startswith(b"{")


def test_the_written_fields_are_those_of_the_published_files(tmp_path):
    write_chunks([CHUNK], tmp_path / "data.jsonl")
    assert json.loads((tmp_path / "data.jsonl").read_text()) == {**RECORD, "id": "7"}


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "data.jsonl"
    write_chunks([CHUNK], path)
    before = path.read_bytes()

    def failing():
        yield CHUNK
        raise GoldrankError("no more")

    with pytest.raises(GoldrankError, match="no more"):
        write_chunks(failing(), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.jsonl"]


def test_chunks_come_from_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(RECORD).encode())))
    assert list(read_chunks("-")) == [CHUNK]


def test_reading_is_streamed(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(RECORD) + "\n" + "no json\n")
    assert next(read_chunks(path)) == CHUNK


def test_malformed_json_is_refused_with_its_line(tmp_path):
    assert refusal(tmp_path, RECORD, "", '{"id": ').startswith("data.jsonl:3: this is not valid JSON")
    assert refusal(tmp_path, "[1]").startswith("data.jsonl:1: [1] is not a chunk")


@pytest.mark.parametrize("field", ["id", "sequence_number", "title", "texts", "masks"])
def test_a_missing_field_is_named(tmp_path, field):
    assert refusal(tmp_path, without(field)).startswith(f"data.jsonl:1: the field '{field}' is missing")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("id", 1.5, "page id 1.5 is of type float"),
        ("id", None, "page id is missing"),
        ("id", "", "page id is empty"),
        ("sequence_number", "3", "'sequence_number' is '3', not a whole number"),
        ("sequence_number", True, "'sequence_number' is True, not a whole number"),
        ("title", 7, "'title' is 7, not a string"),
        ("title", "  ", "the title is empty"),
        ("title", "1815 (?)", "the title '1815 (?)' has no letters"),
        ("texts", None, "'texts' is None, not a string"),
        ("masks", "Lise", "'masks' is 'Lise', not a list"),
        ("masks", ["Lise", None], "mask 1 is None, not a string"),
        ("size", "big", "'size' is 'big', not a whole number"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path, field, value, words):
    message = refusal(tmp_path, RECORD, {**RECORD, field: value})
    assert message.startswith("data.jsonl:2: ")
    assert words in message


def test_masks_and_text_must_agree_in_both_directions(tmp_path):
    missing = refusal(tmp_path, {**RECORD, "masks": ["a", "b", "c"]})
    assert "data.jsonl:1: a mask token is missing from the text (2 <mask>s in the text for 3 in 'masks')" in missing
    more = refusal(tmp_path, {**RECORD, "masks": ["a"]})
    assert "data.jsonl:1: the text has more masks than 'masks' (2 <mask>s in the text for 1 in 'masks')" in more


def test_without_strictness_faulty_chunks_are_given_as_they_are(tmp_path):
    path = write_lines(tmp_path / "data.jsonl", {**RECORD, "masks": ["a"]}, {**RECORD, "title": ""})
    assert [(chunk.title, len(chunk.masks)) for chunk in read_chunks(path, strict=False)] == [
        ("Lise Meitner", 1),
        ("", 2),
    ]


def test_refused_lines_can_be_told_of_and_left_out(tmp_path):
    path = write_lines(tmp_path / "data.jsonl", without("title"), RECORD, {**RECORD, "masks": []})
    faults = []
    assert list(read_chunks(path, on_fault=faults.append)) == [CHUNK]
    assert [str(fault).split(": ")[0].rpartition(":")[2] for fault in faults] == ["1", "3"]


def test_a_file_without_chunks_is_refused(tmp_path):
    assert "the file has no chunks" in refusal(tmp_path, "", " ")
    with pytest.raises(InputError, match="cannot be read"):
        list(read_chunks(tmp_path / "none.jsonl"))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4), st.text("ab<mask>"))
def test_any_text_survives_writing_and_reading(tmp_path_factory, pieces, hidden):
    text = MASK.join(pieces)
    chunk = Chunk("p", 0, "Anna", text, (hidden,) * text.count(MASK))
    path = tmp_path_factory.mktemp("any") / "data.jsonl"
    write_chunks([chunk], path)
    assert list(read_chunks(path)) == [chunk]


def test_the_real_sample_is_read(shared_data):
    chunks = list(read_chunks(shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl"))
    assert (len(chunks), len({chunk.page for chunk in chunks})) == (374, 374)
    assert sum(len(chunk.masks) for chunk in chunks) == 698
    assert not any(chunk.extra for chunk in chunks)
    assert {chunk.kind for chunk in chunks} <= {"original", "paraphrased"}


PAGES = [
    {"id": 1, "title": "Lise Meitner", "text": "Lise sat,\nand wrote.", "names": ["Lise"], "views": 3},
    {"id": 2, "title": "Otto Hahn", "text": "Hahn stood.", "names": None, "views": None},
]
EXPECTED = [
    Page("1", "Lise Meitner", "Lise sat,\nand wrote.", ("Lise",), {"views": 3}),
    Page("2", "Otto Hahn", "Hahn stood."),
]


def test_pages_come_from_json_lines_and_parquet(tmp_path):
    import pyarrow
    import pyarrow.parquet

    lines = write_lines(tmp_path / "pages.jsonl", *PAGES)
    table = tmp_path / "pages.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(PAGES), table)
    assert list(read_pages(lines)) == EXPECTED
    assert list(read_pages(table)) == EXPECTED


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz"])
def test_pages_come_from_tables(tmp_path, suffix):
    separator = "," if ".csv" in suffix else "\t"
    rows = ["id,title,names,text,views", '1,Lise Meitner,Lise|Meitner,"Lise sat,\nand wrote.",3']
    data = "\n".join(rows).replace(",", separator).replace(f"sat{separator}", "sat,").encode()
    path = tmp_path / f"pages{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    assert list(read_pages(path)) == [
        Page("1", "Lise Meitner", "Lise sat,\nand wrote.", ("Lise", "Meitner"), {"views": "3"})
    ]


def test_pages_come_from_standard_input(monkeypatch):
    lines = "\n".join(map(json.dumps, PAGES)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert list(read_pages("-")) == EXPECTED


def test_a_folder_of_texts_is_pages_called_by_their_file_names(tmp_path):
    (tmp_path / "Otto_Hahn.txt").write_text("Hahn stood.")
    (tmp_path / "Lise Meitner.txt.gz").write_bytes(gzip.compress(b"Lise sat."))
    (tmp_path / "notes.md").write_text("no page")
    assert list(read_pages(tmp_path)) == [
        Page("Lise Meitner", "Lise Meitner", "Lise sat."),
        Page("Otto_Hahn", "Otto Hahn", "Hahn stood."),
    ]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"id": 1, "text": "a"}, "the page has no title (fields: 'id', 'text')"),
        ({"title": "A", "text": "a"}, "the page has no id"),
        ({"id": 1, "title": "A"}, "the page has no text"),
        ({"id": 1, "title": "A", "text": 5}, "the text 5 is not a string"),
        ({"id": 1, "title": "---", "text": "a"}, "the title '---' has no letters"),
        ({"id": 1, "title": "A", "text": "a", "names": 5}, "the names are 5, not a list"),
        ({"id": 1, "title": "A", "text": "a", "names": [5]}, "the name 5 is not a string"),
    ],
)
def test_a_bad_page_is_refused_with_its_place(tmp_path, record, words):
    path = write_lines(tmp_path / "pages.jsonl", record)
    with pytest.raises(InputError) as caught:
        list(read_pages(path))
    assert str(caught.value).startswith(f"{path}:1: {words}")


def test_pages_given_twice_short_rows_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="page id '1' appears twice"):
        list(read_pages(write_lines(tmp_path / "pages.jsonl", PAGES[0], PAGES[0])))
    (tmp_path / "pages.csv").write_text("id,title,text\n1,A\n")
    with pytest.raises(InputError, match=r"pages.csv:2: the row has 2 columns, the first one has 3"):
        list(read_pages(tmp_path / "pages.csv"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no \.txt files"):
        list(read_pages(tmp_path / "empty"))
