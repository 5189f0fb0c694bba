"""The classifier of a probe: logistic regression on frozen vectors, with the penalty chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.engines.base import usable_cores
from goldrank.errors import InputError, shorten
from goldrank.index.exact.vectors import spread

Rows = NDArray[np.int64]
Codes = NDArray[np.int64]

FOLDS = 5
STRENGTHS = (1e-2, 1e-3, 1e-4, 1e-5)
"""SentEval's grid of L2 penalties on the mean loss, strongest first: each fit starts from the one before."""
# At this gradient, in float32, at most one prediction in a thousand differs from those of the optimum.
_TOLERANCE = 1e-5
_MOST_STEPS = 1000


@dataclass(frozen=True, eq=False)
class Features:
    """What a classifier sees of each example, before it is scaled.

    One text gives its vector, a pair a and b gives |a−b| and a·b, element by element.
    """

    matrix: Any
    """(examples, columns) in float32; dense, or sparse rows."""
    degrees: NDArray[np.float64]
    """By which power of the vectors' scale each column grows."""
    middle: Any
    """The mean of the one vector, or the two, of each example."""
    squares: NDArray[np.float64]
    """The mean of their squared lengths."""

    @classmethod
    def of(cls, first: Any, second: Any | None = None) -> Features:
        """The features of texts, or of pairs of them."""
        sparse = not isinstance(first, np.ndarray)
        first, second = (None if made is None else made.astype(np.float32) for made in (first, second))
        for made in (first, second):
            if made is not None and not np.isfinite(made.data if sparse else made).all():
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
        """A function that gives rows as a model fitted on *rows* alone may see them.

        One number, how far the vectors lie from their mean (root mean square), divides them all, so that the grid of
        penalties means the same for every model: a vector file times 1000 gives the same predictions. Columns are not
        standardised one by one: their spread says which dimensions matter, and without it wordllama loses two points
        on SICK-E and three on MRPC. The mean of the columns is taken off, which moves no optimum (the intercept is not
        penalised) and saves steps; sparse rows keep theirs, since they would be sparse no more.
        """
        centre = _mean(self.middle[rows])
        square, offset = float(np.mean(self.squares[rows])), float(centre @ centre)
        # Vectors that are all equal differ from their mean by rounding alone.
        spread = float(np.sqrt(square - offset)) if square - offset > 1e-10 * square else 1.0
        divisor = spread**self.degrees
        if not isinstance(self.matrix, np.ndarray):
            from scipy.sparse import diags

            scale = diags(1 / divisor)
            return lambda asked: (self.matrix[asked] @ scale).tocsr().astype(np.float32)
        mean = (centre if self.middle is self.matrix else _mean(self.matrix[rows])).astype(np.float32)
        factor = (1 / divisor).astype(np.float32)

        def dense(asked: Rows) -> Any:
            made = self.matrix[asked]
            made -= mean
            made *= factor
            return made

        return dense


def _squares(vectors: Any) -> NDArray[np.float64]:
    if isinstance(vectors, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.asarray(vectors.multiply(vectors).sum(axis=1), dtype=np.float64).ravel()


def _mean(vectors: Any) -> NDArray[np.float64]:
    return np.asarray(vectors.sum(axis=0, dtype=np.float64) / vectors.shape[0]).ravel()


@dataclass(frozen=True, eq=False)
class Probe:
    """A data set as the classifier sees it: features, and labels as numbers from 0."""

    features: Features
    codes: Codes

    def path(self, fit: Rows, ask: Rows) -> Said:
        """What models fitted on *fit* alone say of *ask*, one for each penalty."""
        from sklearn.linear_model import LogisticRegression

        scaled = self.features.scaled(fit)
        known, asked, right = scaled(fit), scaled(ask), self.codes[fit]
        # SentEval's softmax has weights for both of two classes, which halves what the penalty costs their difference.
        share = 2.0 if len(np.unique(right)) == 2 else 1.0
        model = LogisticRegression(solver="lbfgs", tol=_TOLERANCE, max_iter=_MOST_STEPS, warm_start=True)
        said, steps = [], 0
        for strength in STRENGTHS:
            model.C = share / (strength * len(fit))
            model.fit(known, right)
            steps = max(steps, int(np.max(model.n_iter_)))
            said.append(np.asarray(model.predict(asked), dtype=np.int64))
        return Said(ask, np.array(said), (np.array(said) == self.codes[ask]).mean(axis=1), steps < _MOST_STEPS)


@dataclass(frozen=True, eq=False)
class Said:
    """What the models of all penalties say of some rows."""

    rows: Rows
    codes: Codes
    """(penalties, rows)"""
    accuracies: NDArray[np.float64]
    """The share that each penalty gets right."""
    converged: bool


def best_penalty(accuracies: Sequence[NDArray[np.float64]]) -> int:
    """Which penalty has the highest mean accuracy over the folds; the stronger of two that are equal.

    >>> best_penalty([np.array([0.5, 0.75, 0.75, 0.5]), np.array([0.5, 0.75, 0.75, 1.0])])
    1
    """
    means = np.mean(np.asarray(accuracies), axis=0)
    # A hair below the best is the best: means of the same counts may differ in their last bit.
    return int(np.argmax(means >= means.max() - 1e-12))


def folds_of(codes: Codes, rows: Rows, seed: int, folds: int = FOLDS) -> list[tuple[Rows, Rows]]:
    """The *rows* as so many pairs of what to fit on and what to ask, every class spread evenly."""
    from sklearn.model_selection import StratifiedKFold

    made = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32).split(np.zeros(len(rows)), codes[rows])
    return [(rows[fit], rows[ask]) for fit, ask in made]


def check_folds(labels: Sequence[str], *, nested: bool, where: str) -> None:
    """Refuse a class with too few rows to be in every fold, before anything is encoded."""
    # Of n rows the largest outer fold takes n/5 rounded up, and the rest has to fill five inner folds.
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


def side_by_side(probe: Probe, jobs: Sequence[tuple[Rows, Rows]]) -> list[Said]:
    """Every path, in order, on all cores: each by one thread, so that their number changes no bit."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # counted instead
        return list(spread(lambda job: probe.path(*job), jobs, usable_cores()))
