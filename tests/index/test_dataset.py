"""Hits from a data set with embeddings: exact and by top k, labels in either shape, the query left out by id."""

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.index.dataset import dataset_hits

ROWS = [
    {"id": "a", "embedding": [1.0, 0.0], "labels": ["b", "c"], "text": "one"},
    {"id": "b", "embedding": [2.0, 0.2], "labels": [], "text": "two"},
    {"id": "c", "embedding": [0.0, 1.0], "labels": ["a"], "text": "three"},
    {"id": "d", "embedding": [1.0, 1.0], "labels": None, "text": "four"},
]


class Lengths:
    """A model of texts that is as good as none."""

    identity = "lengths"

    def encode_items(self, texts):
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    encode_queries = encode_items


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("library", [False, True])
def test_ranks_are_exact_among_the_other_rows(records, library):
    rows = [{**row, "labels": [{"id": i} for i in row["labels"] or []]} if records else row for row in ROWS]
    data = pytest.importorskip("datasets").Dataset.from_list(rows) if library else rows
    hits = dataset_hits(data)
    assert (hits.queries, hits.items) == (["a", "c"], ["b", "c", "a"])
    assert hits.above.tolist() == [0, 2, 2]  # of a: b, d, c; of c: d, b, a
    assert hits.depth.tolist() == [3, 3]


def test_the_top_k_misses_what_is_below_the_cut():
    hits = dataset_hits(ROWS, k=2)
    assert hits.above.tolist() == [0, -1, -1]
    assert hits.depth.tolist() == [2, 2]


def test_a_model_encodes_the_texts(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    hits = dataset_hits(ROWS, model=Lengths())
    assert hits.above.tolist() == [0, 2, 1]


def test_a_model_without_vectors_is_refused():
    pytest.importorskip("bm25s")
    with pytest.raises(InputError, match="bm25 ranks without vectors"):
        dataset_hits(ROWS, model="bm25")


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"no column 'vector' \(columns: id, embedding, labels, text\)"):
        dataset_hits(ROWS, embedding="vector")


def test_rows_without_labels_and_ragged_vectors_are_refused():
    with pytest.raises(InputError, match="no row has labels"):
        dataset_hits([{**row, "labels": []} for row in ROWS])
    with pytest.raises(InputError, match="row 3 of 'embedding' has 3 numbers, row 0 has 2"):
        dataset_hits([*ROWS[:3], {**ROWS[3], "embedding": [1.0, 2.0, 3.0]}])


def test_rows_without_the_column_of_labels_are_items_only():
    rows = [{key: value for key, value in row.items() if key != "labels" or value} for row in ROWS]
    assert "labels" not in rows[1]
    assert dataset_hits(rows).above.tolist() == dataset_hits(ROWS).above.tolist()


@pytest.mark.parametrize("library", [False, True])
def test_labels_may_be_called_label(library):
    rows = [{"label" if key == "labels" else key: value for key, value in row.items()} for row in ROWS]
    data = pytest.importorskip("datasets").Dataset.from_list(rows) if library else rows
    assert dataset_hits(data).above.tolist() == [0, 2, 2]


def test_a_row_without_a_vector_is_named_by_its_own_columns():
    rows = [ROWS[0], {"id": "b", "labels": []}]
    with pytest.raises(InputError) as error:
        dataset_hits(rows)
    assert str(error.value) == "row 1 has no column 'embedding' (columns: id, labels); name the column that holds it"


def test_a_data_set_without_any_labels_is_refused():
    data = pytest.importorskip("datasets").Dataset.from_list([{"id": "a", "embedding": [1.0]}])
    with pytest.raises(InputError, match=r"^no row has labels in the column 'labels'; name the column of right items$"):
        dataset_hits(data)
