"""Counting a block of scores against limits: both twins do what the definition says, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goldrank.native import counting_fallback

try:
    from goldrank.native import _counting
except ImportError:
    _counting = None

needs_compiled = pytest.mark.skipif(_counting is None, reason="the extension is not built")
TWINS = [counting_fallback, pytest.param(_counting, marks=needs_compiled)]
EDGES = [0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 1e-45, -1e-45, 3e38, -3e38, -np.inf]


@st.composite
def blocks(draw: st.DrawFn) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]]:
    """Scores in which limits, their neighbours and extremes are common, sometimes as a slice of a wider block."""
    rows, columns = draw(st.integers(0, 70)), draw(st.integers(0, 600))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    low = rng.choice(EDGES, columns).astype(dtype)
    high = np.maximum(low, rng.choice(EDGES, columns).astype(dtype))
    scores = rng.choice(EDGES, (rows, columns + draw(st.integers(0, 3)))).astype(dtype)
    return scores[:, :columns], low, high


@pytest.mark.parametrize("twin", TWINS)
@given(blocks())
def test_counts_and_places_are_those_of_the_definition(twin, block):
    scores, low, high = block
    above, reached = np.full(len(low), -1), np.full(len(low), -1)
    twin.count_beyond(scores, low, high, above, reached)
    assert above.tolist() == (scores > high).sum(axis=0).tolist()
    assert reached.tolist() == (scores >= low).sum(axis=0).tolist()
    places = np.frombuffer(twin.places_between(scores, low, high), np.int64)
    assert places.tolist() == np.flatnonzero((scores >= low) & (scores <= high)).tolist()


@st.composite
def vectors(draw: st.DrawFn) -> tuple[NDArray[np.floating], NDArray[np.int64], NDArray[np.float64]]:
    rows, width = draw(st.integers(1, 20)), draw(st.integers(0, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    items = (rng.standard_normal((rows, width + 2)) * 10.0 ** rng.integers(-9, 9)).astype(
        draw(st.sampled_from([np.float32, np.float64]))
    )
    return items[:, :width], rng.integers(0, rows, draw(st.integers(0, 30))), rng.standard_normal(width)


@needs_compiled
@given(vectors(), st.booleans())
def test_both_twins_score_rows_alike_to_the_last_bit(given_vectors, squared):
    items, numbers, query = given_vectors
    ours, theirs = np.zeros(len(numbers)), np.ones(len(numbers))
    _counting.row_scores(items, numbers, query, squared, ours)
    counting_fallback.row_scores(items, numbers, query, squared, theirs)
    assert ours.tobytes() == theirs.tobytes()
    wide = items[numbers].astype(np.float64)
    exact = -np.square(wide - query).sum(axis=1) if squared else wide @ query
    sizes = np.square(wide - query).sum(axis=1) if squared else np.abs(wide) @ np.abs(query)
    assert (np.abs(ours - exact) <= 1e-14 * (sizes + 1e-300)).all()


@needs_compiled
@given(vectors())
def test_both_twins_score_pairs_as_they_score_rows(given_vectors):
    items, numbers, query = given_vectors
    queries = np.stack([query, 3 * query])
    columns = np.arange(len(numbers)) % 2
    ours, theirs = np.zeros(len(numbers)), np.ones(len(numbers))
    _counting.pair_scores(items, numbers, queries, columns, ours)
    counting_fallback.pair_scores(items, numbers, queries, columns, theirs)
    assert ours.tobytes() == theirs.tobytes()
    _counting.row_scores(items, numbers, query, False, theirs)
    assert ours[::2].tobytes() == theirs[::2].tobytes()


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("number", [-1, 2])
def test_a_number_of_no_item_is_refused(twin, number):
    with pytest.raises(ValueError, match="no item"):
        twin.row_scores(np.zeros((2, 3)), np.array([number]), np.zeros(3), False, np.zeros(1))


@needs_compiled
@pytest.mark.parametrize(
    ("scores", "low", "counts"),
    [
        (np.zeros((2, 3), np.float16), np.zeros(3, np.float16), np.zeros(3, np.int64)),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.float64), np.zeros(3, np.int64)),
        (np.zeros((2, 3), np.float32), np.zeros(2, np.float32), np.zeros(3, np.int64)),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.float32), np.zeros(3, np.int32)),
        (np.zeros((2, 3), np.float32), np.zeros(3, np.float32), np.zeros(4, np.int64)),
        (np.zeros((3, 2), np.float32).T, np.zeros(3, np.float32), np.zeros(3, np.int64)),
        (np.zeros(3, np.float32), np.zeros(3, np.float32), np.zeros(3, np.int64)),
    ],
    ids=["half precision", "mixed types", "too few limits", "narrow counts", "too many counts", "gaps", "one row"],
)
def test_arrays_that_do_not_fit_are_refused(scores, low, counts):
    with pytest.raises(ValueError, match=r"array|scores|limit|count"):
        _counting.count_beyond(scores, low, low, counts, counts.copy())
