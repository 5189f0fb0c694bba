"""Find the queries with the worst scores, with the ranks of their gold and the items ranked above it."""

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
    """From 1; None if it is not in the ranking."""
    grade: float | None = None
    chunk: str | None = None
    """Its best chunk, if it was ranked by chunks."""

    @property
    def label(self) -> str:
        """The title, with the best chunk if there is one."""
        return f"{self.title} ({self.chunk})" if self.chunk else self.title


@dataclass(frozen=True)
class Miss:
    """A query with its score, the ranks of its gold, and the items above the best-ranked gold."""

    id: str
    text: str
    value: float
    gold: list[Placed]
    above: list[Placed]


def worst_queries(data: RankingData, score: Score, run: Run, count: int = 3, shown: int = 3) -> list[Miss]:
    """Return the *count* queries with the worst values, each with up to *shown* gold items and items above them.

    Queries without a value or without relevant items are skipped; queries with equal values keep the order of the gold.
    """
    sign = 1.0 if score.metric.definition.direction == "lower" else -1.0
    values = np.where(np.isnan(score.values), -np.inf, sign * score.values)
    order = np.argsort(-values, kind="stable")
    gold = data.gold.to_dict()
    documents = {document.id: document for document in data.query_documents}
    titles = _titles(data)
    misses: list[Miss] = []
    for place in order.tolist():
        query = score.queries[place]
        right = {item: grade for item, grade in gold[query].items() if grade > 0 and item != query}
        if len(misses) < count and np.isfinite(values[place]) and right and query in documents:
            placed, above = _placed(query, right, titles, data, run)
            text = documents[query].title or documents[query].text
            misses.append(Miss(query, text, float(score.values[place]), placed[:shown], above[:shown]))
    return misses


def _placed(
    query: str, right: dict[str, float], titles: dict[str, str], data: RankingData, run: Run
) -> tuple[list[Placed], list[Placed]]:
    """Return the gold by rank, and the items above the best of it."""
    scores = run[query]
    ranking = sorted(scores, key=lambda item: (scores[item], item), reverse=True)
    if data.collection.related:
        ranking = [item for item in ranking if item != query]
    ranks = {item: rank for rank, item in enumerate(ranking, 1)}
    chunk = _chunks(query, run)
    placed = [
        Placed(item, titles.get(item, item), ranks.get(item), grade, chunk.get(item)) for item, grade in right.items()
    ]
    placed.sort(key=lambda item: (item.rank is None, item.rank or 0))
    first = placed[0].rank or len(ranking) + 1
    above = enumerate(ranking[: first - 1], 1)
    return placed, [Placed(item, titles.get(item, item), rank, chunk=chunk.get(item)) for rank, item in above]


def _chunks(query: str, run: Run) -> dict[str, str]:
    """Return the best chunk of each ranked item; empty if documents were ranked whole."""
    columns = run.columns
    if columns.chunks is None or query not in columns.queries:
        return {}
    start, end = columns.starts[columns.queries.index(query) :][:2].tolist()
    return dict(zip(columns.items[start:end], columns.chunks[start:end], strict=True))


def _titles(data: RankingData) -> dict[str, str]:
    """Return the title of each item, or the start of its text."""
    return {document.id: document.title or _start(document.text) or document.id for document in data.collection.items}


def _start(text: str, words: int = 8) -> str:
    parts = text.split()
    return " ".join(parts[:words]) + ("…" if len(parts) > words else "")
