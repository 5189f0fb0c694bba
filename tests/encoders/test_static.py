"""Static token embeddings: token ids equal those of the tokenizer, and means those of the package, bit for bit."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import wordllama
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers

from goldrank.encoders import load, subwords
from goldrank.encoders.pooling import sum_rows
from goldrank.encoders.subwords import SubwordIds

PIECES = ["a", "the", "ing", "'s", " ", "  ", "▁", "<s>", "</s>", "<unk>", "<0x41>", "<", "s>", "\n", "\t", "\u00a0",
          "\u3000", "\0", "é", "e\u0301", "日本", "🎉", "².", "()", "_x", "7", ".", "\ufffd"]  # fmt: skip
TEXTS = [
    "", " ", "   ", "a", " a", "a ", " a b ", "a  b", "a   b  ", "▁", "▁ a", "a ▁b", "a▁ b", "x <s> y", "</s>a b",
    "日本語 テキスト", "🎉 🎉🎉", "a\nb c", "the cat sat, the cat ran", "the cat sat, the cat ran", "x" * 700 + " y",
    "long " * 300,
]  # fmt: skip


@pytest.fixture(scope="module")
def package():
    """The model as loaded by its own package."""
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


@pytest.fixture(scope="module")
def tokenizer(package):
    copy = Tokenizer.from_str(package.tokenizer.to_str())
    copy.no_padding()
    return copy


@pytest.fixture(scope="module")
def by_pieces(tokenizer):
    return SubwordIds(tokenizer)


def ids_of(subword_ids, texts):
    ids, counts = subword_ids.encode(texts)
    ends = np.cumsum(counts).tolist()
    return [ids[start:end].tolist() for start, end in pairwise([0, *ends])]


def expected(tokenizer, texts):
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


def test_words_and_punctuation_are_looked_up_for_the_tokenizer_of_wordllama(by_pieces):
    ids_of(by_pieces, ["the cat, the hat", "(hat)"])
    assert {" the", " cat", ",", " hat", "hat", ")"} <= set(by_pieces._known)


@given(texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=4))
def test_ids_by_pieces_are_those_of_the_whole_text(texts, by_pieces, tokenizer):
    assert ids_of(by_pieces, texts) == expected(tokenizer, texts)


@given(text=st.text())
def test_any_text_has_the_ids_of_the_tokenizer(text, by_pieces, tokenizer):
    text = text.encode("utf-8", "replace").decode()
    assert ids_of(by_pieces, [text]) == expected(tokenizer, [text])


def test_forgetting_the_pieces_changes_no_id(tokenizer, monkeypatch):
    monkeypatch.setattr(subwords, "_MOST_CHARACTERS", 5)
    forgetful = SubwordIds(tokenizer)
    assert ids_of(forgetful, TEXTS) == ids_of(forgetful, TEXTS) == expected(tokenizer, TEXTS)
    assert not forgetful._known


@pytest.mark.parametrize(
    "change", ["token across words", "bytes in merges", "unknown characters", "no space before the text"]
)
def test_ids_are_those_of_any_tokenizer(change):
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = ["<unk>", *byte_tokens, "▁", "a", "b", "▁a", "▁b"]
    merges = [("▁", "a"), ("▁", "b")]
    if change == "token across words":
        tokens, merges = [*tokens, "a▁", "a▁b"], [("a", "▁"), ("a▁", "b"), *merges]
    if change == "bytes in merges":
        tokens, merges = [*tokens, "<0x63>a", "b<0x63>a"], [("<0x63>", "a"), ("b", "<0x63>a"), *merges]
    if change == "unknown characters":
        tokens = [token for token in tokens if token not in byte_tokens]
    vocabulary = {token: token_id for token_id, token in enumerate(tokens)}
    fallback = change != "unknown characters"
    model = models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=fallback)
    joining = Tokenizer(model)
    steps = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    joining.normalizer = normalizers.Sequence(steps[change == "no space before the text" :])
    texts = ["a b", "a  b a", "é é", "b a b ", "", "ca bca ac", "abc"]
    assert ids_of(SubwordIds(joining), texts) == expected(joining, texts)


def test_vectors_are_those_of_the_package_to_the_bit(package):
    # One batch, padded to its longest text by the package.
    peer = package.embed(TEXTS, norm=False, batch_size=len(TEXTS))
    vectors = load("wordllama(normalize=false)").encode_items(TEXTS)
    assert vectors.dtype == peer.dtype == np.float32
    np.testing.assert_array_equal(vectors.view(np.int32), peer.view(np.int32))


def test_equal_texts_have_equal_vectors_in_any_company():
    encoder = load("wordllama")
    one_by_one = np.vstack([encoder.encode_items([text]) for text in TEXTS])
    np.testing.assert_array_equal(encoder.encode_items(TEXTS).view(np.int32), one_by_one.view(np.int32))


def test_sums_of_rows_are_added_in_order():
    rng = np.random.default_rng(3)
    table = (rng.standard_normal((50, 7)) * 10.0 ** rng.integers(-6, 6, (50, 7))).astype(np.float32)
    counts = np.array([0, 1, 40, 2, 0, 9, 300, 0])
    rows = rng.integers(0, 50, counts.sum())
    ends = np.cumsum(counts).tolist()
    for summed, start, end in zip(sum_rows(table, rows, counts), [0, *ends], ends, strict=False):
        one_by_one = np.zeros(7, np.float32)
        for row in rows[start:end]:
            one_by_one += table[row]
        np.testing.assert_array_equal(summed, one_by_one)
