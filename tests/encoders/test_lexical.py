"""TF-IDF, LSA and BM25 against computations by hand."""

import importlib
import math
import random
import re
from collections import Counter

import numpy as np
import pytest

from goldrank.encoders import load
from goldrank.encoders.tokens import TOKENIZERS
from goldrank.errors import InputError

CORPUS = ["the cat the cat sat", "the dog sat", "the bird flew", "cat and dog and bird"]


def by_hand(text, corpus, vocabulary):
    size = len(corpus)
    counts = Counter(text.lower().split())
    row = []
    for word in vocabulary:
        frequency = sum(word in other.lower().split() for other in corpus)
        row.append((1 + math.log2(counts[word])) * math.log2(size / frequency) if counts[word] else 0.0)
    return row


def test_lfn_is_the_product_of_log_tf_and_idf():
    encoder = load("tfidf(smart=lfn)")
    encoder.fit(CORPUS)
    vocabulary = sorted({word for text in CORPUS for word in text.split()})
    rows = encoder.encode_items(CORPUS).toarray()
    np.testing.assert_allclose(rows, [by_hand(text, CORPUS, vocabulary) for text in CORPUS], rtol=1e-6)


def test_lfn_with_the_limits_of_the_thesis_drops_rare_and_common_words():
    rng = random.Random(5)
    words = [f"w{i}" for i in range(60)]
    corpus = [
        " ".join(["always", *rng.choices(words, k=15), *(["rare"] if i < 9 else ["kept"] if i < 19 else [])])
        for i in range(50)
    ]
    encoder = load("tfidf(preset=sdr)")
    encoder.fit(corpus)
    frequency = Counter(word for text in corpus for word in set(text.split()))
    vocabulary = sorted(word for word, count in frequency.items() if 10 <= count <= 40)
    assert "kept" in vocabulary
    assert not {"rare", "always"} & set(vocabulary)
    rows = encoder.encode_items(corpus).toarray()
    np.testing.assert_allclose(rows, [by_hand(text, corpus, vocabulary) for text in corpus], rtol=1e-5, atol=1e-6)


@pytest.mark.heavy
def test_lfn_is_what_gensim_makes():
    corpora = pytest.importorskip("gensim.corpora")
    models = pytest.importorskip("gensim.models")
    tokens = [text.split() for text in CORPUS]
    dictionary = corpora.Dictionary(tokens)
    theirs = models.TfidfModel([dictionary.doc2bow(t) for t in tokens], smartirs="lfn")
    encoder = load("tfidf(smart=lfn)")
    encoder.fit(CORPUS)
    names = sorted(dictionary.token2id)
    for text, row in zip(tokens, encoder.encode_items(CORPUS).toarray(), strict=True):
        expected = {dictionary[i]: weight for i, weight in theirs[dictionary.doc2bow(text)]}
        np.testing.assert_allclose(row, [expected.get(name, 0.0) for name in names], rtol=1e-6)


@pytest.mark.parametrize(("smart", "weight"), [("nnn", 2.0), ("bnn", 1.0), ("ann", 1.0), ("lnn", 2.0), ("npn", 0.0)])
def test_each_letter_weighs_as_it_should(smart, weight):
    encoder = load(f"tfidf(smart={smart})")
    encoder.fit(CORPUS)
    row = encoder.encode_items(CORPUS)[0].toarray().ravel()
    vocabulary = sorted({word for text in CORPUS for word in text.split()})
    assert row[vocabulary.index("cat")] == pytest.approx(weight)


def test_c_normalises_and_a_pair_of_triples_tells_queries_from_items():
    encoder = load("tfidf(smart=nnn.ltc)")
    encoder.fit(CORPUS)
    queries, items = encoder.encode_queries(CORPUS).toarray(), encoder.encode_items(CORPUS).toarray()
    np.testing.assert_allclose(np.linalg.norm(queries, axis=1), 1.0, rtol=1e-6)
    assert items.max() == 2.0


