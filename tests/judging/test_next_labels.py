"""Test `plan_next`: when the race between systems ends, which labels are planned next, and what is stored."""

import math
from dataclasses import replace

import numpy as np
import pytest

import goldrank as gr
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.judging import plan_next
from goldrank.judging.judge_agreement import agreement
from goldrank.judging.plans import Plan, plan_queries
from goldrank.judging.pools import build_pool
from goldrank.judging.progress import status
from goldrank.judging.project import JudgingProject
from judging.judged_projects import create, grade, judge, rankings, truth

CLOSE = {"one": 0.8, "two": 0.85}
UNPLANNED = Plan("next", 0, ())


@pytest.fixture(scope="module")
def grades():
    return truth(60)


def race(folder, grades, metric, *, skills=None, plan=UNPLANNED, wrong=None, **options):
    """Judge the units of `plan_next` until it stops; return all its results."""
    project = create(folder, grades, runs=rankings(grades, skills), plan=plan, budget=120)
    judge(project, grades)
    if wrong is not None:
        grade(project, grades, wrong=wrong)
    results = []
    while not results or results[-1].decision == "continue":
        results.append(plan_next(project, metric, **options))
        judge(project, grades)
    return project, results


@pytest.mark.parametrize("metric", ["precision@5", "ndcg@5", "map"])
def test_the_best_system_wins_with_a_part_of_the_labels(tmp_path, grades, metric):
    project, results = race(tmp_path, grades, metric, wrong=0.1, margin=0.0)
    last = results[-1]
    assert (last.decision, last.leader, last.remaining) == ("winner", "good", ("good",))
    assert set(last.dropped) == {"middling", "poor"}
    assert "Stop: good is the best system" in last.sentences[0]
    assert last.judge == "model:test"
    assert last.labels == len(project.labels("human")) < 0.7 * last.pairs == 0.7 * len(project.pool)
    assert [result.rounds for result in results] == list(range(len(results)))
    assert all(entry.low <= entry.value <= entry.high for entry in last.differences)


def test_labels_before_the_first_round_are_used(tmp_path, grades):
    project, results = race(tmp_path, grades, "precision@5", plan=None)
    planned = sum(len(unit.items) for unit in project.plan.units if not unit.round)
    assert results[0].labels == planned > 0
    assert results[-1].decision == "winner"


def test_a_bad_judge_only_costs_labels(tmp_path, grades):
    labels = {}
    for name, wrong in (("none", None), ("good", 0.05), ("useless", 1.0)):
        _, results = race(tmp_path / name, grades, "ndcg@5", wrong=wrong, labels=50)
        assert (results[-1].decision, results[-1].leader) == ("winner", "good")
        labels[name] = results[-1].labels
    assert labels["good"] < labels["none"]
    assert labels["good"] < labels["useless"]


def test_a_round_asks_for_random_items_with_known_probabilities(tmp_path, grades):
    project = create(tmp_path, grades, runs=rankings(grades, CLOSE), plan=UNPLANNED)
    added = plan_next(project, "precision@5", labels=40).added
    assert 20 <= sum(len(unit.items) for unit in added) <= 60
    assert [unit.position for unit in added] == list(range(len(added)))
    assert {unit.round for unit in added} == {1}
    assert len({unit.query for unit in added}) == len(added)
    [(number, probability)] = project.rounds().items()
    chance = dict(zip(((q, item) for q in project.queries for item in project.pool.ids(q)), probability, strict=True))
    assert number == 1
    assert probability.sum() == pytest.approx(40, rel=1e-6)
    for unit in added:
        assert unit.inclusion == tuple(chance[unit.query, item] for item in unit.items)
    assert project.plan.units == added


def test_equal_systems_stop_the_race_without_a_winner(tmp_path, grades):
    runs = rankings(grades, {"one": 0.8})
    project = create(tmp_path, grades, runs={**runs, "two": runs["one"]}, plan=UNPLANNED)
    results = []
    while not results or results[-1].decision == "continue":
        results.append(plan_next(project, "precision@5"))
        judge(project, grades)
    assert results[-1].decision == "equal"
    assert "at most 0.01 below any other system" in results[-1].sentences[0]
    assert results[-1].added == ()


