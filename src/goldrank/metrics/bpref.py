"""Metrics for incomplete judgments: bpref and inferred average precision."""

from __future__ import annotations

import numpy as np

from goldrank.hits import Ints
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.placement import Mask, Placement
from goldrank.metrics.precision_recall import ratio

NEGATIVE = Parameter(
    "negative",
    "what a grade below 0 means: nonrelevant = judged, not relevant; unjudged = in the pool, not judged",
    "nonrelevant",
    ("nonrelevant", "unjudged"),
)
_EPSILON = 0.00001


def _counts_above(p: Placement, counted: Mask, rows: Mask) -> tuple[Ints, Ints]:
    """Count for each of *rows* the *counted* items in earlier spans of its query, and those in its own span."""
    width = int(p.start.max(initial=0)) + 2
    key = p.query * width + p.start
    keys, own = key[counted], key[rows]
    left = np.searchsorted(keys, own, "left")
    earlier = left - np.searchsorted(keys, p.query[rows] * width, "left")
    return earlier, np.searchsorted(keys, own, "right") - left


def _is_nonrelevant(p: Placement, negative: str, rel: float | None, *, gold: bool = False) -> Mask:
    grade = p.gold_grade if gold else p.grade
    nonrelevant = ~p.is_relevant(grade, rel)
    return nonrelevant & (grade >= 0) if negative == "unjudged" else nonrelevant


def _bpref(p: Placement, k: None, negative: str, rel: float | None) -> Values:
    gold = p.relevant_count(rel)
    nonrelevant = p.total(p.gold_query, _is_nonrelevant(p, negative, rel, gold=True))
    relevant = p.is_relevant(p.grade, rel)
    query = p.query[relevant]
    earlier, tied = _counts_above(p, _is_nonrelevant(p, negative, rel), relevant)
    bound = np.minimum(gold, nonrelevant)[query]
    # Of `tied` nonrelevant items in the same tie, 0 … tied precede the item, each number with equal probability.
    below_bound = np.clip(bound - earlier, 0, tied + 1)
    capped = below_bound * earlier + below_bound * (below_bound - 1) / 2 + (tied + 1 - below_bound) * bound
    preferred = 1.0 - ratio(capped / (tied + 1), bound)
    return Values(ratio(p.total(query, preferred), gold))


def _infap(p: Placement, k: None, negative: str, rel: float | None) -> Values:
    relevant = p.is_relevant(p.grade, rel)
    query, above = p.query[relevant], p.start[relevant].astype(np.float64)
    relevant_above, _ = _counts_above(p, relevant, relevant)
    nonrelevant, _ = _counts_above(p, _is_nonrelevant(p, negative, rel), relevant)
    pooled, _ = _counts_above(p, np.ones(len(p.grade), bool), relevant)
    precision_above = (relevant_above + _EPSILON) / (relevant_above + nonrelevant + 2 * _EPSILON)
    inferred = (1.0 + pooled * precision_above) / (above + 1.0)
    return Values(ratio(p.total(query, np.where(above == 0, 1.0, inferred)), p.relevant_count(rel)))


register(
    Definition(
        "bpref",
        "Binary preference",
        "1/R Σ over relevant results of 1 − min(judged nonrelevant above, R) / min(R, N)",
        _bpref,
        cutoff="none",
        parameters=(NEGATIVE, RELEVANT),
        cite="Buckley & Voorhees, 2004",
        tools=(("trec_eval", "bpref(negative=unjudged)"), ("ir_measures", "Bpref, as trec_eval")),
        notes="R relevant and N judged nonrelevant items in the gold; where N is 0 every relevant result scores 1.",
    )
)
register(
    Definition(
        "infap",
        "Inferred average precision",
        "1/R Σ over relevant results at rank r of 1/r + (pooled above / r) · (rel above + ε) / (judged above + 2ε)",
        _infap,
        cutoff="none",
        parameters=(Parameter(NEGATIVE.name, NEGATIVE.doc, "unjudged", NEGATIVE.choices), RELEVANT),
        expected=False,
        cite="Yilmaz & Aslam, 2006",
        tools=(("trec_eval", "infAP"), ("ir_measures", "infAP")),
        notes="For judgments sampled from a pool: pool items that were not judged carry a grade below 0. ε = 0.00001.",
    )
)
