"""Pair scorers: order, batches, checks, identity, and a tiny generated cross-encoder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.encoders import PairScorer, Spec
from goldrank.encoders.pair_scorers import PAIR_KINDS, load_pair_scorer
from goldrank.encoders.truncation import Truncation, count_truncated_pairs
from goldrank.errors import GoldrankError, InputError
from goldrank.runs.evaluate import evaluate

QUERIES = ["the cat", "a dog", "the cat", "", "sat on"]
ITEMS = ["the cat sat on the mat today", "the dog", "cat", "mat", "the cat sat on"]


def by_length(pairs):
    return [len(query) - len(item) for query, item in pairs]


def two_lists(queries, items):
    return np.array([float(len(query) - len(item)) for query, item in zip(queries, items, strict=True)])


@pytest.mark.parametrize("function", [by_length, two_lists, lambda pairs: np.array([by_length(pairs)]).T])
@pytest.mark.parametrize("size", [1, 2, 64])
def test_a_function_scores_pairs_in_their_order_whatever_the_batch(function, size):
    scorer = load_pair_scorer(function, batch_size=size)
    assert isinstance(scorer, PairScorer)
    expected = [len(query) - len(item) for query, item in zip(QUERIES, ITEMS, strict=True)]
    scores = scorer.score_pairs(QUERIES, ITEMS)
    assert scores.dtype == np.float64
    assert scores.tolist() == expected


def test_a_function_gets_no_more_pairs_than_the_batch_size():
    sizes = []
    load_pair_scorer(lambda pairs: [sizes.append(len(pairs)) or 1.0 for _ in pairs], batch_size=2).score_pairs(
        QUERIES, ITEMS
    )
    assert max(sizes) == 2


def test_a_second_argument_with_a_default_is_not_taken_for_the_items():
    assert load_pair_scorer(lambda pairs, scale=2.0: [scale] * len(pairs)).score_pairs(["a"], ["b"]).tolist() == [2.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda pairs: [1.0], r"scores of shape \(1,\) for 5 pairs"),
        (lambda pairs: np.ones((len(pairs), 2)), r"shape \(5, 2\)"),
        (lambda pairs: 1.0, r"shape \(\)"),
        (lambda pairs: [float("nan")] * len(pairs), "not finite"),
        (lambda pairs: [float("inf")] * len(pairs), "not finite"),
        (lambda pairs: ["x"] * len(pairs), "not a list of numbers"),
        (lambda pairs: [None] * len(pairs), "not finite|not a list of numbers"),
        (lambda pairs: 1 / 0, "failed: ZeroDivisionError"),
    ],
)
def test_what_a_function_gets_wrong_is_said(function, message):
    with pytest.raises(GoldrankError, match=message):
        load_pair_scorer(function).score_pairs(QUERIES, ITEMS)


@pytest.mark.parametrize("scorer", ["overlap", by_length])
def test_no_pairs_have_no_scores_and_what_is_no_pair_is_refused(scorer):
    loaded = load_pair_scorer(scorer)
    assert loaded.score_pairs([], []).shape == (0,)
    with pytest.raises(InputError, match="1 queries for 2 items"):
        loaded.score_pairs(["a"], ["b", "c"])
    with pytest.raises(InputError, match="text 0 is None"):
        loaded.score_pairs(["a"], [None])


WORDS = st.lists(st.sampled_from(["red", "wine", "game", "été", "東京"]), max_size=4)


@given(WORDS, WORDS)
def test_overlap_is_the_share_of_words_in_common(first, second):
    query, item = set(first), set(second)
    expected = len(query & item) / len(query | item) if query | item else 0.0
    scorer = load_pair_scorer("overlap")
    assert scorer.score_pairs([" ".join(first)], [", ".join(second).upper()])[0] == pytest.approx(expected)
    assert scorer.score_pairs([" ".join(second)], [" ".join(first)])[0] == pytest.approx(expected)


def test_the_tokens_of_overlap_can_be_chosen():
    assert load_pair_scorer("overlap").score_pairs(["a cat"], ["cat"])[0] == 1.0
    assert load_pair_scorer("overlap(tokens=runs)").score_pairs(["a cat"], ["cat"])[0] == 0.5
    assert load_pair_scorer("overlap(tokens=runs)").identity != load_pair_scorer("overlap").identity
    assert load_pair_scorer("overlap(batch_size=3)").identity == load_pair_scorer("overlap").identity


def test_a_module_beside_the_caller_can_be_named(tmp_path, monkeypatch):
    (tmp_path / "my_pairs_5.py").write_text("def score(pairs):\n    return [len(q + i) for q, i in pairs]\n")
    monkeypatch.chdir(tmp_path)
    assert load_pair_scorer("pairs:my_pairs_5:score").score_pairs(["a"], ["bc"]).tolist() == [3.0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("overlapp", "did you mean 'overlap'"),
        ("bm25", "no kind of pair scorer 'bm25'"),
        ("overlap:3", "no argument"),
        ("overlap(tokens=letters)", "tokens"),
        ("overlap(dim=3)", "no option of overlap 'dim'"),
        ("pairs:no_such_module_9:f", "pairs:no_such_module_9:f cannot be imported"),
        ("pairs", "write pairs:module:function"),
        ("cross", "needs a model"),
        (42, "a int is not a pair scorer"),
    ],
)
def test_a_bad_spec_is_one_clear_sentence(spec, message):
    with pytest.raises(InputError) as caught:
        load_pair_scorer(spec)
    assert message in str(caught.value)


def test_loading_what_is_loaded_gives_it_back_but_takes_no_options():
    scorer = load_pair_scorer("overlap")
    assert load_pair_scorer(scorer) is scorer
    with pytest.raises(InputError, match="already loaded"):
        load_pair_scorer(scorer, batch_size=2)


def test_every_kind_says_what_it_is_and_its_example_reads():
    for name, kind in PAIR_KINDS.items():
        assert Spec.parse(kind.example).kind == name
        assert kind.summary


def test_a_missing_package_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(GoldrankError, match=r"needs sentence-transformers.*pip install 'goldrank\[st\]'"):
        load_pair_scorer("cross:some/model")


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "dog", "sat", "on", "mat", "today"]


def save_cross_encoder(folder, labels):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("sentence_transformers")
    words = {word: at for at, word in enumerate(VOCABULARY)}
    core = tokenizers.Tokenizer(tokenizers.models.WordPiece(words, unk_token="[UNK]"))
    core.normalizer = tokenizers.normalizers.BertNormalizer()
    core.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    core.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=32, **special)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, initializer_range=0.5, num_labels=labels,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny_cross(tmp_path_factory):
    return save_cross_encoder(tmp_path_factory.mktemp("cross"), 1)


def cross(folder, **options):
    return load_pair_scorer(f"cross:{folder}", device="cpu", **options)


@pytest.mark.heavy
def test_a_cross_encoder_gives_the_logits_of_its_model(tiny_cross):
    import torch
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(tiny_cross).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_cross)
    with torch.no_grad():
        expected = [
            float(model(**tokenizer(query, item, return_tensors="pt")).logits)
            for query, item in zip(QUERIES, ITEMS, strict=True)
        ]
    scores = cross(tiny_cross).score_pairs(QUERIES, ITEMS)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert len(set(scores.round(4).tolist())) == len(ITEMS)


@pytest.mark.heavy
def test_a_cross_encoder_keeps_order_whatever_the_batch_size(tiny_cross):
    scores = cross(tiny_cross, batch_size=3).score_pairs(QUERIES, ITEMS)
    np.testing.assert_allclose(cross(tiny_cross, batch_size=1).score_pairs(QUERIES, ITEMS), scores, atol=1e-5)
    reversed_scores = cross(tiny_cross).score_pairs(QUERIES[::-1], ITEMS[::-1])
    np.testing.assert_allclose(reversed_scores, scores[::-1], atol=1e-5)


@pytest.mark.heavy
def test_length_and_dtype_of_a_cross_encoder_are_honoured_and_in_its_identity(tiny_cross):
    plain, short = cross(tiny_cross), cross(tiny_cross, max_length=7)
    pairs = ["the cat", "the cat"], ["dog mat sat on", "dog mat a cat"]
    assert np.ptp(short.score_pairs(*pairs)) == pytest.approx(0.0, abs=1e-5)
    assert np.ptp(plain.score_pairs(*pairs)) > 0.01
    assert cross(tiny_cross, batch_size=2).identity == plain.identity
    half = cross(tiny_cross, dtype="float16")
    assert len({plain.identity, short.identity, half.identity}) == 3
    np.testing.assert_allclose(half.score_pairs(QUERIES, ITEMS), plain.score_pairs(QUERIES, ITEMS), atol=0.02)
    assert plain.identity.split()[-1] != "unknown"


@pytest.mark.heavy
def test_a_cross_encoder_counts_the_pairs_that_it_truncates(tiny_cross, tmp_path, monkeypatch):
    short = cross(tiny_cross, max_length=7)
    queries, items = ["the cat", "a"], ["dog mat", "dog mat sat", "dog mat sat on the mat"]
    every = np.arange(3)
    counted = count_truncated_pairs(short, queries, items, [(0, every), (1, every[1:])])
    # With three special tokens: 7, 8, 11 for the first query, and 7, 10 for the second.
    assert counted == Truncation(texts=5, truncated=3, tokens=8 + 11 + 10, lost=1 + 4 + 3, limit=7)
    assert cross(tiny_cross).token_limit == 32
    assert count_truncated_pairs(load_pair_scorer("overlap"), queries, items, [(0, every)]) == Truncation()
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    spec = f"cross:{tiny_cross}(max_length=7,device=cpu)"
    (warning,) = evaluate("bm25", "questions", limit=2, rerank=spec, rerank_depth=3).warnings
    assert "6 of 6 pairs of a query and an item are longer than the 7 tokens" in warning.message


@pytest.mark.heavy
def test_a_classifier_and_a_folder_without_a_model_are_refused(tmp_path):
    folder = save_cross_encoder(tmp_path / "classes", 3)
    with pytest.raises(InputError, match="is a classifier of 3 classes"):
        cross(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="could not be loaded"):
        cross(tmp_path / "empty")
