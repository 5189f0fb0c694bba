"""Test queries drawn from strata: plans, stored projects, estimates and rejected input."""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.judging import JudgingProject, leaderboard, plan_next, start, status
from goldrank.judging.exports import export
from goldrank.judging.plans import plan_queries, query_units
from goldrank.judging.pools import build_pool
from goldrank.judging.strata import ALLOCATIONS, Strata
from goldrank.slices import Slice
from judging.judged_projects import create, grade, judge, rankings, truth


def strata_of(sizes, allocation="proportional"):
    """Return strata with these numbers of queries, whose ids are q0, q1 and so on."""
    repeated_sizes = [size for size in sizes for _ in range(size)]
    values = [number for number, size in enumerate(sizes) for _ in range(size)]
    values = np.random.default_rng(0).permutation(values).tolist()
    assert len(repeated_sizes) == len(values)
    members = [tuple(f"q{at}" for at, value in enumerate(values) if value == number) for number in range(len(sizes))]
    return Strata(tuple(Slice("kind", "abcdef"[at], queries) for at, queries in enumerate(members)), allocation)


def pool_of(queries, depth=3):
    """Return a pool in which queries with an even number have more items."""
    runs = {
        "a": Run({f"q{q}": {f"q{q}d{n}": 9.0 - n for n in range(depth)} for q in range(queries)}),
        "b": Run({f"q{q}": {f"q{q}d{n + q % 2}": 9.0 - n for n in range(depth)} for q in range(queries)}),
    }
    return build_pool(runs, runs["a"], depth=depth)


@pytest.fixture(scope="module")
def grades():
    return truth(40)


def stratified(folder, grades, sizes=(24, 12, 4), allocation="proportional", budget=160):
    """Return a project whose planned queries are all judged."""
    strata = strata_of(sizes, allocation)
    pool = build_pool(rankings(grades), grades, depth=5)
    project = create(folder, grades, plan=plan_queries(pool, budget=budget, double=0, strata=strata), budget=budget)
    judge(project, grades)
    return project


@pytest.mark.parametrize("sizes", [(50, 30, 20), (90, 5, 5), (7, 7, 7), (2, 2, 60), (40,)])
@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_every_beginning_of_the_order_has_the_wanted_shares_and_two_queries_of_each_stratum(sizes, allocation):
    order = strata_of(sizes, allocation).order
    assert Counter(order) == dict(enumerate(sizes))
    for length in range(2 * len(sizes), len(order) + 1):
        counts = Counter(order[:length])
        for number, size in enumerate(sizes):
            assert counts[number] >= 2
            if allocation == "equal":
                # No stratum is behind another one, unless it is used up.
                assert counts[number] == size or counts[number] >= max(counts.values()) - 1
            elif counts[number] > 2:
                # No other stratum was further behind when the last query was drawn.
                others = [sizes[n] / (2 * counts[n] + 1) for n in counts if counts[n] < sizes[n]]
                assert size / (2 * counts[number] - 1) >= max(others, default=0.0) - 1e-12
    if allocation == "proportional" and sizes == (50, 30, 20):
        assert Counter(order[:20]) == {0: 10, 1: 6, 2: 4}


def test_each_query_of_a_stratum_is_drawn_equally_often_with_the_stated_probability():
    strata, pool = strata_of((6, 3)), pool_of(9)
    first = Counter(query_units(pool, seed=seed, double=0, strata=strata)[0].query for seed in range(1200))
    assert set(first) == set(strata.slices[0].queries)
    # The tolerance is five standard deviations.
    assert all(abs(count - 200) < 5 * math.sqrt(1200 / 6 * 5 / 6) for count in first.values())
    units = query_units(pool, seed=1, double=0, strata=strata)
    remaining = dict(enumerate(strata.sizes))
    for unit, number in zip(units, strata.order, strict=True):
        assert strata.number[unit.query] == number
        assert unit.probability == 1 / remaining[number]
        remaining[number] -= 1