def test_rows_are_sparse_and_unseen_words_weigh_nothing():
    encoder = load("tfidf")
    encoder.fit(CORPUS)
    rows = encoder.encode_queries(["unseen words only", "cat"])
    assert rows.format == "csr"
    assert rows.dtype == np.float32
    assert rows[0].nnz == 0
    assert rows[1].nnz == 1


def test_tfidf_takes_punctuation_off_words_and_weighs_as_scikit_learn_does_with_sublinear_tf():
    texts = pytest.importorskip("sklearn.feature_extraction.text")
    corpus = ["The cat, the hat.", "A dog; the cat!", "Birds (two) fly", "a hat? a dog"]
    encoder = load("tfidf(base=e)")
    encoder.fit(corpus)
    theirs = texts.TfidfVectorizer(sublinear_tf=True, smooth_idf=False, norm=None)
    counts = theirs.fit_transform(corpus).toarray()
    # scikit-learn adds 1 to the idf, SMART's t does not.
    frequency = (counts > 0).sum(axis=0)
    weights = counts / (1 + np.log(len(corpus) / frequency)) * np.log(len(corpus) / frequency)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    np.testing.assert_allclose(encoder.encode_items(corpus).toarray(), weights, rtol=1e-6, atol=1e-7)


COUNTED = ["The cat, the HAT.", "", "a dog; the cat's mat", "naïve ΑΣ ας Σ", "x y z", "the the the hat",
           "ß 日本 日本 ²", "cat dog bird", "bird dog cat", " ?! "]  # fmt: skip


@pytest.mark.parametrize("tokens", list(TOKENIZERS))
@pytest.mark.parametrize(
    "limits",
    [{}, {"ngrams": "1-3"}, {"ngrams": "2"}, {"min_df": "2"}, {"max_df": "0.3"}, {"max_features": "3"},
     {"ngrams": "1-2", "min_df": "0.1", "max_df": "4", "max_features": "5"}],
)  # fmt: skip
def test_words_are_counted_as_by_scikit_learn(tokens, limits):
    texts = pytest.importorskip("sklearn.feature_extraction.text")
    encoder = load("tfidf", tokens=tokens, smart="nnn", **limits)
    rows = encoder.fit_encode(COUNTED)
    low, _, high = limits.get("ngrams", "1").partition("-")
    df = {name: float(limits[name]) if "." in limits[name] else int(limits[name])
          for name in ("min_df", "max_df") if name in limits}  # fmt: skip
    theirs = texts.CountVectorizer(
        tokenizer=TOKENIZERS[tokens],
        token_pattern=None,
        lowercase=False,
        ngram_range=(int(low), int(high or low)),
        max_features=int(limits["max_features"]) if limits.get("max_features") else None,
        **df,
    )
    expected = theirs.fit_transform(COUNTED).toarray()
    assert list(encoder._terms.columns) == theirs.get_feature_names_out().tolist()
    assert rows.toarray().tolist() == expected.tolist()
    others = ["the dog's cat cat", "unheard of", "", "bird dog cat hat"]
    assert encoder.encode_queries(others).toarray().tolist() == theirs.transform(others).toarray().tolist()


@pytest.mark.parametrize("spec", ["tfidf", "tfidf(smart=atc)", "tfidf(smart=lfn,max_df=0.3)", "lsa:3"])
def test_fitting_and_encoding_at_once_gives_the_same_vectors_to_the_bit(spec, monkeypatch):
    monkeypatch.setattr("goldrank.encoders.tfidf._ROWS", 3)
    at_once, in_two_steps = load(spec), load(spec)
    rows = at_once.fit_encode(COUNTED)
    in_two_steps.fit(COUNTED)
    dense = [side.toarray() if hasattr(side, "tocsr") else side for side in (rows, in_two_steps.encode_items(COUNTED))]
    np.testing.assert_array_equal(*dense)
    assert at_once.identity == in_two_steps.identity
    assert at_once.encode_items([]).shape == (0, dense[0].shape[1])


