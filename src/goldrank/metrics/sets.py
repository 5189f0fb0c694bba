"""Metrics of the whole retrieved set, which do not depend on the order of the results, and plain counts."""

from __future__ import annotations

from functools import partial

import numpy as np

from goldrank.hits import Floats
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.placement import Placement
from goldrank.metrics.precision_recall import found_within, ratio

BETA = Parameter("beta", "how much more recall weighs than precision", 1.0, number="float", low=0.0)


def _retrieved(p: Placement) -> Floats:
    return p.depth.astype(np.float64)


def _set_precision(p: Placement, k: None, rel: float | None) -> Values:
    return Values(ratio(found_within(p, None, rel), _retrieved(p)))


def _set_recall(p: Placement, k: None, rel: float | None) -> Values:
    return Values(ratio(found_within(p, None, rel), p.relevant_count(rel)))


def _set_f(p: Placement, k: None, beta: float, rel: float | None) -> Values:
    weighted = _retrieved(p) + beta**2 * p.relevant_count(rel)
    return Values(ratio((1 + beta**2) * found_within(p, None, rel), weighted))


def _set_map(p: Placement, k: None, rel: float | None) -> Values:
    return Values(ratio(found_within(p, None, rel) ** 2, _retrieved(p) * p.relevant_count(rel)))


def _set_relative_precision(p: Placement, k: None, rel: float | None) -> Values:
    return Values(ratio(found_within(p, None, rel), np.minimum(_retrieved(p), p.relevant_count(rel))))


def _num_q(p: Placement, k: None) -> Values:
    return Values(np.ones(p.count))


def _num_ret(p: Placement, k: None) -> Values:
    return Values(_retrieved(p))


def _num_rel(p: Placement, k: None, rel: float | None) -> Values:
    return Values(p.relevant_count(rel))


def _num_rel_ret(p: Placement, k: int | None, rel: float | None) -> Values:
    return Values(found_within(p, k, rel))


_of_set = partial(Definition, cutoff="none", cite="trec_eval")
_count = partial(Definition, range="[0, ∞)", aggregate="sum", cite="trec_eval")

register(
    _of_set(
        "set_precision",
        "Precision of the retrieved set",
        "relevant retrieved / retrieved",
        _set_precision,
        parameters=(RELEVANT,),
        aliases=("set_p",),
        tools=(("trec_eval", "set_P"), ("ir_measures", "SetP")),
    )
)
register(
    _of_set(
        "set_recall",
        "Recall of the retrieved set",
        "relevant retrieved / relevant",
        _set_recall,
        parameters=(RELEVANT,),
        aliases=("setr",),
        tools=(("trec_eval", "set_recall"), ("ir_measures", "SetR")),
    )
)
register(
    _of_set(
        "set_f",
        "F of the retrieved set",
        "(1 + β²) PR / (β² P + R)",
        _set_f,
        parameters=(BETA, RELEVANT),
        aliases=("set_f1",),
        tools=(
            ("trec_eval", "set_F; its parameter is beta squared: set_F.4 is set_f(beta=2)"),
            ("ir_measures", "SetF; it hands its beta on to trec_eval, so that SetF(beta=4) is set_f(beta=2)"),
        ),
    )
)
register(
    _of_set(
        "set_map",
        "Precision × recall of the retrieved set",
        "P · R",
        _set_map,
        parameters=(RELEVANT,),
        aliases=("setap",),
        tools=(("trec_eval", "set_map"), ("ir_measures", "SetAP")),
    )
)
register(
    _of_set(
        "set_relative_precision",
        "Relative precision of the retrieved set",
        "relevant retrieved / min(retrieved, relevant)",
        _set_relative_precision,
        parameters=(RELEVANT,),
        aliases=("set_relative_p", "setrelp"),
        tools=(("trec_eval", "set_relative_P"), ("ir_measures", "SetRelP, SetP(relative=True)")),
    )
)
register(
    _count(
        "num_q",
        "Number of queries",
        "queries averaged over",
        _num_q,
        direction="neither",
        cutoff="none",
        aliases=("numq",),
        tools=(("trec_eval", "num_q"), ("ir_measures", "NumQ")),
    )
)
register(
    _count(
        "num_ret",
        "Number of results",
        "Σ results",
        _num_ret,
        direction="neither",
        cutoff="none",
        tools=(("trec_eval", "num_ret"), ("ir_measures", "NumRet")),
    )
)
register(
    _count(
        "num_rel",
        "Number of relevant items",
        "Σ relevant items in the gold",
        _num_rel,
        direction="neither",
        cutoff="none",
        parameters=(RELEVANT,),
        aliases=("numrel",),
        tools=(("trec_eval", "num_rel"), ("ir_measures", "NumRel")),
    )
)
register(
    _count(
        "num_rel_ret",
        "Number of relevant results",
        "Σ relevant items retrieved",
        _num_rel_ret,
        parameters=(RELEVANT,),
        aliases=("numrelret",),
        tools=(("trec_eval", "num_rel_ret"), ("ir_measures", "NumRelRet, NumRet(rel=1)")),
    )
)
