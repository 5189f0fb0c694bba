"""What decides between systems: which items matter, when the race is over, and what is drawn next."""

from itertools import product

import numpy as np
import pytest

import goldrank as gr
from goldrank.errors import InputError
from goldrank.hits import Gold, Run
from goldrank.judging import plan_next
from goldrank.judging.deciding_items import DecidingItems
from goldrank.judging.pools import build_pool
from goldrank.metrics import Metric
from judging.judged_projects import create, grade, judge, rankings, truth

LISTS = {"a": "uvwx", "b": "vuyx", "c": "wyuv", "d": "uvwx"}


@pytest.fixture(scope="module")
def small():
    """A pool of one query with every labelling of its five items, and the scores of all systems for each."""
    runs = {name: Run({"q": {item: 9.0 - at for at, item in enumerate(row)}}) for name, row in LISTS.items()}
    return build_pool(runs, ["q"], depth=4), runs


@pytest.mark.parametrize(
    "name", ["precision@3", "precision@4", "mrr", "mrr@2", "hit_rate@2", "ndcg@3", "ndcg", "map", "recall@2"]
)
def test_bounds_hold_for_every_labelling_and_items_that_are_not_asked_for_do_not_matter(small, name):
    pool, runs = small
    metric, items = Metric.parse(name), pool.ids("q")
    deciding = DecidingItems(metric, pool, runs)
    labellings = list(product(range(3), repeat=len(items)))
    values = np.array(
        [
            [
                gr.score(Gold({"q": dict(zip(items, grades, strict=True))}), run, name)[name].value
                for run in runs.values()
            ]
            for grades in labellings
        ]
    )
    values = np.nan_to_num(values)
    for column, (first, second) in enumerate(deciding.pairs.tolist()):
        differences = values[:, second] - values[:, first]
        assert differences.max() <= deciding.bounds[0, column] + 1e-12
        if name.startswith(("precision", "mrr", "ndcg")):
            assert differences.max() == pytest.approx(deciding.bounds[0, column])  # no bound is too wide
        asked = [item in deciding.of("q", (first, second)) for item in items]
        by_asked = {}
        for grades, difference in zip(labellings, differences, strict=True):
            key = tuple(value for value, is_asked in zip(grades, asked, strict=True) if is_asked)
            assert difference == pytest.approx(by_asked.setdefault(key, difference))
    assert deciding.of("q", (0, 3)) == []  # they rank alike


def test_items_that_all_systems_return_do_not_matter_for_precision(small):
    pool, runs = small
    assert set(DecidingItems(Metric.parse("precision@3"), pool, runs).of("q", (0, 1))) == {"w", "y"}
    assert set(DecidingItems(Metric.parse("ndcg@3"), pool, runs).of("q", (0, 1))) == set("uvwxy")


@pytest.fixture(scope="module")
def grades():
    return truth(60)


def race(folder, grades, metric, *, skills=None, judges=False, **options):
    """Judge as `plan_next` says until it stops; return all its results."""
    project = create(folder, grades, runs=rankings(grades, skills), budget=120)
    judge(project, grades)
    if judges:
        grade(project, grades)
    results = []
    while not results or results[-1].decision == "continue":
        results.append(plan_next(project, metric, **options))
        judge(project, grades)
    return project, results


def test_the_best_system_wins_and_worse_ones_are_dropped_on_the_way(tmp_path, grades):
    project, results = race(tmp_path, grades, "precision@5", judges=True)
    last = results[-1]
    assert (last.decision, last.leader, last.remaining) == ("winner", "good", ("good",))
    assert set(last.dropped) == {"middling", "poor"}
    assert "Stop: good is the best system" in last.sentences[0]
    assert last.judge == "model:test"
    judged = [len(unit.items) for unit in project.plan.units]
    first = len(judged) - sum(len(result.added) for result in results)
    assert np.mean(judged[first:]) < 0.9 * np.mean(judged[:first])
    assert all(entry.low <= entry.value <= entry.high for entry in last.differences)


def test_a_metric_normalised_by_all_relevant_items_asks_for_whole_pools(tmp_path, grades):
    project, results = race(tmp_path, grades, "ndcg@5", skills={"one": 1.0, "two": 1.05, "bad": 3.0}, queries=4)
    assert results[0].decision == "continue"
    assert all(set(unit.items) == set(project.pool.ids(unit.query)) for unit in results[0].added)
    assert len(results[0].added) == 4


