"""Test races: scores for any grades, predictions for items without a label, and unbiased estimates."""

from itertools import pairwise, product

import numpy as np
import pytest

import goldrank as gr
from goldrank.hits import Gold, Run
from goldrank.judging.pool_scores import PoolScores
from goldrank.judging.pools import build_pool
from goldrank.judging.races import Race
from goldrank.judging.relevance import RelevancePredictions
from goldrank.metrics import Metric
from judging.judged_projects import rankings, truth

METRICS = ["precision@5", "recall@5", "mrr", "ndcg@5", "map", "rbp", "bpref", "err(max=2)@5", "hit_rate@3"]


class Simulated:
    """A pool with known labels, and the race on it."""

    def __init__(self, metric, *, queries=30, depth=5, skills=None, wrong=0.1, seed=0):
        self.grades = truth(queries, seed)
        self.runs = rankings(self.grades, skills or {"one": 0.6, "two": 0.8, "three": 1.5})
        self.pool = build_pool(self.runs, self.grades, depth=depth)
        self.scores = PoolScores(Metric.parse(metric), self.pool, self.runs)
        self.labels = np.array([self.grades[query][item] for query, item in self.scores.pairs], np.float64)
        rng = np.random.default_rng(seed)
        is_wrong = rng.random(len(self.labels)) < wrong
        self.model = np.where(is_wrong, rng.integers(0, 3, len(self.labels)), self.labels).astype(np.float64)

    def race(self, model=None):
        grades = self.model if model is None else model
        return Race(self.scores, RelevancePredictions(self.pool, grades), margin=0.01, alpha=0.05)

    @property
    def values(self):
        return self.scores.of(np.arange(len(self.scores.sizes)), self.labels)

    @property
    def differences(self):
        means = self.values.mean(axis=0)
        return means[:, None] - means[None, :]


@pytest.mark.parametrize("metric", METRICS)
def test_scores_of_any_grades_are_those_of_score(metric):
    simulation = Simulated(metric, queries=8)
    rng = np.random.default_rng(1)
    queries = rng.integers(0, 8, 20)
    parts = [rng.integers(0, 3, simulation.scores.sizes[query]).astype(np.float64) for query in queries]
    parts[0] *= 0
    values = simulation.scores.of(queries, np.concatenate(parts))
    for row, query, grades in zip(values, queries.tolist(), parts, strict=True):
        name = simulation.scores.queries[query]
        gold = Gold({name: dict(zip(simulation.pool.ids(name), grades.tolist(), strict=True))})
        for value, run in zip(row, simulation.runs.values(), strict=True):
            expected = gr.score(gold, Run({name: run[name]}), metric)[metric].value
            assert value == pytest.approx(0.0 if np.isnan(expected) else expected, abs=1e-12)


def test_a_query_without_pooled_items_scores_zero():
    runs = {"a": Run({"q1": {"x": 1.0}}), "b": Run({"q1": {"y": 1.0}})}
    scores = PoolScores(Metric.parse("mrr"), build_pool(runs, ["q0", "q1", "q2"]), runs)
    assert scores.sizes.tolist() == [0, 2, 0]
    assert scores.of(np.array([2, 1, 0, 1]), np.array([1.0, 0.0, 0.0, 1.0])).tolist() == [
        [0, 0],
        [1, 0],
        [0, 0],
        [0, 1],
    ]


def test_many_states_are_scored_in_parts(monkeypatch):
    simulation = Simulated("ndcg@5", queries=8)
    queries = np.tile(np.arange(8), 5)
    whole = simulation.scores.of(queries, np.tile(simulation.labels, 5))
    monkeypatch.setattr("goldrank.judging.pool_scores._AT_ONCE", 50)
    assert simulation.scores.of(queries, np.tile(simulation.labels, 5)).tolist() == whole.tolist()


def test_predictions_learn_from_labels_whether_the_model_is_right():
    simulation = Simulated("mrr", wrong=0.0)
    predictions = RelevancePredictions(simulation.pool, simulation.model)
    relevant = simulation.labels > 0
    before = predictions.probability
    assert before[relevant].min() > 0.5 > before[~relevant].max()
    items = np.arange(0, len(relevant), 2)
    predictions.add(items, ~relevant[items])  # a model that is always wrong
    after = predictions.probability
    is_right = (after > 0.5) == ~relevant
    assert is_right.mean() > 0.98
    assert after[relevant].mean() < 0.1
    assert after[~relevant].mean() > 0.9
    assert predictions.grade_if_relevant.min() >= 1


