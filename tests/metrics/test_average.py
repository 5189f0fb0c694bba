"""Test that pooled metrics are averaged over all gold items (micro) or over queries (macro)."""

import math

import numpy as np
import pytest

from goldrank import Gold, Run, score

GOLD = Gold({"q1": {"a": 1, "b": 1, "c": 1}, "q2": {"d": 1}, "q3": {"e": 0}})
RUN = Run({"q1": {"a": 0.9, "x": 0.5, "y": 0.4}, "q2": {"d": 0.9}, "q3": {"e": 1.0}})


def test_every_gold_item_counts_the_same_by_default_and_every_query_on_request():
    scores = score(GOLD, RUN, ["hits@1", "hits(average=queries)@1"])
    assert scores["hits@1"].mean == pytest.approx(2 / 4)
    assert scores["hits(average=queries)@1"].mean == pytest.approx((1 / 3 + 1) / 2)


def test_a_query_without_relevant_gold_counts_in_neither():
    score_of = score(GOLD, RUN, ["hits(average=queries)@1"])["hits(average=queries)@1"]
    assert math.isnan(score_of.per_query["q3"])
    assert score_of.weights is None


def test_the_reciprocal_ranks_of_all_gold_are_averaged_likewise():
    run = Run({"q1": {"a": 0.9, "x": 0.5, "b": 0.4}, "q2": {"y": 1.0, "d": 0.9}})
    scores = score(GOLD, run, ["mrr(of=all)", "mrr(of=all,average=queries)"])
    assert scores["mrr(of=all)"].mean == pytest.approx((1 + 1 / 3 + 0 + 1 / 2) / 4)
    assert scores["mrr(of=all,average=queries)"].mean == pytest.approx(np.mean([(1 + 1 / 3) / 3, 1 / 2]))
