"""Counts of the stored texts of a data set."""

from __future__ import annotations

import pytest

from goldrank.analysis import stored_data
from goldrank.analysis.stored_data import TextCounts, count_texts
from goldrank.store.texts import Text, Texts


@pytest.mark.parametrize("all_hashes_equal", [False, True])
def test_empty_and_repeated_texts_are_counted_by_side(tmp_path, monkeypatch, all_hashes_equal):
    if all_hashes_equal:
        monkeypatch.setattr(stored_data, "hash", lambda _text: 7, raising=False)
    texts = Texts(tmp_path / "texts.parquet")
    queries = [Text("q1", "", "same"), Text("q2", "", " same "), Text("q3", "same", ""), Text("q4", " ", " ")]
    items = [Text(f"d{number}", "Item", f"é {number % 2500}") for number in range(3000)]
    texts.save(queries, items)
    assert count_texts(texts) == {"item": TextCounts(3000, 0, 500), "query": TextCounts(4, 1, 2)}


def test_texts_that_are_removed_and_saved_again_are_counted_again(tmp_path):
    texts = Texts(tmp_path / "texts.parquet")
    for number in (1, 2):
        texts.path.unlink(missing_ok=True)
        texts.save([Text(f"q{at}", "", "text") for at in range(number)], [])
        assert count_texts(texts) == {"query": TextCounts(number, 0, number - 1)}
