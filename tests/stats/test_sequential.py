"""Test that sequential tests stay valid at every look, and lose little power against a test of fixed size."""

import math

import numpy as np
import pytest

from goldrank import stats
from goldrank.errors import InputError
from goldrank.stats.sequential import confidence_sequence, log_capital

STREAMS, QUERIES, LEVEL = 10_000, 500, 0.05


def differences(streams, queries, mean=0.0, seed=0):
    """Return differences as between two runs: half of them ties, the others skewed to small sizes, of both signs."""
    random = np.random.default_rng(seed)
    sizes = random.beta(0.6, 2.0, (streams, queries))  # with the mean 0.6 / 2.6
    gain = 0.5 + mean * 2.6 / 0.6
    signs = np.where(random.random((streams, queries)) < gain, 1.0, -1.0)
    return np.where(random.random((streams, queries)) < 0.5, 0.0, sizes * signs)


def rare_losses(streams, queries, seed=0):
    """Return differences with the mean 0: many small gains, and large losses on 2% of the queries."""
    random = np.random.default_rng(seed)
    return np.where(random.random((streams, queries)) < 0.02, -0.98, 0.02)


def alarms_at_any_look(streams):
    """Return the share of streams in which a loss is found at any look, by the test of the gate."""
    capital = log_capital(-streams, -1.0, planned=streams.shape[1], alpha=LEVEL / 2)
    return float(np.mean(capital >= math.log(2 / LEVEL)))


def alarms_of_fixed_tests_at_any_look(streams):
    """Return the same for t tests of fixed size that are repeated at every look from the tenth query on."""
    count = np.arange(1, streams.shape[1] + 1)
    mean = np.cumsum(streams, axis=1) / count
    variance = np.maximum(np.cumsum(streams**2, axis=1) / count - mean**2, 1e-12)
    return float(np.mean((mean / np.sqrt(variance / count) < -1.96)[:, 9:].any(axis=1)))


@pytest.mark.parametrize("source", [differences, rare_losses])
def test_at_most_five_percent_of_null_streams_raise_an_alarm_at_any_look(source):
    assert alarms_at_any_look(source(STREAMS, QUERIES)) <= LEVEL


def test_fixed_size_tests_at_every_look_raise_more_alarms_so_that_the_simulation_can_fail():
    assert alarms_of_fixed_tests_at_any_look(differences(STREAMS, QUERIES)) > 2 * LEVEL


def test_the_margin_is_not_shown_for_streams_at_the_margin():
    streams = differences(STREAMS, QUERIES, mean=-0.02) + 0.02
    capital = log_capital(streams, -0.98, planned=QUERIES, alpha=LEVEL / 2)
    assert np.mean(capital >= math.log(2 / LEVEL)) <= LEVEL


@pytest.mark.parametrize("power", [0.8, 0.95])
def test_power_is_at_least_90_percent_of_that_of_the_fixed_size_test(power):
    queries = 1000
    spread = differences(1, 100_000).std()
    effect = (1.96 + {0.8: 0.8416, 0.95: 1.6449}[power]) * spread / math.sqrt(queries)
    streams = differences(4000, queries, mean=-effect, seed=1)
    t = streams.mean(axis=1) / (streams.std(axis=1, ddof=1) / math.sqrt(queries))
    fixed = float(np.mean(t < -1.962))
    assert fixed == pytest.approx(power, abs=0.03)
    assert alarms_at_any_look(streams) >= 0.9 * fixed


def test_later_queries_never_take_a_decision_back():
    stream = differences(1, 400, mean=0.05, seed=3)[0]
    capitals = [float(log_capital(stream[:count], -1.0, planned=400, alpha=0.025)) for count in range(50, 401, 50)]
    assert capitals == sorted(capitals)
    assert capitals[-1] >= math.log(40)


def test_the_true_mean_leaves_the_confidence_sequence_at_any_look_in_at_most_five_percent_of_streams():
    streams = differences(STREAMS, 200, mean=0.02) - 0.02
    sides = [log_capital(side * streams, -1.02, planned=200, alpha=LEVEL / 2) for side in (1, -1)]
    assert np.mean(np.maximum(*sides) >= math.log(2 / LEVEL)) <= LEVEL


def test_the_confidence_sequence_narrows_and_agrees_with_the_test():
    stream = differences(1, 200, mean=0.02)[0]
    intervals = [confidence_sequence(stream[:count], planned=200) for count in (20, 100, 200)]
    assert intervals[0].low <= intervals[1].low <= intervals[2].low <= stream.mean()
    assert intervals[0].high >= intervals[1].high >= intervals[2].high >= stream.mean()
    for mean, rejected in ((intervals[2].low - 0.001, True), (intervals[2].low + 0.001, False)):
        capital = float(log_capital(stream - mean, -1 - mean, planned=200, alpha=0.025))
        assert (capital >= math.log(40)) is rejected


def test_more_queries_than_planned_are_refused():
    with pytest.raises(InputError, match="11 queries, and 10 were planned"):
        stats.log_capital(np.zeros(11), -1.0, planned=10, alpha=0.05)
