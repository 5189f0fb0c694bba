"""Diversity metrics for gold judged by subtopic: a result counts less the more often its subtopics occurred before.

The definitions are those of ndeval, the program of the TREC Web tracks. Judgments are binary for each subtopic, and
a subtopic without any relevant item is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.placement import Placement

ALPHA = Parameter(
    "alpha", "how much less a subtopic counts each time it was seen before", 0.5, number="float", low=0.0, high=1.0
)
BETA = Parameter(
    "beta", "patience: the chance that the user goes on to the next item", 0.5, number="float", low=0.0, high=0.999999
)

Subtopics = frozenset[str]
Discount = Callable[[Floats], Floats]


@dataclass(frozen=True)
class _Query:
    """The relevant items of one query with the subtopics for which they are relevant."""

    ranks: Floats
    ranked: list[Subtopics]
    """The subtopics of each relevant result, in order of rank."""
    items: list[str]
    judged: list[Subtopics]
    """The subtopics of each relevant item of the gold."""

    @property
    def subtopics(self) -> Subtopics:
        return frozenset().union(*self.judged)

    def gain(self, alpha: float, k: int | None, discount: Discount) -> float:
        """Compute the discounted gain of the ranking up to rank *k*."""
        return _discounted(self.ranked, self.ranks, alpha, k, discount)

    def ideal_gain(self, alpha: float, k: int | None, discount: Discount) -> float:
        """Compute the discounted gain of the greedy ideal ranking; equal gains are ordered by descending id."""
        waiting: dict[Subtopics, list[str]] = {}
        for subtopics, item in sorted(zip(self.judged, self.items, strict=True), key=lambda entry: entry[1]):
            waiting.setdefault(subtopics, []).append(item)
        left = dict.fromkeys(self.subtopics, 1.0)
        ideal: list[Subtopics] = []
        while waiting and (k is None or len(ideal) < k):
            best = max(waiting, key=lambda subtopics: (_sum(left, subtopics), waiting[subtopics][-1]))
            ideal.append(best)
            waiting[best].pop()
            if not waiting[best]:
                del waiting[best]
            for subtopic in best:
                left[subtopic] *= 1.0 - alpha
        return _discounted(ideal, np.arange(1.0, len(ideal) + 1), alpha, None, discount)


def _sum(left: dict[str, float], subtopics: Subtopics) -> float:
    # Sorted, so that equal gains are equal to the last bit.
    return sum(sorted(left[subtopic] for subtopic in subtopics))


def _discounted(ranking: Sequence[Subtopics], ranks: Floats, alpha: float, k: int | None, discount: Discount) -> float:
    left: dict[str, float] = {}
    gains = np.zeros(len(ranking))
    for position, subtopics in enumerate(ranking):
        for subtopic in subtopics:
            gain = left.setdefault(subtopic, 1.0)
            gains[position] += gain
            left[subtopic] = gain * (1.0 - alpha)
    within = ranks <= (np.inf if k is None else k)
    return float(np.sum((gains * discount(ranks))[within]))


def _queries(placement: Placement, rel: float | None) -> Iterator[tuple[int, _Query]]:
    """Yield the queries with a relevant item, each with its position."""
    if placement.gold_subtopics is None:
        raise InputError(
            "metrics of diversity need gold judged by subtopic, and this gold has no subtopics",
            remedy="give TREC diversity qrels (query subtopic item grade, with --gold-format diversity where no item "
            "has two subtopics), or a table with a subtopic column",
        )
    relevant = [
        frozenset(name for name, grade in judged.items() if (grade > 0 if rel is None else grade >= rel))
        for judged in placement.gold_subtopics
    ]
    gold_bounds = np.searchsorted(placement.gold_query, np.arange(placement.count + 1)).tolist()
    bounds = np.searchsorted(placement.query, np.arange(placement.count + 1)).tolist()
    for query, ((start, end), (first, last)) in enumerate(zip(pairwise(gold_bounds), pairwise(bounds), strict=True)):
        rows = [row for row in range(start, end) if relevant[row]]
        results = [result for result in range(first, last) if relevant[placement.row[result]]]
        if rows:
            yield (
                query,
                _Query(
                    placement.start[results].astype(np.float64) + 1.0,
                    [relevant[placement.row[result]] for result in results],
                    [placement.gold_items[row] for row in rows],
                    [relevant[row] for row in rows],
                ),
            )


def _log(ranks: Floats) -> Floats:
    return 1.0 / np.log2(ranks + 1.0)


def _reciprocal(ranks: Floats) -> Floats:
    return 1.0 / ranks


def _geometric(beta: float) -> Discount:
    def discount(ranks: Floats) -> Floats:
        weights: Floats = np.power(beta, ranks - 1.0)
        return weights

    return discount


def _over_ideal(placement: Placement, k: int | None, alpha: float, rel: float | None, discount: Discount) -> Values:
    values = np.zeros(placement.count)
    for query, judged in _queries(placement, rel):
        values[query] = judged.gain(alpha, k, discount) / judged.ideal_gain(alpha, k, discount)
    return Values(values)


def _over_bound(placement: Placement, k: int, alpha: float, rel: float | None, discount: Discount) -> Values:
    """Divide the gain by that of a ranking whose every item is relevant for every subtopic."""
    ranks = np.arange(1.0, k + 1)
    bound = float(np.sum(np.power(1.0 - alpha, ranks - 1.0) * discount(ranks)))
    values = np.zeros(placement.count)
    for query, judged in _queries(placement, rel):
        values[query] = judged.gain(alpha, k, discount) / (bound * len(judged.subtopics))
    return Values(values)


def _nnrbp(placement: Placement, k: None, alpha: float, beta: float, rel: float | None) -> Values:
    return _over_ideal(placement, None, alpha, rel, _geometric(beta))


def _nrbp(placement: Placement, k: None, alpha: float, beta: float, rel: float | None) -> Values:
    values = np.zeros(placement.count)
    for query, judged in _queries(placement, rel):
        gain = judged.gain(alpha, None, _geometric(beta))
        values[query] = gain * (1.0 - (1.0 - alpha) * beta) / len(judged.subtopics)
    return Values(values)


def _map_ia(placement: Placement, k: None, rel: float | None) -> Values:
    values = np.zeros(placement.count)
    for query, judged in _queries(placement, rel):
        precisions = []
        for subtopic in sorted(judged.subtopics):
            ranks = judged.ranks[[subtopic in subtopics for subtopics in judged.ranked]]
            total = sum(subtopic in subtopics for subtopics in judged.judged)
            precisions.append(float(np.sum(np.arange(1.0, len(ranks) + 1) / ranks)) / total)
        values[query] = sum(precisions) / len(precisions)
    return Values(values)


def _precision_ia(placement: Placement, k: int, rel: float | None) -> Values:
    values = np.zeros(placement.count)
    for query, judged in _queries(placement, rel):
        within = (subtopics for subtopics, rank in zip(judged.ranked, judged.ranks.tolist(), strict=True) if rank <= k)
        values[query] = sum(map(len, within)) / (k * len(judged.subtopics))
    return Values(values)


def _subtopic_recall(placement: Placement, k: int | None, rel: float | None) -> Values:
    values = np.zeros(placement.count)
    for query, judged in _queries(placement, rel):
        results = zip(judged.ranked, judged.ranks.tolist(), strict=True)
        seen = frozenset().union(*(subtopics for subtopics, rank in results if k is None or rank <= k))
        values[query] = len(seen) / len(judged.subtopics)
    return Values(values)


_GAIN = "gain = Σ over the result's subtopics of (1 − alpha)^(times it was seen before)"
_IDEAL = (
    "The ideal ranking is made greedily, as in ndeval, with equal gains ordered by descending id; a ranking that is "
    "better than the greedy one scores above 1."
)
_BOUND = (
    "The divisor is the gain of a ranking whose every item is relevant for every subtopic. ndeval forgets it at "
    "rank 1; here @1 is divided too."
)


_definition = partial(Definition, expected=False, subtopics=True)

register(
    _definition(
        "alpha_ndcg",
        "α-nDCG: discounted cumulative gain with redundant results counting less, over that of the ideal ranking",
        f"Σ gain / log2(rank + 1), over the same of the ideal ranking; {_GAIN}",
        partial(_over_ideal, discount=_log),
        parameters=(ALPHA, RELEVANT),
        aliases=("alpha-ndcg", "α_nDCG"),
        cite="Clarke et al., 2008",
        tools=(("ndeval", "alpha-nDCG@k"), ("ir_measures", "alpha_nDCG@k")),
        notes=_IDEAL,
    )
)
register(
    _definition(
        "alpha_dcg",
        "α-DCG: as α-nDCG, over a bound that does not depend on the gold",
        f"Σ gain / log2(rank + 1), over S Σ (1 − alpha)^(i − 1) / log2(i + 1), S subtopics; {_GAIN}",
        partial(_over_bound, discount=_log),
        cutoff="required",
        parameters=(ALPHA, RELEVANT),
        aliases=("alpha-dcg", "α_DCG"),
        cite="Clarke et al., 2008",
        tools=(("ndeval", "alpha-DCG@k"), ("ir_measures", "alpha_DCG@k")),
        notes=_BOUND,
    )
)
register(
    _definition(
        "err_ia",
        "Intent-aware expected reciprocal rank",
        f"Σ gain / rank, over S Σ (1 − alpha)^(i − 1) / i, S subtopics; {_GAIN}",
        partial(_over_bound, discount=_reciprocal),
        cutoff="required",
        parameters=(ALPHA, RELEVANT),
        aliases=("err-ia",),
        cite="Chapelle et al., 2011",
        tools=(("ndeval", "ERR-IA@k"), ("ir_measures", "ERR_IA@k")),
        notes=_BOUND,
    )
)
register(
    _definition(
        "nerr_ia",
        "Intent-aware expected reciprocal rank, over that of the ideal ranking",
        f"Σ gain / rank, over the same of the ideal ranking; {_GAIN}",
        partial(_over_ideal, discount=_reciprocal),
        parameters=(ALPHA, RELEVANT),
        aliases=("nerr-ia",),
        cite="Chapelle et al., 2011",
        tools=(("ndeval", "nERR-IA@k"), ("ir_measures", "nERR_IA@k")),
        notes=_IDEAL,
    )
)
register(
    _definition(
        "nrbp",
        "Novelty- and rank-biased precision",
        f"(1 − (1 − alpha) beta) / S · Σ gain · beta^(rank − 1), S subtopics; {_GAIN}",
        _nrbp,
        cutoff="none",
        parameters=(ALPHA, BETA, RELEVANT),
        cite="Clarke, Kolla & Vechtomova, 2009",
        tools=(("ndeval, ir_measures", "NRBP"),),
    )
)
register(
    _definition(
        "nnrbp",
        "Novelty- and rank-biased precision, over that of the ideal ranking",
        f"Σ gain · beta^(rank − 1), over the same of the ideal ranking; {_GAIN}",
        _nnrbp,
        cutoff="none",
        parameters=(ALPHA, BETA, RELEVANT),
        cite="Clarke, Kolla & Vechtomova, 2009",
        tools=(("ndeval, ir_measures", "nNRBP"),),
        notes=_IDEAL,
    )
)
register(
    _definition(
        "map_ia",
        "Intent-aware average precision",
        "mean over the subtopics of average precision",
        _map_ia,
        cutoff="none",
        parameters=(RELEVANT,),
        aliases=("map-ia", "ap_ia", "ap-ia"),
        cite="Agrawal et al., 2009",
        tools=(("ndeval", "MAP-IA"), ("ir_measures", "AP_IA")),
    )
)
register(
    _definition(
        "precision_ia",
        "Intent-aware precision",
        "mean over the subtopics of precision at k",
        _precision_ia,
        cutoff="required",
        parameters=(RELEVANT,),
        aliases=("precision-ia", "p_ia", "p-ia"),
        cite="Agrawal et al., 2009",
        tools=(("ndeval", "P-IA@k"), ("ir_measures", "P_IA@k")),
    )
)
register(
    _definition(
        "subtopic_recall",
        "Subtopic recall: the share of the subtopics that the results cover",
        "subtopics of the relevant results / subtopics of the relevant items",
        _subtopic_recall,
        parameters=(RELEVANT,),
        aliases=("strec", "strecall", "s_recall", "s-recall"),
        cite="Zhai, Cohen & Lafferty, 2003",
        tools=(("ndeval", "strec@k"), ("ir_measures", "StRecall@k")),
    )
)
