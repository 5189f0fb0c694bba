"""Test that `count_column_hits` on columns equals `count_mapping_hits` on dicts of the same rows."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.cases import golds, hits, hits_by_definition, ids, implementations, queries

_, _, both_implementations = implementations("hit_counting")

runs = st.dictionaries(
    queries, st.dictionaries(ids, st.one_of(st.integers(0, 3).map(float), st.floats(-1e300, 1e300)), max_size=12)
)


def in_columns(module: ModuleType):
    def count(run, *gold):
        starts = np.cumsum([0, *map(len, run.values())])
        items = [item for ranking in run.values() for item in ranking]
        values = np.array([value for ranking in run.values() for value in ranking.values()], np.float64)
        return module.count_column_hits(list(run), starts, items, values, *gold)

    return count


@both_implementations
@given(run=runs, gold=golds, float32=st.booleans(), drop_self=st.booleans())
def test_counts_are_those_of_the_definition(module: ModuleType, run, gold, float32, drop_self):
    expected = hits_by_definition(run, gold, float32, drop_self)
    assert hits(in_columns(module), run, gold, float32=float32, drop_self=drop_self) == expected


@both_implementations
def test_a_score_that_is_not_finite_is_a_fault(module: ModuleType):
    assert hits(in_columns(module), {"q": {"d": float("nan")}}, {"q": ["d"]}) == hits(
        module.count_mapping_hits, {"q": {"d": float("nan")}}, {"q": ["d"]}
    )


@both_implementations
def test_columns_of_different_lengths_are_refused(module: ModuleType):
    gold = (["q"], np.array([0, 1]), ["d"], False, False, np.empty((4, 1), np.int64), np.empty(1, np.int64))
    with pytest.raises(ValueError, match=r"argument|length"):
        module.count_column_hits(["q"], np.array([0, 2]), ["d"], np.array([1.0, 2.0]), *gold)
