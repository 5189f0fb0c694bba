"""Explain a metric: its definition, and the variant and conventions that a profile computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from goldrank.metrics import Conventions, Metric, Profile, find_profile
from goldrank.presentation import Result
from goldrank.scoring import conventions_of, resolve_conventions


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """The meaning of a metric: definition, formula, variants, source, and which tools print which variant."""

    metric: Metric
    """With the parameters of the profile filled in."""
    profile: Profile | None
    """With the conventions that were given; None if the explanation is not about a profile."""


def explain(
    metric: str | Metric,
    profile: str | Profile | None = None,
    *,
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Explanation:
    """Explain a metric.

    Args:
        metric: Such as ``"ndcg@10"`` or ``"recall"``.
        profile: Explain the variant that this profile computes, and its conventions.
        conventions: Single conventions that differ from the profile's, or Conventions to use instead of them.
        keywords: Single conventions, such as ``ties="expected"``.

    >>> explain("ndcg@10").to_dict()["formula"]  # doctest: +ELLIPSIS
    'DCG...'
    >>> explain("mrr", profile="sdr").profile.conventions.self_matches
    'first'
    """
    changes = conventions_of(explain, conventions, keywords)
    chosen = find_profile(profile or "standard") if profile or changes else None
    if chosen is not None and changes:
        chosen = replace(chosen, conventions=resolve_conventions(chosen, changes))
    parsed = Metric.parse(metric, needs_cutoff=False) if isinstance(metric, str) else metric
    return Explanation(parsed if chosen is None else chosen.apply(parsed, chosen.conventions.relevance_level), chosen)
