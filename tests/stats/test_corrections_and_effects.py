"""Test corrections, effect sizes and power against their definitions and invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from goldrank import stats
from goldrank.errors import InputError

p_values = st.lists(st.floats(0, 1), max_size=12).map(np.array)
both = pytest.mark.parametrize("correct", [stats.holm, stats.benjamini_hochberg])


@pytest.mark.oracle
@given(p_values)
def test_benjamini_hochberg_is_scipys(p):
    theirs = scipy_stats.false_discovery_control(p) if len(p) else p
    assert stats.benjamini_hochberg(p) == pytest.approx(theirs)


@given(p_values, st.floats(0.001, 0.999))
def test_holm_rejects_what_the_step_down_procedure_rejects(p, alpha):
    rejected = np.zeros(len(p), dtype=bool)
    for step, place in enumerate(np.argsort(p, kind="stable")):
        if p[place] * (len(p) - step) > alpha:
            break
        rejected[place] = True
    assert ((stats.holm(p) <= alpha) == rejected).all()


@both
@given(p=p_values, random=st.randoms())
def test_adjusted_values_are_monotone_at_most_one_and_follow_the_order(correct, p, random):
    adjusted = correct(p)
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    assert ((adjusted >= p * (1 - 1e-12)) & (adjusted <= 1)).all()
    shuffle = np.array(random.sample(range(len(p)), len(p)), dtype=int)
    assert (correct(p[shuffle]) == adjusted[shuffle]).all()


@given(p_values)
def test_holm_is_never_below_benjamini_hochberg(p):
    assert (stats.holm(p) >= stats.benjamini_hochberg(p) * (1 - 1e-12)).all()


@both
@given(p=p_values, holes=st.integers(0, 4))
def test_nan_passes_through_and_is_not_counted(correct, p, holes):
    adjusted = correct(np.concatenate([[np.nan] * holes, p]))
    assert np.isnan(adjusted[:holes]).all()
    assert (adjusted[holes:] == correct(p)).all()


@both
def test_a_single_test_is_left_alone_and_the_input_unchanged(correct):
    p = np.array([0.03])
    assert correct(p).tolist() == [0.03]
    p = np.array([0.03, 0.01])
    correct(p)
    assert p.tolist() == [0.03, 0.01]


@both
@pytest.mark.parametrize("bad", [-0.1, 1.1])
def test_what_is_not_a_probability_is_refused(correct, bad):
    with pytest.raises(InputError, match="between 0 and 1"):
        correct(np.array([bad]))


@given(st.lists(st.floats(-1, 1), max_size=20).map(np.array))
def test_wins_ties_and_losses_add_up_and_mirror(d):
    result = stats.wins_ties_losses(d)
    assert sum(result) == len(d)
    assert stats.wins_ties_losses(-d) == result[::-1]


def test_effect_size_is_t_over_root_n():
    d = np.random.default_rng(0).normal(0.3, 1, 40)
    assert stats.effect_size(d) == pytest.approx(stats.t_test(d).statistic / math.sqrt(40))


def test_effect_size_at_the_edges():
    assert stats.effect_size(np.zeros(3)) == 0
    assert math.isnan(stats.effect_size(np.array([])))
    assert math.isnan(stats.effect_size(np.array([1.0])))
    assert stats.effect_size(np.full(4, -0.5)) == -math.inf


@pytest.mark.oracle
@pytest.mark.parametrize("n", [2, 3, 10, 225, 7000])
@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.95, 0.01)])
def test_the_smallest_detectable_difference_has_the_stated_power(n, power, alpha):
    d = np.random.default_rng(n).normal(0, 0.3, n)
    shift = stats.smallest_detectable(d, power=power, alpha=alpha)
    distance = shift / (d.std(ddof=1) / math.sqrt(n))
    critical = scipy_stats.t.ppf(1 - alpha / 2, n - 1)
    assert scipy_stats.nct.sf(critical, n - 1, distance) == pytest.approx(power, abs=1e-6)


def test_a_t_test_finds_the_smallest_detectable_difference_as_often_as_promised():
    rng = np.random.default_rng(1)
    d = rng.normal(size=25)
    shift = stats.smallest_detectable(d)
    samples = rng.normal(shift, d.std(ddof=1), size=(1000, 25))
    power = np.mean([stats.t_test(sample).p < 0.05 for sample in samples])
    assert abs(power - 0.8) < 4 * math.sqrt(0.8 * 0.2 / 1000)


def test_the_smallest_detectable_difference_shrinks_with_queries_and_grows_with_power():
    d = np.tile([1.0, -1.0], 20)
    assert stats.smallest_detectable(np.tile(d, 10)) < stats.smallest_detectable(d)
    assert stats.smallest_detectable(d, power=0.9) > stats.smallest_detectable(d)
    assert stats.smallest_detectable(d * 3) == pytest.approx(3 * stats.smallest_detectable(d))


def test_the_smallest_detectable_difference_at_the_edges():
    assert math.isnan(stats.smallest_detectable(np.array([1.0])))
    assert stats.smallest_detectable(np.ones(5)) == 0
    with pytest.raises(InputError, match="power"):
        stats.smallest_detectable(np.ones(5), power=0.01)
