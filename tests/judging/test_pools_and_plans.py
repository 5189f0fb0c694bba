"""Test pools and plans: which items are judged, in which order, and with which probability."""

import math
import re
from collections import Counter

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.judging.labels import GradeScale, Label, combine
from goldrank.judging.plans import advise, plan_items, plan_queries, query_units
from goldrank.judging.pools import build_pool, next_items


def pool_of(queries=20, systems=3, depth=10, seed=0, **options):
    rng = np.random.default_rng(seed)
    runs = {
        f"s{number}": Run(
            {f"q{q}": {f"d{d}": float(rank) for rank, d in enumerate(rng.permutation(40)[:30])} for q in range(queries)}
        )
        for number in range(systems)
    }
    return build_pool(runs, [f"q{q}" for q in range(queries)], depth=depth, **options)


def test_a_pool_holds_what_any_system_ranks_at_its_depth_and_queries_without_results():
    runs = {"a": Run({"q1": {"x": 1.0, "y": 1.0, "z": 0.5}}), "b": Run({"q1": {"z": 3.0}})}
    pool = build_pool(runs, ["q1", "q2"], depth=2)
    # Of equal scores, the greater id is first, as in trec_eval.
    assert {entry.item: entry.ranks for entry in pool.items["q1"]} == {"y": {"a": 1}, "z": {"b": 1}, "x": {"a": 2}}
    assert pool.items["q2"] == ()
    assert len(pool) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "the depth of the pool is 0"),
        ({"method": "mft"}, "there is no pooling 'mft'; did you mean 'mtf'"),
        ({"size": 3}, "a size has no effect on depth pooling"),
        ({"method": "mtf", "size": 0}, "the size of the pool is 0"),
        ({"systems": 0}, "there is no system to pool"),
        ({"queries": ["q", "q"]}, "the query 'q' is given twice"),
    ],
)
def test_a_pool_that_cannot_be_is_refused(options, message):
    systems, queries = options.pop("systems", 1), options.pop("queries", ["q"])
    with pytest.raises(InputError, match=message):
        build_pool({f"s{n}": Run({"q": {"d": 1.0}}) for n in range(systems)}, queries, **options)


@pytest.mark.parametrize("method", ["mtf", "adaptive"])
@pytest.mark.parametrize("size", [1, 5, 12, 100])
def test_pools_that_follow_labels_ask_for_exactly_their_size(method, size):
    pool, rng = pool_of(queries=3, method=method, size=size), np.random.default_rng(1)
    for query in pool.items:
        grades = {}
        while batch := next_items(pool, query, grades):
            assert not grades.keys() & batch
            assert len(set(batch)) == len(batch) <= 5
            grades |= {item: rng.choice([0, 1, None]) for item in batch}
        assert len(grades) == pool.target(query) == min(size, len(pool.items[query]))


@pytest.mark.parametrize("method", ["mtf", "adaptive"])
def test_pools_that_follow_labels_prefer_the_system_that_finds_relevant_items(method):
    runs = {name: Run({"q": {f"{name}{n}": 50.0 - n for n in range(40)}}) for name in ("good", "bad", "worse")}
    pool, grades = build_pool(runs, ["q"], depth=40, method=method, size=40), {}
    while batch := next_items(pool, "q", grades):
        grades |= {item: int(item.startswith("good")) for item in batch}
    counts = Counter(item.rstrip("0123456789") for item in grades)
    # Taking turns would give 13 of each.
    assert counts["good"] >= 24
    assert min(counts["bad"], counts["worse"]) >= 1


def test_a_plan_of_queries_is_the_beginning_of_a_random_order_that_ignores_the_systems():
    pool = pool_of()
    plan = plan_queries(pool, budget=150, seed=3, double=0)
    assert 3 <= len(plan.units) <= 7
    assert list(plan.units) == query_units(pool, seed=3, double=0)[: len(plan.units)]
    assert [unit.probability for unit in plan.units[:3]] == [1 / 20, 1 / 19, 1 / 18]
    for unit in plan.units:
        assert sorted(unit.items) == sorted(pool.ids(unit.query))
        assert set(unit.inclusion) == {1.0}
    other = {
        f"x{name}": Run({q: {e.item: -e.ranks[name] for e in pooled if name in e.ranks} for q, pooled in ranked})
        for name, ranked in ((name, list(pool.items.items())) for name in reversed(pool.systems))
    }
    renamed = build_pool(other, pool.items, depth=10)
    assert plan_queries(renamed, budget=150, seed=3, double=0) == plan
    assert plan_queries(pool, budget=150, seed=4, double=0) != plan
    # The number of queries does not depend on the random draws.
    assert len({len(plan_queries(pool, budget=150, seed=seed).units) for seed in range(50)}) == 1
    assert len(plan_queries(pool, seed=3).units) == 20


