"""Discounted cumulative gain, plain and normalised."""

from __future__ import annotations

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.metrics.definition import Definition, GainsParameter, Parameter, Values, register
from goldrank.metrics.expectation import mean_over_span
from goldrank.metrics.placement import Placement
from goldrank.metrics.precision_recall import ratio

GAIN = Parameter(
    "gain", "linear = the grade, exp = 2^grade − 1, binary = 1; grades of 0 or less have no gain", "linear",
    ("linear", "exp", "binary"),
)  # fmt: skip


GAINS = GainsParameter("gains", "the gain of single grades, as in 1:1/2:3; all other grades gain as gain says", None)


def gains_of(grade: Floats, gain: str = "linear", gains: str | None = None) -> Floats:
    """Return the gains of grades, as the parameters `GAIN` and `GAINS` say."""
    values: Floats = np.maximum(grade, 0.0)
    if gain == "exp":
        values = np.exp2(values) - 1.0
    elif gain == "binary":
        values = (grade > 0).astype(np.float64)
    for entry in [] if gains is None else gains.split("/"):
        chosen, value = map(float, entry.split(":"))
        values = np.where(grade == chosen, value, values)
    return values


def _discount(rank: Ints) -> Floats:
    discount: Floats = 1.0 / np.log2(rank + 1.0)
    return discount


def _dcg_by_query(p: Placement, k: int | None, gain: str, gains: str | None) -> Floats:
    return p.total(p.query, gains_of(p.grade, gain, gains) * mean_over_span(p.start, p.size, k, _discount))


def _ideal(p: Placement, k: int | None, gain: str, gains: str | None, ideal: str) -> Floats:
    query, grade = (p.query, p.grade) if ideal == "retrieved" else (p.gold_query, p.gold_grade)
    values = gains_of(grade, gain, gains)
    order = np.lexsort((-values, query))
    query, values = query[order], values[order]
    first = np.searchsorted(query, np.arange(p.count))
    position = np.arange(len(query)) - first[query]
    if ideal != "full" and k is not None:
        values = np.where(position < k, values, 0.0)
    return p.total(query, values * _discount(position + 1))


def _ndcg(p: Placement, k: int | None, gain: str, gains: str | None, ideal: str) -> Values:
    return Values(ratio(_dcg_by_query(p, k, gain, gains), _ideal(p, k, gain, gains, ideal)))


def _dcg(p: Placement, k: int | None, gain: str, gains: str | None) -> Values:
    return Values(_dcg_by_query(p, k, gain, gains))


register(
    Definition(
        "ndcg",
        "Normalised discounted cumulative gain",
        "DCG@k / DCG@k of the ideal order, DCG = Σ gain(grade) / log2(rank + 1)",
        _ndcg,
        parameters=(
            GAIN,
            GAINS,
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
            ("trec_eval", "ndcg (no cutoff) and ndcg_cut_k: gain=linear, ideal=cut; ndcg.1=3.5,2=9: gains=1:3.5/2:9"),
            (
                "ir_measures",
                "nDCG@k: gain=linear; nDCG(dcg='exp-log2')@k: gain=exp; nDCG(gains={0:0,1:1})@k: gains=0:0/1:1",
            ),
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
        notes="trec_eval takes gains that differ by less than 1 as equal when it sorts the ideal order, so that custom "
        "gains that are not whole numbers can get another value there.",
    )
)
register(
    Definition(
        "dcg",
        "Discounted cumulative gain",
        "Σ over the top k of gain(grade) / log2(rank + 1)",
        _dcg,
        range="[0, ∞)",
        parameters=(GAIN, GAINS),
        cite="Järvelin & Kekäläinen, 2002",
        tools=(
            ("sklearn", "dcg_score: gain=linear, ties averaged"),
            ("ranx", "dcg@k: gain=linear; dcg_burges@k: gain=exp"),
        ),
    )
)
