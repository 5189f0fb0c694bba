"""Converted collections read back equal, or every difference is reported; a failed conversion leaves no files."""

import csv
import errno
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from goldrank.data import conversion as converting
from goldrank.data.collections import Collection, Document, Documents, read_collection
from goldrank.data.conversion import WRITERS, convert
from goldrank.errors import GoldrankError, InputError
from goldrank.io.mappings import from_pairs
from profiles import examples

# Readers refuse lone surrogates in ids, and tables cannot hold control characters.
IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5).filter(str.strip)
TEXTS = st.text(max_size=20)
WORD = st.text("abcxyzéß&<>;#'\"", min_size=1, max_size=6)
LINE = st.lists(WORD, min_size=1, max_size=4).map(" ".join)
GRADES = st.one_of(st.integers(-2, 5).map(float), st.floats(-10, 10))


@st.composite
def documents(draw, ids=IDS, make=None):
    names = draw(st.lists(ids, min_size=1, max_size=5, unique=True))
    plain = st.builds(lambda text, title: (title, (("", text),) if text else ()), TEXTS, TEXTS)
    parts = st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple)
    shape = st.one_of(plain, st.tuples(TEXTS, parts)) if make is None else make
    return Documents([Document(name, *draw(shape)) for name in names], "made")


def gold(draw, queries, items):
    chosen = [query for query in queries if draw(st.booleans())] or queries[:1]
    rows = [(query, draw(st.dictionaries(st.sampled_from(items), GRADES, min_size=1, max_size=4))) for query in chosen]
    return from_pairs(rows, "gold", "made", integers=False)


@st.composite
def retrieval(draw, ids=IDS, item=None, query=None):
    items, queries = draw(documents(ids, item)), draw(documents(ids, query))
    outside = draw(st.lists(ids, max_size=2))
    return Collection("made", items, queries, gold(draw, queries.ids, items.ids + outside))


@st.composite
def related(draw):
    items = draw(documents())
    return Collection("made", items, items, gold(draw, items.ids, items.ids + draw(st.lists(IDS, max_size=2))))


@examples(0.4)
@given(made=retrieval())
def test_a_beir_folder_holds_everything(tmp_path_factory, made):
    target = tmp_path_factory.mktemp("beir") / "set"
    assert convert(made, target, "beir") == []
    assert read_collection(target).checksum == made.checksum


@examples(0.4)
@given(made=related())
def test_articles_hold_everything_of_a_related_collection(tmp_path_factory, made):
    target = tmp_path_factory.mktemp("articles") / "set"
    assert convert(made, target, "articles") == []
    again = read_collection(target, format="articles")
    assert again.checksum == made.checksum
    assert again.related


TITLED = st.tuples(st.one_of(st.just(""), LINE), st.one_of(st.just(()), LINE.map(lambda text: (("", text),))))
TOPIC = st.tuples(LINE, st.sampled_from([(), (("description", "what it is"),), (("narrative", "Title: told"),)]))
WORDS = st.text("abcABC019_-.&;'", min_size=1, max_size=5)


@examples(0.4)
@given(made=retrieval(WORDS.filter(lambda word: word[0] != "0"), TITLED, TOPIC))
def test_trec_files_hold_texts_of_words_and_topics_with_titles(tmp_path_factory, made):
    target = tmp_path_factory.mktemp("trec") / "set"
    assert convert(made, target, "trec") == []
    assert read_collection(target, format="trec").checksum == made.checksum


@examples(0.4)
@given(st.data())
def test_pairs_hold_the_texts_that_the_gold_names(tmp_path_factory, data):
    plain = LINE.map(lambda text: ("", (("", text),)))
    collection = data.draw(retrieval(WORDS, plain, plain))
    target = tmp_path_factory.mktemp("pairs") / data.draw(st.sampled_from(["set", "set.csv", "set.tsv"]))
    texts = {document.id: document.text for document in collection.items}
    expected = [(q, i, g) for q, i, g in rows(collection) if i in texts]
    assume(expected)
    convert(collection, target, "pairs")
    again = read_collection(target, format="pairs")
    assert rows(again) == expected
    assert all(texts[document.id] == document.text for document in again.items)
    assert {document.id for document in again.items} == {item for _, item, _ in expected}


def rows(collection):
    columns = collection.gold
    return [
        (query, columns.items[row], columns.values[row])
        for query, start, end in zip(columns.queries, columns.starts[:-1], columns.starts[1:], strict=True)
        for row in range(start, end)
    ]


@pytest.fixture
def small():
    items = Documents([Document.plain("d1", "Grapes", "Wine"), Document("d2", "", (("a", "b"), ("c", "d")))], "made")
    queries = Documents([Document.plain("q1", "grapes?"), Document.plain("q2", "dice?")], "made")
    columns = from_pairs([("q1", {"d1": 2, "d9": 1}), ("q2", {})], "gold", "made", integers=False)
    return Collection("made", items, queries, columns, split="dev", splits=("dev",), source="made")