def test_the_bm25s_preset_ranks_as_bm25s_does_by_default():
    bm25s = pytest.importorskip("bm25s")
    corpus = ["The cat is on the mat.", "A dog and the cat!", "Birds (two) fly to it", "an old hat of the dog"]
    theirs = bm25s.BM25()
    theirs.index(bm25s.tokenize(corpus, show_progress=False), show_progress=False)
    query = bm25s.tokenize(["is the old cat on a dog?"], show_progress=False, return_ids=False)[0]
    expected = {f"d{i}": score for i, score in enumerate(theirs.get_scores(query).tolist()) if score > 0}
    searcher = load("bm25(preset=bm25s)")
    searcher.index([f"d{i}" for i in range(4)], corpus)
    assert searcher.search(["q"], ["is the old cat on a dog?"], 9)["q"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
@pytest.mark.parametrize("depth", [7, 1000])
def test_bm25_scores_are_those_of_bm25s_to_the_bit(method, depth):
    bm25s = pytest.importorskip("bm25s")
    rng = random.Random(3)
    words = [f"w{i}" for i in range(40)] + ["naïve", "ΑΣ", "日本"]
    corpus = [" ".join(rng.choices(words, range(len(words), 0, -1), k=rng.randint(0, 30))) for _ in range(300)]
    corpus += ["", " ?! ", "W0, w0; w1.", *corpus[:50], *["same words here"] * 20]
    questions = ["", "unheard of", "w0", "w1 w0 w1 never w7", "same words here", "naïve αΣ 日本 W3 w39", *corpus[:20]]
    ids = rng.sample([f"d{i}" for i in range(10_000)], len(corpus))
    searcher = load("bm25", method=method, k1=1.2)
    searcher.index(ids, corpus)
    run = searcher.search([f"q{i}" for i in range(len(questions))], questions, depth)

    numbers: dict[str, int] = {}
    documents = [re.findall(r"\b\w\w+\b", text.lower()) for text in corpus]
    numbered = [[numbers.setdefault(word, len(numbers)) for word in document] for document in documents]
    theirs = bm25s.BM25(method=method, k1=1.2, dtype="float64")
    theirs.index((numbered, numbers), show_progress=False, create_empty_token=False)
    for query, question in zip(run.queries, questions, strict=True):
        query_words = [numbers[word] for word in re.findall(r"\b\w\w+\b", question.lower()) if word in numbers]
        scores = theirs.get_scores_from_ids(query_words).tolist() if query_words else []
        shared = [row for row, document in enumerate(numbered) if set(document) & set(query_words)]
        expected = sorted(((scores[row], ids[row]) for row in shared), reverse=True)[:depth]
        assert list(run[query].items()) == [(item, score) for score, item in expected]


@pytest.mark.parametrize("tokens", ["words", "runs", "split", "characters"])
def test_bm25_numbers_the_words_of_every_tokenizer(tokens):
    corpus = ["A cat, a HAT.", "", "the cat's mat", "naïve ΑΣ", "x"]
    searcher = load("bm25", tokens=tokens, stopwords="en")
    searcher.index(list("abcde"), corpus)
    stop_words = vars(importlib.import_module("bm25s.stopwords"))["STOPWORDS_EN"]
    split = [[word for word in TOKENIZERS[tokens](text) if word not in stop_words] for text in corpus]
    for question in ["cat", "hat. the x", "naïve ας", "a"]:
        query_words = {word for word in TOKENIZERS[tokens](question) if word not in stop_words}
        sharing = {item for item, words in zip("abcde", split, strict=True) if query_words & set(words)}
        assert searcher.search(["q"], [question], 9)["q"].keys() == sharing


@pytest.mark.parametrize("spec", ["tfidf", "lsa:2"])
def test_an_encoder_that_was_not_fitted_says_so(spec):
    with pytest.raises(InputError, match=r"call \.fit\(texts\) first"):
        load(spec).encode_items(["a"])


@pytest.mark.parametrize("texts", [[], ["", " "]])
def test_a_corpus_without_words_is_refused(texts):
    with pytest.raises(InputError, match=r"no texts|no word is left"):
        load("tfidf").fit(texts)


def test_lsa_repeats_itself_and_refuses_more_dimensions_than_there_are():
    corpus = [f"word{i} word{i % 3} common{i % 2} text" for i in range(12)]
    first, second = load("lsa:4"), load("lsa:4")
    first.fit(corpus)
    second.fit(corpus)
    assert (first.encode_items(corpus) == second.encode_items(corpus)).all()
    np.testing.assert_allclose(np.linalg.norm(first.encode_items(corpus), axis=1), 1.0, rtol=1e-5)
    with pytest.raises(InputError, match="lsa:40 needs more than 40 texts"):
        load("lsa:40").fit(corpus)


def bm25_by_hand(query, corpus, k1, b):
    documents = [Counter(text.split()) for text in corpus]
    average = sum(sum(d.values()) for d in documents) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in query.split():
            frequency = sum(word in d for d in documents)
            if frequency:
                idf = math.log(1 + (len(corpus) - frequency + 0.5) / (frequency + 0.5))
                norm = k1 * (1 - b + b * sum(document.values()) / average)
                score += idf * document[word] / (document[word] + norm)
        scores.append(score)
    return scores


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0)])
def test_bm25_follows_the_formula_repeated_query_words_included(k1, b):
    rng = random.Random(9)
    corpus = [" ".join(rng.choices([f"w{i}" for i in range(20)], k=rng.randint(1, 12))) for _ in range(30)]
    searcher = load("bm25", k1=k1, b=b, tokens="split")
    searcher.index([f"d{i}" for i in range(30)], corpus)
    run = searcher.search(["q"], ["w1 w2 w2 never"], 100)["q"]
    expected = {f"d{i}": s for i, s in enumerate(bm25_by_hand("w1 w2 w2 never", corpus, k1, b)) if s > 0}
    assert run == pytest.approx(expected)
    assert list(run.values()) == sorted(run.values(), reverse=True)


