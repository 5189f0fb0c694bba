"""The numbers of the BGE evaluation tutorial, as it prints them and as they are right."""

import pytest

import goldrank as gr

pytestmark = pytest.mark.conformance

GROUND_TRUTH = [[11, 1, 7, 17, 21], [4, 16, 1], [26, 10, 22, 8]]
RESULTS = [
    [11, 1, 17, 7, 21, 8, 0, 28, 9, 20],
    [16, 1, 6, 18, 3, 4, 25, 19, 8, 14],
    [24, 10, 26, 2, 8, 28, 4, 23, 13, 21],
]
GOLD = {f"q{i}": {str(item): 1 for item in items} for i, items in enumerate(GROUND_TRUTH)}
RUN = {f"q{i}": {str(item): 10.0 - place for place, item in enumerate(items)} for i, items in enumerate(RESULTS)}


def at_cutoffs(metric, run=RUN, **options):
    names = [f"{metric}@{k}" for k in (1, 5, 10)]
    scores = gr.score(GOLD, run, names, **options)
    return [round(scores[name].mean, 4) for name in names]


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
    mistaken = {f"q{i}": {str(item): float(item) for item in items} for i, items in enumerate(RESULTS)}
    assert at_cutoffs("ndcg", run=mistaken, profile="sklearn") == [0.0, 0.3298, 0.5956]


def test_map_over_hits_falls_with_k_which_no_right_average_precision_can():
    printed, right = at_cutoffs("map", profile="bge"), at_cutoffs("map")
    assert printed[1] > printed[2]
    assert right == sorted(right)
