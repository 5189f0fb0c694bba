"""Test means corrected by predictions: exact special cases, coverage, and widths relative to the sample alone."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from goldrank.errors import InputError
from goldrank.stats import prediction_powered
from goldrank.stats.prediction_powered import estimate_means


def draw_population(rng, queries=120, columns=4, error=0.1):
    """Return values between 0 and 1, and predictions of them that are too high."""
    values = rng.beta(0.6, 1.5, (queries, columns))
    return values, np.clip(values * 0.8 + 0.15 + rng.normal(0, error, values.shape), 0, 1)


def test_a_census_leaves_no_uncertainty():
    values, predicted = draw_population(np.random.default_rng(0))
    estimate = estimate_means(values, predicted, predicted.mean(axis=0), population=len(values))
    for limit in (estimate.value, estimate.low, estimate.high):
        np.testing.assert_allclose(limit, values.mean(axis=0), atol=1e-12)
    beyond = estimate_means(values, population=len(values), beyond=True)
    assert (beyond.high - beyond.low > 0.05).all()


def test_without_prior_the_sample_alone_has_the_interval_of_student(monkeypatch):
    monkeypatch.setattr(prediction_powered, "PRIOR", 0.0)
    values, _ = draw_population(np.random.default_rng(1))
    sample = values[:30]
    estimate = estimate_means(sample, population=len(values), level=0.9)
    error = stats.sem(sample) * np.sqrt(1 - 30 / len(values))
    low, high = stats.t.interval(0.9, 29, loc=sample.mean(axis=0), scale=error)
    np.testing.assert_allclose(estimate.low, low)
    np.testing.assert_allclose(estimate.high, high)


def test_one_column_has_the_slope_of_a_regression_but_for_its_shrinkage():
    values, predicted = draw_population(np.random.default_rng(2), queries=4000, columns=1)
    sample, inside = values[:2000], predicted[:2000]
    estimate = estimate_means(sample, inside, predicted.mean(axis=0), population=4000)
    slope = stats.linregress(inside[:, 0], sample[:, 0]).slope
    assert estimate.weight[0] == pytest.approx(slope, rel=1e-3)
    corrected = sample.mean() + slope * (predicted.mean() - inside.mean())
    assert estimate.value[0] == pytest.approx(corrected, abs=1e-5)


@pytest.mark.parametrize("kind", ["noise", "inverted", "constant"])
def test_predictions_that_do_not_help_are_left_out(kind):
    rng = np.random.default_rng(3)
    values, predicted = draw_population(rng)
    predicted = {"noise": rng.random(values.shape), "inverted": 1 - predicted, "constant": np.ones(values.shape)}[kind]
    chosen = np.argsort(rng.random((400, len(values))))[:, :20]
    alone = estimate_means(values[chosen], population=len(values))
    both = estimate_means(values[chosen], predicted[chosen], predicted.mean(axis=0), population=len(values))
    assert ((both.high - both.low) <= (alone.high - alone.low) + 1e-12).all()
    assert (both.weight == 0).mean() > (0.6 if kind == "noise" else 0.99)


def test_good_predictions_make_the_interval_narrower_and_it_still_covers():
    rng = np.random.default_rng(4)
    values, predicted = draw_population(rng)
    pairs = np.array(list(combinations(range(4), 2)))
    chosen = np.argsort(rng.random((1000, len(values))))[:, :25]
    for columns, signed in ((lambda x: x, False), (lambda x: x[:, pairs[:, 0]] - x[:, pairs[:, 1]], True)):
        truth, model = columns(values), columns(predicted)
        alone = estimate_means(truth[chosen], population=len(values), signed=signed)
        both = estimate_means(truth[chosen], model[chosen], model.mean(axis=0), population=len(values), signed=signed)
        assert (both.high - both.low).mean() < 0.7 * (alone.high - alone.low).mean()
        inside = (both.low <= truth.mean(axis=0)) & (truth.mean(axis=0) <= both.high)
        assert (inside.mean(axis=0) >= 0.94).all()
        np.testing.assert_allclose(both.value.mean(axis=0), truth.mean(axis=0), atol=0.01)


def test_a_value_that_few_queries_have_is_not_excluded_because_the_sample_misses_it():
    values = np.zeros((80, 2))
    values[:4, 0] = 1.0
    values[:, 1] = np.linspace(0, 1, 80)
    chosen = np.argsort(np.random.default_rng(5).random((1000, 80)))[:, :20]
    missed = ~values[chosen][..., 0].any(axis=1)
    estimate = estimate_means(values[chosen], population=80)
    assert missed.mean() > 0.25  # where Student's interval is [0, 0]
    assert ((estimate.low[:, 0] <= 0.05) & (estimate.high[:, 0] >= 0.05)).mean() >= 0.93


def test_p_is_below_alpha_exactly_if_the_interval_excludes_0():
    rng = np.random.default_rng(6)
    sample = rng.normal(0.05, 0.2, (500, 20, 3))
    estimate = estimate_means(sample, population=50, signed=True, level=0.9)
    excludes = (estimate.low > 0) | (estimate.high < 0)
    assert 0.1 < excludes.mean() < 0.9
    np.testing.assert_array_equal(estimate.p <= 0.1, excludes)


SIZES = (90, 45, 15)


def draw_strata(rng, draws, counts):
    """Return values and predictions in strata that differ, samples of each, and the stratum of each sampled query."""
    level = np.repeat([0.1, 0.5, 0.9], SIZES)[:, None]
    values = np.clip(level + rng.normal(0, 0.15, (sum(SIZES), 3)), 0, 1)
    predicted = np.clip(values * 0.7 + rng.normal(0, 0.1, values.shape), 0, 1)
    starts = np.cumsum((0, *SIZES[:-1]))
    chosen = [
        start + np.argsort(rng.random((draws, size)), axis=1)[:, :count]
        for start, size, count in zip(starts, SIZES, counts, strict=True)
    ]
    return values, predicted, np.concatenate(chosen, axis=1), np.repeat(np.arange(3), counts)


@pytest.mark.parametrize("counts", [(12, 6, 2), (7, 7, 6), (30, 15, 5), (2, 2, 2)])
def test_estimates_from_strata_are_unbiased_cover_and_are_narrower_than_without(counts):
    rng = np.random.default_rng(7)
    values, predicted, chosen, strata = draw_strata(rng, 2000, counts)
    simple = np.argsort(rng.random((2000, len(values))), axis=1)[:, : sum(counts)]
    truth, model = values.mean(axis=0), predicted.mean(axis=0)
    for sample, predictions in ((values[chosen], predicted[chosen]), (values[chosen], None)):
        estimate = estimate_means(
            sample, predictions, None if predictions is None else model, population=SIZES, strata=strata
        )
        error = estimate.value.std(axis=0) / np.sqrt(2000)
        # A slope that is estimated from the sample has a bias of the order of 1/n.
        bias = 0.0 if predictions is None else 0.02 / sum(counts)
        assert (np.abs(estimate.value.mean(axis=0) - truth) < 4 * error + bias).all()
        assert (((estimate.low <= truth) & (truth <= estimate.high)).mean(axis=0) >= 0.935).all()
        alone = estimate_means(
            values[simple],
            None if predictions is None else predicted[simple],
            None if predictions is None else model,
            population=sum(SIZES),
        )
        if counts != (2, 2, 2):  # where fewer than two degrees of freedom are left
            assert (estimate.high - estimate.low).mean() < 0.9 * (alone.high - alone.low).mean()


def test_the_variance_of_strata_is_the_sum_of_survey_sampling(monkeypatch):
    monkeypatch.setattr(prediction_powered, "PRIOR", 0.0)
    values, _, chosen, strata = draw_strata(np.random.default_rng(8), 1, (12, 7, 4))
    sample = values[chosen[0]]
    variance, mean = 0.0, 0.0
    for number, size in enumerate(SIZES):
        part = sample[strata == number]
        share = size / sum(SIZES)
        mean += share * part.mean(axis=0)
        variance += share**2 * (1 - len(part) / size) * part.var(axis=0, ddof=1) / len(part)
    estimate = estimate_means(sample, population=SIZES, strata=strata)
    half = stats.t.ppf(0.975, estimate.freedom) * np.sqrt(variance)
    np.testing.assert_allclose(estimate.value, mean)
    np.testing.assert_allclose(estimate.low, mean - half)
    np.testing.assert_allclose(estimate.high, mean + half)
    # At most those without strata minus one for each stratum, and at least those of the smallest stratum.
    assert 3 < estimate.freedom <= 23 - 3


def test_queries_like_these_vary_between_strata_too():
    values, _, chosen, strata = draw_strata(np.random.default_rng(9), 1, SIZES)
    estimate = estimate_means(values[chosen[0]], population=SIZES, strata=strata, beyond=True)
    simple = estimate_means(values, population=sum(SIZES), beyond=True)
    np.testing.assert_allclose(estimate.high - estimate.low, simple.high - simple.low, rtol=0.1)


def test_one_stratum_changes_no_digit():
    rng = np.random.default_rng(10)
    values, predicted = draw_population(rng)
    for n in (2, 20, len(values)):
        chosen = np.argsort(rng.random((50, len(values))))[:, :n]
        sample = values[chosen], predicted[chosen], predicted.mean(axis=0)
        simple = estimate_means(*sample, population=len(values))
        stratified = estimate_means(*sample, population=[len(values)], strata=np.zeros(n, int))
        for name in ("value", "low", "high", "weight", "p"):
            np.testing.assert_array_equal(getattr(stratified, name), getattr(simple, name))


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        ([0, 0, 1], "1 of 9 queries of stratum 1 are judged; an interval needs at least two"),
        ([0, 0, 2], "the strata are not those of the sample"),
        ([0, 0], "the strata are not those of the sample"),
    ],
)
def test_strata_without_a_variance_are_refused(strata, message):
    with pytest.raises(InputError, match=message):
        estimate_means(np.ones((3, 2)), population=[5, 9], strata=np.array(strata))


def test_one_query_has_no_interval():
    with pytest.raises(InputError, match="1 of 9 queries are judged"):
        estimate_means(np.ones((1, 2)), population=9)
