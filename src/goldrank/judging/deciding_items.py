"""Which pooled items can change the difference of two systems, and how large it can be, without any label."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import cached_property
from itertools import permutations

import numpy as np

from goldrank.encoders.rankings import top_items
from goldrank.hits import Floats, Run
from goldrank.judging.pools import Pool
from goldrank.metrics import Metric

_UNNORMALISED = {"precision": {"rel"}, "hit_rate": {"rel"}, "mrr": {"rel"}}
"""Metrics that read nothing but the results of the system, with the parameters for which this holds."""


class DecidingItems:
    """The pooled items of each query in the order of each system, as far down as a metric reads."""

    def __init__(self, metric: Metric, pool: Pool, rankings: Mapping[str, Run]) -> None:
        self._metric, self._pool = metric, pool
        self._cutoff = None if metric.cutoff is None else int(metric.cutoff)
        self.queries = list(pool.items)
        self.pairs = np.array(list(permutations(range(len(rankings)), 2)), np.int64)
        """The positions of two systems, in all orders."""
        self._known: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        self._ranks: dict[str, list[dict[str, int]]] = {query: [] for query in pool.items}
        for run in rankings.values():
            answered = set(run)
            for query, ranks in self._ranks.items():
                pooled = set(pool.ids(query))
                found = top_items(run[query], self._cutoff) if query in answered else {}
                ranks.append({item: rank for rank, item in enumerate(found, 1) if item in pooled})

    @property
    def needs_whole_pools(self) -> bool:
        """Whether the metric is normalised by all relevant items of a query, also those of other systems."""
        allowed = _UNNORMALISED.get(self._metric.name)
        return allowed is None or bool(set(self._metric.settings) - allowed)

    def of(self, query: str, systems: Collection[int]) -> list[str]:
        """Return the items whose labels some difference of these systems depends on; none if there is no difference."""
        key = query, tuple(sorted(systems))
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, query: str, systems: tuple[int, ...]) -> list[str]:
        ranks = [self._ranks[query][at] for at in systems]
        if all(other == ranks[0] for other in ranks):
            return []
        if self.needs_whole_pools:
            return self._pool.ids(query)
        items = dict.fromkeys(item for row in ranks for item in row)
        if self._metric.name == "precision":
            # An item that all return counts the same for all.
            return [item for item in items if not all(item in row for row in ranks)]
        return list(items)

    @cached_property
    def bounds(self) -> Floats:
        """The bound of each query and pair, as (queries, pairs)."""
        rows = [[self.bound(query, a, b) for a, b in self.pairs.tolist()] for query in self.queries]
        return np.array(rows, dtype=np.float64)

    def bound(self, query: str, system: int, other: int) -> float:
        """Return how much higher *other* can score than *system*, whatever the labels are."""
        ours, theirs = self._ranks[query][system], self._ranks[query][other]
        if ours == theirs:
            return 0.0
        if not self.needs_whole_pools and self._metric.name == "precision":
            return len(theirs.keys() - ours.keys()) / (self._cutoff or max(len(theirs), 1))
        if not self.needs_whole_pools and self._metric.name == "mrr":
            # The first relevant item of the other system alone makes the largest difference.
            return max(0.0, *(1 / rank - (1 / ours[item] if item in ours else 0) for item, rank in theirs.items()))
        if self._metric.name == "ndcg" and not set(self._metric.settings) - {"gain"}:
            return self._ndcg_bound(ours, theirs)
        return 1.0

    def _ndcg_bound(self, ours: Mapping[str, int], theirs: Mapping[str, int]) -> float:
        """Return the largest difference of nDCG.

        The difference of DCG is linear in the gains, and the ideal DCG adds up over the levels of graded gains. So the
        largest ratio is that of some set of items with equal gains, and the best set of each size has the items with
        the largest differences of discounts.
        """
        gaps = sorted(
            (_discount(theirs.get(item)) - _discount(ours.get(item)) for item in {**ours, **theirs}), reverse=True
        )
        sums = np.cumsum(gaps)
        sizes = np.arange(1, len(gaps) + 1)
        ideal = np.cumsum(1 / np.log2(sizes + 1))
        if self._cutoff is not None:
            ideal = ideal[np.minimum(sizes, self._cutoff) - 1]
        return float(min(1.0, max(0.0, (sums / ideal).max())))


def _discount(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / math.log2(rank + 1)