def test_one_stratum_gives_the_plan_and_the_estimates_without_strata(tmp_path, grades):
    pool = build_pool(rankings(grades), grades, depth=5)
    whole = Strata((Slice("kind", "a", tuple(grades)),))
    assert (
        plan_queries(pool, budget=150, strata=whole).units
        == plan_queries(pool, budget=150).units
        != plan_queries(pool, budget=150, strata=strata_of((30, 10))).units
    )
    results = []
    for name, strata in (("with", whole), ("without", None)):
        plan = plan_queries(pool, budget=150, double=0, strata=strata)
        project = create(tmp_path / name, grades, plan=plan)
        judge(project, grades)
        grade(project, grades)
        results += [leaderboard(project, ["ndcg@5", "mrr"], target=target) for target in ("pool", "queries")]
    for stratified_result, simple in zip(results[:2], results[2:], strict=True):
        assert stratified_result.believe == "corrected"
        assert (stratified_result.systems, stratified_result.differences) == (simple.systems, simple.differences)


def test_a_budget_is_met_whatever_the_pools_of_the_strata(grades):
    pool = pool_of(40)
    assert {len(items) for items in pool.items.values()} == {3, 4}
    # The stratum of large pools gets more than its share under equal allocation.
    small = tuple(query for query in pool.items if len(pool.items[query]) == 3)
    large = tuple(query for query in pool.items if len(pool.items[query]) == 4)
    for parts in ((large[:5], (*small, *large[5:])), (small[:5], (*large, *small[5:]))):
        strata = Strata((Slice("kind", "a", parts[0]), Slice("kind", "b", parts[1])), "equal")
        labels = [plan_queries(pool, budget=40, double=0, seed=seed, strata=strata).labels(pool) for seed in range(50)]
        assert 34 < np.mean(labels) <= 40.5


def test_strata_are_stored_and_a_larger_budget_adds_queries_of_all(tmp_path, grades):
    project = stratified(tmp_path, grades, budget=100)
    again = JudgingProject.open(tmp_path)
    assert again.plan == project.plan
    assert again.plan.strata == strata_of((24, 12, 4))
    larger = plan_queries(project.pool, budget=200, double=0, strata=again.plan.strata)
    assert larger.units[: len(project.plan.units)] == project.plan.units


def test_the_status_counts_queries_and_labels_of_each_stratum(tmp_path, grades):
    strata = strata_of((24, 12, 4))
    pool = build_pool(rankings(grades), grades, depth=5)
    project = create(tmp_path, grades, plan=plan_queries(pool, budget=160, double=0, strata=strata))
    judge(project, grades, units=7)
    units, result = project.plan.units, status(project)
    assert result.allocation == "proportional"
    assert [(part.stratum, part.queries) for part in result.strata] == [("kind=a", 24), ("kind=b", 12), ("kind=c", 4)]
    assert sum(part.units for part in result.strata) == result.units
    assert [part.complete for part in result.strata] == [3, 2, 2]
    assert sum(part.missing for part in result.strata) == result.missing > 0
    last = sum(len(unit.items) for unit in units[7:] if strata.number[unit.query] == 2)
    assert result.strata[2].missing == last
    assert any(" next" in command for command in status(stratified(tmp_path / "judged", grades)).next_steps)


@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_estimates_weight_the_strata_by_all_their_queries(tmp_path, grades, allocation):
    project = stratified(tmp_path, grades, allocation=allocation)
    grade(project, grades)
    result = leaderboard(project, "precision@5")
    strata, units = project.plan.strata, project.plan.units
    assert [(part.queries, part.judged) for part in result.strata] == [
        (size, sum(strata.number[unit.query] == at for unit in units)) for at, size in enumerate((24, 12, 4))
    ]
    assert f"{len(units)} of 40 queries, drawn at random from each of 3 strata of kind" in result.sentences[0]
    for entry in result.systems:
        run = project.rankings()[entry.system]
        values = {
            query: sum(grades[query][item] > 0 and item in project.pool.ids(query) for item in list(run[query])[:5]) / 5
            for query in grades
        }
        by_stratum = [
            np.mean([values[unit.query] for unit in units if strata.number[unit.query] == at]) for at in range(3)
        ]
        assert entry.human.value == pytest.approx(np.dot(by_stratum, (24, 12, 4)) / 40)


