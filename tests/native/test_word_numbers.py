"""Both implementations split texts as the regular expression does, and number the words by first occurrence."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.cases import implementations, needs_compiled

_, compiled, both_implementations = implementations("word_numbers")
ASCII = ["a", "Ab", "red", "RED", "x_1", "_", "7", "42", " ", "\t\n", "-", "'", "\x00", "\x7f"]
OTHERS = ["é", "É", "ß", "İ", "ΑΣ", "Σ", "日本", "𝄞", "𐐀", "²", "½", "Ⅷ", "\u0301", "\u00a0", "\u200d", "\ufffd", "ǅ"]
built = st.sampled_from([ASCII, ASCII + OTHERS]).flatmap(
    lambda pieces: st.lists(st.sampled_from(pieces), max_size=12).map("".join)
)


@both_implementations
@given(st.lists(st.one_of(built, st.text()), max_size=12), st.integers(1, 3))
def test_words_are_those_of_the_regular_expression_in_their_order(module, texts, least):
    numbers, lengths, words = module.number_words(texts, least)
    split = [re.findall(rf"\w{{{least},}}", text.lower()) for text in texts]
    assert [words[number] for number in np.frombuffer(numbers, np.int32)] == [word for each in split for word in each]
    assert np.frombuffer(lengths, np.int64).tolist() == [len(each) for each in split]
    assert words == list(dict.fromkeys(word for each in split for word in each))


@both_implementations
def test_many_words_keep_their_numbers_while_the_table_grows(module):
    texts = [f"w{row} long_word_{row * 7 % 5000} w{row} long_word_{row}" for row in range(5000)]
    numbers, _, words = module.number_words(texts, 2)
    assert [words[number] for number in np.frombuffer(numbers, np.int32)] == " ".join(texts).split()
    assert len(words) == 10_000


@needs_compiled
@pytest.mark.parametrize("arguments", [(["a", 1], 2), (("a",), 2), (["a"], 0), (["a"],)])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises((TypeError, ValueError)):
        compiled.number_words(*arguments)
