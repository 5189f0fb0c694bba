"""Model: anything that ranks the items of a task, loaded from a spec, a function or an object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from goldrank import encoders
from goldrank.encoders.base import Encoder, PairScorer, Searcher
from goldrank.encoders.pair_scorers import PAIR_KINDS, load_pair_scorer
from goldrank.encoders.rankings import top_items
from goldrank.encoders.reranking import rerank, search_resuming
from goldrank.encoders.truncation import count_truncated_pairs, warnings_of
from goldrank.errors import DataWarning
from goldrank.fusion import Fusion, is_fusion
from goldrank.hits import Run
from goldrank.io.checkpoints import Checkpoint
from goldrank.redaction import redact
from goldrank.specs import Spec
from goldrank.tasks.presets import find_preset
from goldrank.tasks.ranking.by_vectors import best_of, rank_by_vectors
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.evaluation import Ranked
from goldrank.tasks.ranking.preflight import check_encoder


@dataclass(frozen=True)
class Model:
    """A model: its spec, its exact identity, and the function that ranks."""

    spec: str
    identity: str
    """Everything about the model that can change a result; for a fitted model, before it is fitted."""
    rank: Callable[[RankingData], Ranked]
    uses_vectors: bool = False
    """Whether similarity, index and transform have an effect on it."""
    encoder: Encoder | None = None
    """The encoder, if the model is just an encoder."""
    check: Callable[[RankingData], None] = lambda data: None
    """Raises InputError if the model cannot be evaluated on the data, as far as can be told before any work."""

    def __post_init__(self) -> None:
        # The name is stored and shown, so it must not contain secrets.
        object.__setattr__(self, "spec", redact(self.spec))
        object.__setattr__(self, "identity", redact(self.identity))

    def __repr__(self) -> str:
        return f"Model({self.spec!r}, identity={self.identity!r})"

    @property
    def may_know_words(self) -> bool:
        """Whether it can report texts without a known word; assumed for fusions and reranked models."""
        return self.encoder is None or hasattr(self.encoder, "covers")

    @property
    def reads_ids(self) -> bool:
        """Whether it looks up ids, so that texts have no effect on it."""
        return getattr(self.encoder, "by", None) == "id" or self.spec.startswith("run:")


def load_model(model: Any) -> Model:
    """Load the model of a spec, or wrap an object or function as a model.

    >>> load_model("fuse:rrf(bm25,random:8)").spec
    'fuse:rrf(bm25,random:8)'
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str) and is_fusion(model):
        return _fused(Fusion.parse(model))
    if isinstance(model, str) and Spec.parse(model).kind in PAIR_KINDS:
        model = load_pair_scorer(model)
    if isinstance(model, PairScorer):
        pairs = _PairSearch(model)
        return Model(_name(model), model.identity, lambda data: _rank_by_search(pairs, data))
    loaded = encoders.load(model)
    spec = model if isinstance(model, str) else _name(loaded)
    if isinstance(loaded, Searcher):
        return Model(spec, loaded.identity, lambda data: _rank_by_search(loaded, data))

    def rank(data: RankingData) -> Ranked:
        if data.sharding is not None:
            from goldrank.tasks.ranking.by_shards import rank_in_shards

            return rank_in_shards(loaded, data, data.sharding)
        return rank_by_vectors(loaded, data)

    return Model(spec, loaded.identity, rank, uses_vectors=True, encoder=loaded, check=partial(check_encoder, loaded))


def preset_model(model: Any, name: str | None) -> Any:
    """Return the model with the options of a preset, if its kind has such and no other preset is given.

    >>> preset_model("words:glove.txt", "evalrank"), preset_model("wordllama", "evalrank")
    ('words:glove.txt(preset=evalrank)', 'wordllama')
    """
    if name is None or not isinstance(model, str) or is_fusion(model):
        return model
    spec = Spec.parse(model)
    wants = spec.kind in find_preset(name).models and "preset" not in spec.options
    return str(spec.updated({"preset": name})) if wants else model


