"""Plans: which items are judged, in which order, and with which probability they were drawn."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goldrank.errors import InputError, counts
from goldrank.hits import Floats
from goldrank.judging.pools import Pool, PooledItem, next_items
from goldrank.judging.strata import LEAST, Strata

DESIGNS = {
    "queries": "whole pools of queries in random order",
    "items": "a random sample of the pool of every query, stratified by rank",
    "next": "the labels that goldrank judge next asks for, round by round",
}
"""What is judged, by the name of the sample."""
FEW_QUERIES = 30
"""With fewer judged queries, intervals are wide, and their coverage is not reliable for skewed metrics."""
STRATA = (5, 10, 20, 50, 100, 200, 500)
"""The strata of the design "items" end at these best ranks."""


@dataclass(frozen=True)
class Unit:
    """Items of one query that are judged together."""

    position: int
    """The position in the order of judging, from 0."""
    query: str
    items: tuple[str, ...]
    """In the order in which they are shown, which is random and does not depend on the systems."""
    probability: float
    """Of drawing this query at this position, given the units before it and the stratum; NaN if chosen by hand.

    In a round of `goldrank judge next` it is 1.
    """
    inclusion: tuple[float, ...]
    """The probability of drawing each item within the unit; 1.0 unless items are sampled."""
    judges: int = 1
    """How many people judge it; two allow to compute their agreement."""
    grows: bool = False
    """Whether items are added to it, which depend on the labels of those before (`next_items`)."""
    round: int = 0
    """The round of `goldrank judge next` that asks for it, from 1; 0 if it was planned before."""


@dataclass(frozen=True)
class Plan:
    """The units in the order of judging."""

    design: str
    """One of `DESIGNS`."""
    seed: int
    units: tuple[Unit, ...]
    strata: Strata | None = None
    """The strata from which queries are drawn; None draws from all queries."""

    @property
    def in_rounds(self) -> bool:
        """Whether `goldrank judge next` has asked for labels."""
        return any(unit.round for unit in self.units)

    def labels(self, pool: Pool) -> int:
        """Return the number of labels that the plan asks for."""
        return sum(unit_labels(unit, pool) for unit in self.units)


def unit_labels(unit: Unit, pool: Pool) -> int:
    """Return how many labels a unit asks for in the end; a pool that depends on the labels adds items to its units."""
    return unit.judges * (max(len(unit.items), pool.target(unit.query)) if unit.grows else len(unit.items))


def plan_queries(
    pool: Pool, *, budget: int | None = None, seed: int = 0, double: float = 0.1, strata: Strata | None = None
) -> Plan:
    """Return a plan that judges the whole pools of queries in random order.

    The number of queries is chosen from the mean size of the pools before their order is drawn: a number that depends
    on the sizes of the drawn pools would favour queries with small ones.

    Args:
        pool: The pool.
        budget: About how many labels are planned; None for all.
        seed: Of the order.
        double: The share of the queries that a second judge judges, too.
        strata: The strata from which queries are drawn.

    Raises:
        InputError: The budget does not suffice for `LEAST` queries of each stratum.
    """
    check_budget(budget, double)
    count = len(pool.items)
    if budget is not None:
        sizes = {query: pool.target(query) for query in pool.items}
        count = max(1, _affordable_queries(sizes, budget, double, strata))
        if strata is not None and count < (least := LEAST * len(strata.slices)):
            needed = _needed(_mean_sizes(sizes, strata)[least - 1], least, double)
            raise InputError(
                f"{budget} labels suffice for {counts(count, 'query', 'queries')}, and {least // LEAST} strata need "
                f"{least}",
                remedy=f"give --budget {needed}, or strata of an attribute with fewer values",
            )
    return Plan("queries", seed, tuple(query_units(pool, seed=seed, double=double, strata=strata)[:count]), strata)


def _affordable_queries(sizes: Mapping[str, int], budget: int, double: float, strata: Strata | None) -> int:
    """Return for how many of the queries with these numbers of items the labels are expected to suffice."""
    if strata is None:
        return min(len(sizes), affordable(budget, _mean(sizes.values()), double))
    needed = (_needed(mean, count, double) for count, mean in enumerate(_mean_sizes(sizes, strata), 1))
    return sum(labels <= budget for labels in needed)


def _needed(size: float, count: int, double: float) -> int:
    """Return how many labels *count* queries need, if each has *size* items on average."""
    return math.ceil(round(size * (count + math.ceil(round(count * double, 9))), 6))


def _mean_sizes(sizes: Mapping[str, int], strata: Strata | None) -> list[float]:
    """Return the mean size that is expected of the first query of the order, of the first two and so on."""
    if strata is None:
        return [_mean(sizes.values())] * len(sizes)
    means = np.array([_mean([sizes[query] for query in part.queries]) for part in strata.slices])
    result: list[float] = (means[strata.order].cumsum() / np.arange(1, len(sizes) + 1)).tolist()
    return result


def _mean(values: Collection[float]) -> float:
    return sum(values) / max(1, len(values))


def affordable(budget: int, size: float, double: float) -> int:
    """Return for how many queries the labels suffice, if each has *size* items on average.

    >>> affordable(200, 20.0, 0.1), affordable(100, 20.0, 0.0)
    (9, 5)
    """
    pools = math.floor(round(budget / max(size, 1e-9), 6))
    return max((count for count in range(pools + 1) if count + math.ceil(round(count * double, 9)) <= pools), default=0)


def query_units(pool: Pool, *, seed: int, double: float, strata: Strata | None = None) -> list[Unit]:
    """Return the units of all queries in random order, from each stratum in turn; a plan is the beginning of them."""
    queries = list(pool.items)
    order = np.random.default_rng([seed, 0]).permutation(len(queries)).tolist()
    if strata is not None:
        by_stratum = [iter([at for at in order if strata.number[queries[at]] == n]) for n in range(len(strata.slices))]
        order = [next(by_stratum[number]) for number in strata.order]
    chances = draw_probabilities((queries[number] for number in order), len(queries), strata)
    units = []
    for position, (number, chance) in enumerate(zip(order, chances, strict=True)):
        query = queries[number]
        items = shuffled(next_items(pool, query, {}), seed, number)
        judges = _judges(position, double)
        units.append(Unit(position, query, items, chance, (1.0,) * len(items), judges, pool.size is not None))
    return units


def draw_probabilities(drawn: Iterable[str], total: int, strata: Strata | None) -> Iterator[float]:
    """Yield the probability of each draw: 1 / the queries that were left, in all or in the stratum.

    >>> list(draw_probabilities(["q3", "q1"], 4, None))
    [0.25, 0.3333333333333333]
    """
    left = [total] if strata is None else strata.sizes
    for query in drawn:
        number = 0 if strata is None else strata.number[query]
        yield 1 / left[number]
        left[number] -= 1


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
    parts = [stratum for query in queries for stratum in strata[query]]
    weights, sizes = np.array([_weight(part) for part in parts]), np.array([len(part) for part in parts], np.float64)
    rate = inclusion_rate(weights, sizes, budget / (1 + double))
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


def inclusion_rate(weights: Floats, sizes: Floats, budget: float) -> float:
    """Return the factor of the weights at which *budget* items are expected, of parts that have no more than *sizes*.

    >>> rate = inclusion_rate(np.array([3.0, 1.0]), np.array([2.0, 10.0]), 5.0)
    >>> np.minimum([2, 10], rate * np.array([3.0, 1.0])).tolist()
    [2.0, 3.0]
    """
    if sizes.sum() <= budget:
        return math.inf
    # The expected number grows with the rate and is linear between the rates at which a part is used up.
    order = np.argsort(sizes / weights)
    used, left = np.cumsum(sizes[order]), weights.sum() - np.cumsum(weights[order])
    limits = (sizes / weights)[order]
    last = int(np.searchsorted(used + limits * left, budget))
    before = used[last] - sizes[order][last]
    return float((budget - before) / (left[last] + weights[order][last]))


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
    sizes = {query: pool.target(query) for query in pool.items}
    enough = min(FEW_QUERIES, total)
    sentence = (
        f"{budget} labels suffice for {len(plan.units)} of {total} queries ({_mean(sizes.values()):.1f} items each); "
        f"with fewer than {enough}, intervals are wide."
    )
    by_depth = {
        depth: _affordable_queries(_sizes(pool, depth), budget, double, plan.strata) for depth in range(1, pool.depth)
    }
    deepest = max((depth for depth, count in by_depth.items() if count >= enough), default=None)
    needed = _needed(_mean_sizes(sizes, plan.strata)[enough - 1], enough, double)
    if pool.size is not None:
        if smaller := budget // (enough + math.ceil(round(enough * double, 9))):
            sentence += f" --pool-size {smaller} judges {enough}."
    elif deepest is not None:
        sentence += f" --depth {deepest} judges {by_depth[deepest]}."
    return [*advice, f"{sentence} At this depth, {enough} need --budget {needed}."]


def _sizes(pool: Pool, depth: int) -> dict[str, int]:
    """Return the number of items of each query in a pool of a smaller depth."""
    return {query: sum(entry.best_rank <= depth for entry in items) for query, items in pool.items.items()}
