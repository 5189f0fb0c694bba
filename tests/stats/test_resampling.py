"""Test that resampling counts follow the multinomial distribution, and that sums do not depend on threads."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import goldrank
from goldrank.errors import InputError
from goldrank.stats import bootstrap_means, bootstrap_medians
from goldrank.stats.resampling import _PoissonBytes, count_chunks
from profiles import examples

# Seeds are fixed, so that a test always passes or always fails; this is the lowest p-value that passes.
SURPRISE = 1e-4


def drawn_counts(n: int, resamples: int, seed: int = 0) -> np.ndarray:
    return np.concatenate([chunk.T.copy() for chunk in count_chunks(n, resamples=resamples, seed=seed)])


def fit(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the p-value of a chi-square test that merges cells with an expected count below 5."""
    rare = expected < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1:
        assert observed[-1] <= 5
        observed, expected = observed[:-1], expected[:-1]
    return float(scipy_stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), max(len(expected) - 1, 1)))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 8, 31, 32, 33, 100, 1000])
def test_every_resample_has_as_many_draws_as_there_are_queries(n):
    assert (drawn_counts(n, 500).sum(axis=1, dtype=np.int64) == n).all()


@pytest.mark.parametrize("n", [2, 3, 5, 7, 8, 12, 40, 300])
def test_each_querys_count_is_binomial(n):
    resamples = 20_000 if n < 100 else 2_000
    counts = drawn_counts(n, resamples, seed=n)
    law = scipy_stats.binom.pmf(np.arange(n + 1), n, 1 / n)
    for query in {0, n // 2, n - 1}:
        observed = np.bincount(counts[:, query], minlength=n + 1)
        assert fit(observed, law * resamples) > SURPRISE


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_joint_law_of_the_counts_is_multinomial(n):
    resamples = 50_000
    vectors, observed = np.unique(drawn_counts(n, resamples, seed=1), axis=0, return_counts=True)
    law = scipy_stats.multinomial.pmf(vectors, n, np.full(n, 1 / n))
    assert math.isclose(law.sum(), 1, rel_tol=1e-9)  # every possible vector turned up
    assert fit(observed, law * resamples) > SURPRISE


def test_the_joint_law_is_multinomial_where_the_poisson_bytes_do_the_drawing():
    resamples = 200_000
    counts = drawn_counts(9, resamples, seed=2)
    pair = counts[:, 0].astype(int) * 10 + counts[:, 8]
    first, last = np.divmod(np.arange(100), 10)
    rest = 9 - first - last
    vectors = np.column_stack([first, last, np.maximum(rest, 0)])
    law = np.where(rest >= 0, scipy_stats.multinomial.pmf(vectors, 9, [1 / 9, 1 / 9, 7 / 9]), 0.0)
    assert fit(np.bincount(pair, minlength=100)[law > 0], law[law > 0] * resamples) > SURPRISE


@pytest.mark.parametrize("rate", [0.06, 0.5, 0.9, 0.97, 0.999])
def test_bytes_give_the_poisson_law(rate):
    size = 1 << 22
    bits = np.random.SFC64(3)
    counts = _PoissonBytes(rate, size)(bits, np.random.Generator(bits))
    law = scipy_stats.poisson.pmf(np.arange(40), rate)
    assert fit(np.bincount(counts, minlength=40), law * size) > SURPRISE


@pytest.mark.parametrize("rate", [0.06, 0.5, 0.9, 0.97, 0.999])
def test_bytes_and_marks_mix_to_the_poisson_law_exactly(rate):
    """The probabilities implied by the tables equal the Poisson probabilities to the last digits."""
    size = 4096
    tables = _PoissonBytes(rate, size)
    cells = np.diff([0, *(int(edge) for edge in tables._thresholds), 256])
    coarse = np.pad(cells / 256, (0, 40 - len(cells)))
    none_from = np.append(np.exp(-np.cumsum(tables._marks[::-1])[::-1] / size), 1.0)  # no mark ≥ k
    law = none_from[0] * coarse + np.diff(none_from)
    assert law == pytest.approx(scipy_stats.poisson.pmf(np.arange(40), rate), abs=1e-15)


def test_large_samples_have_the_right_moments():
    """The standard error of a mean depends on the variances and covariances of the multinomial counts."""
    values = np.random.default_rng(4).gamma(0.3, size=(7000, 1))
    means = bootstrap_means(values, resamples=20_000)[:, 0]
    error = values.std() / math.sqrt(7000)
    assert abs(means.std() / error - 1) < 4 / math.sqrt(2 * 20_000)
    assert abs(means.mean() - values.mean()) < 4 * error / math.sqrt(20_000)


@examples(0.5)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60),
    st.integers(0, 2**32),
)
@example([0.0, 1.5e-274], 0)
@example([0.0, 5e-324, 1e-310], 1)
def test_means_are_those_of_the_counts_within_the_stated_bound(values, seed):
    column = np.array(values)
    n = len(column)
    counts = drawn_counts(n, 50, seed)
    means = bootstrap_means(column[:, None], resamples=50, seed=seed)[:, 0]
    exact = np.array([math.fsum(np.repeat(column, row)) / n for row in counts])
    bound = np.ptp(column) * n * 2.0**-52 + 4 * np.finfo(float).eps * np.abs(column).max() + 5e-324
    assert (np.abs(means - exact) <= bound).all()


