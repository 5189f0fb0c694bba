"""Test stored texts: saving them once, finding them by id, and searching them by words."""

import pytest

from goldrank.store import Store
from goldrank.store.texts import LONGEST, Text, Texts
from store.cases import a_record

DATA = "ab12" * 10


@pytest.fixture
def texts(tmp_path):
    texts = Texts(tmp_path / "texts.parquet")
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


def test_saved_texts_are_not_overwritten(texts):
    texts.save([], [Text("d1", "other", "other")])
    assert texts.find(["d1"], "item")["d1"].title == "Title 1"


def test_ids_and_words_are_found_as_in_plain_lists(tmp_path):
    texts = Texts(tmp_path / "texts.parquet")
    names = ["é", "Z", "z" * 5_000, *(f"n{number * 7919 % 3001}" for number in range(3_000))]
    sides = {
        "query": [Text(name, "", f"Ask{at % 13} ÉTÉ") for at, name in enumerate(names)],
        "item": [Text(name, f"T{at % 17}", f"say {at % 5}") for at, name in enumerate(names[::2])],
    }
    texts.save(sides["query"], sides["item"])
    ids = {*names[::50], "z" * 5_000, "é", "nothing", ""}
    for side, stored in sides.items():
        assert list(texts.iterate(side)) == sorted(stored, key=lambda text: text.id)
        assert texts.find(ids, side) == {text.id: text for text in stored if text.id in ids}
        for words in ("ask7", "été ask1", "t3 SAY", "n12", "nothing", "("):
            content = {text.id: f"{text.id}\n{text.title}\n{text.text}".lower() for text in stored}
            expected = {name for name, text in content.items() if all(word in text for word in words.lower().split())}
            assert texts.matching(words, side) == expected


def test_long_texts_are_cut_and_lone_surrogates_replaced(tmp_path):
    texts = Texts(tmp_path / "texts.parquet")
    texts.save([], [Text("long", "", "x" * (LONGEST + 5)), Text("half\ud83d", "", "half \ud83d")])
    assert len(texts.find(["long"], "item")["long"].text) == LONGEST
    assert texts.find(["half\ufffd"], "item")["half\ufffd"].text == "half \ufffd"


def test_without_a_file_nothing_is_found(tmp_path):
    assert Texts(tmp_path / "texts.parquet").find(["a"], "item") == {}
    assert Texts(tmp_path / "texts.parquet").matching("a", "item") == set()


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
