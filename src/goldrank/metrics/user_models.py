"""Metrics with a user model: rank-biased precision and expected reciprocal rank."""

from __future__ import annotations

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats, Ints
from goldrank.metrics.bpref import NEGATIVE
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.expectation import mean_over_span
from goldrank.metrics.placement import Mask, Placement

PERSISTENCE = Parameter(
    "p", "persistence: the chance that the user goes on to the next item", 0.8, number="float", low=0.0, high=0.999999
)  # fmt: skip
WEIGHT = Parameter(
    "gain",
    "what a relevant item weighs: binary = 1; linear = its grade; relative = its grade over the query's highest, where "
    "that is above 1",
    "binary",
    ("binary", "linear", "relative"),
)
TAIL = Parameter(
    "tail",
    "items below the ranking count as unjudged: always, or only if_unjudged = if an unjudged item was ranked",
    "always",
    ("always", "if_unjudged"),
)


def _rbp_weight(p: Placement, k: int | None, persistence: float, rows: Mask, gain: Floats | None = None) -> Floats:
    def weight(rank: Ints) -> Floats:
        weights: Floats = (1.0 - persistence) * np.power(persistence, rank - 1.0)
        return weights

    def cumulative(rank: Ints) -> Floats:
        return 1.0 - np.power(persistence, rank.astype(np.float64))

    weights = mean_over_span(p.start[rows], p.size[rows], k, weight, cumulative)
    return p.total(p.query[rows], weights if gain is None else weights * gain[rows])


def _rbp(placement: Placement, k: int | None, p: float, gain: str, rel: float | None) -> Values:
    grade = placement.grade
    relevant = placement.is_relevant(grade, rel)
    if gain == "binary":
        return Values(_rbp_weight(placement, k, p, relevant))
    if gain == "relative":
        highest = np.ones(placement.count)
        np.maximum.at(highest, placement.gold_query, placement.gold_grade)
        grade = grade / highest[placement.query]
    return Values(_rbp_weight(placement, k, p, relevant, grade))


def _rbp_residual(placement: Placement, k: int | None, p: float, negative: str, tail: str) -> Values:
    judged = placement.grade >= 0 if negative == "unjudged" else np.ones(len(placement.grade), bool)
    residual = np.maximum(1.0 - _rbp_weight(placement, k, p, judged), 0.0)
    if tail == "if_unjudged":
        residual[placement.total(placement.query, judged) >= placement.depth] = 0.0
    return Values(residual)


def _err(placement: Placement, k: int | None, max: float | None) -> Values:
    highest = float(placement.gold_grade.max(initial=0.0)) if max is None else float(max)
    if max is not None and placement.gold_grade.max(initial=0.0) > max:
        raise InputError(
            f"err(max={max:g}) met a grade of {placement.gold_grade.max():g}",
            remedy="give the highest grade of the scale",
        )
    rows = np.flatnonzero(placement.grade > 0)
    query, start, size = placement.query[rows], placement.start[rows], placement.size[rows]
    go_on = 1.0 - (np.exp2(placement.grade[rows]) - 1.0) / np.exp2(highest)
    values = np.zeros(placement.count)
    for begin, end in _segments(query):
        values[query[begin]] = _err_of_query(start[begin:end], size[begin:end], go_on[begin:end], k)
    return Values(values)


def _segments(query: Ints) -> zip[tuple[int, int]]:
    heads = np.flatnonzero(np.diff(query, prepend=-1))
    return zip(heads.tolist(), [*heads[1:].tolist(), len(query)] if len(heads) else [], strict=True)


def _err_of_query(start: Ints, size: Ints, go_on: Floats, k: int | None) -> float:
    total, reached = 0.0, 1.0
    for begin, end in _segments(start):
        first, width = int(start[begin]), int(size[begin])
        if k is not None and first >= k:
            break
        passed = _chance_to_pass(width, go_on[begin:end])
        count = width if k is None else min(width, k - first)
        ranks = np.arange(first + 1, first + count + 1)
        total += reached * float(np.sum((passed[:count] - passed[1 : count + 1]) / ranks))
        reached *= float(passed[width])
    return total


def _chance_to_pass(width: int, go_on: Floats) -> Floats:
    """Compute the mean probability to pass 0, 1, … width positions of a tie, over all its orders.

    The probability to pass the first p positions is the mean over p-subsets of the product of their ``go_on`` (1 for
    items without gain): a normalised elementary symmetric polynomial, built up one item at a time. The probability to
    stop at position p is the difference of two neighbours.
    """
    if width == 1:
        return np.array([1.0, go_on[0]])
    mean = np.ones(width + 1)
    n = width - len(go_on)
    for chance in go_on.tolist():
        n += 1
        p = np.arange(1, n + 1)
        without = np.where(p < n, mean[1 : n + 1], 0.0)
        mean[1 : n + 1] = (n - p) / n * without + p / n * chance * mean[:n]
    return mean


register(
    Definition(
        "rbp",
        "Rank-biased precision",
        "(1 − p) Σ over relevant results of p^(rank − 1)",
        _rbp,
        parameters=(PERSISTENCE, WEIGHT, RELEVANT),
        cite="Moffat & Zobel, 2008",
        tools=(
            ("trec_eval 10", "rbp: rbp(p=0.9,gain=relative); rbp.p=0.8 sets p"),
            ("ir_measures", "RBP(p=…)@k: gain=linear; RBP(p=…,rel=1)@k: gain=binary"),
            ("ranx", "rbp.80: rbp(p=0.80,gain=linear), so that graded gold scores higher there, above 1 even"),
        ),
        notes="A lower bound: `rbp_residual` with the same p says how much higher it could be if every unjudged "
        "item and everything below the ranking were relevant.",
    )
)
register(
    Definition(
        "rbp_residual",
        "Residual of rank-biased precision",
        "1 − (1 − p) Σ over judged results of p^(rank − 1)",
        _rbp_residual,
        direction="lower",
        parameters=(PERSISTENCE, NEGATIVE, TAIL),
        aliases=("rbp_resid",),
        cite="Moffat & Zobel, 2008",
        tools=(("trec_eval 10", "rbp_resid: rbp_residual(p=0.9,negative=unjudged,tail=if_unjudged)"),),
        notes="The uncertainty of `rbp` that comes from missing judgments: rbp lies in [rbp, rbp + residual].",
    )
)
register(
    Definition(
        "err",
        "Expected reciprocal rank",
        "Σ 1/rank · R(rank) · Π over better ranks of (1 − R),  R = (2^grade − 1) / 2^max",
        _err,
        parameters=(
            Parameter(
                "max",
                "highest grade of the scale; by default the highest in the gold",
                None,
                number="float",
                low=0,
            ),
        ),
        cite="Chapelle et al., 2009",
        tools=(("ir_measures, gdeval", "ERR@k, in capitals: err(max=4)@k"),),
    )
)
