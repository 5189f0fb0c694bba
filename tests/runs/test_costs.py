"""Test the seconds of a run: its time without caches, which for composed models is at least that of their parts."""

import time

import numpy as np
import pytest

import goldrank
from goldrank.store import Store
from goldrank.tasks.ranking.models import load_model, with_reranking
from goldrank.vectors.cache import EmbeddingCache, measure_seconds

PAUSE = 0.15
RECORDS = [
    {"id": "a", "text": "red wine of Bordeaux", "labels": ["b"]},
    {"id": "b", "text": "white wine of Bordeaux", "labels": ["a"]},
    {"id": "c", "text": "a game of chess"},
]


class Slow:
    """An encoder that takes a known time for each call."""

    spec = identity = "slow letters"

    def encode_items(self, texts):
        time.sleep(PAUSE)
        return np.array([[text.count(letter) + 1 for letter in "abcdefgh"] for text in texts], np.float32)

    encode_queries = encode_items


class Lengths:
    """A pair scorer without a model."""

    spec = identity = "lengths"

    def score_pairs(self, queries, items):
        return np.array([len(item) for item in items], float)


@pytest.fixture
def store(own_folder):
    return Store.open(own_folder / "store")


def test_a_run_costs_what_it_would_without_the_cache(store):
    (first,) = goldrank.run(Slow(), [RECORDS], store).runs
    (again,) = goldrank.run(Slow(), [RECORDS], store, similarity="dot", transform="normalize").runs
    assert again.key != first.key
    assert min(first.seconds, again.seconds) >= PAUSE


@pytest.mark.parametrize("fused_first", [True, False])
def test_a_fusion_costs_at_least_what_its_parts_cost_alone(store, fused_first):
    models = ["bm25", "random:8", "fuse:rrf(bm25,random:8)", "fuse:rrf(fuse:rrf(bm25,tfidf),random:8)"]
    boards = goldrank.run(models[::-1] if fused_first else models, "wines", store, limit=5)
    seconds = {run.model: run.seconds for run in boards.runs}
    assert list(seconds) == (models[::-1] if fused_first else models)
    for fusion in models[2:]:
        assert seconds[fusion] >= seconds["bm25"] + seconds["random:8"] > 0


def test_reranking_costs_at_least_what_the_first_stage_costs_alone(store):
    (plain,) = goldrank.run(Slow(), [RECORDS], store).runs
    (reranked,) = goldrank.run(with_reranking(load_model(Slow()), Lengths(), 2), [RECORDS], store).runs
    assert reranked.seconds >= plain.seconds >= PAUSE


def test_the_same_list_counts_as_it_was_measured_and_others_by_the_mean(tmp_path):
    cache = EmbeddingCache(tmp_path)
    cache.encode(Slow(), ["one", "two"], "item")
    with measure_seconds() as outer:
        with measure_seconds() as whole:
            cache.encode(Slow(), ["two", "one"], "item")
        with measure_seconds() as half:
            cache.encode(Slow(), ["two"], "item")
    assert whole.saved >= PAUSE
    assert half.saved == pytest.approx(whole.saved / 2)
    assert outer.saved == pytest.approx(whole.saved + half.saved)
    (manifest,) = tmp_path.glob("*/manifest.json")
    manifest.write_text(manifest.read_text().replace('"texts": 2', '"texts": "x"'))
    with measure_seconds() as unknown:
        cache.encode(Slow(), ["one", "two"], "item")
    assert unknown.saved == 0
