"""Test the diversity metrics: their values, and the gold they reject or remark on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from profiles import examples

FAMILY = ["alpha_ndcg@5", "alpha_dcg@5", "err_ia@5", "nerr_ia@5", "nrbp", "nnrbp", "map_ia", "precision_ia@5",
          "subtopic_recall@5"]  # fmt: skip
GRADES = st.dictionaries(st.sampled_from(["1", "2", "3"]), st.integers(0, 2), min_size=1)
GOLD = st.dictionaries(st.sampled_from("abcdef"), GRADES, min_size=1)


def ranked(items):
    return {"q": {item: float(-place) for place, item in enumerate(items)}}


@given(GOLD, st.permutations("abcdef"))
@examples(0.6)
def test_every_value_is_a_share(gold, order):
    scores = gr.score({"q": gold}, ranked(order), FAMILY)
    # The ideal of α-nDCG is greedy, so a better ranking may exceed it by a hair; the other bounds are strict.
    for name, score in scores.items():
        assert 0 <= score.value <= (1.2 if name.startswith(("alpha_ndcg", "nerr", "nnrbp")) else 1 + 1e-12)


@given(GOLD, st.permutations("abcdef"), st.integers(0, 5))
@examples(0.6)
def test_moving_a_relevant_result_above_an_irrelevant_one_never_hurts(gold, order, place):
    relevant = {item for item, grades in gold.items() if max(grades.values()) > 0}
    swapped = list(order)
    if place and order[place] in relevant and order[place - 1] not in relevant:
        swapped[place - 1], swapped[place] = order[place], order[place - 1]
    before, after = (gr.score({"q": gold}, ranked(items), FAMILY) for items in (order, swapped))
    for name in FAMILY:
        assert after[name].value >= before[name].value - 1e-12


def test_a_result_on_a_new_subtopic_beats_one_on_a_subtopic_seen_before():
    gold = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"2": 1}}}
    novel, redundant = (gr.score(gold, ranked(items), FAMILY) for items in ("acb", "abc"))
    for name in ("alpha_ndcg@5", "alpha_dcg@5", "err_ia@5", "nerr_ia@5", "nrbp", "nnrbp"):
        assert novel[name].value > redundant[name].value
    assert gr.score(gold, ranked("abc"), "subtopic_recall@2")["subtopic_recall@2"].mean == 0.5
    # Worked by hand: gains 1, 1/2 and 1 against the ideal 1, 1 and 1/2 at discounts 1, 1/log2(3) and 1/2.
    expected = (1 + 0.5 / math.log2(3) + 0.5) / (1 + 1 / math.log2(3) + 0.25)
    assert redundant["alpha_ndcg@5"].mean == pytest.approx(expected, abs=1e-12)


def test_the_ideal_ranking_takes_a_new_subtopic_before_two_that_were_seen():
    gold = {"q": {"a": {"1": 1, "2": 1}, "b": {"1": 1, "2": 1}, "c": {"3": 1}}}
    names = ["alpha_ndcg(alpha=0.75)@3", "nerr_ia(alpha=0.75)@3", "nnrbp(alpha=0.75)"]
    assert [score.value for score in gr.score(gold, ranked("acb"), names).values()] == pytest.approx([1, 1, 1])
    assert all(score.value < 0.99 for score in gr.score(gold, ranked("abc"), names).values())


def test_with_one_subtopic_and_no_penalty_the_family_is_the_plain_one():
    gold, run = {"q": {"a": {"1": 1}, "b": {"1": 1}, "c": {"1": 0}}}, ranked("cab")
    scores = gr.score(gold, run, ["alpha_ndcg(alpha=0)@3", "map_ia", "precision_ia@2", "ndcg@3", "map", "precision@2"])
    for family, plain in (("alpha_ndcg(alpha=0)@3", "ndcg@3"), ("map_ia", "map"), ("precision_ia@2", "precision@2")):
        assert scores[family].value == pytest.approx(scores[plain].value, abs=1e-12)


def test_the_relevance_level_and_the_tie_policy_are_those_that_were_asked_for():
    gold = {"q": {"a": {"1": 1, "2": 2}, "b": {"1": 2}}}
    assert gr.score(gold, ranked("a"), "subtopic_recall(rel=2)")["subtopic_recall(rel=2)"].mean == 0.5
    tied = {"q": {"a": 1.0, "x": 1.0}}
    values = {
        ties: gr.score(gold, tied, "subtopic_recall@1", ties=ties)["subtopic_recall@1"].mean
        for ties in ("docid", "input", "optimistic", "pessimistic")
    }
    assert values == {"docid": 0.0, "input": 1.0, "optimistic": 1.0, "pessimistic": 0.0}
    with pytest.raises(gr.InputError, match="alpha_ndcg has no closed form"):
        gr.score(gold, tied, "alpha_ndcg@5", ties="expected")


@pytest.mark.parametrize("metric", FAMILY)
def test_gold_without_subtopics_is_refused(metric):
    with pytest.raises(gr.InputError, match="need gold judged by subtopic, and this gold has no subtopics"):
        gr.score({"q": {"a": 1}}, ranked("a"), metric)


def test_a_plain_metric_reads_the_highest_grade_and_the_result_says_so():
    gold, flat = {"q": {"a": {"1": 1, "2": 3}, "b": {"1": 1}}}, {"q": {"a": 3, "b": 1}}
    scores = gr.score(gold, ranked("ba"), ["ndcg@5", "alpha_ndcg@5"])
    assert scores["ndcg@5"].mean == gr.score(flat, ranked("ba"), "ndcg@5")["ndcg@5"].mean
    assert scores.counts.flattened == 1
    assert gr.score(gold, ranked("ba"), "alpha_ndcg@5").counts.flattened == 0


def test_the_command_says_that_a_plain_metric_read_the_highest_grade(tmp_path, capsys):
    from goldrank.cli.main import main

    (tmp_path / "qrels").write_text("q 1 a 1\nq 2 a 2\nq 1 b 1\n")
    (tmp_path / "a.run").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\n")
    arguments = ["score", str(tmp_path / "qrels"), str(tmp_path / "a.run"), "-M", "alpha-nDCG@5"]
    assert main([*arguments, "-M", "ndcg@5"]) == 0
    note = "1 gold items judged for several subtopics (metrics without subtopics read the highest grade)"
    assert note in capsys.readouterr().out
    assert main(arguments) == 0
    assert "subtopics" not in capsys.readouterr().out
