"""Metrics, each a short function of a Placement with its declaration, and the conventions that they follow."""

from goldrank.metrics import (  # noqa: F401 - importing a module registers its metrics
    abstention,
    average_precision,
    bpref,
    diversity,
    interpolated,
    mrr,
    ndcg,
    overlap,
    precision_recall,
    ranks,
    sets,
    user_models,
)
from goldrank.metrics.conventions import CHOICES, Conventions
from goldrank.metrics.definition import REGISTRY, Definition, Metric, Parameter, Values, parse_all
from goldrank.metrics.placement import Placement, place
from goldrank.metrics.profiles import PROFILES, Profile, find_profile

__all__ = [
    "CHOICES",
    "PROFILES",
    "REGISTRY",
    "Conventions",
    "Definition",
    "Metric",
    "Parameter",
    "Placement",
    "Profile",
    "Values",
    "find_profile",
    "parse_all",
    "place",
]