def test_the_margin_decides_what_is_equal(tmp_path, grades):
    _, strict = race(tmp_path / "strict", grades, "precision@5", skills=CLOSE, margin=0.0)
    _, loose = race(tmp_path / "loose", grades, "precision@5", skills=CLOSE, margin=0.2)
    assert loose[-1].decision == "equal"
    assert loose[-1].labels < strict[-1].labels


def test_a_whole_pool_decides_exactly(tmp_path):
    grades = truth(4)
    project, results = race(tmp_path / "ranked", grades, "ndcg@5", skills=CLOSE, margin=0.0)
    assert results[-1].labels == len(project.pool)
    assert results[-1].sentences == (f"Stop: the whole pool is judged, and {results[-1].leader} is the best system.",)
    assert all(entry.low == entry.value == entry.high for entry in results[-1].differences)
    runs = {"first": Run({"q0": {"q0d0": 2.0, "q0d1": 1.0}}), "last": Run({"q0": {"q0d1": 2.0, "q0d0": 1.0}})}
    project = create(tmp_path / "tied", {"q0": {"q0d0": 1, "q0d1": 1}}, runs=runs)
    judge(project, {"q0": {"q0d0": 1, "q0d1": 1}})
    assert plan_next(project, "mrr").sentences == ("Stop: the whole pool is judged, and first and last are equal.",)


def test_labels_that_cannot_decide_are_not_asked_for(tmp_path, grades):
    project = create(tmp_path, grades, runs=rankings(grades, CLOSE), plan=UNPLANNED)
    for _ in range(2):
        plan_next(project, "ndcg@5", labels=40, margin=0.0)
        judge(project, grades)
    for budget in (0, 5):
        result = plan_next(project, "ndcg@5", budget=budget, margin=0.0)
        assert (result.decision, result.added) == ("cannot_decide", ())
        assert "cannot decide between" in result.sentences[0]
    assert plan_next(project, "ndcg@5", margin=0.0, dry_run=True).decision == "continue"
    enough = plan_next(project, "ndcg@5", margin=0.0, budget=10_000, dry_run=True)
    assert enough.decision == "continue"


def test_a_budget_bounds_the_round(tmp_path, grades):
    project = create(tmp_path, grades, plan=UNPLANNED)
    result = plan_next(project, "ndcg@5", labels=100, budget=30, dry_run=True)
    assert 20 <= result.added_labels <= 40


def test_planned_labels_are_given_before_others_are_asked_for(tmp_path, grades):
    project = create(tmp_path, grades, runs=rankings(grades, CLOSE), budget=120)
    judge(project, grades, units=3)
    result = plan_next(project, "ndcg@5")
    planned = sum(len(unit.items) for unit in project.plan.units[:3])
    assert (result.decision, result.labels, result.rounds) == ("judge_planned", planned, 0)
    judge(project, grades)
    planned_next = plan_next(project, "ndcg@5", dry_run=True).added
    assert not project.plan.in_rounds
    added = plan_next(project, "ndcg@5").added
    assert added == planned_next
    assert project.plan.units[-len(added) :] == added
    judge(project, grades, units=-1)
    half = plan_next(project, "ndcg@5")
    assert (half.decision, half.rounds) == ("judge_planned", 0)
    assert "judge 1 unit that is planned first" in half.sentences[0]


def test_the_result_is_the_same_in_another_process(tmp_path, grades):
    _project, results = race(tmp_path, grades, "ndcg@5", skills=CLOSE, wrong=0.2, margin=0.0, budget=150)
    again = plan_next(JudgingProject.open(tmp_path), "ndcg@5", margin=0.0, budget=150)
    assert again.differences == results[-1].differences
    assert (again.decision, again.labels, again.rounds) == tuple(
        getattr(results[-1], name) for name in ("decision", "labels", "rounds")
    )


def test_rounds_for_one_metric_count_for_others(tmp_path, grades):
    project, results = race(tmp_path, grades, "precision@5", skills=CLOSE, margin=0.05)
    other = plan_next(project, "map", dry_run=True)
    assert (other.labels, other.rounds) == (results[-1].labels, results[-1].rounds)
    assert all(-1 <= entry.low < entry.value < entry.high <= 1 for entry in other.differences)


def test_a_pair_that_nobody_can_judge_is_not_relevant(tmp_path, grades):
    project = create(tmp_path, grades, plan=UNPLANNED)
    plan_next(project, "ndcg@5", labels=20)
    for unit in project.plan.units:
        for item in unit.items:
            project.add_label(unit.query, item, None, "ann")
    result = plan_next(project, "ndcg@5", dry_run=True)
    assert result.rounds == 1
    assert result.labels == sum(len(unit.items) for unit in project.plan.units)


