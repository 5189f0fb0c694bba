"""Second looks and long searches: rerank the top of a run with a pair scorer, and go on after a kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from goldrank.encoders.base import PairScorer, Searcher, refuse_ids
from goldrank.encoders.rankings import best
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.hits import Run
from goldrank.io.checkpoints import Checkpoint
from goldrank.progress import Progress

# What is scored between two checkpoints: some seconds of work for a slow model, and little memory.
_PAIRS = 2048
_QUERIES = 64
_SECONDS = 1.0


def rerank(
    run: Run,
    scorer: PairScorer,
    query_texts: Mapping[str, str],
    item_texts: Callable[[list[str]], list[str]],
    depth: int,
    *,
    checkpoint: Checkpoint | None = None,
) -> Run:
    """The same run with the top *depth* of every ranking ordered by the scorer, and the rest below in its old order.

    Args:
        run: the first ranking; equal scores are ordered by descending id as in trec_eval.
        scorer: the model that takes the second look.
        query_texts: the texts of the queries, by id.
        item_texts: gives the texts of items, by id and in that order.
        depth: how many of each ranking are scored; these keep the scorer's scores, the others get lower ones.
        checkpoint: where scores are kept as they come; its digest must name the run, the scorer, the texts and the
            depth. The caller removes it once the result is stored.

    >>> from goldrank.encoders.pair_scorers import load_pair_scorer
    >>> texts = {"a": "red wine", "b": "white wine", "c": "beer"}
    >>> first = Run({"q": {"b": 3.0, "a": 2.0, "c": 1.0}})
    >>> rerank(first, load_pair_scorer("overlap"), {"q": "red wine"}, lambda ids: [texts[i] for i in ids], 2)["q"]
    {'a': 1.0, 'b': 0.3333333333333333, 'c': -0.6666666666666667}
    """
    if depth < 1:
        raise InputError(f"depth={depth} is not a whole number from 1 up", remedy="rerank at least one item")
    rankings = {query: best(ranking, len(ranking)) for query, ranking in run.to_dict().items()}
    tops = {query: list(ranking)[:depth] for query, ranking in rankings.items()}
    missing = [query for query in tops if query not in query_texts]
    if missing:
        raise InputError(
            f"{len(missing)} queries of the run have no text, {shorten(missing[0])} for one",
            remedy="give the text of every query that is reranked",
        )
    kept = checkpoint.done() if checkpoint else {}
    # A ranking kept under this digest that is of other items is not of this run.
    scored = {query: kept[query] for query, top in tops.items() if query in kept and kept[query].keys() == set(top)}
    waiting = [query for query in tops if query not in scored]
    with Progress(f"reranking with {shorten(scorer.identity)}", total=len(tops), unit="query") as progress:
        progress.advance(len(scored))
        for batch in _batches(waiting, tops):
            made = _scores(batch, tops, scorer, query_texts, item_texts)
            if checkpoint:
                checkpoint.add(made)
            scored.update(made)
            progress.advance(len(batch))
    return Run({query: _joined(scored[query], list(ranking.items())[depth:]) for query, ranking in rankings.items()})


def _batches(queries: Sequence[str], tops: Mapping[str, list[str]]) -> list[list[str]]:
    batches: list[list[str]] = []
    pairs = 0
    for query in queries:
        if not batches or pairs + len(tops[query]) > _PAIRS:
            batches.append([])
            pairs = 0
        batches[-1].append(query)
        pairs += len(tops[query])
    return batches


def _scores(
    queries: list[str],
    tops: Mapping[str, list[str]],
    scorer: PairScorer,
    query_texts: Mapping[str, str],
    item_texts: Callable[[list[str]], list[str]],
) -> dict[str, dict[str, float]]:
    wanted = list(dict.fromkeys(item for query in queries for item in tops[query]))
    texts = item_texts(wanted)
    if len(texts) != len(wanted):
        raise GoldrankError(f"{len(texts)} texts were given for {len(wanted)} items")
    text_of = dict(zip(wanted, texts, strict=True))
    pairs = [(query, item) for query in queries for item in tops[query]]
    scores = scorer.score_pairs([query_texts[query] for query, _ in pairs], [text_of[item] for _, item in pairs])
    if len(scores) != len(pairs):
        raise GoldrankError(f"{scorer.identity} gave {len(scores)} scores for {len(pairs)} pairs")
    made: dict[str, dict[str, float]] = {query: {} for query in queries}
    for (query, item), score in zip(pairs, scores.tolist(), strict=True):
        made[query][item] = score
    return made


def _joined(top: Mapping[str, float], rest: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The reranked items, then the others one step below each other; those that were equal stay equal."""
    joined = best(top, len(top))
    low = min(joined.values(), default=0.0)
    # A step that is not lost in rounding beside a large score.
    step = max(1.0, abs(low) * 2.0**-40)
    before: float | None = None
    for item, score in rest:
        if score != before:
            low, before = low - step, score
        joined[item] = low
    return joined


def search_resuming(
    searcher: Searcher, ids: Sequence[str], texts: Sequence[str], k: int, checkpoint: Checkpoint
) -> Run:
    """What ``searcher.search`` gives, a few queries at a time and each batch kept, so that a kill loses seconds.

    The digest of the checkpoint must name the searcher, the corpus, the texts of the queries and *k*; the caller
    removes it once the result is stored.
    """
    if getattr(searcher, "instant", False):
        return searcher.search(ids, texts, k)
    refuse_ids(ids, texts)
    rankings = checkpoint.done()
    waiting = [(query, text) for query, text in zip(ids, texts, strict=True) if query not in rankings]
    with Progress("searching", total=len(ids), unit="query") as progress:
        progress.advance(len(ids) - len(waiting))
        start, size = 0, 1
        while start < len(waiting):
            batch = waiting[start : start + size]
            began = time.monotonic()
            made = searcher.search([query for query, _ in batch], [text for _, text in batch], k).to_dict()
            checkpoint.add(made)
            rankings.update(made)
            progress.advance(len(batch))
            start += size
            # More at a time while that takes no time worth losing, and fewer once it does.
            quick = time.monotonic() - began < _SECONDS
            size = min(2 * size, _QUERIES) if quick else max(1, size // 2)
    return Run({query: rankings[query] for query in ids})