def test_predictions_learn_from_ranks_and_from_labels_of_the_same_query():
    simulation = Simulated("mrr", queries=40)
    predictions = RelevancePredictions(simulation.pool, np.full(len(simulation.labels), np.nan))
    assert np.ptp(predictions.probability) == 0  # nothing is known
    query = np.repeat(np.arange(40), simulation.scores.sizes)
    position = np.arange(len(query)) - np.flatnonzero(np.diff(query, prepend=-1))[query]
    labelled = position % 2 == 0
    relevant = query % 2 == 0  # all items of every other query
    predictions.add(np.flatnonzero(labelled), relevant[labelled])
    by_query = predictions.probability
    assert by_query[~labelled & relevant].mean() > 0.6
    assert by_query[~labelled & ~relevant].mean() < 0.4
    predictions = RelevancePredictions(simulation.pool, np.full(len(simulation.labels), np.nan))
    is_first = np.array([entry.best_rank == 1 for items in simulation.pool.items.values() for entry in items])
    predictions.add(np.flatnonzero(labelled), is_first[labelled])
    by_rank = predictions.probability
    assert by_rank[~labelled & is_first].mean() > 0.8
    assert by_rank[~labelled & ~is_first].mean() < 0.2


@pytest.mark.parametrize("metric", ["precision@3", "recall@3", "mrr", "ndcg@3", "map"])
def test_the_mean_over_all_draws_of_a_round_is_the_difference_of_all_labels(metric):
    """All values of the random numbers of two queries are enumerated, so that the mean is exact."""
    simulation = Simulated(metric, queries=2, depth=3, wrong=0.5, seed=3)
    start = simulation.race()
    probability = start.probabilities(5)
    query = np.repeat([0, 1], simulation.scores.sizes)
    cuts = [np.unique(np.concatenate([[0.0, 1.0], probability[query == number]])) for number in (0, 1)]
    steps = [list(pairwise(cut)) for cut in cuts]
    mean = variance = 0.0
    for first, second in product(*steps):
        level = np.array([np.mean(first), np.mean(second)])
        weight = (first[1] - first[0]) * (second[1] - second[0])
        items = np.flatnonzero(level[query] < probability)
        race = simulation.race()
        race.add_round(probability, items, simulation.labels[items])
        mean += weight * race.estimates.mean
        variance += weight * race.estimates.variance
    expected = simulation.differences[np.triu_indices(3, 1)]
    assert mean == pytest.approx(expected, abs=1e-9)
    assert len(steps[0]) > 2
    assert (variance > 0).all()


def test_rounds_are_unbiased_and_their_variance_is_not_too_small():
    simulation = Simulated("ndcg@5", wrong=0.3)
    labels, ends = 60, []
    for seed in range(300):
        race = simulation.race()
        rng = np.random.default_rng(seed)
        for _ in range(2):
            probability = race.probabilities(labels)
            items = race.draw(probability, rng)
            race.add_round(probability, items, simulation.labels[items])
        weights, sums, variances = race.estimates.sums
        # The weights of the second round depend on the first one: this sum has the mean 0, not the weighted mean.
        error = sums - weights * simulation.differences[np.triu_indices(3, 1)]
        ends.append((error, variances, race.labelled.sum()))
    for level, side in ((0.95, 0.025), (0.8, 0.1)):
        limits = zip(race.intervals(level), race.estimates.limits(side), strict=True)
        assert all(interval[np.triu_indices(3, 1)] == pytest.approx(limit) for interval, limit in limits)
    errors, variances, counts = (np.array(column) for column in zip(*ends, strict=True))
    assert np.abs(errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(len(errors)))).max() < 3.5
    assert (errors.var(axis=0) <= 1.25 * variances.mean(axis=0)).all()
    assert 2 * labels * 0.9 < counts.mean() < 2 * labels * 1.1


