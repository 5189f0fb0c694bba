"""Pools: the items of each query that are judged, from the best results of all systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from goldrank.encoders.rankings import top_items
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Run

POOLINGS = {
    "depth": "every item that a system ranks at DEPTH or better is judged",
}


@dataclass(frozen=True)
class PooledItem:
    """An item of a pool, with its rank (from 1) in each system that contributed it."""

    item: str
    ranks: dict[str, int]

    @property
    def best_rank(self) -> int:
        """The best rank in any system."""
        return min(self.ranks.values())


@dataclass(frozen=True)
class Pool:
    """The items of each query that some system ranks at *depth* or better, ordered by their best rank."""

    method: str
    """One of `POOLINGS`."""
    depth: int
    systems: tuple[str, ...]
    items: dict[str, tuple[PooledItem, ...]]
    """The pooled items of each query; none for a query for which no system found anything."""

    def __len__(self) -> int:
        return sum(map(len, self.items.values()))

    def ids(self, query: str) -> list[str]:
        """Return the ids of the pooled items of a query."""
        return [pooled.item for pooled in self.items[query]]


def build_pool(rankings: Mapping[str, Run], queries: Iterable[str], *, depth: int = 20, method: str = "depth") -> Pool:
    """Return the pool of the best *depth* results of each system.

    Args:
        rankings: The rankings of each system; equal scores are ordered by descending id, as trec_eval does.
        queries: The ids of all queries, also of those for which no system finds anything.
        depth: How many results of each system are pooled.
        method: One of `POOLINGS`.

    >>> runs = {"a": Run({"q": {"x": 2.0, "y": 1.0}}), "b": Run({"q": {"z": 5.0, "x": 4.0}})}
    >>> build_pool(runs, ["q"], depth=2).items["q"]  # doctest: +NORMALIZE_WHITESPACE
    (PooledItem(item='x', ranks={'a': 1, 'b': 2}), PooledItem(item='z', ranks={'b': 1}),
     PooledItem(item='y', ranks={'a': 2}))
    """
    if method not in POOLINGS:
        raise unknown_name("pooling", method, POOLINGS, f"one of {', '.join(POOLINGS)}")
    if depth < 1:
        raise InputError(f"the depth of the pool is {depth}", remedy="give a whole number from 1 up")
    if not rankings:
        raise InputError("there is no system to pool", remedy="name at least one model, better several")
    items: dict[str, tuple[PooledItem, ...]] = {}
    for query in queries:
        if query in items:
            raise InputError(f"the query {shorten(query)} is given twice", remedy="make the ids of queries unique")
        ranks: dict[str, dict[str, int]] = {}
        for system, run in rankings.items():
            ranking = top_items(run[query], depth) if query in run else {}
            for rank, item in enumerate(ranking, 1):
                ranks.setdefault(item, {})[system] = rank
        pooled = [PooledItem(item, by_system) for item, by_system in ranks.items()]
        items[query] = tuple(sorted(pooled, key=lambda entry: (entry.best_rank, -len(entry.ranks))))
    return Pool(method, depth, tuple(rankings), items)
