"""The queries with the lowest scores, with the ranks of their gold and the items ranked above it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldrank.hits import Run
from goldrank.scoring import Score
from goldrank.tasks.ranking.data import RankingData


@dataclass(frozen=True)
class Placed:
    """An item in a ranking."""

    id: str
    title: str
    rank: int | None
    """From 1; None where it is not in the ranking."""
    grade: float | None = None


@dataclass(frozen=True)
class Miss:
    """A query, its score, where its gold landed, and what stood above the best of it."""

    id: str
    text: str
    value: float
    gold: list[Placed]
    above: list[Placed]


def worst_queries(data: RankingData, score: Score, run: Run, count: int = 3, shown: int = 3) -> list[Miss]:
    """The *count* queries with the worst values, each with up to *shown* of its gold and of what beat it.

    Queries that have no value, or no gold to find, are not looked at; equal values keep the order of the gold.
    """
    sign = 1.0 if score.metric.definition.direction == "lower" else -1.0
    values = np.where(np.isnan(score.values), -np.inf, sign * score.values)
    order = np.argsort(-values, kind="stable")
    gold = data.gold.to_dict()
    documents = {document.id: document for document in data.query_documents}
    titles = _titles(data)
    found: list[Miss] = []
    for place in order.tolist():
        query = score.queries[place]
        right = {item: grade for item, grade in gold[query].items() if grade > 0 and item != query}
        if len(found) < count and np.isfinite(values[place]) and right and query in documents:
            placed, above = _placed(query, right, titles, data, run)
            text = documents[query].title or documents[query].text
            found.append(Miss(query, text, float(score.values[place]), placed[:shown], above[:shown]))
    return found


def _placed(
    query: str, right: dict[str, float], titles: dict[str, str], data: RankingData, run: Run
) -> tuple[list[Placed], list[Placed]]:
    """The gold by rank, and everything above the best of it."""
    ranking = [item for item in _ordered(run[query]) if not (data.collection.related and item == query)]
    ranks = {item: rank for rank, item in enumerate(ranking, 1)}
    placed = [Placed(item, titles.get(item, item), ranks.get(item), grade) for item, grade in right.items()]
    placed.sort(key=lambda one: (one.rank is None, one.rank or 0))
    first = placed[0].rank or len(ranking) + 1
    return placed, [Placed(item, titles[item], rank) for rank, item in enumerate(ranking[: first - 1], 1)]


def _ordered(ranking: dict[str, float]) -> list[str]:
    by_id = sorted(ranking, reverse=True)
    return sorted(by_id, key=lambda item: -ranking[item])


def _titles(data: RankingData) -> dict[str, str]:
    """What to call each item: its title, or the start of its text."""
    return {document.id: document.title or _start(document.text) or document.id for document in data.collection.items}


def _start(text: str, words: int = 8) -> str:
    parts = text.split()
    return " ".join(parts[:words]) + ("…" if len(parts) > words else "")
