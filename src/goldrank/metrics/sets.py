"""Measures of the whole retrieved set, which no order changes, and plain counts."""

from __future__ import annotations

import numpy as np

from goldrank.hits import Floats
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.placement import Placement
from goldrank.metrics.precision_recall import found_within, ratio


def _counts(p: Placement, rel: float | None) -> tuple[Floats, Floats, Floats]:
    return found_within(p, None, rel), p.depth.astype(np.float64), p.relevant_count(rel)


def _set_precision(p: Placement, k: None, rel: float | None) -> Values:
    found, retrieved, _ = _counts(p, rel)
    return Values(ratio(found, retrieved))


def _set_recall(p: Placement, k: None, rel: float | None) -> Values:
    found, _, gold = _counts(p, rel)
    return Values(ratio(found, gold))


def _set_f(p: Placement, k: None, beta: float, rel: float | None) -> Values:
    found, retrieved, gold = _counts(p, rel)
    return Values(ratio((1 + beta**2) * found, retrieved + beta**2 * gold))


def _set_map(p: Placement, k: None, rel: float | None) -> Values:
    found, retrieved, gold = _counts(p, rel)
    return Values(ratio(found**2, retrieved * gold))


def _set_relative_precision(p: Placement, k: None, rel: float | None) -> Values:
    found, retrieved, gold = _counts(p, rel)
    return Values(ratio(found, np.minimum(retrieved, gold)))


def _num_q(p: Placement, k: None) -> Values:
    return Values(np.ones(p.count))


def _num_ret(p: Placement, k: None) -> Values:
    return Values(p.depth.astype(np.float64))


def _num_rel(p: Placement, k: None, rel: float | None) -> Values:
    return Values(p.relevant_count(rel))


def _num_rel_ret(p: Placement, k: int | None, rel: float | None) -> Values:
    return Values(found_within(p, k, rel))


_BETA = Parameter("beta", "how much more recall weighs than precision", 1.0, number="float", low=0.0)

for _name, _title, _formula, _compute, _more, _aliases, _tools in (
    (
        "set_precision",
        "Precision of the retrieved set",
        "relevant retrieved / retrieved",
        _set_precision,
        (),
        ("set_p",),
        {"trec_eval": "set_P", "ir_measures": "SetP"},
    ),
    (
        "set_recall",
        "Recall of the retrieved set",
        "relevant retrieved / relevant",
        _set_recall,
        (),
        ("setr",),
        {"trec_eval": "set_recall", "ir_measures": "SetR"},
    ),
    (
        "set_f",
        "F of the retrieved set",
        "(1 + β²) PR / (β² P + R)",
        _set_f,
        (_BETA,),
        ("set_f1",),
        {
            "trec_eval": "set_F; its parameter is beta squared: set_F.4 is set_f(beta=2)",
            "ir_measures": "SetF; it hands its beta on to trec_eval, so that SetF(beta=4) is set_f(beta=2)",
        },
    ),
    (
        "set_map",
        "Precision × recall of the retrieved set",
        "P · R",
        _set_map,
        (),
        ("setap",),
        {"trec_eval": "set_map", "ir_measures": "SetAP"},
    ),
    (
        "set_relative_precision",
        "Relative precision of the retrieved set",
        "relevant retrieved / min(retrieved, relevant)",
        _set_relative_precision,
        (),
        ("set_relative_p", "setrelp"),
        {"trec_eval": "set_relative_P", "ir_measures": "SetRelP, SetP(relative=True)"},
    ),
):
    register(
        Definition(
            _name,
            _title,
            _formula,
            _compute,
            cutoff="none",
            parameters=(*_more, RELEVANT),
            aliases=_aliases,
            cite="trec_eval",
            tools=tuple(_tools.items()),
        )
    )

_IR_MEASURES = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet, NumRet(rel=1)",
}
for _name, _title, _formula, _count, _parameters in (
    ("num_q", "Number of queries", "queries averaged over", _num_q, ()),
    ("num_ret", "Number of results", "Σ results", _num_ret, ()),
    ("num_rel", "Number of relevant items", "Σ relevant items in the gold", _num_rel, (RELEVANT,)),
    ("num_rel_ret", "Number of relevant results", "Σ relevant items retrieved", _num_rel_ret, (RELEVANT,)),
):
    register(
        Definition(
            _name,
            _title,
            _formula,
            _count,
            range="[0, ∞)",
            direction="neither" if _name != "num_rel_ret" else "higher",
            cutoff="optional" if _name == "num_rel_ret" else "none",
            parameters=_parameters,
            aggregate="sum",
            aliases=() if _name == "num_ret" else (_name.replace("_", ""),),
            cite="trec_eval",
            tools=(("trec_eval", _name), ("ir_measures", _IR_MEASURES[_name])),
        )
    )
