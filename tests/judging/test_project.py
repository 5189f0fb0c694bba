"""Test the store of a judging project: claims, labels, undo, and processes that judge at once or are killed."""

import itertools
import math
import signal
import sqlite3
from dataclasses import replace

import pytest

from goldrank.errors import InputError
from goldrank.judging.claims import LEASE
from goldrank.judging.labels import GradeScale, Label, ModelGrade
from goldrank.judging.plans import query_units
from goldrank.judging.project import FILE, JudgingProject
from judging.projects import Creator, Judge, create, judge_all, rankings

DAY = "2026-01-31T12:00:00+00:00"


class Clock:
    """A clock that a test moves."""

    def __init__(self):
        self.now = 1e9

    def __call__(self):
        return self.now


def labels_of(project, *sources):
    return {(label.judge, *label.pair): label.grade for label in project.labels(*sources)}


def test_a_project_is_read_back_as_it_was_created(tmp_path):
    project = create(tmp_path / "p", budget=5, double=0.5)
    again = JudgingProject.open(tmp_path / "p")
    assert again.pool == project.pool
    assert again.plan == project.plan
    assert [unit.judges for unit in again.plan.units] == [2]
    assert again.rankings() == rankings()
    assert again.scale == GradeScale()
    assert again.query_text("q1") == "what is q1?"
    assert again.item_text("q0d0") == ("", "text of q0d0")
    assert again.identity == project.identity != create(tmp_path / "other").identity
    with pytest.raises(InputError, match="holds a judging project already"):
        create(tmp_path / "p")
    assert JudgingProject.open(tmp_path / "p").identity == project.identity


def test_judges_get_units_of_their_own_and_their_unfinished_one_again(tmp_path):
    project = create(tmp_path)
    first, second = project.claim("ann"), project.claim("ben")
    assert (first.position, second.position) == (0, 1)
    assert project.claim("ann") == first
    project.add_label(first.query, first.items[0], None, "ann")
    assert project.remaining(first, "ann") == first.items[1:]
    assert JudgingProject.open(tmp_path).claim("ann") == first
    assert len(judge_all(project, "ann")) == 3 + 4
    assert project.complete_units() == [first]
    assert len(judge_all(project, "ben")) == 4
    assert project.complete_units() == list(project.plan.units)
    assert project.claim("ann") is None


def test_a_second_judge_gets_only_what_is_planned_for_two(tmp_path):
    project = create(tmp_path, double=0.3)
    assert [unit.judges for unit in project.plan.units] == [2, 1, 1]
    assert len(judge_all(project, "ann")) == 12
    assert project.claim("ann") is None
    assert {query for query, _ in judge_all(project, "ben")} == {project.plan.units[0].query}
    assert project.claim("cem") is None
    # The first unit was complete with its first judge.
    assert len(project.complete_units()) == 3


def test_a_unit_whose_judge_disappeared_is_finished_by_another(tmp_path):
    clock = Clock()
    project = create(tmp_path, clock=clock)
    unit = project.claim("ann")
    clock.now += LEASE - 1
    project.add_label(unit.query, unit.items[0], 2, "ann")
    clock.now += LEASE - 1
    assert project.claim("ben").position == 1
    clock.now += LEASE + 1
    assert project.claim("cem") == unit
    # The first judge has no unit left when coming back.
    assert project.claim("ann").position == 1
    assert project.remaining(unit, "cem") == unit.items[1:]
    for item in unit.items[1:]:
        project.add_label(unit.query, item, 1, "cem")
    assert project.complete_units() == [unit]


