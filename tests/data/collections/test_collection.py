"""Documents and collections: streamed documents equal those in memory, and checksums change with the content."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import Collection, Document, Documents
from goldrank.errors import InputError
from goldrank.io.columns import Columns
from goldrank.io.fingerprints import add_text

texts = st.text(max_size=8)
sections = st.lists(st.tuples(texts, texts), max_size=3).map(tuple)
documents = st.lists(st.builds(Document, st.text(min_size=1, max_size=4), texts, sections), unique_by=lambda d: d.id)


def collection(items, queries=None, gold=(("q", "d", 1.0),)):
    table = Columns(
        [q for q, _, _ in gold], np.arange(len(gold) + 1), [i for _, i, _ in gold], np.array([g for *_, g in gold]), "x"
    )
    corpus = Documents(items, "items")
    return Collection("c", corpus, corpus if queries is None else Documents(queries, "queries"), table)


@given(documents)
def test_streamed_documents_equal_those_held(rows):
    in_memory, streamed = Documents(rows, "a"), Documents(lambda: iter(rows), "b")
    assert list(in_memory) == list(streamed) == list(streamed)
    assert in_memory.ids == streamed.ids
    assert len(in_memory) == len(streamed)
    assert in_memory.checksum == streamed.checksum
    assert (in_memory.streamed, streamed.streamed) == (False, True)


@given(documents, documents)
def test_documents_have_the_same_checksum_only_if_they_are_the_same(first, second):
    assert (Documents(first, "a").checksum == Documents(second, "b").checksum) == (first == second)


@given(documents)
def test_the_checksum_digests_every_part_with_its_length(rows):
    digest = hashlib.sha256()
    for document in rows:
        for part in (document.id, document.title, *(part for section in document.sections for part in section)):
            add_text(digest, part)
        digest.update(b"\xff")
    assert Documents(rows, "a").checksum == digest.hexdigest()[:16]


@given(documents, st.integers(1, 5))
def test_batches_are_the_documents_in_order_and_no_larger_than_asked(rows, size):
    batches = list(Documents(rows, "a").batches(size))
    assert [document for batch in batches for document in batch] == rows
    assert all(len(batch) == size for batch in batches[:-1])


def test_an_id_given_twice_is_refused():
    with pytest.raises(InputError, match="here: the id 'a' is given twice"):
        _ = Documents([Document("a"), Document("b"), Document("a")], "here").ids


def test_a_document_is_empty_if_nothing_can_be_read():
    assert Document("a", " ", (("", "\n"),)).is_empty
    assert not Document("a", "", (("Heading", ""),)).is_empty
    assert Document.plain("a", "").sections == ()


def test_the_checksum_of_a_collection_sees_items_queries_gold_and_whether_it_is_related():
    items = [Document.plain("d", "one")]
    base = collection(items, [Document.plain("q", "ask")])
    variants = [
        collection([Document.plain("d", "two")], [Document.plain("q", "ask")]),
        collection(items, [Document.plain("q", "other")]),
        collection(items, [Document.plain("q", "ask")], (("q", "d", 2.0),)),
        collection(items, [Document.plain("q", "ask")], (("q", "e", 1.0),)),
        collection(items),
    ]
    assert len({variant.checksum for variant in [base, *variants]}) == 6
    assert collection(list(items), [Document.plain("q", "ask")]).checksum == base.checksum
    assert [variant.related for variant in [base, variants[-1]]] == [False, True]
    assert repr(base) == "Collection(c/test: 1 items, 1 queries, 1 judged)"


def test_a_grade_of_minus_zero_is_a_grade_of_zero():
    items = Documents([Document.plain("a", "text")], "test")

    def made(grade):
        return Collection("test", items, items, Columns(["a"], np.array([0, 1]), ["a"], np.array([grade]), "test"))

    assert made(-0.0).checksum == made(0.0).checksum != made(1.0).checksum
