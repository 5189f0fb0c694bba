"""Apply conventions to hits: every retrieved judged item with the span of positions that it may have.

An item has one of the positions ``start + 1 … start + size``, each with the same probability. Under a policy that
orders tied items, the size is 1; under the policy ``expected`` it is the size of the tie. A metric that is written as
an expectation over spans is therefore correct under all policies.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten
from goldrank.hits import Floats, Hits, Ints
from goldrank.metrics.conventions import Conventions

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Groups:
    """Spans that contain relevant items, in order of query and position."""

    query: Ints
    start: Ints
    size: Ints
    relevant: Ints
    """How many of the items in the span are relevant."""
    before: Ints
    """How many relevant items are in earlier spans of the query."""
    first: Mask
    """Whether this is the first span of the query with a relevant item."""

    def of_first(self) -> Groups:
        """Return the first span with a relevant item of each query that has one."""
        return Groups(*(getattr(self, column.name)[self.first] for column in fields(self)))


@dataclass(frozen=True, eq=False)
class Placement:
    """Judged items with their spans: the input of every metric.

    The retrieved judged items are ordered by query, then by position. The columns ``gold_*`` contain all judged items,
    retrieved or not, in the order of the hits.
    """

    queries: list[str]
    query: Ints
    start: Ints
    size: Ints
    alone: Ints
    """The start of each item when it is ranked by itself, for metrics that pool over gold items. It differs from
    ``start`` under ``optimistic`` and ``pessimistic`` ties, where several tied gold items cannot all be first (or last)
    at once, and under ``positives=filtered``, where the other gold items are removed from the ranking."""
    alone_size: Ints
    """The size of its span when it is ranked by itself."""
    grade: Floats
    gold_query: Ints
    gold_grade: Floats
    depth: Ints
    candidates: Ints | None
    """How many items the ranking of each query could have contained, if the corpus is known."""
    exhaustive: bool
    row: Ints
    """The position of each item in the columns ``gold_*``."""
    gold_items: list[str]
    gold_subtopics: list[dict[str, float]] | None
    """For each judged item the grade for each subtopic; None if the gold was not judged by subtopic."""
    confidence: Floats | None
    """The confidence of the run in each query, as in ``Hits``."""

    @property
    def count(self) -> int:
        """The number of queries."""
        return len(self.queries)

    def keep_queries(self, keep: Mask) -> Placement:
        """Return the queries where *keep* is true, with their items."""
        number = np.cumsum(keep) - 1
        rows, gold_rows = keep[self.query], keep[self.gold_query]
        row_number = np.cumsum(gold_rows) - 1
        of_items: dict[str, Any] = {
            name: getattr(self, name)[rows] for name in ("start", "size", "alone", "alone_size", "grade")
        }
        return replace(
            self,
            **of_items,
            queries=list(compress(self.queries, keep.tolist())),
            query=number[self.query[rows]],
            row=row_number[self.row[rows]],
            gold_query=number[self.gold_query[gold_rows]],
            gold_grade=self.gold_grade[gold_rows],
            gold_items=list(compress(self.gold_items, gold_rows.tolist())),
            gold_subtopics=None
            if self.gold_subtopics is None
            else list(compress(self.gold_subtopics, gold_rows.tolist())),
            depth=self.depth[keep],
            candidates=None if self.candidates is None else self.candidates[keep],
            confidence=None if self.confidence is None else self.confidence[:, keep],
        )

    def regrade(self, queries: Ints, grades: Floats) -> Placement:
        """Return the queries at these positions, each as often as it is named, with other grades of its judged items.

        The ids of the judged items and their subtopics are left out.

        Args:
            queries: Positions of queries.
            grades: The grades of the judged items of each of them, one query after another.
        """
        numbers = np.arange(self.count + 1)
        first, gold_first = np.searchsorted(self.query, numbers), np.searchsorted(self.gold_query, numbers)
        rows, query = _rows_of(first, queries)
        _, gold_query = _rows_of(gold_first, queries)
        counts = np.diff(gold_first)[queries]
        row = self.row[rows] + (np.cumsum(counts) - counts - gold_first[queries])[query]
        of_items: dict[str, Any] = {
            name: getattr(self, name)[rows] for name in ("start", "size", "alone", "alone_size")
        }
        return replace(
            self,
            **of_items,
            queries=[self.queries[number] for number in queries.tolist()],
            query=query,
            grade=grades[row],
            row=row,
            gold_query=gold_query,
            gold_grade=grades,
            gold_items=[],
            gold_subtopics=None,
            depth=self.depth[queries],
            candidates=None if self.candidates is None else self.candidates[queries],
            confidence=None if self.confidence is None else self.confidence[:, queries],
        )

    def total(self, query: Ints, values: Floats | Ints | Mask | None = None) -> Floats:
        """Sum *values* (or count rows) per query."""
        weights = None if values is None else values.astype(np.float64)
        return np.bincount(query, weights, minlength=self.count).astype(np.float64)

    def is_relevant(self, grade: Floats, rel: float | None) -> Mask:
        """Return whether each grade counts as relevant: at least *rel*, or above 0 if that is None."""
        return _is_relevant(grade, rel)

    def relevant_count(self, rel: float | None) -> Floats:
        """Count the relevant gold items of each query."""
        return self.total(self.gold_query, self.is_relevant(self.gold_grade, rel))

    def groups(self, rel: float | None) -> Groups:
        """Return the spans that contain relevant items."""
        if rel not in self._groups:
            self._groups[rel] = _group(self, self.is_relevant(self.grade, rel))
        return self._groups[rel]

    @cached_property
    def _groups(self) -> dict[float | None, Groups]:
        return {}


def _rows_of(first: Ints, queries: Ints) -> tuple[Ints, Ints]:
    """Return the rows of queries whose rows start at *first*, and the number of the query that each belongs to."""
    counts = np.diff(first)[queries]
    number = np.repeat(np.arange(len(queries)), counts)
    return np.arange(len(number)) + (first[queries] - np.cumsum(counts) + counts)[number], number


def _is_relevant(grade: Floats, rel: float | None) -> Mask:
    return grade > 0 if rel is None else grade >= rel


def place(hits: Hits, conventions: Conventions) -> Placement:
    """Apply *conventions* to *hits*."""
    hits = _select(hits, conventions)
    if conventions.unjudged == "drop":
        hits = _condense(hits)
    query, found = hits.query_index, hits.found
    shared = _with_own_gold(hits) if conventions.self_matches == "aside" else hits
    together = _spans(shared, conventions.ties)
    start, size, depth = together.start, together.size, shared.depth
    if conventions.positives == "filtered":
        hits_alone = _without_other_positives(hits, conventions.relevance_level)
    else:
        hits_alone = hits
    by_itself = _spans(hits_alone, conventions.ties)
    alone, alone_size = by_itself.start_alone, by_itself.size
    if conventions.self_matches == "implied":
        start, alone = np.maximum(start - 1, 0), np.maximum(alone - 1, 0)
    elif conventions.self_matches == "first":
        start, alone = start - 1, np.maximum(alone - 1, 0)
        found = found & (start >= 0)
        depth = np.maximum(depth - 1, 0)
    if conventions.depth is not None:
        found = found & (start < conventions.depth)
        depth = np.minimum(depth, conventions.depth)
    rows = np.flatnonzero(found)
    rows = rows[np.lexsort((start[rows], query[rows]))]
    return Placement(
        queries=hits.queries,
        query=query[rows],
        start=start[rows],
        size=size[rows],
        alone=alone[rows],
        alone_size=alone_size[rows],
        grade=hits.grade[rows],
        gold_query=query,
        gold_grade=hits.grade,
        depth=depth,
        candidates=_candidates(hits, conventions.self_matches),
        exhaustive=hits.exhaustive and conventions.depth is None and conventions.unjudged != "drop",
        row=rows,
        gold_items=hits.items,
        gold_subtopics=hits.subtopics,
        confidence=hits.confidence,
    )


def _candidates(hits: Hits, self_matches: str) -> Ints | None:
    if hits.corpus is None:
        return None
    if self_matches == "first":
        return np.full(len(hits.queries), hits.corpus - 1)
    # The length of a ranking of the whole corpus says whether the query itself was in the corpus and removed.
    return hits.depth if hits.exhaustive else np.full(len(hits.queries), hits.corpus - (hits.dropped_self > 0))


def _select(hits: Hits, conventions: Conventions) -> Hits:
    """Remove the queries and gold items that the conventions exclude, and include or exclude the query itself."""
    if conventions.self_matches in ("keep", "first", "implied"):
        if conventions.self_matches != "keep" and hits.dropped_self and not len(hits.own):
            raise InputError(
                f"self_matches={conventions.self_matches} needs the query itself in its ranking, but these hits were "
                "counted without it",
                remedy="count them again with it, or choose self_matches=drop",
            )
        hits = hits.with_own()
    empty = hits.depth == 0
    if conventions.missing == "error" and empty.any():
        raise InputError(
            f"{int(empty.sum())} queries of the gold have no results, "
            f"the first is {shorten(hits.queries[int(np.argmax(empty))])}",
            remedy="use missing=zero to score them 0 or missing=skip to leave them out",
        )
    if conventions.missing == "skip":
        hits = hits.keep_queries(~empty)
    if conventions.self_matches == "drop_results" and len(hits.own):
        hits = replace(hits, above=np.where(hits.is_own, -1, hits.above))
    if conventions.self_matches == "drop":
        own = hits.is_own
        hits = hits.keep_rows(~own) if own.any() else hits
    if len(hits.outside) and hits.outside.any():
        if conventions.outside == "drop":
            hits = hits.keep_rows(~hits.outside)
        elif conventions.outside == "drop_queries":
            inside = np.bincount(hits.query_index[~hits.outside], minlength=len(hits.queries))
            hits = hits.keep_queries(inside > 0)
    return hits


def _with_own_gold(hits: Hits) -> Hits:
    """Include the query itself in the ranking of queries that are their own gold, so that all their gold is ranked."""
    own = hits.is_own & hits.found
    if not len(hits.own) or not own.any():
        return hits
    chosen = np.zeros(len(hits.queries), bool)
    chosen[hits.query_index[own]] = True
    included, rows = hits.with_own(), chosen[hits.query_index]
    columns: dict[str, Any] = {
        name: np.where(rows, getattr(included, name), getattr(hits, name))
        for name in ("above", "tied", "tied_docid", "tied_input")
    }
    return replace(hits, depth=np.where(chosen, included.depth, hits.depth), **columns)


def _without_other_positives(hits: Hits, relevance_level: float | None) -> Hits:
    """Subtract from the counts of each relevant item the other relevant items of the query.

    The hits suffice for that: of two items of a query, the one with fewer items above it is above the other, and items
    with equally many are tied.
    """
    # Counts that exclude the query itself cannot be compared with the counts of the query itself.
    complete, excluded = hits.with_own(), hits.is_own if len(hits.own) else np.zeros(len(hits), bool)
    query, positive = hits.query_index, hits.found & _is_relevant(hits.grade, relevance_level)
    rival = positive & ~excluded
    columns: dict[str, Any] = {}
    for name in ("tied_docid", "tied_input"):
        above, tied, before = _tally(query, complete.above, getattr(complete, name), rival)
        columns |= {"above": hits.above - above, "tied": hits.tied - tied, name: getattr(hits, name) - before}
    for name, column in columns.items():
        columns[name] = np.where(positive, column, getattr(hits, name))
    return replace(hits, **columns)


def _tally(query: Ints, above: Ints, among: Ints, counted: Mask) -> tuple[Ints, Ints, Ints]:
    """Count for each row the other *counted* rows of its query: those above it, those tied with it, and those tied with
    it that come first in the order of *among*."""
    order = np.lexsort((among, above, query))
    new_query, new_tie = _boundaries(query[order], above[order])
    tie, chosen = np.cumsum(new_tie) - 1, counted[order].astype(np.int64)
    passed = np.cumsum(chosen) - chosen
    at_query = passed[np.flatnonzero(new_query)[np.cumsum(new_query) - 1]]
    at_tie = passed[np.flatnonzero(new_tie)[tie]]
    in_tie = np.bincount(tie, chosen).astype(np.int64)[tie]
    tallies = np.empty((3, len(order)), np.int64)
    tallies[:, order] = at_tie - at_query, in_tie - chosen, passed - at_tie
    return tallies[0], tallies[1], tallies[2]


def _condense(hits: Hits) -> Hits:
    """Rank the judged items only; a grade below 0 marks an item of the pool that was not judged."""
    hits = replace(hits, above=np.where(hits.grade < 0, -1, hits.above))
    query = hits.query_index
    rows = np.flatnonzero(hits.found)
    rows = rows[np.lexsort((hits.tied_docid[rows], hits.above[rows], query[rows]))]
    new_query, new_group = _boundaries(query[rows], hits.above[rows])
    position = np.arange(len(rows))
    query_start = position[new_query][np.cumsum(new_query) - 1]
    group = np.cumsum(new_group) - 1
    group_start = position[new_group][group]
    group_size = np.bincount(group)[group] if len(rows) else group
    columns = {name: getattr(hits, name).copy() for name in ("above", "tied", "tied_docid", "tied_input")}
    columns["above"][rows] = group_start - query_start
    columns["tied"][rows] = group_size - 1
    columns["tied_docid"][rows] = position - group_start
    by_input = rows[np.lexsort((hits.tied_input[rows], group))]
    columns["tied_input"][by_input] = position - group_start
    return replace(hits, depth=np.bincount(query[rows], minlength=len(hits.queries)), corpus=None, **columns)


class _Spans(NamedTuple):
    """The spans of all rows of some hits."""

    start: Ints
    start_alone: Ints
    """The start of each item when it is ranked by itself."""
    size: Ints


def _spans(hits: Hits, ties: str) -> _Spans:
    single = np.ones_like(hits.above)
    if ties == "expected":
        return _Spans(hits.above, hits.above, hits.tied + 1)
    if ties in ("docid", "input"):
        start = hits.above + (hits.tied_docid if ties == "docid" else hits.tied_input)
        return _Spans(start, start, single)
    if not hits.tied.any():
        return _Spans(hits.above, hits.above, single)
    # Tied gold items are together at the front (or the back) of their tie, the highest grade outermost.
    sign = -1 if ties == "optimistic" else 1
    query = hits.query_index
    order = np.lexsort((sign * hits.grade, hits.above, query))
    _, new = _boundaries(query[order], hits.above[order])
    group = np.cumsum(new) - 1
    among = np.empty(len(hits), np.int64)
    among[order] = np.arange(len(hits)) - np.flatnonzero(new)[group]
    if ties == "optimistic":
        return _Spans(hits.above + among, hits.above, single)
    judged = np.empty(len(hits), np.int64)
    judged[order] = np.bincount(group)[group]
    return _Spans(hits.above + hits.tied + 1 - judged + among, hits.above + hits.tied, single)


def _boundaries(query: Ints, position: Ints) -> tuple[Mask, Mask]:
    """Return whether each row begins a new query, and whether it begins a new query or position; rows are sorted."""
    new_query = np.diff(query, prepend=-1) != 0
    return new_query, new_query | (np.diff(position, prepend=-1) != 0)


def _group(placement: Placement, relevant: Mask) -> Groups:
    query, start, size = placement.query[relevant], placement.start[relevant], placement.size[relevant]
    new_query, new = _boundaries(query, start)
    heads = np.flatnonzero(new)
    position = np.arange(len(query))
    query_head = position[new_query][np.cumsum(new_query) - 1]
    return Groups(
        query=query[heads],
        start=start[heads],
        size=size[heads],
        relevant=np.diff(heads, append=len(query)),
        before=heads - query_head[heads],
        first=new_query[heads],
    )