def test_undo_takes_back_the_last_label_and_keeps_it_in_the_history(tmp_path):
    project = create(tmp_path)
    unit = project.claim("ann")
    first, second = unit.items[:2]
    assert project.undo("ann") is None
    project.add_label(unit.query, first, 3, "ann", seconds=2.5)
    project.add_label(unit.query, first, 0, "ann")
    project.add_label(unit.query, second, 1, "ann")
    project.add_label(unit.query, first, 1, "ben")
    assert project.undo("ann").item == second
    assert project.undo("ann").grade == 0
    assert labels_of(project) == {("ann", unit.query, first): 3, ("ben", unit.query, first): 1}
    assert project.undo("ann").seconds == 2.5
    assert project.undo("ann") is None
    assert labels_of(project) == {("ben", unit.query, first): 1}
    assert [event.action for event in project.history()] == ["label"] * 4 + ["undo"] * 3
    assert project.claim("ann") == unit


def test_a_pool_that_follows_the_labels_grows_until_its_size(tmp_path):
    project = create(tmp_path, queries=1, systems=6, method="mtf", size=7)
    assert len(project.claim("ann").items) == 5
    judged = judge_all(project, "ann", grade=0)
    assert len(set(judged)) == len(judged) == 7
    [unit] = project.complete_units()
    assert set(unit.items) == {item for _, item in judged}
    assert unit.inclusion == (1.0,) * 7


def test_imported_labels_stay_apart_and_are_added_once(tmp_path):
    project = create(tmp_path)
    label = Label("q0", "q0d0", 2, "imported:qrels.txt", "imported", DAY)
    weak = replace(label, judge="imported:clicks.csv", source="weak", grade=1)
    assert project.add_labels([label, weak]) == 2
    assert project.add_labels([label, replace(weak, grade=0)]) == 1
    assert project.labels("human") == []
    assert [entry.grade for entry in project.labels("imported")] == [2]
    assert [entry.grade for entry in project.labels("weak")] == [0]
    assert project.complete_units() == []
    assert project.undo("ann") is None
    with pytest.raises(InputError, match="the grade 4 is not on the scale; give a grade from 0 to 3"):
        project.add_labels([replace(label, item="q0d1"), replace(label, item="q0d2", grade=4)])
    with pytest.raises(InputError, match="the source 'human' cannot be imported"):
        project.add_labels([replace(label, source="human")])
    assert len(project.labels()) == 2


def test_model_grades_are_replaced_by_later_ones_and_kept_by_judge(tmp_path):
    project = create(tmp_path)
    grade = ModelGrade("q0", "q0d0", None, "openai:m", "I cannot say \ud800.", DAY)
    project.add_model_grades([grade, replace(grade, item="q0d1", grade=1, prompt_tokens=9), replace(grade, judge="b")])
    project.add_model_grades([replace(grade, grade=3, answer="##final score: 3")])
    assert project.model_judges() == ["openai:m", "b"]
    assert {(entry.item, entry.grade, entry.prompt_tokens) for entry in project.model_grades("openai:m")} == {
        ("q0d0", 3, None),
        ("q0d1", 1, 9),
    }
    assert project.labels() == []
    with pytest.raises(InputError, match="is not in the pool of query"):
        project.add_model_grades([replace(grade, grade=1), replace(grade, item="q1d0")])
    assert len(project.model_grades("openai:m")) == 2


def test_a_plan_is_extended_by_one_process_only(tmp_path):
    project = create(tmp_path, budget=4)
    units = query_units(project.pool, seed=0, double=0)
    assert [unit.query for unit in project.plan.units] == [units[0].query]
    other = JudgingProject.open(tmp_path)
    project.extend(units[1:2], budget=8)
    with pytest.raises(InputError, match="the plan has 2 units, so that these do not follow; read the plan again"):
        other.extend(units[1:2])
    by_hand = replace(units[2], probability=math.nan)
    other.extend([by_hand])
    assert (other.plan.design, other.budget, len(other.plan.units)) == ("queries", 8, 3)
    assert math.isnan(project.plan.units[2].probability)
    with pytest.raises(InputError, match="has items outside of the pool"):
        project.extend([replace(units[0], position=3, items=("q1d0", "x"))])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item": "q1d0"}, "'q1d0' is not in the pool of query 'q0'"),
        ({"grade": 4}, "the grade 4 is not on the scale"),
        ({"grade": True}, "the grade True is not on the scale"),
        ({"judge": " "}, "the judge's name ' ' cannot be used"),
        ({"judge": "imported:x"}, "without a colon"),
        ({"seconds": math.inf}, "the time inf is not a number of seconds"),
    ],
)
def test_a_label_that_cannot_be_is_refused_and_not_stored(tmp_path, change, message):
    project = create(tmp_path)
    with pytest.raises(InputError, match=message):
        project.add_label(**{"query": "q0", "item": "q0d0", "grade": 1, "judge": "ann", "seconds": None, **change})
    assert project.history() == []


