"""Rank by vectors: encode, transform and search, with one vector or several per document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from goldrank.encoders.base import Encoder, Fitted, Side
from goldrank.engines.base import usable_cores
from goldrank.errors import DataWarning, shorten
from goldrank.hits import Floats, Hits, Ints, Run
from goldrank.index.base import Index, Similarity, build, checked_similarity
from goldrank.index.exact.index import ExactIndex, exact_index
from goldrank.index.exact.vectors import is_mapped, spread
from goldrank.index.multivector import MultiVectors, multivector_scores
from goldrank.metrics import find_profile
from goldrank.scoring import HitCounter, resolve_conventions
from goldrank.tasks.ranking.chunks import MOST_RESULTS
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.encoding import Encoding, vocabulary_vectors
from goldrank.tasks.ranking.evaluation import Ranked
from goldrank.tasks.ranking.out_of_vocabulary import KnownTexts, with_mean
from goldrank.tasks.ranking.preflight import (
    refuse_training_texts,
    refuse_unfit_for_pieces,
    without_unevaluated_articles,
)
from goldrank.tasks.ranking.self_matches import hits_beside_own, rows_by_name
from goldrank.vectors.similarity import normalised
from goldrank.vectors.transforms import FIT_ON, Pipeline

_TOP = 1000
EXACT = ("exact", "cuda")
"""The indexes that count the exact ranks of gold over all items."""
_NORMALISED_AT_ONCE = 1 << 9
_CHECKED_AT_ONCE = 1 << 14


def rank_by_vectors(encoder: Encoder, data: RankingData) -> Ranked:
    """Rank by vectors; the result has hits if gold was counted over all items without ranking them."""
    if data.settings.scoring != "single":
        return _rank_pieces(Encoding.of(encoder, data.item_texts if isinstance(encoder, Fitted) else ()), data)
    by_id = getattr(encoder, "by", None) == "id"
    known_texts = KnownTexts.of(encoder, data)
    if isinstance(encoder, Fitted):
        encode, items = Encoding.fitted(encoder, data.item_texts)
    else:
        encode = Encoding.of(encoder, ())
        batches = [data.item_ids] if by_id else data.item_batches()
        items = _stacked((encode(batch, "item") for batch in batches), len(data.item_ids))
    own_rows = rows_of(data.query_ids, data.item_ids) if data.queries_are_items else None
    queries = encoded_queries(encode, data) if own_rows is None else items[own_rows]
    sides = Sides(items, data.item_ids, queries, data.query_ids)
    if known_texts is not None:
        sides = sides.only(known_texts)
        if not len(sides.item_ids) or not len(sides.query_ids):
            return replace(_nothing_known(known_texts, data), warnings=tuple(encode.warnings()))
    sides, remarks = _transformed(sides, known_texts, encode, data)
    warnings = (*encode.warnings(), *(_zero_vectors(sides, encode) if data.settings.similarity == "cosine" else ()))
    run, hits = _searched(sides, known_texts, data, owned=encode.gives_copies)
    if data.chunks is not None and data.settings.index not in EXACT:
        searched = data.chunks.enough(data.depth)
        remarks.append(f"documents are ranked by the best of the {searched} chunks that {data.settings.index} found")
    return Ranked(run, hits, (*remarks, *encode.remarks), warnings)


@dataclass(frozen=True, eq=False)
class Sides:
    """The vectors of items and queries with their ids."""

    items: Any
    item_ids: list[str]
    queries: Any
    query_ids: list[str]

    def only(self, known_texts: KnownTexts) -> Sides:
        """Return the items and queries of which the model knows a word."""
        items, queries = np.flatnonzero(known_texts.items), np.flatnonzero(known_texts.queries)
        item_ids = [self.item_ids[row] for row in items.tolist()]
        return Sides(self.items[items], item_ids, self.queries[queries], [self.query_ids[row] for row in queries])

    def changed(self, change: Callable[[Any], Any]) -> Sides:
        """Return the same with *change* applied to all vectors."""
        return replace(self, items=change(self.items), queries=change(self.queries))


def _zero_vectors(sides: Sides, encode: Encoding) -> Iterator[DataWarning]:
    """Warn of vectors of length 0, which have no direction and so no cosine."""
    for vectors, ids, noun in ((sides.items, sides.item_ids, "items"), (sides.queries, sides.query_ids, "queries")):
        rows = [row for start in range(0, len(ids), _CHECKED_AT_ONCE) for row in _zero_rows(vectors, start)]
        if rows:
            yield DataWarning(
                "zero-vectors",
                f"{len(rows)} of {len(ids)} {noun} have a vector of length 0, whose cosine counts as 0 "
                f"({shorten(ids[rows[0]])} is the first).",
                str(getattr(encode.encoder, "spec", "")),
                "Check these texts or vectors, or leave them out.",
            )


def _zero_rows(vectors: Any, start: int) -> list[int]:
    block = vectors[start : start + _CHECKED_AT_ONCE]
    empty = np.diff(block.indptr) == 0 if hasattr(block, "indptr") else ~np.any(block, axis=1)
    return [start + row for row in np.flatnonzero(empty).tolist()]


def encoded_queries(encode: Encoding, data: RankingData) -> Any:
    """Return the vectors of the queries."""
    by_id = getattr(encode.encoder, "by", None) == "id"
    return encode(data.query_ids if by_id else data.query_texts, _query_side(data), role="query")


def _query_side(data: RankingData) -> Side:
    # Articles that serve as queries are encoded as items: a prompt meant for questions would set them apart.
    return "item" if data.related else "query"


def _stacked(parts: Iterable[Any], count: int) -> Any:
    """Return all rows in one matrix, which is allocated once and filled."""
    rest = iter(parts)
    first = next(rest)
    if hasattr(first, "tocsr"):
        from scipy.sparse import vstack

        return vstack([first, *rest], format="csr")
    if len(first) == count:
        return first
    whole = np.empty((count, first.shape[1]), np.float32)
    start = 0
    for part in chain([first], rest):
        whole[start : start + len(part)] = part
        start += len(part)
    return whole


def _transformed(
    sides: Sides, known_texts: KnownTexts | None, encode: Encoding, data: RankingData
) -> tuple[Sides, list[str]]:
    pipeline = Pipeline.parse(data.settings.transform)
    learnt_from, remarks = sides.items, []
    if pipeline.steps:
        if pipeline.learns:
            learnt_from = fitting_rows(sides, encode, data)
            pipeline.fit(learnt_from)
        sides, remarks = sides.changed(pipeline.apply), list(pipeline.notes)
        learnt_from = pipeline.apply(learnt_from)
    if known_texts is not None:
        remarks.append(known_texts.remark(data))
        if not known_texts.leaves_out:
            mean = np.asarray(learnt_from.mean(axis=0, dtype=np.float64)).ravel()
            items, queries = (
                with_mean(vectors, known, mean)
                for vectors, known in ((sides.items, known_texts.items), (sides.queries, known_texts.queries))
            )
            sides = Sides(items, data.item_ids, queries, data.query_ids)
    return sides, remarks


def fitting_rows(sides: Sides, encode: Encoding, data: RankingData) -> Any:
    """Return the vectors that a transform is fitted on; never the queries unless the settings name them."""
    policy = data.settings.fit_on
    if policy == "vocabulary":
        return vocabulary_vectors(encode.encoder)
    if policy not in FIT_ON:
        from goldrank.data.texts import read_texts

        return encode(read_texts(policy).texts, "item", role="fitting")
    refuse_training_texts(policy)
    if not data.related:
        return sides.queries if policy == "evaluated" else sides.items
    if policy == "evaluated":
        return sides.items
    evaluated = set(data.collection.gold.queries)
    corpus = sides.items[[row for row, item in enumerate(sides.item_ids) if data.document_of(item) not in evaluated]]
    if corpus.shape[0] < 2:
        raise without_unevaluated_articles()
    return corpus


def _nothing_known(known_texts: KnownTexts, data: RankingData) -> Ranked:
    run = Run.view({query: {} for query in data.query_ids})
    hits = run.hits(data.gold, drop_self=data.collection.related, corpus=data.corpus)
    # Self-matches are excluded here too, which decides the last rank.
    hits = replace(hits, dropped_self=len(data.query_ids) if data.collection.related else 0)
    return Ranked(run, known_texts.settle(data, hits), (known_texts.remark(data),))


def _searched(
    sides: Sides, known_texts: KnownTexts | None, data: RankingData, *, owned: bool
) -> tuple[Run, Hits | None]:
    settings, ids = data.settings, sides.query_ids
    left_out = known_texts if known_texts is not None and known_texts.leaves_out else None
    similarity = checked_similarity(settings.similarity)
    if settings.index not in EXACT:
        index = build(settings.index, sides.items, sides.item_ids, similarity)
        run = _top(index, sides, min(data.depth, len(sides.item_ids)), data)
        return run, _of_known(left_out, data, run)
    items, queries = sides.items, sides.queries
    if similarity == "cosine" and not hasattr(items, "tocsr") and not is_mapped(items):
        # Normalise once instead of for every block of queries; the products are the same. Memory-mapped vectors may
        # be larger than memory: the index normalises each of their blocks as it reads it.
        items, similarity = _unit_rows(items, owned), "dot"
        same = data.queries_are_items
        queries = items[rows_of(ids, sides.item_ids)] if same else normalised(queries)
    exact = _exact(settings.index, items, sides.item_ids, similarity)
    return ranked(exact, Sides(items, sides.item_ids, queries, ids), left_out, data)


def _exact(spec: str, items: Any, ids: list[str], similarity: Similarity) -> ExactIndex:
    """Return the index that counts exactly, on the CPU or on a GPU."""
    if spec == "exact":
        return exact_index(items, ids, similarity)
    index = build(spec, items, ids, similarity)
    assert isinstance(index, ExactIndex)
    return index


def ranked(exact: ExactIndex, sides: Sides, left_out: KnownTexts | None, data: RankingData) -> tuple[Run, Hits | None]:
    """Rank to the depth of the settings; if that is too much to keep, count the gold and rank the top on demand.

    Args:
        exact: an exact index over the items.
        sides: the vectors of the index, and the queries.
        left_out: which texts the model knows, if the others are left out of the ranking.
        data: the items, queries and settings.
    """
    depth, queries, ids = data.depth, sides.queries, sides.query_ids
    if not counts_gold(data, len(ids)):
        run = _top(exact, sides, depth, data)
        return run, _of_known(left_out, data, run)
    if data.collection.related:
        hits = hits_beside_own(exact, sides.items, queries, ids, data.gold)
    else:
        hits = exact.exact_hits(queries, data.gold, query_ids=ids)
    run = Run.deferred(lambda k: exact.top_k(queries, k, query_ids=ids), min(_TOP, depth))
    return run, hits if left_out is None else left_out.settle(data, hits)


def _top(index: Index, sides: Sides, depth: int, data: RankingData) -> Run:
    """Return the best *depth* items of each query, or the best documents if the items are chunks."""
    queries, ids = sides.queries, sides.query_ids
    if data.chunks is None:
        return index.top_k(queries, depth, query_ids=ids)
    return data.chunks.best_of_parts(
        lambda part, enough: index.top_k(queries[part], enough, query_ids=ids[part]), len(ids), depth
    )


def counts_gold(data: RankingData, queries: int) -> bool:
    """Return whether exact ranks of the gold are counted, because full rankings are not kept."""
    return data.chunks is None and (data.task.kind == "evalrank" or data.depth * queries > MOST_RESULTS)


def _of_known(left_out: KnownTexts | None, data: RankingData, run: Run) -> Hits | None:
    """Return hits if the run alone does not show which gold is to be skipped."""
    if left_out is None or left_out.policy == "miss":
        return None
    conventions = resolve_conventions(find_profile("standard"), data.task.conventions)
    return left_out.settle(data, HitCounter(data.gold, run, data.corpus).count(conventions))


def rows_of(names: list[str], ids: list[str]) -> Any:
    """Return the position of each name among the ids."""
    row = rows_by_name(names, ids)
    return np.array([row[name] for name in names], np.int64)


def _unit_rows(vectors: Any, owned: bool) -> Any:
    """Return normalised rows; in place if the caller owns the vectors."""
    vectors = np.asarray(vectors)
    in_place = owned and vectors.flags.writeable and vectors.dtype == np.float32
    units = vectors if in_place else np.empty(vectors.shape, np.float32 if vectors.dtype.itemsize <= 4 else np.float64)

    def normalise(start: int) -> None:
        part = slice(start, start + _NORMALISED_AT_ONCE)
        units[part] = normalised(np.asarray(vectors[part], units.dtype))

    for _ in spread(normalise, range(0, len(units), _NORMALISED_AT_ONCE), usable_cores()):
        pass
    return units


def _rank_pieces(encode: Encoding, data: RankingData) -> Ranked:
    """Rank documents of several vectors: sections for max_sim, sentences in sections for SDR's score."""
    settings = data.settings
    scoring, cosine = settings.scoring, settings.similarity == "cosine"
    refuse_unfit_for_pieces(settings, sparse=False)

    def nested(documents: Iterable[Any], rule: Any, side: Side, role: str) -> list[list[Any]]:
        pieces = [rule.sentences(document) if scoring == "sdr" else [rule.passages(document)] for document in documents]
        flat = [text for sections in pieces for section in sections for text in section]
        vectors, at, by_document = encode(flat, side, role=role), 0, []
        refuse_unfit_for_pieces(settings, sparse=hasattr(vectors, "tocsr"))
        for sections in pieces:
            by_section = []
            for section in sections:
                by_section.append(vectors[at : at + len(section)])
                at += len(section)
            by_document.append(by_section)
        return by_document

    items = MultiVectors.nested(
        nested(data.collection.items, data.text_rule, "item", "item"), data.item_ids, cosine=cosine
    )
    queries = MultiVectors.nested(
        nested(data.query_documents, data.query_rule, _query_side(data), "query"), data.query_ids, cosine=cosine
    )
    scores = multivector_scores(queries, items, scoring)
    run = best_of(scores, data.query_ids, data.item_ids, data.depth)
    pieces = "sentences" if scoring == "sdr" else "sections"
    warnings = tuple(encode.warnings(f"{pieces} of items", f"{pieces} of queries"))
    return Ranked(run, remarks=encode.remarks, warnings=warnings)


def best_of(scores: Any, query_ids: list[str], item_ids: list[str], depth: int) -> Run:
    """Return the best *depth* items of each row of scores, ties by descending id; scores of -inf are left out."""
    by_id = np.array(sorted(range(len(item_ids)), key=item_ids.__getitem__, reverse=True), np.int64)

    def best(row: Any) -> tuple[Ints, Floats]:
        order = by_id[np.argsort(-row[by_id], kind="stable")][:depth]
        finite = order[np.isfinite(row[order])]
        return finite, row[finite]

    return Run.from_positions(query_ids, item_ids, map(best, scores), "the scores")