def test_a_stratum_without_two_judged_queries_is_refused_with_the_labels_that_are_missing(tmp_path, grades):
    strata = strata_of((24, 12, 4))
    pool = build_pool(rankings(grades), grades, depth=5)
    project = create(tmp_path, grades, plan=plan_queries(pool, double=0, strata=strata))
    judge(project, grades, units=5)
    missing = len(project.plan.units[5].items)
    with pytest.raises(InputError, match=rf"needs 2 judged queries, and kind=c has 1; missing are {missing} labels"):
        leaderboard(project)
    judge(project, grades, units=6)
    assert leaderboard(project).judged == 6


def test_judge_next_asks_for_items_of_all_strata(tmp_path, grades):
    project = stratified(tmp_path, grades)
    judge(project, grades)
    before = leaderboard(project, "ndcg@5").systems
    result = plan_next(project, "ndcg@5", margin=0.0)
    assert result.decision == "continue"
    judge(project, grades)
    assert leaderboard(project, "ndcg@5").systems == before


def test_exported_labels_name_their_stratum(tmp_path, grades):
    project = stratified(tmp_path / "p", grades)
    export(project, tmp_path / "labels.jsonl", "jsonl")
    rows = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    strata = project.plan.strata
    assert {row["query"]: row["stratum"] for row in rows} == {
        unit.query: f"kind={'abc'[strata.number[unit.query]]}" for unit in project.plan.units
    }


def test_a_project_whose_strata_are_not_those_of_its_queries_is_refused(tmp_path, grades):
    plan = plan_queries(build_pool(rankings(grades), grades, depth=5), double=0)
    for sizes in ((20, 10), (20, 30)):
        with pytest.raises(InputError, match="the queries of the strata are not those of the pool"):
            create(tmp_path, grades, plan=replace(plan, strata=strata_of(sizes)))


def test_a_budget_that_does_not_suffice_for_all_strata_is_refused_with_the_one_that_does():
    pool, strata = pool_of(40), strata_of((20, 10, 10))
    with pytest.raises(
        InputError, match=r"10 labels suffice for 1 query, and 3 strata need 6; give --budget (\d+)"
    ) as e:
        plan_queries(pool, budget=10, double=0.1, strata=strata)
    budget = int(str(e.value).split("--budget ")[1].split(",")[0])
    assert len(plan_queries(pool, budget=budget, double=0.1, strata=strata).units) == 6
    with pytest.raises(InputError, match="3 strata need 6"):
        plan_queries(pool, budget=budget - 1, double=0.1, strata=strata)


OPTIONS = {"models": ["bm25", "random:8"], "depth": 2, "budget": 100, "double": 0}