def test_equal_systems_stop_the_race_without_a_winner(tmp_path, grades):
    runs = rankings(grades, {"one": 0.8})
    project = create(tmp_path, grades, runs={**runs, "two": runs["one"]})
    judge(project, grades, units=5)
    # The systems of the pool never differ, so that nothing has to be judged.
    project.extend([])
    result = plan_next(project, "precision@5")
    assert result.decision == "equal"
    assert "at most 0.01 below any other system" in result.sentences[0]
    assert result.added == ()


def test_the_margin_decides_what_is_equal(tmp_path, grades):
    skills = {"one": 0.8, "two": 0.85}
    _, strict = race(tmp_path / "strict", grades, "precision@5", skills=skills, margin=0.0)
    _, loose = race(tmp_path / "loose", grades, "precision@5", skills=skills, margin=0.2)
    assert loose[-1].decision == "equal"
    assert loose[-1].judged < strict[-1].judged


def test_labels_that_cannot_decide_are_not_asked_for(tmp_path, grades):
    project = create(tmp_path, grades, runs=rankings(grades, {"one": 0.8, "two": 0.85}), budget=120)
    judge(project, grades)
    result = plan_next(project, "ndcg@5", budget=20, margin=0.0)
    assert (result.decision, result.added) == ("cannot_decide", ())
    assert "cannot decide between" in result.sentences[0]
    assert plan_next(project, "ndcg@5", margin=0.0, dry_run=True).decision == "continue"


def test_planned_queries_are_judged_before_others_are_drawn(tmp_path, grades):
    project = create(tmp_path, grades, runs=rankings(grades, {"one": 0.8, "two": 0.85}), budget=120)
    judge(project, grades, units=3)
    result = plan_next(project, "ndcg@5")
    assert (result.decision, result.judged) == ("judge_planned", 3)
    judge(project, grades)
    assert plan_next(project, "ndcg@5", dry_run=True).added
    assert project.plan.design != "active"
    added = plan_next(project, "ndcg@5").added
    assert project.plan.units[-len(added) :] == added
    assert plan_next(project, "ndcg@5").decision == "judge_planned"


def test_queries_drawn_for_one_metric_do_not_count_for_another_that_needs_more_items(tmp_path, grades):
    project = create(tmp_path, grades, runs=rankings(grades, {"one": 0.8, "two": 0.85}), budget=120)
    judge(project, grades)
    start = len(project.plan.units)
    while plan_next(project, "precision@5", margin=0.0).decision == "continue":
        judge(project, grades)
    result = plan_next(project, "map", margin=0.0)
    assert len(project.plan.units) > start
    assert result.decision in ("cannot_decide", "continue")
    both = [leaderboard.judged for leaderboard in (gr.judging.leaderboard(project, "map"),)]
    assert both == [start]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries": 0}, "number of queries or labels is too small"),
        ({"margin": 1.5}, "margin 1.5 or alpha 0.05 is not between 0 and 1"),
        ({"metric": "gmap"}, "cannot be estimated"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, grades, options, message):
    project = create(tmp_path, grades, budget=60)
    judge(project, grades)
    with pytest.raises(InputError, match=message):
        plan_next(project, **{"metric": "ndcg@5", **options})


def test_a_plan_that_samples_items_is_refused(tmp_path, grades):
    project = create(tmp_path, grades, sample="items", budget=100)
    judge(project, grades)
    with pytest.raises(InputError, match="a plan that samples items cannot be extended"):
        plan_next(project)


def test_wrong_winners_are_rare(tmp_path):
    """The truth of a large race is known, and its queries are drawn in many orders."""
    from goldrank.judging.next_labels import make_race
    from goldrank.judging.plans import Unit

    grades = truth(40, seed=3)
    runs = rankings(grades, {"one": 0.8, "two": 0.9, "three": 0.85})
    pool = build_pool(runs, grades, depth=5)
    items = DecidingItems(Metric.parse("precision@5"), pool, runs)
    scores = np.array(
        [list(gr.score(Gold(grades), run, "precision@5")["precision@5"].values) for run in runs.values()]
    ).T
    best = scores.mean(axis=0).max()
    wrong = 0
    for seed in range(100):
        order = np.random.default_rng(seed).permutation(40)
        for count in (10, 20, 30):
            units = [
                Unit(
                    at,
                    items.queries[n],
                    tuple(pool.ids(items.queries[n])),
                    1 / (40 - at),
                    (1.0,) * len(pool.ids(items.queries[n])),
                )
                for at, n in enumerate(order[:count].tolist())
            ]
            result = make_race(units, scores[order[:count]], items).decide()
            if len(result.alive) == 1 or result.equal:
                wrong += scores[:, result.leader].mean() < best - 0.01 - 1e-9
                break
    assert wrong <= 5
