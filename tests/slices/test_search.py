"""Test the search for slices: false alarms and power on simulated runs, and the report."""

import numpy as np
import pytest

from goldrank import InputError, by_slice, compare
from goldrank.slices.search import find_slices, permutation_tests

QUERIES, RESAMPLES = 120, 199


def random_members(random, count=25):
    return random.random((QUERIES, count)) < random.uniform(0.1, 0.6, count)


def null_differences(random):
    """Return symmetric differences of two exchangeable runs, with tails and many zeros, for two correlated metrics."""
    first = random.standard_t(3, QUERIES) * (random.random(QUERIES) < 0.7)
    return np.column_stack([first, first + random.normal(size=QUERIES)])


def test_the_search_raises_false_alarms_on_at_most_five_percent_of_null_data_and_an_uncorrected_one_on_most():
    random = np.random.default_rng(1)
    simulations, corrected, uncorrected = 1000, 0, 0
    for seed in range(simulations):
        tests = permutation_tests(null_differences(random), random_members(random), RESAMPLES, seed)
        corrected += tests.adjusted.min() <= 0.05
        uncorrected += tests.p.min() <= 0.05
    # 5% of 1000 are 50, with a standard deviation of 6.9; chance exceeds 72 with probability 0.001.
    assert corrected <= 72
    assert uncorrected > 500


def test_the_search_finds_a_planted_slice():
    random = np.random.default_rng(2)
    simulations, hits = 100, 0
    for seed in range(simulations):
        members, differences = random_members(random), null_differences(random)
        members[:, 7] = random.random(QUERIES) < 0.35
        differences[members[:, 7]] += 1.2
        tests = permutation_tests(differences, members, RESAMPLES, seed)
        hits += tests.adjusted[7].min() <= 0.05
    assert hits >= 90  # of 100


def test_adjusted_p_values_are_never_below_those_of_single_slices_and_equal_a_full_enumeration():
    differences = np.array([[1.0], [2.0], [-0.5], [3.0], [0.0]])
    members = np.array([[1, 1, 1, 0, 1], [0, 1, 0, 1, 1]], bool).T
    tests = permutation_tests(differences, members, 20_000, 0)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1).T
    flipped = (signs * differences[:, 0]) @ members
    statistics = np.abs(flipped) / np.sqrt(members.T.astype(float) @ differences**2)[:, 0]
    observed = tests.statistic[:, 0]
    assert observed == pytest.approx(np.abs(members.T.astype(float) @ differences)[:, 0] / np.sqrt([5.25, 13.0]))
    exact = (statistics.max(axis=1)[:, None] >= observed - 1e-9).mean(axis=0)
    assert tests.adjusted[:, 0] == pytest.approx(exact, abs=0.015)
    assert tests.p[:, 0] == pytest.approx((statistics >= observed - 1e-9).mean(axis=0), abs=0.015)
    assert (tests.adjusted >= tests.p).all()


NAMES = [f"q{number}" for number in range(160)]
GOLD = {query: ["d"] for query in NAMES}
LANGUAGES = {query: "de" if at % 4 == 0 else "en" for at, query in enumerate(NAMES)}
LENGTHS = {query: "short" if at < 80 else "long" for at, query in enumerate(NAMES)}


@pytest.fixture(scope="module")
def comparison():
    """Two runs that differ only on queries with language de and length long."""
    random = np.random.default_rng(3)
    runs = {}
    for name, planted in (("first", 8), ("second", 0)):
        ranks = random.integers(0, 9, len(NAMES))
        ranks[[at for at, query in enumerate(NAMES) if LANGUAGES[query] + LENGTHS[query] == "delong"]] = planted
        runs[name] = {
            query: {("d" if place == rank else f"e{place}"): -place for place in range(9)}
            for query, rank in zip(NAMES, ranks, strict=True)
        }
    return compare(GOLD, runs, ["mrr", "recall@3"])


def test_the_intersection_of_two_slices_is_found_where_the_runs_differ_only_there(comparison):
    search = by_slice(comparison, {"language": LANGUAGES, "length": LENGTHS}, find=True).search
    assert str(search.found[0].slice) == "language=de, length=long"
    assert search.found[0].adjusted <= 0.05
    assert search.found[0].difference > 0.5
    assert abs(search.found[0].difference_elsewhere) < 0.15
    assert search.found == tuple(sorted(search.found, key=lambda entry: -entry.statistic))


def test_the_search_is_the_same_each_time_and_equal_sets_of_queries_are_searched_once(comparison):
    once = by_slice(comparison, {"language": LANGUAGES, "length": LENGTHS}, find=True)
    twice = by_slice(comparison, {"language": LANGUAGES, "length": LENGTHS, "copy": LANGUAGES}, find=True)
    # 2 languages, 2 lengths, 4 intersections; the derived number of relevant items has one value.
    assert once.search.candidates == twice.search.candidates == 8
    assert once.search == by_slice(comparison, {"language": LANGUAGES, "length": LENGTHS}, find=True).search


def test_three_runs_and_metrics_without_means_are_refused(comparison):
    run = {query: {"d": 1.0} for query in NAMES}
    slices = by_slice(comparison, {"language": LANGUAGES}).slices
    with pytest.raises(InputError, match="slices are searched for two runs, and there are 3"):
        find_slices(compare(GOLD, {"a": run, "b": run, "c": run}, "mrr"), slices)
    with pytest.raises(InputError, match="none of the metrics has a paired test of means"):
        find_slices(compare(GOLD, {"a": run, "b": run}, "num_rel"), slices)
