"""Fusion methods: each is a short function from the ballots of a query to a score per item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goldrank.fusion.normalising import NORMALISATIONS
from goldrank.hits import Floats, Ints

# Elements of a block of the pairwise matrix, so that a few blocks fit into the processor's cache.
_BLOCK = 1 << 18
# Sums of weights are rounded: 0.1 + 0.2 against 0.3 must not count as a majority.
_EVEN = 1e-12

GAMMA = 2.0
"""The default exponent of gmnz; 1 would be mnz."""
PHI = 0.9
"""The default persistence of rbc."""


@dataclass(frozen=True)
class Ballots:
    """The scores and ranks of one query: a row per run that ranks it, a column per item that any of them ranks.

    Columns are in descending order of id, so that a stable sort breaks ties as trec_eval does.
    """

    scores: Floats
    """0 where a run does not rank an item."""
    ranks: Ints
    """From 1; 0 where a run does not rank an item."""
    weights: Floats
    """One per row, above 0."""

    @property
    def runs(self) -> Ints:
        """How many runs rank each item."""
        counts: Ints = (self.ranks > 0).sum(axis=0, dtype=np.int64)
        return counts

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(np.sort(self.weights).sum())

    def total(self, parts: Floats) -> Floats:
        """Return the weighted sum over the runs, bit for bit the same for any order of the runs."""
        summed: Floats = np.sort(parts * self.weights[:, None], axis=0).sum(axis=0)
        return summed


@dataclass(frozen=True)
class FusionOptions:
    """The options of all methods, as `fuse` describes them."""

    normalise: str | None = None
    k: int = 60
    gamma: float = GAMMA
    phi: float = PHI
    depth: int | None = None


@dataclass(frozen=True)
class FusionMethod:
    """A fusion method: its description, its function and the options it reads."""

    summary: str
    apply: Callable[[Ballots, FusionOptions], Floats]
    options: tuple[str, ...] = ()


def _reciprocal_ranks(ballots: Ballots, options: FusionOptions) -> Floats:
    ranked = ballots.ranks > 0
    return ballots.total(ranked / (options.k + np.where(ranked, ballots.ranks, 1)))


def _normalised(ballots: Ballots, options: FusionOptions) -> Floats:
    parts = np.empty_like(ballots.scores)
    normalisation = NORMALISATIONS[options.normalise or "minmax"]
    for part, scores, ranks in zip(parts, ballots.scores, ballots.ranks, strict=True):
        ranked = ranks > 0
        part[ranked], part[~ranked] = normalisation.apply(scores[ranked], ranks[ranked])
    return parts


def _weighted_sum(ballots: Ballots, options: FusionOptions) -> Floats:
    return ballots.total(_normalised(ballots, options))


def _times_runs(ballots: Ballots, options: FusionOptions) -> Floats:
    fused: Floats = _weighted_sum(ballots, options) * ballots.runs
    return fused


def _times_runs_to_gamma(ballots: Ballots, options: FusionOptions) -> Floats:
    fused: Floats = _weighted_sum(ballots, options) * np.power(ballots.runs, options.gamma)
    return fused


def _over_ranked(reduce: Callable[..., Floats]) -> Callable[[Ballots, FusionOptions], Floats]:
    """Return a method that reduces the weighted scores of the runs that rank an item and ignores the other runs."""

    def fused(ballots: Ballots, options: FusionOptions) -> Floats:
        weighted = _normalised(ballots, options) * ballots.weights[:, None]
        # Sorted, so that a mean is bit for bit the same for any order of the runs.
        return reduce(np.sort(np.where(ballots.ranks > 0, weighted, np.nan), axis=0), axis=0)

    return fused


def _median(ascending: Floats, axis: int) -> Floats:
    """Return the median of each column, NaN last; halves are added, as the sum of two huge scores would overflow."""
    sizes, columns = (~np.isnan(ascending)).sum(axis=axis), np.arange(ascending.shape[1])
    low, high = ascending[(sizes - 1) // 2, columns], ascending[sizes // 2, columns]
    middle: Floats = np.where(low == high, low, low / 2 + high / 2)
    return middle


def _inverse_square_ranks(ballots: Ballots, options: FusionOptions) -> Floats:
    ranked = ballots.ranks > 0
    squares = ballots.total(ranked / np.square(np.where(ranked, ballots.ranks, 1.0)))
    fused: Floats = squares * ballots.runs
    return fused


def _rank_biased_centroid(ballots: Ballots, options: FusionOptions) -> Floats:
    ranked = ballots.ranks > 0
    shares = (1.0 - options.phi) * np.power(options.phi, np.where(ranked, ballots.ranks - 1.0, 0.0))
    return ballots.total(np.where(ranked, shares, 0.0))


def _borda(ballots: Ballots, options: FusionOptions) -> Floats:
    items = ballots.ranks.shape[1]
    missing = items - (ballots.ranks > 0).sum(axis=1, keepdims=True)
    # The items that a run does not rank share the remaining points, 1 to `missing`, equally.
    return ballots.total(np.where(ballots.ranks > 0, items + 1 - ballots.ranks, (missing + 1) / 2))


def _condorcet(ballots: Ballots, options: FusionOptions) -> Floats:
    items = ballots.ranks.shape[1]
    places = np.where(ballots.ranks > 0, ballots.ranks, items + 1)
    even = _EVEN * ballots.weight
    wins = np.empty(items)
    rows = max(1, _BLOCK // items)
    for start in range(0, items, rows):
        margin = np.zeros((min(rows, items - start), items))
        for place, weight in zip(places, ballots.weights, strict=True):
            own = place[start : start + rows, None]
            margin += weight * np.subtract(own < place, own > place, dtype=np.int8)
        wins[start : start + rows] = (margin > even).sum(axis=1) - (margin < -even).sum(axis=1)
    # Wins less losses are integers, so the fraction that is added only breaks ties.
    fused: Floats = wins + _borda(ballots, options) / (2 * items * ballots.weight)
    return fused


METHODS: dict[str, FusionMethod] = {
    "rrf": FusionMethod("reciprocal rank fusion: the sum of 1 / (k + rank) over the runs", _reciprocal_ranks, ("k",)),
    "sum": FusionMethod("weighted sum of the normalised scores", _weighted_sum, ("normalise",)),
    "combsum": FusionMethod("CombSUM of Fox and Shaw: the sum of the normalised scores", _weighted_sum, ("normalise",)),
    "combmnz": FusionMethod(
        "CombMNZ: CombSUM times the number of runs that rank the item", _times_runs, ("normalise",)
    ),
    "combgmnz": FusionMethod(
        "CombGMNZ: CombSUM times the number of runs that rank the item to the power of gamma",
        _times_runs_to_gamma,
        ("normalise", "gamma"),
    ),
    "combmin": FusionMethod(
        "CombMIN: the lowest normalised score among the runs that rank the item",
        _over_ranked(np.nanmin),
        ("normalise",),
    ),
    "combmax": FusionMethod("CombMAX: the highest of these scores", _over_ranked(np.nanmax), ("normalise",)),
    "combmed": FusionMethod("CombMED: the median of these scores", _over_ranked(_median), ("normalise",)),
    "combanz": FusionMethod("CombANZ: the mean of these scores", _over_ranked(np.nanmean), ("normalise",)),
    "borda": FusionMethod(
        "Borda count: of n items the first gets n points, the next n-1 …; items that a run lacks share the rest", _borda
    ),
    "condorcet": FusionMethod(
        "pairwise majorities: by items beaten less items lost to (Copeland), then by Borda count, then by id",
        _condorcet,
    ),
    "isr": FusionMethod(
        "inverse square rank: the sum of 1 / rank² times the number of runs that rank the item", _inverse_square_ranks
    ),
    "rbc": FusionMethod(
        "rank-biased centroid: the sum of (1 - phi) phi^(rank - 1) over the runs", _rank_biased_centroid, ("phi",)
    ),
}
METHODS |= {name: METHODS[f"comb{name}"] for name in ("mnz", "gmnz", "min", "max", "med", "anz")}
