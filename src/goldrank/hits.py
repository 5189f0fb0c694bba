"""Gold (judged items), Run (ranked items) and Hits (the ranks of the judged items in a run)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from goldrank import native
from goldrank.engines.base import usable_cores
from goldrank.errors import InputError
from goldrank.ordering import ListedOrder, listed_order, order_by
from goldrank.presentation import Result

if TYPE_CHECKING:
    from goldrank.io import RowsFile
    from goldrank.io.columns import Columns, TableKind
    from goldrank.io.packed import PackedRun

_BYTES_PER_THREAD = 1 << 24
"""A thread takes longer to start than to read a small part of a file."""

Precision = Literal["float64", "float32"]
Path = str | PathLike[str]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Self = TypeVar("Self", bound="_ItemsByQuery")


class _ItemsByQuery(Result, Mapping[str, dict[str, float]]):
    """A mapping from query ids to items with grades or scores: the common part of Gold and Run."""

    _kind: TableKind
    _columns: Columns | None

    def __init__(
        self, data: Any, *, query: str | None = None, item: str | None = None, value: str | None = None
    ) -> None:
        from goldrank.io.tables import columns_from, holds_labels

        if isinstance(data, _ItemsByQuery):
            if data._kind != self._kind:
                raise InputError(
                    f"a {type(data).__name__} was given where a {type(self).__name__} is needed",
                    remedy="give the gold first and the run second; to convert one on purpose, pass its .to_dict()",
                )
            self._columns = data.columns
        elif self._kind == "gold" and holds_labels(data):
            from goldrank.data.collections.in_memory import gold_from

            self._columns = gold_from(data)
        else:
            self._columns = columns_from(data, self._kind, query=query, item=item, value=value)

    @classmethod
    def from_arrays(cls: type[Self], queries: Any, items: Any, values: Any) -> Self:
        """Build from three parallel sequences: query ids, item ids, and grades or scores."""
        from goldrank.io.tables import columns_from_arrays

        return cls.from_columns(columns_from_arrays(queries, items, values, cls._kind))

    @classmethod
    def from_columns(cls: type[Self], columns: Columns) -> Self:
        """Wrap columns that are already grouped by query and checked."""
        result = cls.__new__(cls)
        result._columns = columns
        return result

    @classmethod
    def read(cls: type[Self], path: Path, *, format: str | None = None) -> Self:
        """Read a file in any known format ("-" is standard input), recognised by its content."""
        from goldrank import io

        return cls.from_columns(io.read(path, cls._kind, format=format))

    def write(self, path: Path, *, format: str | None = None, tag: str = "goldrank") -> None:
        """Write to *path* atomically, in *format* or in that of the file name extension."""
        from goldrank import io

        io.write(self.columns, path, self._kind, format=format, tag=tag)

    @property
    def columns(self) -> Columns:
        """The rows as parallel columns."""
        assert self._columns is not None
        return self._columns

    @property
    def is_by_position(self) -> bool:
        """Whether the queries have no ids of their own and are numbered from 0."""
        return self._columns is not None and self._columns.by_position

    @property
    def reading(self) -> str:
        """What each named column of a table was read as, and which were ignored; empty if there were no names."""
        return "" if self._columns is None else self._columns.reading

    @property
    def queries(self) -> list[str]:
        """The query ids, in order of first appearance."""
        return self.columns.queries

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the rows as a dict of dicts."""
        return dict(self._by_query())

    def _by_query(self) -> Iterator[tuple[str, dict[str, float]]]:
        columns = self.columns
        values, starts = columns.values.tolist(), columns.starts.tolist()
        for query, start, end in zip(columns.queries, starts[:-1], starts[1:], strict=True):
            yield query, dict(zip(columns.items[start:end], values[start:end], strict=True))

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The position of each query in ``queries``."""
        return {query: position for position, query in enumerate(self.queries)}

    def __contains__(self, query: object) -> bool:
        return query in self._positions

    def __getitem__(self, query: str) -> dict[str, float]:
        position = self._positions[query]
        rows = slice(*self.columns.starts[position : position + 2].tolist())
        return dict(zip(self.columns.items[rows], self.columns.values[rows].tolist(), strict=True))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _ItemsByQuery):
            return self._kind == other._kind and self.to_dict() == other.to_dict()
        return isinstance(other, Mapping) and self.to_dict() == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} queries, {len(self.columns.items)} rows)"


class Gold(_ItemsByQuery):
    """The judged items of each query with their grades (qrels, labels, positive pairs).

    An item with a grade above 0 is relevant; with 0 or less it is judged and not relevant. Gold judged by subtopic, for
    diversity metrics, holds a grade for each subtopic of an item; the grade of the item is the highest of them.

    >>> gold = Gold({"q1": {"d3": 2, "d7": 0}, "q2": {"d1": 1}})
    >>> gold["q1"]
    {'d3': 2.0, 'd7': 0.0}
    >>> Gold([[11, 1], [4]]).to_dict()
    {'0': {'11': 1.0, '1': 1.0}, '1': {'4': 1.0}}
    >>> Gold({"q1": {"d3": {"price": 1, "taste": 2}}}).subtopics
    {'q1': {'d3': {'price': 1.0, 'taste': 2.0}}}
    """

    _kind: TableKind = "gold"

    def __init__(
        self, data: Any, *, query: str | None = None, item: str | None = None, grade: str | None = None
    ) -> None:
        super().__init__(data, query=query, item=item, value=grade)

    @property
    def subtopics(self) -> dict[str, dict[str, dict[str, float]]] | None:
        """For each query and item the grade for each subtopic; None if the gold was not judged by subtopic."""
        judged, bounds = self.columns.subtopics, self.columns.starts.tolist()
        if judged is None:
            return None
        return {
            query: dict(zip(self.columns.items[start:end], map(dict, judged[start:end]), strict=True))
            for query, start, end in zip(self.queries, bounds[:-1], bounds[1:], strict=True)
        }

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and (not isinstance(other, Gold) or self.subtopics == other.subtopics)

    __hash__ = None


class Run(_ItemsByQuery):
    """The ranked items of each query with their scores (results, predictions).

    Items are ranked by descending score; the tie policy decides about equal scores. `order` says whether the
    listed order agrees with the scores. A TREC file and a dict are converted to columns only on demand, because scoring
    only needs the ranks of the judged items.

    >>> run = Run({"q1": {"d3": 0.9, "d1": 0.4}})
    >>> run["q1"]
    {'d3': 0.9, 'd1': 0.4}
    >>> Run([[11, 1], [4]]).to_dict()
    {'0': {'11': 2.0, '1': 1.0}, '1': {'4': 1.0}}
    """

    _kind: TableKind = "run"
    _trec: RowsFile | None = None
    _packed: PackedRun | None = None
    _threads: int = 1
    _mapping: dict[str, dict[str, float]] | None = None

    def __init__(
        self, data: Any, *, query: str | None = None, item: str | None = None, score: str | None = None
    ) -> None:
        if _is_mapping_of_dicts(data):
            self._mapping, self._columns = {query_id: dict(ranking) for query_id, ranking in data.items()}, None
        else:
            super().__init__(data, query=query, item=item, value=score)

    @classmethod
    def view(cls, data: Any) -> Run:
        """Return a run that reads a dict of dicts without copying it; the dict must not change."""
        if not _is_mapping_of_dicts(data):
            return cls(data)
        run = cls.__new__(cls)
        run._mapping, run._columns = data, None
        return run

    @classmethod
    def from_positions(
        cls, queries: Sequence[str], ids: Sequence[str], results: Iterable[tuple[Ints, Floats]], source: str
    ) -> Run:
        """Build a run from search results.

        Args:
            queries: The query ids, each once.
            ids: The ids of all items.
            results: For each query the positions of its results in *ids*, each once, and their scores.
            source: The name of the searcher, for error messages.
        """
        positions, scores, sizes = [np.zeros(0, np.int64)], [np.zeros(0)], [0]
        for ranked, values in results:
            positions.append(ranked)
            scores.append(values)
            sizes.append(len(values))
        # One lookup for all queries: a list for each of them takes five times as long. For few results, the array of
        # all ids takes longest.
        rows = np.concatenate(positions)
        few = 4 * len(rows) < len(ids)
        items = [ids[row] for row in rows.tolist()] if few else np.array(ids, object)[rows].tolist()
        return cls._from_flat(queries, sizes, items, scores, source)

    @classmethod
    def from_rankings(
        cls, queries: Sequence[str], rankings: Iterable[tuple[Sequence[str], Floats]], source: str
    ) -> Run:
        """Return the run of ranked items.

        Args:
            queries: the query ids, each once.
            rankings: for each query the ids of its items, each once, and their scores.
            source: what ranked, for messages.
        """
        items: list[str] = []
        scores, sizes = [np.zeros(0)], [0]
        for ranked, values in rankings:
            items += ranked
            scores.append(values)
            sizes.append(len(values))
        return cls._from_flat(queries, sizes, items, scores, source)

    @classmethod
    def _from_flat(
        cls, queries: Sequence[str], sizes: list[int], items: list[str], scores: list[Floats], source: str
    ) -> Run:
        from goldrank.io.checks import refuse_non_finite
        from goldrank.io.columns import Columns

        columns = Columns(list(queries), np.cumsum(sizes), items, np.concatenate(scores), source)
        refuse_non_finite(columns.values, value="score", place=lambda row: f"{source}: item {columns.items[row]!r}")
        return cls.from_columns(columns)

    @classmethod
    def deferred(cls, search: Callable[[int], Run], depth: int) -> Run:
        """Return a run that calls *search* with *depth* on first access, for hits that are counted without it."""
        return _DeferredRun(search, depth)

    @classmethod
    def read(cls, path: Path, *, format: str | None = None, threads: int | None = None) -> Run:
        """Read a file in any known format ("-" is standard input), recognised by its content.

        Args:
            path: The file.
            format: The name of its format, to skip the recognition.
            threads: How many threads score a large TREC file; by default one for each core.

        The lines of a TREC file, and the text behind the first 64 KB of a large one, are checked when the run is used.
        """
        from goldrank import io

        threads = usable_cores() if threads is None else threads
        file = io.open_rows(path, "run", format=format, threads=threads)
        run = cls.__new__(cls)
        run._columns = None
        if file.format == "trec":
            run._trec, run._threads = file, threads
        elif (packed := file.pack()) is not None:
            run._packed = packed
        else:
            run._columns = file.parse()
        return run

    @property
    def reading(self) -> str:
        """What each named column of a table was read as, and which were ignored; empty if there were no names."""
        return super().reading if self._packed is None else self._packed.reading

    @property
    def columns(self) -> Columns:
        """The rows as parallel columns."""
        if self._columns is None:
            if self._trec is not None:
                self._columns = self._trec.parse()
            elif self._packed is not None:
                self._columns = self._packed.columns()
            else:
                from goldrank.io.tables import columns_from

                self._columns = columns_from(self._mapping, "run")
        return self._columns

    @property
    def order(self) -> ListedOrder:
        """How the rank column, or the order of the list, agrees with the scores."""
        return listed_order(self._packed or self.columns)

    def _listed_order(self, counted: ListedOrder) -> ListedOrder:
        """Return what was counted while the hits were, except for ranks that are only in the columns."""
        columns = None if self._trec is not None else self._packed or self._columns
        if columns is not None and columns.ranks is not None:
            return self.order
        return replace(counted, unnamed=columns is not None and columns.unnamed)

    def ordered_by(self, scores: str) -> Run:
        """Return the run ordered by ``similarity``, by ``distance``, or as it is listed (``ignore``)."""
        return self if scores == "similarity" else Run.from_columns(order_by(self.columns, scores))

    def head(self, k: int) -> Run:
        """Return the first *k* items of each query, in the listed order.

        >>> Run({"q1": {"d3": 0.9, "d1": 0.4}, "q2": {}}).head(1).to_dict()
        {'q1': {'d3': 0.9}, 'q2': {}}
        """
        columns = self.columns
        sizes = np.diff(columns.starts)
        keep = np.arange(len(columns.items)) - np.repeat(columns.starts[:-1], sizes) < k
        if keep.all():
            return self
        return Run.from_columns(
            replace(
                columns,
                starts=np.concatenate(([0], np.cumsum(np.minimum(sizes, k)))),
                items=list(compress(columns.items, keep.tolist())),
                values=columns.values[keep],
                ranks=None if columns.ranks is None else columns.ranks[keep],
                chunks=None if columns.chunks is None else list(compress(columns.chunks, keep.tolist())),
            )
        )

    def listed_items(self, rows: int | None = None) -> dict[str, list[str]]:
        """Return the items of each query in the listed order, of about the first *rows* rows only if that is given."""
        if self._mapping is not None:
            items: dict[str, list[str]] = {}
            remaining = rows
            for query, ranking in self._mapping.items():
                items[query] = list(islice(ranking, remaining))
                if remaining is not None and (remaining := remaining - len(ranking)) <= 0:
                    break
            return items
        if rows is not None and self._packed is not None:
            return self._packed.listed_items(rows)
        if rows is None or self._trec is None:
            columns = self.columns
        else:
            from goldrank.io.formats.trec import load_head

            columns = load_head(self._trec.data, self._trec.name, rows)
        bounds = columns.starts.tolist()
        parts = zip(columns.queries, bounds[:-1], bounds[1:], strict=True)
        return {query: columns.items[start:end] for query, start, end in parts if rows is None or start < rows}

    def hits(
        self,
        gold: Gold,
        *,
        precision: Precision = "float64",
        drop_self: bool = False,
        corpus: int | Collection[str] | None = None,
        scores: str = "similarity",
    ) -> Hits:
        """Count where each judged item of *gold* is ranked in this run.

        Args:
            gold: The judged items.
            precision: ``float32`` rounds the scores first, as trec_eval up to 9 does.
            drop_self: Remove results whose item id is the query id from the ranking.
            corpus: The number of items that could have been ranked, or their ids; distinguishes gold outside the corpus
                from gold below the last result.
            scores: ``similarity`` (higher is better), ``distance`` (lower is better) or ``ignore`` (the rank column
                or the order of the list counts).

        Raises:
            InputError: The run cannot be read, or it has no query in common with the gold.
        """
        if scores != "similarity":
            hits = self.ordered_by(scores).hits(gold, precision=precision, drop_self=drop_self, corpus=corpus)
            return replace(hits, scores=scores, order=ListedOrder() if scores == "ignore" else hits.order)
        judged = gold.columns
        if self.is_by_position and gold.is_by_position and len(self) != len(gold):
            raise InputError(
                f"the gold has lists for {len(gold)} queries and the run for {len(self)}, and only their positions say "
                "which belong together",
                remedy="give one list for each query in both, an empty one where nothing was found, or dicts by query",
            )
        counts = np.empty((4, len(judged.items)), np.int64)
        depth = np.empty(len(judged.queries), np.int64)
        arguments = (
            judged.queries,
            judged.starts,
            judged.items,
            precision == "float32",
            drop_self,
            counts,
            depth,
        )
        try:
            if self._trec is not None:
                counted = _count_trec(self._trec, self._threads, *arguments)
            elif self._packed is not None:
                packed = self._packed
                counted = native.count_packed_hits(
                    packed.queries, packed.starts, packed.offsets, packed.text, packed.values, *arguments
                )
            elif self._mapping is not None:
                counted = native.count_mapping_hits(self._mapping, *arguments)
            else:
                columns = self.columns
                values = np.ascontiguousarray(columns.values, np.float64)
                counted = native.count_column_hits(columns.queries, columns.starts, columns.items, values, *arguments)
        except native.RowFault as fault:
            from goldrank.io.formats.trec import fault_to_error

            raise fault_to_error(fault, self._trec.name if self._trec else "the run", "run") from None
        totals = native.RunTotals(*counted)
        order = ListedOrder(
            totals.varied,
            totals.contradicting,
            totals.rising,
            totals.by_rank,
            totals.rank_like,
            totals.long_lines,
        )
        hits = Hits(
            queries=judged.queries,
            starts=judged.starts,
            items=judged.items,
            grade=judged.values,
            above=counts[0],
            tied=counts[1],
            tied_docid=counts[2],
            tied_input=counts[3],
            depth=depth,
            precision=precision,
            ignored_queries=totals.ignored,
            dropped_self=totals.dropped,
            subtopics=judged.subtopics,
            order=self._listed_order(order),
        )
        if not totals.results and self._trec is not None:
            from goldrank.io import no_rows

            raise no_rows(self._trec.name)
        if judged.queries and totals.results > totals.dropped and not depth.any():
            from goldrank.io.id_forms import disjoint_queries

            raise disjoint_queries(gold.queries, self.queries)
        return hits if corpus is None else hits.within(corpus, self_dropped=drop_self)


class _DeferredRun(Run):
    def __init__(self, search: Callable[[int], Run], depth: int) -> None:
        self._search, self._depth, self._columns = search, depth, None

    @property
    def columns(self) -> Columns:
        """The rows as parallel columns."""
        if self._columns is None:
            self._columns = self._search(self._depth).columns
        return self._columns

    def head(self, k: int) -> Run:
        """Return the first *k* items of each query; a deeper search is not done for them."""
        return self._search(k) if self._columns is None and k < self._depth else super().head(k)


def _count_trec(file: RowsFile, threads: int, *gold: Any) -> tuple[int, ...]:
    """Count the hits of a TREC run; its text is checked apart only where the counter saw more than plain ASCII."""
    from goldrank.io.memory_mapping import unchanged

    with unchanged(file.data):
        threads = min(threads, 1 + len(file.data) // _BYTES_PER_THREAD)
        arguments = [*gold, threads]
        try:
            counted = native.RunTotals(*native.count_trec_hits(file.data, *arguments))
        except native.RowFault:
            file.check_text(threads)
            raise
        if counted.special_text:
            file.check_text(threads)
        return counted


def _is_mapping_of_dicts(data: Any) -> bool:
    """Return True for dicts of dicts whose ids are strings; of the item ids only the first of each query is checked."""
    if not isinstance(data, dict) or not data:
        return False
    return all(
        isinstance(ranking, dict) and isinstance(query, str) and isinstance(next(iter(ranking), ""), str)
        for query, ranking in data.items()
    )


OWN = {"above": 2, "tied before": 1, "tied after": 0, "below": -1, "no item": -2}
"""Where the query itself is ranked relative to a judged item, if it is an item of the corpus ("no item" if not); ties
are divided by the order of the items."""


@dataclass(frozen=True, eq=False, repr=False)
class Hits(Result):
    """The ranks of the gold: one row per judged item, grouped by query.

    A row counts the items that score strictly *above* the judged item and those that are *tied* with it; ``above`` is
    -1 if the item is not in the ranking. Of the tied items, ``tied_docid`` come first if ties are broken by descending
    id, and ``tied_input`` if they keep the order of the input. Counts over disjoint parts of a corpus add up.
    """

    queries: list[str]
    starts: Ints
    items: list[str]
    grade: Floats
    above: Ints
    tied: Ints
    tied_docid: Ints
    tied_input: Ints
    depth: Ints
    """The number of items in the ranking of each query; 0 for a query without results."""
    precision: Precision = "float64"
    """The precision at which scores were compared."""
    corpus: int | None = None
    """The number of items that could have been ranked, if known."""
    outside: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    """Whether each judged item is outside the corpus; empty if the corpus is not known."""
    ignored_queries: int = 0
    """Queries of the run that the gold does not have."""
    dropped_self: int = 0
    """Results removed because their id is that of the query."""
    own: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    """Where the query itself, which the counts exclude, is ranked relative to each judged item: a value of ``OWN``;
    empty if that is not known or the counts include it."""
    subtopics: list[dict[str, float]] | None = None
    """For each judged item the grade for each subtopic; None if the gold was not judged by subtopic."""
    confidence: Floats | None = None
    """The confidence of the run in each query, if a metric needs it: see `metrics.abstention.confidences`."""
    scores: str = "similarity"
    """How the scores were read: ``similarity``, ``distance`` or ``ignore``."""
    order: ListedOrder = field(default_factory=ListedOrder)
    """How the rank column or the listed order of the run agrees with its scores."""

    @property
    def query(self) -> NDArray[np.object_]:
        """The query id of each row."""
        return np.array(self.queries, object)[self.query_index]

    @property
    def item(self) -> NDArray[np.object_]:
        """The item id of each row."""
        return np.array(self.items, object)

    @property
    def query_index(self) -> Ints:
        """The position in ``queries`` of each row's query."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.starts))

    @property
    def found(self) -> NDArray[np.bool_]:
        """Whether each judged item is in the ranking."""
        return self.above >= 0

    @property
    def exhaustive(self) -> bool:
        """Whether every ranking is known to contain the whole corpus (without the query itself, if dropped)."""
        if self.corpus is None:
            return False
        return bool((self.depth >= self.corpus - (self.dropped_self > 0)).all())

    def within(self, corpus: int | Collection[str], *, self_dropped: bool = False) -> Hits:
        """Return the same hits with the corpus known by its size or by its item ids."""
        if isinstance(corpus, int):
            size = corpus
            full = self.depth >= size - self_dropped
            outside = ~self.found & full[self.query_index]
        else:
            ids = corpus if isinstance(corpus, (Set, Mapping)) else set(corpus)
            size = len(ids)
            outside = np.fromiter((item not in ids for item in self.items), bool, len(self.items))
        if size < (deepest := int(self.depth.max(initial=0))):
            raise InputError(
                f"the size of the corpus is {size}, but a ranking has {deepest} items",
                remedy="give the number of items that could have been ranked",
            )
        return replace(self, corpus=size, outside=outside)

    def keep_rows(self, keep: NDArray[np.bool_]) -> Hits:
        """Return the judged items where *keep* is true; all queries stay, even those left without gold."""
        index = self.query_index
        counts = np.bincount(index[keep], minlength=len(self.queries))
        rows = {name: getattr(self, name)[keep] for name in ("grade", "above", "tied", "tied_docid", "tied_input")}
        return replace(
            self,
            starts=np.concatenate(([0], np.cumsum(counts))),
            items=list(compress(self.items, keep.tolist())),
            outside=self.outside[keep] if len(self.outside) else self.outside,
            own=self.own[keep] if len(self.own) else self.own,
            subtopics=self.subtopics and [self.subtopics[row] for row in np.flatnonzero(keep).tolist()],
            **rows,
        )

    def keep_queries(self, keep: NDArray[np.bool_]) -> Hits:
        """Return the queries where *keep* is true, with their rows."""
        rows = self.keep_rows(keep[self.query_index])
        return replace(
            rows,
            queries=list(compress(self.queries, keep.tolist())),
            starts=np.concatenate(([0], np.cumsum(np.diff(self.starts)[keep]))),
            depth=self.depth[keep],
            confidence=None if self.confidence is None else self.confidence[:, keep],
        )

    def restrict_gold(self, keep: NDArray[np.bool_]) -> Hits:
        """Return the judged items where *keep* is true as the only gold, for the queries that have any of them."""
        rows = self.keep_rows(keep)
        return rows.keep_queries(np.diff(rows.starts) > 0)

    @property
    def is_own(self) -> NDArray[np.bool_]:
        """Whether the id of each judged item is that of its query."""
        pairs = zip(np.array(self.queries, object)[self.query_index], self.items, strict=True)
        return np.fromiter((query == item for query, item in pairs), bool, len(self))

    def with_own(self) -> Hits:
        """Return the same hits with the query itself included in the counts, as far as ``own`` tells its rank."""
        if not len(self.own):
            return self
        above, tied = self.own == OWN["above"], (self.own == OWN["tied before"]) | (self.own == OWN["tied after"])
        query_first = np.fromiter((q > item for q, item in zip(self.query, self.items, strict=True)), bool, len(self))
        held = np.zeros(len(self.queries), np.int64)
        held[self.query_index[self.own != OWN["no item"]]] = 1
        return replace(
            self,
            above=self.above + above,
            tied=self.tied + tied,
            tied_docid=self.tied_docid + (tied & query_first),
            tied_input=self.tied_input + (self.own == OWN["tied before"]),
            depth=self.depth + held,
            dropped_self=0,
            own=np.zeros(0, np.int8),
        )

    def set_aside(self, without: Hits) -> Hits:
        """Return hits that exclude the query from the counts of other items, and rank it where it is a judged item.

        Args:
            without: The same hits counted without the query itself; ``own`` of the result holds the difference.
        """
        is_own = self.is_own
        tied = np.where(self.tied_input > without.tied_input, OWN["tied before"], OWN["tied after"])
        own = np.where(self.above > without.above, OWN["above"], np.where(self.tied > without.tied, tied, OWN["below"]))
        own[~self.found | is_own] = OWN["below"]
        own[(self.depth == without.depth)[self.query_index]] = OWN["no item"]
        columns = {
            name: np.where(is_own, getattr(self, name), getattr(without, name))
            for name in ("above", "tied", "tied_docid", "tied_input")
        }
        return replace(without, own=own.astype(np.int8), **columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as parallel lists, with the depth of each row's ranking."""
        return {
            "query": self.query.tolist(),
            "item": self.items,
            "grade": self.grade.tolist(),
            "above": self.above.tolist(),
            "tied": self.tied.tolist(),
            "tied_docid": self.tied_docid.tolist(),
            "tied_input": self.tied_input.tolist(),
            "depth": self.depth[self.query_index].tolist(),
        }

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        found = int(self.found.sum())
        return f"Hits({len(self.queries)} queries, {len(self)} judged items, {found} of them ranked)"
