"""Choose example queries on which runs differ most, with the items that each run ranked above the gold."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Hits
from goldrank.metrics import Conventions
from goldrank.reporting.document.sections import Answer, Case, GoldItem, Passage, RankRange, Rival
from goldrank.scoring import Scores
from goldrank.store import Store, StoredRun
from goldrank.store.tables import Load
from goldrank.store.texts import Side

LONGEST = 3_000
"""Maximum number of characters of a text in a report: enough to judge it, without large files."""
_GOLD, _RIVALS = 3, 3


def cases_of(
    runs: Mapping[str, StoredRun],
    names: Mapping[str, str],
    hits: Mapping[str, Hits],
    scores: Mapping[str, Scores],
    store: Store,
    count: int,
) -> tuple[Case, ...]:
    """Return the queries on which the first metric of the runs differs most; of one run, its worst queries.

    Args:
        runs: the stored runs by key, with the same gold.
        names: the names of the runs by key.
        hits: the hits by key.
        scores: the scores by key.
        store: the store of the texts.
        count: the maximum number of queries.
    """
    first = next(iter(scores.values()))
    metric = next(iter(first))
    values = np.array([scores[key][metric].values for key in runs])
    spread = _spread(values, first)
    order = np.argsort(-spread, kind="stable")[:count]
    places = {query: at for at, query in enumerate(next(iter(hits.values())).queries)}
    cases = []
    parts: dict[Hashable, Any] = {}

    def load(part: Hashable, read: Callable[[], Any]) -> Any:
        """Read each part of a table once, although several queries are looked up in it."""
        if part not in parts:
            parts[part] = read()
        return parts[part]

    for index in order[spread[order] > 0].tolist():
        query = first.placement.queries[index]
        gold, more = _gold_items(hits, places[query], first.conventions)
        answers = tuple(
            _answer(
                runs[key],
                names[key],
                float(values[at, index]),
                query,
                hits[key],
                places[query],
                first.conventions,
                load,
            )
            for at, key in enumerate(runs)
        )
        cases.append(Case(Passage(query), metric, float(spread[index]), gold, more, answers))
    return _with_texts(cases, next(iter(runs.values())), store)


def _spread(values: NDArray[np.float64], scores: Scores) -> NDArray[np.float64]:
    """Return the mean difference of two runs on each query; of a single run, its distance to the best value."""
    definition = next(iter(scores.values())).metric.definition
    if len(values) > 1:
        # With the mean difference, two groups of runs count for more than a single outlier.
        places = np.arange(len(values), dtype=np.float64)[:, None]
        weights = (2 * places - len(values) + 1) / (len(values) * (len(values) - 1) / 2)
        apart = (weights * np.sort(values, axis=0)).sum(axis=0)
        return np.where(np.isnan(values).any(axis=0), -1.0, apart)
    best = 1.0 if definition.range == "[0, 1]" else np.nanmax(values[0], initial=-np.inf)
    lacking = values[0] - np.nanmin(values[0], initial=np.inf) if definition.direction == "lower" else best - values[0]
    return np.where(np.isnan(lacking), -1.0, lacking)


def _rank_of(hits: Hits, row: int, conventions: Conventions) -> RankRange:
    """Return the rank of a judged item in the whole ranking, from 1, under the tie policy."""
    above = int(hits.above[row])
    if above < 0:
        return RankRange(None, None)
    tied = int(hits.tied[row])
    before = {"docid": int(hits.tied_docid[row]), "input": int(hits.tied_input[row]), "pessimistic": tied}
    rank = above + 1 + before.get(conventions.ties, 0)
    return RankRange(rank, above + tied + 1 if conventions.ties == "expected" else rank)


def _gold_items(hits: Mapping[str, Hits], query: int, conventions: Conventions) -> tuple[tuple[GoldItem, ...], int]:
    base = next(iter(hits.values()))
    items = [
        GoldItem(
            Passage(base.items[row]),
            float(base.grade[row]),
            {key: _rank_of(of_run, row, conventions) for key, of_run in hits.items()},
        )
        for row in _relevant_rows(base, query)
    ]
    items.sort(key=lambda item: (-item.grade, _best_rank(item)))
    return tuple(items[:_GOLD]), max(0, len(items) - _GOLD)


def _best_rank(item: GoldItem) -> float:
    return min((place.rank for place in item.places.values() if place.rank is not None), default=math.inf)


def _relevant_rows(hits: Hits, query: int) -> list[int]:
    start, end = hits.starts[query : query + 2].tolist()
    return [row for row in range(start, end) if hits.grade[row] > 0]


def _answer(
    run: StoredRun, name: str, value: float, query: str, hits: Hits, at: int, conventions: Conventions, load: Load
) -> Answer:
    ranks = [_rank_of(hits, row, conventions).rank for row in _relevant_rows(hits, at)]
    best = min((rank for rank in ranks if rank is not None), default=None)
    above = None if best is None else best - 1
    start, end = hits.starts[at : at + 2].tolist()
    grades = {hits.items[row]: float(hits.grade[row]) for row in range(start, end)}
    relevant = {item for item, grade in grades.items() if grade > 0}
    ranking = _ordered(run.ranking(query, load), query, conventions)[:_RIVALS] if above != 0 else []
    rivals, chunks = [], run.chunks(query, load) if ranking else {}
    for rank, (item, score) in enumerate(ranking, 1):
        if item in relevant or (above is not None and rank > above):
            break
        rivals.append(Rival(rank, Passage(item), score, grades.get(item), chunks.get(item, "")))
    return Answer(run.key, name, value, tuple(rivals), above)


def _ordered(ranking: Mapping[str, float], query: str, conventions: Conventions) -> list[tuple[str, float]]:
    """Return a ranking with its ties broken by the conventions, without the query if they drop it."""
    dropped = conventions.self_matches in ("drop", "drop_results", "aside")
    items: Iterable[tuple[str, float]] = ((i, score) for i, score in ranking.items() if not (dropped and i == query))
    if conventions.ties == "docid":
        items = sorted(items, reverse=True)
    return sorted(items, key=lambda entry: -entry[1])


def _with_texts(cases: Sequence[Case], run: StoredRun, store: Store) -> tuple[Case, ...]:
    """Return the cases with the stored texts of their queries and items."""
    texts = store.texts(str(run.inputs.get("data", "")))
    if texts is None or not texts.is_saved:
        return tuple(cases)
    items = {gold.passage.id for case in cases for gold in case.gold}
    items |= {rival.passage.id for case in cases for answer in case.answers for rival in answer.rivals}
    sides: dict[Side, set[str]] = {"query": {case.query.id for case in cases}, "item": items}
    stored = {side: texts.find(sorted(ids), side) for side, ids in sides.items()}

    def with_text(passage: Passage, side: Side) -> Passage:
        text = stored[side].get(passage.id)
        if text is None:
            return passage
        ellipsis = " …" if len(text.text) > LONGEST else ""
        return Passage(passage.id, text.title[:LONGEST], text.text[:LONGEST] + ellipsis)

    def of_answer(answer: Answer) -> Answer:
        rivals = (replace(rival, passage=with_text(rival.passage, "item")) for rival in answer.rivals)
        return replace(answer, rivals=tuple(rivals))

    return tuple(
        replace(
            case,
            query=with_text(case.query, "query"),
            gold=tuple(replace(gold, passage=with_text(gold.passage, "item")) for gold in case.gold),
            answers=tuple(map(of_answer, case.answers)),
        )
        for case in cases
    )
