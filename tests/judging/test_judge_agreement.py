"""Test the agreement of human and model judges: planted biases are measured, and chance agreement is not accepted."""

import json

import numpy as np
import pytest

from goldrank.cli.main import main
from goldrank.errors import AmbiguousNameError, InputError, UnknownNameError
from goldrank.judging import agreement, grade, judge_quality
from goldrank.judging.judge_agreement import quality_of
from goldrank.judging.judges import find_judge
from goldrank.judging.labels import Label
from judging.graded_projects import ITEMS, QUERIES, label_all, new_project, true_grade


def graded_pairs(seed, queries=40, *, length=0.0, system=0.0, noise=0.7, skill=1.0):
    """Return human and model grades with planted biases, and the other arguments of `quality_of`."""
    random = np.random.default_rng(seed)
    pairs = [(f"q{q}", f"d{q}.{n}") for q in range(queries) for n in range(15)]
    human = {pair: int(random.choice(4, p=[0.6, 0.2, 0.1, 0.1])) for pair in pairs}
    lengths = {item: int(np.exp(random.normal(4.5, 0.8))) + 1 for _, item in pairs}
    ranks = {pair: {name: int(random.integers(1, 21)) for name in "ab" if random.random() < 0.7} for pair in pairs}
    lenient = np.repeat(random.normal(0, 0.3, queries), 15)
    model = {}
    for pair, shift in zip(pairs, lenient, strict=True):
        grade = skill * human[pair] + (1 - skill) * 0.7 + shift + random.normal(0, noise)
        grade += length * np.log2(lengths[pair[1]] / 90) + system * ("a" in ranks[pair])
        model[pair] = int(np.clip(round(grade), 0, 3))
    return human, model, {"best": 3, "lengths": lengths, "ranks": ranks, "systems": "ab"}


def shown(quality):
    return {bias.name for bias in quality.biases if bias.is_shown}


def test_planted_biases_are_measured_and_no_others():
    human, model, rest = graded_pairs(0, length=0.4, system=0.6)
    quality = quality_of("biased", human, model, **rest)
    assert {"length", "system:a"} <= shown(quality)
    by_name = {bias.name: bias.value for bias in quality.biases}
    assert by_name["length"] > 0.2
    assert by_name["system:a"] > 0.3
    assert quality.usable
    assert quality.error > 0


@pytest.mark.slow
def test_a_judge_without_biases_has_none_beyond_chance():
    counts = [shown(quality_of("fair", *graded_pairs(seed)[:2], **graded_pairs(seed)[2])) for seed in range(100)]
    for name in ("length", "position", "system:a", "system:b"):
        assert sum(name in names for names in counts) <= 11  # 5 expected; 12 or more have a probability of 0.4 %


@pytest.mark.slow
def test_judges_of_pure_chance_are_usable_no_more_often_than_their_intervals_miss():
    usable = 0
    for seed in range(200):
        human, model, _ = graded_pairs(seed, 15, skill=0.0)
        usable += quality_of("chance", human, model, best=3).usable
    assert usable <= 11  # 2.5 % of 200 are expected


def test_a_weak_judge_that_is_better_than_chance_is_usable_and_a_contrary_one_is_refused():
    human, model, _ = graded_pairs(0, 40, skill=0.4)
    assert quality_of("weak", human, model, best=3).usable
    inverted = {pair: 3 - grade for pair, grade in human.items()}
    quality = quality_of("inverted", human, inverted, best=3)
    assert not quality.usable
    assert quality.reason.startswith("It is not shown to agree")


def test_shares_of_the_confusion_are_those_of_each_human_grade():
    human = {(f"q{n}", "d"): n % 2 for n in range(40)}
    model = {pair: grade if pair != ("q1", "d") else 0 for pair, grade in human.items()}
    cells = {(cell.human, cell.model): cell for cell in quality_of("m", human, model, best=2).confusion}
    assert (cells[0, 0].share, cells[1, 1].number, cells[1, 0].share) == (1, 19, 0.05)
    assert cells[0, 0].interval.low < 1 == cells[0, 0].interval.high
    assert 0 <= cells[1, 0].interval.low < 0.05 < cells[1, 0].interval.high
    assert (cells[2, 0].share, cells[2, 0].interval) == (None, None)


