"""Test that `count_mapping_hits` equals `count_trec_hits`, and reports the first entry that it cannot use."""

from __future__ import annotations

from collections import ChainMap, OrderedDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.cases import all_hits, golds, hits, hits_by_definition, ids, implementations, needs_compiled, queries
from profiles import examples

fallback, compiled, both_implementations = implementations("hit_counting")

numbers = st.one_of(
    st.integers(0, 3).map(float),
    st.floats(-1e300, 1e300),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.sampled_from([np.float32(0.1), np.float64(0.1), np.int64(2), Decimal("0.1"), Fraction(1, 3)]),
)
unusable = st.sampled_from(
    [None, "1", b"1", np.str_("1"), [1], 1j, float("nan"), -float("inf"), 10**400, np.float32("inf")]
)
containers = st.sampled_from([dict, OrderedDict, MappingProxyType, ChainMap])


def rankings(values, keys=ids):
    entries = st.dictionaries(keys, values, max_size=12)
    return st.builds(lambda container, entry: container(entry), containers, entries)


@both_implementations
@given(
    run=st.dictionaries(queries, rankings(numbers), max_size=5),
    gold=golds,
    float32=st.booleans(),
    drop_self=st.booleans(),
)
@examples(1.5)
def test_counts_are_those_of_the_definition(module: ModuleType, run, gold, float32, drop_self):
    plain = {query: {item: float(score) for item, score in ranking.items()} for query, ranking in run.items()}
    expected = hits_by_definition(plain, gold, float32, drop_self)
    assert hits(module.count_mapping_hits, run, gold, float32=float32, drop_self=drop_self) == expected


@needs_compiled
@given(
    st.dictionaries(
        st.one_of(queries, queries, st.sampled_from([1, None, ("q" * 100,)])),
        st.one_of(
            rankings(numbers),
            rankings(st.one_of(numbers, numbers, unusable)),
            rankings(numbers, keys=st.one_of(ids, ids, st.integers(0, 3), st.binary(max_size=2))),
            st.sampled_from([None, [], "x"]),
        ),
        max_size=5,
    ),
    golds,
    st.booleans(),
)
@examples(2)
def test_compiled_and_python_agree(run, gold, drop_self):
    expected = all_hits(fallback.count_mapping_hits, run, gold, drop_self=drop_self)
    assert all_hits(compiled.count_mapping_hits, run, gold, drop_self=drop_self) == expected


@needs_compiled
@pytest.mark.parametrize("levels", [1, 7, 1000])
@pytest.mark.parametrize("in_order", [True, False])
def test_long_lists_agree_however_the_ranks_are_found(levels, in_order):
    rng = np.random.default_rng(levels)
    values = rng.integers(0, levels, 500).astype(float)
    values = np.sort(values)[::-1] if in_order else values
    ranking = dict(zip((f"d{n}" for n in rng.permutation(500)), values.tolist(), strict=True))
    for judged in (5, 300):
        gold = {"q": [f"d{n}" for n in range(judged)]}
        expected = all_hits(fallback.count_mapping_hits, {"q": ranking}, gold)
        assert all_hits(compiled.count_mapping_hits, {"q": ranking}, gold) == expected


@both_implementations
@pytest.mark.parametrize(
    ("run", "fault"),
    [
        ({("x" * 100,): {}}, ("query_type", "('" + "x" * 78)),
        ({"q": {3: 1.0}}, ("item_type", "q", "3")),
        ({"q": [1.0]}, ("mapping_type", "q", "list")),
        ({"p": {"a": 1.0}, "q": {"a": "1"}}, ("score_type", "q", "a", "str")),
        ({"q": {"a": np.str_("1")}}, ("score_type", "q", "a", "str_")),
        ({"q": {"a": memoryview(b"1")}}, ("score_type", "q", "a", "memoryview")),
        ({"q": {"a": 1.0, "b": float("nan"), "c": None}}, ("nonfinite", "q", "b")),
        ({"unjudged": {"a": -(10**400)}}, ("nonfinite", "unjudged", "a")),
    ],
)
def test_the_first_unusable_entry_is_named(module: ModuleType, run, fault):
    kind, *details = fault
    assert hits(module.count_mapping_hits, run, {"q": ["a"]}) == ("fault", 0, kind, tuple(details))


@both_implementations
def test_a_run_that_is_no_mapping_is_a_type_error(module: ModuleType):
    assert hits(module.count_mapping_hits, [("q", {})], {}) == ("error", TypeError, "a run must be a mapping, not list")


@both_implementations
def test_asking_for_an_absent_item_adds_nothing_to_a_defaultdict(module: ModuleType):
    ranking = defaultdict(float, a=1.0)
    hits(module.count_mapping_hits, defaultdict(dict, q=ranking), {"q": ["absent"], "p": ["a"]})
    assert ranking == {"a": 1.0}


@both_implementations
def test_ids_no_encoding_can_write_are_compared_by_code_point(module: ModuleType):
    run = {"q": {"\ud800": 1.0, "z": 1.0, "\U00010000": 1.0}}
    assert hits(module.count_mapping_hits, run, {"q": ["\ud800"]})[1] == [[0], [2], [1], [0]]


@both_implementations
def test_a_score_that_changes_its_mapping_while_it_is_read_is_harmless(module: ModuleType):
    ranking: dict[str, object] = {}
    run = {"q": ranking, "p": {"a": 1.0}}

    class Vandal:
        def __float__(self) -> float:
            ranking.clear()
            run.clear()
            return 2.0

    ranking.update({"a": Vandal(), "b": 3.0, "c": Vandal()})
    result = hits(module.count_mapping_hits, run, {"q": ["a"], "p": ["a"]})
    assert result == ((0, 0, 4), [[1, 0], [1, 0], [1, 0], [0, 0]], [3, 1])


@both_implementations
def test_an_error_of_the_score_itself_is_passed_on(module: ModuleType):
    class Broken:
        def __float__(self) -> float:
            raise LookupError("lost")

    assert hits(module.count_mapping_hits, {"q": {"a": Broken()}}, {}) == ("error", LookupError, "lost")


@needs_compiled
def test_a_query_whose_hash_changes_its_results_is_harmless():
    plain = {f"d{number}": float(number) for number in range(100)}
    ranking: dict[str, float] = {}

    class Vandal(str):
        __slots__ = ()

        def __hash__(self) -> int:
            ranking.clear()
            return str.__hash__(self)

        __eq__ = str.__eq__

    run = {Vandal("q"): ranking}
    ranking.update(plain)
    expected = hits(compiled.count_mapping_hits, {"q": plain}, {"q": ["d5"]}, drop_self=True)
    assert hits(compiled.count_mapping_hits, run, {"q": ["d5"]}, drop_self=True) == expected
