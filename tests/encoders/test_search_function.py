"""Search functions: the results that they may return, results that are refused, and functions that fail."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.encoders import Searcher, load, searcher
from goldrank.encoders.base import can_resume, is_live
from goldrank.encoders.rankings import as_ranking
from goldrank.errors import GoldrankError, InputError


def answers(results):
    return searcher(lambda query, k: results)


def by_length(query, k):
    return [f"d{len(query)}", "d1"]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (["b", "a"], [("b", 3.0), ("a", 2.0)]),
        ((7, "a", np.int64(9), "z"), [("7", 3.0), ("a", 2.0), ("9", 1.0)]),
        (np.array(["b", "a"]), [("b", 3.0), ("a", 2.0)]),
        ([("a", 1), ("b", 2.5)], [("b", 2.5), ("a", 1.0)]),
        ([["a", 1], ["b", 1], ["c", 1], ["d", 0]], [("c", 1.0), ("b", 1.0), ("a", 1.0)]),
        ([("a", 0.1)] * 0 + [("a", np.float32(0.5)), ("b", np.array(0.75))], [("b", 0.75), ("a", 0.5)]),
        ({"a": -1.0, 5: 2}, [("5", 2.0), ("a", -1.0)]),
        ([], []),
        ({}, []),
    ],
)
def test_ids_in_order_pairs_and_dicts_become_rankings(results, expected):
    assert list(answers(results).search(["q"], ["text"], 3)["q"].items()) == expected


def test_generators_are_read_as_far_as_needed():
    model = searcher(lambda query, k: (f"d{number}" for number in itertools.count()))
    assert model.search(["q"], ["x"], 2)["q"] == {"d0": 2.0, "d1": 1.0}
    model = searcher(lambda query, k: ((f"d{number}", number) for number in range(5)))
    assert model.search(["q"], ["x"], 2)["q"] == {"d4": 4.0, "d3": 3.0}


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.integers(-3, 3), max_size=8),
       st.integers(1, 9), st.randoms())  # fmt: skip
def test_pairs_in_any_order_and_a_dict_give_the_same_best_k(scores, k, random):
    pairs = list(scores.items())
    random.shuffle(pairs)
    ranking = as_ranking(scores, k, "here")
    assert list(as_ranking(pairs, k, "here").items()) == list(ranking.items())
    assert len(ranking) == min(k, len(scores))
    left = set(scores) - set(ranking)
    worst = min(((score, item) for item, score in ranking.items()), default=None)
    assert all((scores[item], item) < worst for item in left)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (None, "None is not a ranking"),
        ("abc", "'abc' is not a ranking"),
        (3, "3 is not a ranking"),
        ({"a", "b"}, "is not a ranking"),
        (["a", "a"], "the item 'a' was found twice"),
        ([("a", 1), ("a", 2)], "the item 'a' was found twice"),
        ({"1": 2.0, 1: 3.0}, "the item '1' was found twice"),
        (["a", None], "result 2: the item id is missing"),
        (["a", 1.5], "result 2: the item id 1.5 is of type float"),
        (["a", True], "result 2: the item id True is of type bool"),
        (["a", ""], "result 2: the item id is empty"),
        ([("a", float("nan"))], "result 1: the score 'nan' is not a finite number"),
        ([("a", 1), ("b", float("inf"))], "result 2: the score 'inf' is not a finite number"),
        ([("a", "high")], "result 1: the score 'high' is of type str"),
        ([("a", None)], "result 1: the score is missing"),
        ([("a", 1), "b"], "result 2: 'b' is not an (id, score) pair"),
        ([("a", 1, 2)], "the item id ('a', 1, 2) is of type tuple"),
    ],
)
def test_what_is_no_ranking_is_refused_with_the_query_and_the_place(results, message):
    with pytest.raises(InputError) as caught:
        answers(results).search(["q7"], ["text"], 3)
    assert "query 'q7'" in str(caught.value)
    assert message in str(caught.value)


def test_a_failing_function_is_named_with_the_query():
    def breaks(query, k):
        return [round(1 / (len(query) - 2))]

    with pytest.raises(GoldrankError, match=r"search:.*breaks: query 'q2': the function failed: ZeroDivisionError"):
        searcher(breaks).search(["q1", "q2"], ["x", "xx"], 3)

    def halfway(query, k):
        yield "a"
        raise RuntimeError("gone")

    with pytest.raises(GoldrankError, match="query 'q1': the function failed: RuntimeError: gone"):
        searcher(halfway).search(["q1"], ["x"], 3)


def test_text_k_and_id_reach_a_function_that_takes_them():
    calls = []

    def three(query_text, k, query_id):
        calls.append((query_text, k, query_id))
        return ["a"]

    def with_default(query, k, timeout=5):
        assert timeout == 5
        return ["a"]

    def named_so(query, k, query_id=None):
        calls.append((query, k, query_id))
        return ["a"]

    for function in (three, with_default, named_so):
        searcher(function).search(["q1"], ["some text"], 4)
    assert calls == [("some text", 4, "q1")] * 2


def test_items_that_are_not_in_the_corpus_are_counted_and_a_foreign_corpus_is_refused():
    model = answers(["a", "b", "x"])
    model.index(["a", "b", "c"], ["", "", ""])
    model.search(["q"], ["t"], 5)
    assert model.unknown == {"x"}
    other = answers(["x", "y"])
    other.index(["a"], [""])
    with pytest.raises(InputError, match="none of the 2 ranked ids is an item"):
        other.search(["q"], ["t"], 5)


def test_a_module_beside_the_caller_can_be_named(tmp_path, monkeypatch):
    (tmp_path / "my_search_3.py").write_text("def find(query, k):\n    return [query.upper()]\n")
    monkeypatch.chdir(tmp_path)
    model = load("search:my_search_3:find")
    assert isinstance(model, Searcher)
    assert model.search(["q"], ["abc"], 2)["q"] == {"ABC": 2.0}
    assert model.identity == load("search:my_search_3:find").identity
    for wrong in ("search:my_search_3:nothing", "search:no_such_module_3:f", "search:my_search_3", "search"):
        with pytest.raises(InputError, match=r"^search:.*(cannot be imported|names no function)"):
            load(wrong)


def test_a_search_function_is_live_and_only_one_with_a_name_can_be_resumed(tmp_path, monkeypatch):
    assert is_live(searcher(by_length))
    assert not can_resume(searcher(by_length))
    (tmp_path / "my_search_4.py").write_text("def find(query, k):\n    return [query]\n")
    monkeypatch.chdir(tmp_path)
    model = load("search:my_search_4:find")
    assert is_live(model)
    assert can_resume(model)


def test_bad_questions_are_refused():
    model = answers(["a"])
    with pytest.raises(InputError, match="k=0"):
        model.search(["q"], ["t"], 0)
    with pytest.raises(InputError, match="is given to two texts"):
        model.search(["q", "q"], ["t", "t"], 1)
    with pytest.raises(InputError, match="text 0 is None"):
        model.search(["q"], [None], 1)
    assert model.search([], [], 1).to_dict() == {}


def test_a_fusion_is_not_loaded_as_one_model():
    with pytest.raises(InputError, match="is a fusion of runs, not one model"):
        load("fuse:rrf(bm25,wordllama)")
