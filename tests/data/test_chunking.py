"""Chunking: chunks cover every word, keep sizes and overlaps, and have ids with the place; bad specs are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.chunking import Chunking
from goldrank.data.collections import Document
from goldrank.errors import InputError

texts = st.text(st.sampled_from("ab.!? \n'é"), max_size=60)
sections = st.lists(st.tuples(st.sampled_from(["", "H", "I"]), texts), max_size=4)


@given(sections, st.integers(1, 6), st.integers(0, 5), st.sampled_from(["words", "sentences"]))
def test_every_word_is_in_a_chunk_and_no_chunk_is_within_another(parts, size, overlap, kind):
    chunking = Chunking(kind, size, min(overlap, size - 1))
    document = Document("d", "T", tuple(parts))
    chunks = chunking.cut(document)
    words = [word for _, text in parts for word in text.split()]
    cut = [[word for _, text in chunk.sections for word in text.split()] for chunk in chunks]
    assert len({chunk.id for chunk in chunks}) == len(chunks) >= 1
    assert {word for chunk in cut for word in chunk} == set(words)
    assert all(chunk.title == "T" for chunk in chunks)
    if kind == "words":
        joined = cut[0] + [word for chunk in cut[1:] for word in chunk[chunking.overlap :]]
        assert joined == words
        assert all(len(chunk) == size for chunk in cut[:-1])
        assert len(cut[-1]) > (chunking.overlap if len(cut) > 1 else -1)


def test_a_chunk_has_the_headings_of_the_sections_that_it_is_cut_from():
    document = Document("d", "T", (("A", "one two"), ("B", "three four five")))
    chunks = Chunking.parse("words:3").cut(document)
    assert [chunk.sections for chunk in chunks] == [(("A", "one two"), ("B", "three")), (("B", "four five"),)]


def test_places_are_lines_where_the_file_has_lines():
    document = Document("a.md", "T", (("", "one\ntwo three\nfour"), ("H", "five\n\nsix")), (3, 8))
    assert [chunk.id for chunk in Chunking.parse("words:2").cut(document)] == [
        "a.md#L3-4",
        "a.md#L4-5",
        "a.md#L8-10",
    ]
    assert [chunk.id for chunk in Chunking.parse("heading").cut(document)] == ["a.md#L3-5", "a.md#L8-10"]


def test_chunks_in_one_line_are_numbered():
    document = Document("a.md", "T", (("", "one two three"),), (7,))
    assert [chunk.id for chunk in Chunking.parse("words:1").cut(document)] == [
        "a.md#L7-7",
        "a.md#L7-7(2)",
        "a.md#L7-7(3)",
    ]


def test_sentences_end_at_punctuation_and_at_blank_lines():
    document = Document.plain("d", "Is it? “Yes.” It is.\n\n- a list\n- of two\n\nEnd")
    assert [chunk.text for chunk in Chunking.parse("sentences:1").cut(document)] == [
        "Is it?",
        "“Yes.”",
        "It is.",
        "- a list\n- of two",
        "End",
    ]
    assert [chunk.id for chunk in Chunking.parse("sentences:3/1").cut(document)] == ["d#s1-3", "d#s3-5"]


def test_sections_are_named_by_their_headings():
    document = Document("d", "T", (("", "lead"), ("History", "old"), ("History", "older"), ("Empty", "")))
    chunks = Chunking.parse("heading").cut(document)
    assert [chunk.id for chunk in chunks] == ["d#1", "d#History", "d#History(2)", "d#Empty"]


@pytest.mark.parametrize("spec", ["words:5", "sentences:2", "heading"])
@pytest.mark.parametrize("parts", [(), (("", ""),), (("Only a heading", ""),)])
def test_a_document_without_text_is_one_chunk(spec, parts):
    (chunk,) = Chunking.parse(spec).cut(Document("d", "T", parts))
    assert (chunk.title, [heading for heading, _ in chunk.sections]) == ("T", [heading for heading, _ in parts])


def test_none_returns_the_document_itself():
    document = Document.plain("d", "text")
    assert Chunking.parse("none").cut(document) == [document]


@pytest.mark.parametrize("text", ["none", "words:200", "words:200/40", "sentences:5", "sentences:5/1", "heading"])
def test_a_spec_is_written_as_it_was_read(text):
    assert str(Chunking.parse(text)) == text
    assert str(Chunking.parse(text.upper().replace("WORDS", "Words"))) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word:200", "did you mean 'words'"),
        ("words", "has no size; write words:200/40"),
        ("words:0", "has no size"),
        ("words:x", "has no size"),
        ("words:-5", "has no size"),
        ("words:20/20", "never end"),
        ("words:20(overlap=5)", "has options; write words:200/40"),
        ("heading:3", "the chunking heading takes no number"),
        ("none:3", "the chunking none takes no number"),
        ("sentences:1/1", "never end; write sentences:5"),
        ("", "is not a valid"),
    ],
)
def test_a_bad_spec_is_refused_with_the_right_one(text, message):
    with pytest.raises(InputError, match=message):
        Chunking.parse(text)


def test_a_huge_text_is_cut_in_linear_time():
    document = Document("d", "T", (("", "word\n" * 60_000),), (1,))
    chunks = Chunking.parse("words:10/2").cut(document)
    assert chunks[-1].id.endswith("-60000")
