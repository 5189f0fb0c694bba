"""Normalise the scores of a ranking to a common scale, so that scores of different models can be added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goldrank.hits import Floats, Ints


@dataclass(frozen=True)
class Normalisation:
    """A normalisation: its description and its function."""

    summary: str
    apply: Callable[[Floats, Ints], tuple[Floats, float]]
    """Maps the scores and ranks of a ranking's items to normalised scores, and that of items not in the ranking."""


def _minmax(scores: Floats, ranks: Ints) -> tuple[Floats, float]:
    scores = _scaled(scores)
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores)), 0.0


def _zscore(scores: Floats, ranks: Ints) -> tuple[Floats, float]:
    scores = _scaled(scores)
    # Before the mean is computed, because the rounded mean of equal numbers may differ from them.
    if scores.min() == scores.max():
        return np.zeros(len(scores)), 0.0
    deviations = scores - scores.mean()
    values: Floats = deviations / np.sqrt(np.mean(deviations * deviations))
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
    """Multiply by a power of two, which is exact, so that neither differences nor squares overflow."""
    _, exponents = np.frexp(np.abs(scores).max())
    return np.ldexp(scores, -int(exponents))


NORMALISATIONS: dict[str, Normalisation] = {
    "minmax": Normalisation(
        "0 for the lowest score of a ranking to 1 for its highest; 1 if all are equal; missing items get 0",
        _minmax,
    ),
    "zscore": Normalisation(
        "distance from the mean in standard deviations; 0 if all are equal; missing items get the lowest",
        _zscore,
    ),
    "sum": Normalisation(
        "difference from the lowest score, divided by the sum of these; equal shares if all are equal; "
        "missing items get 0",
        _sum,
    ),
    "rank": Normalisation("1 for the first of n items, then down by 1/n; missing items get 0", _rank),
    "none": Normalisation(
        "scores unchanged; missing items get 0, or the ranking's lowest score if that is below 0", _none
    ),
}
