"""The edit distance, compiled and in Python: both are that of the plain method."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.native import fallback
from native.cases import compiled


def plain_distance(one, other):
    row = list(range(len(other) + 1))
    for at, character in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, rival in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (character != rival))
    return row[-1]


BOTH = [fallback.edit_distance] + ([compiled.edit_distance] if compiled is not None else [])


@pytest.mark.parametrize("distance", BOTH)
@given(st.text("abcé\u4e2d\U0001f600", max_size=12), st.text("abcé\u4e2d\U0001f600", max_size=12))
def test_the_distance_is_that_of_the_plain_method(distance, one, other):
    assert distance(one, other) == plain_distance(one, other)


@pytest.mark.parametrize("distance", BOTH)
def test_the_distance_holds_for_texts_longer_than_a_word_of_the_processor(distance):
    one, other = "abc" * 60, "acb" * 55 + "x"
    assert distance(one, other) == plain_distance(one, other)


@pytest.mark.parametrize("distance", BOTH)
def test_half_a_surrogate_pair_is_a_character_like_any_other(distance):
    assert distance("half \ud83d", "half ") == 1
