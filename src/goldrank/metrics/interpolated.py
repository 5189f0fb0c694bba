"""Interpolated precision at recall levels, and its 11-point average."""

from __future__ import annotations

import numpy as np

from goldrank.hits import Floats
from goldrank.metrics.definition import RELEVANT, Definition, Values, register
from goldrank.metrics.placement import Placement

_LEVELS = tuple(level / 10 for level in range(11))


def _precision_at_recall(p: Placement, levels: tuple[float, ...], rel: float | None) -> Floats:
    """For every query, the mean over *levels* of the best precision at that recall or more."""
    groups = p.groups(rel)
    gold = p.relevant_count(rel)
    precision = (groups.before + 1) / (groups.start + 1)
    heads = np.flatnonzero(groups.first)
    values = np.zeros(p.count)
    for begin, end in zip(heads.tolist(), [*heads[1:].tolist(), len(precision)], strict=False):
        query = groups.query[begin]
        best = np.maximum.accumulate(precision[begin:end][::-1])[::-1]
        # trec_eval rounds the number of items that make up a recall level this way.
        needed = [max(int(level * gold[query] + 0.9), 1) for level in levels]
        values[query] = sum(best[n - 1] for n in needed if n <= len(best)) / len(levels)
    return values


def _iprec(p: Placement, k: float, rel: float | None) -> Values:
    return Values(_precision_at_recall(p, (k,), rel))


def _eleven_points(p: Placement, k: None, rel: float | None) -> Values:
    return Values(_precision_at_recall(p, _LEVELS, rel))


register(
    Definition(
        "iprec",
        "Interpolated precision at a recall level",
        "highest precision at any rank where recall is at least the level",
        _iprec,
        cutoff="recall",
        parameters=(RELEVANT,),
        expected=False,
        aliases=("iprec_at_recall",),
        cite="Salton & McGill, 1983",
        tools=(("trec_eval", "iprec_at_recall_0.10"), ("ir_measures", "IPrec@0.1")),
    )
)
register(
    Definition(
        "11pt",
        "11-point average precision",
        "mean of the interpolated precision at recall 0, 0.1, … 1",
        _eleven_points,
        cutoff="none",
        parameters=(RELEVANT,),
        expected=False,
        aliases=("11pt_avg",),
        cite="Salton & McGill, 1983",
        tools=(("trec_eval", "11pt_avg"),),
    )
)
