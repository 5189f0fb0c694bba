"""Agreement of judges: published examples, scikit-learn, values computed by hand, and undefined cases."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from goldrank.errors import InputError
from goldrank.stats.agreement import ALPHA_LEVELS, cohen_kappa, krippendorff_alpha

NAN = math.nan
# Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), section C: four judges, twelve units.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


def rated(table):
    """Return the grades of two judges who gave each pair of grades as often as the table says."""
    pairs = [(a, b) for a, row in enumerate(table) for b, number in enumerate(row) for _ in range(number)]
    return np.array(pairs, float).T


@pytest.mark.parametrize(("measurement", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_krippendorffs_example(measurement, value):
    result = krippendorff_alpha(PUBLISHED, measurement=measurement)
    assert (round(result.value, 3), result.units) == (value, 11)
    assert result.interval.low < result.value < result.interval.high


def test_kappa_is_that_of_cohens_example():
    first, second = rated([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    assert round(cohen_kappa(first, second).value, 3) == 0.492


@pytest.mark.parametrize(("weights", "peer"), [("plain", None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_kappa_is_that_of_scikit_learn_also_if_grades_are_unused(weights, peer):
    random = np.random.default_rng(0)
    for grades in ([0, 1], [0, 1, 2, 3], [0, 3], [1, 2, 5]):
        first, second = random.choice(grades, 40), random.choice(grades, 40)
        second[:15] = first[:15]
        expected = cohen_kappa_score(first, second, labels=range(6), weights=peer)
        assert cohen_kappa(first, second, weights=weights).value == pytest.approx(expected)


def test_two_judges_without_gaps_have_the_alpha_of_the_definition():
    first, second = np.random.default_rng(1).integers(0, 4, (2, 30)).astype(float)
    pooled = np.concatenate([first, second])
    observed = np.mean((first - second) ** 2)
    expected = np.sum((pooled[:, None] - pooled) ** 2) / (60 * 59)
    alpha = krippendorff_alpha(np.column_stack([first, second]), measurement="interval")
    assert alpha.value == pytest.approx(1 - observed / expected)


def test_units_of_one_judge_and_the_order_of_judges_say_nothing():
    more = np.vstack([PUBLISHED, [[NAN, 9, NAN, NAN]]])
    for measurement in ALPHA_LEVELS:
        whole = krippendorff_alpha(PUBLISHED, measurement=measurement).value
        assert krippendorff_alpha(more[:, ::-1], measurement=measurement).value == pytest.approx(whole)


def test_queries_are_resampled_with_all_their_units():
    random = np.random.default_rng(2)
    first = random.integers(0, 4, 60)
    second = np.where(random.random(60) < 0.6, first, random.integers(0, 4, 60))
    alone = cohen_kappa(first, second)
    repeated = cohen_kappa(np.repeat(first, 10), np.repeat(second, 10), queries=[f"q{n // 10}" for n in range(600)])
    assert repeated.value == pytest.approx(alone.value)
    # Copies of a unit within a query add no information, so that the interval stays the same.
    assert (repeated.interval.low, repeated.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))


def test_intervals_cover_the_agreement_of_all_queries():
    random = np.random.default_rng(3)

    def draw(queries):
        lenient = np.repeat(random.normal(0, 0.5, queries), 5)
        human = random.normal(0, 1, queries * 5) + lenient
        model = 0.7 * human + random.normal(0, 0.7, queries * 5)
        cut = [np.digitize(side, [-0.5, 0.5, 1.2]) for side in (human, model)]
        return (*cut, [str(n // 5) for n in range(queries * 5)])

    truth = cohen_kappa(*draw(30_000)[:2], weights="quadratic").value
    covered = 0
    for _ in range(400):
        first, second, queries = draw(20)
        interval = cohen_kappa(first, second, weights="quadratic", queries=queries).interval
        covered += interval.low <= truth <= interval.high
    assert covered / 400 > 0.93


def test_what_is_undefined_is_said():
    assert cohen_kappa([1, NAN], [NAN, 2]).reason == "no unit was rated by both judges"
    same = cohen_kappa([2, 2, 2], [2, 2, 2])
    assert (same.value, same.interval) == (None, None)
    assert same.reason.startswith("both judges gave every unit the same grade")
    # A judge who gives one grade only has chance agreement.
    assert cohen_kappa([1, 1, 1], [1, 2, 1]).value == 0
    assert krippendorff_alpha([[1, NAN], [NAN, 2]]).reason == "no unit was rated by two judges"
    assert krippendorff_alpha([[3, 3], [3, 3]]).reason.startswith("all judges gave every unit the same grade")
    single = cohen_kappa([0, 1], [0, 1], queries=["q", "q"])
    assert (single.value, single.interval, single.reason) == (1, None, "an interval needs units of two queries")


def test_bad_ratings_are_refused():
    with pytest.raises(InputError, match="one judge has 2 grades and the other 1; give both a grade for each unit"):
        cohen_kappa([1, 2], [1])
    with pytest.raises(InputError, match="a grade is infinite"):
        cohen_kappa([1, math.inf], [1, 2])
    with pytest.raises(InputError, match="there are 1 queries for 2 units"):
        cohen_kappa([1, 2], [1, 2], queries=["a"])
    with pytest.raises(InputError, match="there is no weights of kappa 'squared'"):
        cohen_kappa([1, 2], [1, 2], weights="squared")
    with pytest.raises(InputError, match="there is no level of measurement 'ratio'"):
        krippendorff_alpha([[1, 2]], measurement="ratio")
    with pytest.raises(InputError, match="not a table of units and judges"):
        krippendorff_alpha([1, 2])
