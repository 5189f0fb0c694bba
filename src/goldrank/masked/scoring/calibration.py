"""Calibration: whether answers given with confidence c are right in a share c of the cases.

The expected calibration error is Σ |right − confidence| over bins of confidence, each sum taken within its bin, over
the number of answers. Its interval resamples pages. A resampled error has a small upward bias, as the absolute value
lets noise within a bin only add; the limits are the plain percentiles and are to be read with that in mind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.masked.scoring.levels import Level
from goldrank.stats import Interval, bootstrap_means

# Scores that are probabilities may pass 1 by the rounding of a softmax or a sum.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Bin:
    """The answers whose confidence lies in one part of the range from 0 to 1."""

    low: float
    high: float
    count: int
    confidence: float
    """The mean confidence; NaN where the bin is empty."""
    accuracy: float
    """The share of right answers; NaN where the bin is empty."""


@dataclass(frozen=True)
class Calibration:
    """How far confidence and accuracy agree at one level."""

    level: str
    bins: list[Bin]
    ece: float
    """The expected calibration error; NaN where there is no answer to judge."""
    interval: Interval | None
    """From resampled pages; None with fewer than two pages that have an answer."""
    answers: int
    unanswered: int
    """Rows without an answer, which have no confidence: left out."""
    outside: int
    """Answers whose confidence lies outside of 0 to 1, so that it is no probability: left out."""


def calibration(
    level: Level, bins: int = 10, *, resamples: int = 1000, confidence_level: float = 0.95, seed: int = 0
) -> Calibration:
    """Compare confidence with accuracy in *bins* equal bins.

    Args:
        level: a level of scored predictions.
        bins: how many equal parts of the range from 0 to 1.
        resamples: how many resamples of the pages the interval takes; 0 for no interval.
        confidence_level: of the interval.
        seed: same seed, same interval.
    """
    if bins < 1:
        raise InputError(f"{bins} bins of confidence cannot be made", remedy="ask for at least one")
    confidence = level.confidence
    answered = ~np.isnan(confidence)
    used = answered & (confidence >= -_ROUNDING) & (confidence <= 1 + _ROUNDING)
    given = np.clip(confidence[used], 0.0, 1.0)
    right = level.right[used].astype(np.float64)
    # A bin holds its lower edge, the last one both.
    number = np.minimum((given * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(number, right - given, minlength=bins)
    made = _bins(number, given, right, bins)
    total = len(given)
    return Calibration(
        level=level.name,
        bins=made,
        ece=float(np.abs(gaps).sum() / total) if total else float("nan"),
        interval=_interval(level.hits.query_index[used], number, right - given, bins, resamples, confidence_level, seed)
        if resamples
        else None,
        answers=total,
        unanswered=int((~answered).sum()),
        outside=int((answered & ~used).sum()),
    )


def _bins(number: Ints, given: np.ndarray, right: np.ndarray, bins: int) -> list[Bin]:
    counts = np.bincount(number, minlength=bins)
    sums = np.bincount(number, given, minlength=bins), np.bincount(number, right, minlength=bins)
    mean, accuracy = (np.divide(s, counts, out=np.full(bins, np.nan), where=counts > 0).tolist() for s in sums)
    return [Bin(at / bins, (at + 1) / bins, int(counts[at]), mean[at], accuracy[at]) for at in range(bins)]


def _interval(
    page: Ints, number: Ints, gap: np.ndarray, bins: int, resamples: int, level: float, seed: int
) -> Interval | None:
    if not 0 < level < 1:
        raise InputError(f"the confidence level {level} is not between 0 and 1", remedy="for example 0.95")
    pages, of = np.unique(page, return_inverse=True)
    if len(pages) < 2:
        return None
    cells = np.bincount(of * bins + number, gap, minlength=len(pages) * bins).reshape(-1, bins)
    counts = np.bincount(of, minlength=len(pages)).astype(np.float64)
    drawn = bootstrap_means(np.column_stack((cells, counts)), resamples=resamples, seed=seed)
    errors = np.abs(drawn[:, :bins]).sum(axis=1) / drawn[:, bins]
    low, high = np.quantile(errors, ((1 - level) / 2, (1 + level) / 2))
    return Interval(float(low), float(high), level, "percentile")
