"""Stored texts: saved once, found by id, searched by words."""

import pytest

from goldrank.store import Store
from goldrank.store.texts import LONGEST, Text, Texts
from store.cases import a_record

DATA = "ab12" * 10


@pytest.fixture
def texts(tmp_path):
    texts = Texts(tmp_path, DATA)
    items = [
        Text(f"d{number}", f"Title {number}", f"about {'wine' if number % 2 else 'games'} {number}")
        for number in range(2000)
    ]
    texts.save([Text("q1", "", "Which wine?"), Text("d1", "", "a query with the id of an item")], items)
    return texts


def test_texts_are_found_by_id_and_side(texts):
    assert texts.find(["d1", "d1999", "none"], "item") == {
        "d1": Text("d1", "Title 1", "about wine 1"),
        "d1999": Text("d1999", "Title 1999", "about wine 1999"),
    }
    assert texts.find(["d1"], "query")["d1"].text == "a query with the id of an item"


def test_texts_that_are_there_are_left_as_they_are(texts):
    texts.save([], [Text("d1", "other", "other")])
    assert texts.find(["d1"], "item")["d1"].title == "Title 1"


def test_words_are_searched_whatever_their_case_and_no_more_than_asked(texts):
    assert [text.id for text in texts.search("WHICH wine", "query", 10)] == ["q1"]
    assert len(texts.search("wine", "item", 7)) == 7
    assert texts.search("wine games", "item", 7) == []


def test_long_and_broken_texts_are_kept_as_far_as_they_can_be(tmp_path):
    texts = Texts(tmp_path, DATA)
    texts.save([], [Text("long", "", "x" * (LONGEST + 5)), Text("half\ud83d", "", "half \ud83d")])
    assert len(texts.find(["long"], "item")["long"].text) == LONGEST
    assert texts.find(["half\ufffd"], "item")["half\ufffd"].text == "half \ufffd"


def test_without_a_file_nothing_is_found(tmp_path):
    assert Texts(tmp_path, DATA).find(["a"], "item") == {}
    assert Texts(tmp_path, DATA).search("a", "item", 3) == []


def test_a_store_gives_texts_for_checksums_only(where):
    store = Store.open(where)
    assert store.texts(DATA) is None
    store.save(a_record())
    assert store.texts(DATA) is not None
    assert store.texts("../../etc") is None


def test_one_query_is_read_without_the_others(where):
    store = Store.open(where)
    saved = store.save(a_record(3))
    assert saved.ranking("q3") == {"d2": 1 / 3 + 3, "d1": 0.25, "d9": 0.25}
    assert saved.ranking("nobody") == {}
    ranks = {row["item"]: (row["above"], row["tied"]) for row in saved.judged_items("q3")}
    assert ranks == {"d1": (1, 1), "d2": (0, 0), "gone": (-1, 0)}
    assert saved.judged_items("nobody") == []
