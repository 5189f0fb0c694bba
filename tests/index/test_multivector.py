"""Documents of several vectors: scores equal those of a plain loop, and empty documents score -inf."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.index import multivector
from goldrank.index.multivector import MultiVectors, max_sim, multivector_scores, sdr


def documents(seed, count, dimension=5):
    """Return documents of 0 to 3 sections of 0 to 4 sentences each; some are empty."""
    rng = np.random.default_rng(seed)
    return [[rng.normal(size=(rng.integers(5), dimension)) for _ in range(rng.integers(4))] for _ in range(count)]


def undivided(matrices, ids=None):
    """Return documents of one section each."""
    return MultiVectors.nested([[matrix] for matrix in matrices], ids)


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
        similarities = [np.mean([max(float(a @ b) for b in t) for a in s]) for t in target]
        of_sections.append(max(similarities))
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


def test_empty_documents_score_minus_infinity():
    corpus = MultiVectors.nested([[[[1, 0]]], [[[-1, 0]]], [], [[]]])
    infinite = -np.inf
    expected = [[1, -1, infinite, infinite], [-1, 1, infinite, infinite], [infinite] * 4, [infinite] * 4]
    assert multivector_scores(corpus, corpus).tolist() == expected


def test_equal_documents_score_the_same_wherever_they_stand():
    rng = np.random.default_rng(0)
    twin, noise = rng.normal(size=(3, 384)), [rng.normal(size=(2, 384)) for _ in range(500)]
    corpus = undivided([twin, *noise, twin])
    scores = multivector_scores(undivided([rng.normal(size=(4, 384))]), corpus)[0]
    assert scores[0] == scores[-1]


def test_what_cannot_be_scored_is_refused():
    corpus = undivided([[[1, 0]], [[0, 1]]], ["a", "b"])
    with pytest.raises(InputError, match="different dimensions"):
        undivided([[[1, 0]], [[1, 0, 0]]])
    with pytest.raises(InputError, match="3 dimensions, the items' 2"):
        max_sim(undivided([[[1, 0, 0]]]), corpus)
    with pytest.raises(InputError, match=r"no scorer 'max_sum'.*sdr"):
        multivector_scores(corpus, corpus, "max_sum")
    with pytest.raises(InputError, match="given twice"):
        undivided([[[1]], [[1]]], ["a", "a"])