def test_bm25_breaks_ties_by_id_however_the_corpus_is_ordered():
    ids = [f"d{i:02}" for i in range(20)]
    for seed in range(3):
        order = random.Random(seed).sample(ids, len(ids))
        searcher = load("bm25")
        searcher.index(order, ["same words here"] * 20)
        assert list(searcher.search(["q"], ["words"], 3)["q"]) == ["d19", "d18", "d17"]


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
def test_bm25_ranks_only_what_shares_a_word_and_takes_any_k(method):
    searcher = load("bm25", method=method)
    searcher.index(["a", "b", "c", "d"], ["cats sleep", "dogs bark", "", "birds fly"])
    run = searcher.search(["q1", "q2", "q3"], ["cats", "nothing known", ""], 1000)
    assert run.queries == ["q1", "q2", "q3"]
    assert list(run["q1"]) == ["a"]
    assert run["q2"] == run["q3"] == {}


def test_bm25_leaves_stopwords_and_stems_only_when_asked():
    plain, stopped = load("bm25"), load("bm25(stopwords=en)")
    for searcher in (plain, stopped):
        searcher.index(["a", "b"], ["the cat", "the dogs"])
    assert len(plain.search(["q"], ["the"], 5)["q"]) == 2
    assert stopped.search(["q"], ["the"], 5)["q"] == {}
    assert "bm25s" not in plain.identity
    assert "bm25s" in stopped.identity


@pytest.mark.heavy
def test_bm25_stems_when_asked():
    pytest.importorskip("Stemmer")
    searcher = load("bm25(stemmer=english)")
    searcher.index(["a", "b"], ["the cat", "the dogs"])
    assert list(searcher.search(["q"], ["dog"], 5)["q"]) == ["b"]


def test_bm25_says_what_is_wrong():
    searcher = load("bm25")
    with pytest.raises(InputError, match=r"call \.index"):
        searcher.search(["q"], ["x"], 5)
    with pytest.raises(InputError, match="is given to two texts"):
        searcher.index(["a", "a"], ["x y", "y z"])
    with pytest.raises(InputError, match="2 ids for 1 texts"):
        searcher.index(["a", "b"], ["x"])
    with pytest.raises(InputError, match="has a word"):
        searcher.index(["a"], [""])
    searcher.index(["a"], ["some text"])
    with pytest.raises(InputError, match="k=0"):
        searcher.search(["q"], ["text"], 0)
    assert len(searcher.search([], [], 5)) == 0
