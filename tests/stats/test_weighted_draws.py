"""Tests on weighted draws without replacement: their error over all orders, and what is certain."""

import math
from itertools import permutations

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.stats.weighted_draws import Draws, bet_on_draws, sequential_intervals


def all_orders(values, predicted, weights):
    """Every order of the population with its probability, as draws."""
    count = len(values)
    for order in permutations(range(count)):
        left, chances, floors = list(range(count)), [], []
        for at in order:
            shares = weights[left] / weights[left].sum()
            chances.append(shares[left.index(at)])
            floors.append(shares.min())
            left.remove(at)
        yield (
            math.prod(chances),
            Draws(
                values[list(order), None], np.array(order), np.array(chances), np.array(floors), predicted[:, None],
                np.ones((count, 1)),
            ),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_over_all_orders_a_mean_of_0_is_rejected_no_more_often_than_stated(seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, 5)
    values = (values - values.mean()) / max(1, np.abs(values - values.mean()).max())
    predicted, weights = values / 2 + rng.normal(0, 0.2, 5), rng.uniform(0.5, 2, 5)
    share = dict.fromkeys((1.2, 1.5, 2.0, 4.0), 0.0)
    total = 0.0
    for chance, draws in all_orders(values, predicted, weights):
        capital = math.exp(bet_on_draws(draws, np.zeros(1), 0.05).log_capital[0])
        total += chance
        for goal in share:
            share[goal] += chance * (capital >= goal)
    assert total == pytest.approx(1)
    assert all(part <= 1 / goal for goal, part in share.items())
    assert share[1.2] > 0  # something is staked


def test_over_all_orders_the_estimate_is_unbiased():
    rng = np.random.default_rng(9)
    values, weights = rng.uniform(-0.5, 1, 6), rng.uniform(0.5, 2, 6)
    mean = 0.0
    for chance, draws in all_orders(values, values / 2, weights):
        mean += chance * bet_on_draws(first_draws(draws, 3), np.zeros(1), 0.05).value[0]
    assert mean == pytest.approx(values.mean())


def first_draws(draws, count):
    rows = (draws.values, draws.drawn, draws.probability, draws.floor)
    return Draws(*(row[:count] for row in rows), draws.predicted, draws.bounds)


def uniform(values, predicted=None, bounds=None, count=None):
    population = len(values)
    left = np.arange(population, population - (count or population), -1)
    order = np.random.default_rng(0).permutation(population)[: len(left)]
    zeros = np.zeros(values.shape)
    return Draws(
        values[order], order, 1 / left, 1 / left, zeros if predicted is None else predicted,
        zeros + 1 if bounds is None else bounds,
    )  # fmt: skip


def test_a_census_decides_whatever_the_sign_is():
    values = np.array([[0.3, -0.3, 0.0]] * 10)
    result = bet_on_draws(uniform(values), np.zeros(3), 0.05)
    assert result.log_capital[0] == math.inf
    assert (result.log_capital[1:] < math.log(20)).all()
    np.testing.assert_allclose(result.value, [0.3, -0.3, 0.0])


def test_what_the_bounds_exclude_is_certain_before_everything_is_drawn():
    values = np.full((20, 1), 0.5)
    bounds = np.full((20, 1), 0.1)
    assert bet_on_draws(uniform(values, bounds=bounds, count=3), np.zeros(1), 0.05).log_capital[0] < math.inf
    assert bet_on_draws(uniform(values, bounds=bounds, count=4), np.zeros(1), 0.05).log_capital[0] == math.inf


def test_predictions_shorten_the_way_to_a_decision():
    rng = np.random.default_rng(3)
    values = rng.choice([-0.5, 0.6], (600, 1))  # the spread is large against the range, which limits the stakes
    predicted = values * 0.9 + rng.normal(0, 0.03, values.shape)
    bounds = np.full(values.shape, 0.6)

    def needed(given):
        for count in range(20, 601, 20):
            capital = bet_on_draws(uniform(values, given, bounds, count), np.zeros(1), 0.05).log_capital[0]
            if capital >= math.log(20):
                return count
        return math.inf

    assert needed(predicted) < 0.5 * needed(None) < math.inf


def test_nothing_is_learned_of_a_stream_after_a_gap():
    values = np.full((30, 2), 0.5)
    draws = uniform(values)
    draws.values[5, 1] = np.nan
    result = bet_on_draws(draws, np.zeros(2), 0.05)
    short = bet_on_draws(first_draws(draws, 5), np.zeros(2), 0.05)
    assert result.log_capital[1] == short.log_capital[1] < result.log_capital[0]


def test_intervals_contain_the_mean_and_narrow_to_it():
    rng = np.random.default_rng(1)
    values = rng.uniform(-0.5, 0.7, (60, 1))
    limits = [
        sequential_intervals(uniform(values, count=count), uniform(-values, count=count))[0] for count in (10, 40, 60)
    ]
    assert all(interval.low <= values.mean() <= interval.high for interval in limits)
    widths = [interval.high - interval.low for interval in limits]
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < 0.001


def test_a_query_drawn_twice_is_refused():
    with pytest.raises(InputError, match="drawn twice"):
        Draws(np.zeros((2, 1)), np.array([1, 1]), np.ones(2), np.ones(2), np.zeros((3, 1)), np.ones((3, 1)))
