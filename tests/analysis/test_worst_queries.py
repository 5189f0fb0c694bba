"""Test the worst queries: the gold items they miss and the items ranked above these, without the query itself."""

import numpy as np

from goldrank.analysis.worst_queries import worst_queries
from goldrank.data.collections import Collection, Document, Documents
from goldrank.hits import Gold
from goldrank.runs.evaluate import evaluate
from goldrank.tasks import task_of

SCORES = {("a", "b"): 3.0, ("a", "c"): 2.0, ("a", "d"): 1.0, ("b", "a"): 3.0, ("b", "c"): 1.0}


class Scored:
    identity = "scores written down"

    def score_pairs(self, queries, items):
        return np.array([9.0 if q == i else SCORES.get((q, i), 0.0) for q, i in zip(queries, items, strict=True)])


def test_the_query_is_neither_gold_nor_above_it_and_ranks_count_without_it():
    items = Documents([Document.plain(name, name) for name in "abcd"], "test")
    gold = Gold({"a": {"a": 1, "d": 1}, "b": {"a": 1}})
    result = evaluate(Scored(), task_of(Collection("test", items, items, gold.columns)))
    (worst,) = worst_queries(result.data, result.scores["mrr"], result.run, 1)
    assert (worst.id, worst.value) == ("a", 1 / 3)
    assert [(item.id, item.rank) for item in worst.gold] == [("d", 3)]
    assert [(item.id, item.rank) for item in worst.above] == [("b", 1), ("c", 2)]