def test_items_that_cannot_matter_are_drawn_least():
    runs = {"a": Run({"q": {"x": 3.0, "y": 2.0, "z": 1.0}}), "b": Run({"q": {"y": 3.0, "x": 2.0, "w": 1.0}})}
    pool = build_pool(runs, ["q"])
    scores = PoolScores(Metric.parse("precision@2"), pool, runs)
    race = Race(scores, RelevancePredictions(pool, np.full(4, np.nan)), margin=0.01, alpha=0.05)
    assert race.probabilities(1.0) == pytest.approx(np.full(4, 0.25))  # no label changes the difference
    scores = PoolScores(Metric.parse("precision@3"), pool, runs)
    race = Race(scores, RelevancePredictions(pool, np.full(4, np.nan)), margin=0.01, alpha=0.05)
    by_item = dict(zip((item for _, item in scores.pairs), race.probabilities(1.0), strict=True))
    assert min(by_item["z"], by_item["w"]) > 20 * max(by_item["x"], by_item["y"]) > 0


def test_labels_that_tell_close_systems_apart_are_more_likely():
    simulation = Simulated("precision@5", queries=60, skills={"one": 0.6, "two": 0.65, "bad": 1.2})
    predictions = RelevancePredictions(simulation.pool, simulation.model)
    race, rng = Race(simulation.scores, predictions, margin=0.01, alpha=0.05), np.random.default_rng(0)
    probability = race.probabilities(40)
    items = race.draw(probability, rng)
    race.add_round(probability, items, simulation.labels[items])
    assert race.standing().remaining == [0, 1, 2]
    found_by = [set(entry.ranks) for entries in simulation.pool.items.values() for entry in entries]
    spread = np.sqrt(predictions.probability * (1 - predictions.probability))
    share = np.where(race.labelled, np.nan, race.probabilities(10) / spread)
    close, bad = ([names in among for names in found_by] for among in ([{"one"}, {"two"}], [{"bad"}]))
    assert np.nanmean(share[close]) > 1.5 * np.nanmean(share[bad]) > 0


def test_a_round_without_labels_estimates_what_the_predictions_expect():
    """Precision is linear in the labels, so that its expected value is that of the probabilities."""
    simulation = Simulated("precision@5")
    predictions = RelevancePredictions(simulation.pool, np.minimum(simulation.model, 1.0))
    race, probability = Race(simulation.scores, predictions, margin=0.01, alpha=0.05), predictions.probability
    race.add_round(np.full(len(simulation.labels), 0.5), np.zeros(0, np.int64), np.zeros(0))
    query = np.repeat(np.arange(len(simulation.scores.sizes)), simulation.scores.sizes)
    alone = np.eye(len(query))  # each item as the only relevant one
    shares = np.stack([simulation.scores.of(query[[at]], alone[at, query == query[at]])[0] for at in range(len(query))])
    expected = (probability[:, None] * shares).sum(axis=0) / len(simulation.scores.sizes)
    differences = race.standing().differences
    assert differences == pytest.approx(expected[:, None] - expected[None, :])
    assert np.abs(differences).max() > 0.01


def test_labels_from_elsewhere_are_not_drawn_again():
    simulation = Simulated("map")
    race = simulation.race()
    known = np.arange(0, len(simulation.labels), 3)
    race.learn(known, simulation.labels[known])
    probability = race.probabilities(40)
    assert (probability[known] == 1).all()
    assert not set(race.draw(probability, np.random.default_rng(0))).intersection(known)


def test_the_differences_of_a_whole_pool_are_exact():
    simulation = Simulated("recall@5")
    race = simulation.race()
    race.learn(np.arange(len(simulation.labels)), simulation.labels)
    low, high = race.intervals()
    assert low == pytest.approx(simulation.differences)
    assert high == pytest.approx(simulation.differences)
    standing = race.standing()
    assert standing.remaining == [int(simulation.values.mean(axis=0).argmax())]
    assert standing.rivals == []


@pytest.mark.parametrize("model", ["good", "adversarial", "none"])
def test_wrong_winners_are_rare(model):
    simulation = Simulated("precision@5", queries=40, skills={"one": 0.8, "two": 0.9, "three": 0.85})
    grades = {
        "good": simulation.model,
        "adversarial": np.where(simulation.labels > 0, 0.0, 2.0),
        "none": simulation.labels * np.nan,
    }[model]
    means = simulation.values.mean(axis=0)
    wrong, labels = 0, []
    for seed in range(60):
        race, rng = simulation.race(grades), np.random.default_rng(seed)
        while (standing := race.standing()).rivals and not standing.is_equal:
            probability = race.probabilities(60)
            items = race.draw(probability, rng)
            race.add_round(probability, items, simulation.labels[items])
        wrong += means[standing.leader] < means.max() - race.margin - 1e-9
        labels.append(race.labelled.mean())
    assert wrong <= 3
    assert np.mean(labels) < 1
