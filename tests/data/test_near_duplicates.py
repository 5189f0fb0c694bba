"""Near-duplicates and leaks are found regardless of the case, punctuation, Unicode form and length of the texts."""

import random
import unicodedata

import pytest

from goldrank.data import near_duplicates
from goldrank.data.leaks import RelevantPair, find_leaks
from goldrank.data.near_duplicates import fold, group_near_duplicates

WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("a", "en", "ilo", "ur", "osa", "et")]


def texts_of(count, length, seed=1):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=length)) for _ in range(count)]


def edited(text, edits, seed):
    rng = random.Random(seed)
    words = text.split()
    for number in range(edits):
        position = rng.randrange(len(words))
        kind = number % 3
        words[position : position + (kind != 1)] = [] if kind == 2 else [f"new{number}"]
    return " ".join(words)


@pytest.mark.parametrize(("length", "edits"), [(20, 1), (40, 2), (100, 5), (400, 15)])
def test_a_hundred_planted_near_duplicates_are_all_found_and_nothing_else(length, edits):
    originals = texts_of(420, length)
    copies = [edited(text, edits, seed).title() + "!" for seed, text in enumerate(originals[:100])]
    assert group_near_duplicates(lambda: originals + copies) == [[number, 420 + number] for number in range(100)]


def test_the_order_and_the_size_of_batches_change_nothing(monkeypatch):
    originals = texts_of(60, 30)
    texts = (
        originals
        + [edited(text, 2, seed) for seed, text in enumerate(originals[:20])]
        + ["", "short one", "SHORT one."]
    )
    whole = group_near_duplicates(lambda: texts)
    assert [80 + 1, 80 + 2] in whole
    monkeypatch.setattr(near_duplicates, "_CHARACTERS_AT_ONCE", 500)
    monkeypatch.setattr(near_duplicates, "_CHUNK", 64)
    assert group_near_duplicates(lambda: texts) == whole
    backwards = group_near_duplicates(lambda: texts[::-1])
    assert {frozenset(len(texts) - 1 - position for position in group) for group in backwards} == set(
        map(frozenset, whole)
    )


def test_short_texts_are_near_duplicates_only_where_their_words_are_the_same():
    assert group_near_duplicates(lambda: ["red wine", "Red  WINE!", "red wines", "", ""]) == [[0, 1]]


def test_several_copies_are_one_group_and_no_text_gives_none():
    (text,) = texts_of(1, 50)
    assert group_near_duplicates(lambda: [text, *texts_of(5, 50, seed=2), text, edited(text, 3, 1)]) == [[0, 6, 7]]
    assert group_near_duplicates(list) == []


def test_texts_without_blanks_between_words_are_compared_by_characters():
    text = "東京は日本の首都であり世界でも大きな都市の一つである"
    assert group_near_duplicates(
        lambda: [text, text.replace("大きな", "小さな"), "京都は古い都であり多くの寺がある町として知られる"]
    ) == [[0, 1]]


def test_folding_takes_case_punctuation_and_unicode_forms_away():
    assert fold("Ｃafé — the “ﬁsh”!") == fold(unicodedata.normalize("NFD", "CAFÉ the fish")) == "café the fish"


LONG = "the discovery of radium by marie and pierre curie in paris"
KINDS = [
    ("same", LONG.upper() + "?", LONG, ""),
    ("same", LONG, f"Radium {LONG}", "Radium"),
    ("near", LONG.replace("by", "of"), LONG, ""),
    ("title", "Radium!", f"Radium {LONG}", "Radium"),
    ("inside", "marie and pierre curie in Paris", f"Radium: {LONG}, it is said, " + "and much more " * 20, "Radium"),
    ("answer", f"what is meant by {LONG} {'and so on ' * 20}?", LONG, ""),
    (None, "pierre curie", LONG, ""),
    (None, "arie and pierre curie in par", LONG + " and more words that follow", ""),
    (None, "...", "?!", ""),
]


@pytest.mark.parametrize(("kind", "asked", "text", "title"), KINDS)
def test_a_query_that_gives_its_answer_away_is_of_one_kind(kind, asked, text, title):
    body = text.removeprefix(title).lstrip(": ") if title else ""
    leaks = find_leaks([RelevantPair("q", "d", asked, text, title, body)])
    leaks_by_kind = {name: cases for name, cases in vars(leaks).items() if cases}
    assert leaks_by_kind == ({} if kind is None else {kind: {"q": "d"}})


def test_the_gravest_kind_counts():
    pairs = [RelevantPair("q", "b", LONG, f"more {LONG} {'x y z ' * 30}"), RelevantPair("q", "a", LONG, LONG)]
    assert find_leaks(pairs).by_code()["query-is-its-answer"] == {"q": "a"}
    assert not find_leaks(pairs).inside
