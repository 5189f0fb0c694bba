"""Sparse vectors rank exactly like the same vectors written out densely."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import goldrank as gr
from goldrank.encoders import load
from goldrank.index.exact.index import ExactIndex, exact_index
from goldrank.index.exact.sparse import SparseExactIndex
from goldrank.vectors.similarity import normalised

VALUES = [0.0, 0.0, 0.0, 1.0, 2.0, -1.0, 0.1, 0.3, np.nextafter(0.3, 1)]


def matrices(rows):
    return st.lists(st.lists(st.sampled_from(VALUES), min_size=3, max_size=3), min_size=1, max_size=rows).map(np.array)


@given(matrices(4), matrices(9), st.sampled_from(["dot", "cosine", "l2"]), st.booleans(), st.sampled_from([None, 1, 4]))
def test_counts_equal_those_of_dense_vectors(queries, items, similarity, exclude_self, block):
    gold = {str(q): {str(i): 1 for i in range(0, len(items) + 1, 2)} for q in range(len(queries))}
    # Both indexes get the same numbers: for cosine, rows are normalised once, before the comparison.
    if similarity == "cosine":
        lengths = [np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, items)]
        queries, items = (side / np.where(n > 0, n, 1) for side, n in zip((queries, items), lengths, strict=True))
        similarity = "dot"
    dense = ExactIndex(items, similarity=similarity).exact_hits(queries, gold, exclude_self=exclude_self)
    sparse = SparseExactIndex(csr_matrix(items), similarity=similarity).exact_hits(
        csr_matrix(queries), gold, exclude_self=exclude_self, block=block
    )
    for name in ("above", "tied", "tied_docid", "tied_input", "depth", "outside"):
        assert getattr(sparse, name).tolist() == getattr(dense, name).tolist(), name


@given(matrices(3), matrices(9), st.sampled_from(["dot", "cosine", "l2"]), st.integers(1, 10), st.booleans())
def test_the_top_k_is_that_of_dense_vectors(queries, items, similarity, k, exclude_self):
    dense = ExactIndex(items, similarity=similarity).top_k(queries, k, exclude_self=exclude_self).to_dict()
    sparse = SparseExactIndex(csr_matrix(items), similarity=similarity).top_k(
        csr_matrix(queries), k, exclude_self=exclude_self
    )
    for query, ranking in sparse.to_dict().items():
        # Scores of near-equal items may differ in the last bit between the two, so the items are compared by score.
        assert sorted(ranking.values()) == pytest.approx(sorted(dense[query].values()), abs=1e-7)


@pytest.mark.parametrize("similarity", ["dot", "cosine", "l2"])
@pytest.mark.parametrize("k", [1, 7, 40, 400])
def test_the_top_k_has_the_scores_of_the_product_to_the_bit_and_ties_by_id(similarity, k):
    rng = np.random.default_rng(4)
    # Few different values, repeated rows and empty ones, so that many scores are equal at any depth.
    items = np.where(rng.random((300, 12)) < 0.2, rng.choice([0.1, 0.3, 0.7, -0.2], (300, 12)), 0.0)
    items = np.vstack([items, items[:60], np.zeros((40, 12))])
    queries = np.vstack([items[:30], rng.random((10, 12)), np.zeros((2, 12))])
    ids = [f"d{number}" for number in rng.permutation(len(items))]
    index = SparseExactIndex(csr_matrix(items), ids, similarity, threads=3)
    run = index.top_k(csr_matrix(queries), k)
    rows, columns = (normalised(csr_matrix(side)) if similarity == "cosine" else csr_matrix(side)
                     for side in (items, queries))  # fmt: skip
    scores = (rows @ columns.T).toarray().T
    if similarity == "l2":
        squares = [np.square(np.sqrt(np.asarray(side.multiply(side).sum(axis=1)).ravel())) for side in (rows, columns)]
        scores -= 0.5 * squares[0]
    for column, values in enumerate(scores):
        expected = sorted(range(len(ids)), key=lambda row: (values[row], ids[row]), reverse=True)[:k]
        reported = values[expected]
        if similarity == "l2":
            reported = -np.sqrt(np.maximum(squares[1][column] - 2 * reported, 0.0))
        assert list(run[str(column)].items()) == [
            (ids[row], score) for row, score in zip(expected, reported.tolist(), strict=True)
        ]


def test_texts_that_share_no_word_with_the_query_are_tied_and_score_at_chance():
    encoder = load("tfidf")
    texts = ["red wine", "white wine", "chess", "go", "checkers"]
    encoder.fit(texts)
    hits = gr.exact_hits(encoder.encode_queries(["sparkling wine"]), encoder.encode_items(texts), {"0": ["3"]})
    assert (hits.above.tolist(), hits.tied.tolist()) == ([2], [2])
    assert gr.score_hits(hits, "mrr", ties="expected")["mrr"].mean == pytest.approx((1 / 3 + 1 / 4 + 1 / 5) / 3)


def test_the_exact_index_takes_either_kind_and_refuses_a_mixture():
    assert isinstance(exact_index(csr_matrix(np.eye(2))), SparseExactIndex)
    assert type(exact_index(np.eye(2))) is ExactIndex
    with pytest.raises(gr.InputError, match="dense and the other sparse"):
        gr.exact_hits(np.eye(2), csr_matrix(np.eye(2)), {"0": ["0"]})


def test_bad_sparse_input_is_refused():
    with pytest.raises(gr.InputError, match="row 1"):
        gr.exact_hits(csr_matrix(np.eye(2)), csr_matrix([[1.0, 0.0], [np.nan, 1.0]]), {"0": ["0"]})
    with pytest.raises(gr.InputError, match="2 dimensions"):
        gr.exact_hits(csr_matrix(np.eye(2)), csr_matrix(np.eye(3)), {"0": ["0"]})
