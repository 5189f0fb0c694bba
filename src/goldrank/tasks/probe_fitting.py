"""The classifier of a probe: logistic regression on frozen vectors, with the penalty chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.engines.base import usable_cores
from goldrank.errors import InputError, MissingExtraError, shorten
from goldrank.index.exact.vectors import spread

Rows = NDArray[np.int64]
Codes = NDArray[np.int64]

FOLDS = 5
STRENGTHS = (1e-2, 1e-3, 1e-4, 1e-5)
"""SentEval's grid of L2 penalties on the mean loss, strongest first: each fit starts from the previous solution."""
# With this gradient tolerance in float32, at most one prediction in a thousand differs from those of the optimum.
_TOLERANCE = 1e-5
_MOST_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Features:
    """The features of each example before scaling.

    The features of a text are its vector, those of a pair of texts are |a−b| and a·b, element by element.
    """

    matrix: Any
    """The features in float32, of shape (examples, columns), dense or sparse."""
    degrees: NDArray[np.float64]
    """For each column, the power of the vectors' scale with which it grows."""
    middle: Any
    """The vector of each example; of a pair, the mean of its two vectors."""
    squares: NDArray[np.float64]
    """The squared length of that vector; of a pair, the mean of the two squared lengths."""

    @classmethod
    def of(cls, first: Any, second: Any | None = None) -> Features:
        """Compute the features of texts, or of pairs of texts, from their vectors."""
        sparse = not isinstance(first, np.ndarray)
        first, second = (None if vectors is None else vectors.astype(np.float32) for vectors in (first, second))
        for vectors in (first, second):
            if vectors is not None and not np.isfinite(vectors.data if sparse else vectors).all():
                raise InputError(
                    "a vector holds a value that is not finite", remedy="check the model and the transform"
                )
        degrees = np.ones(first.shape[1])
        if second is None:
            return cls(first, degrees, first, _squares(first))
        if sparse:
            from scipy.sparse import hstack

            matrix = hstack([abs(first - second), first.multiply(second)]).tocsr()
        else:
            matrix = np.hstack([np.abs(first - second), first * second])
        squares = (_squares(first) + _squares(second)) / 2
        return cls(matrix, np.concatenate([degrees, 2 * degrees]), (first + second) / 2, squares)

    def scaled(self, rows: Rows) -> Callable[[Rows], Any]:
        """Return a function that scales rows by statistics of *rows* only, the rows that the model is fitted on.

        All vectors are divided by one number, their root mean square distance from the mean, so that the penalties of
        the grid mean the same for every model: vectors times 1000 give the same predictions. Columns are not
        standardised one by one, because their variance says which dimensions matter: without it wordllama loses two
        points on SICK-E and three on MRPC. The mean of each column is subtracted, which does not change the optimum
        (the intercept is not penalised) but saves steps; sparse rows stay uncentred, because centring would make them
        dense.
        """
        centre = _mean(self.middle[rows])
        square, offset = float(np.mean(self.squares[rows])), float(centre @ centre)
        # Equal vectors differ from their mean only by rounding.
        spread = float(np.sqrt(square - offset)) if square - offset > 1e-10 * square else 1.0
        divisor = spread**self.degrees
        if not isinstance(self.matrix, np.ndarray):
            from scipy.sparse import diags

            scale = diags(1 / divisor)
            return lambda selected: (self.matrix[selected] @ scale).tocsr().astype(np.float32)
        mean = (centre if self.middle is self.matrix else _mean(self.matrix[rows])).astype(np.float32)
        factor = (1 / divisor).astype(np.float32)

        def dense(selected: Rows) -> Any:
            vectors = self.matrix[selected]
            vectors -= mean
            vectors *= factor
            return vectors

        return dense


