"""Handle texts without a word that the model knows, in rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Encoder
from goldrank.errors import InputError, counts
from goldrank.hits import Hits
from goldrank.tasks.ranking.data import RankingData

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KnownTexts:
    """The items and queries that have a word of the vocabulary, and the policy for those that have none."""

    policy: str
    items: Mask
    queries: Mask

    @classmethod
    def of(cls, encoder: Encoder, data: RankingData) -> KnownTexts | None:
        """Return which texts of the data the model knows; None if that has no effect on the result."""
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
        """Whether unknown texts are left out of the ranking instead of getting a vector."""
        return self.policy in ("miss", "skip")

    def known_pairs(self, data: RankingData) -> Mask:
        """Return, for each row of the gold, whether both query and item are known."""
        unknown_queries = {name for name, known in zip(data.query_ids, self.queries, strict=True) if not known}
        unknown_items = {name for name, known in zip(data.item_ids, self.items, strict=True) if not known}
        gold = data.gold.columns
        known_rows = (query not in unknown_queries and item not in unknown_items for query, item, _ in gold.rows())
        return np.fromiter(known_rows, bool, len(gold.items))

    def settle(self, data: RankingData, hits: Hits) -> Hits:
        """Convert hits over the known items to hits over all items: unknown items rank behind all known ones."""
        hits = hits.within(frozenset(data.item_ids))
        if self.policy == "miss":
            return hits
        known = self.known_pairs(data)
        if not known.any():
            raise InputError(
                "the model does not know a single pair, so that none is left after skipping the unknown ones",
                remedy="check that it is the right vector file, or score unknown pairs as misses (oov=miss)",
            )
        return hits.keep_rows(known)

    def remark(self, data: RankingData) -> str:
        """Report how many pairs and items are out of vocabulary, and how they are treated."""
        pairs, items = ~self.known_pairs(data), ~self.items
        treatment = {
            "miss": "pairs score as misses, other items rank behind all known ones",
            "skip": "pairs are left out, other items rank behind all known ones",
            "mean": "each has the mean vector",
        }[self.policy]
        return (
            f"out of vocabulary: {pairs.sum()} of {counts(len(pairs), 'pair')} and {items.sum()} of "
            f"{counts(len(items), 'item')}; {treatment}"
        )


def with_mean(vectors: Any, known: Mask, mean: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a row for every text: the vectors of the known ones in their order, the *mean* for all others."""
    rows = np.empty((len(known), vectors.shape[1]), np.float32)
    rows[known] = vectors
    rows[~known] = mean
    return rows
