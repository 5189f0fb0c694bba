"""Interpolated precision at recall levels, and its 11-point average."""

from __future__ import annotations

import math

import numpy as np

from goldrank.hits import Floats
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.placement import Placement

ROUNDING = Parameter(
    "rounding",
    "how many of R relevant items make up a recall level: up = the next whole number, from a fraction of 0.1 on; "
    "nearest = the nearest one, halves up",
    "up",
    ("up", "nearest"),
)
_LEVELS = tuple(level / 10 for level in range(11))


def _items_needed(share: float, rounding: str) -> int:
    """Round *share*, a recall level times R, to a number of relevant items; at least one."""
    if rounding == "up":
        return max(int(share + 0.9), 1)
    whole = math.floor(share)
    return max(whole + (share - whole >= 0.5), 1)


def _precision_at_recall(p: Placement, levels: tuple[float, ...], rounding: str, rel: float | None) -> Floats:
    """Compute for every query the mean over *levels* of the highest precision at that recall or more."""
    groups = p.groups(rel)
    gold = p.relevant_count(rel)
    precision = (groups.before + 1) / (groups.start + 1)
    heads = np.flatnonzero(groups.first)
    values = np.zeros(p.count)
    for begin, end in zip(heads.tolist(), [*heads[1:].tolist(), len(precision)], strict=False):
        query = groups.query[begin]
        best = np.maximum.accumulate(precision[begin:end][::-1])[::-1]
        needed = [_items_needed(level * gold[query], rounding) for level in levels]
        values[query] = sum(best[n - 1] for n in needed if n <= len(best)) / len(levels)
    return values


def _iprec(p: Placement, k: float, rounding: str, rel: float | None) -> Values:
    return Values(_precision_at_recall(p, (k,), rounding, rel))


def _eleven_points(p: Placement, k: None, rounding: str, rel: float | None) -> Values:
    return Values(_precision_at_recall(p, _LEVELS, rounding, rel))


register(
    Definition(
        "iprec",
        "Interpolated precision at a recall level",
        "highest precision at any rank where recall is at least the level",
        _iprec,
        cutoff="recall",
        parameters=(ROUNDING, RELEVANT),
        expected=False,
        aliases=("iprec_at_recall",),
        cite="Salton & McGill, 1983",
        tools=(
            ("trec_eval", "iprec_at_recall_0.10: rounding=nearest in version 10, rounding=up before"),
            ("ir_measures", "IPrec@0.1: rounding=up"),
        ),
    )
)
register(
    Definition(
        "11pt",
        "11-point average precision",
        "mean of the interpolated precision at recall 0, 0.1, … 1",
        _eleven_points,
        cutoff="none",
        parameters=(ROUNDING, RELEVANT),
        expected=False,
        aliases=("11pt_avg",),
        cite="Salton & McGill, 1983",
        tools=(("trec_eval", "11pt_avg: rounding=nearest in version 10, rounding=up before"),),
    )
)
