"""Correlations of a meta-evaluation: observed, resampled, with models left out, and permuted."""

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
    """What the resampling gave: the first axis of `drawn` is the resample, of `without` the model left out."""

    observed: Floats
    models: NDArray[np.int64]
    drawn: Floats
    without: Floats
    jackknife: Floats
    """As `without`, but leaving out what was drawn: a model or a family."""
    p: Floats


@dataclass(frozen=True, eq=False)
class Correlations:
    """Columns of intrinsic (x) and downstream (y) values, one line per model, NaN where there is none."""

    x: Floats
    y: Floats
    kind: stats.Kind
    resamples: int
    seed: int
    clusters: Integers | None

    def cells(self) -> ResampledCells:
        """All cells; those with the same models in common are computed together."""
        shape = self.x.shape[1], self.y.shape[1]
        n = len(self.x)
        units = n if self.clusters is None else int(self.clusters.max()) + 1
        found = ResampledCells(
            np.full(shape, math.nan),
            np.zeros(shape, dtype=np.int64),
            np.full((self.resamples, *shape), math.nan),
            np.full((n, *shape), math.nan),
            np.full((units, *shape), math.nan),
            np.full(shape, math.nan),
        )
        for present, cells in self._groups():
            found.models[cells] = present.sum()
            if present.sum() < FEWEST:
                continue
            rows, columns = np.unique(cells[0]), np.unique(cells[1])
            inner = np.searchsorted(rows, cells[0]), np.searchsorted(columns, cells[1])
            all_x = np.where(present[:, None], self.x[:, rows], 0)
            all_y = np.where(present[:, None], self.y[:, columns], 0)
            x, y = all_x[present], all_y[present]
            ones = np.ones((len(x), 1), dtype=np.int64)
            found.observed[cells] = stats.weighted_correlations(x, y, ones, self.kind)[0][inner]
            drawn = stats.bootstrap_correlations(
                all_x,
                all_y,
                self.kind,
                resamples=self.resamples,
                seed=self.seed,
                clusters=self.clusters,
                rows=present,
            )
            found.drawn[:, cells[0], cells[1]] = drawn[:, inner[0], inner[1]]
            without = stats.left_out(x, y, self.kind)
            found.without[np.flatnonzero(present)[:, None], cells[0], cells[1]] = without[:, inner[0], inner[1]]
            units_here = np.flatnonzero(present) if self.clusters is None else np.unique(self.clusters[present])
            here = None if self.clusters is None else np.searchsorted(units_here, self.clusters[present])
            jackknife = without if here is None else stats.left_out(x, y, self.kind, here)
            found.jackknife[units_here[:, None], cells[0], cells[1]] = jackknife[:, inner[0], inner[1]]
            p = stats.permutation_p_values(x, y, self.kind, resamples=self.resamples, seed=self.seed)
            found.p[cells] = p[inner]
        return found

    def _groups(self) -> Iterator[tuple[Bools, tuple[Integers, Integers]]]:
        """The models that have both values, and the cells (row, column) for which it is these."""
        groups: dict[bytes, list[tuple[int, int]]] = {}
        has_x, has_y = ~np.isnan(self.x).T, ~np.isnan(self.y).T
        for i, first in enumerate(has_x):
            for d, second in enumerate(has_y):
                groups.setdefault((first & second).tobytes(), []).append((i, d))
        for packed, cells in groups.items():
            rows, columns = np.array(cells, dtype=np.intp).T
            yield np.frombuffer(packed, dtype=np.bool_), (rows, columns)

    def between(self, first: int, second: int, column: int) -> tuple[float, float, float, int]:
        """The correlations of two evaluators with a downstream score and with each other, and over how many models."""
        values = np.column_stack([self.x[:, first], self.x[:, second], self.y[:, column]])
        values = values[~np.isnan(values).any(axis=1)]
        if len(values) < FEWEST:
            return math.nan, math.nan, math.nan, len(values)
        ones = np.ones((len(values), 1), dtype=np.int64)
        matrix = stats.weighted_correlations(values, values, ones, self.kind)[0]
        return float(matrix[0, 2]), float(matrix[1, 2]), float(matrix[0, 1]), len(values)
