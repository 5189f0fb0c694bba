"""Discounted cumulative gain, plain and normalised."""

from __future__ import annotations

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.metrics.definition import Definition, Parameter, Values, register
from goldrank.metrics.expectation import mean_over_span
from goldrank.metrics.found import ratio
from goldrank.metrics.placement import Placement

GAIN = Parameter(
    "gain", "linear = the grade, exp = 2^grade − 1, binary = 1; grades of 0 or less gain nothing", "linear",
    ("linear", "exp", "binary"),
)  # fmt: skip


def _gain(grade: Floats, gain: str) -> Floats:
    positive: Floats = np.maximum(grade, 0.0)
    if gain == "linear":
        return positive
    exponential: Floats = np.exp2(positive) - 1.0
    return exponential if gain == "exp" else (grade > 0).astype(np.float64)


def _discount(rank: Ints) -> Floats:
    discount: Floats = 1.0 / np.log2(rank + 1.0)
    return discount


def _dcg_by_query(p: Placement, k: int | None, gain: str) -> Floats:
    return p.total(p.query, _gain(p.grade, gain) * mean_over_span(p.start, p.size, k, _discount))


def _ideal(p: Placement, k: int | None, gain: str, ideal: str) -> Floats:
    query, grade = (p.query, p.grade) if ideal == "retrieved" else (p.gold_query, p.gold_grade)
    gains = _gain(grade, gain)
    order = np.lexsort((-gains, query))
    query, gains = query[order], gains[order]
    first = np.searchsorted(query, np.arange(p.count))
    position = np.arange(len(query)) - first[query]
    if ideal != "full" and k is not None:
        gains = np.where(position < k, gains, 0.0)
    return p.total(query, gains * _discount(position + 1))


def _ndcg(p: Placement, k: int | None, gain: str, ideal: str) -> Values:
    return Values(ratio(_dcg_by_query(p, k, gain), _ideal(p, k, gain, ideal)))


def _dcg(p: Placement, k: int | None, gain: str) -> Values:
    return Values(_dcg_by_query(p, k, gain))


register(
    Definition(
        "ndcg",
        "Normalised discounted cumulative gain",
        "DCG@k / DCG@k of the ideal order, DCG = Σ gain(grade) / log2(rank + 1)",
        _ndcg,
        parameters=(
            GAIN,
            Parameter(
                "ideal",
                "cut = the ideal top k; full = the whole ideal ranking even when k cuts the run; "
                "retrieved = the ideal order of what was retrieved",
                "cut",
                ("cut", "full", "retrieved"),
            ),
        ),
        aliases=("ndcg_cut",),
        cite="Järvelin & Kekäläinen, 2002; exp gain: Burges et al., 2005",
        tools=(
            ("trec_eval", "ndcg (no cutoff) and ndcg_cut_k: gain=linear, ideal=cut"),
            ("ir_measures", "nDCG@k: gain=linear; nDCG(dcg='exp-log2')@k: gain=exp"),
            ("ranx", "ndcg@k: gain=linear; ndcg_burges@k: gain=exp"),
            ("sentence-transformers", "ndcg@k: gain=binary"),
            (
                "sklearn",
                "ndcg_score: gain=linear, ties averaged, ideal=retrieved (it sees only the scored items)",
            ),
            (
                "BGE tutorial",
                "its printed 0 / .3298 / .5956 come from document ids passed as scores; that is a "
                "mistake in its input, not a convention: right is .6667 / .7860 / .8417",
            ),
        ),
    )
)
register(
    Definition(
        "dcg",
        "Discounted cumulative gain",
        "Σ over the top k of gain(grade) / log2(rank + 1)",
        _dcg,
        range="[0, ∞)",
        parameters=(GAIN,),
        cite="Järvelin & Kekäläinen, 2002",
        tools=(("sklearn", "dcg_score: gain=linear, ties averaged"), ("ranx", "dcg@k: gain=linear")),
    )
)
