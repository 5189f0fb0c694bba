"""Test that both implementations of pair scoring give bit-identical scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goldrank.vectors.similarity import normalised, normalising_divisors
from native.cases import implementations, needs_compiled

fallback, compiled, both_implementations = implementations("pair_scoring")


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
def test_rows_are_scored_alike_to_the_last_bit(given_vectors, squared):
    items, numbers, query = given_vectors
    ours, theirs = np.zeros(len(numbers)), np.ones(len(numbers))
    compiled.score_rows(items, numbers, query, squared, ours)
    fallback.score_rows(items, numbers, query, squared, theirs)
    assert ours.tobytes() == theirs.tobytes()
    wide = items[numbers].astype(np.float64)
    exact = -np.square(wide - query).sum(axis=1) if squared else wide @ query
    sizes = np.square(wide - query).sum(axis=1) if squared else np.abs(wide) @ np.abs(query)
    assert (np.abs(ours - exact) <= 1e-14 * (sizes + 1e-300)).all()


@needs_compiled
@given(vectors())
def test_pairs_are_scored_as_rows_are(given_vectors):
    items, numbers, query = given_vectors
    queries = np.stack([query, 3 * query])
    columns = np.arange(len(numbers)) % 2
    ours, theirs = np.zeros(len(numbers)), np.ones(len(numbers))
    compiled.score_pairs(items, numbers, queries, columns, ours)
    fallback.score_pairs(items, numbers, queries, columns, theirs)
    assert ours.tobytes() == theirs.tobytes()
    compiled.score_rows(items, numbers, query, False, theirs)
    assert ours[::2].tobytes() == theirs[::2].tobytes()


@needs_compiled
@given(vectors())
def test_divided_rows_are_scored_as_normalised_rows_are(given_vectors):
    items, numbers, query = given_vectors
    items = items.astype(np.float32)
    with np.errstate(all="ignore"):
        lengths = normalising_divisors(items)
    ours, theirs, normal = (np.zeros(len(numbers)) for _ in range(3))
    compiled.score_divided_rows(items, lengths, numbers, query, ours)
    fallback.score_divided_rows(items, lengths, numbers, query, theirs)
    assert ours.tobytes() == theirs.tobytes()
    compiled.score_rows(normalised(items), numbers, query, False, normal)
    assert ours.tobytes() == normal.tobytes()


@both_implementations
@pytest.mark.parametrize("number", [-1, 2])
def test_a_row_number_outside_the_items_is_refused(module, number):
    with pytest.raises(ValueError, match="row number"):
        module.score_rows(np.zeros((2, 3)), np.array([number]), np.zeros(3), False, np.zeros(1))
