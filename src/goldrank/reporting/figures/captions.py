"""Words that the captions of figures share: how many queries, which conventions, which metric."""

from __future__ import annotations

from goldrank.comparing import Comparison
from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.scoring import Bootstrap, Scores

BETTER = {"higher": "higher is better", "lower": "lower is better", "neither": "neither way is better"}


def conventions_of(scores: Scores) -> str:
    """The conventions in a few words."""
    return f"profile {scores.profile.name}, ties {scores.conventions.ties}"


def queries_of(scores: Scores) -> str:
    """Over how many queries the scores are taken."""
    return counts(scores.counts.queries, "query", "queries")


def intervals_of(how: Bootstrap) -> str:
    """What the intervals are."""
    return f"{how.level:.0%} intervals: bootstrap over queries ({how.resamples} resamples, seed {how.seed})"


def first_of(comparison: Comparison) -> Scores:
    """The scores of the first run, which stand for the conventions of all."""
    return next(iter(comparison.scores.values()))


def metric_of(comparison: Comparison, asked: str | None) -> Metric:
    """The metric asked for, or the first."""
    first = first_of(comparison)
    return first.metrics[0] if asked is None else first[asked].metric
