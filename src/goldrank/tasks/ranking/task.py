"""RankingTask: a collection with the recipe to rank its items for its queries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from goldrank.data.collections import Collection, read_collection
from goldrank.data.sources import DatasetDescription
from goldrank.data.text_rule import TextRule
from goldrank.store import ResultKind
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings

RankingKind = Literal["retrieval", "related", "evalrank"]

METRICS: dict[RankingKind, tuple[str, ...]] = {
    "retrieval": ("ndcg@10", "map", "mrr@10", "recall@100", "precision@10"),
    # A ranking by shared words may leave out relevant items, which then have the last rank.
    "related": ("mrr", "mpr(unfound=last)", "recall@10", "recall@100", "ndcg@10"),
    # Over positive pairs; items without a vector have the last rank.
    "evalrank": ("mrr(of=all)", "mean_rank(unfound=last)", "hits@1", "hits@3", "hits@5", "hits@10", "hits@15"),
}
CLASS_METRICS = ("map", "precision@1", "r_precision", "precision@10", "mrr")
"""The metrics of class labels: the members of a class are many, so that recall at a small rank says little."""
DEPTHS: dict[RankingKind, int | None] = {"retrieval": 1000, "related": None, "evalrank": 1000}
SHOWN = 100
"""The items stored of each ranking of an EvalRank task whose ranks were counted over all items, so that the rankings
only serve to show queries. With thousands of queries, storing more takes longer than counting."""
CONVENTIONS: dict[RankingKind, dict[str, str]] = {
    "retrieval": {},
    # The query is one of the items, and would always be its own best match.
    "related": {"self_matches": "drop"},
    # With expected ties, vectors that are all the same score at chance.
    "evalrank": {"self_matches": "aside", "ties": "expected"},
}


@dataclass(frozen=True)
class RankingTask:
    """A collection and a recipe: what is ranked for which queries, how texts are built, and what is measured.

    In a *retrieval* task the queries are texts of their own. In a *related* task all articles are items, those with
    labels are also the queries, and each is excluded from its own ranking by its id. An *evalrank* task is related
    too: its gold are pairs, each of which is ranked on its own.
    """

    name: str
    kind: RankingKind
    read: Callable[[str | None], Collection]
    """Reads one split; None is the split to evaluate on."""
    summary: str = ""
    version: int = 1
    """Raised whenever the same data would give other results."""
    text: TextRule = field(default_factory=TextRule)
    query_text: TextRule = field(default_factory=TextRule)
    metrics: tuple[str, ...] = ()
    profile: str = "standard"
    about: DatasetDescription | None = None
    format: str | None = None
    """The layout of the data; None if it is detected."""

    @property
    def result_kind(self) -> ResultKind:
        """Rankings."""
        return "ranked"

    @property
    def compares_vectors(self) -> bool:
        """Whether the similarity of vectors has an effect on the result."""
        return True

    @property
    def default_metrics(self) -> tuple[str, ...]:
        """The metrics that are computed unless others are named."""
        return self.metrics or METRICS[self.kind]

    @property
    def depth(self) -> int | None:
        """The number of items that are kept of each ranking; None keeps all."""
        return DEPTHS[self.kind]

    @property
    def shown(self) -> int:
        """The number of items that are kept of each ranking if the ranks of the gold do not depend on it."""
        return SHOWN if self.kind == "evalrank" else sys.maxsize

    @property
    def oov(self) -> str:
        """The treatment of texts without a known word, one of ``OOV``."""
        return "miss" if self.kind == "evalrank" else "keep"

    @property
    def conventions(self) -> Mapping[str, str]:
        """The conventions that differ from those of the standard profile."""
        return CONVENTIONS[self.kind]

    def at(self, path: Path) -> RankingTask:
        """Return the task with its data read from *path*."""
        return replace(
            self,
            read=lambda split: replace(read_collection(path, format=self.format, split=split), name=self.name),
        )

    def with_metrics(self, metrics: Sequence[str]) -> RankingTask:
        """Return the task with other metrics than its own."""
        return replace(self, metrics=tuple(metrics))

    def reading_once(self) -> RankingTask:
        """Return the task that reads each split at most once."""
        return replace(self, read=cache(self.read))

    def load(self, settings: Settings, sharding: Sharding | None = None) -> RankingData:
        """Read the collection and sample the queries, if *settings* limit them."""
        return RankingData.load(self, settings, sharding)


def task_of(collection: Collection, name: str | None = None) -> RankingTask:
    """Return the task that a collection makes."""
    kind: RankingKind = "related" if collection.related else "retrieval"
    if collection.format == "evalrank":
        kind = "evalrank"
    # The title of a TREC topic is the query; description and narrative say what would be relevant.
    query_text = TextRule(("title",)) if collection.format == "trec" else TextRule()
    summary = f"{collection.format} data" if collection.has_corpus else "judgements without texts"
    metrics: tuple[str, ...] = ()
    if collection.format == "classes":
        summary, metrics = "items of the same class are relevant to each other", CLASS_METRICS
    return RankingTask(
        name or collection.name, kind, lambda split: collection, summary, query_text=query_text, metrics=metrics
    )
