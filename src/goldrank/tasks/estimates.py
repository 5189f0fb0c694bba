"""What an evaluation would cost, from a few texts encoded and one small product; nothing is stored."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice

import numpy as np

from goldrank import encoders
from goldrank.encoders.base import Encoder, Fitted, PairScorer
from goldrank.encoders.pair_scorers import PAIR_KINDS, load_pair_scorer
from goldrank.fusion import Fusion, is_fusion
from goldrank.specs import Spec
from goldrank.tasks.material import Material

_SAMPLE = 64
_SPARSE_BYTES_PER_WORD = 12


@dataclass(frozen=True)
class Estimate:
    """The size of the work, and about how long it would take; None where that cannot be told beforehand."""

    items: int
    queries: int
    words: float
    """Mean words of an item's text."""
    empty: int
    dimension: int | None
    seconds: float | None
    megabytes: float | None


def estimate(model: str, material: Material) -> Estimate:
    """Encode a sample and extrapolate; of a fusion all parts together."""
    items, queries = len(material.item_ids), len(material.query_ids)
    sample = list(islice((text for batch in material.item_batches() for text in batch), _SAMPLE))
    words = float(np.mean([len(text.split()) for text in sample])) if sample else 0.0
    empty = sum(material.empty_texts)
    parts = Fusion.parse(model).parts if is_fusion(model) else [model]
    dimension: int | None = None
    seconds: float | None = 0.0
    megabytes: float | None = 0.0
    for part in parts:
        cost = _cost(part, sample, items, queries, words, material.depth)
        dimension = cost[0] or dimension
        seconds = None if seconds is None or cost[1] is None else seconds + cost[1]
        megabytes = None if megabytes is None or cost[2] is None else max(megabytes, cost[2])
    if seconds is not None and (scorer := material.settings.rerank) is not None:
        seconds += (
            _pair_seconds(load_pair_scorer(scorer), sample) * queries * min(material.settings.rerank_depth, items)
        )
    return Estimate(items, queries, words, empty, dimension, seconds, megabytes)


def _pair_seconds(scorer: PairScorer, sample: list[str]) -> float:
    """Seconds that one pair takes."""
    started = time.perf_counter()
    scorer.score_pairs(sample, sample)
    return (time.perf_counter() - started) / max(1, len(sample))


def _cost(
    model: str, sample: list[str], items: int, queries: int, words: float, depth: int
) -> tuple[int | None, float | None, float | None]:
    """Dimension, seconds and megabytes of one model; a model that is no encoder is only sized by its rankings."""
    rankings = queries * depth * 100 / 1e6
    if is_fusion(model):
        nested = [_cost(part, sample, items, queries, words, depth) for part in Fusion.parse(model).parts]
        times = [cost[1] for cost in nested]
        return nested[0][0], None if None in times else sum(t for t in times if t is not None), rankings
    loaded = load_pair_scorer(model) if Spec.parse(model).kind in PAIR_KINDS else encoders.load(model)
    if isinstance(loaded, PairScorer):
        return None, _pair_seconds(loaded, sample) * items * queries, rankings
    if not isinstance(loaded, Encoder):
        return None, None, rankings + items * words * _SPARSE_BYTES_PER_WORD / 1e6
    started = time.perf_counter()
    if isinstance(loaded, Fitted):
        loaded.fit(sample)
    vectors = loaded.encode_items(sample)
    taken = (time.perf_counter() - started) / max(1, len(sample))
    encoding = taken * (items + queries)
    if hasattr(vectors, "tocsr"):
        return None, encoding, rankings + items * words * _SPARSE_BYTES_PER_WORD / 1e6
    dimension = int(vectors.shape[1])
    searching = 2.0 * items * queries * dimension / _flops()
    return dimension, encoding + searching, rankings + (items + queries) * dimension * 4 / 1e6


def _flops() -> float:
    """Operations a second of a float32 product here."""
    matrix = np.ones((512, 512), np.float32)
    matrix @ matrix
    started = time.perf_counter()
    for _ in range(4):
        matrix @ matrix
    return float(4 * 2 * 512**3 / max(1e-9, time.perf_counter() - started))