def _squares(vectors: Any) -> NDArray[np.float64]:
    if isinstance(vectors, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.asarray(vectors.multiply(vectors).sum(axis=1), dtype=np.float64).ravel()


def _mean(vectors: Any) -> NDArray[np.float64]:
    return np.asarray(vectors.sum(axis=0, dtype=np.float64) / vectors.shape[0]).ravel()


@dataclass(frozen=True, eq=False)
class Probe:
    """The data of a classifier: features, and labels as numbers from 0."""

    features: Features
    codes: Codes

    def fit_path(self, fit: Rows, test: Rows) -> PenaltyPath:
        """Fit one model for each penalty on the rows *fit*, and predict the labels of the rows *test*."""
        scaled = self.features.scaled(fit)
        fit_features, test_features, labels = scaled(fit), scaled(test), self.codes[fit]
        # SentEval's softmax has weights for both of two classes, which halves the penalty on their difference.
        share = 2.0 if len(np.unique(labels)) == 2 else 1.0
        model = _load_sklearn("linear_model").LogisticRegression(
            solver="lbfgs", tol=_TOLERANCE, max_iter=_MOST_STEPS, warm_start=True
        )
        predictions, steps = [], 0
        for strength in STRENGTHS:
            model.C = share / (strength * len(fit))
            model.fit(fit_features, labels)
            steps = max(steps, int(np.max(model.n_iter_)))
            predictions.append(np.asarray(model.predict(test_features), dtype=np.int64))
        codes = np.array(predictions)
        return PenaltyPath(test, codes, (codes == self.codes[test]).mean(axis=1), steps < _MOST_STEPS)


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """The predictions of the models of all penalties for some rows."""

    rows: Rows
    codes: Codes
    """The predicted labels, of shape (penalties, rows)."""
    accuracies: NDArray[np.float64]
    """The accuracy of each penalty."""
    converged: bool


def best_penalty(accuracies: Sequence[NDArray[np.float64]]) -> int:
    """Return the position of the penalty with the highest mean accuracy over the folds; of equal ones the strongest.

    >>> best_penalty([np.array([0.5, 0.75, 0.75, 0.5]), np.array([0.5, 0.75, 0.75, 1.0])])
    1
    """
    means = np.mean(np.asarray(accuracies), axis=0)
    # The tolerance is for means of the same counts, which may differ in their last bit.
    return int(np.argmax(means >= means.max() - 1e-12))


def draw_folds(codes: Codes, rows: Rows, seed: int, folds: int = FOLDS) -> list[tuple[Rows, Rows]]:
    """Return the rows to fit on and the rows to test on for each of the stratified folds of *rows*."""
    splitter = _load_sklearn("model_selection").StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
    return [(rows[fit], rows[test]) for fit, test in splitter.split(np.zeros(len(rows)), codes[rows])]


def _load_sklearn(module: str) -> Any:
    """Import a module of scikit-learn when it is first needed, because the import is slow."""
    try:
        return import_module(f"sklearn.{module}")
    except ModuleNotFoundError:
        raise MissingExtraError("a probe", "scikit-learn", "models") from None


def check_folds(labels: Sequence[str], *, nested: bool, where: str) -> None:
    """Raise InputError if a class has too few rows to be in every fold."""
    # Of n rows of a class, the largest outer fold holds n/5 rounded up; the others have to fill five inner folds.
    needed = 7 if nested else FOLDS
    names, sizes = np.unique(np.array(labels, dtype=object), return_counts=True)
    for name, size in zip(names.tolist(), sizes.tolist(), strict=True):
        if size < needed:
            kind = f"nested {FOLDS}-fold cross-validation" if nested else f"{FOLDS}-fold cross-validation"
            raise InputError(
                f"the class {shorten(name)} has {size} row{'' if size == 1 else 's'} to learn from, {kind} needs "
                f"{needed} of each",
                where=where or None,
                remedy="add rows of it, merge it with another class, or name the splits train, dev and test",
            )


def fit_paths(probe: Probe, jobs: Sequence[tuple[Rows, Rows]]) -> list[PenaltyPath]:
    """Fit a path for each pair of rows to fit and to test on; one thread each, so that results are reproducible."""
    from threadpoolctl import threadpool_limits

    sklearn_exceptions = _load_sklearn("exceptions")
    with threadpool_limits(1), warnings.catch_warnings():
        # PenaltyPath.converged reports it instead.
        warnings.simplefilter("ignore", sklearn_exceptions.ConvergenceWarning)
        return list(spread(lambda job: probe.fit_path(*job), jobs, usable_cores()))
