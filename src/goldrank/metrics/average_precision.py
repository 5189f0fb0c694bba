"""Average precision and its geometric mean."""

from __future__ import annotations

import math

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.expectation import harmonic
from goldrank.metrics.placement import Groups, Placement
from goldrank.metrics.precision_recall import ratio

DENOMINATOR = Parameter(
    "denominator",
    "what the sum is divided by: gold = R; min = min(k, R); hits = relevant items in the top k",
    "gold",
    ("gold", "min", "hits"),
)


def _summed_precision(groups: Groups, k: int | None) -> Floats:
    """Compute the expected contribution of each span to the sum of precisions at the relevant ranks.

    The item at position p of a span with m relevant of t items is relevant with probability m/t, and then has on
    average ``(p-1)(m-1)/(t-1)`` relevant ones before it in the span (McSherry & Najork, 2008). The sum over the
    positions consists of harmonic numbers.
    """
    start, size, relevant = groups.start, groups.size, groups.relevant
    value = (groups.before + 1) / (start + 1)
    if k is not None:
        value = np.where(start < k, value, 0.0)
    wide = np.flatnonzero(size > 1)
    if len(wide):
        a, t, m = start[wide], size[wide], relevant[wide]
        positions = t if k is None else np.clip(k - a, 0, t)
        value[wide] = m / t * _spread(a, positions, groups.before[wide], (m - 1) / (t - 1))
    return value


def _spread(start: Ints, positions: Ints, before: Ints, slope: Floats) -> Floats:
    """Compute the sum over p = 1 … positions of ``(before + 1 + (p-1)·slope) / (start + p)``."""
    reciprocals = harmonic(start + positions) - harmonic(start)
    return (before + 1) * reciprocals + slope * (positions - (start + 1) * reciprocals)


def _map(p: Placement, k: int | None, denominator: str, rel: float | None) -> Values:
    groups = p.groups(rel)
    summed = p.total(groups.query, _summed_precision(groups, k))
    if denominator == "hits":
        return Values(_over_hits(p, groups, k, summed))
    gold = p.relevant_count(rel)
    return Values(ratio(summed, np.minimum(gold, k) if denominator == "min" and k is not None else gold))


def _over_hits(p: Placement, groups: Groups, k: int | None, summed: Floats) -> Floats:
    if k is None:
        return ratio(summed, p.total(groups.query, groups.relevant))
    inside = groups.start + groups.size <= k
    value = ratio(summed, p.total(groups.query[inside], groups.relevant[inside]))
    # If the cutoff is inside a tie, the number of hits is random too: condition on it.
    part = _summed_precision(groups, k)
    for i in np.flatnonzero((groups.start < k) & ~inside):
        query, start, before = int(groups.query[i]), int(groups.start[i]), int(groups.before[i])
        size, relevant, positions = int(groups.size[i]), int(groups.relevant[i]), k - start
        earlier = summed[query] - part[i]
        hits = np.arange(max(0, positions - (size - relevant)), min(relevant, positions) + 1)
        slope = (hits - 1) / max(positions - 1, 1)
        starts, counts, before_each = (np.full(len(hits), number) for number in (start, positions, before))
        spread = _spread(starts, counts, before_each, slope)
        mean = ratio(earlier + hits / positions * spread, (before + hits).astype(np.float64))
        chance = [_chance_of_hits(size, relevant, positions, int(number)) for number in hits]
        value[query] = float(np.dot(chance, mean))
    return value


def _chance_of_hits(size: int, relevant: int, positions: int, hits: int) -> float:
    ways = math.comb(relevant, hits) * math.comb(size - relevant, positions - hits)
    return ways / math.comb(size, positions)


register(
    Definition(
        "map",
        "Mean average precision",
        "(Σ precision at the rank of each relevant item in the top k) / denominator",
        _map,
        parameters=(DENOMINATOR, RELEVANT),
        aliases=("ap", "map_cut"),
        cite="Buckley & Voorhees, 2005; ties: McSherry & Najork, 2008",
        tools=(
            ("trec_eval", "map, map_cut_k: denominator=gold"),
            ("ir_measures, ranx, BEIR", "AP@k, map@k: denominator=gold"),
            ("sentence-transformers", "map@k: denominator=min"),
            ("torchmetrics", "RetrievalMAP: denominator=hits; an item with a score of 0 or less counts as missed"),
            ("BGE tutorial", "map@k: denominator=hits, which falls when k grows"),
        ),
    )
)
register(
    Definition(
        "gmap",
        "Geometric mean average precision",
        "exp(mean of log max(AP, 0.00001))",
        _map,
        parameters=(DENOMINATOR, RELEVANT),
        aggregate="geometric",
        aliases=("gm_map",),
        cite="Robertson, 2006",
        tools=(("trec_eval", "gm_map"),),
        notes="Rewards lifting the worst queries. The value of one query is its average precision.",
    )
)
