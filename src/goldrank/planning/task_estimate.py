"""Estimate the evaluation of a model on a task: encode a sample of texts, and use the cost model of `goldrank plan`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice

import numpy as np

from goldrank import encoders
from goldrank.encoders.base import Encoder, Fitted, PairScorer
from goldrank.encoders.pair_scorers import PAIR_KINDS, load_pair_scorer
from goldrank.fusion import Fusion, is_fusion
from goldrank.planning.constants import Constants, EncodingCost
from goldrank.planning.job import HELD_RESULT_BYTES, PlannedJob, Setting
from goldrank.planning.one_machine import local_plan
from goldrank.specs import Spec
from goldrank.tasks.ranking.by_vectors import counts_gold
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.task import TaskData

_SAMPLE = 64
_SPARSE_BYTES_PER_WORD = 12
_STAGES = ("encode", "exact ranks", "top k", "score, intervals")


@dataclass(frozen=True)
class ModelCost:
    """Dimension of the vectors, seconds and bytes of memory; None if it cannot be estimated."""

    dimension: int | None = None
    seconds: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class TaskEstimate:
    """The size of a task, and the estimated cost of one model; None if it cannot be estimated."""

    items: int
    queries: int | None = None
    words: float | None = None
    """Mean words of the text of an item, or of a chunk."""
    empty: int | None = None
    """Empty texts among items and queries."""
    cost: ModelCost = ModelCost()


def estimate_task(model: str, data: TaskData, constants: Constants) -> TaskEstimate:
    """Estimate one model on a task; for a task without rankings only the size is known."""
    if not isinstance(data, RankingData):
        return TaskEstimate(len(data))
    if not data.collection.has_texts:
        # The rankings are looked up in files.
        return TaskEstimate(len(data), len(data.query_ids))
    documents, data = len(data), data.in_chunks
    sample = list(islice((text for batch in data.item_batches() for text in batch), _SAMPLE))
    words = float(np.mean([len(text.split()) for text in sample])) if sample else 0.0
    cost = _Sample(data, sample, words, constants).cost(model)
    if cost.seconds is not None and (scorer := data.settings.rerank) is not None:
        chunks_per_document = len(data) / max(1, documents)
        pairs = len(data.query_ids) * min(data.settings.rerank_depth, documents) * chunks_per_document
        reranking = _pair_seconds(load_pair_scorer(scorer), sample) * pairs
        cost = ModelCost(cost.dimension, cost.seconds + reranking, cost.memory)
    return TaskEstimate(documents, len(data.query_ids), words, sum(data.empty_texts), cost)


@dataclass(frozen=True, eq=False)
class _Sample:
    data: RankingData
    texts: list[str]
    words: float
    constants: Constants

    def cost(self, model: str) -> ModelCost:
        """Return the cost of one model; the parts of a fusion run one after the other."""
        if is_fusion(model):
            parts = [self.cost(part) for part in Fusion.parse(model).parts]
            known = [part.seconds for part in parts if part.seconds is not None]
            return ModelCost(
                next((part.dimension for part in parts if part.dimension is not None), None),
                sum(known) if len(known) == len(parts) else None,
                max(part.memory or 0.0 for part in parts),
            )
        data = self.data
        rankings = self.constants.process + len(data.query_ids) * data.depth * HELD_RESULT_BYTES
        loaded = load_pair_scorer(model) if Spec.parse(model).kind in PAIR_KINDS else encoders.load(model)
        if isinstance(loaded, PairScorer):
            return ModelCost(None, _pair_seconds(loaded, self.texts) * len(data) * len(data.query_ids), rankings)
        sparse = rankings + len(data) * self.words * _SPARSE_BYTES_PER_WORD
        if not isinstance(loaded, Encoder):
            return ModelCost(None, None, sparse)
        started = time.perf_counter()
        if isinstance(loaded, Fitted):
            loaded.fit(self.texts)
        vectors = loaded.encode_items(self.texts)
        text_seconds = (time.perf_counter() - started) / max(1, len(self.texts))
        if hasattr(vectors, "tocsr"):
            return ModelCost(None, text_seconds * (len(data) + len(data.query_ids)), sparse)
        dimension = int(vectors.shape[1])
        plan = local_plan(Setting(self._job(dimension, text_seconds), self.constants))
        stages = [plan.stage(name) for name in _STAGES]
        seconds = sum(stage.seconds for stage in stages if stage.seconds is not None)
        return ModelCost(dimension, seconds, max(stage.memory for stage in stages))

    def _job(self, dimension: int, text_seconds: float) -> PlannedJob:
        data = self.data
        queries = len(data.query_ids)
        judged = -(-len(data.gold.columns.items) // len(data.gold)) if counts_gold(data, queries) else 0
        encoding = EncodingCost(load=0.0, text=text_seconds, word=0.0)
        return PlannedJob(len(data), dimension, queries, judged, data.depth, self.words, encoding=encoding)


def _pair_seconds(scorer: PairScorer, sample: list[str]) -> float:
    """Return the seconds that scoring one pair takes."""
    started = time.perf_counter()
    scorer.score_pairs(sample, sample)
    return (time.perf_counter() - started) / max(1, len(sample))
