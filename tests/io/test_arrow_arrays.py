"""Strings and numbers read from Arrow arrays and their slices equal those that pyarrow reads."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.io.arrow_arrays import (
    find_string,
    numbers_from_arrow,
    numbers_to_arrow,
    strings_from_arrow,
    strings_to_arrow,
)

TEXTS = st.lists(st.text("abé\U0001f600 ", max_size=4), max_size=12)


@given(TEXTS, st.integers(0, 3))
def test_strings_round_trip_and_are_those_of_pyarrow(texts, first):
    array = strings_to_arrow(texts)
    array.validate(full=True)
    assert array.to_pylist() == texts
    assert strings_from_arrow(array.slice(first)) == texts[first:]
    assert strings_from_arrow(pyarrow.array(texts, pyarrow.string()).slice(first)) == texts[first:]


@given(TEXTS, st.text("abé", max_size=3), st.integers(0, 3))
def test_a_string_is_found_where_a_list_finds_it(texts, text, first):
    place = texts[first:].index(text) if text in texts[first:] else -1
    assert find_string(strings_to_arrow(texts).slice(first), text) == place


def test_strings_that_are_not_unicode_are_kept_as_bytes():
    texts = ["a\udc80", "é", ""]
    with pytest.raises(UnicodeEncodeError):
        strings_to_arrow(texts)
    array = strings_to_arrow(texts, surrogates=True)
    assert strings_from_arrow(array) == texts
    assert find_string(array, "a\udc80") == 0


@pytest.mark.parametrize("kind", ["bool", "int8", "int32", "int64", "uint8", "uint16", "float16", "float32", "float64"])
def test_numbers_round_trip_and_are_those_of_pyarrow(kind):
    values = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0], kind)
    array = numbers_to_arrow(values)
    assert array.equals(pyarrow.array(values))
    for part in (array, array.slice(3, 5)):
        numbers = numbers_from_arrow(part)
        assert numbers.dtype == values.dtype
        assert numbers.tolist() == part.to_pylist()
