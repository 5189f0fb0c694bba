"""Transforms: each compared with a plain reference, and properties that all of them have."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from goldrank.errors import GoldrankError, InputError
from goldrank.vectors import transform_kinds, transforms
from goldrank.vectors.transforms import Pipeline
from vectors.transform_cases import KINDS, LEARNING, LONG, cloud, same_bits

components = st.floats(-100, 100, width=32)
any_vectors = hnp.arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 8)), elements=components)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("text", [*KINDS, LONG, "none"])
def test_a_pipeline_reads_back_from_its_own_text(text):
    assert str(Pipeline.parse(text)) == text


@pytest.mark.parametrize(("text", "same"), [("", "none"), (" Center | WHITEN:3 ", "center|whiten:3"), ("NONE", "none")])
def test_case_and_blanks_do_not_matter(text, same):
    assert str(Pipeline.parse(text)) == same


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("centre", "did you mean 'center'"),
        ("pca", "needs a whole number"),
        ("pca:0", "needs a whole number"),
        ("pca:-1", "needs a whole number"),
        ("pca:²", "needs a whole number"),
        ("abtt:x", "needs a whole number"),
        ("whiten:", "needs a whole number"),
        ("center:3", "takes no number"),
        ("center||normalize", "there is no transform ''"),
    ],
)
def test_a_pipeline_that_does_not_read_says_why(text, says):
    with pytest.raises(InputError, match=says):
        Pipeline.parse(text)


@given(any_vectors)
def test_none_changes_nothing(vectors):
    assert same_bits(Pipeline.parse("none").apply(vectors), vectors)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
def test_center_takes_the_mean_away(dtype):
    vectors = cloud(dtype=dtype)
    transformed = Pipeline.parse("center").fit(vectors).apply(vectors)
    np.testing.assert_allclose(transformed, vectors - vectors.mean(axis=0, dtype=np.float64), atol=1e-5)


@given(any_vectors)
def test_standardize_gives_mean_0_and_variance_1_or_0(vectors):
    transformed = Pipeline.parse("standardize").fit(vectors).apply(vectors)
    np.testing.assert_allclose(transformed.mean(axis=0, dtype=np.float64), 0, atol=1e-5)
    spread = transformed.std(axis=0, dtype=np.float64)
    constant = (vectors == vectors[0]).all(axis=0)
    np.testing.assert_allclose(spread[constant], 0, atol=1e-5)
    np.testing.assert_allclose(spread[~constant], 1, rtol=1e-4)


@given(any_vectors)
def test_normalize_gives_length_1_and_leaves_zero_vectors(vectors):
    transformed = Pipeline.parse("normalize").apply(vectors)
    zero = ~vectors.any(axis=1)
    np.testing.assert_allclose(np.linalg.norm(transformed.astype(np.float64)[~zero], axis=1), 1, rtol=1e-6)
    assert not transformed[zero].any()


@pytest.mark.parametrize("size", [1e-300, 1e-40, 1e300])
def test_normalize_neither_underflows_nor_overflows(size):
    transformed = Pipeline.parse("normalize").apply(np.array([[3.0, -4.0]]) * size)
    np.testing.assert_allclose(transformed, [[0.6, -0.8]], rtol=1e-6)


def test_abtt_equals_a_plain_svd():
    vectors = cloud()
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    top = np.linalg.svd(centred, full_matrices=False)[2][:2]
    transformed = Pipeline.parse("abtt:2").fit(vectors).apply(vectors)
    np.testing.assert_allclose(transformed, centred - centred @ top.T @ top, atol=1e-5)


def test_abtt_applied_to_others_uses_the_mean_and_directions_it_was_fitted_on():
    vectors, others = cloud(seed=1), cloud(seed=2)
    mean = vectors.mean(axis=0, dtype=np.float64)
    top = np.linalg.svd(vectors - mean, full_matrices=False)[2][:1]
    transformed = Pipeline.parse("abtt:1").fit(vectors).apply(others)
    np.testing.assert_allclose(transformed, (others - mean) - (others - mean) @ top.T @ top, atol=1e-4)


@pytest.mark.oracle
def test_pca_equals_scikit_learn_up_to_sign():
    decomposition = pytest.importorskip("sklearn.decomposition")
    vectors = cloud(300, 12, dtype=np.float64)
    theirs = decomposition.PCA(5, svd_solver="full").fit_transform(vectors)
    ours = Pipeline.parse("pca:5").fit(vectors).apply(vectors)
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=1e-4)


@given(st.integers(2, 40), st.integers(1, 12), seeds)
def test_whitened_vectors_have_the_identity_as_covariance_on_the_fitted_directions(count, width, seed):
    vectors = np.random.default_rng(seed).standard_normal((count, width))
    pipeline = Pipeline.parse("whiten").fit(vectors)
    transformed = pipeline.apply(vectors).astype(np.float64)
    assert pipeline.dimension == transformed.shape[1] == min(count - 1, width)
    np.testing.assert_allclose(np.atleast_2d(np.cov(transformed.T)), np.eye(transformed.shape[1]), atol=1e-3)


def test_whiten_with_k_is_the_first_k_columns_of_whiten():
    vectors = cloud()
    whole = Pipeline.parse("whiten").fit(vectors).apply(vectors)
    np.testing.assert_allclose(Pipeline.parse("whiten:3").fit(vectors).apply(vectors), whole[:, :3], atol=1e-6)


def test_of_each_direction_the_one_with_a_positive_largest_component_is_taken():
    directions = transform_kinds.principal(transform_kinds.FitRows(200, 8, lambda: iter([cloud(dtype=np.float64)])))[2]
    assert (directions[np.abs(directions).argmax(axis=0), np.arange(8)] > 0).all()


@given(st.integers(1, 5), seeds)
def test_whiten_drops_directions_without_variance_and_says_how_many(rank, seed):
    rng = np.random.default_rng(seed)
    vectors = (rng.standard_normal((50, rank)) @ rng.standard_normal((rank, 8)) + 5).astype(np.float64)
    pipeline = Pipeline.parse("whiten").fit(vectors)
    assert pipeline.dimension == rank
    assert pipeline.notes == [
        f"whiten dropped {8 - rank} of 8 directions, whose variance is at most 1e-10 of the largest"
    ]
    np.testing.assert_allclose(np.atleast_2d(np.cov(pipeline.apply(vectors).T)), np.eye(rank), atol=1e-2)


def test_nothing_is_noted_where_nothing_was_dropped():
    assert Pipeline.parse("whiten|normalize").fit(cloud()).notes == []


@pytest.mark.parametrize("text", ["whiten:4", "pca:4", "abtt:4"])
def test_more_directions_than_the_rank_are_refused_with_the_rank(text):
    vectors = np.random.default_rng(0).standard_normal((4, 8))
    with pytest.raises(InputError, match=r"the 3 in which the 4 vectors of 8 dimensions .* ask for 3 at most"):
        Pipeline.parse(text).fit(vectors)


@pytest.mark.parametrize("vectors", [np.full((1, 4), 0.3), np.full((1000, 4), 0.1), np.zeros((5, 4))])
@pytest.mark.parametrize("text", ["whiten", "pca:1", "abtt:1"])
def test_vectors_that_do_not_differ_have_rank_0(vectors, text):
    with pytest.raises(InputError, match=r"the 0 in which .* fit on more vectors"):
        Pipeline.parse(text).fit(vectors)


@pytest.mark.parametrize("text", ["center", "standardize", "int8", "normalize", "binary", "center|normalize"])
def test_one_vector_is_enough_for_what_needs_no_directions(text):
    transformed = Pipeline.parse(text).fit([[1.0, -2.0]]).apply([[3.0, 4.0]])
    assert transformed.shape == (1, 2)
    assert np.isfinite(transformed).all()


def test_abtt_that_would_leave_nothing_is_refused():
    with pytest.raises(InputError, match="abtt:8 would remove all 8 dimensions"):
        Pipeline.parse("abtt:8").fit(cloud())


def test_truncate_keeps_the_first_dimensions_and_refuses_more_than_there_are():
    vectors = cloud()
    assert same_bits(Pipeline.parse("truncate:3").apply(vectors), np.ascontiguousarray(vectors[:, :3]))
    for method in (Pipeline.parse("truncate:9").fit, Pipeline.parse("truncate:9").apply):
        with pytest.raises(InputError, match="truncate:9 is more than the 8 dimensions"):
            method(vectors)


@given(any_vectors)
def test_int8_is_off_by_half_a_step_at_most_and_has_at_most_255_values(vectors):
    transformed = Pipeline.parse("int8").fit(vectors).apply(vectors)
    step = np.abs(vectors).max(axis=0) / 127
    assert (np.abs(transformed - vectors) <= step * 0.5001 + 1e-37).all()
    assert all(len(np.unique(np.abs(column))) <= 128 for column in transformed.T)


def test_int8_cuts_what_is_larger_than_anything_it_was_fitted_on():
    pipeline = Pipeline.parse("int8").fit([[1.0, 0.0], [-2.0, 0.0]])
    np.testing.assert_allclose(pipeline.apply([[5.0, 3.0], [-9.0, -3.0]]), [[2, 0], [-2, 0]], rtol=1e-6)


def test_binary_is_the_sign_and_zero_counts_as_negative():
    transformed = Pipeline.parse("binary").apply([[0.5, -0.1, 0.0, -0.0, 1e-30]])
    assert transformed.tolist() == [[1, -1, -1, -1, 1]]


@pytest.mark.parametrize("text", ["normalize", "int8", "binary", "truncate:1", "none"])
@given(vectors=any_vectors)
def test_doing_it_twice_is_doing_it_once(text, vectors):
    pipeline = Pipeline.parse(text).fit(vectors)
    once = pipeline.apply(vectors)
    twice = Pipeline.parse(text).apply(once) if not pipeline.learns else pipeline.apply(once)
    np.testing.assert_allclose(twice, once, rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("text", [*LEARNING, LONG])
def test_applying_changes_neither_the_pipeline_nor_the_vectors(text):
    vectors, others = cloud(seed=1), cloud(seed=2)
    pipeline = Pipeline.parse(text).fit(vectors)
    before, identity = others.copy(), pipeline.identity
    first = pipeline.apply(others)
    pipeline.apply(vectors)
    assert same_bits(pipeline.apply(others), first)
    assert same_bits(others, before)
    assert pipeline.identity == identity


@pytest.mark.parametrize("text", LEARNING)
def test_what_it_is_fitted_on_matters_and_shows_in_the_identity(text):
    first, second = (Pipeline.parse(text).fit(cloud(seed=seed)) for seed in (1, 2))
    assert first.identity != second.identity
    assert first.identity.startswith(f"{text}#")
    assert not same_bits(first.apply(cloud(seed=3)), second.apply(cloud(seed=3)))


def test_the_identity_of_what_learns_nothing_is_its_text():
    assert Pipeline.parse("truncate:2|normalize").identity == "truncate:2|normalize"
    assert Pipeline.parse("").identity == "none"


@pytest.mark.parametrize("text", LEARNING)
def test_applying_before_fitting_is_refused_and_names_fit(text, tmp_path):
    pipeline = Pipeline.parse(f"{text}|normalize")
    for call in (lambda: pipeline.apply(cloud()), lambda: pipeline.identity, lambda: pipeline.save(tmp_path / "p.npz")):
        with pytest.raises(GoldrankError, match="was not fitted; call fit"):
            call()
    assert pipeline.dimension is None
    assert not pipeline.fitted


def test_a_fit_that_fails_leaves_what_was_learnt_before():
    pipeline = Pipeline.parse("pca:3").fit(cloud())
    before = pipeline.identity
    with pytest.raises(InputError):
        pipeline.fit(np.zeros((3, 8)))
    assert pipeline.identity == before


@pytest.mark.parametrize("text", [*KINDS, LONG])
@given(cuts=st.lists(st.integers(0, 300), max_size=5))
def test_a_row_is_the_same_to_the_bit_whatever_rows_are_transformed_with_it(text, cuts):
    vectors = cloud(300)
    pipeline = Pipeline.parse(text).fit(vectors)
    parts = [pipeline.apply(part) for part in np.split(vectors, sorted(cuts))]
    assert same_bits(np.concatenate(parts), pipeline.apply(vectors))


@pytest.mark.parametrize(("width", "columns"), [(300, 150), (128, 128), (5, 3), (200, 1), (64, 100)])
def test_a_product_is_the_same_to_the_last_bit_of_float64_whatever_rows_stand_beside(width, columns):
    rng = np.random.default_rng(0)
    rows, matrix = rng.standard_normal((200, width)), rng.standard_normal((width, columns))
    whole = transform_kinds.multiply(rows, matrix)
    np.testing.assert_allclose(whole, rows @ matrix, atol=1e-10)
    for size in (1, 3, 64, 100):
        parts = [transform_kinds.multiply(rows[i : i + size], matrix) for i in range(0, 200, size)]
        assert same_bits(np.concatenate(parts), whole)


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
@pytest.mark.parametrize("text", [*KINDS, "standardize|abtt:1|whiten:4|normalize"])
def test_the_size_of_the_blocks_does_not_matter(text, block, monkeypatch):
    vectors = cloud(300)
    whole = Pipeline.parse(text).fit(vectors).apply(vectors)
    monkeypatch.setattr(transforms, "_BLOCK", block)
    np.testing.assert_allclose(Pipeline.parse(text).fit(vectors).apply(vectors), whole, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("text", [*LEARNING, LONG])
def test_the_same_vectors_give_the_same_bits_in_another_process_and_from_a_file(text, tmp_path):
    vectors = cloud(9000, 16)
    np.save(tmp_path / "v.npy", vectors)
    code = (
        "import sys, numpy as np; from goldrank.vectors.transforms import Pipeline;"
        "print(Pipeline.parse(sys.argv[1]).fit(np.load(sys.argv[2], mmap_mode='r')).identity)"
    )
    process = subprocess.run([sys.executable, "-c", code, text, tmp_path / "v.npy"], capture_output=True, check=True)
    assert process.stdout.decode().strip() == Pipeline.parse(text).fit(vectors).identity


def test_the_result_can_be_written_into_a_file(tmp_path):
    vectors = cloud(5000)
    pipeline = Pipeline.parse("whiten:4|normalize").fit(vectors)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float32, (5000, 4))
    assert pipeline.apply(vectors, out) is out
    out.flush()
    assert same_bits(np.load(tmp_path / "out.npy"), pipeline.apply(vectors))


@pytest.mark.parametrize("out", [np.empty((5, 4), np.float32), np.empty((200, 4), np.float64)])
def test_a_file_of_another_shape_or_type_is_refused(out):
    with pytest.raises(InputError, match=r"float32 and shape \(200, 4\)"):
        Pipeline.parse("truncate:4").apply(cloud(), out)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("text", ["center", "none", "normalize", "pca:1"])
def test_what_is_not_finite_is_refused_with_its_row(text, bad):
    vectors = cloud(5000).copy()
    vectors[4321, 2] = bad
    with pytest.raises(InputError, match="row 4321 is not finite"):
        Pipeline.parse("center").fit(vectors)
    with pytest.raises(InputError, match="row 4321 is not finite"):
        Pipeline.parse(text).fit(cloud()).apply(vectors)


def test_what_is_too_large_for_the_arithmetic_is_refused():
    huge = np.array([[1.5e308, 1.0], [1.7e308, 2.0], [1.6e308, 7.0]])
    for text in ("center", "standardize", "pca:1"):
        with pytest.raises(InputError, match="too large"):
            Pipeline.parse(text).fit(huge)
    with pytest.raises(InputError, match="row 0 is too large for float32"):
        Pipeline.parse("none").apply(huge)


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        (np.zeros(4), "rows of a matrix"),
        (np.zeros((2, 2, 2)), "rows of a matrix"),
        (np.zeros((3, 0)), "no dimensions"),
        (np.zeros((0, 3)), "no vectors to fit on"),
        (np.zeros((3, 3), complex), "numbers, not complex"),
        (np.array([["a"]]), "numbers, not"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(vectors, says):
    with pytest.raises(InputError, match=says):
        Pipeline.parse("center").fit(vectors)


def test_another_dimension_than_the_fitted_one_is_refused():
    with pytest.raises(InputError, match="fitted on 8 dimensions, the vectors have 5"):
        Pipeline.parse("normalize").fit(cloud()).apply(cloud(width=5))


def test_no_vectors_give_no_vectors_of_the_right_dimension():
    assert Pipeline.parse("pca:3").fit(cloud()).apply(np.zeros((0, 8))).shape == (0, 3)


def sparse(vectors):
    return pytest.importorskip("scipy.sparse").csr_matrix(vectors)


@pytest.mark.parametrize("text", ["normalize", "truncate:4", "truncate:4|normalize", "none"])
def test_sparse_vectors_stay_sparse_and_equal_the_dense_ones(text):
    vectors = np.maximum(cloud(50) - 3, 0)
    vectors[7] = 0
    transformed = Pipeline.parse(text).fit(sparse(vectors)).apply(sparse(vectors))
    assert transformed.format == "csr"
    assert transformed.dtype == np.float32
    np.testing.assert_allclose(transformed.toarray(), Pipeline.parse(text).apply(vectors), rtol=1e-6)


@pytest.mark.parametrize("text", ["center", "normalize|whiten", "pca:2", "abtt:1", "int8", "binary", "standardize"])
def test_what_would_make_sparse_vectors_dense_is_refused_with_a_remedy(text):
    with pytest.raises(InputError, match="would make sparse vectors dense; use lsa"):
        Pipeline.parse(text).fit(sparse(np.eye(4)))


def test_sparse_vectors_that_are_not_finite_are_refused_with_their_row():
    vectors = np.eye(4)
    vectors[2, 3] = np.nan
    with pytest.raises(InputError, match="row 2 is not finite"):
        Pipeline.parse("normalize").apply(sparse(vectors))
