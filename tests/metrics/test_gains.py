"""Test custom gains of grades: their values, their notation and invalid input."""

import math

import pytest

import goldrank as gr

GOLD = {"q": {"a": 1, "b": 2, "c": 0, "pooled": -1}}
RUN = {"q": {"c": 4.0, "pooled": 3.0, "b": 2.0, "a": 1.0}}


def dcg(*gains):
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


@pytest.mark.parametrize(
    ("metric", "gained", "ideal"),
    [
        ("ndcg(gains=1:3/2:5)", (0, 0, 5, 3), (5, 3)),
        ("ndcg(gains=2:0.5)", (0, 0, 0.5, 1), (1, 0.5)),
        ("ndcg(gains=0:2)", (2, 0, 2, 1), (2, 2, 1)),
        ("ndcg(gains=-1:1/1:0)", (0, 1, 2, 0), (2, 1)),
        ("ndcg(gain=exp,gains=1:0)@3", (0, 0, 3), (3,)),
        ("ndcg(gain=binary,gains=2:4)", (0, 0, 4, 1), (4, 1)),
    ],
)
def test_a_grade_gains_what_is_written_and_other_grades_what_gain_says(metric, gained, ideal):
    assert gr.score(GOLD, RUN, metric)[metric].value == pytest.approx(dcg(*gained) / dcg(*ideal))


def test_all_ways_to_write_gains_are_one_metric():
    written = ["ndcg(gains=0:0/1:1/2:3)@10", "nDCG(gains={0:0,1:1,2:3})@10", "ndcg(gains={2: 3, 1: 1.0, 0: 0})@10"]
    metric = gr.Metric.make("nDCG", 10, gains={0: 0, 1: 1, 2: 3})
    assert {str(gr.Metric.parse(text)) for text in written} == {str(metric)} == {written[0]}
    assert len(gr.score(GOLD, RUN, [*written, metric])) == 1


def test_a_metric_is_made_of_its_parts():
    assert str(gr.Metric.make("rbp", p=0.5)) == "rbp(p=0.5)"
    assert str(gr.Metric.make("IPrec", 0.1, rel=2)) == "iprec(rel=2.0)@0.1"
    with pytest.raises(gr.InputError, match="needs a cutoff"):
        gr.Metric.make("iprec")


@pytest.mark.parametrize("gains", ["", "1", "1:", "1:x", "1:2:3", "1:-1", "1:nan", "1:inf", "1:2/1:3", "1:2//2:3"])
def test_gains_that_do_not_read_are_refused_with_the_form(gains):
    with pytest.raises(gr.InputError, match="grade:gain"):
        gr.Metric.parse(f"ndcg(gains={gains})")
