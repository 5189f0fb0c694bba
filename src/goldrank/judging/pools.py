"""Pools: the items of each query that are judged, from the best results of all systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from goldrank.encoders.rankings import top_items
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Run

POOLINGS = {
    "depth": "judge every item that a system ranks at DEPTH or better",
    "mtf": "judge SIZE of these items for each query by move-to-front pooling: systems whose items turn out relevant "
    "contribute more (Cormack, Palmer & Clarke 1998)",
    "adaptive": "judge SIZE of these items for each query, each from the system whose last item was relevant, as the "
    "bandit MM-NS does (Losada, Parapar & Barreiro 2017)",
}
BATCH = 5
"""How many items a pool that depends on the labels asks for at once."""


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
    size: int | None = None
    """How many of the items of a query are judged, if the labels decide which; None judges all."""

    def __len__(self) -> int:
        return sum(map(len, self.items.values()))

    def target(self, query: str) -> int:
        """Return how many items of a query are judged."""
        return len(self.items[query]) if self.size is None else min(self.size, len(self.items[query]))

    def ids(self, query: str) -> list[str]:
        """Return the ids of the pooled items of a query."""
        return [pooled.item for pooled in self.items[query]]


def build_pool(
    rankings: Mapping[str, Run],
    queries: Iterable[str],
    *,
    depth: int = 20,
    method: str = "depth",
    size: int | None = None,
) -> Pool:
    """Return the pool of the best *depth* results of each system.

    Args:
        rankings: The rankings of each system; equal scores are ordered by descending id, as trec_eval does.
        queries: The ids of all queries, also of those for which no system finds anything.
        depth: How many results of each system are pooled.
        method: One of `POOLINGS`.
        size: How many items of each query are judged under a method that depends on the labels; by default *depth*.

    >>> runs = {"a": Run({"q": {"x": 2.0, "y": 1.0}}), "b": Run({"q": {"z": 5.0, "x": 4.0}})}
    >>> build_pool(runs, ["q"], depth=2).items["q"]  # doctest: +NORMALIZE_WHITESPACE
    (PooledItem(item='x', ranks={'a': 1, 'b': 2}), PooledItem(item='z', ranks={'b': 1}),
     PooledItem(item='y', ranks={'a': 2}))
    """
    check_pooling(method, depth, size)
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
    return Pool(method, depth, tuple(rankings), items, None if method == "depth" else size or depth)


def check_pooling(method: str, depth: int, size: int | None) -> None:
    """Raise InputError for a method, a depth or a size that `build_pool` refuses."""
    if method not in POOLINGS:
        raise unknown_name("pooling", method, POOLINGS, f"one of {', '.join(POOLINGS)}")
    if depth < 1:
        raise InputError(f"the depth of the pool is {depth}", remedy="give a whole number from 1 up")
    if method == "depth" and size is not None:
        raise InputError("a size has no effect on depth pooling", remedy="leave it out, or pool by mtf or adaptive")
    if size is not None and size < 1:
        raise InputError(f"the size of the pool is {size}", remedy="give a number of items from 1 up")


def next_items(pool: Pool, query: str, grades: Mapping[str, int | None]) -> list[str]:
    """Return the items of a query that a pool asks for next, at most `BATCH`, given the grades of those before.

    The systems take turns in the order of their priority; each turn takes the next item of the system's ranking that
    no earlier turn took. Under "mtf", a system loses priority with each item that is not relevant, or that has no grade
    yet because it is asked for now. Under "adaptive", the priority of a system is decided by the last item that it
    ranks: relevant, without a grade yet, or not relevant.

    Args:
        pool: The pool.
        query: The query.
        grades: The grade of each judged item; None if it could not be judged.

    >>> runs = {"good": Run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}), "bad": Run({"q": {"x": 3.0, "y": 2.0, "z": 1.0}})}
    >>> pool = build_pool(runs, ["q"], method="mtf", size=4)
    >>> next_items(pool, "q", {})
    ['a', 'x', 'b', 'y']
    >>> next_items(pool, "q", {"a": 2, "x": 0})
    ['b', 'y']
    """
    ranks = {entry.item: entry.ranks for entry in pool.items[query]}
    missing = pool.target(query) - sum(item in ranks for item in grades)
    if pool.method == "depth":
        return [item for item in ranks if item not in grades]
    rankings = _rankings(pool, query)
    priority, turns = dict.fromkeys(pool.systems, 0), dict.fromkeys(pool.systems, 0)
    taken: set[str] = set()
    wanted: list[str] = []
    while len(wanted) < min(BATCH, missing):
        # Of equal priorities, the system with the fewest turns and then the first.
        system = max((name for name in rankings if rankings[name]), key=lambda name: (priority[name], -turns[name]))
        item = rankings[system].pop(0)
        if item in taken:
            continue
        taken.add(item)
        turns[system] += 1
        if item not in grades:
            wanted.append(item)
        relevant = (grades.get(item) or 0) > 0
        if pool.method == "mtf":
            priority[system] -= not relevant
        else:
            last = 1 if relevant else -1 if item in grades else 0
            priority.update(dict.fromkeys(ranks[item], last))
    return wanted


def _rankings(pool: Pool, query: str) -> dict[str, list[str]]:
    """Return the pooled items of each system, best first."""
    rankings: dict[str, list[tuple[int, str]]] = {system: [] for system in pool.systems}
    for entry in pool.items[query]:
        for system, rank in entry.ranks.items():
            rankings[system].append((rank, entry.item))
    return {system: [item for _, item in sorted(ranked)] for system, ranked in rankings.items()}
