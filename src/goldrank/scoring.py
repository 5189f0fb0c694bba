"""Score a run against the gold: the value of every metric for each query and over all queries, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from goldrank import stats
from goldrank.data_warnings import (
    JUDGED_DEPTH,
    JUDGED_QUERIES,
    SAMPLE_ROWS,
    different_depths,
    different_items,
    different_judged_shares,
    different_queries,
    id_warnings,
    missing_queries,
    run_warnings,
    self_matches,
    self_matches_by_position,
)
from goldrank.errors import DataWarning, InputError, UnknownArgumentError
from goldrank.hits import Floats, Gold, Hits, Precision, Run
from goldrank.io.positions import columns_by_position, is_by_position
from goldrank.metrics import Conventions, Metric, Placement, Profile, find_profile, parse_all, place
from goldrank.metrics.abstention import apply_inner, confidences
from goldrank.presentation import Result

AGGREGATES = {
    "mean": "their mean",
    "geometric": "their geometric mean",
    "median": "their median",
    "sum": "their sum",
    "nauc": "the area under their abstention curve",
}
"""How each kind of aggregate combines the values of the queries, as the end of a sentence."""

Metrics = str | Metric | Iterable[str | Metric] | None


@dataclass(frozen=True)
class Bootstrap:
    """The settings of bootstrap confidence intervals."""

    resamples: int = 10_000
    level: float = 0.95
    method: str = "bca"
    seed: int = 0

    def intervals(self, columns: Sequence[stats.Sample]) -> list[stats.Interval | None]:
        """Return the interval of each column, from one set of resamples (see `goldrank.stats.intervals`)."""
        return stats.intervals(columns, resamples=self.resamples, level=self.level, method=self.method, seed=self.seed)


class Coverage(NamedTuple):
    """The part of the gold that a run covers."""

    answered: int
    """The queries of the gold for which the run has results."""
    queries: int
    """The queries of the gold."""
    retrieved: int
    """The judged items among the results."""
    judged: int
    """The judged items of the gold."""

    @classmethod
    def of(cls, hits: Hits) -> Coverage:
        """Count what the run of these hits covers."""
        return cls(int((hits.depth > 0).sum()), len(hits.queries), int(hits.found.sum()), len(hits))


@dataclass(frozen=True)
class Counts:
    """The counts of queries and gold items that the scores include and leave out; shown with every result."""

    queries: int
    """Queries that are averaged over."""
    missing: int
    """Queries of the gold for which the run has no results."""
    ignored: int
    """Queries of the run that the gold does not have."""
    no_relevant: int
    """Queries that are averaged over although no gold item is relevant: they score 0 for every run."""
    self_dropped: int
    """Results removed because their id is that of the query."""
    outside: int
    """Gold items known to be outside the corpus."""
    coverage: Coverage
    """How much of the gold the run covers, whatever the conventions leave out."""
    flattened: int = 0
    """Gold items judged for several subtopics of which some metric reads only the highest grade."""
    missing_queries: tuple[str, ...] = ()
    """The ids of the missing queries."""
    deepest: int = 0
    """How many results the longest ranking has."""


class SharedIntervals:
    """The intervals of all metrics of one run, which are computed together from the same resamples of the queries."""

    def __init__(self, bootstrap: Bootstrap) -> None:
        self._bootstrap = bootstrap
        self.samples: list[stats.Sample] = []
        self.known: list[stats.Interval | None] | None = None
        """The intervals, if they were computed."""

    def __getitem__(self, number: int) -> stats.Interval | None:
        if self.known is None:
            self.known = self._bootstrap.intervals(self.samples)
        return self.known[number]


@dataclass(frozen=True, eq=False)
class Score:
    """One metric of one run: the value over all queries, its confidence interval, and the value of each query."""

    metric: Metric
    queries: list[str]
    values: Floats
    """One value per query, NaN where the metric is undefined."""
    weights: Floats | None
    # Not the scores of all metrics: a cycle of references would keep large arrays in memory for long.
    _intervals: SharedIntervals = field(repr=False)
    _number: int = field(repr=False)

    @property
    def sample(self) -> stats.Sample:
        """The values in the form that ``goldrank.stats`` reads."""
        definition = self.metric.definition
        return stats.Sample(self.values, self.weights, definition.aggregate, definition.proportion)

    @cached_property
    def value(self) -> float:
        """The value over all queries: their mean for most metrics, their sum for counts, their median for median ranks.

        ``goldrank explain METRIC`` says which.
        """
        return stats.aggregate(self.values, self.weights, self.metric.definition.aggregate)

    @property
    def mean(self) -> float:
        """The value, if it is a mean over queries; other metrics raise AttributeError."""
        aggregate = self.metric.definition.aggregate
        if aggregate != "mean":
            raise AttributeError(f"{self.metric} is not a mean over queries but {AGGREGATES[aggregate]}; read .value")
        return self.value

    @property
    def interval(self) -> stats.Interval | None:
        """The confidence interval of the value; None for counts and for fewer than two queries."""
        return self._intervals[self._number]

    @property
    def per_query(self) -> dict[str, float]:
        """The value of each query."""
        return dict(zip(self.queries, self.values.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"Score({self.metric}, value={self.value:.4f}, {len(self.queries)} queries)"


class RunSource:
    """The gold and the run that were scored; holds the run until its ids are checked, and no longer."""

    def __init__(self, gold: Gold, run: Run, hits: Hits, name: str) -> None:
        self.gold = gold
        self._open: tuple[Run, Hits] | None = (run, hits)
        self._name = name
        self._warnings: tuple[DataWarning, ...] = ()
        self._items: dict[str, list[str]] = {}

    def check_ids(self) -> None:
        """Check the ids, and release the run."""
        if self._open is not None:
            run, hits = self._open
            self._warnings = tuple(id_warnings(self.gold, run, hits, self._name))
            self._items = run.listed_items(SAMPLE_ROWS)
            self._open = None

    @property
    def warnings(self) -> tuple[DataWarning, ...]:
        """Warnings about ids of gold and run that differ only in how they are written."""
        self.check_ids()
        return self._warnings

    @property
    def items(self) -> dict[str, list[str]]:
        """The items of each query in the first rows of the run."""
        self.check_ids()
        return self._items


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Result, Mapping[str, Score]):
    """All metrics of one run by name, with the conventions that were applied.

    >>> scores = score({"q1": {"d3": 1}}, {"q1": {"d1": 0.9, "d3": 0.4}}, ["mrr", "recall@1"])
    >>> scores["mrr"].mean
    0.5
    """

    name: str
    profile: Profile
    conventions: Conventions
    metrics: list[Metric]
    """The metrics as requested."""
    applied: list[Metric]
    """The same metrics with the parameters that the profile sets."""
    placement: Placement = field(repr=False)
    counts: Counts
    bootstrap: Bootstrap = Bootstrap()
    prior_warnings: tuple[DataWarning, ...] = field(default=(), repr=False)
    """Warnings that were known before the ids were checked; ``warnings`` includes them."""
    source: RunSource | None = field(default=None, repr=False)
    """The gold and the run; None if the scores were computed from hits alone."""

    @cached_property
    def warnings(self) -> tuple[DataWarning, ...]:
        """Everything known that makes these scores misleading, the most serious first."""
        if self.source is None:
            return self.prior_warnings
        keeps_self = self.conventions.self_matches == "keep"
        own: Iterable[DataWarning] = ()
        if self.source.gold.is_by_position:
            own = self_matches_by_position(self.source.items, self.counts.self_dropped, self.name, counted=keeps_self)
        elif keeps_self:
            own = self_matches(self.source.items, self.name)
        return (*self.prior_warnings, *self.source.warnings, *own)

    @cached_property
    def _scores(self) -> dict[str, Score]:
        scores = {}
        for number, (metric, applied) in enumerate(zip(self.metrics, self.applied, strict=True)):
            result = applied.compute(self.placement)
            score = Score(metric, self.placement.queries, result.values, result.weights, self.shared_intervals, number)
            scores[str(metric)] = score
            self.shared_intervals.samples.append(score.sample)
        return scores

    @cached_property
    def shared_intervals(self) -> SharedIntervals:
        """The intervals of all metrics, computed when the first of them is used."""
        return SharedIntervals(self.bootstrap)

    @property
    def intervals(self) -> list[stats.Interval | None]:
        """The interval of every metric; all metrics share the same resamples of the queries."""
        return [score.interval for score in self.values()]

    def restrict(self, queries: Collection[str]) -> Scores:
        """Return the scores of some of the queries, which are those of the gold restricted to these queries.

        Of the counts only those of queries and judged items are known for a part of the queries; the others are 0.

        Raises:
            InputError: None of the queries is scored.

        >>> runs = {"q1": {"d3": 1}, "q2": {"d1": 2, "d3": 1}}
        >>> score({"q1": {"d3": 1}, "q2": {"d3": 1}}, runs, "mrr").restrict(["q2"])["mrr"].mean
        0.5
        """
        chosen = set(queries)
        placement = self.placement.keep_queries(np.array([query in chosen for query in self.placement.queries], bool))
        if not placement.count:
            raise InputError(
                f"none of these {len(chosen)} queries is scored",
                where=self.name,
                remedy="check the ids, and the convention missing",
            )
        missing = tuple(query for query in self.counts.missing_queries if query in chosen)
        left_out = 0 if self.conventions.missing == "zero" else len(missing)
        total = placement.count + left_out
        counts = Counts(
            queries=placement.count,
            missing=len(missing),
            ignored=0,
            no_relevant=int((placement.relevant_count(self.conventions.relevance_level) == 0).sum()),
            self_dropped=0,
            outside=0,
            coverage=Coverage(total - len(missing), total, len(placement.query), len(placement.gold_query)),
            missing_queries=missing,
            deepest=int(placement.depth.max(initial=0)),
        )
        return replace(self, placement=placement, counts=counts, prior_warnings=(), source=None)

    def __getitem__(self, metric: str) -> Score:
        if metric in self._scores:
            return self._scores[metric]
        return self._scores[str(Metric.parse(metric))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self.metrics)


def share_resamples(
    all_scores: Iterable[Scores], samples: Sequence[stats.Sample] = (), bootstrap: Bootstrap | None = None
) -> list[stats.Interval | None]:
    """Compute the intervals of several runs, and those of other samples, with few sets of resamples.

    Runs over equally many queries share one set. The intervals are those that each run would compute for itself, which
    takes longer because it draws the resamples again.

    Args:
        all_scores: The runs; those whose intervals are known are left alone.
        samples: Further values, such as differences between runs.
        bootstrap: The settings for the samples; runs with other settings compute their intervals when asked.

    Returns:
        The interval of each sample.
    """
    runs = [scores for scores in all_scores if scores.shared_intervals.known is None]
    how = bootstrap or (runs[0].bootstrap if runs else Bootstrap())
    runs = [scores for scores in runs if scores.bootstrap == how]
    columns = [*samples, *(score.sample for scores in runs for score in scores.values())]
    results: dict[int, stats.Interval | None] = {}
    for size in {len(column.values) for column in columns}:
        positions = [position for position, column in enumerate(columns) if len(column.values) == size]
        results.update(zip(positions, how.intervals([columns[position] for position in positions]), strict=True))
    position = len(samples)
    for scores in runs:
        scores.shared_intervals.known = [results[position + number] for number in range(len(scores))]
        position += len(scores)
    return [results[number] for number in range(len(samples))]


def all_warnings(all_scores: Sequence[Scores]) -> tuple[DataWarning, ...]:
    """Return everything that makes the scores of some runs misleading, in each run and in their comparison."""
    by_run = [warning for scores in all_scores for warning in scores.warnings]
    if len(all_scores) < 2:
        return tuple(by_run)
    first = all_scores[0]
    between = [
        *different_queries(
            {scores.name: scores.counts.missing_queries for scores in all_scores},
            skipped=first.conventions.missing == "skip",
        ),
        *different_depths({scores.name: scores.counts.deepest for scores in all_scores}, first.metrics),
        *different_judged_shares(_judged_shares(all_scores)),
    ]
    sources = {scores.name: scores.source for scores in all_scores if scores.source is not None}
    if len(sources) > 1:
        items = {name: source.items for name, source in sources.items()}
        between += different_items(items, next(iter(sources.values())).gold.columns.items)
    if any(warning.code == "different-queries" for warning in between):
        # That warning already names the missing queries of every run.
        by_run = [warning for warning in by_run if warning.code != "missing-queries"]
    return (*by_run, *between)


def _judged_shares(all_scores: Sequence[Scores]) -> dict[str, float]:
    """Return the share of judged items among the top results of each run; empty if all gold items are relevant."""
    if all_scores[0].conventions.unjudged == "drop" or (all_scores[0].placement.gold_grade > 0).all():
        return {}
    judged = Metric.parse(f"judged@{JUDGED_DEPTH}")
    shares = {}
    for scores in all_scores:
        answered = judged.compute(scores.placement).values[scores.placement.depth > 0]
        if len(answered) >= JUDGED_QUERIES:
            shares[scores.name] = float(answered.mean())
    return shares


def best_first(scores: Mapping[str, Scores], metric: str | None = None) -> dict[str, Scores]:
    """Sort runs by *metric* (by default the first one), the best run first and runs without a value last."""
    metric = metric or next(iter(next(iter(scores.values()))))
    direction = Metric.parse(metric).definition.direction
    values = {name: run_scores[metric].value for name, run_scores in scores.items()}
    return {name: scores[name] for name in stats.best_first(values, lower_is_better=direction == "lower")}


def have_same_queries(all_scores: Sequence[Scores]) -> bool:
    """Return True if the scores of all runs are over the same queries, so that they can be compared."""
    return all(scores.placement.queries == all_scores[0].placement.queries for scores in all_scores)


def score(
    gold: Any,
    run: Any,
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    corpus: int | Collection[str] | None = None,
    name: str = "run",
    bootstrap: Bootstrap = Bootstrap(),
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Scores:
    """Score a run against the gold.

    Args:
        gold: A Gold, a file, or data for a Gold: a dict of dicts or of lists, a table, or one list of relevant items
            per query, in which case the query ids are "0", "1", ….
        run: A Run, a file, or data for a Run: the same forms, where a list is a ranking with the best item first, or
            the arrays of scores and labels that a faiss search returns.
        metrics: Such as ``"ndcg@10"`` or ``["mrr", "map(denominator=hits)@10"]``; by default those of the profile.
        profile: A named set of conventions.
        corpus: The number of items that could have been ranked, or their ids.
        name: The name of the run in the results.
        bootstrap: The settings of the intervals, which are computed on first access.
        conventions: A mapping of single conventions that differ from the profile, or Conventions to use instead.
        keywords: Single conventions, such as ``ties="expected"``, or ``relevance_level=2`` for the smallest grade that
            counts as relevant.

    Returns:
        The scores, a mapping from the name of each metric to its Score.

    Raises:
        InputError: The input cannot be read, or a metric or convention does not exist or does not fit the data.

    >>> score({"q1": {"d3": 1}}, {"q1": {"d3": 0.4, "d1": 0.4}}, "mrr", ties="expected")["mrr"].mean
    0.75
    >>> score([[11, 1], [4]], [[1, 3, 11], [9, 4]], ["mrr", "recall@1"])["mrr"].mean
    0.75
    """
    chosen = find_profile(profile)
    requested = parse_all(chosen.metrics if metrics is None else metrics)
    resolved = resolve_conventions(chosen, conventions_of(score, conventions, keywords))
    judged, (ranked,) = read_all(gold, [run])
    scores = HitCounter(judged, ranked, corpus).score(requested, chosen, resolved, name, bootstrap)
    if not isinstance(run, (Run, dict)) and scores.source is not None:
        scores.source.check_ids()  # The caller does not hold this run, so the scores must not keep it in memory.
    return scores


def score_hits(
    hits: Hits,
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    name: str = "run",
    bootstrap: Bootstrap = Bootstrap(),
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Scores:
    """Score hits that are already counted; the arguments are those of `score`.

    >>> hits = Run({"q1": {"d1": 0.9, "d3": 0.4}}).hits(Gold({"q1": {"d3": 1}}))
    >>> score_hits(hits, "mrr")["mrr"].value
    0.5
    """
    chosen = find_profile(profile)
    requested = parse_all(chosen.metrics if metrics is None else metrics)
    resolved = resolve_conventions(chosen, conventions_of(score_hits, conventions, keywords))
    if resolved.precision != hits.precision:
        raise InputError(
            f"these hits were counted at {hits.precision}, but the conventions require {resolved.precision}",
            remedy="count them again from the run, or set the precision",
        )
    if (resolved.scores or "similarity") != hits.scores:
        raise InputError(
            f"these hits were counted with scores={hits.scores}, but the conventions require {resolved.scores}",
            remedy="count them again from the run, or leave scores out",
        )
    return score_counted(hits, requested, chosen, resolved, name, bootstrap)


class HitCounter:
    """Counts the hits of one run, and counts again only for conventions that change the counts."""

    def __init__(self, gold: Gold, run: Run, corpus: int | Collection[str] | None = None) -> None:
        self.gold, self.run, self.corpus = gold, run, corpus
        self._hits: dict[tuple[Precision, str, bool], Hits] = {}

    def count(self, conventions: Conventions) -> Hits:
        """Return the hits under *conventions*; only precision, self_matches and scores change the counts."""
        if conventions.self_matches == "aside":
            return self._count(conventions, drop_self=False).set_aside(self._count(conventions, drop_self=True))
        return self._count(conventions, drop_self=conventions.self_matches in ("drop", "drop_results"))

    def _count(self, conventions: Conventions, *, drop_self: bool) -> Hits:
        precision: Precision = "float32" if conventions.precision == "float32" else "float64"
        scores = conventions.scores or "similarity"
        key = (precision, scores, drop_self)
        if key not in self._hits:
            self._hits[key] = self.run.hits(
                self.gold, precision=precision, drop_self=drop_self, corpus=self.corpus, scores=scores
            )
        return self._hits[key]

    def score(
        self, metrics: list[Metric], profile: Profile, conventions: Conventions, name: str, bootstrap: Bootstrap
    ) -> Scores:
        """Score the run; the scores hold the gold and the run until their warnings are computed."""
        hits = add_confidence(self.count(conventions), self.run, metrics, conventions)
        source = RunSource(self.gold, self.run, hits, name)
        return score_counted(hits, metrics, profile, conventions, name, bootstrap, source)


def add_confidence(hits: Hits, run: Run, metrics: Iterable[Metric], conventions: Conventions) -> Hits:
    """Return the hits with the confidence of the run in each query, if a metric needs it."""
    if all(metric.definition.aggregate != "nauc" for metric in metrics):
        return hits
    drop_self = conventions.self_matches in ("drop", "drop_results")
    return replace(hits, confidence=confidences(run, hits.queries, drop_self=drop_self))


def read_all(gold: Any, runs: Iterable[Any]) -> tuple[Gold, list[Run]]:
    """Return the Gold and the Runs that the given objects or files contain.

    A list of lists of three numbers is ambiguous: it may hold (query, item, value) rows or the items of each query. It
    is read in the same way as the other lists among *gold* and *runs*.
    """
    inputs = [gold, *runs]
    readings = [
        source.is_by_position or None if isinstance(source, (Gold, Run)) else is_by_position(source)
        for source in inputs
    ]
    has_rows = any(
        reading is False and isinstance(source, list) for source, reading in zip(inputs, readings, strict=True)
    )
    for number, source in enumerate(inputs):
        if readings[number] is None and isinstance(source, list):
            if True in readings:
                kind = Run if number else Gold
                inputs[number] = kind.from_columns(columns_by_position(source, "run" if number else "gold"))
            elif has_rows:
                inputs[number] = [tuple(row) for row in source]
    return as_gold(inputs[0]), [as_run(run) for run in inputs[1:]]


def as_gold(gold: Any) -> Gold:
    """Return a Gold unchanged; read a file, or convert other data."""
    if isinstance(gold, Gold):
        return gold
    return Gold.read(gold) if isinstance(gold, (str, PathLike)) else Gold(gold)


def as_run(run: Any) -> Run:
    """Return a Run unchanged; read a file, or convert other data. A dict is used without copying it."""
    if isinstance(run, Run):
        return run
    return Run.read(run) if isinstance(run, (str, PathLike)) else Run.view(run)


def conventions_of(
    call: Callable[..., Any],
    conventions: Conventions | Mapping[str, Any] | None,
    keywords: Mapping[str, Any],
    **other: Sequence[str],
) -> dict[str, Any]:
    """Return the conventions that a caller gave as an object or mapping and as keywords.

    Args:
        call: The function that was called; its arguments are suggested for a misspelt keyword.
        conventions: The argument ``conventions`` of the function. An object states every convention.
        keywords: The keywords that are not arguments of the function.
        other: By kind, further keywords that the function takes.

    Raises:
        UnknownArgumentError: A keyword is not a convention.
        InputError: A convention is given in both ways.
    """
    known = Conventions().as_dict()
    for name in keywords:
        if name not in known:
            raise unknown_argument(call, name, conventions=list(known), **other)
    from_argument = conventions.as_dict() if isinstance(conventions, Conventions) else dict(conventions or {})
    if twice := [name for name in keywords if name in from_argument]:
        raise InputError(
            f"{call.__name__}() got the convention {twice[0]} both in conventions= and as a keyword",
            remedy=f"leave {twice[0]}= out, or give conventions= as a mapping without it",
        )
    return {**from_argument, **keywords}


def unknown_argument(call: Callable[..., Any], name: str, **keywords: Sequence[str]) -> UnknownArgumentError:
    """Return the error for a keyword that *call* does not take; *keywords* are those that it takes, by kind."""
    import difflib
    import inspect

    parameters = inspect.signature(call).parameters.values()
    arguments = [parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    known = [*arguments, *(keyword for names in keywords.values() for keyword in names)]
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    if near:
        meant = f"did you mean {near[0]!r}?"
    elif "bootstrap" in arguments and name in {entry.name for entry in fields(Bootstrap)}:
        meant = f"write bootstrap=Bootstrap({name}=…)"
    else:
        meant = f"its arguments are {', '.join(arguments)}"
    listed = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in keywords.items())
    return UnknownArgumentError(f"{call.__name__}() has no argument {name!r}", remedy=f"{meant} ({listed})")


def resolve_conventions(profile: Profile, changes: Mapping[str, Any]) -> Conventions:
    """Return the conventions of *profile* with *changes* applied."""
    unknown = [name for name in changes if name not in profile.conventions.as_dict()]
    if unknown:
        known = ", ".join(profile.conventions.as_dict())
        raise InputError(f"there is no convention {unknown[0]!r}", remedy=f"the conventions are: {known}")
    return replace(profile.conventions, **changes)


def score_counted(
    hits: Hits,
    requested: list[Metric],
    profile: Profile,
    conventions: Conventions,
    name: str,
    bootstrap: Bootstrap,
    source: RunSource | None = None,
) -> Scores:
    """Score *hits* under the conventions that they were counted for; *source* holds the gold and the run, if known."""
    if conventions.scores is None:
        hits.order.refuse(name)
    level = conventions.relevance_level
    applied = [apply_inner(profile.apply(metric, level), profile, level) for metric in requested]
    if conventions.ties == "expected":
        for metric in applied:
            if not metric.definition.expected:
                raise InputError(
                    f"{metric.name} has no closed form for the mean over all orders of tied items",
                    remedy="choose another tie policy for it (ties=docid, input, optimistic or pessimistic)",
                )
    placement = place(hits, conventions)
    if not placement.count:
        raise InputError(
            "no query is left to average over",
            remedy="check the gold, and the conventions missing and outside",
        )
    warnings = tuple(run_warnings(hits, conventions, name))
    counts = _count(hits, placement, requested, level)
    scores = Scores(name, profile, conventions, requested, applied, placement, counts, bootstrap, warnings, source)
    scores._scores  # noqa: B018 - computed now, so that a metric that does not fit the data raises here
    return scores


def _count(hits: Hits, placement: Placement, requested: list[Metric], relevance_level: float | None) -> Counts:
    flat = hits.subtopics is not None and any(not metric.definition.subtopics for metric in requested)
    return Counts(
        queries=placement.count,
        missing=int((hits.depth == 0).sum()),
        ignored=hits.ignored_queries,
        no_relevant=int((placement.relevant_count(relevance_level) == 0).sum()),
        self_dropped=hits.dropped_self,
        outside=int(hits.outside.sum()),
        coverage=Coverage.of(hits),
        flattened=sum(len(judged) > 1 for judged in hits.subtopics or []) if flat else 0,
        missing_queries=tuple(missing_queries(hits)),
        deepest=int(placement.depth.max(initial=0)),
    )
