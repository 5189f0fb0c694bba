"""Test that the memory of an evaluation is freed when it ends, without waiting for the cycle collector."""

import gc
from collections import Counter

import pytest

import goldrank as gr


def living() -> Counter[str]:
    """Count the collections, models and texts in memory."""
    names = [type(held).__name__ for held in gc.get_objects() if str(type(held).__module__).startswith("goldrank.")]
    return Counter(name for name in names if name not in ("Metric", "Parameter"))


@pytest.mark.parametrize("model", ["random:8", "bm25", "tfidf", "lsa:16", "fuse:rrf(bm25,tfidf)"])
def test_models_and_texts_are_freed_without_a_search_for_cycles(model):
    gr.evaluate(model, "questions")  # imports modules and fills persistent caches
    gc.collect()
    before = living()
    gc.disable()
    try:
        gr.evaluate(model, "questions")
        assert not living() - before
    finally:
        gc.enable()
