"""Task: a collection with the recipe to evaluate a model on it, named and versioned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from goldrank.data.collections import Collection
from goldrank.data.sources import DatasetDescription
from goldrank.data.text_rule import TextRule

Kind = Literal["retrieval", "related", "evalrank"]

METRICS: dict[Kind, tuple[str, ...]] = {
    "retrieval": ("ndcg@10", "map", "mrr@10", "recall@100", "precision@10"),
    # A ranking by shared words may leave gold out, which then stands behind everything.
    "related": ("mrr", "mpr(unfound=last)", "recall@10", "recall@100", "ndcg@10"),
    # Over positive pairs; what a model has no vector for stands behind everything.
    "evalrank": ("mrr(of=all)", "mean_rank(unfound=last)", "hits@1", "hits@3", "hits@5", "hits@10", "hits@15"),
}
# Where pairs are ranked by vectors, ranks are counted over all items whatever the depth.
DEPTHS: dict[Kind, int | None] = {"retrieval": 1000, "related": None, "evalrank": 1000}
CONVENTIONS: dict[Kind, dict[str, str]] = {
    "retrieval": {},
    # The query is one of the items there, and would always find itself.
    "related": {"self_matches": "drop"},
    # Vectors that are all the same score at chance.
    "evalrank": {"self_matches": "aside", "ties": "expected"},
}
OOV = {
    "keep": "texts without a known word have the vector that the model gives, mostly zero, and are ranked by it",
    "miss": "gold is missed where it or its query has no known word; other such items stand behind all that is known",
    "skip": "gold is left out where it or its query has no known word; other such items stand behind all that is known",
    "mean": "texts without a known word have the mean of what the transform learnt from, or else of the known items",
}
"""What becomes of texts of which the model knows no word, where it can tell (``covers``)."""


@dataclass(frozen=True)
class Task:
    """Data and recipe: what is ranked, for what, how texts are built, and what is measured.

    A *retrieval* task asks with queries; in a *related* one all articles are items, those with labels are also the
    queries, and each is kept out of its own ranking by its id. An *evalrank* task is related too: its gold are pairs,
    each ranked on its own.
    """

    name: str
    kind: Kind
    read: Callable[[str | None], Collection]
    """Reads one split; None is the one to evaluate on."""
    summary: str = ""
    version: int = 1
    """Raised whenever the same data would give other results."""
    text: TextRule = field(default_factory=TextRule)
    query_text: TextRule = field(default_factory=TextRule)
    metrics: tuple[str, ...] = ()
    profile: str = "standard"
    about: DatasetDescription | None = None

    @property
    def default_metrics(self) -> tuple[str, ...]:
        """What is measured when nothing else is asked for."""
        return self.metrics or METRICS[self.kind]

    @property
    def depth(self) -> int | None:
        """How many items of a ranking are kept and scored; None keeps all."""
        return DEPTHS[self.kind]

    @property
    def oov(self) -> str:
        """What becomes of texts without a known word, one of ``OOV``."""
        return "miss" if self.kind == "evalrank" else "keep"

    @property
    def conventions(self) -> Mapping[str, str]:
        """What differs from the standard profile because of how the task is built."""
        return CONVENTIONS[self.kind]


def task_of(collection: Collection, name: str | None = None) -> Task:
    """The task that a collection at hand makes."""
    kind: Kind = "related" if collection.related else "retrieval"
    if collection.format == "evalrank":
        kind = "evalrank"
    # A topic's description and narrative say what would be relevant; the title is what is asked.
    asked = TextRule(("title",)) if collection.format == "trec" else TextRule()
    summary = f"{collection.format} data"
    return Task(name or collection.name, kind, lambda split: collection, summary, query_text=asked)
