"""The ways to make one ranking of several: each a short function from the ballots of a query to a score per item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goldrank.fusion.normalising import NORMALISATIONS, Floats, Ints

# Elements of a block of the pairwise matrix: with a few of them the work stays within the processor's cache.
_BLOCK = 1 << 18
# What weights add up to is rounded: 0.1 + 0.2 against 0.3 is no majority.
_EVEN = 1e-12

GAMMA = 2.0
"""The default exponent of gmnz; 1 would be mnz."""
PHI = 0.9
"""The default persistence of rbc."""


@dataclass(frozen=True)
class Ballots:
    """What the runs say about one query: a row per run that ranks it, a column per item that any of them ranks.

    Columns stand in descending order of id, so that a stable sort breaks ties as trec_eval does.
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
        """The sum of the weights."""
        return float(np.sort(self.weights).sum())

    def total(self, parts: Floats) -> Floats:
        """The weighted sum over the runs, the same to the last bit in whatever order they were given."""
        summed: Floats = np.sort(parts * self.weights[:, None], axis=0).sum(axis=0)
        return summed


@dataclass(frozen=True)
class Settings:
    """What a method can be told."""

    k: int
    normalise: str
    gamma: float
    phi: float


@dataclass(frozen=True)
class Method:
    """One way to fuse: what it does, and how."""

    summary: str
    apply: Callable[[Ballots, Settings], Floats]
    options: tuple[str, ...] = ()
    """Which of the settings it reads."""


def _reciprocal_ranks(ballots: Ballots, settings: Settings) -> Floats:
    ranked = ballots.ranks > 0
    return ballots.total(ranked / (settings.k + np.where(ranked, ballots.ranks, 1)))


def _normalised(ballots: Ballots, settings: Settings) -> Floats:
    parts = np.empty_like(ballots.scores)
    for part, scores, ranks in zip(parts, ballots.scores, ballots.ranks, strict=True):
        ranked = ranks > 0
        part[ranked], part[~ranked] = NORMALISATIONS[settings.normalise].apply(scores[ranked], ranks[ranked])
    return parts


def _weighted_sum(ballots: Ballots, settings: Settings) -> Floats:
    return ballots.total(_normalised(ballots, settings))


def _times_runs(ballots: Ballots, settings: Settings) -> Floats:
    fused: Floats = _weighted_sum(ballots, settings) * ballots.runs
    return fused


def _times_runs_to_gamma(ballots: Ballots, settings: Settings) -> Floats:
    fused: Floats = _weighted_sum(ballots, settings) * np.power(ballots.runs, settings.gamma)
    return fused


def _over_ranked(reduce: Callable[..., Floats]) -> Callable[[Ballots, Settings], Floats]:
    """A method that reduces the weighted scores of the runs that rank an item and leaves the other runs out."""

    def fused(ballots: Ballots, settings: Settings) -> Floats:
        weighted = _normalised(ballots, settings) * ballots.weights[:, None]
        # Sorted, so that a mean is the same to the last bit in whatever order the runs were given.
        return reduce(np.sort(np.where(ballots.ranks > 0, weighted, np.nan), axis=0), axis=0)

    return fused


def _median(ascending: Floats, axis: int) -> Floats:
    """The median of each column, NaN last; halves are added, as the sum of two huge scores would overflow."""
    held, columns = (~np.isnan(ascending)).sum(axis=axis), np.arange(ascending.shape[1])
    low, high = ascending[(held - 1) // 2, columns], ascending[held // 2, columns]
    middle: Floats = np.where(low == high, low, low / 2 + high / 2)
    return middle


def _inverse_square_ranks(ballots: Ballots, settings: Settings) -> Floats:
    ranked = ballots.ranks > 0
    squares = ballots.total(ranked / np.square(np.where(ranked, ballots.ranks, 1.0)))
    fused: Floats = squares * ballots.runs
    return fused


def _rank_biased_centroid(ballots: Ballots, settings: Settings) -> Floats:
    ranked = ballots.ranks > 0
    shares = (1.0 - settings.phi) * np.power(settings.phi, np.where(ranked, ballots.ranks - 1.0, 0.0))
    return ballots.total(np.where(ranked, shares, 0.0))


def _borda(ballots: Ballots, settings: Settings) -> Floats:
    items = ballots.ranks.shape[1]
    missing = items - (ballots.ranks > 0).sum(axis=1, keepdims=True)
    # The places below the ranked ones are worth 1 to `missing` points: in the mean half of that and a half.
    return ballots.total(np.where(ballots.ranks > 0, items + 1 - ballots.ranks, (missing + 1) / 2))


def _condorcet(ballots: Ballots, settings: Settings) -> Floats:
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
    # Wins less losses are whole numbers, so what is added decides among equal ones only.
    fused: Floats = wins + _borda(ballots, settings) / (2 * items * ballots.weight)
    return fused


METHODS: dict[str, Method] = {
    "rrf": Method("reciprocal rank fusion: the sum of 1 / (k + rank) over the runs", _reciprocal_ranks, ("k",)),
    "sum": Method("weighted sum of the normalised scores", _weighted_sum, ("normalise",)),
    "combsum": Method("CombSUM of Fox and Shaw: the sum of the normalised scores", _weighted_sum, ("normalise",)),
    "combmnz": Method("CombMNZ: CombSUM times the number of runs that rank the item", _times_runs, ("normalise",)),
    "combgmnz": Method(
        "CombGMNZ: CombSUM times the number of runs that rank the item to the power of gamma",
        _times_runs_to_gamma,
        ("normalise", "gamma"),
    ),
    "combmin": Method(
        "CombMIN: the lowest normalised score among the runs that rank the item",
        _over_ranked(np.nanmin),
        ("normalise",),
    ),
    "combmax": Method("CombMAX: the highest of these scores", _over_ranked(np.nanmax), ("normalise",)),
    "combmed": Method("CombMED: the median of these scores", _over_ranked(_median), ("normalise",)),
    "combanz": Method("CombANZ: the mean of these scores", _over_ranked(np.nanmean), ("normalise",)),
    "borda": Method(
        "Borda count: of n items the first gets n points, the next n-1 …; those a run lacks share what is left", _borda
    ),
    "condorcet": Method(
        "pairwise majorities: by items beaten less items lost to (Copeland), then by Borda count, then by id",
        _condorcet,
    ),
    "isr": Method(
        "inverse square rank: the sum of 1 / rank² times the number of runs that rank the item", _inverse_square_ranks
    ),
    "rbc": Method(
        "rank-biased centroid: the sum of (1 - phi) phi^(rank - 1) over the runs", _rank_biased_centroid, ("phi",)
    ),
}
METHODS |= {name: METHODS[f"comb{name}"] for name in ("mnz", "gmnz", "min", "max", "med", "anz")}
