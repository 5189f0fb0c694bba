"""Estimates from sampled items: their mean over all samples, and their value if everything is judged."""

from itertools import combinations, product

import numpy as np
import pytest

import goldrank as gr
from goldrank.stats.sampling_estimators import (
    inferred_ap,
    sampled_dcg,
    sampled_ndcg,
    sampled_precision,
    sampled_recall,
    sampled_total,
    stat_ap,
)

GAINS = np.array([2.0, 0.0, 1.0, 0.0, 1.0, 3.0, 0.0])
RANK = np.array([1, 2, 3, 4, 5, 0, 7])  # the sixth item is not returned, and an item that is not pooled is at rank 6
STRATUM = np.array([0, 0, 0, 1, 1, 1, 1])
SIZES = (2, 2)


def all_samples():
    """Yield the gains of every sample of two items of each stratum (NaN if not drawn)."""
    members = [np.flatnonzero(number == STRATUM) for number in (0, 1)]
    for parts in product(*(combinations(part.tolist(), size) for part, size in zip(members, SIZES, strict=True))):
        sample = [at for part in parts for at in part]
        gain = np.full(len(GAINS), np.nan)
        gain[sample] = GAINS[sample]
        yield gain


PROBABILITY = np.array([SIZES[number] / (number == STRATUM).sum() for number in STRATUM])


def joint():
    """Return the inclusion probabilities of pairs, counted over all samples."""
    included = np.array([~np.isnan(gain) for gain in all_samples()], float)
    return included.T @ included / len(included)


def test_probabilities_are_those_of_the_samples():
    np.testing.assert_allclose(np.diag(joint()), PROBABILITY)


@pytest.mark.parametrize(
    "estimator",
    [
        lambda gain, chance: sampled_precision(RANK, gain, chance, 4),
        lambda gain, chance: sampled_dcg(RANK, gain, chance, 5),
        lambda gain, chance: sampled_dcg(RANK, gain, chance),
        lambda gain, chance: sampled_total(np.where(np.isnan(gain), np.nan, gain > 0), chance),
    ],
    ids=["precision", "dcg@5", "dcg", "relevant items"],
)
def test_the_mean_over_all_samples_is_the_full_value(estimator):
    full = estimator(GAINS, np.ones(len(GAINS)))
    values = [estimator(gain, PROBABILITY) for gain in all_samples()]
    assert np.mean(values) == pytest.approx(full)
    assert np.std(values) > 0.01


def test_numerator_and_denominator_of_stat_ap_are_unbiased():
    numerators, denominators = [], []
    for gain in all_samples():
        relevant = sampled_total(np.where(np.isnan(gain), np.nan, gain > 0), PROBABILITY)
        numerators.append(stat_ap(RANK, gain, PROBABILITY, joint()) * relevant)
        denominators.append(relevant)
    # There are four relevant items, at the ranks 1, 3, 5 and not returned.
    assert np.mean(denominators) == pytest.approx(4)
    assert np.mean(numerators) == pytest.approx(1 + 2 / 3 + 3 / 5)


@pytest.mark.parametrize("seed", range(10))
def test_estimates_equal_the_metrics_if_everything_is_judged(seed):
    rng = np.random.default_rng(seed)
    rank, gain, items = random_query(rng)
    gold = {"q": dict(zip(items, gain.tolist(), strict=True))}
    run = {"q": {item: 99.0 - at for item, at in zip(items, rank.tolist(), strict=True) if at}}
    run["q"] |= {f"unpooled{at}": 99.0 - at for at in range(1, 20) if at not in rank}
    scores = gr.score(gold, run, ["precision@5", "recall@5", "dcg@5", "map", "ndcg@5", "ndcg", "ndcg(gain=exp)@5"])
    everything, pairs = np.ones(len(items)), np.ones((len(items), len(items)))
    assert sampled_precision(rank, gain, everything, 5) == pytest.approx(scores["precision@5"].mean)
    assert sampled_recall(rank, gain, everything, 5) == pytest.approx(scores["recall@5"].mean)
    assert sampled_dcg(rank, gain, everything, 5) == pytest.approx(scores["dcg@5"].mean)
    assert stat_ap(rank, gain, everything, pairs) == pytest.approx(scores["map"].mean)
    assert sampled_ndcg(rank, gain, everything, 5) == pytest.approx(scores["ndcg@5"].mean)
    assert sampled_ndcg(rank, gain, everything) == pytest.approx(scores["ndcg"].mean)
    assert sampled_ndcg(rank, np.exp2(gain) - 1, everything, 5) == pytest.approx(scores["ndcg(gain=exp)@5"].mean)
    for strata in (np.zeros(len(items), int), rng.integers(0, 3, len(items))):
        assert inferred_ap(rank, gain, strata) == pytest.approx(scores["map"].mean)