@pytest.mark.parametrize(
    ("human", "model", "reason"),
    [
        ({}, {}, "no unit was rated by both judges"),
        ({("q", "a"): 0, ("q", "b"): 1}, {("q", "a"): 0, ("q", "b"): 1}, "only one query has human labels"),
        ({("q", "a"): 1, ("r", "b"): 1}, {("q", "a"): 1, ("r", "b"): 1}, "both judges gave every unit the same grade"),
        ({("q", "a"): 1, ("r", "b"): 0}, {("q", "a"): None, ("r", "b"): None}, "no unit was rated by both judges"),
    ],
)
def test_what_cannot_be_known_is_said_and_refused(human, model, reason):
    quality = quality_of("m", human, model, best=3, lengths={})
    assert not quality.usable
    assert reason in quality.reason


def test_unparsed_answers_are_left_out_and_counted():
    human, model, _ = graded_pairs(1)
    some = set(list(human)[::5])
    quality = quality_of("m", human, {p: None if p in some else g for p, g in model.items()}, best=3)
    rest = {pair: grade for pair, grade in human.items() if pair not in some}
    assert (quality.unparsed, quality.pairs) == (len(some), len(rest))
    assert quality.kappas == quality_of("m", rest, model, best=3).kappas


def test_people_are_compared_with_each_other_and_weak_labels_with_nobody(tmp_path):
    project = new_project(tmp_path / "judging")
    label_all(project)
    label_all(project, judge="bob", queries=3, grade=lambda item: max(0, true_grade(item) - 1))
    project.add_label("q5", "d5-0", None, "bob")
    report = agreement(project)
    assert report.humans.judges == {"ann": QUERIES * ITEMS, "bob": 3 * ITEMS}
    assert (report.humans.doubly, report.models) == (3 * ITEMS, ())
    assert list(report.humans.kappas) == [("ann", "bob")]
    assert 0 < report.humans.alphas["ordinal"].value < 1
    project.add_labels([Label("q0", "d0-0", 3, "imported:clicks", "weak", "2026-01-31T12:00:00+00:00")])
    assert agreement(project).humans == report.humans
    assert agreement(project).notes == ("Left out, because clicks are no human judgments: 1 weak label.",)


def test_a_judge_is_found_by_the_part_of_its_name_that_is_clear():
    names = ["openai:m@http://h/v1", "openai:m@http://h/v1(temperature=1.0)", "cross:x torch 2", "file:g.txt 12ab34cd"]
    assert find_judge(names, "openai:m@http://h/v1") == names[0]
    assert find_judge(names, "cross:x(batch_size=4)") == names[2]
    assert find_judge(names, "./folder/g.txt") == names[3]
    with pytest.raises(AmbiguousNameError, match="several judges fit 'openai:m'"):
        find_judge(names, "openai:m")
    with pytest.raises(UnknownNameError, match="there is no judge 'overlap'"):
        find_judge(names, "overlap")
    with pytest.raises(InputError, match="no model judge has graded anything"):
        find_judge([], "overlap")


def test_the_commands_print_and_say_what_is_missing(own_folder, capsys):
    project = new_project(own_folder / "judging")
    assert main(["judge", "agreement"]) == 0
    out = capsys.readouterr().out
    assert "No pair was judged by two people" in out
    assert "No model judge has graded anything" in out
    label_all(project, queries=4)
    assert main(["judge", "grade", "--judge", "overlap(thresholds=0.01/0.1/0.9)"]) == 0
    assert f"graded {QUERIES * ITEMS} pairs of {QUERIES * ITEMS}" in capsys.readouterr().out
    assert main(["judge", "agreement", "--format", "json"]) == 0
    [model] = json.loads(capsys.readouterr().out)["models"]
    assert (model["pairs"], model["usable"]) == (4 * ITEMS, judge_quality(project, "overlap").usable)
    assert main(["judge", "agreement"]) == 0
    assert "Refused for correction." in capsys.readouterr().out
    assert main(["judge", "prompt"]) == 0
    assert "{passage}" in capsys.readouterr().out
    assert main(["judge", "prompt", "judging"]) == 0
    assert "| query number q0\n" in capsys.readouterr().out
    assert main(["judge", "grade", "--judge", "overlap", "--price", "cheap"]) == 2
    assert "the price 'cheap' is not one or two numbers" in capsys.readouterr().err


def test_a_judge_that_copies_people_is_usable_in_a_project(tmp_path):
    project = new_project(tmp_path / "judging")
    label_all(project)
    grade(project, lambda query, passage: int(passage[-1]))
    [report] = agreement(project).models
    assert report.usable
    assert report.kappas["plain"].value == 1
