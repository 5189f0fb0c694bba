"""Score documents of several vectors, one per section or sentence, by their best matches (MaxSim, SDR)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, unknown_name
from goldrank.index.base import checked_ids, checked_vectors
from goldrank.progress import Progress
from goldrank.vectors.similarity import normalised

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BLOCK_NUMBERS = 1 << 23


@dataclass(frozen=True, eq=False)
class MultiVectors:
    """Documents whose vectors are consecutive rows of one matrix: a document owns sections, a section owns vectors.

    A document given without sections has one section. Empty sections are dropped because nothing can match them; a
    document without any vector stays, with no sections.
    """

    ids: list[str]
    vectors: NDArray[np.float32]
    sections: Ints
    """Section *s* owns the vectors ``sections[s]:sections[s + 1]``."""
    documents: Ints
    """Document *d* owns the sections ``documents[d]:documents[d + 1]``."""

    @classmethod
    def nested(
        cls, documents: Sequence[Sequence[Any]], ids: Sequence[str] | None = None, *, cosine: bool = True
    ) -> MultiVectors:
        """Create documents from lists of sections, each a matrix; *cosine* normalises the vectors.

        >>> MultiVectors.nested([[[[1, 0], [0, 1]]], [[[1, 1]]]]).counts.tolist()
        [2, 1]
        """
        non_empty = [[section for section in document if len(section)] for document in documents]
        flat = [checked_vectors(section, "section") for document in non_empty for section in document]
        if len({section.shape[1] for section in flat}) > 1:
            raise InputError("the sections have vectors of different dimensions", remedy="encode all with one model")
        rows = np.concatenate(flat) if flat else np.zeros((0, 0), np.float32)
        return cls(
            checked_ids(ids, len(non_empty), "document"),
            normalised(rows) if cosine and len(rows) else rows,
            np.cumsum([0, *map(len, flat)], dtype=np.int64),
            np.cumsum([0, *map(len, non_empty)], dtype=np.int64),
        )

    @property
    def counts(self) -> Ints:
        """The number of vectors of each document."""
        return np.diff(self.sections[self.documents])

    def block(self, start: int, stop: int) -> MultiVectors:
        """Return documents *start* to *stop* as views."""
        sections = self.sections[self.documents[start] : self.documents[stop] + 1]
        documents = self.documents[start : stop + 1]
        rows = self.vectors[sections[0] : sections[-1]]
        return MultiVectors(self.ids[start:stop], rows, sections - sections[0], documents - documents[0])

    def blocks(self, vectors: int) -> list[tuple[int, int]]:
        """Return ranges of whole documents with about *vectors* vectors each."""
        ends = np.unique(self.sections[self.documents[1:]] // max(1, vectors), return_index=True)[1]
        edges = np.unique([0, *ends.tolist(), len(self.ids)]).tolist()
        return list(pairwise(edges))

    def __len__(self) -> int:
        return len(self.ids)


Scorer = Callable[[MultiVectors, MultiVectors], Floats]


def max_sim(queries: MultiVectors, items: MultiVectors, *, total: bool = False) -> Floats:
    """Return the MaxSim score of every query (rows) with every item (columns).

    Each query vector is matched with its most similar vector of the item; the matches are averaged, or summed with
    *total*. A pair in which either has no vectors scores -inf.

    >>> query = MultiVectors.nested([[[[1, 0], [0, 1]]]])
    >>> items = MultiVectors.nested([[[[1, 0]]], [[[1, 0], [0, 1]]], []])
    >>> max_sim(query, items).tolist()
    [[0.5, 1.0, -inf]]
    """
    best = _best(_similarities(queries, items), items.sections[items.documents])
    return _combined(best, queries.sections[queries.documents], total)


def sum_max_sim(queries: MultiVectors, items: MultiVectors) -> Floats:
    """Return MaxSim scores summed over the query's vectors, as ColBERT does."""
    return max_sim(queries, items, total=True)


def sdr(queries: MultiVectors, items: MultiVectors) -> Floats:
    """Return SDR's hierarchical score of every query (rows) with every item (columns).

    The similarity of two sections is the best match of each sentence of the source section, averaged over its
    sentences. The similarity of two articles is the best match of each section of the source, averaged over its
    sections (Ginzburg et al., Self-Supervised Document Similarity Ranking, ACL Findings 2021).
    """
    section_scores = _combined(_best(_similarities(queries, items), items.sections), queries.sections, total=False)
    return _combined(_best(section_scores, items.documents), queries.documents, total=False)


SCORERS: dict[str, Scorer] = {"max_sim": max_sim, "sum_max_sim": sum_max_sim, "sdr": sdr}


def _similarities(queries: MultiVectors, items: MultiVectors) -> Floats:
    if not len(queries.vectors) or not len(items.vectors):
        return np.zeros((len(queries.vectors), len(items.vectors)))
    if queries.vectors.shape[1] != items.vectors.shape[1]:
        raise InputError(
            f"the query vectors have {queries.vectors.shape[1]} dimensions, the items' {items.vectors.shape[1]}",
            remedy="encode both with one model",
        )
    # Computed in float64 and rounded to float32 at the end, so that equal documents score the same in any block.
    return queries.vectors.astype(np.float64) @ items.vectors.T.astype(np.float64)


def _best(scores: Floats, edges: Ints) -> Floats:
    """Return the maximum over each group of columns; -inf for an empty group."""
    best = np.full((len(scores), len(edges) - 1), -np.inf)
    filled = np.diff(edges) > 0
    if filled.any() and len(scores):
        # Empty groups have no columns, so the groups before and after them are still adjacent.
        best[:, filled] = np.maximum.reduceat(scores, edges[:-1][filled], axis=1)
    return best


def _combined(scores: Floats, edges: Ints, total: bool) -> Floats:
    """Return the mean or sum over each group of rows; -inf for an empty group."""
    combined = np.full((len(edges) - 1, scores.shape[1]), -np.inf)
    sizes = np.diff(edges)
    filled = sizes > 0
    if filled.any():
        combined[filled] = np.add.reduceat(scores, edges[:-1][filled], axis=0)
        if not total:
            combined[filled] /= sizes[filled, None]
    return combined


def multivector_scores(queries: MultiVectors, items: MultiVectors, scorer: str | Scorer = "max_sim") -> Floats:
    """Return the scores of all queries (rows) and items (columns), computed in blocks and rounded to float32."""
    if isinstance(scorer, str) and scorer not in SCORERS:
        raise unknown_name("scorer", scorer, SCORERS, f"there are: {', '.join(SCORERS)}")
    score = SCORERS[scorer] if isinstance(scorer, str) else scorer
    query_step = max(1, int(_BLOCK_NUMBERS**0.5))
    item_step = max(1, _BLOCK_NUMBERS // min(query_step, max(1, len(queries.vectors))))
    scores = np.empty((len(queries), len(items)))
    item_blocks = [(start, stop, items.block(start, stop)) for start, stop in items.blocks(item_step)]
    with Progress("scoring documents", total=len(queries), unit="document") as progress:
        for first, last in queries.blocks(query_step):
            block = queries.block(first, last)
            for start, stop, part in item_blocks:
                scores[first:last, start:stop] = score(block, part).astype(np.float32)
            progress.advance(last - first)
    return scores