def test_two_processes_cannot_add_the_same_round(tmp_path, grades):
    project = create(tmp_path, grades, plan=UNPLANNED)
    added = plan_next(project, "ndcg@5", dry_run=True).added
    plan_next(project, "ndcg@5")
    with pytest.raises(InputError, match="so that these do not follow"):
        project.extend(added, rounds={1: np.ones(len(project.pool))})
    assert list(project.rounds()) == [1]


def test_means_are_not_estimated_from_rounds(tmp_path, grades):
    project, _ = race(tmp_path / "next", grades, "precision@5", wrong=0.1)
    with pytest.raises(InputError, match="asked for to find the best system"):
        gr.judging.leaderboard(project, "precision@5")
    project, _ = race(tmp_path / "queries", grades, "precision@5", plan=None, wrong=0.1)
    planned = sum(not unit.round for unit in project.plan.units)
    result = gr.judging.leaderboard(project, "precision@5")
    assert result.judged == planned < len(project.plan.units)
    assert any("`goldrank judge next` asked for are left out" in sentence for sentence in result.sentences)


def test_a_round_of_the_last_query_is_no_random_sample(tmp_path):
    """The last query of a random order has the probability 1, as units of rounds have."""
    grades = truth(4)
    runs = rankings(grades, CLOSE)
    whole = plan_queries(build_pool(runs, grades, depth=5), double=0)
    project = create(tmp_path, grades, runs=runs, plan=Plan("queries", 0, whole.units[:3]))
    last = whole.units[3]
    project.extend([replace(last, items=last.items[:2], inclusion=(0.5, 0.5), round=1)])
    judge(project, grades)
    assert gr.judging.leaderboard(project, "precision@5").judged == 3


def test_the_agreement_of_a_model_judge_leaves_rounds_out(tmp_path, grades):
    project = create(tmp_path, grades, budget=150)
    judge(project, grades)
    grade(project, grades, wrong=0.3)
    before = agreement(project).models[0]
    plan_next(project, "ndcg@5")
    judge(project, grades)
    after = agreement(project)
    assert after.models[0].kappas == before.kappas
    assert "most likely wrong" in after.notes[0]


def test_status_says_what_is_next(tmp_path, grades):
    project = create(tmp_path, grades, plan=UNPLANNED)
    assert status(project).design == "next"
    assert [command.split()[2] for command in status(project).next_steps] == ["grade", "next"]
    plan_next(project, "ndcg@5")
    assert [command.split()[2] for command in status(project).next_steps] == ["serve", "grade"]
    judge(project, grades)
    assert [command.split()[2] for command in status(project).next_steps] == ["grade", "next", "export"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": 0}, "number of labels is too small"),
        ({"budget": -1}, "number of labels is too small"),
        ({"margin": 1.5}, "margin 1.5 or alpha 0.05 is not between 0 and 1"),
        ({"metric": "gmap"}, "cannot be estimated"),
        ({"judge": "nobody"}, "no model judge has graded anything"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, grades, options, message):
    project = create(tmp_path, grades, plan=UNPLANNED)
    with pytest.raises(InputError, match=message):
        plan_next(project, **{"metric": "ndcg@5", **options})


def test_a_sample_of_items_can_be_extended(tmp_path, grades):
    project = create(tmp_path, grades, sample="items", budget=100)
    judge(project, grades)
    result = plan_next(project, "precision@5")
    assert result.decision == "continue"
    assert result.labels == len(project.labels("human"))
    assert not {(u.query, i) for u in result.added for i in u.items} & {label.pair for label in project.labels("human")}


def test_rounds_that_ask_for_nothing_count(tmp_path):
    """With about one label in each round, some rounds have none."""
    grades = truth(8)
    project = create(tmp_path, grades, runs=rankings(grades, CLOSE), plan=UNPLANNED)
    result = plan_next(project, "ndcg@5", labels=1, margin=0.0)
    while result.decision == "continue":
        assert result.added_labels >= 1
        judge(project, grades)
        result = plan_next(project, "ndcg@5", labels=1, margin=0.0)
    assert len(project.rounds()) > len({unit.round for unit in project.plan.units})
    assert all(math.isfinite(entry.value) for entry in result.differences)
