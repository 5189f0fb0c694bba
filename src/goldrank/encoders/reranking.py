"""Rerank the top of a run with a pair scorer, and search in batches; both save checkpoints and resume after a kill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from goldrank.encoders.base import PairScorer, Searcher, check_ids, is_live
from goldrank.encoders.rankings import top_items
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.hits import Floats, Run
from goldrank.io.checkpoints import Checkpoint, adaptive_batches
from goldrank.progress import Progress

# Work between two checkpoints: some seconds for a slow model, and little memory.
_PAIRS = 2048
_QUERIES = 64
_SECONDS = 1.0
# Rankings of an interrupted search that a live searcher is asked for again.
_COMPARED = 16


def rerank(
    run: Run,
    scorer: PairScorer,
    query_texts: Mapping[str, str],
    item_texts: Callable[[list[str]], list[str]],
    depth: int,
    *,
    checkpoint: Checkpoint | None = None,
) -> Run:
    """Return the run with the top *depth* of every ranking ordered by the scorer, and the rest below in its old order.

    Args:
        run: the run to rerank; equal scores are ordered by descending id as in trec_eval.
        scorer: the model that scores pairs of a query and an item.
        query_texts: the texts of the queries, by id.
        item_texts: returns the texts of a list of item ids, in its order.
        depth: how many items of each ranking are scored; they get the scorer's scores, the others lower ones.
        checkpoint: saves the scores as they are computed; its digest must depend on the run, the scorer, the texts and
            the depth. The caller removes it when the result is stored.

    >>> from goldrank.encoders.pair_scorers import load_pair_scorer
    >>> texts = {"a": "red wine", "b": "white wine", "c": "beer"}
    >>> first = Run({"q": {"b": 3.0, "a": 2.0, "c": 1.0}})
    >>> rerank(first, load_pair_scorer("overlap"), {"q": "red wine"}, lambda ids: [texts[i] for i in ids], 2)["q"]
    {'a': 1.0, 'b': 0.3333333333333333, 'c': -0.6666666666666667}
    """
    if depth < 1:
        raise InputError(f"depth={depth} is not a whole number from 1 up", remedy="rerank at least one item")
    tops = {query: list(top_items(ranking, depth)) for query, ranking in run.items()}
    missing = [query for query in tops if query not in query_texts]
    if missing:
        raise InputError(
            f"{len(missing)} queries of the run have no text, {shorten(missing[0])} for one",
            remedy="give the text of every query that is reranked",
        )
    saved = checkpoint.done() if checkpoint else {}
    # Saved scores of other items are not of this run, although they have its digest.
    scored = {query: saved[query] for query, top in tops.items() if query in saved and saved[query].keys() == set(top)}
    waiting = [query for query in tops if query not in scored]
    with Progress(f"reranking with {shorten(scorer.identity)}", total=len(tops), unit="query") as progress:
        progress.advance(len(scored))
        for batch in _batches(waiting, tops):
            scores = _scores(batch, tops, scorer, query_texts, item_texts)
            if checkpoint:
                checkpoint.add(scores)
            scored.update(scores)
            progress.advance(len(batch))
    rankings = (_joined(scored[query], list(top_items(ranking).items())[depth:]) for query, ranking in run.items())
    return Run.from_rankings(run.queries, rankings, "the reranked run")


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
    by_query: dict[str, dict[str, float]] = {query: {} for query in queries}
    for (query, item), score in zip(pairs, scores.tolist(), strict=True):
        by_query[query][item] = score
    return by_query


def _joined(top: Mapping[str, float], rest: Sequence[tuple[str, float]]) -> tuple[list[str], Floats]:
    """Return the reranked items, then the others in steps below them; equal scores of the others stay equal."""
    joined = top_items(top)
    low = min(joined.values(), default=0.0)
    # A step that rounding does not lose beside a large score.
    step = max(1.0, abs(low) * 2.0**-40)
    previous: float | None = None
    for item, score in rest:
        if score != previous:
            low, previous = low - step, score
        joined[item] = low
    return list(joined), np.array(list(joined.values()), np.float64)


def search_resuming(
    searcher: Searcher, ids: Sequence[str], texts: Sequence[str], k: int, checkpoint: Checkpoint | None
) -> tuple[Run, list[str]]:
    """Return the run of ``searcher.search``, saved in small batches, so that a kill loses only seconds of work.

    A live searcher is asked again for some of the saved rankings; if one differs, all are removed.

    Args:
        searcher: The model.
        ids: The ids of the queries.
        texts: The texts of the queries.
        k: How many items of each ranking are wanted.
        checkpoint: Where the rankings are saved; its digest must depend on the searcher, the corpus, the texts of the
            queries and *k*. The caller removes it when the result is stored. None if the searcher cannot be resumed.

    Returns:
        The run, and remarks on what was taken from the checkpoint of a live searcher.
    """
    if getattr(searcher, "instant", False):
        return searcher.search(ids, texts, k), []
    check_ids(ids, texts)
    rankings = {} if checkpoint is None else checkpoint.done()
    text_of = dict(zip(ids, texts, strict=True))
    remarks: list[str] = []
    if checkpoint is not None and is_live(searcher):
        saved = [query for query in ids if query in rankings]
        compared = saved[:: -(-len(saved) // _COMPARED) or 1]
        again = searcher.search(compared, [text_of[query] for query in compared], k) if compared else {}
        if any(again[query] != rankings[query] for query in compared):
            checkpoint.remove()
            rankings = {}
            remarks.append("an interrupted evaluation was started again, because the answers have changed since")
        elif compared:
            remarks.append(
                f"{len(saved)} of {len(ids)} rankings are from an interrupted evaluation; {len(compared)} of them were "
                "requested again and had not changed"
            )
    waiting = [(query, text) for query, text in text_of.items() if query not in rankings]
    with Progress("searching", total=len(ids), unit="query") as progress:
        progress.advance(len(ids) - len(waiting))
        for batch in adaptive_batches(waiting, _QUERIES, _SECONDS):
            run = searcher.search([query for query, _ in batch], [text for _, text in batch], k)
            if checkpoint is not None:
                checkpoint.add(run)
            rankings.update(run)
            progress.advance(len(batch))
    return Run({query: rankings[query] for query in ids}), remarks
