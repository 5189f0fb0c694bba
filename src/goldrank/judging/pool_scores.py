"""Score all systems for any grades of the pooled items, many assignments of grades at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from goldrank.hits import Floats, Gold, Ints, Run
from goldrank.judging.pools import Pool
from goldrank.metrics import Metric
from goldrank.metrics.placement import place
from goldrank.metrics.profiles import find_profile
from goldrank.scoring import HitCounter

_AT_ONCE = 1_000_000
"""The grades that are scored at once, which bounds the memory."""


class PoolScores:
    """The values of one metric for all systems, given grades of the pooled items.

    The ranks of the pooled items are counted once, so that scoring another assignment of grades is arithmetic.

    >>> runs = {"a": Run({"q": {"x": 2.0, "y": 1.0}}), "b": Run({"q": {"y": 2.0, "z": 1.0}})}
    >>> from goldrank.judging.pools import build_pool
    >>> scores = PoolScores(Metric.parse("mrr"), build_pool(runs, ["q"]), runs)
    >>> scores.pairs
    [('q', 'y'), ('q', 'x'), ('q', 'z')]
    >>> scores.of(np.array([0, 0]), np.array([0.0, 1.0, 0.0, 0.0, 0.0, 1.0]))
    array([[1. , 0. ],
           [0. , 0.5]])
    """

    def __init__(self, metric: Metric, pool: Pool, rankings: Mapping[str, Run]) -> None:
        profile = find_profile("standard")
        self._metric = profile.apply(metric, None)
        self.queries = list(pool.items)
        self.pairs = [(query, entry.item) for query, items in pool.items.items() for entry in items]
        """The pairs of the pool, query by query."""
        self.sizes = np.array([len(items) for items in pool.items.values()], np.int64)
        """The number of pooled items of each query."""
        # A query without any pooled item scores 0 for every system.
        self._number = np.cumsum(self.sizes > 0) - 1
        gold = Gold({query: dict.fromkeys(pool.ids(query), 1) for query in self.queries if pool.items[query]})
        counters = [HitCounter(gold, run) for run in rankings.values()]
        self._placements = [place(each.count(profile.conventions), profile.conventions) for each in counters]

    @property
    def systems(self) -> int:
        """The number of systems."""
        return len(self._placements)

    def of(self, queries: Ints, grades: Floats) -> Floats:
        """Return (len(queries), systems) values.

        Args:
            queries: Positions of queries, each as often as there are assignments of grades to its items.
            grades: The grades of the pooled items for each of them, one after another.
        """
        result = np.zeros((len(queries), self.systems))
        rows = np.flatnonzero(self.sizes[queries])
        sizes = self.sizes[queries[rows]]
        starts = np.cumsum(sizes) - sizes
        cuts = np.searchsorted(starts, np.arange(_AT_ONCE, len(grades), _AT_ONCE))
        for part, own in zip(np.split(rows, cuts), np.split(grades, starts[cuts]), strict=True):
            numbers = self._number[queries[part]]
            for system, placement in enumerate(self._placements if len(part) else ()):
                result[part, system] = self._metric.compute(placement.regrade(numbers, own)).values
        return np.nan_to_num(result)  # metrics of other packages may be undefined without relevant items
