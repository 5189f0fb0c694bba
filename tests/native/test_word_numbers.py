"""Test that both implementations split texts into the same words or pieces, and number them by first occurrence."""

from __future__ import annotations

import re
from itertools import pairwise

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
    assert [words[number] for number in np.frombuffer(numbers, np.int32)] == [
        word for tokens in split for word in tokens
    ]
    assert np.frombuffer(lengths, np.int64).tolist() == [len(tokens) for tokens in split]
    assert words == list(dict.fromkeys(word for tokens in split for word in tokens))


@both_implementations
def test_many_words_keep_their_numbers_while_the_table_grows(module):
    texts = [f"w{row} long_word_{row * 7 % 5000} w{row} long_word_{row}" for row in range(5000)]
    numbers, _, words = module.number_words(texts, 2)
    assert [words[number] for number in np.frombuffer(numbers, np.int32)] == " ".join(texts).split()
    assert len(words) == 10_000


@st.composite
def joined_pairs(draw):
    """Generate a table of byte pairs between which no text is cut: random pairs, and all that are not ASCII."""
    joined = np.ones((256, 256), bool)
    joined[:128, :128] = draw(st.booleans())
    for first, second in draw(st.sets(st.tuples(st.sampled_from(b"aAb_ -'\x00"), st.sampled_from(b"aAb_ -'\x00")))):
        joined[first, second] ^= True
    return joined.tobytes()


@both_implementations
@given(st.lists(st.one_of(built, st.text()), max_size=12), joined_pairs())
def test_texts_are_cut_where_neighbours_are_not_joined(module, texts, joined):
    numbers, lengths, pieces = module.number_pieces(texts, joined)
    cut = []
    for text in texts:
        values = text.encode("utf-8", "surrogatepass")
        parts = [values[:1]] if values else []
        for first, second in pairwise(values):
            if joined[256 * first + second]:
                parts[-1] += bytes([second])
            else:
                parts.append(bytes([second]))
        cut.append([part.decode("utf-8", "surrogatepass") for part in parts])
    assert [pieces[number] for number in np.frombuffer(numbers, np.int32)] == [
        piece for segments in cut for piece in segments
    ]
    assert np.frombuffer(lengths, np.int64).tolist() == [len(segments) for segments in cut]
    assert pieces == list(dict.fromkeys(piece for segments in cut for piece in segments))


@needs_compiled
@pytest.mark.parametrize("arguments", [(["a", 1], 2), (("a",), 2), (["a"], 0), (["a"],)])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises((TypeError, ValueError)):
        compiled.number_words(*arguments)


@needs_compiled
@pytest.mark.parametrize("arguments", [(["a", 1], bytes(1 << 16)), (["a"], bytes(99)), (["a"], 2), (["a"],)])
def test_wrong_arguments_of_pieces_are_refused(arguments):
    with pytest.raises((TypeError, ValueError)):
        compiled.number_pieces(*arguments)
