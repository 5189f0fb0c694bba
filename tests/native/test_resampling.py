"""Test that both implementations of resampling draw, add and multiply as defined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.cases import implementations, needs_compiled

_, compiled, both_implementations = implementations("resampling")
SEEDS = st.integers(0, 2**32)


def generator(seed: int) -> tuple[np.random.SFC64, np.ndarray]:
    """Return a NumPy generator and the numbers of its state."""
    bits = np.random.SFC64(seed)
    bits.random_raw(3)
    return bits, bits.state["state"]["state"].view(np.int64).copy()


@both_implementations
@given(SEEDS, st.integers(0, 2000), st.lists(st.integers(0, 255), min_size=1, max_size=6))
def test_bytes_are_those_of_numpy_and_counted_by_the_thresholds(module, seed, words, thresholds):
    bits, state = generator(seed)
    counts = np.full(8 * words, 77, np.uint8)
    module.draw_counts(state, np.array(thresholds, np.uint8), counts)
    raw = np.asarray(bits.random_raw(words), "<u8").view(np.uint8)
    assert counts.tolist() == (raw[:, None] >= np.array(thresholds)).sum(axis=1).tolist()
    assert state.tolist() == bits.state["state"]["state"].view(np.int64).tolist()


@both_implementations
@given(SEEDS, st.integers(0, 2000))
def test_bits_are_those_of_numpys_words(module, seed, words):
    bits, state = generator(seed)
    counts = np.full(4 * words, 77, np.uint8)
    module.draw_bit_counts(state, counts)
    raw = np.asarray(bits.random_raw(words), "<u8").view("<u2")
    assert counts.tolist() == [word.bit_count() for word in raw.tolist()]
    assert state.tolist() == bits.state["state"]["state"].view(np.int64).tolist()


@both_implementations
@given(st.integers(0, 1100), st.integers(1, 90), SEEDS)
def test_columns_add_up(module, rows, columns, seed):
    counts = np.random.default_rng(seed).choice(np.array([0, 1, 255], np.uint8), (rows, columns))
    totals = np.full(columns, -1, np.int64)
    module.sum_columns(counts, totals)
    assert totals.tolist() == counts.sum(axis=0, dtype=np.int64).tolist()


@both_implementations
@given(st.integers(1, 50), st.integers(1, 20), SEEDS)
def test_draws_are_added_to_their_columns(module, rows, columns, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, (rows, columns)).astype(np.uint8)
    numbers = rng.integers(0, 12, columns)
    uniforms = rng.choice([0.0, 0.5, np.nextafter(1.0, 0.0), rng.random()], int(numbers.sum()))
    expected = counts.copy()
    for column, row in zip(np.repeat(np.arange(columns), numbers), (uniforms * rows).astype(int), strict=True):
        expected[row, column] += 1
    module.add_draws(counts, numbers, uniforms)
    assert counts.tolist() == expected.tolist()


@both_implementations
@given(st.integers(0, 300), st.integers(1, 30), st.integers(1, 20), st.integers(0, 3), SEEDS)
def test_sums_of_integers_are_exact(module, rows, columns, quantities, cut, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 256, (rows, columns + cut)).astype(np.uint8)[:, :columns]
    weights = rng.integers(-(2**35), 2**35, (rows, quantities))
    sums = rng.integers(0, 9, (quantities, columns)).astype(np.float64)
    expected = sums + weights.T @ counts.astype(np.int64)
    module.add_weighted_sums(counts, weights.astype(np.float64), sums)
    assert sums.tolist() == expected.tolist()


HARD = st.sampled_from([2.0**-53, 2.0**-52, 1.0, -1.0, 0.1, 2.0**53, 1e300, -1e300, 5e-324])


@both_implementations
@given(st.lists(st.floats(-1e9, 1e9) | HARD, max_size=60), st.booleans())
def test_a_certified_sum_is_rounded_once(module, values, cancel):
    total = module.certified_sum(np.array([*values, *(-value for value in values if cancel)], np.float64))
    assert total in (None, math.fsum([] if cancel else values))


@needs_compiled
def test_sums_of_scores_are_certified():
    values = np.random.default_rng(0).random(5000)
    assert compiled.certified_sum(values) == math.fsum(values)


@both_implementations
@given(st.integers(1, 40), st.integers(0, 60), SEEDS)
def test_signs_are_the_bits_of_the_words(module, words, chosen, seed):
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 65536, words).astype(np.uint16)
    places = rng.integers(0, words, chosen)
    sizes = rng.integers(0, 1000, 16).astype(np.float64)
    sums = np.ones(chosen)
    module.add_signed_sums(signs, places, sizes, sums)
    positive = (signs[places, None] >> np.arange(16)) & 1
    assert sums.tolist() == (1 + np.where(positive, sizes, -sizes).sum(axis=1)).tolist()


@needs_compiled
def test_both_implementations_round_alike():
    rng = np.random.default_rng(4)
    signs, places, sizes = rng.integers(0, 65536, 900).astype(np.uint16), np.arange(900), rng.random(16)
    from goldrank.native.fallback import resampling as fallback

    results = [np.zeros(900), np.zeros(900)]
    for module, sums in zip((compiled, fallback), results, strict=True):
        for _ in range(3):
            module.add_signed_sums(signs, places, sizes, sums)
    assert results[0].tobytes() == results[1].tobytes()


STATE, BYTES, FLOATS = np.zeros(4, np.int64), np.zeros((2, 3), np.uint8), np.zeros(3)


@needs_compiled
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("draw_counts", (np.zeros(3, np.int64), BYTES[0], np.zeros(8, np.uint8))),
        ("draw_counts", (STATE, BYTES[0], np.zeros(9, np.uint8))),
        ("draw_counts", (STATE.astype(np.float64), BYTES[0], np.zeros(8, np.uint8))),
        ("draw_bit_counts", (STATE, np.zeros(5, np.uint8))),
        ("sum_columns", (BYTES, np.zeros(2, np.int64))),
        ("add_draws", (BYTES, np.array([1, 1]), FLOATS)),
        ("add_draws", (BYTES, np.array([2, 1, 1]), FLOATS)),
        ("add_draws", (BYTES, np.array([-1, 1, 1]), FLOATS)),
        ("add_draws", (BYTES, np.array([1, 1, 1]), np.array([0.1, 1.0, 0.1]))),
        ("add_draws", (BYTES, np.array([1, 1, 1]), np.array([0.1, np.nan, 0.1]))),
        ("add_weighted_sums", (BYTES, np.zeros((3, 1)), np.zeros((1, 3)))),
        ("add_weighted_sums", (BYTES, np.zeros((2, 1)), np.zeros((2, 3)))),
        ("add_weighted_sums", (BYTES, np.zeros((2, 1)), np.zeros((1, 2)))),
        ("add_signed_sums", (np.zeros(2, np.uint16), np.array([0, 2]), np.zeros(16), np.zeros(2))),
        ("add_signed_sums", (np.zeros(2, np.uint16), np.array([0, -1]), np.zeros(16), np.zeros(2))),
        ("add_signed_sums", (np.zeros(2, np.uint16), np.array([0]), np.zeros(15), np.zeros(1))),
        ("add_signed_sums", (np.zeros(2, np.uint16), np.array([0]), np.zeros(16), np.zeros(2))),
    ],
)
def test_arrays_that_do_not_fit_are_refused(function, arguments):
    copies = tuple(argument.copy() for argument in arguments)
    with pytest.raises(ValueError, match=r"\w"):
        getattr(compiled, function)(*copies)
