"""Compare two runs, stored runs or indexes without gold: what changed, how much, and whether it is more than noise."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldrank import stats
from goldrank.analysis.alignment import Alignment, Side, align, count_to_depth
from goldrank.analysis.rank_changes import STATUSES, Status, find_changes
from goldrank.analysis.rank_overlap import aligned_overlap, refuse_persistence
from goldrank.errors import InputError, counts, shorten
from goldrank.hits import Floats, Run
from goldrank.io.files import is_stored_key, run_names
from goldrank.presentation import Result
from goldrank.scoring import Bootstrap, as_run
from goldrank.stats.grouped_kendall import grouped_kendall

if TYPE_CHECKING:
    from goldrank.data.texts import TextList
    from goldrank.store import Store, StoredRun

DEPTHS = (1, 5, 10, 20, 50, 100, 1000)
"""Depths of the overlap, as far as the rankings reach."""
TOLERANCE = 1e-6
"""About eight times the rounding of float32 (2^-23), which sums of products in another order easily reach."""
LISTED_DEPTH = 10
"""The items that entered and left are listed at the largest depth up to this."""
BY_DEPTH = ("overlap", "entered", "left", "moved")


@dataclass(frozen=True)
class Measure:
    """A measure over the queries that both runs have."""

    mean: float
    interval: stats.Interval | None
    queries: int
    """The queries for which the measure is defined."""


@dataclass(frozen=True)
class QueryChange:
    """The change of the rankings of one query."""

    query: str
    text: str | None
    status: Status
    values: Mapping[str, float]
    entered: tuple[str, ...]
    """The items among the first results of the second run only, down to `Diff.listed_depth`."""
    left: tuple[str, ...]
    """The items among the first results of the first run only."""


@dataclass(frozen=True, eq=False, repr=False)
class Diff(Result):
    """The differences of two runs, query by query.

    >>> result = diff({"q1": {"a": 3, "b": 2, "c": 1}}, {"q1": {"a": 3, "c": 2, "b": 1}})
    >>> result.status, round(result["rbo"].mean, 4)
    ('changed', 0.955)
    """

    names: tuple[str, str]
    aligned: Alignment = field(repr=False)
    statuses: list[Status]
    """For each common query ``same``, ``ties``, ``noise`` or ``changed``."""
    values: Mapping[str, Floats]
    """Each measure by name, with one value per common query: rbo, tau, overlap@10, entered@10, left@10, moved@10, …"""
    depths: tuple[int, ...]
    p: float
    depth: int | None
    tolerance: float
    bootstrap: Bootstrap
    texts: Mapping[str, str] = field(repr=False)
    """The texts of queries, as far as they are known."""
    notes: tuple[str, ...] = ()

    @property
    def queries(self) -> list[str]:
        """The queries for which both runs have results."""
        return self.aligned.queries

    @property
    def only(self) -> tuple[list[str], list[str]]:
        """The queries for which only the first, and only the second run has results."""
        return self.aligned.only

    @property
    def status(self) -> Status:
        """The strongest difference: ``same``, ``ties``, ``noise`` or ``changed``."""
        return "changed" if any(self.only) else max(self.statuses, key=STATUSES.index)

    @property
    def differs(self) -> bool:
        """Whether there is a difference that neither ties nor score noise explain."""
        return self.status == "changed"

    @cached_property
    def counts(self) -> dict[Status, int]:
        """The number of common queries of each status."""
        return {status: self.statuses.count(status) for status in STATUSES}

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """The mean of each measure with its interval."""
        intervals = self.bootstrap.intervals([stats.Sample(values) for values in self.values.values()])
        return {
            name: Measure(stats.aggregate(values), interval, int((~np.isnan(values)).sum()))
            for (name, values), interval in zip(self.values.items(), intervals, strict=True)
        }

    def __getitem__(self, measure: str) -> Measure:
        return self.measures[measure]

    @property
    def listed_depth(self) -> int:
        """The depth at which `QueryChange` lists the items that entered and left."""
        return max((depth for depth in self.depths if depth <= LISTED_DEPTH), default=self.depths[0])

    def most_changed(self, count: int = 10) -> list[QueryChange]:
        """Return the changed queries with the lowest rank-biased overlap, the lowest first."""
        changed = [at for at, status in enumerate(self.statuses) if status == "changed"]
        changed.sort(key=lambda at: float(self.values["rbo"][at]))
        return [self._change(at) for at in changed[:count]]

    def _change(self, at: int) -> QueryChange:
        tops = [self._top(side, at) for side in self.aligned.sides]
        query = self.queries[at]
        return QueryChange(
            query,
            self.texts.get(query),
            self.statuses[at],
            {name: float(values[at]) for name, values in self.values.items()},
            tuple(item for item in tops[1] if item not in tops[0]),
            tuple(item for item in tops[0] if item not in tops[1]),
        )

    def _top(self, side: Side, at: int) -> dict[str, None]:
        rows = slice(*side.starts[at : at + 2].tolist())
        items = side.item[rows][side.rank[rows] <= self.listed_depth].tolist()
        return dict.fromkeys(self.aligned.items[item] for item in items)


def diff(
    a: Any,
    b: Any,
    *,
    queries: Any = None,
    k: int = 100,
    model: str | None = None,
    store: Store | str | PathLike[str] | None = None,
    run_format: str | None = None,
    texts: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    depths: Sequence[int] | None = None,
    p: float = 0.9,
    depth: int | None = None,
    tolerance: float = TOLERANCE,
    scores: str | None = None,
    names: tuple[str, str] | None = None,
    restrict_to: Collection[str] | None = None,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> Diff:
    """Compare two runs, two stored runs or two indexes, without gold.

    Args:
        a: A run file, a Run or anything a Run is built from, a stored run or its key (``KEY~1`` is the version before
            the newest); with *queries* an index folder or an open index.
        b: The same.
        queries: Texts to search both indexes with: a file, a dict of texts by id, or a list of texts.
        k: Results per query of an index.
        model: What encodes the queries; by default the model of each index.
        store: Where keys are looked up.
        run_format: The format of run files; by default it is detected.
        texts: Collections or tables that hold the texts of the queries of files.
        depths: Where to measure overlap and churn; by default 1, 5, 10, 20, 50, 100 and 1000, as far as the
            lists reach, and their length.
        p: Persistence of the rank-biased overlap, above 0 and below 1.
        depth: Read only so many results of each query.
        tolerance: Score differences up to this share of the largest absolute score of a query are noise.
        scores: The meaning of the scores: ``similarity``, ``distance`` or ``ignore``.
        names: What to call the two; by default their file names or keys.
        restrict_to: Compare these queries only, such as those of a slice.
        bootstrap: How intervals are computed.

    >>> diff({"q1": {"a": 2, "b": 2}}, {"q1": {"b": 2, "a": 2}}).status
    'ties'
    """
    refuse_persistence(p)
    if not (math.isfinite(tolerance) and 0 <= tolerance < 1):
        raise InputError(f"the tolerance {tolerance:g} is not from 0 to below 1", remedy="give a share such as 1e-6")
    if queries is None:
        options: dict[str, Any] = {"model": model, "k": None if k == 100 else k}
        for name in (name for name, value in options.items() if value is not None):
            raise InputError(f"{name} has no effect on runs", remedy="leave it out, or give two indexes and queries")
        sources = [_run_source(given, store, run_format) for given in (a, b)]
    else:
        if k < 1:
            raise InputError(f"k is {k}", remedy="give a whole number of at least 1")
        if run_format is not None:
            raise InputError("run_format has no effect on indexes", remedy="leave it out")
        query_texts = _read_queries(queries)
        sources = [_index_source(given, query_texts, k, model) for given in (a, b)]
    chosen_queries = None if restrict_to is None else set(restrict_to)
    aligned = align(sources[0].run, sources[1].run, depth=depth, scores=scores, restrict_to=chosen_queries)
    chosen = _choose_depths(aligned, depths)
    changes = find_changes(aligned, tolerance)
    return Diff(
        names or _distinct_names(sources),
        aligned,
        [STATUSES[number] for number in changes.status.tolist()],
        _measure(aligned, changes.moved, changes.status == STATUSES.index("changed"), chosen, p),
        chosen,
        p,
        depth,
        tolerance,
        bootstrap,
        _query_texts(aligned, sources, texts),
        _notes(aligned, sources),
    )


def _measure(aligned: Alignment, moved: Any, changed: Any, depths: Sequence[int], p: float) -> dict[str, Floats]:
    """Return every measure of each query; churn is counted in queries with real changes only."""
    (a, b), query, rank = aligned.sides, aligned.common_query, aligned.common_rank
    overlap = aligned_overlap(aligned, p)
    ranks = [side.rank[rows] for side, rows in zip(aligned.sides, aligned.common, strict=True)]
    sizes = np.bincount(query, minlength=len(aligned.queries))
    values = {
        "rbo": overlap.extrapolated,
        "rbo_min": overlap.low,
        "rbo_residual": overlap.residual,
        "tau": grouped_kendall(ranks[0], ranks[1], sizes),
    }
    lengths = np.maximum(a.sizes, b.sizes)
    starts = np.cumsum(lengths) - lengths
    rows = ((a.query, a.rank), (b.query, b.rank), (query, rank), (query[moved], rank[moved]))
    counted = [count_to_depth(of_query, of_rank, lengths) for of_query, of_rank in rows]
    for k in depths:
        first, second, both, reordered = (number[starts + np.minimum(k, lengths) - 1] for number in counted)
        churn = (second - both, first - both, reordered)
        values[f"overlap@{k}"] = 2.0 * both / (first + second)
        values |= {f"{name}@{k}": np.where(changed, n, 0.0) for name, n in zip(BY_DEPTH[1:], churn, strict=True)}
    return values


def _choose_depths(aligned: Alignment, depths: Sequence[int] | None) -> tuple[int, ...]:
    if depths is None:
        longest = max(int(side.sizes.max()) for side in aligned.sides)
        return tuple(sorted({*(depth for depth in DEPTHS if depth <= longest), min(longest, DEPTHS[-1])}))
    if not depths or min(depths) < 1:
        raise InputError(f"the depths {list(depths)} are not ranks", remedy="give whole numbers such as 1, 10, 100")
    return tuple(sorted(set(depths)))


@dataclass(frozen=True, eq=False)
class _Source:
    """One of the two things that are compared."""

    name: str
    run: Run
    texts: Mapping[str, str] = field(default_factory=dict)
    stored: tuple[StoredRun, Store] | None = None


def _run_source(given: Any, store: Any, run_format: str | None) -> _Source:
    from goldrank.store import Store, StoredRun

    if isinstance(given, (str, PathLike)) and not is_stored_key(fspath(given)):
        if fspath(given) != "-" and Path(given).is_dir():
            raise InputError("this is a folder", where=fspath(given), remedy="give queries to search two indexes with")
        return _Source(next(iter(run_names([fspath(given)]))), Run.read(given, format=run_format))
    if not isinstance(given, (str, StoredRun)):
        return _Source("", as_run(given))
    place = Store.open(store)
    stored = given if isinstance(given, StoredRun) else place.get(given)
    rankings = stored.run()
    if rankings is None or stored.result_kind == "masked":
        raise InputError(f"the stored run {stored.key} has no rankings", remedy="choose a run of a ranking task")
    return _Source(stored.key, rankings, stored=(stored, place))


def _read_queries(queries: Any) -> dict[str, str]:
    from goldrank.data.texts import read_texts

    if isinstance(queries, (str, PathLike)):
        read: TextList = read_texts(queries)
        return dict(zip(read.ids, read.texts, strict=True))
    listed = queries.items() if isinstance(queries, Mapping) else enumerate(queries, 1)
    return {str(name): text for name, text in listed}


def _index_source(given: Any, queries: dict[str, str], k: int, model: str | None) -> _Source:
    from goldrank.index.folder import open_index

    is_path = isinstance(given, (str, PathLike))
    index = open_index(given) if is_path else given
    name = Path(given).name if is_path else getattr(index, "path", Path()).name
    return _Source(name, index.search_texts(queries, k, model=model), queries)


def _distinct_names(sources: Sequence[_Source]) -> tuple[str, str]:
    first, second = (source.name or default for source, default in zip(sources, ("first", "second"), strict=True))
    return (first, second) if first != second else (f"{first} (first)", f"{second} (second)")


def _query_texts(aligned: Alignment, sources: Sequence[_Source], given: Any) -> dict[str, str]:
    """Return the texts of the queries: those that are given, else those of the indexes or of the store."""
    paths = [given] if isinstance(given, (str, PathLike)) else list(given)
    texts: dict[str, str] = {}
    for path in paths:
        texts = {**_texts_of_file(path, aligned.queries), **texts}
    if paths:
        return texts
    for source in sources:
        texts = {**source.texts, **texts}
        if source.stored is not None:
            run, store = source.stored
            saved = store.texts(str(run.inputs.get("data", "")))
            known = {} if saved is None else saved.find(aligned.queries, "query")
            texts = {**{name: text.title or text.text for name, text in known.items()}, **texts}
    return texts


def _texts_of_file(path: str | PathLike[str], queries: Sequence[str]) -> dict[str, str]:
    from goldrank.data.texts import read_documents, texts_of
    from goldrank.tasks.catalogue import load_data

    documents = read_documents(path) if Path(path).is_file() else getattr(load_data(path), "queries", None)
    read = {} if documents is None else dict(zip(documents.ids, texts_of(documents).texts, strict=True))
    texts = {query: read[query] for query in queries if query in read}
    if not texts:
        raise InputError(
            f"it has no text of a query such as {shorten(queries[0])}",
            where=fspath(path),
            remedy="give a collection (goldrank list collections), or a table with the columns id and text",
        )
    return texts


def _notes(aligned: Alignment, sources: Sequence[_Source]) -> tuple[str, ...]:
    from goldrank.runs.stored_scores import find_different_data

    notes = []
    longest = [int(side.sizes.max()) for side in aligned.sides]
    if longest[0] != longest[1]:
        notes.append(
            f"The first run lists up to {counts(longest[0], 'result')} per query, the second up to {longest[1]}; "
            f"a depth of {min(longest)} compares what both may list."
        )
    stored = {source.stored[0].key: source.stored[0] for source in sources if source.stored is not None}
    return (*notes, *(map(str, find_different_data(stored) if len(stored) > 1 else ())))
