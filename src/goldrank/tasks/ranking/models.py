"""Model: anything that ranks the items of a task, loaded from a spec, a function or an object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from goldrank import encoders
from goldrank.data_warnings import id_warnings
from goldrank.encoders.base import Encoder, PairScorer, Searcher, can_resume, is_live
from goldrank.encoders.pair_scorers import PAIR_KINDS, load_pair_scorer
from goldrank.encoders.rankings import ExternalSearcher, top_items
from goldrank.encoders.reranking import rerank, search_resuming
from goldrank.encoders.run_file import RunFile
from goldrank.encoders.search_function import SearchFunction
from goldrank.encoders.truncation import count_truncated_pairs, warnings_of
from goldrank.errors import DataWarning, InputError, counts
from goldrank.fusion import Fusion, is_fusion
from goldrank.hits import Gold, Run
from goldrank.io.checkpoints import Checkpoint
from goldrank.io.columns import Columns
from goldrank.redaction import redact
from goldrank.specs import Spec
from goldrank.tasks.presets import find_preset
from goldrank.tasks.ranking.by_vectors import best_of, rank_by_vectors
from goldrank.tasks.ranking.chunks import ChunkScorer, ChunkSearcher, first_chunk_of, with_chunks
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.evaluation import Ranked
from goldrank.tasks.ranking.preflight import check_encoder, with_own_items
from goldrank.tasks.task import PartCost
from goldrank.vectors.cache import measure_seconds

_WHOLE = "it ranks documents of its own, which are not cut into chunks"


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
    reads_items: bool = True
    """Whether it reads the texts of the items, so that these can be cut into chunks."""
    check: Callable[[RankingData], None] = lambda data: None
    """Raises InputError if the model cannot be evaluated on the data and this is known before any work."""
    needs_texts: bool = True
    """Whether it reads texts; rankings and vectors of files are looked up by ids."""
    live: bool = False
    """Whether the model may change while its identity stays the same, so that stored results may be out of date."""
    live_encoders: tuple[Encoder, ...] = ()
    """The live encoders that it consists of."""

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
        return not self.needs_texts


def load_model(model: Any, *, name: str | None = None, id: str | Callable[[Any], Any] | None = None) -> Model:
    """Load the model of a spec, or wrap an object or function as a model.

    Args:
        model: A spec; a function from texts to vectors, or from (query, k) to a ranking; or an object: one with
            ``encode``, such as a SentenceTransformer, one with ``search(query, k)``, or a retriever of LangChain,
            LlamaIndex or Haystack.
        name: The name in tables and keys; by default the spec, or the class of an object.
        id: Of a model that returns documents: the field with the ids of the items, such as ``"source"``, or a function
            from a document to the id. By default, the first field that holds ids of the evaluated items.

    Raises:
        InputError: The model is unknown, or the object is not a model.

    >>> load_model("fuse:rrf(bm25,random:8)").spec
    'fuse:rrf(bm25,random:8)'
    """
    if name is not None:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"the name of a model is {name!r}", remedy="give a text")
        return replace(load_model(model, id=id), spec=name)
    if id is not None:
        if isinstance(model, (str, Model, Searcher)):
            raise InputError(
                "id has no effect on this model",
                remedy="give the retriever itself; in a spec: search:module:name(id=…)",
            )
        model = encoders.searcher(model, id)
    if isinstance(model, Model):
        return model
    if isinstance(model, str) and is_fusion(model):
        return _fused(Fusion.parse(model))
    if isinstance(model, str) and Spec.parse(model).kind in PAIR_KINDS:
        model = load_pair_scorer(model)
    if isinstance(model, PairScorer):
        pairs = _PairSearch(model)
        return Model(_name(model), model.identity, lambda data: _rank_by_search(pairs, data), live=is_live(model))
    loaded = encoders.load(model)
    spec = model if isinstance(model, str) else _name(loaded)
    if isinstance(loaded, Searcher):
        return Model(
            spec,
            loaded.identity,
            lambda data: _rank_by_search(loaded, data),
            reads_items=not isinstance(loaded, ExternalSearcher),
            needs_texts=not isinstance(loaded, RunFile),
            live=is_live(loaded),
        )
    return _encoder_model(spec, loaded)


def _encoder_model(spec: str, encoder: Encoder) -> Model:
    """Return the model that ranks by the vectors of an encoder."""
    by_id, live = _is_by_id(encoder), is_live(encoder)
    return Model(
        spec,
        encoder.identity,
        partial(_rank_by_encoder, encoder),
        uses_vectors=True,
        encoder=encoder,
        reads_items=not by_id,
        check=lambda data: check_encoder(encoder, data if by_id else data.in_chunks),
        needs_texts=not by_id,
        live=live,
        live_encoders=(encoder,) if live else (),
    )


def _is_by_id(encoder: Encoder) -> bool:
    return getattr(encoder, "by", None) == "id"


def _rank_by_encoder(encoder: Encoder, data: RankingData) -> Ranked:
    if not data.collection.has_corpus:
        return _rank_own_items(encoder, data)
    if _is_by_id(encoder) and data.settings.chunk != "none":
        whole = _rank_by_encoder(encoder, replace(data, settings=replace(data.settings, chunk="none")))
        return replace(whole, remarks=(*whole.remarks, _WHOLE))
    data = data.in_chunks
    if data.sharding is not None:
        from goldrank.tasks.ranking.by_shards import rank_in_shards

        return rank_in_shards(encoder, data, data.sharding)
    return rank_by_vectors(encoder, data)


def _rank_own_items(encoder: Any, data: RankingData) -> Ranked:
    """Rank all vectors of a file for the queries of gold alone; the query itself is left out if it is one of them."""
    ids = encoder.row_ids()
    ranked = rank_by_vectors(encoder, with_own_items(encoder, data))
    remarks = [*ranked.remarks, f"{len(ids)} items, all rows of the vectors"]
    warnings = (*ranked.warnings, *_gold_without_vector(data, set(ids), str(encoder.spec)))
    if encoder.has_own_queries:
        return replace(ranked, remarks=tuple(remarks), warnings=warnings)
    rankings = {
        query: {item: score for item, score in ranking.items() if item != query}
        for query, ranking in ranked.run.items()
    }
    remarks.append("queries are rows of the same vectors, and each is left out of its own ranking")
    warnings += tuple(_gold_of_itself(data.gold.columns, str(encoder.spec)))
    return Ranked(Run(rankings), None, tuple(remarks), warnings)


def _gold_of_itself(gold: Columns, subject: str) -> Iterator[DataWarning]:
    own = sum(gold.items[rows].count(query) for query, rows in gold.rows_by_query())
    if own:
        yield DataWarning(
            "gold-is-query",
            f"{own} of {counts(len(gold.items), 'gold pair')} {'names' if own == 1 else 'name'} the query itself, "
            "which is left out of its ranking and cannot be found.",
            subject,
            "If the queries have vectors of their own, write vectors:ITEMS(queries=FILE), in Python "
            '{"items": …, "queries": …}.',
        )


def _gold_without_vector(data: RankingData, ids: set[str], subject: str) -> Iterator[DataWarning]:
    outside = [item for item in data.gold.columns.items if item not in ids]
    if outside:
        total = counts(len(data.gold.columns.items), "gold pair")
        yield DataWarning(
            "gold-outside-corpus",
            f"{len(outside)} of {total} name an item that has no vector, such as {outside[0]!r}: it cannot be found.",
            subject,
            "Check that gold and vectors use the same ids; without ids, rows are numbered from 0.",
        )


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
        first, cost = _rank_part(model, data)
        texts = dict(zip(data.query_ids, data.query_texts, strict=True))
        # The scores of a live scorer may have changed since a checkpoint was saved.
        checkpoint = None if live else _checkpoint(f"rerank {model.identity} {loaded.identity} {depth}", data)
        tops = _tops(first.run, depth)
        if data.in_chunks is data:
            run = rerank(first.run, loaded, texts, data.texts_of, depth, checkpoint=checkpoint)
        else:
            data = data.in_chunks
            by_chunk = ChunkScorer(loaded, data)
            run = rerank(first.run, by_chunk, texts, lambda ids: ids, depth, checkpoint=checkpoint)
            run = with_chunks(run, lambda query, item: by_chunk.best_chunk.get((texts[query], item), ""))
            tops = {query: by_chunk.chunks_of(top) for query, top in tops.items()}
        warnings = (*first.warnings, *_truncated_pairs(loaded, data, tops))
        return Ranked(run, None, first.remarks, warnings, (*first.checkpoints, *filter(None, [checkpoint])), (cost,))

    live = is_live(loaded)
    identity = f"{model.identity} reranked {depth} by {loaded.identity}"
    return Model(
        name,
        identity,
        rank,
        model.uses_vectors,
        check=model.check,
        live=model.live or live,
        live_encoders=model.live_encoders,
    )


def _name(model: Any) -> str:
    return str(getattr(model, "spec", None) or model.identity)


def _fused(fusion: Fusion) -> Model:
    parts = [load_model(part) for part in fusion.parts]

    def rank(data: RankingData) -> Ranked:
        ranked, costs = zip(*(_rank_part(part, data) for part in parts), strict=True)
        runs = [each.run for each in ranked]
        run = replace(fusion, depth=fusion.depth or data.depth).fuse(runs)
        if data.in_chunks is not data:
            run = with_chunks(run, first_chunk_of(runs))
        named = zip((part.spec for part in parts), ranked, strict=True)
        return Ranked(
            run,
            None,
            tuple(f"{name}: {remark}" for name, each in named for remark in each.remarks),
            tuple(warning for each in ranked for warning in each.warnings),
            tuple(checkpoint for each in ranked for checkpoint in each.checkpoints),
            costs,
        )

    identity = f"{fusion} of " + "; ".join(part.identity for part in parts)

    def check(data: RankingData) -> None:
        for part in parts:
            part.check(data)

    return Model(
        str(fusion),
        identity,
        rank,
        any(part.uses_vectors for part in parts),
        reads_items=any(part.reads_items for part in parts),
        check=check,
        needs_texts=any(part.needs_texts for part in parts),
        live=any(part.live for part in parts),
        live_encoders=tuple(encoder for part in parts for encoder in part.live_encoders),
    )


def _rank_part(part: Model, data: RankingData) -> tuple[Ranked, PartCost]:
    """Rank with a part of a composed model, and measure what it takes."""
    with measure_seconds() as elapsed:
        ranked = part.rank(data)
    return ranked, PartCost(data.part_inputs(part), elapsed.seconds, ranked.parts)


class _PairSearch:
    """A pair scorer as a searcher: it scores every item for every query, and keeps the best."""

    def __init__(self, scorer: PairScorer) -> None:
        self.scorer = scorer
        self.identity = scorer.identity
        self.live = is_live(scorer)

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Keep the ids and texts of the corpus."""
        self._ids, self._texts = list(ids), list(texts)

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best items of each query."""
        scores = [self.scorer.score_pairs([text] * len(self._texts), self._texts) for text in texts]
        return best_of(np.array(scores), list(ids), self._ids, k)


def _rank_by_search(searcher: Searcher, data: RankingData) -> Ranked:
    known_corpus, depth, search = data.collection.has_corpus, data.depth, searcher
    checkpoint = _checkpoint(f"search {searcher.identity}", data) if can_resume(searcher) else None
    cuts = data.settings.chunk != "none" and not isinstance(searcher, ExternalSearcher)
    whole = [_WHOLE] if data.settings.chunk != "none" and not cuts else []
    if cuts and (data := data.in_chunks).chunks is not None:
        search = ChunkSearcher(searcher, data.chunks)
    if known_corpus:
        search.index(data.item_ids, data.item_texts)
    run, remarks = search_resuming(search, data.query_ids, data.query_texts, depth, checkpoint)
    if isinstance(search, ChunkSearcher):
        run = search.with_chunks(run)
    remarks = [*remarks, *whole]
    unknown = getattr(searcher, "unknown", ())
    if unknown and known_corpus:
        remarks.append(f"{len(unknown)} ranked ids are not items, and keep their ranks")
    if reading := getattr(searcher, "reading", ""):
        remarks.append(reading)
    if isinstance(searcher, SearchFunction):
        remarks += searcher.remarks(max(map(len, run.values()), default=0), data.depth)
    if data.sharding is not None:
        engine = data.sharding.engine.name
        remarks.append(f"ranked on this machine, not by {engine}: it has no vectors to distribute")
    warnings: tuple[DataWarning, ...] = ()
    if isinstance(searcher, _PairSearch):
        warnings = _truncated_pairs(searcher.scorer, data, None)
    elif isinstance(searcher, RunFile) and not known_corpus:
        gold = Gold.from_columns(data.collection.gold)
        hits = searcher.run.hits(gold)
        warnings = tuple(id_warnings(gold, searcher.run, hits, str(searcher.spec)))
        if hits.ignored_queries:
            remarks.append(f"{counts(hits.ignored_queries, 'query', 'queries')} without gold ignored")
    return Ranked(run, None, tuple(remarks), warnings, tuple(filter(None, [checkpoint])))


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
