"""Correlations of a meta-evaluation: observed, bootstrapped, jackknifed and permuted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldrank import stats
from goldrank.stats.resampling import Floats

FEWEST = 5
"""Below this many models no correlation is computed."""

Bools = NDArray[np.bool_]
Integers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ResampledCells:
    """The correlation of every intrinsic evaluator (row) with every downstream score (column), with resamples."""

    observed: Floats
    models: NDArray[np.int64]
    """The number of models that have both values."""
    resampled: Floats
    """(resamples, rows, columns)"""
    without: Floats
    """(models, rows, columns): with one model left out."""
    jackknife: Floats
    """(units, rows, columns): with one unit of the bootstrap left out, a model or a family."""
    p: Floats
    """By permutation, two-sided."""


@dataclass(frozen=True, eq=False)
class Correlations:
    """Columns of intrinsic (x) and downstream (y) values, one row per model, NaN for a missing value."""

    x: Floats
    y: Floats
    kind: stats.CorrelationKind
    resamples: int
    seed: int
    clusters: Integers | None

    def cells(self) -> ResampledCells:
        """Compute all cells; those over the same models are computed together."""
        shape = self.x.shape[1], self.y.shape[1]
        n = len(self.x)
        units = n if self.clusters is None else int(self.clusters.max()) + 1
        result = ResampledCells(
            np.full(shape, math.nan),
            np.zeros(shape, dtype=np.int64),
            np.full((self.resamples, *shape), math.nan),
            np.full((n, *shape), math.nan),
            np.full((units, *shape), math.nan),
            np.full(shape, math.nan),
        )
        for present, cells in self._groups():
            result.models[cells] = present.sum()
            if present.sum() < FEWEST:
                continue
            rows, columns = np.unique(cells[0]), np.unique(cells[1])
            inner = np.searchsorted(rows, cells[0]), np.searchsorted(columns, cells[1])
            all_x = np.where(present[:, None], self.x[:, rows], 0)
            all_y = np.where(present[:, None], self.y[:, columns], 0)
            x, y = all_x[present], all_y[present]
            ones = np.ones((len(x), 1), dtype=np.int64)
            result.observed[cells] = stats.weighted_correlations(x, y, ones, self.kind)[0][inner]
            resampled = stats.bootstrap_correlations(
                all_x,
                all_y,
                self.kind,
                resamples=self.resamples,
                seed=self.seed,
                clusters=self.clusters,
                rows=present,
            )
            result.resampled[:, cells[0], cells[1]] = resampled[:, inner[0], inner[1]]
            without = stats.jackknife_correlations(x, y, self.kind)
            result.without[np.flatnonzero(present)[:, None], cells[0], cells[1]] = without[:, inner[0], inner[1]]
            units_here = np.flatnonzero(present) if self.clusters is None else np.unique(self.clusters[present])
            here = None if self.clusters is None else np.searchsorted(units_here, self.clusters[present])
            jackknife = without if here is None else stats.jackknife_correlations(x, y, self.kind, here)
            result.jackknife[units_here[:, None], cells[0], cells[1]] = jackknife[:, inner[0], inner[1]]
            p = stats.permutation_p_values(x, y, self.kind, resamples=self.resamples, seed=self.seed)
            result.p[cells] = p[inner]
        return result

    def _groups(self) -> Iterator[tuple[Bools, tuple[Integers, Integers]]]:
        """Yield each set of models, as a mask, with the cells (rows, columns) for which these have both values."""
        groups: dict[bytes, list[tuple[int, int]]] = {}
        has_x, has_y = ~np.isnan(self.x).T, ~np.isnan(self.y).T
        for i, first in enumerate(has_x):
            for d, second in enumerate(has_y):
                groups.setdefault((first & second).tobytes(), []).append((i, d))
        for packed, cells in groups.items():
            rows, columns = np.array(cells, dtype=np.intp).T
            yield np.frombuffer(packed, dtype=np.bool_), (rows, columns)

    def between(self, first: int, second: int, column: int) -> tuple[float, float, float, int]:
        """Return what Williams' test needs of two evaluators and a downstream score.

        Returns:
            The correlation of each evaluator with the score, their correlation with each other, and the number of
            models.
        """
        values = np.column_stack([self.x[:, first], self.x[:, second], self.y[:, column]])
        values = values[~np.isnan(values).any(axis=1)]
        if len(values) < FEWEST:
            return math.nan, math.nan, math.nan, len(values)
        ones = np.ones((len(values), 1), dtype=np.int64)
        matrix = stats.weighted_correlations(values, values, ones, self.kind)[0]
        return float(matrix[0, 2]), float(matrix[1, 2]), float(matrix[0, 1]), len(values)
