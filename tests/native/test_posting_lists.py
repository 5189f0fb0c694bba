"""Test that both implementations rank items by the sum of their weights, and break ties by item order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.cases import implementations, needs_compiled

_, compiled, both_implementations = implementations("posting_lists")


@st.composite
def searches(draw: st.DrawFn):
    """Generate lists with many equal and zero weights, and queries with repeated words and without words."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size, vocabulary, queries = draw(st.integers(1, 3000)), draw(st.integers(1, 8)), draw(st.integers(0, 4))
    lists = [np.flatnonzero(rng.random(size) < rng.choice([0.0, 0.1, 0.9])) for _ in range(vocabulary)]
    starts = np.cumsum([0, *map(len, lists)])
    weights = rng.choice([0.0, 0.1, 0.2, 0.3, 1e16, -0.5], starts[-1])
    words = [rng.integers(0, vocabulary, rng.integers(0, 5)) for _ in range(queries)]
    bounds = np.cumsum([0, *map(len, words)])
    flat = np.concatenate([np.zeros(0, np.int64), *words])
    items = np.concatenate([np.zeros(0, np.int64), *lists]).astype(np.int32)
    bases = rng.choice([0.0, 0.7], queries)
    return starts, items, weights, rng.permutation(size), flat, bounds, bases, draw(st.integers(1, 3000))


@both_implementations
@given(searches())
def test_results_are_those_of_the_definition(module, search):
    starts, items, weights, order, words, bounds, bases, depth = search
    positions, scores = np.empty((len(bases), depth), np.int64), np.empty((len(bases), depth))
    counts = np.empty(len(bases), np.int64)
    module.search_postings(starts, items, weights, order, words, bounds, bases, positions, scores, counts)
    for query, base in enumerate(bases.tolist()):
        sums: dict[int, float] = {}
        for word in words[bounds[query] : bounds[query + 1]].tolist():
            span = slice(starts[word], starts[word + 1])
            for item, weight in zip(items[span].tolist(), weights[span].tolist(), strict=True):
                sums[item] = sums.get(item, 0.0) + weight
        expected = sorted(((total + base, order[item], item) for item, total in sums.items()), reverse=True)[:depth]
        assert positions[query, : counts[query]].tolist() == [item for _, _, item in expected]
        assert scores[query, : counts[query]].tolist() == [score for score, _, _ in expected]


def arguments(**changes):
    """Return the arguments of a search in two lists over three items for one query."""
    valid = {
        "starts": np.array([0, 2, 3]),
        "items": np.array([0, 2, 1], np.int32),
        "weights": np.ones(3),
        "order": np.arange(3),
        "words": np.array([0, 1]),
        "bounds": np.array([0, 2]),
        "bases": np.zeros(1),
        "positions": np.zeros((1, 2), np.int64),
        "scores": np.zeros((1, 2)),
        "counts": np.zeros(1, np.int64),
    }
    return list((valid | changes).values())


@needs_compiled
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("starts", np.array([0, 2, 4])),
        ("starts", np.array([2, 0, 3])),
        ("starts", np.zeros(0, np.int64)),
        ("items", np.array([0, 3, 1], np.int32)),
        ("items", np.array([0, -1, 1], np.int32)),
        ("items", np.array([0, 2, 1])),
        ("weights", np.ones(2)),
        ("weights", np.ones(3, np.float32)),
        ("words", np.array([0, 2])),
        ("words", np.array([0, -1])),
        ("bounds", np.array([0, 3])),
        ("bounds", np.array([0])),
        ("bases", np.zeros(2)),
        ("positions", np.zeros((1, 0), np.int64)),
        ("scores", np.zeros((2, 2))),
        ("scores", np.zeros((1, 3))),
        ("counts", np.zeros(2, np.int64)),
    ],
)
def test_arguments_that_do_not_fit_are_refused(name, value):
    compiled.search_postings(*arguments())
    with pytest.raises(ValueError, match=r"outside the lists|one weight for each|one row of results|wrong type"):
        compiled.search_postings(*arguments(**{name: value}))
