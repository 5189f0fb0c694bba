"""Deep top k: a rising bar over blocks loses no item, whatever the blocks, threads, ties and similarity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.index.exact import selection as exact_selection
from goldrank.index.exact.index import exact_index


def reference(queries, items, similarity):
    wide, asked = items.astype(np.float64), queries.astype(np.float64)
    if similarity == "l2":
        return -np.sqrt(np.square(asked[:, None] - wide[None]).sum(axis=2))
    return asked @ wide.T


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Everything goes through the selection, in blocks so small that the bar rises many times."""
    monkeypatch.setattr(exact_selection, "_FIRST", 8)
    monkeypatch.setattr(exact_selection, "_FIRST_TIMES", 1)
    monkeypatch.setattr(exact_selection, "_BLOCK_ELEMENTS", 64)


@pytest.mark.parametrize("similarity", ["dot", "l2"])
@pytest.mark.parametrize("threads", [1, 2])
@given(seed=st.integers(0, 2**32), k=st.integers(1, 60), coarse=st.booleans())
def test_the_best_k_are_those_of_all_float64_scores(similarity, threads, seed, k, coarse):
    rng = np.random.default_rng(seed)
    items, queries = rng.standard_normal((900, 6)), rng.standard_normal((3, 6))
    if coarse:
        # Few different scores, so that ties stand at the cut and the ids decide.
        items, queries = np.rint(items), np.rint(queries)
    items, queries = items.astype(np.float32), queries.astype(np.float32)
    ids = [f"d{number}" for number in range(len(items))]
    found = exact_index(items, ids, similarity, threads=threads).top_k(queries, k)
    for row, scores in enumerate(reference(queries, items, similarity)):
        best = sorted(zip(scores.round(9).tolist(), ids, strict=True), reverse=True)[:k]
        ranked = found[str(row)]
        np.testing.assert_allclose(list(ranked.values()), [score for score, _ in best], atol=1e-6)
        if coarse:
            assert list(ranked) == [name for _, name in best]
