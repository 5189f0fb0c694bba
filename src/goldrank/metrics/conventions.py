"""The conventions by which hits become ranks, with the meaning of each choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.ordering import SCORE_READINGS

CHOICES: dict[str, dict[str, str]] = {
    "ties": {
        "docid": "equal scores are ordered by item id, bytewise descending, as in trec_eval",
        "input": "equal scores keep the order in which the run lists them",
        "pessimistic": "gold items are ranked last among equal scores",
        "optimistic": "gold items are ranked first among equal scores",
        "expected": "the mean over all orders of equal scores, in closed form",
    },
    "precision": {
        "float64": "scores are compared as they are",
        "float32": "scores are rounded to float32 first, as in trec_eval up to 9, which creates further ties",
    },
    "missing": {
        "zero": "a query of the gold without results is scored as an empty ranking",
        "skip": "a query of the gold without results is left out of the mean",
        "error": "a query of the gold without results is an error",
    },
    "self_matches": {
        "keep": "a result with the id of the query counts like any other",
        "drop": "the id of the query is removed from ranking and gold",
        "drop_results": "the id of the query is removed from the ranking but not from the gold, as in BEIR",
        "aside": "the query does not count when other items are ranked; if it is gold itself, it is ranked too",
        "first": "the first result is assumed to be the query and removed, as in SDR",
        "implied": "one item above the gold is assumed to be the query: rank = max(1, items above), as in EvalRank",
    },
    "positives": {
        "rivals": "the other gold items of the query count when a gold item is ranked, as in any ranking",
        "filtered": "metrics that rank each gold item by itself (hits, mrr(of=all), mean_rank, mpr) do not count the "
        "other gold items of the query, as in link prediction",
    },
    "unjudged": {
        "nonrelevant": "items without a judgment count as not relevant",
        "drop": "items without a judgment, and those with a grade below 0, are removed from the ranking (condensed "
        "list), as by trec_eval -J",
    },
    "outside": {
        "keep": "gold that is not in the corpus counts as a miss",
        "drop": "gold that is not in the corpus is removed",
        "drop_queries": "a query without gold in the corpus is left out; other gold outside it counts as a miss",
    },
    "scores": SCORE_READINGS,
}


@dataclass(frozen=True)
class Conventions:
    """The conventions by which hits become ranks; ``CHOICES`` explains each value."""

    ties: str = "docid"
    precision: str = "float64"
    missing: str = "zero"
    self_matches: str = "keep"
    positives: str = "rivals"
    unjudged: str = "nonrelevant"
    outside: str = "keep"
    depth: int | None = None
    """Cut every ranking at this rank, after self-matches are removed; None keeps all results."""
    relevance_level: float | None = None
    """The smallest grade that counts as relevant, for metrics with binary relevance that do not set ``rel``; None
    counts every grade above 0."""
    scores: str | None = None
    """What the scores of a run are; None means similarities, and rejects a run whose order contradicts them."""

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices and not (name == "scores" and value is None):
                raise unknown_name(f"value of {name}", str(value), choices, f"one of {', '.join(choices)}")
        if self.depth is not None and not 1 <= self.depth < 1 << 62:
            raise InputError(f"the depth {self.depth} is not a rank", remedy="give a whole number from 1 up")
        if self.relevance_level is not None:
            self._check_relevance_level()
        if self.ties == "expected":
            self._refuse_with_expected("self_matches", "first")
            if self.depth is not None:
                raise InputError(
                    "a depth cuts through tied items, which have no order under ties=expected",
                    remedy="choose another tie policy, or a cutoff on the metric (@k)",
                )

    def _check_relevance_level(self) -> None:
        level: object = self.relevance_level
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < math.inf:
            raise InputError(
                f"the relevance level {shorten(level)} is not a grade above 0",
                remedy="give the smallest grade that counts as relevant, such as 2",
            )

    def _refuse_with_expected(self, name: str, value: str) -> None:
        if getattr(self, name) == value:
            raise InputError(
                f"{name}={value} needs an order of the tied items, which ties=expected does not give",
                remedy="choose another tie policy",
            )

    def as_dict(self) -> dict[str, Any]:
        """Return every convention with its value."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def differences(self, other: Conventions) -> dict[str, tuple[Any, Any]]:
        """Return the conventions in which the two differ, each with both values."""
        mine, theirs = self.as_dict(), other.as_dict()
        return {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}
