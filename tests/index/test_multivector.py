"""Documents of several vectors: the scores of a plain loop, exact counts, and what empty documents do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.hits import Gold, Run
from goldrank.index import multivector
from goldrank.index.multivector import MultiVectors, max_sim, multivector_hits, multivector_scores, sdr
from goldrank.scoring import score_hits


def documents(seed, count, dimension=5):
    """Documents of 0 to 3 sections of 0 to 4 sentences each; some are empty."""
    rng = np.random.default_rng(seed)
    return [[rng.normal(size=(rng.integers(5), dimension)) for _ in range(rng.integers(4))] for _ in range(count)]


def unit(matrix):
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def loop_max_sim(source, target, total=False):
    source, target = (np.concatenate([np.zeros((0, 5)), *document]) for document in (source, target))
    if not len(source) or not len(target):
        return -np.inf
    best = [max(float(a @ b) for b in unit(target)) for a in unit(source)]
    return sum(best) if total else sum(best) / len(best)


def loop_sdr(source, target):
    source, target = ([unit(s) for s in document if len(s)] for document in (source, target))
    if not source or not target:
        return -np.inf
    of_sections = []
    for s in source:
        alike = [np.mean([max(float(a @ b) for b in t) for a in s]) for t in target]
        of_sections.append(max(alike))
    return np.mean(of_sections)


@given(st.integers(0, 2**32 - 1))
def test_scores_are_those_of_a_plain_loop(seed):
    source, target = documents(seed, 4), documents(seed + 1, 6)
    queries, items = MultiVectors.nested(source), MultiVectors.nested(target)
    for scorer, loop in (("max_sim", loop_max_sim), ("sdr", loop_sdr)):
        expected = [[loop(s, t) for t in target] for s in source]
        np.testing.assert_allclose(multivector_scores(queries, items, scorer), expected, atol=1e-6)
    expected = [[loop_max_sim(s, t, total=True) for t in target] for s in source]
    np.testing.assert_allclose(multivector_scores(queries, items, "sum_max_sim"), expected, atol=1e-5)


def test_the_hierarchical_score_of_an_example_worked_by_hand():
    # Sentences are axes or diagonals: cosines are 0, 1 or 1/√2.
    x, y, diagonal = [1, 0], [0, 1], [1, 1]
    source = MultiVectors.nested([[[x, y], [diagonal]]])
    target = MultiVectors.nested([[[x], [y, diagonal]]])
    half = 1 / np.sqrt(2)
    # Section 1 (x, y): with (x) the bests are 1 and 0; with (y, diagonal) they are 1/√2 and 1, and that wins.
    # Section 2 (diagonal): with (x) 1/√2, with (y, diagonal) 1. The latter wins.
    assert sdr(source, target)[0, 0] == pytest.approx(((half + 1) / 2 + 1) / 2)
    # Flat: x finds x, y finds y, the diagonal itself.
    assert max_sim(source, target)[0, 0] == pytest.approx(1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 200))
def test_scores_do_not_depend_on_the_size_of_the_blocks(seed, size):
    queries, items = MultiVectors.nested(documents(seed, 5)), MultiVectors.nested(documents(seed + 1, 9))
    for scorer in ("max_sim", "sdr"):
        whole = multivector_scores(queries, items, scorer)
        before, multivector._BLOCK_NUMBERS = multivector._BLOCK_NUMBERS, size
        try:
            parts = multivector_scores(queries, items, scorer)
        finally:
            multivector._BLOCK_NUMBERS = before
        np.testing.assert_allclose(parts, whole, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_hits_are_those_of_the_sorted_run(seed, exclude_self):
    made = [document or [np.ones((1, 5))] for document in documents(seed, 8)]
    made = [[s for s in document if len(s)] or [np.ones((1, 5))] for document in made]
    ids = [f"d{i}" for i in range(8)]
    corpus = MultiVectors.nested(made, ids)
    rng = np.random.default_rng(seed)
    gold = Gold({ids[q]: {ids[i]: 1 for i in rng.choice(8, 3, replace=False)} for q in rng.choice(8, 4, replace=False)})
    hits = multivector_hits(corpus, corpus, gold, "sdr", exclude_self=exclude_self)
    scores = multivector_scores(corpus, corpus, "sdr")
    run = Run({q: dict(zip(ids, scores[i].tolist(), strict=True)) for i, q in enumerate(ids)})
    expected = run.hits(gold, drop_self=exclude_self, corpus=ids)
    for name in ("above", "tied", "tied_docid", "tied_input", "depth", "outside"):
        assert getattr(hits, name).tolist() == getattr(expected, name).tolist(), name


def test_an_empty_document_comes_last_and_an_empty_query_ties_all():
    corpus = MultiVectors.nested([[[[1, 0]]], [[[-1, 0]]], [], [[]]], ["a", "b", "none", "void"])
    hits = multivector_hits(corpus, corpus, Gold({"a": {"b": 1, "none": 1, "void": 1}, "none": {"b": 1}}))
    assert hits.above.tolist() == [1, 2, 2, 0]
    assert hits.tied.tolist() == [0, 1, 1, 3]
    assert hits.exhaustive


def test_equal_documents_are_tied_wherever_they_stand():
    rng = np.random.default_rng(0)
    one, noise = rng.normal(size=(3, 384)), [rng.normal(size=(2, 384)) for _ in range(500)]
    corpus = MultiVectors.of([one, *noise, one], [str(i) for i in range(502)])
    queries = MultiVectors.of([rng.normal(size=(4, 384))], ["q"])
    hits = multivector_hits(queries, corpus, Gold({"q": {"0": 1, "501": 1}}))
    assert hits.tied.tolist() == [1, 1]
    assert hits.above[0] == hits.above[1]


def test_gold_outside_the_items_and_queries_without_gold_are_counted():
    corpus = MultiVectors.of([[[1, 0]], [[0, 1]]], ["a", "b"])
    hits = multivector_hits(corpus, corpus, Gold({"a": {"b": 1, "elsewhere": 1}, "absent": {"a": 1}}))
    assert hits.above.tolist() == [1, -1, -1]
    assert hits.outside.tolist() == [False, True, False]
    assert hits.ignored_queries == 1
    assert hits.depth.tolist() == [2, 0]
    assert score_hits(hits, "mrr")["mrr"].mean == pytest.approx(0.25)


def test_what_cannot_be_scored_is_refused():
    corpus = MultiVectors.of([[[1, 0]], [[0, 1]]], ["a", "b"])
    with pytest.raises(InputError, match="different dimensions"):
        MultiVectors.of([[[1, 0]], [[1, 0, 0]]])
    with pytest.raises(InputError, match="3 dimensions, the items' 2"):
        max_sim(MultiVectors.of([[[1, 0, 0]]]), corpus)
    with pytest.raises(InputError, match=r"no scorer 'max_sum'.*sdr"):
        multivector_hits(corpus, corpus, Gold({"a": {"b": 1}}), "max_sum")
    with pytest.raises(InputError, match="no query of the gold"):
        multivector_hits(corpus, corpus, Gold({"q": {"b": 1}}))
    with pytest.raises(InputError, match="given twice"):
        MultiVectors.of([[[1]], [[1]]], ["a", "a"])
