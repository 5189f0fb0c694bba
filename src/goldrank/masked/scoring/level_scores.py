"""Compute metrics, margins and calibration errors of each level of masked predictions, and compare runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldrank import stats
from goldrank.comparing import Comparison, compare_hits
from goldrank.errors import InputError, shorten
from goldrank.hits import Hits
from goldrank.masked.scoring.calibration import calibration
from goldrank.masked.scoring.levels import LEVELS, Level, MaskedScores
from goldrank.scoring import Bootstrap, Scores, score_hits

CONVENTIONS: dict[str, Any] = {"ties": "expected"}
"""Guesses with equal scores count as the mean over their orders, so that a constant scorer gains nothing."""


def metrics_for(k: int) -> tuple[str, ...]:
    """Return accuracy, the share of hits within 3, 5, 10 … of k guesses, and the mean reciprocal rank.

    >>> metrics_for(5)
    ('hits@1', 'hits@3', 'hits@5', 'mrr(of=all)')
    """
    cutoffs = sorted({1, k, *(cutoff for cutoff in (3, 5, 10) if cutoff < k)})
    return (*(f"hits@{cutoff}" for cutoff in cutoffs), "mrr(of=all)")


METRICS = metrics_for(5)
"""The metrics of a table of scores: models are compared by their first five guesses."""
MACRO = "hits(average=queries)@1"
"""Accuracy as the mean over pages."""


def score_level(hits: Hits, metrics: Sequence[str], name: str, how: Bootstrap) -> Scores:
    """Return the metrics of one level, with intervals clustered by page."""
    return score_hits(hits, metrics, name=name, bootstrap=how, **CONVENTIONS)


@dataclass(frozen=True, eq=False)
class LevelScores:
    """The scores of one level of one run."""

    level: Level
    scores: Scores
    """``METRICS`` and ``MACRO``."""
    margin: float
    margin_interval: stats.Interval | None
    ece: float
    """The expected calibration error."""
    ece_interval: stats.Interval | None

    @classmethod
    def of(cls, level: Level, name: str, how: Bootstrap) -> LevelScores:
        """Score one level of the run *name*."""
        sample = level.sample(level.margin)
        [interval] = how.intervals([sample])
        calibrated = calibration(level, resamples=min(how.resamples, 1000), confidence_level=how.level, seed=how.seed)
        return cls(
            level,
            score_level(level.hits, [*METRICS, MACRO], name, how),
            stats.aggregate(sample.values, sample.weights),
            interval,
            calibrated.ece,
            calibrated.interval,
        )


def score_levels(scores: MaskedScores, name: str, how: Bootstrap) -> dict[str, LevelScores]:
    """Score every level of the run *name*."""
    return {level: LevelScores.of(scores.levels[level], name, how) for level in LEVELS}


def compare_levels(
    runs: Mapping[str, MaskedScores], metrics: Sequence[str], how: Bootstrap, alpha: float = 0.05
) -> dict[str, Comparison]:
    """Compare runs on the same masks at each level, paired by page.

    Raises:
        InputError: The runs are on different masks.
    """
    (first, base), *others = runs.items()
    expected = base.levels["mask"].hits
    for name, other in others:
        hits = other.levels["mask"].hits
        if (expected.queries, expected.items) != (hits.queries, hits.items):
            raise InputError(
                f"{shorten(first)} and {shorten(name)} are runs on different masks",
                remedy="compare runs on the same examples",
            )
    return {
        level: compare_hits(
            {name: scores.levels[level].hits for name, scores in runs.items()},
            metrics,
            # A mask without a guess is the answer of its model.
            evaluated=tuple(runs),
            alpha=alpha,
            bootstrap=how,
            **CONVENTIONS,
        )
        for level in LEVELS
    }


def compare_readings(
    runs: Mapping[str, MaskedScores], metrics: Sequence[str], how: Bootstrap, alpha: float
) -> dict[str, dict[str, Comparison]]:
    """Compare runs at each level in each reading; the result is by profile, then by level."""
    readings = zip(*(scores.readings for scores in runs.values()), strict=True)
    return {
        of[0].rules.profile: compare_levels(dict(zip(runs, of, strict=True)), metrics, how, alpha) for of in readings
    }
