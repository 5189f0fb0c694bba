"""Predict which pooled items are relevant, from their ranks, the grades of a model judge and the labels so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Floats, Ints
from goldrank.judging.pools import Pool

_PRIOR = (0.12, 0.7)
"""The probability of an item that the model takes for not relevant, or has not graded, and of others, before labels."""
_QUERY_VARIANCE = 0.5
"""The prior variance of the effect of a query on the log odds; that of other coefficients is 1."""
_GROWTH = 1.2
"""The regression is fitted again when the number of labels has grown by this factor."""
_STEPS, _TOLERANCE = 12, 0.01
"""Newton's method takes at most so many steps, and stops at a smaller step than this."""
_LEAST_PROBABILITY = 0.002


class RelevancePredictions:
    """The probability that each pooled item is relevant, in the order of the pool.

    It is that of a logistic regression on the grade of the model, the ranks and an effect of each query, fitted to the
    labels so far. So a model that is wrong only predicts badly.
    """

    def __init__(self, pool: Pool, model_grades: Floats) -> None:
        """Prepare the predictions.

        Args:
            pool: The pool.
            model_grades: The grade of each pooled item by a model; NaN for none.
        """
        sizes = np.array([len(items) for items in pool.items.values()], np.int64)
        ranks = [entry.ranks for items in pool.items.values() for entry in items]
        positive = model_grades > 0
        self.grade_if_relevant: Floats = np.where(positive, model_grades, 1.0)
        """The grade that an item is taken to have if it is relevant."""
        self._query = np.repeat(np.arange(len(sizes)), sizes)
        share = np.bincount(self._query, positive, minlength=len(sizes)) / np.maximum(sizes, 1)
        self._features = _features(ranks, positive, share[self._query])
        odds = [np.log(share / (1 - share)) for share in _PRIOR]
        self._prior = np.zeros(self._features.shape[1])
        self._prior[:2] = odds[0], odds[1] - odds[0]
        self._coefficients, self._effects = self._prior, np.zeros(len(sizes))
        self._items, self._relevant = np.zeros(0, np.int64), np.zeros(0)
        self._fitted = 0
        self.probability: Floats = self._predict()
        """The probability of each item."""

    def add(self, items: Ints, relevant: NDArray[np.bool_]) -> None:
        """Add labels of items, and predict anew if they are many more than before."""
        self._items, self._relevant = np.append(self._items, items), np.append(self._relevant, relevant)
        if len(self._items) > _GROWTH * self._fitted:
            self._fitted = len(self._items)
            self._fit()
            self.probability = self._predict()

    def _fit(self) -> None:
        """Maximise the posterior density by Newton's method, of coefficients and effects of queries in turn."""
        features, query = self._features[self._items], self._query[self._items]
        for _ in range(_STEPS):
            error, weight = self._errors(features, query)
            gradient = features.T @ error - (self._coefficients - self._prior)
            curvature = (features * weight[:, None]).T @ features + np.eye(len(gradient))
            step = np.linalg.solve(curvature, gradient)
            change = np.abs(step).max()
            self._coefficients = self._coefficients + step / max(1.0, change)
            error, weight = self._errors(features, query)
            slope, curve = (np.bincount(query, part, minlength=len(self._effects)) for part in (error, weight))
            step = (slope - self._effects / _QUERY_VARIANCE) / (curve + 1 / _QUERY_VARIANCE)
            self._effects = self._effects + step.clip(-1, 1)
            if change < _TOLERANCE:
                break

    def _errors(self, features: Floats, query: Ints) -> tuple[Floats, Floats]:
        """Return what labels are above their probabilities, and the variances of labels."""
        probability = _expit(features @ self._coefficients + self._effects[query])
        return self._relevant - probability, probability * (1 - probability)

    def _predict(self) -> Floats:
        probability = _expit(self._features @ self._coefficients + self._effects[self._query])
        return probability.clip(_LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)


def _features(ranks: list[dict[str, int]], positive: NDArray[np.bool_], share: Floats) -> Floats:
    """Return 1, whether the model takes items for relevant, and standardised features of their ranks and queries."""
    systems = list(dict.fromkeys(system for row in ranks for system in row))
    by_system = np.array([[1 / (5 + row[system]) if system in row else 0.0 for system in systems] for row in ranks])
    score = np.log(by_system.sum(axis=1))
    best = np.log([min(row.values()) for row in ranks])
    number = (by_system > 0).sum(axis=1)
    columns = np.column_stack([score, best, number, score**2, share, score * positive, by_system])
    columns -= columns.mean(axis=0)
    columns /= np.maximum(columns.std(axis=0), 1e-9)
    return np.column_stack([np.ones(len(ranks)), positive, columns])


def _expit(values: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-values.clip(-30, 30)))
    return result
