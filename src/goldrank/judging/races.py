"""Find the best system: estimate all differences from rounds of labels, and choose the items of the next round.

In a round, the items of each query are ordered by how much their labels are expected to matter, and the first K of
them are labelled, where K is random. Item j is among them with the probability p_j. If δ_j is the change of a
difference of two systems when the predicted grade of item j is replaced by its label, after those of items 1 to j − 1,
then the difference with all labels is that with the grades known so far plus Σ_j δ_j. With any numbers c_j that are
known before the round, Σ_j c_j plus the sum of (δ_j − c_j) / p_j over the labelled items has this sum as its expected
value, for every metric and for every prediction. Its variance is small if c_j is the expected change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Floats, Ints
from goldrank.judging.plans import inclusion_rate
from goldrank.judging.pool_scores import PoolScores
from goldrank.judging.relevance import RelevancePredictions
from goldrank.stats.round_estimates import RoundEstimates

_LEAST_EFFECT = 0.003
"""The change of a difference that every label is expected to make at least, so that each item can be drawn."""
_UNEXPECTED_EFFECT = 0.0009
"""The change of a difference that is allowed for where a label is expected to make none."""
_LEAST_VARIANCE = 1e-7
"""Of a round, which bounds its weight."""


@dataclass(frozen=True, eq=False)
class RaceStanding:
    """The systems that may still be the best, the leader among them, and the estimated differences."""

    remaining: list[int]
    leader: int
    is_equal: bool
    """Whether the leader is shown to be at most the margin below every other one."""
    differences: Floats
    """(systems, systems) the first less the second."""

    @property
    def rivals(self) -> list[int]:
        """The systems that may still be better than the leader."""
        return [system for system in self.remaining if system != self.leader]


class Race:
    """The estimated differences of all systems after rounds of labels.

    Args:
        scores: The values of the metric for any grades.
        predictions: What is expected of items without a label.
        margin: Systems that differ by no more are as good as equal.
        alpha: The probability of naming a wrong winner.
    """

    def __init__(self, scores: PoolScores, predictions: RelevancePredictions, *, margin: float, alpha: float) -> None:
        self.margin, self.alpha = margin, alpha
        self.labelled: NDArray[np.bool_] = np.zeros(len(scores.pairs), bool)
        """Whether each pair of the pool has a label."""
        self.scores, self._predictions = scores, predictions
        self._query = np.repeat(np.arange(len(scores.sizes)), scores.sizes)
        self._first = np.cumsum(scores.sizes) - scores.sizes
        self._pairs = np.triu_indices(scores.systems, 1)
        self.estimates = RoundEstimates(len(self._pairs[0]))
        self._grades = np.full(len(self.labelled), -1.0)
        """The labels, and for other items 0 or the grade that is predicted."""
        self._values = np.zeros((len(scores.sizes), scores.systems))
        self._effects = np.zeros((len(self.labelled), scores.systems))
        """How much the value of each system is higher if an item is relevant."""
        self._expected = np.zeros_like(self._effects)
        """How much it is expected to change if the predicted grade is replaced by a label."""
        self._predict(np.arange(len(scores.sizes)))

    def learn(self, items: Ints, grades: Floats) -> None:
        """Take over labels that are no part of a round."""
        self._predictions.add(items, grades > 0)
        self.labelled[items], self._grades[items] = True, grades
        self._predict(np.unique(self._query[items]))

    def add_round(self, probability: Floats, items: Ints, grades: Floats) -> None:
        """Estimate all differences from the labels of a round, and take these over.

        Args:
            probability: The probability with which each pair of the pool was asked for; 1 if it had a label before.
            items: The pairs that were asked for.
            grades: Their labels.
        """
        order = np.lexsort((-probability[items], self._query[items]))
        items, grades = items[order], grades[order]
        surprises = self._changes(items, grades) - self._differences(self._expected[items])
        chances = probability[items, None]
        value = self._differences(self._values).sum(axis=0) + self._differences(self._expected).sum(axis=0)
        variance = np.zeros(len(value))
        for rows in _split(self._query[items]):
            changes, chance = surprises[rows], chances[rows]
            estimate = (changes / chance).sum(axis=0)
            value += estimate
            # Horvitz and Thompson: both of two items are labelled if the second one is.
            known = (changes * (2 * np.cumsum(changes, axis=0) - changes) / chance).sum(axis=0)
            variance += estimate**2 - known
        squares = len(self._values) ** 2
        expected = np.maximum(self._expected_variance(probability) / squares, _LEAST_VARIANCE)
        self.estimates.add(value / len(self._values), expected, variance / squares)
        self.learn(items, grades)

    def _changes(self, items: Ints, grades: Floats) -> Floats:
        """Return the changes of all differences when predicted grades are replaced by labels, one after the other."""
        changes = np.zeros((len(items), len(self._pairs[0])))
        is_new = np.flatnonzero(grades != self._grades[items])
        parts = [is_new[rows] for rows in _split(self._query[items[is_new]])]
        queries: list[int] = []
        states: list[Floats] = []
        for rows in parts:
            query = int(self._query[items[rows[0]]])
            first = self._first[query]
            state = np.repeat(self._grades[None, first : first + self.scores.sizes[query]], len(rows) + 1, axis=0)
            for number, row in enumerate(rows.tolist(), start=1):
                state[number:, items[row] - first] = grades[row]
            queries += [query] * len(state)
            states.append(state.ravel())
        values = self._differences(self.scores.of(np.array(queries, np.int64), np.concatenate([np.zeros(0), *states])))
        ends = np.cumsum([len(rows) + 1 for rows in parts], dtype=np.int64)
        for rows, part in zip(parts, np.split(values, ends[:-1]), strict=bool(parts)):
            changes[rows] = np.diff(part, axis=0)
        return changes

    def _differences(self, values: Floats) -> Floats:
        first, second = self._pairs
        difference: Floats = values[:, first] - values[:, second]
        return difference

    def _predict(self, queries: Ints) -> None:
        """Predict grades anew, and compute values and effects of these queries and of those whose grades change."""
        probability, if_relevant = self._predictions.probability, self._predictions.grade_if_relevant
        is_open = ~self.labelled
        grades = np.where(is_open, np.where(probability > 0.5, if_relevant, 0.0), self._grades)
        stale = np.union1d(queries, self._query[grades != self._grades])
        self._grades = grades
        numbers: list[int] = []
        states: list[Floats] = []
        for query in stale.tolist():
            own = slice(self._first[query], self._first[query] + self.scores.sizes[query])
            free = np.flatnonzero(is_open[own])
            state = np.repeat(grades[own][None], len(free) + 1, axis=0)
            at = np.arange(len(free)), free
            state[at] = np.where(state[at] > 0, 0.0, if_relevant[own][free])
            numbers += [query] * len(state)
            states.append(state.ravel())
        number = np.array(numbers, np.int64)
        values = self.scores.of(number, np.concatenate([np.zeros(0), *states]))
        last = np.append(number[1:] != number[:-1], True)[: len(number)]
        self._values[number[last]] = values[last]
        is_stale = np.isin(self._query, stale)
        self._effects[is_stale] = 0.0
        self._effects[is_stale & is_open] = (values - self._values[number])[~last]
        self._effects[is_stale & (grades > 0)] *= -1
        self._expected = (probability - (grades > 0))[:, None] * self._effects

    def _variances(self) -> Floats:
        """Return the variance of whether each item is relevant; 0 for those with a label."""
        probability = self._predictions.probability
        variances: Floats = np.where(self.labelled, 0.0, probability * (1 - probability))
        return variances

    def _expected_variance(self, probability: Floats) -> Floats:
        """Return the variance that the sums of the differences of all queries are expected to have after a round."""
        squares = self._differences(self._effects) ** 2 + _UNEXPECTED_EFFECT**2
        variance: Floats = (self._variances() * (1 / probability - 1)) @ squares
        return variance

    def probabilities(self, labels: float) -> Floats:
        """Return the probability with which each pair is asked for in a round of about *labels* labels.

        It is proportional, up to 1, to the standard deviation of the changes of the differences between the leader and
        its rivals, which makes the variance small. Differences that are close to 0, relative to the margin and to their
        standard errors, count most. Pairs with a label have the probability 1.
        """
        standing = self.standing()
        leader, rivals = standing.leader, standing.rivals
        variance = np.minimum(self.estimates.variance, 1.0)
        error = np.sqrt(self._matrix(variance, variance)[leader, rivals])
        urgency = 1 / (np.maximum(standing.differences[leader, rivals], 0.0) + self.margin + error)
        effects = (self._effects[:, [leader]] - self._effects[:, rivals]) * (urgency / urgency.max(initial=0.0))
        weight = np.maximum(np.linalg.norm(effects, axis=1), _LEAST_EFFECT) * np.sqrt(self._variances())
        is_open = ~self.labelled
        result = np.ones(len(weight))
        rate = inclusion_rate(weight[is_open], np.ones(int(is_open.sum())), labels)
        result[is_open] = np.minimum(1.0, rate * weight[is_open])
        return result

    def draw(self, probability: Floats, rng: np.random.Generator) -> Ints:
        """Return the pairs without a label that are asked for, drawn with these probabilities.

        One random number for each query is compared with the probabilities of all its items. The numbers are evenly
        spread, so that the number of labels varies little.
        """
        queries = len(self.scores.sizes)
        level = (rng.permutation(queries) + rng.random()) / queries
        return np.flatnonzero(~self.labelled & (level[self._query] < probability))

    def standing(self) -> RaceStanding:
        """Return which systems may still be the best.

        A wrong winner is named only if one of the true statements "b is not better than the best system" is rejected
        for some b. There is one for each other system, so that each limit is at alpha / (systems − 1) (Bonferroni).
        """
        is_estimated = len(self.estimates) and not self.labelled.all()
        mean = self.estimates.mean if is_estimated else self._differences(self._values).mean(axis=0)
        value = self._matrix(mean, -mean)
        below, _ = self._limits(self.alpha / (self.scores.systems - 1))
        remaining = np.flatnonzero((below <= 1e-12).all(axis=0))
        if not len(remaining):  # contradictory limits, which have a probability of at most alpha
            remaining = np.arange(len(below))
        leader = int(remaining[value[np.ix_(remaining, remaining)].sum(axis=1).argmax()])
        others = remaining[remaining != leader]
        is_equal = bool((below[leader, others] >= -self.margin).all())
        return RaceStanding(remaining.tolist(), leader, is_equal, value)

    def intervals(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return (systems, systems) lower and upper limits of the differences.

        Those of one pair hold together after every round with the probability *level*.
        """
        return self._limits((1 - level) / 2)

    def _limits(self, alpha: float) -> tuple[Floats, Floats]:
        """Return (systems, systems) limits, each of which is ever wrong with probability at most *alpha*."""
        if self.labelled.all():
            low = high = self._differences(self._values).mean(axis=0)
        else:
            low, high = self.estimates.limits(alpha)
        return self._matrix(low, -high), self._matrix(high, -low)

    def _matrix(self, forward: Floats, backward: Floats) -> Floats:
        """Return a (systems, systems) matrix of what is known of each pair of systems, and of it in reverse."""
        matrix = np.zeros((self.scores.systems, self.scores.systems))
        matrix[self._pairs], matrix.T[self._pairs] = forward, backward
        return matrix

    def share_deciding(self, labels: int, continuations: int, rng: np.random.Generator) -> float:
        """Return in which share of continuations a round of *labels* labels decides between the leader and the next.

        A continuation takes a difference that the estimate so far is compatible with, and adds the error of one round.
        """
        standing = self.standing()
        if not len(self.estimates) or not standing.rivals:
            return 1.0
        rival = min(standing.rivals, key=lambda system: standing.differences[standing.leader, system])
        pair = [{int(a), int(b)} for a, b in zip(*self._pairs, strict=True)].index({standing.leader, rival})
        expected = self._expected_variance(self.probabilities(labels))[pair] / len(self._values) ** 2
        before = float(self.estimates.variance[pair])
        estimate = np.full(continuations, standing.differences[standing.leader, rival])
        compatible = estimate + rng.normal(0, math.sqrt(before), continuations)
        trials = RoundEstimates(continuations)
        for values, variance in ((estimate, before), (rng.normal(compatible, math.sqrt(expected)), expected)):
            variances = np.full(continuations, max(variance, _LEAST_VARIANCE))
            trials.add(values, variances, variances)
        low, high = trials.limits(self.alpha / (self.scores.systems - 1))
        return float(((low >= -self.margin) | (high < 0)).mean())


def _split(queries: Ints) -> list[Ints]:
    """Return the positions of each query in an ordered column."""
    if not len(queries):
        return []
    return np.split(np.arange(len(queries)), np.flatnonzero(np.diff(queries)) + 1)