class TestStart:
    """Tests of strata when a project is started."""

    @pytest.fixture
    def kinds(self, own_folder):
        """Write a file with a kind for each of 60 queries."""
        names = start("questions", folder="simple", **OPTIONS).queries
        rows = [f"{name},{'abc'[number % 3]},{number % 2}" for number, name in enumerate(names)]
        (own_folder / "kinds.csv").write_text("\n".join(["query,kind,parity", *rows]) + "\n")
        (own_folder / "kind.csv").write_text(
            "\n".join(row.rpartition(",")[0] for row in ["query,kind,p", *rows]) + "\n"
        )
        return own_folder

    def test_strata_come_from_fields_files_and_texts_of_queries(self, kinds):
        by_file = start("questions", folder="a", slices="kind.csv", **OPTIONS).plan.strata
        assert [str(part) for part in by_file.slices] == ["kind=a", "kind=b", "kind=c"]
        by_name = start("questions", folder="b", slices="kinds.csv", strata="parity", **OPTIONS).plan.strata
        assert (by_name.attribute, by_name.sizes) == ("parity", [30, 30])
        derived = start("questions", folder="c", strata="query_length", **OPTIONS).plan.strata
        assert sum(derived.sizes) == 60
        rows = [{"_id": f"q{n}", "text": f"wine number {n}", "kind": "xy"[n % 4 == 0]} for n in range(40)]
        (kinds / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        fields = start("wines", "q.jsonl", folder="d", strata="kind", allocation="equal", **OPTIONS).plan.strata
        assert (fields.sizes, fields.allocation) == ([30, 10], "equal")
        limited = start("questions", folder="e", slices="kind.csv", limit=30, **OPTIONS).plan.strata
        assert sum(limited.sizes) == 30

    def test_an_interrupted_project_resumes_and_other_strata_are_refused(self, kinds):
        def again(**changes):
            return start("questions", **{**OPTIONS, "slices": "kind.csv", **changes})

        project = again()
        planned = project.plan.units
        unit = project.claim("ann")
        project.add_label(unit.query, unit.items[0], 2, "ann")
        resumed = again()
        assert resumed.identity == project.identity
        assert resumed.plan == project.plan
        assert resumed.claim("ann") == unit
        larger = again(budget=160)
        units, strata = larger.plan.units, larger.plan.strata
        assert len(units) > len(planned)
        assert units[: len(planned)] == planned
        assert [strata.number[unit.query] for unit in units] == strata.order[: len(units)]
        file = kinds / "kind.csv"
        changed = file.read_text().replace(",a\n", ",b\n", 1)
        for changes in ({"allocation": "equal"}, {"slices": None}, {"slices": "kinds.csv", "strata": "parity"}):
            with pytest.raises(
                InputError, match="the strata or their allocation are others; start again with the same"
            ):
                again(**changes)
        file.write_text(changed)
        with pytest.raises(InputError, match="the strata or their allocation are others"):
            again()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"strata": "colour"}, "there is no attribute of queries 'colour'"),
            ({"strata": "gold_overlap"}, "gold_overlap is derived from judgments or from all documents"),
            ({"strata": "rare_words"}, "cannot define strata; choose query_length, question_word, script, or a field"),
            ({"slices": "kinds.csv"}, "kinds.csv: there are 2 attributes: kind, parity; choose one as strata"),
            ({"allocation": "equal"}, "an allocation needs strata; name an attribute of the queries"),
            ({"strata": "kind", "allocation": "optimal"}, "there is no allocation 'optimal'"),
            ({"slices": "kind.csv", "sample": "items"}, "a sample of items has items of every query"),
            ({"slices": "kind.csv", "budget": 8}, "3 strata need 6; give --budget"),
            ({"slices": [{"query": "q99", "kind": "x"}]}, "none of its 1 query is in the project"),
            ({"slices": "extra.csv"}, "1 query is not in the project, such as 'q99'"),
            ({"slices": "same.csv"}, "does not divide the queries: all have the value 'a'"),
            (
                {"slices": "single.csv"},
                r"kind=z has 1 query, and a variance needs 2; give query \S+ another",
            ),
            ({"slices": "missing.csv"}, "missing.csv"),
        ],
    )
    def test_strata_that_cannot_be_are_refused_and_leave_no_folder(self, kinds, changes, message):
        rows = (kinds / "kind.csv").read_text()
        (kinds / "extra.csv").write_text(rows + "q99,a\n")
        (kinds / "same.csv").write_text(rows.replace(",b\n", ",a\n").replace(",c\n", ",a\n"))
        (kinds / "single.csv").write_text(
            rows.replace(",a\n", ",z\n", 1).replace(",b\n", ",a\n").replace(",c\n", ",a\n")
        )
        with pytest.raises(InputError, match=message):
            start("questions", **{**OPTIONS, **changes})
        assert not (kinds / "judging").exists()
