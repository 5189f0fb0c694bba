"""Test that both implementations count scores beyond limits as defined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from native.cases import implementations, needs_compiled

_, compiled, both_implementations = implementations("score_counting")
EDGES = [0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 1e-45, -1e-45, 3e38, -3e38, -np.inf]


@st.composite
def blocks(draw: st.DrawFn) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]]:
    """Generate scores with many limits, neighbours of limits and extremes, sometimes as a slice of a wider block."""
    rows, columns = draw(st.integers(0, 70)), draw(st.integers(0, 600))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    low = rng.choice(EDGES, columns).astype(dtype)
    high = np.maximum(low, rng.choice(EDGES, columns).astype(dtype))
    scores = rng.choice(EDGES, (rows, columns + draw(st.integers(0, 3)))).astype(dtype)
    return scores[:, :columns], low, high


@both_implementations
@given(blocks())
def test_counts_and_places_are_those_of_the_definition(module, block):
    scores, low, high = block
    above, reached = np.full(len(low), -1), np.full(len(low), -1)
    module.count_beyond(scores, low, high, above, reached)
    assert above.tolist() == (scores > high).sum(axis=0).tolist()
    assert reached.tolist() == (scores >= low).sum(axis=0).tolist()
    places = np.frombuffer(module.find_between(scores, low, high), np.int64)
    assert places.tolist() == np.flatnonzero((scores >= low) & (scores <= high)).tolist()


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
    with pytest.raises(ValueError, match=r"array|scores"):
        compiled.count_beyond(scores, low, low, counts, counts.copy())
