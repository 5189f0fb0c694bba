"""Test that the built-in data is complete, correctly linked and as varied as documented."""

import json
import unicodedata
from importlib.resources import files

import pytest

from goldrank.runs.evaluate import evaluate
from goldrank.tasks import TASKS, find_task

DEMO = files("goldrank") / "demo"


@pytest.mark.parametrize(("name", "pairs"), [("wines", 96), ("games", 78)])
def test_articles_have_sections_and_labels_that_point_to_articles(name, pairs):
    collection = find_task(name).read(None)
    assert collection.related
    assert len(collection.items) == 100
    assert len(collection.gold.queries) == 23
    assert len(collection.gold.items) == pairs
    assert set(collection.gold.items) <= set(collection.items.ids)
    assert not [q for q in collection.gold.queries if q in dict.fromkeys(_gold_of(collection, q))]
    assert collection.remarks == []
    for document in collection.items:
        assert len(document.sections) >= 2
        assert 60 <= len(document.text.split()) <= 150
        assert unicodedata.is_normalized("NFC", document.title + document.text)
    titles = [document.title for document in collection.items]
    assert sum("&" in title for title in titles) >= 3
    assert sum(not title.isascii() for title in titles) >= 3


def _gold_of(collection, query):
    at = collection.gold.queries.index(query)
    return collection.gold.items[collection.gold.starts[at] : collection.gold.starts[at + 1]]


def test_questions_ask_for_articles_of_both_kinds_with_grades():
    collection = find_task("questions").read(None)
    assert (len(collection.items), len(collection.queries), len(collection.gold.queries)) == (200, 60, 60)
    assert set(collection.gold.values.tolist()) == {1.0, 2.0}
    assert set(collection.gold.items) <= set(collection.items.ids)


def test_sentence_pairs_cover_the_scale_and_never_repeat():
    lines = [line.split("\t") for line in (DEMO / "pairs.tsv").read_text(encoding="utf-8").splitlines()]
    assert lines[0] == ["id", "score", "sentence1", "sentence2"]
    rows = lines[1:]
    assert len(rows) == 150
    scores = [float(row[1]) for row in rows]
    for band in range(5):
        assert sum(band <= score < band + 1 or score == 5 == band + 1 for score in scores) >= 20
    sentences = [row[at] for row in rows for at in (2, 3)]
    assert len(set(sentences)) == 300


def test_persons_have_their_names_in_their_texts():
    rows = [json.loads(line) for line in (DEMO / "persons.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 30
    assert sum(row["invented"] for row in rows) == 12
    for row in rows:
        assert all(name in row["text"] for name in row["names"])
        assert row["names"] == sorted(row["names"], key=len, reverse=True)


def test_the_gold_is_neither_trivial_nor_out_of_reach():
    floor = evaluate("random", "wines").scores["mrr"].mean
    words = evaluate("bm25", "wines").scores["mrr"].mean
    assert floor < 0.25 < words < 0.95


def test_every_task_says_where_it_comes_from():
    for task in TASKS.values():
        assert task.summary
        assert task.about is not None
        assert all((task.about.source, task.about.licence, task.about.counts))
        assert task.version >= 1
