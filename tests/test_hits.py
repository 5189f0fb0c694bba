"""Test Gold and Run as mappings."""

from collections.abc import Mapping

import numpy as np
import pytest

import goldrank as gr
from goldrank.errors import InputError

ROWS = {"q1": {"d3": 2.0, "d1": 0.5}, "q2": {"d1": 1.0}, "q3": {}}


@pytest.fixture(params=["dict", "lists", "trec file", "json file"])
def run(request, tmp_path):
    """The same run from every kind of source that stores its rows in its own form."""
    if request.param == "dict":
        return gr.Run({query: dict(ranking) for query, ranking in ROWS.items() if ranking})
    if request.param == "lists":
        rows = [(query, item, value) for query, ranking in ROWS.items() for item, value in ranking.items()]
        return gr.Run.from_arrays(*zip(*rows, strict=True))
    path = tmp_path / ("bm25.run" if request.param == "trec file" else "run.json")
    gr.Run({query: ranking for query, ranking in ROWS.items() if ranking}).write(path)
    return gr.Run.read(path)


def test_gold_and_run_become_dicts_of_their_queries():
    assert dict(gr.Gold({"q1": {"d": 1}})) == {"q1": {"d": 1}}
    assert dict(gr.Run(ROWS)) == ROWS
    assert {**gr.Gold({"q1": ["d"]})} == {"q1": {"d": 1.0}}


def test_a_run_is_a_mapping_whatever_it_was_read_from(run):
    assert isinstance(run, Mapping)
    assert len(run) == 2
    assert list(run) == list(run.keys()) == ["q1", "q2"]
    assert run["q1"] == {"d3": 2.0, "d1": 0.5}
    assert run.get("q9") is None
    assert "q2" in run
    assert "q9" not in run
    assert dict(run.items()) == {"q1": {"d3": 2.0, "d1": 0.5}, "q2": {"d1": 1.0}}
    assert list(run.values()) == [{"d3": 2.0, "d1": 0.5}, {"d1": 1.0}]
    with pytest.raises(KeyError, match="q9"):
        run["q9"]


def test_a_query_is_looked_up_without_a_scan_of_the_others():
    class CountedQuery(str):
        comparisons = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            type(self).comparisons += 1
            return str.__eq__(self, other)

    gold = gr.Gold({f"q{n}": {"d": 1} for n in range(1000)})
    assert CountedQuery("q999") in gold
    assert gold[CountedQuery("q999")] == {"d": 1.0}
    assert CountedQuery("q1000") not in gold
    assert CountedQuery.comparisons < 10


def test_rows_equal_rows_of_the_same_kind_and_plain_mappings(run):
    plain = {query: ranking for query, ranking in ROWS.items() if ranking}
    assert run == gr.Run(plain) == plain
    assert plain == run
    assert run != gr.Run({"q1": {"d3": 2.0}})
    assert gr.Gold(plain) != run
    assert gr.Gold({"q1": {"d3": {"price": 1}}}) != gr.Gold({"q1": {"d3": 1}})


def test_gold_of_a_gold_keeps_its_subtopics_and_a_run_is_not_taken_for_gold():
    gold = gr.Gold({"q1": {"d3": {"price": 1, "taste": 2}}})
    assert gr.Gold(gold) == gold
    with pytest.raises(InputError, match="a Run was given where a Gold is needed"):
        gr.score(gr.Run({"q1": {"d3": 1.0}}), {"q1": {"d3": 1.0}}, "mrr")
    with pytest.raises(InputError, match="two runs or more"):
        gr.compare(gold, gr.Run(ROWS))


def test_equal_metrics_have_equal_hashes():
    written = ["ndcg@10", "map(denominator=hits)@10", "ndcg(ideal=retrieved,gains=1:3/2:7)@5"]
    metrics = [gr.Metric.parse(text) for text in written]
    again = [gr.Metric.parse(text) for text in (*written[:2], "ndcg(gains=1:3/2:7,ideal=retrieved)@5")]
    assert [*map(hash, metrics)] == [*map(hash, again)]
    assert {*metrics} == {*again}
    assert len({*metrics, gr.Metric.parse("ndcg@5")}) == 4


@pytest.mark.parametrize("others", [0, 100])
def test_a_run_of_positions_is_the_run_of_their_ids(others):
    ids = ["d0", "d1", "é", "d3"]
    results = [([3, 0, 2], [2.0, 2.0, -0.0]), ([], []), ([1], [1.5])]
    arrays = [(np.array(rows, np.int64), np.array(scores)) for rows, scores in results]
    run = gr.Run.from_positions(["q1", "q2", "q3"], [*ids, *map(str, range(others))], arrays, "a test")
    listed = {query: list(ranking.items()) for query, ranking in run.items()}
    assert listed == {"q1": [("d3", 2.0), ("d0", 2.0), ("é", -0.0)], "q2": [], "q3": [("d1", 1.5)]}
    assert gr.Run.from_positions([], ids, [], "a test").to_dict() == {}
    with pytest.raises(InputError, match="item 'd1'"):
        gr.Run.from_positions(["q1"], ids, [(np.array([0, 1]), np.array([1.0, np.nan]))], "a test")


def test_the_head_of_a_run_has_its_first_items_and_all_queries(run):
    assert run.head(1).to_dict() == {"q1": {"d3": 2.0}, "q2": {"d1": 1.0}}
    assert run.head(5) == run


def test_equal_scores_of_a_dict_of_dicts_keep_their_order_and_ids_of_two_types_do_not_merge():
    assert list(gr.Run({"q": {"b": 1.0, "a": 1.0}}).columns.items) == ["b", "a"]
    with pytest.raises(InputError, match="listed twice"):
        gr.Run({"q": {1: 0.5, "1": 0.25}})
    with pytest.raises(InputError, match="nan"):
        gr.Gold({"q": {"a": float("nan")}})