def test_what_is_no_project_is_named(tmp_path):
    with pytest.raises(InputError, match="there is no such folder; goldrank judge start creates one"):
        JudgingProject.open(tmp_path / "none")
    with pytest.raises(InputError, match="there is no judging project in this folder"):
        JudgingProject.open(tmp_path)
    (tmp_path / FILE).write_bytes(b"x" * 5000)
    with pytest.raises(InputError, match=r"this is not a goldrank judging project .*; name another folder"):
        JudgingProject.open(tmp_path)
    create(tmp_path / "p")
    with sqlite3.connect(tmp_path / "p" / FILE) as connection:
        connection.execute("UPDATE goldrank_judging SET version = 99")
    connection.close()
    with pytest.raises(InputError, match=r"written by a newer goldrank \(version 99, this one knows 3\); update"):
        JudgingProject.open(tmp_path / "p")


@pytest.mark.slow
def test_processes_that_judge_at_once_share_the_work_without_conflict(tmp_path):
    project = create(tmp_path, queries=12, double=0.25)
    judges = [Judge(tmp_path, name) for name in ("ann", "ben", "cem")]
    for judge in judges:
        judge.go()
    pairs = [judge.pairs() for judge in judges]
    assert [judge.exit_code for judge in judges] == [0, 0, 0]
    labelled = {(name, *pair) for name, own in zip(("ann", "ben", "cem"), pairs, strict=True) for pair in own}
    assert set(labels_of(project)) == labelled
    by_unit = {unit.query: {name for name, query, _ in labelled if query == unit.query} for unit in project.plan.units}
    assert {query: len(names) for query, names in by_unit.items()} == {
        unit.query: unit.judges for unit in project.plan.units
    }
    assert len(labelled) == 12 * 4 + 3 * 4


@pytest.mark.slow
def test_a_judge_killed_at_any_step_loses_no_acknowledged_label(tmp_path):
    create(tmp_path, queries=2)
    acknowledged = set()
    for step in itertools.count(1, 3):
        judge = Judge(tmp_path, "ann", dies_at=step)
        judge.go()
        acknowledged |= set(judge.pairs())
        project = JudgingProject.open(tmp_path)
        stored = {label.pair for label in project.labels("human")}
        assert acknowledged <= stored, f"step {step}: a label was acknowledged and is gone"
        # At most the label whose acknowledgement was being sent is stored in addition.
        assert len(stored) <= len(acknowledged) + 1
        acknowledged = stored
        if judge.exit_code == 0:
            break
        assert judge.exit_code == -signal.SIGKILL
        # The next process needs labels to add before it is killed.
        for _ in range(len(stored) // 2):
            project.undo("ann")
        acknowledged = {label.pair for label in project.labels("human")}
    assert step > 20
    assert len(acknowledged) == 8


@pytest.mark.slow
def test_a_creation_killed_at_any_step_leaves_no_project_or_a_whole_one(tmp_path):
    whole = create(tmp_path / "whole")
    states = set()
    for step in itertools.count(1, 4):
        folder = tmp_path / str(step)
        creator = Creator(folder, step)
        exists = JudgingProject.exists(folder)
        states.add(exists)
        if exists:
            assert JudgingProject.open(folder).plan == whole.plan
            assert JudgingProject.open(folder).rankings() == whole.rankings()
        else:
            assert create(folder).plan == whole.plan
        if creator.exit_code == 0:
            break
        assert creator.exit_code == -signal.SIGKILL
    assert states == {False, True}