def with_reranking(model: Model, scorer: str | PairScorer, depth: int) -> Model:
    """Return the model with the top of its rankings reranked by a pair scorer."""
    loaded = load_pair_scorer(scorer) if isinstance(scorer, str) else scorer
    name = f"{model.spec} > {_name(loaded)}"

    def rank(data: RankingData) -> Ranked:
        first = model.rank(data)
        texts = dict(zip(data.query_ids, data.query_texts, strict=True))
        checkpoint = _checkpoint(f"rerank {model.identity} {loaded.identity} {depth}", data)
        run = rerank(first.run, loaded, texts, data.texts_of, depth, checkpoint=checkpoint)
        warnings = (*first.warnings, *_truncated_pairs(loaded, data, _tops(first.run, depth)))
        return Ranked(run, None, first.remarks, warnings, (*first.checkpoints, checkpoint))

    identity = f"{model.identity} reranked {depth} by {loaded.identity}"
    return Model(name, identity, rank, model.uses_vectors, check=model.check)


def _name(model: Any) -> str:
    return str(getattr(model, "spec", None) or model.identity)


def _fused(fusion: Fusion) -> Model:
    parts = [load_model(part) for part in fusion.parts]

    def rank(data: RankingData) -> Ranked:
        ranked = [part.rank(data) for part in parts]
        run = replace(fusion, depth=fusion.depth or data.depth).fuse([each.run for each in ranked])
        named = zip((part.spec for part in parts), ranked, strict=True)
        return Ranked(
            run,
            None,
            tuple(f"{name}: {remark}" for name, each in named for remark in each.remarks),
            tuple(warning for each in ranked for warning in each.warnings),
            tuple(checkpoint for each in ranked for checkpoint in each.checkpoints),
        )

    identity = f"{fusion} of " + "; ".join(part.identity for part in parts)

    def check(data: RankingData) -> None:
        for part in parts:
            part.check(data)

    return Model(str(fusion), identity, rank, any(part.uses_vectors for part in parts), check=check)


class _PairSearch:
    """A pair scorer as a searcher: it scores every item for every query, and keeps the best."""

    def __init__(self, scorer: PairScorer) -> None:
        self.scorer = scorer
        self.identity = scorer.identity

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Keep the ids and texts of the corpus."""
        self._ids, self._texts = list(ids), list(texts)

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best items of each query."""
        scores = [self.scorer.score_pairs([text] * len(self._texts), self._texts) for text in texts]
        return best_of(np.array(scores), list(ids), self._ids, k)


def _rank_by_search(searcher: Searcher, data: RankingData) -> Ranked:
    searcher.index(data.item_ids, data.item_texts)
    checkpoint = _checkpoint(f"search {searcher.identity}", data)
    run = search_resuming(searcher, data.query_ids, data.query_texts, data.depth, checkpoint)
    unknown = getattr(searcher, "unknown", ())
    remarks = [f"{len(unknown)} ranked ids are not items, and keep their ranks"] if unknown else []
    if data.sharding is not None:
        engine = data.sharding.engine.name
        remarks.append(f"ranked on this machine, not by {engine}: it has no vectors to distribute")
    warnings: tuple[DataWarning, ...] = ()
    if isinstance(searcher, _PairSearch):
        warnings = _truncated_pairs(searcher.scorer, data, None)
    return Ranked(run, None, tuple(remarks), warnings, (checkpoint,))


def _tops(run: Run, depth: int) -> dict[str, list[str]]:
    """Return the best *depth* items of each ranking."""
    return {query: list(top_items(ranking, depth)) for query, ranking in run.items()}


def _truncated_pairs(
    scorer: PairScorer, data: RankingData, tops: Mapping[str, list[str]] | None
) -> tuple[DataWarning, ...]:
    """Warn of pairs that a pair scorer truncated: those of *tops*, or of all queries with all items."""
    if getattr(scorer, "token_limit", None) is None:
        return ()
    if tops is None:
        ids = data.item_ids
        all_items = np.arange(len(ids))
        pairs = [(number, all_items) for number in range(len(data.query_ids))]
    else:
        ids = list(dict.fromkeys(item for top in tops.values() for item in top))
        row_of = {item: row for row, item in enumerate(ids)}
        rows = {query: np.array([row_of[item] for item in top], np.intp) for query, top in tops.items()}
        pairs = [(number, rows[query]) for number, query in enumerate(data.query_ids) if query in rows]
    counted = count_truncated_pairs(scorer, data.query_texts, data.texts_of(ids), pairs)
    return tuple(warnings_of({"pairs of a query and an item": counted}, _name(scorer)))


def _checkpoint(name: str, data: RankingData) -> Checkpoint:
    written = json.dumps([name, data.data_inputs()], sort_keys=True)
    return Checkpoint(hashlib.sha256(written.encode()).hexdigest())
