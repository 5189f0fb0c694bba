"""Similarities: the tutorial's numbers, both shapes of call, both precisions, dense and sparse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from goldrank.errors import InputError
from goldrank.vectors.similarity import SIMILARITIES, jaccard, normalised, pairwise, rowwise

VECTOR_NAMES = [name for name, declared in SIMILARITIES.items() if declared.of == "vectors"]
SPARSE_NAMES = [name for name in VECTOR_NAMES if SIMILARITIES[name].sparse]
A, B = [[5, 2, 2, 6]], [[4, 6, 6, 4]]


def by_definition(a, b, name):
    a, b = a.astype(np.float64), b.astype(np.float64)
    dot, lengths = float(a @ b), float(np.linalg.norm(a) * np.linalg.norm(b))
    distance = float(np.linalg.norm(a - b))
    return {
        "dot": dot,
        "cosine": dot / lengths if lengths else 0.0,
        "euclidean": distance,
        "euclidean_similarity": 1 / (1 + distance),
        "manhattan": float(np.abs(a - b).sum()),
    }[name]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("a b", "b c", 1 / 3),
        ("a b c d e f", "f g h i j k l", 1 / 12),
        ("a b c d e f", "a b c d e g h", 5 / 8),
        ("a b c d e f g", "g h i j k l m", 1 / 13),
    ],
)
def test_jaccard_gives_the_shares_of_the_tutorial(left, right, expected):
    assert jaccard(left, right) == pytest.approx(expected)
    assert jaccard(right, left) == jaccard(left, right)


def test_jaccard_takes_any_tokens_and_calls_two_empty_texts_equal():
    assert jaccard(list("ab"), list("bc")) == pytest.approx(1 / 3)
    assert jaccard("", " ") == 1.0
    assert jaccard("", "a") == 0.0


@pytest.mark.parametrize(("name", "value"), [("dot", 68), ("cosine", 0.8027267), ("euclidean", 6.0827627)])
@pytest.mark.parametrize("call", [pairwise, rowwise])
def test_vectors_of_the_tutorial_give_its_numbers(name, value, call):
    assert float(call(A, B, name).reshape(-1)[0]) == pytest.approx(value, abs=3e-7)


@pytest.mark.parametrize(("cosine", "distance"), [(0.744664, 0.714613), (0.824088, 0.593147)])
def test_distance_of_unit_vectors_follows_from_their_cosine(cosine, distance):
    a, b = np.array([[1.0, 0.0]]), np.array([[cosine, math.sqrt(1 - cosine**2)]])
    assert rowwise(a, b, "euclidean")[0] == pytest.approx(distance, abs=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", VECTOR_NAMES)
def test_pairwise_and_rowwise_follow_the_definition_in_the_precision_given(name, dtype):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((7, 5)).astype(dtype), rng.standard_normal((7, 5)).astype(dtype)
    a[2] = 0
    table, row = pairwise(a, b, name), rowwise(a, b, name)
    assert table.dtype == row.dtype == dtype
    expected = [[by_definition(x, y, name) for y in b] for x in a]
    np.testing.assert_allclose(table, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(row, np.diagonal(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", SPARSE_NAMES)
def test_sparse_vectors_give_what_dense_ones_do(name):
    rng = np.random.default_rng(1)
    a, b = (sparse.random(9, 30, 0.2, "csr", np.float64, rng) for _ in range(2))
    np.testing.assert_allclose(pairwise(a, b, name), pairwise(a.toarray(), b.toarray(), name), atol=1e-7)
    np.testing.assert_allclose(rowwise(a, b, name), rowwise(a.toarray(), b.toarray(), name), atol=1e-7)


@pytest.mark.parametrize("name", VECTOR_NAMES)
def test_result_does_not_depend_on_the_block_size(name, monkeypatch):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((23, 6)), rng.standard_normal((17, 6))
    whole = pairwise(a, b, name), rowwise(a[:17], b, name)
    monkeypatch.setattr("goldrank.vectors.similarity._BLOCK_ELEMENTS", 40)
    np.testing.assert_allclose(pairwise(a, b, name), whole[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rowwise(a[:17], b, name), whole[1], rtol=1e-12, atol=1e-12)


finite = st.floats(-(2.0**60), 2.0**60, width=32)


@given(arrays.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=finite))
def test_cosine_is_never_outside_its_range_and_zero_for_zero_vectors(rows):
    table = pairwise(rows, rows, "cosine")
    assert np.isfinite(table).all()
    assert np.abs(table).max() <= 1
    assert not table[~rows.any(axis=1)].any()


def test_cosine_of_float32_self_pairs_is_clipped_where_the_product_exceeds_one():
    rows = np.random.default_rng(0).standard_normal((1000, 384)).astype(np.float32)
    unit = normalised(rows)
    assert ((unit * unit).sum(axis=1) > 1).any()
    assert rowwise(rows, rows, "cosine").max() <= 1


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e18, 1e300])
def test_normalising_survives_the_largest_and_smallest_numbers(scale):
    dtype = np.float32 if 1e-40 < scale < 1e30 else np.float64
    rows = (np.array([[3.0, 4.0], [0.0, 0.0]]) * scale).astype(dtype)
    np.testing.assert_allclose(normalised(rows), [[0.6, 0.8], [0, 0]], rtol=1e-6)
    np.testing.assert_allclose(normalised(sparse.csr_matrix(rows)).toarray(), [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_equal_vectors_have_distance_zero():
    rows = np.random.default_rng(3).standard_normal((5, 100)).astype(np.float32)
    assert not np.diagonal(pairwise(rows, rows, "euclidean")).any()
    assert (rowwise(rows, rows, "euclidean_similarity") == 1).all()


@pytest.mark.parametrize("name", VECTOR_NAMES)
def test_values_lie_in_the_declared_range_and_direction_tells_alike_from_apart(name):
    declared = SIMILARITIES[name]
    near, far = pairwise([[1.0, 1.0]], [[1.0, 1.0], [-3.0, -2.0]], name)[0]
    assert declared.low <= min(near, far) <= max(near, far) <= declared.high
    assert (near > far) == (declared.direction == "higher")
    assert declared.formula
    assert declared.zero


def with_value(value):
    rows = np.ones((4, 3))
    rows[2, 1] = value
    return rows


@pytest.mark.parametrize(
    ("a", "b", "name", "message"),
    [
        ([[1.0, 2.0], [1.0]], [[1.0, 2.0]], "dot", "the first set: the rows differ in length; give vectors of one"),
        (np.ones((4, 3)), with_value(np.nan), "dot", "the second set: the vector of row 2 holds NaN"),
        (sparse.csr_matrix(with_value(np.inf)), sparse.csr_matrix((1, 3)), "dot", "the first set: .*row 2"),
        ([[1.0, 2.0]], [[1.0]], "cosine", "2 dimensions and the second of 1; encode both"),
        ([1.0, 2.0], [[1.0]], "cosine", "1 axes instead of 2; give one row"),
        ([["a"]], [[1.0]], "cosine", "not real numbers; give a float32"),
        (A, B, "cosin", "no similarity 'cosin'; did you mean 'cosine'"),
        (A, B, "jaccard", "jaccard compares token sets, not vectors; call jaccard"),
        (sparse.csr_matrix(A), sparse.csr_matrix(B), "manhattan", "manhattan does not take sparse"),
        (sparse.csr_matrix(A), B, "dot", "one set of vectors is dense and the other sparse; give both"),
    ],
)
def test_bad_vectors_are_refused_with_place_and_remedy(a, b, name, message):
    with pytest.raises(InputError, match=message):
        pairwise(a, b, name)


def test_rowwise_needs_as_many_rows_on_both_sides():
    with pytest.raises(InputError, match="2 rows and the second 1; give as many"):
        rowwise(A * 2, B, "dot")