def test_the_columns_share_their_resamples():
    x = np.random.default_rng(5).random(50)
    means = bootstrap_means(np.column_stack([x, 1 - x, x]), resamples=200)
    assert (means[:, 0] == means[:, 2]).all()
    assert np.allclose(means[:, 0] + means[:, 1], 1)
    assert (means[:, 0] == bootstrap_means(x[:, None], resamples=200)[:, 0]).all()


def test_fewer_resamples_are_the_first_of_more_and_seeds_differ():
    x = np.random.default_rng(6).random((300, 2))
    many = bootstrap_means(x, resamples=3000)
    assert (bootstrap_means(x, resamples=700) == many[:700]).all()
    assert not (bootstrap_means(x, resamples=700, seed=1) == many[:700]).any()


def test_bits_depend_neither_on_threads_nor_on_compiled_code_and_are_those_published():
    script = (
        "import hashlib, numpy as np; from goldrank.stats import bootstrap_means;"
        "x = (np.arange(3001 * 7) * 7919 % 10007 / 10007).reshape(3001, 7);"
        "print(hashlib.sha256(bootstrap_means(x, resamples=1500).tobytes()).hexdigest())"
    )
    source = str(Path(goldrank.__file__).parents[1])

    def digest(threads: int, core: str, no_native: str = "1") -> str:
        blas = {"OPENBLAS_NUM_THREADS": str(threads), "OPENBLAS_CORETYPE": core}
        settings = {**blas, "GOLDRANK_NO_NATIVE": no_native, "PYTHONPATH": source}
        return subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    # Another core type uses other kernels of the matrix product, which sum in another order.
    digests = {digest(1, "Haswell"), digest(2, "Haswell"), digest(2, "Nehalem"), digest(1, "Haswell", "")}
    assert digests == {"fdf3ab214014422f98e2a39f73efcbe629ba04bc7e17c40dd6bca78063d59dea"}


def test_sums_are_exact_in_any_order():
    """On the fixed-point grid, sums are those of integers, in any order of summation of a BLAS."""
    x = np.random.default_rng(7).random((999, 1))
    means = bootstrap_means(x, resamples=40)[:, 0]
    spread_unit = 2.0 ** (math.frexp(float(np.ptp(x)))[1] - (53 - 10))
    ticks = [int(t) for t in np.rint((x[:, 0] - x.min()) / spread_unit)]
    for mean, row in zip(means, drawn_counts(999, 40), strict=True):
        total = sum(int(c) * t for c, t in zip(row, ticks, strict=True))
        assert mean == total / 999 * spread_unit + x.min()


def test_medians_are_those_of_the_counts():
    values = np.array([3.0, np.nan, 1.0, 2.0, 2.0, np.nan, 9.0])
    defined = ~np.isnan(values)
    for median, row in zip(bootstrap_medians(values, resamples=300), drawn_counts(7, 300), strict=True):
        resample = np.repeat(values[defined], row[defined])
        assert median == np.median(resample) if len(resample) else math.isnan(median)


def test_a_resample_without_any_defined_value_has_no_median():
    medians = bootstrap_medians(np.array([1.0, np.nan]), resamples=1000)
    assert 200 < np.isnan(medians).sum() < 300  # one in four


@pytest.mark.parametrize(("n", "resamples"), [(0, 10), (5, 0)])
def test_nothing_to_resample_is_refused(n, resamples):
    with pytest.raises(InputError, match="at least one"):
        next(count_chunks(n, resamples=resamples))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    with pytest.raises(InputError, match="finite"):
        bootstrap_means(np.array([[1.0], [bad]]), resamples=10)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300])
def test_extreme_magnitudes_survive(scale):
    means = bootstrap_means(np.array([[0.0], [scale], [scale]]), resamples=100)
    assert ((means >= 0) & (means <= scale * (1 + 1e-12))).all()
