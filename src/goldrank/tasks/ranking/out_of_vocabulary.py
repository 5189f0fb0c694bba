"""Handle texts without a word that the model knows, in rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Encoder
from goldrank.errors import InputError, counts
from goldrank.hits import Hits
from goldrank.io.columns import row_queries
from goldrank.tasks.ranking.data import RankingData

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Which items and which asked queries a model knows, as far as it can tell and the task's policy asks."""

    policy: str
    items: Mask
    queries: Mask

    @classmethod
    def of(cls, encoder: Encoder, data: RankingData) -> Vocabulary | None:
        """The model's vocabulary; None where nothing depends on it."""
        covers = getattr(encoder, "covers", None)
        if covers is None or data.oov == "keep" or getattr(encoder, "by", None) == "id":
            return None
        items = np.asarray(covers(data.item_texts), bool)
        if data.queries_are_items:
            known = dict(zip(data.item_ids, items.tolist(), strict=True))
            queries = np.array([known[query] for query in data.query_ids], bool)
        else:
            queries = np.asarray(covers(data.query_texts), bool)
        return None if items.all() and queries.all() else cls(data.oov, items, queries)

    @property
    def leaves_out(self) -> bool:
        """Whether unknown texts are left out of the ranking, and do not get a vector after all."""
        return self.policy in ("miss", "skip")

    def known_pairs(self, data: RankingData) -> Mask:
        """Whether both query and item are known, for each row of the gold."""
        unknown_queries = {name for name, known in zip(data.query_ids, self.queries, strict=True) if not known}
        unknown_items = {name for name, known in zip(data.item_ids, self.items, strict=True) if not known}
        gold = data.gold.columns
        rows = zip(row_queries(gold), gold.items, strict=True)
        found = (query not in unknown_queries and item not in unknown_items for query, item in rows)
        return np.fromiter(found, bool, len(gold.items))

    def settle(self, data: RankingData, hits: Hits) -> Hits:
        """Hits over the known items as hits over all: those out of vocabulary stand behind everything known."""
        hits = hits.within(frozenset(data.item_ids))
        if self.policy == "miss":
            return hits
        known = self.known_pairs(data)
        if not known.any():
            raise InputError(
                "the model knows not one pair, so that none is left after skipping the unknown",
                remedy="check that it is the right vector file, or score unknown pairs as misses (oov=miss)",
            )
        return hits.keep_rows(known)

    def remark(self, data: RankingData) -> str:
        """How many are out of vocabulary, and what they count as."""
        pairs, items = ~self.known_pairs(data), ~self.items
        become = {
            "miss": "pairs score as misses, other items stand behind all that is known",
            "skip": "pairs are left out, other items stand behind all that is known",
            "mean": "each has the mean vector",
        }[self.policy]
        return (
            f"out of vocabulary: {pairs.sum()} of {counts(len(pairs), 'pair')} and {items.sum()} of "
            f"{counts(len(items), 'item')}; {become}"
        )


def with_mean(vectors: Any, known: Mask, mean: NDArray[np.float64]) -> NDArray[np.float32]:
    """A row for every text: the vectors of the known ones in their order, the *mean* for all others."""
    rows = np.empty((len(known), vectors.shape[1]), np.float32)
    rows[known] = vectors
    rows[~known] = mean
    return rows
