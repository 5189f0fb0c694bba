"""Lists and arrays without query ids: their meaning, and the ambiguous ones that are refused."""

from collections import namedtuple

import numpy as np
import pytest

import goldrank as gr
from goldrank.io.positions import is_by_position
from goldrank.io.tables import columns_from

SCORES = np.array([[0.9, 0.5, 0.2], [0.8, 0.1, -3.4e38]], np.float32)
LABELS = np.array([[9, 7, 2], [3, 1, -1]])


def as_dict(data, kind="run"):
    return (gr.Run if kind == "run" else gr.Gold).from_columns(columns_from(data, kind)).to_dict()


def test_positions_are_the_queries_and_lists_are_rankings_or_relevant_items():
    assert as_dict([["b", "a"], [], ["c"]]) == {"0": {"b": 2.0, "a": 1.0}, "1": {}, "2": {"c": 1.0}}
    assert as_dict([["b", "a"], [], ["c"]], "gold") == {"0": {"b": 1.0, "a": 1.0}, "1": {}, "2": {"c": 1.0}}
    assert as_dict([[("b", 0.5), ("a", 0.25)], [("c", 1)]]) == {"0": {"b": 0.5, "a": 0.25}, "1": {"c": 1.0}}
    assert as_dict([{7: 2, 8: 1}], "gold") == {"0": {"7": 2.0, "8": 1.0}}


def test_the_label_minus_one_of_faiss_is_no_item():
    expected = {"0": {"9": 3.0, "7": 2.0, "2": 1.0}, "1": {"3": 2.0, "1": 1.0}}
    assert as_dict(LABELS) == expected
    assert as_dict([[9, 7, 2, -1], [3, 1, -1, -1]]) == expected
    assert as_dict(LABELS, "gold")["1"] == {"3": 1.0, "1": 1.0}


@pytest.mark.heavy
def test_torch_tensors_are_arrays():
    torch = pytest.importorskip("torch")
    assert as_dict(torch.tensor(LABELS)) == as_dict(LABELS)
    assert as_dict((torch.tensor(SCORES), torch.tensor(LABELS))) == as_dict((SCORES, LABELS))


@pytest.mark.parametrize("swapped", [False, True], ids=["faiss", "hnswlib"])
def test_scores_and_labels_of_a_search_are_a_run(swapped):
    search_result = (LABELS, SCORES) if swapped else (SCORES, LABELS)
    single = {
        query: {item: np.float32(score) for item, score in row.items()} for query, row in as_dict(search_result).items()
    }
    assert single == {
        "0": {"9": np.float32(0.9), "7": np.float32(0.5), "2": np.float32(0.2)},
        "1": {"3": np.float32(0.8), "1": np.float32(0.1)},
    }
    assert gr.score([[9], [1]], search_result, "mrr")["mrr"].mean == 0.75


def test_distances_of_a_search_are_never_taken_for_similarities_even_of_one_query():
    search_result = -SCORES[:1], LABELS[:1]
    with pytest.raises(gr.InputError, match=r"in 1 of 1 queries the rank column puts lower scores first; .*distance"):
        gr.score([[7]], search_result, "mrr")
    assert gr.score([[7]], search_result, "mrr", scores="distance")["mrr"].mean == 0.5
    assert gr.score([[7]], search_result, "mrr", scores="ignore")["mrr"].mean == 0.5


def test_a_real_search_of_faiss_goes_straight_into_score():
    faiss = pytest.importorskip("faiss")
    items = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    truth = [[i] for i in range(5)]
    for index, options in ((faiss.IndexFlatL2(8), {"scores": "distance"}), (faiss.IndexFlatIP(8), {})):
        faiss.normalize_L2(items)
        index.add(items)
        assert gr.score(truth, index.search(items[:5], 60), "mrr", **options)["mrr"].mean == 1.0


def test_tuples_of_three_are_rows_and_lists_of_three_are_what_their_cells_or_the_other_side_say():
    rows = [("7", "9", 1), ("7", "4", 0)]
    assert as_dict(rows, "gold") == as_dict(list(map(list, rows)), "gold") == {"7": {"9": 1.0, "4": 0.0}}
    assert as_dict([(7, 9, 1)], "gold") == {"7": {"9": 1.0}}
    assert as_dict([["a", "b", "c"]], "gold") == {"0": {"a": 1.0, "b": 1.0, "c": 1.0}}
    # Gold of integers is read as (query, item, value) rows if the run has such rows, and as lists if it has lists.
    assert gr.score([[7, 9, 1], [7, 4, 1]], [[7, 4, 0.5], [7, 9, 0.25]], "mrr").counts.queries == 1
    assert gr.score([[7, 9, 1], [7, 4, 1]], [[4], [7]], "mrr").counts.queries == 2
    assert gr.score(gr.Gold([[9], [4]]), [[7, 9, 1], [7, 4, 1]], "mrr")["mrr"].mean == 0.5


def test_named_tuples_are_rows():
    row = namedtuple("Row", "query_id doc_id relevance iteration")
    assert is_by_position([row("q1", "d1", 1, "0")]) is False
    assert is_by_position([(11, 1, 7, 17), (4, 16)]) is True


AMBIGUOUS = (
    "every list of the gold holds three numbers, which may be a (query, item, grade) row or three items of one query; "
    "write rows as tuples, and the items of each query as a dict: dict(enumerate(lists))"
)


@pytest.mark.parametrize("gold", [[[7, 9, 1], [7, 4, 1]], [["7", "9", "1"]]])
def test_lists_of_three_numbers_alone_are_refused(gold):
    with pytest.raises(gr.InputError) as caught:
        gr.Gold(gold)
    assert str(caught.value) == AMBIGUOUS
    with pytest.raises(gr.InputError) as caught:
        gr.score(gold, [[1, 2, 3]] * len(gold))
    assert str(caught.value) == AMBIGUOUS


BAD = {
    "one axis": (np.arange(3), "the run ndarray: the array has 1 dimensions, not 2; give one row of item ids for each"),
    "float ids": ([[1.5, 2.5]], "the run list: query 0, item 1: the item id 1.5 is of type float, not a string"),
    "listed twice": ([[7, 7]], "the item '7' is listed twice for query '0'"),
    "no items": ([[1], 5], "[1] is not a (query, item, score) tuple; give three values per row, or a list of items"),
    "records": ([{"query": 1, "item": 2, "score": 3}], "is not a (query, item, score) tuple"),
    "shapes": ((SCORES, LABELS[:1]), "the scores have the shape (2, 3) and the labels (1, 3); give both as one search"),
    "nan": ((SCORES * np.nan, LABELS), "the result of the search: query 0, place 1: the score 'nan' is not a finite"),
    "a set in a run": ([{1, 2}], "query 0: the query holds {1, 2} of type set, not its items"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_list_of_items_is_refused_in_one_sentence(case):
    data, message = BAD[case]
    with pytest.raises(gr.InputError) as caught:
        gr.Run(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_scores_are_no_gold():
    with pytest.raises(gr.InputError, match="scores and labels of a search are a run, not gold; give the labels alone"):
        gr.Gold((SCORES, LABELS))