def test_every_query_is_first_equally_often():
    pool = pool_of(queries=4)
    first = Counter(plan_queries(pool, budget=20, seed=seed).units[0].query for seed in range(800))
    assert min(first.values()) > 150
    assert len(first) == 4


def test_a_share_of_the_queries_is_planned_for_a_second_judge_within_the_budget():
    pool = pool_of(queries=40)
    plan = plan_queries(pool, budget=600, double=0.2)
    judges = [unit.judges for unit in plan.units]
    assert judges[0] == 2
    assert judges.count(2) == math.ceil(0.2 * len(judges))
    assert 0.8 * 600 < plan.labels(pool) < 1.1 * 600
    assert {unit.judges for unit in plan_queries(pool, double=1).units} == {2}


def test_sampled_items_are_drawn_with_the_probabilities_that_are_stated():
    pool = pool_of(queries=3)
    draws, stated = Counter(), {}
    for seed in range(600):
        for unit in plan_items(pool, budget=20, seed=seed, double=0).units:
            for item, inclusion in zip(unit.items, unit.inclusion, strict=True):
                draws[unit.query, item] += 1
                assert stated.setdefault((unit.query, item), inclusion) == inclusion
    assert set(stated) == {(query, entry.item) for query, items in pool.items.items() for entry in items}
    expected = sum(stated.values())
    assert expected == pytest.approx(20, abs=0.01)
    # The tolerance is five standard deviations of a binomial count.
    assert all(abs(draws[pair] - 600 * p) <= 5 * math.sqrt(600 * p * (1 - p)) + 1e-9 for pair, p in stated.items())
    top = [p for (query, item), p in stated.items() if dict_of(pool, query)[item] <= 5]
    deep = [p for (query, item), p in stated.items() if dict_of(pool, query)[item] > 5]
    assert min(top) > max(deep)


def dict_of(pool, query):
    return {entry.item: entry.best_rank for entry in pool.items[query]}


def test_a_large_budget_samples_all_items():
    pool = pool_of(queries=3)
    plan = plan_items(pool, budget=10_000, double=0)
    assert plan.labels(pool) == len(pool)
    assert {share for unit in plan.units for share in unit.inclusion} == {1.0}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda pool: plan_queries(pool, budget=0), "the budget is 0 labels"),
        (lambda pool: plan_queries(pool, double=1.5), "the share for a second judge is 1.5"),
        (lambda pool: plan_items(pool_of(method="mtf"), budget=10), "items cannot be sampled from a pool by mtf"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(plan, message):
    with pytest.raises(InputError, match=message):
        plan(pool_of())


def test_advice_says_when_few_queries_fit_and_which_depth_or_budget_judges_more():
    pool = pool_of(queries=60, depth=10)
    plan = plan_queries(pool, budget=150, double=0)
    [sentence] = advise(pool, plan, 150, 0)
    assert f"150 labels suffice for {len(plan.units)} of 60 queries" in sentence
    depth, count, needed = map(int, re.search(r"--depth (\d+) judges (\d+).* --budget (\d+)", sentence).groups())
    assert len(plan_queries(pool_of(queries=60, depth=depth), budget=150, double=0).units) == count >= 30
    assert len(plan_queries(pool_of(queries=60, depth=depth + 1), budget=150, double=0).units) < 30
    assert len(plan_queries(pool, budget=needed, double=0).units) == 30
    assert advise(pool, plan_queries(pool, budget=needed, double=0), needed, 0) == []
    assert "only 5 queries" in advise(pool_of(queries=5), plan_queries(pool_of(queries=5)), None, 0)[0]
    assert "one system" in advise(pool_of(systems=1, queries=60), plan_queries(pool_of(queries=60)), None, 0)[0]


def test_grades_of_several_judges_are_combined_by_the_lower_median():
    def given(*grades):
        return combine([Label("q", "d", grade, f"j{n}", "human", "") for n, grade in enumerate(grades)])

    assert given(1, 3) == {("q", "d"): 1}
    assert given(0, 3, 2) == {("q", "d"): 2}
    assert given(None, 3) == {("q", "d"): 3}
    assert given(None) == {}


@pytest.mark.parametrize("names", [("only",), ("a", "a"), ("a", " "), tuple("abcdefghijk")])
def test_a_grade_scale_that_cannot_be_is_refused(names):
    with pytest.raises(InputError, match="cannot be used; give 2 to 10 different names"):
        GradeScale(names)
