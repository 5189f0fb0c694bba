"""The numbers of the BGE evaluation tutorial, as printed and corrected."""

import numpy as np
import pytest

import goldrank as gr

pytestmark = pytest.mark.conformance

# As the notebook writes them, blanks included.
# fmt: off
GROUND_TRUTH = [
    [11,  1,  7, 17, 21],
    [ 4, 16,  1],
    [26, 10, 22,  8],
]
RESULTS = [
    [11,  1, 17,  7, 21,  8,  0, 28,  9, 20],
    [16,  1,  6, 18,  3,  4, 25, 19,  8, 14],
    [24, 10, 26,  2,  8, 28,  4, 23, 13, 21],
]
# fmt: on
CUTOFFS = [1, 5, 10]


def at_cutoffs(metric, run=RESULTS, gold=GROUND_TRUTH, **options):
    names = [f"{metric}@{k}" for k in CUTOFFS]
    scores = gr.score(gold, run, names, **options)
    return [round(scores[name].value, 4) for name in names]


@pytest.mark.parametrize(
    ("metric", "printed", "right"),
    [
        ("recall", [0.6667, 0.8056, 0.9167], [0.1778, 0.8056, 0.9167]),
        ("mrr", [0.6667, 0.8333, 0.8333], [0.6667, 0.8333, 0.8333]),
        ("precision", [0.6667, 0.6667, 0.3667], [0.6667, 0.6667, 0.3667]),
        ("map", [0.6667, 0.8630, 0.8074], [0.1778, 0.7028, 0.7583]),
        ("ndcg", [0.6667, 0.7860, 0.8417], [0.6667, 0.7860, 0.8417]),
    ],
)
def test_every_metric_as_printed_and_as_right(metric, printed, right):
    assert at_cutoffs(metric, profile="bge") == printed
    assert at_cutoffs(metric) == right


def test_map_over_min_k_r_is_the_third_convention():
    assert at_cutoffs("map(denominator=min)") == [0.6667, 0.7028, 0.7583]


def test_the_printed_ndcg_comes_from_passing_ids_as_scores():
    mistaken = [{item: item for item in items} for items in RESULTS]
    assert at_cutoffs("ndcg", run=mistaken, profile="sklearn") == [0.0, 0.3298, 0.5956]


def test_map_over_hits_falls_with_k_which_no_right_average_precision_can():
    printed, right = at_cutoffs("map", profile="bge"), at_cutoffs("map")
    assert printed[1] > printed[2]
    assert right == sorted(right)


FORMS = {
    "lists": (GROUND_TRUTH, RESULTS),
    "tuples of lists": (tuple(GROUND_TRUTH), tuple(RESULTS)),
    "sets and an array": (list(map(set, GROUND_TRUTH)), np.array(RESULTS)),
    "lists of arrays": (list(map(np.array, GROUND_TRUTH)), list(np.array(RESULTS))),
    "dicts with integer keys": (dict(enumerate(GROUND_TRUTH)), dict(enumerate(RESULTS))),
    "dicts of dicts": (
        {query: dict.fromkeys(items, 1) for query, items in enumerate(GROUND_TRUTH)},
        {query: {item: -place for place, item in enumerate(items)} for query, items in enumerate(RESULTS)},
    ),
    "a Gold and a Run": (gr.Gold(GROUND_TRUTH), gr.Run(RESULTS)),
    "scores and labels": (GROUND_TRUTH, (np.tile(np.arange(10, 0, -1.0), (3, 1)), np.array(RESULTS))),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_python_form_of_the_lists_gives_the_same_values(form):
    gold, run = FORMS[form]
    assert at_cutoffs("recall", run, gold) == [0.1778, 0.8056, 0.9167]
    assert at_cutoffs("map", run, gold, profile="bge") == [0.6667, 0.8630, 0.8074]


def test_the_lists_are_compared_too():
    runs = {"results": RESULTS, "reversed": [items[::-1] for items in RESULTS]}
    (pair,) = gr.compare(GROUND_TRUTH, runs, "mrr").pairs
    assert (pair.a, pair.b, pair.queries) == ("results", "reversed", 3)
    assert pair.difference == pytest.approx((1 / 6 + 1 / 5 + 1 / 6) / 3 - 5 / 6)


def test_the_lists_of_the_faiss_notebook_with_three_results_are_read_as_the_ground_truth_is():
    # The notebook searches with k=3; three whole numbers alone could be a (query, item, grade) row.
    ids = [[9, 7, 2], [3, 1, 8], [5, 0, 4]]
    assert gr.score([[9], [3, 1], [5]], ids, "mrr")["mrr"].mean == 1.0
    assert gr.score([[7], [8, 1], [4]], ids, "mrr")["mrr"].mean == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)


def test_texts_that_zip_would_cut_off_are_refused():
    # The MS MARCO notebook zips 100 results with the ground truth of all queries, and zip drops the rest.
    with pytest.raises(gr.InputError) as caught:
        gr.score(GROUND_TRUTH, RESULTS[:2], "mrr")
    assert str(caught.value) == (
        "the gold has lists for 3 queries and the run for 2, and only their positions say which belong together; give "
        "one list for each query in both, an empty one where nothing was found, or dicts by query"
    )