def test_what_a_format_cannot_hold_is_told(small, tmp_path):
    assert convert(small, tmp_path / "beir", "beir") == [
        "1 gold list without any item left out.",
        "The written collection reads back with differences: the order or the rows of the gold differ.",
    ]
    assert convert(small, tmp_path / "pairs", "pairs") == [
        "1 gold pair without the text of query or item left out.",
        "1 item that no gold names left out: pairs hold no other texts.",
        "The written collection reads back with differences: ids, titles, sections or white space of the items differ.",
    ]
    assert "sections or white space of the items differ" in convert(small, tmp_path / "trec", "trec")[-1]
    with pytest.raises(InputError, match="articles with labels cannot hold; convert to beir"):
        convert(small, tmp_path / "articles", "articles")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beir", "pairs", "trec"]


def test_the_files_are_those_that_other_tools_know(small, tmp_path):
    convert(small, tmp_path / "beir", "beir")
    assert [json.loads(line) for line in (tmp_path / "beir" / "corpus.jsonl").read_text().splitlines()] == [
        {"_id": "d1", "title": "Wine", "text": "Grapes"},
        {"_id": "d2", "text": "b d", "sections": [["a", "b"], ["c", "d"]]},
    ]
    assert (tmp_path / "beir" / "qrels" / "dev.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td9\t1\n"
    convert(small, tmp_path / "trec", "trec")
    assert (tmp_path / "trec" / "qrels.txt").read_text() == "q1 0 d1 2\nq1 0 d9 1\n"
    convert(small, tmp_path / "pairs.csv", "pairs")
    with (tmp_path / "pairs.csv").open() as stream:
        assert list(csv.DictReader(stream)) == [
            {"query_id": "q1", "query": "grapes?", "item_id": "d1", "item": "Wine Grapes", "grade": "2"}
        ]


def test_a_related_collection_becomes_a_search_for_its_sources(tmp_path):
    items = Documents([Document.plain(name, name * 3) for name in "abc"], "made")
    columns = from_pairs([("a", {"b": 1}), ("z", {"c": 1})], "gold", "made", integers=False)
    collection = Collection("made", items, items, columns)
    assert convert(collection, tmp_path / "beir", "beir") == [
        "The written collection reads back with differences: the articles are not both queries and items any more."
    ]
    assert read_collection(tmp_path / "beir").queries.ids == ["a"]
    assert (
        convert(collection, tmp_path / "a.jsonl", "articles")[0] == "1 source of the gold without an article left out."
    )
    assert read_collection(tmp_path / "a.jsonl").items.ids == ["a", "b", "c"]


def test_the_classic_collections_go_through_beir_unchanged(shared_data, tmp_path):
    for name in ("cran", "cisi", "time"):
        collection = read_collection(shared_data / "collections" / name)
        assert convert(collection, tmp_path / name, "beir") == []


def test_what_is_there_is_replaced_only_when_asked_and_only_if_a_conversion_wrote_it(small, tmp_path):
    target = tmp_path / "set"
    convert(small, target, "beir")
    with pytest.raises(InputError, match="exists already; add --overwrite"):
        convert(small, target, "beir")
    convert(small, target, "trec", overwrite=True)
    assert sorted(path.name for path in target.iterdir()) == ["documents.trec", "qrels.txt", "topics.trec"]
    (target / "thesis.csv").write_text("")
    with pytest.raises(InputError, match=r"holds 'thesis.csv', which no conversion wrote"):
        convert(small, target, "beir", overwrite=True)
    assert (target / "documents.trec").exists()
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(InputError, match="there is a folder of this name"):
        convert(small, tmp_path / "x.csv", "pairs", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", "x.csv"]


def test_a_collection_never_replaces_itself(small, tmp_path):
    convert(small, tmp_path / "set", "beir")
    with pytest.raises(InputError, match="this is the collection itself"):
        convert(read_collection(tmp_path / "set"), tmp_path / "set", "trec", overwrite=True)
    assert (tmp_path / "set" / "corpus.jsonl").exists()


@pytest.mark.parametrize("format", WRITERS)
def test_a_full_disk_leaves_what_was_there(small, tmp_path, monkeypatch, format):
    target = tmp_path / "set"
    convert(small, target, "beir")
    before = (target / "corpus.jsonl").read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(converting.WRITERS, format, full)
    with pytest.raises(GoldrankError, match=r"No space left on device.*nothing was kept"):
        convert(small, target, format, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert (target / "corpus.jsonl").read_bytes() == before


def test_documents_that_break_off_leave_nothing(small, tmp_path):
    def broken():
        yield Document.plain("d1", "x")
        raise InputError("the file was cut", where="corpus.jsonl:2")

    collection = Collection("made", Documents(broken, "made"), small.queries, small.gold)
    with pytest.raises(InputError, match="the file was cut"):
        convert(collection, tmp_path / "set", "beir")
    assert list(tmp_path.iterdir()) == []


def test_wrong_targets_are_told(small, tmp_path):
    with pytest.raises(InputError, match="the folder does not exist; create it first"):
        convert(small, tmp_path / "no" / "set", "beir")
    with pytest.raises(InputError, match="there is no format to convert to 'bier'; did you mean 'beir'"):
        convert(small, tmp_path / "set", "bier")
    unpaired = Collection("made", small.queries, small.queries, small.gold)
    with pytest.raises(InputError, match="no pair of the gold has the texts of both"):
        convert(unpaired, tmp_path / "set", "pairs")
    spaced = Collection("made", Documents([Document.plain("a b", "x")], "made"), small.queries, small.gold)
    with pytest.raises(InputError, match="the id 'a b' holds white space"):
        convert(spaced, tmp_path / "set", "trec")
