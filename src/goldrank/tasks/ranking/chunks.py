"""Rank documents by their best chunk: search chunks, and reduce each ranking to the documents they are cut from.

The ranking is exact: enough chunks are searched that the best documents are among them whatever the order of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goldrank.data.chunking import Chunking
from goldrank.data.collections import Document, Documents
from goldrank.encoders.base import PairScorer, Searcher, is_live
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.io.columns import Columns

if TYPE_CHECKING:
    from goldrank.tasks.ranking.data import RankingData

MOST_RESULTS = 20_000_000
"""Up to this many results in all, full rankings are kept; beyond, gold is counted and the top computed on demand."""
_HELD_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Chunks:
    """The chunks of all documents, and the document of each chunk."""

    items: Documents
    documents: list[str]
    """The ids of the documents, sorted."""
    number: NDArray[np.int64]
    """The position in `documents` of the document of each chunk."""
    row: dict[str, int]
    """The row of each chunk by its id."""

    @classmethod
    def of(cls, documents: Documents, chunking: Chunking) -> Chunks:
        """Cut all documents; the chunks of streamed documents are not held in memory."""
        ids = sorted(documents.ids)
        position = {name: at for at, name in enumerate(ids)}
        held: list[Document] = []
        names: list[str] = []
        numbers: list[int] = []
        for document in documents:
            chunks = chunking.cut(document)
            names += [chunk.id for chunk in chunks]
            numbers += [position[document.id]] * len(chunks)
            if not documents.streamed:
                held += chunks
        items = (
            Documents(lambda: (chunk for each in documents for chunk in chunking.cut(each)), documents.source)
            if documents.streamed
            else Documents(held, documents.source)
        )
        row = {name: at for at, name in enumerate(names)}
        if len(row) < len(names):
            items.ids  # noqa: B018 - raises the error that names the duplicate
        return cls(items, ids, np.array(numbers, np.int64), row)

    def __len__(self) -> int:
        return len(self.number)

    def document(self, chunk: str) -> str:
        """Return the document of a chunk."""
        return self.documents[int(self.number[self.row[chunk]])]

    def enough(self, depth: int) -> int:
        """Return how many chunks have to be searched so that the best *depth* documents are among them.

        So many chunks cannot all be of fewer documents. Equal scores are ordered by descending id; where the ids of
        chunks are not ordered as those of their documents, all chunks are searched.
        """
        sizes = np.sort(np.bincount(self.number, minlength=len(self.documents)))[::-1]
        most = int(sizes[:depth].sum())
        if most >= len(self):
            return len(self)
        return most if self._is_ordered else len(self)

    @cached_property
    def _is_ordered(self) -> bool:
        """Whether the ids of chunks are ordered as those of their documents."""
        by_name = self.number[[self.row[name] for name in sorted(self.row)]]
        return bool((np.diff(by_name) >= 0).all())

    def best(self, run: Run, depth: int) -> Run:
        """Return the best *depth* documents of each ranking of chunks, each with its best chunk and its score."""
        columns = run.columns
        rows = np.fromiter(map(self.row.__getitem__, columns.items), np.int64, len(columns.items))
        names: list[str] = []
        chunks: list[str] = []
        scores, sizes = [np.zeros(0)], [0]
        for _, part in columns.rows_by_query():
            numbers, values = self.number[rows[part]], columns.values[part]
            order = np.lexsort((rows[part], -numbers, -values))
            _, first = np.unique(numbers[order], return_index=True)
            chosen = order[np.sort(first)][:depth]
            names += [self.documents[number] for number in numbers[chosen].tolist()]
            chunks += [columns.items[part.start + at] for at in chosen.tolist()]
            scores.append(values[chosen])
            sizes.append(len(chosen))
        starts = np.cumsum(sizes)
        return Run.from_columns(
            Columns(columns.queries, starts, names, np.concatenate(scores), columns.source, chunks=chunks)
        )

    def best_of_parts(self, search: Callable[[slice, int], Run], queries: int, depth: int) -> Run:
        """Return the best documents of all queries; *search* ranks chunks for some of them at a time."""
        enough = self.enough(depth)
        step = max(1, _HELD_AT_ONCE // max(1, enough))
        runs = [self.best(search(slice(at, at + step), enough), depth) for at in range(0, queries, step)]
        return runs[0] if len(runs) == 1 else _joined([run.columns for run in runs])


def _joined(parts: Sequence[Columns]) -> Run:
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.starts) for part in parts)])
    return Run.from_columns(
        Columns(
            [query for part in parts for query in part.queries],
            np.cumsum(sizes),
            [item for part in parts for item in part.items],
            np.concatenate([part.values for part in parts]),
            parts[0].source,
            chunks=[chunk for part in parts for chunk in part.chunks or ()],
        )
    )


class ChunkSearcher:
    """A searcher of documents that searches their chunks."""

    def __init__(self, searcher: Searcher, chunks: Chunks) -> None:
        self._searcher, self._chunks = searcher, chunks
        self.identity = searcher.identity
        self.instant, self.live = getattr(searcher, "instant", False), is_live(searcher)
        self._runs: list[Run] = []

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Index the chunks."""
        self._searcher.index(ids, texts)

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best documents of each query."""
        run = self._chunks.best_of_parts(
            lambda part, enough: self._searcher.search(ids[part], texts[part], enough), len(ids), k
        )
        self._runs.append(run)
        return run

    def with_chunks(self, run: Run) -> Run:
        """Return a run that was searched in parts with its best chunks, which checkpoints do not hold."""
        return run if run.columns.chunks is not None else with_chunks(run, first_chunk_of(self._runs))


class ChunkScorer:
    """A pair scorer of documents, which are given by their ids: the best score of one of their chunks."""

    def __init__(self, scorer: PairScorer, data: RankingData) -> None:
        self._scorer = scorer
        self.identity = scorer.identity
        self.best_chunk: dict[tuple[str, str], str] = {}
        """The best chunk of each scored pair of the text of a query and the id of a document."""
        self._texts: dict[str, list[tuple[str, str]]] = {}
        assert data.chunks is not None
        for chunk, text in zip(data.item_ids, data.item_texts, strict=True):
            self._texts.setdefault(data.chunks.document(chunk), []).append((chunk, text))

    def chunks_of(self, documents: Sequence[str]) -> list[str]:
        """Return the ids of all chunks of some documents."""
        return [chunk for document in documents for chunk, _ in self._texts[document]]

    def score_pairs(self, queries: Sequence[str], items: Sequence[str]) -> NDArray[np.float64]:
        """Return the best score of a chunk of each document for its query."""
        sizes = [len(self._texts[item]) for item in items]
        texts = [text for item in items for _, text in self._texts[item]]
        asking = [query for query, size in zip(queries, sizes, strict=True) for _ in range(size)]
        scores = np.asarray(self._scorer.score_pairs(asking, texts), np.float64)
        starts = np.concatenate(([0], np.cumsum(sizes[:-1]))).astype(np.int64)
        for query, item, start, size in zip(queries, items, starts.tolist(), sizes, strict=True):
            best = int(np.argmax(scores[start : start + size]))
            self.best_chunk[query, item] = self._texts[item][best][0]
        return np.maximum.reduceat(scores, starts)


def with_chunks(run: Run, chunk_of: Callable[[str, str], str]) -> Run:
    """Return the run with the best chunk of each item, which *chunk_of* returns for a query and an item."""
    columns = run.columns
    chunks = [chunk_of(query, item) for query, part in columns.rows_by_query() for item in columns.items[part]]
    return Run.from_columns(replace(columns, chunks=chunks))


def first_chunk_of(runs: Sequence[Run]) -> Callable[[str, str], str]:
    """Return the function from a query and an item to its best chunk in the first run that has one."""
    known: dict[tuple[str, str], str] = {}
    for columns in (run.columns for run in runs):
        for query, part in columns.rows_by_query() if columns.chunks is not None else ():
            for item, chunk in zip(columns.items[part], (columns.chunks or [])[part], strict=True):
                known.setdefault((query, item), chunk)
    return lambda query, item: known.get((query, item), "")


def refuse_unfit_for_chunks(data: RankingData) -> None:
    """Raise InputError if documents cannot be ranked by their best chunk under the other settings."""
    settings, rule = data.settings, data.text_rule
    reasons: dict[str, Any] = {
        "positive pairs, which are ranked whole": data.task.kind == "evalrank",
        f"--scoring {settings.scoring}, which cuts documents into sections or sentences": settings.scoring != "single",
        f"--oov {data.oov}: a document may have chunks with and without known words": data.oov != "keep",
        "--words and --sections, which use only the beginning of documents": rule.words or rule.sections,
    }
    for what in (what for what, unfit in reasons.items() if unfit):
        raise InputError(f"--chunk {settings.chunk} cannot be combined with {what}", remedy="leave one of them out")
    queries = len(data.query_ids)
    if data.depth * queries > MOST_RESULTS:
        raise InputError(
            f"--chunk keeps whole rankings, and those of {queries} queries over {len(data)} items are too large",
            remedy=f"give --depth {max(1, MOST_RESULTS // queries)} or less",
        )
