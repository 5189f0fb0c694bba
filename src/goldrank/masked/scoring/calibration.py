"""Calibration: whether a share c of the answers with confidence c is right.

The expected calibration error is Σ |Σ (right − confidence)| over bins of confidence, with the inner sum within a bin,
divided by the number of answers. Its interval is a percentile bootstrap over pages. A resampled error has a small
upward bias, because noise within a bin only adds to the absolute value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.masked.scoring.levels import Level
from goldrank.stats import Interval, bootstrap_means, check_level, percentile_interval

# Tolerance for probabilities that exceed 1 by the rounding of a softmax or a sum.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class ConfidenceBin:
    """The answers with a confidence between two edges."""

    low: float
    high: float
    count: int
    confidence: float
    """Mean confidence; NaN if the bin is empty."""
    accuracy: float
    """Share of right answers; NaN if the bin is empty."""


@dataclass(frozen=True)
class Calibration:
    """The agreement of confidence and accuracy at one level."""

    level: str
    bins: list[ConfidenceBin]
    ece: float
    """Expected calibration error; NaN without answers."""
    interval: Interval | None
    """Bootstrap interval over pages; None with fewer than two pages with an answer."""
    answers: int
    unanswered: int
    """Excluded rows without an answer."""
    outside: int
    """Excluded answers with a confidence outside 0 to 1, which is not a probability."""


def calibration(
    level: Level, bins: int = 10, *, resamples: int = 1000, confidence_level: float = 0.95, seed: int = 0
) -> Calibration:
    """Compare confidence with accuracy in equal bins.

    Args:
        level: A level of scored predictions.
        bins: Number of bins.
        resamples: Number of bootstrap resamples of the pages; 0 for no interval.
        confidence_level: Confidence level of the interval.
        seed: Seed of the bootstrap.
    """
    if bins < 1:
        raise InputError(f"bins={bins} is not a whole number >= 1", remedy="use at least one bin")
    confidence = level.confidence
    answered = ~np.isnan(confidence)
    used = answered & (confidence >= -_ROUNDING) & (confidence <= 1 + _ROUNDING)
    given = np.clip(confidence[used], 0.0, 1.0)
    right = level.right[used].astype(np.float64)
    # A bin includes its lower edge, the last one both.
    number = np.minimum((given * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(number, right - given, minlength=bins)
    total = len(given)
    return Calibration(
        level=level.name,
        bins=_bins(number, given, right, bins),
        ece=float(np.abs(gaps).sum() / total) if total else float("nan"),
        interval=_interval(level.hits.query_index[used], number, right - given, bins, resamples, confidence_level, seed)
        if resamples
        else None,
        answers=total,
        unanswered=int((~answered).sum()),
        outside=int((answered & ~used).sum()),
    )


def _bins(number: Ints, given: np.ndarray, right: np.ndarray, bins: int) -> list[ConfidenceBin]:
    counts = np.bincount(number, minlength=bins)
    sums = np.bincount(number, given, minlength=bins), np.bincount(number, right, minlength=bins)
    mean, accuracy = (np.divide(s, counts, out=np.full(bins, np.nan), where=counts > 0).tolist() for s in sums)
    return [ConfidenceBin(at / bins, (at + 1) / bins, int(counts[at]), mean[at], accuracy[at]) for at in range(bins)]


def _interval(
    page: Ints, number: Ints, gap: np.ndarray, bins: int, resamples: int, level: float, seed: int
) -> Interval | None:
    check_level(level)
    pages, page_index = np.unique(page, return_inverse=True)
    if len(pages) < 2:
        return None
    cells = np.bincount(page_index * bins + number, gap, minlength=len(pages) * bins).reshape(-1, bins)
    counts = np.bincount(page_index, minlength=len(pages)).astype(np.float64)
    resampled = bootstrap_means(np.column_stack((cells, counts)), resamples=resamples, seed=seed)
    errors = np.abs(resampled[:, :bins]).sum(axis=1) / resampled[:, bins]
    return percentile_interval(errors, level)