def random_query(rng):
    rank = np.where(rng.random(12) < 0.8, rng.permutation(19)[:12] + 1, 0)
    gain = rng.integers(0, 3, 12) * (rng.random(12) < 0.6)
    gain[0] = 1
    return rank, gain.astype(float), [f"d{at}" for at in range(12)]


@pytest.mark.parametrize("seed", range(10))
def test_one_stratum_gives_the_inferred_ap_of_trec_eval(seed):
    rng = np.random.default_rng(seed)
    rank, gain, items = random_query(rng)
    included = rng.random(12) < 0.5
    included[:2] = True
    run = {"q": {item: 99.0 - at for item, at in zip(items, rank.tolist(), strict=True) if at}}
    run["q"] |= {f"unpooled{at}": 99.0 - at for at in range(1, 20) if at not in rank}
    # Grade -1 marks the items of the pool that were not judged.
    gold = {"q": {item: grade if is_drawn else -1 for item, grade, is_drawn in zip(items, gain, included, strict=True)}}
    expected = gr.score(gold, run, ["infap"])["infap"].mean
    assert inferred_ap(rank, np.where(included, gain, np.nan), np.zeros(12, int)) == pytest.approx(expected, abs=1e-4)


def test_the_error_of_inferred_and_stat_ap_shrinks_around_the_truth():
    rng = np.random.default_rng(1)
    rank = np.arange(1, 201)
    gain = (rng.random(200) < 1 / (1 + rank / 10)).astype(float)
    stratum = (rank > 20).astype(int) + (rank > 80)
    precision = np.cumsum(gain) / rank
    truth = (precision * gain).sum() / gain.sum()
    sizes = np.array([15, 30, 40])
    counts = np.bincount(stratum)
    chance = (sizes / counts)[stratum]
    pairs = np.outer(chance, chance)
    for number, size in enumerate(sizes):
        inside = np.ix_(stratum == number, stratum == number)
        pairs[inside] = size * (size - 1) / (counts[number] * (counts[number] - 1))
    inferred, statistical = [], []
    for _ in range(200):
        included = np.zeros(200, bool)
        for number, size in enumerate(sizes):
            included[rng.choice(np.flatnonzero(stratum == number), size, replace=False)] = True
        sampled = np.where(included, gain, np.nan)
        inferred.append(inferred_ap(rank, sampled, stratum))
        statistical.append(stat_ap(rank, sampled, chance, pairs))
    assert np.mean(inferred) == pytest.approx(truth, abs=0.02)
    assert np.mean(statistical) == pytest.approx(truth, abs=0.02)
    assert max(np.std(inferred), np.std(statistical)) < 0.12


@pytest.mark.parametrize("k", [10, None])
def test_the_bias_of_sampled_ndcg_shrinks_with_the_sample(k):
    rng = np.random.default_rng(3)
    rank = np.arange(1, 301)
    gain = rng.integers(1, 4, 300) * (rng.random(300) < 1 / (1 + rank / 20))
    truth = sampled_ndcg(rank, gain.astype(float), np.ones(300), k)
    bias, error = [], []
    for chance in (0.1, 0.3, 0.7):
        values = [
            sampled_ndcg(rank, np.where(rng.random(300) < chance, gain, np.nan), np.full(300, chance), k)
            for _ in range(400)
        ]
        bias.append(abs(np.mean(values) - truth))
        error.append(np.std(values))
    assert error[0] > error[1] > error[2]
    # The mean of 400 samples has a standard error of a twentieth of that of one.
    assert bias[1] < 0.01 + 4 * error[1] / 20
    assert bias[2] < 0.01 + 4 * error[2] / 20


def test_the_ideal_ranking_of_sampled_ndcg_has_fractions_of_items():
    # The estimates are 2.5 items with gain 2 and 1.25 with gain 1; the best item is not drawn.
    gain, chance = np.array([np.nan, 2.0, 1.0, 0.0]), np.array([0.4, 0.4, 0.8, 0.5])
    discount = 1 / np.log2(np.arange(2, 7))
    ideal = 2 * (discount[:2].sum() + 0.5 * discount[2]) + 0.5 * discount[2] + 0.75 * discount[3]
    expected = (2 / 0.4 * discount[1] + 1 / 0.8 * discount[2]) / ideal
    assert sampled_ndcg(np.array([1, 2, 3, 4]), gain, chance) == pytest.approx(expected)
    cut = 2 * discount[:2].sum()
    assert sampled_ndcg(np.array([1, 2, 3, 4]), gain, chance, 2) == pytest.approx(2 / 0.4 * discount[1] / cut)


def test_nothing_relevant_in_the_sample_gives_0():
    gain = np.array([np.nan, 0.0])
    rank, chance = np.array([1, 2]), np.array([0.5, 0.5])
    assert sampled_recall(rank, gain, chance, 2) == 0.0
    assert sampled_ndcg(rank, gain, chance, 2) == 0.0
    assert stat_ap(rank, gain, chance, np.full((2, 2), 0.25)) == 0.0
    assert inferred_ap(rank, gain, np.zeros(2, int)) == 0.0
