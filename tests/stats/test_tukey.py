"""Tukey's test: a published example, its definition by least squares, special cases and invariants."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import goldrank as gr
from goldrank import stats
from goldrank.cli.main import main
from profiles import examples

# The yield of penicillin by four processes on five blends of corn steep liquor: Box, Hunter & Hunter, Statistics for
# Experimenters (1978), section 7.1. Rows are blends, columns processes.
PENICILLIN = np.array([[89, 88, 97, 94], [84, 77, 92, 79], [81, 87, 87, 85], [87, 92, 89, 84], [79, 81, 80, 88]], float)


def test_the_published_example_has_its_error_and_its_critical_difference():
    result = stats.tukey_hsd(PENICILLIN)
    assert result.freedom == 12
    assert result.error == pytest.approx(226 / 12)  # the book's residual sum of squares
    assert (result.adjusted[np.triu_indices(4, 1)] > 0.3).all()  # F = 1.24: the processes do not differ
    # Tables give q(0.05; 4, 12) = 4.20: means apart by 4.20 sqrt(18.83 / 5) = 8.15 are just significant.
    shifted = PENICILLIN + np.array([0, 0, 0, 84 + 8.15 - 86])
    means = shifted.mean(axis=0)
    assert means[3] - means[0] == pytest.approx(8.15)
    assert stats.tukey_hsd(shifted).adjusted[0, 3] == pytest.approx(0.05, abs=0.001)


TABLES = arrays.arrays(
    float,
    st.tuples(st.integers(2, 9), st.integers(2, 5)),
    elements=st.floats(0, 1, allow_subnormal=False).map(lambda x: round(x, 3)),
)


@given(TABLES)
@examples(0.4)
def test_the_error_is_that_of_least_squares_on_queries_and_systems(values):
    queries, systems = values.shape
    rows, columns = np.indices(values.shape).reshape(2, -1)
    design = np.hstack([np.eye(queries)[rows], np.eye(systems)[columns]])
    fitted, *_ = np.linalg.lstsq(design, values.ravel(), rcond=None)
    residual = float(np.sum((values.ravel() - design @ fitted) ** 2))
    result = stats.tukey_hsd(values)
    assert result.error * result.freedom == pytest.approx(residual, abs=1e-9)


@given(TABLES.map(lambda values: values[:, :2]))
@examples(0.4)
def test_with_two_systems_it_is_the_paired_t_test(values):
    expected = stats.t_test(values[:, 1] - values[:, 0]).p
    result = stats.tukey_hsd(values)
    assert result.p[0, 1] == pytest.approx(expected, abs=1e-7)
    assert result.adjusted[0, 1] == pytest.approx(expected, abs=1e-7)


@given(TABLES, st.integers(0, 2**32 - 1))
@examples(0.3)
def test_neither_effects_of_queries_nor_the_order_of_systems_matter_and_all_pairs_cost_more_than_one(values, seed):
    rng = np.random.default_rng(seed)
    result, moved = stats.tukey_hsd(values), stats.tukey_hsd(values + rng.integers(0, 3, (len(values), 1)))
    assert moved.adjusted == pytest.approx(result.adjusted, abs=1e-5)
    order = rng.permutation(values.shape[1])
    mixed = stats.tukey_hsd(values[:, order])
    assert mixed.adjusted == pytest.approx(result.adjusted[np.ix_(order, order)], abs=1e-5)
    assert (result.adjusted >= result.p).all()
    assert ((result.p >= 0) & (result.adjusted <= 1)).all()


def test_systems_that_differ_by_a_constant_or_not_at_all():
    base = np.array([[0.1], [0.7], [0.3]])
    result = stats.tukey_hsd(np.hstack([base, base + 0.1, base]))
    assert (result.adjusted[0, 1], result.adjusted[0, 2]) == (0.0, 1.0)
    assert math.isnan(stats.tukey_hsd(np.array([[0.1, 0.2]])).adjusted[0, 1])
    for bad in (np.array([[1.0], [2.0]]), np.array([[1.0, np.nan], [1.0, 2.0]])):
        with pytest.raises(gr.InputError):
            stats.tukey_hsd(bad)


QUERIES = [f"q{i}" for i in range(12)]
GOLD = {query: {"right": 1, "also": 1} for query in QUERIES}


def runs(seed=0, names="abc"):
    rng = np.random.default_rng(seed)
    return {
        name: {
            query: {("right" if place == rank else f"w{place}"): float(10 - place) for place in range(1, 6)}
            for query, rank in zip(QUERIES, rng.integers(1, 6, len(QUERIES)), strict=True)
        }
        for name in names
    }


def test_a_comparison_by_tukey_tests_the_values_of_the_queries():
    comparison = gr.compare(GOLD, runs(), ["mrr", "gmap"], test="tukey")
    assert comparison.correction == "tukey"
    for metric, scale in (("mrr", np.asarray), ("gmap", lambda values: np.log(np.maximum(values, 1e-5)))):
        values = np.column_stack([scale(scores[metric].values) for scores in comparison.scores.values()])
        expected = stats.tukey_hsd(values)
        for pair in comparison.pairs:
            if pair.metric == metric:
                at = ("abc".index(pair.a), "abc".index(pair.b))
                assert (pair.p, pair.adjusted) == pytest.approx((expected.p[at], expected.adjusted[at]), abs=1e-9)


def test_a_sum_over_queries_stays_untested():
    (pair,) = gr.compare(GOLD, runs(names="ab"), "num_ret", test="tukey").pairs
    assert math.isnan(pair.adjusted)
    assert "no paired test" in pair.note


def test_tukeys_test_takes_no_further_correction():
    with pytest.raises(gr.InputError, match="corrects for all pairs itself"):
        gr.compare(GOLD, runs(), "mrr", test="tukey", correction="holm")
    with pytest.raises(gr.InputError, match="over the pairs of one metric"):
        gr.compare(GOLD, runs(), "mrr", test="tukey", family="all")


def test_the_command_names_the_test_and_the_correction(tmp_path, capsys):
    gr.Gold(GOLD).write(tmp_path / "qrels.txt")
    for name, run in runs().items():
        gr.Run(run).write(tmp_path / f"{name}.run")
    files = [str(tmp_path / name) for name in ("qrels.txt", "a.run", "b.run", "c.run")]
    assert main(["compare", *files, "-M", "mrr", "--test", "tukey"]) == 0
    out = capsys.readouterr().out
    assert "p after Tukey" in out
    assert "Tukey's HSD, two-way analysis of variance with queries as blocks" in out
    assert main(["compare", *files, "--test", "tukey", "--correction", "bh"]) == 2
    assert "corrects for all pairs itself; leave the correction out" in capsys.readouterr().err
    assert main(["compare", *files, "-M", "mrr"]) == 0
    assert "after Holm" in capsys.readouterr().out
