"""Brings the scores of one ranking to a common scale, so that those of different models can be added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Normalisation:
    """One scale: what it does, and how."""

    summary: str
    apply: Callable[[Floats, Ints], tuple[Floats, float]]
    """From the scores and ranks of a ranking's items to their values, and the value of items that it lacks."""


def _minmax(scores: Floats, ranks: Ints) -> tuple[Floats, float]:
    scores = _scaled(scores)
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores)), 0.0


def _zscore(scores: Floats, ranks: Ints) -> tuple[Floats, float]:
    scores = _scaled(scores)
    # Asked before the mean is taken: that of equal numbers is not always one of them.
    if scores.min() == scores.max():
        return np.zeros(len(scores)), 0.0
    apart = scores - scores.mean()
    values: Floats = apart / np.sqrt(np.mean(apart * apart))
    return values, float(values.min())


def _sum(scores: Floats, ranks: Ints) -> tuple[Floats, float]:
    scores = _scaled(scores)
    above = scores - scores.min()
    total = above.sum()
    return above / total if total > 0 else np.full(len(scores), 1 / len(scores)), 0.0


def _rank(scores: Floats, ranks: Ints) -> tuple[Floats, float]:
    return 1 - (ranks - 1) / len(ranks), 0.0


def _none(scores: Floats, ranks: Ints) -> tuple[Floats, float]:
    return scores, min(0.0, float(scores.min()))


def _scaled(scores: Floats) -> Floats:
    """The scores times a power of two: exact, and neither differences nor squares leave the range of a double."""
    _, exponents = np.frexp(np.abs(scores).max())
    return np.ldexp(scores, -int(exponents))


NORMALISATIONS: dict[str, Normalisation] = {
    "minmax": Normalisation(
        "from 0 for the ranking's lowest score to 1 for its highest; 1 where all are equal; items it lacks get 0",
        _minmax,
    ),
    "zscore": Normalisation(
        "distance from the ranking's mean in standard deviations; 0 where all are equal; items it lacks get its lowest",
        _zscore,
    ),
    "sum": Normalisation(
        "height above the ranking's lowest score, as a share of all heights; equal shares where all are equal; "
        "items it lacks get 0",
        _sum,
    ),
    "rank": Normalisation("1 for the first of n items, then down by 1/n; items it lacks get 0", _rank),
    "none": Normalisation(
        "scores as they are; items it lacks get 0, or the ranking's lowest score where that is below 0", _none
    ),
}
