"""Plans: which items are judged, in which order, and with which probability they were drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goldrank.errors import InputError, counts
from goldrank.judging.pools import Pool, PooledItem, next_items

DESIGNS = {
    "queries": "whole pools of queries in random order",
    "items": "a random sample of the pool of every query, stratified by rank",
    "active": "queries drawn by `goldrank judge next`",
}
FEW_QUERIES = 30
"""With fewer judged queries, intervals are wide, and their coverage is not reliable for skewed metrics."""
STRATA = (5, 10, 20, 50, 100, 200, 500)
"""The strata of the design "items" end at these best ranks."""


@dataclass(frozen=True)
class Unit:
    """What is judged together: items of one query."""

    position: int
    """The position in the order of judging, from 0."""
    query: str
    items: tuple[str, ...]
    """In the order in which they are shown, which is random and does not depend on the systems."""
    probability: float
    """Of drawing this query at this position, given the units before it; NaN if it was chosen by hand."""
    inclusion: tuple[float, ...]
    """The probability of drawing each item within the unit; 1.0 unless items are sampled."""
    judges: int = 1
    """How many people judge it; two allow to compute their agreement."""
    grows: bool = False
    """Whether items are added to it, which depend on the labels of those before (`next_items`)."""


@dataclass(frozen=True)
class Plan:
    """The units in the order of judging."""

    design: str
    """One of `DESIGNS`."""
    seed: int
    units: tuple[Unit, ...]

    def labels(self, pool: Pool) -> int:
        """Return the number of labels that the plan asks for."""
        return sum(unit_labels(unit, pool) for unit in self.units)


def unit_labels(unit: Unit, pool: Pool) -> int:
    """Return how many labels a unit asks for in the end; a pool that depends on the labels adds items to its units."""
    return unit.judges * (max(len(unit.items), pool.target(unit.query)) if unit.grows else len(unit.items))


def plan_queries(pool: Pool, *, budget: int | None = None, seed: int = 0, double: float = 0.1) -> Plan:
    """Return a plan that judges the whole pools of queries in random order.

    The number of queries is chosen from the mean size of the pools before their order is drawn: a number that depends
    on the sizes of the drawn pools would favour queries with small ones.

    Args:
        pool: The pool.
        budget: About how many labels are planned; None for all.
        seed: Of the order.
        double: The share of the queries that a second judge judges, too.
    """
    check_budget(budget, double)
    queries = list(pool.items)
    count = len(queries)
    if budget is not None:
        count = min(count, max(1, affordable(budget, _mean_target(pool), double)))
    return Plan("queries", seed, tuple(query_units(pool, seed=seed, double=double)[:count]))


def affordable(budget: int, size: float, double: float) -> int:
    """Return for how many queries the labels suffice, if each has *size* items on average.

    >>> affordable(200, 20.0, 0.1), affordable(100, 20.0, 0.0)
    (9, 5)
    """
    pools = math.floor(round(budget / max(size, 1e-9), 6))
    return max((count for count in range(pools + 1) if count + math.ceil(round(count * double, 9)) <= pools), default=0)


def query_units(pool: Pool, *, seed: int, double: float) -> list[Unit]:
    """Return the units of all queries in random order; a plan is the beginning of them."""
    queries = list(pool.items)
    order = np.random.default_rng([seed, 0]).permutation(len(queries)).tolist()
    units = []
    for position, number in enumerate(order):
        query = queries[number]
        items = shuffled(next_items(pool, query, {}), seed, number)
        chance, judges = 1 / (len(queries) - position), _judges(position, double)
        units.append(Unit(position, query, items, chance, (1.0,) * len(items), judges, pool.size is not None))
    return units


def plan_items(pool: Pool, *, budget: int, seed: int = 0, double: float = 0.1) -> Plan:
    """Return a plan that judges a random sample of the pool of every query, in random order of queries.

    The pool of a query is divided into strata by the best rank of the items in any system. The expected share of a
    stratum that is drawn is proportional to the mean of 1/log2(1 + best rank) of its items, up to 1: the items at the
    top decide most metrics. Within a stratum, items are drawn without replacement.

    Args:
        pool: The pool.
        budget: About how many labels are planned.
        seed: Of the sample and the order.
        double: The share of the queries that a second judge judges, too.
    """
    check_budget(budget, double)
    if pool.size is not None:
        raise InputError(
            f"items cannot be sampled from a pool by {pool.method}, which chooses them by their labels",
            remedy="pool by depth, or sample queries",
        )
    queries = list(pool.items)
    strata = {query: item_strata(pool.items[query]) for query in queries}
    rate = _rate([stratum for query in queries for stratum in strata[query]], budget / (1 + double))
    rng = np.random.default_rng([seed, 0])
    units = []
    for position, number in enumerate(rng.permutation(len(queries)).tolist()):
        query, inclusion = queries[number], {}
        for stratum in strata[query]:
            expected = min(len(stratum), rate * _weight(stratum))
            # A whole number with that mean, so that every item is drawn with exactly the probability stated.
            size = math.floor(expected) + int(rng.random() < expected - math.floor(expected))
            for at in rng.choice(len(stratum), size, replace=False).tolist():
                inclusion[stratum[at].item] = expected / len(stratum)
        items = shuffled(list(inclusion), seed, number)
        shares = tuple(inclusion[item] for item in items)
        units.append(Unit(position, query, items, 1 / (len(queries) - position), shares, _judges(position, double)))
    return Plan("items", seed, tuple(units))


def shuffled(items: Sequence[str], seed: int, number: int) -> tuple[str, ...]:
    """Return the items in a random order that depends on nothing but their set, the seed and a number."""
    rng = np.random.default_rng([seed, 1, number])
    return tuple(rng.permutation(np.array(sorted(items), object)).tolist())


def check_budget(budget: int | None, double: float) -> None:
    """Raise InputError for a budget or a share for a second judge that no plan can have."""
    if budget is not None and budget < 1:
        raise InputError(f"the budget is {budget} labels", remedy="give a number of labels from 1 up")
    if not 0 <= double <= 1:
        raise InputError(f"the share for a second judge is {double:g}", remedy="give a number from 0 to 1")


def _judges(position: int, double: float) -> int:
    """Return how many people judge the unit at a position: two for an evenly spread share, the first among them."""
    return 1 + (math.ceil(round((position + 1) * double, 9)) > math.ceil(round(position * double, 9)))


def item_strata(items: Sequence[PooledItem]) -> list[list[PooledItem]]:
    """Return the items in strata by their best rank."""
    strata: dict[int, list[PooledItem]] = {}
    for entry in items:
        strata.setdefault(sum(entry.best_rank > end for end in STRATA), []).append(entry)
    return [strata[number] for number in sorted(strata)]


def _weight(stratum: Sequence[PooledItem]) -> float:
    return sum(1 / math.log2(1 + entry.best_rank) for entry in stratum)


def _rate(strata: Sequence[Sequence[PooledItem]], budget: float) -> float:
    """Return the factor of the weights at which *budget* items are expected."""
    weights, sizes = np.array([_weight(stratum) for stratum in strata]), np.array([len(stratum) for stratum in strata])
    if sizes.sum() <= budget:
        return math.inf
    # The expected number grows with the rate and is linear between the rates at which a stratum is used up.
    limits = np.sort(sizes / weights)
    totals = [float(np.minimum(sizes, limit * weights).sum()) for limit in limits]
    last = int(np.searchsorted(totals, budget))
    full = sizes / weights < limits[last]
    return float((budget - sizes[full].sum()) / weights[~full].sum())


def advise(pool: Pool, plan: Plan, budget: int | None, double: float) -> list[str]:
    """Return what the user should know about the plan before labels are spent on it, one sentence each."""
    total = len(pool.items)
    advice = []
    if len(pool.systems) == 1:
        advice.append(
            "The pool comes from one system: items that only other systems find are not judged, so that it can be "
            "compared with no other."
        )
    if plan.design != "queries" or budget is None or len(plan.units) >= min(FEW_QUERIES, total):
        if total < FEW_QUERIES:
            advice.append(
                f"There are only {counts(total, 'query', 'queries')}: intervals for queries like these are wide."
            )
        return advice
    size = _mean_target(pool)
    enough = min(FEW_QUERIES, total)
    sentence = (
        f"{budget} labels suffice for {len(plan.units)} of {total} queries ({size:.1f} items each); with fewer than "
        f"{enough}, intervals are wide."
    )
    by_depth = {depth: affordable(budget, _mean_size(pool, depth), double) for depth in range(1, pool.depth)}
    deepest = max((depth for depth, count in by_depth.items() if count >= enough), default=None)
    needed = math.ceil(size * (enough + math.ceil(round(enough * double, 9))))
    if pool.size is not None:
        if smaller := budget // (enough + math.ceil(round(enough * double, 9))):
            sentence += f" --pool-size {smaller} judges {enough}."
    elif deepest is not None:
        sentence += f" --depth {deepest} judges {min(total, by_depth[deepest])}."
    return [*advice, f"{sentence} At this depth, {enough} need --budget {needed}."]


def _mean_target(pool: Pool) -> float:
    return sum(map(pool.target, pool.items)) / max(1, len(pool.items))


def _mean_size(pool: Pool, depth: int) -> float:
    return sum(entry.best_rank <= depth for items in pool.items.values() for entry in items) / len(pool.items)
