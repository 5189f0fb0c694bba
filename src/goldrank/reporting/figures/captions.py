"""Phrases that the captions of figures share: number of queries, conventions, intervals."""

from __future__ import annotations

from goldrank.errors import counts
from goldrank.scoring import Bootstrap, Scores

BETTER = {"higher": "higher is better", "lower": "lower is better", "neither": "neither way is better"}


def describe_conventions(scores: Scores) -> str:
    """Return the profile and the tie policy."""
    return f"profile {scores.profile.name}, ties {scores.conventions.ties}"


def describe_queries(scores: Scores) -> str:
    """Return the number of queries."""
    return counts(scores.counts.queries, "query", "queries")


def describe_intervals(how: Bootstrap, unit: str = "queries") -> str:
    """Return the level and the method of the intervals."""
    return f"{how.level:.0%} intervals: bootstrap over {unit} ({how.resamples} resamples, seed {how.seed})"


def describe_range(numbers: set[int], noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, or the lowest and the highest of several.

    >>> describe_range({3}, "mask"), describe_range({3, 7}, "query", "queries")
    ('3 masks', '3 to 7 queries')
    """
    most = counts(max(numbers), noun, plural)
    return most if len(numbers) == 1 else f"{min(numbers)} to {most}"
