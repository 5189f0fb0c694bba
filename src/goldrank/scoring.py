"""From gold and a run to Scores: every metric per query, its mean and its interval, with the conventions used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

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
from goldrank.errors import DataWarning, InputError
from goldrank.hits import Floats, Gold, Hits, Precision, Run
from goldrank.io.positions import columns_by_position, is_by_position
from goldrank.metrics import Conventions, Metric, Placement, Profile, find_profile, parse_all, place
from goldrank.metrics.abstention import apply_inner, confidences

AGGREGATES = {
    "mean": "their mean",
    "geometric": "their geometric mean",
    "median": "their median",
    "sum": "their sum",
    "nauc": "the area under their abstention curve",
}
"""How the values of the queries become one."""

Metrics = str | Metric | Iterable[str | Metric] | None


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made."""

    resamples: int = 10_000
    level: float = 0.95
    method: str = "bca"
    seed: int = 0

    def intervals(self, columns: Sequence[stats.Sample]) -> list[stats.Interval | None]:
        """Return the interval of each column, from one set of resamples (see `goldrank.stats.intervals`)."""
        return stats.intervals(columns, resamples=self.resamples, level=self.level, method=self.method, seed=self.seed)


@dataclass(frozen=True)
class Counts:
    """What was averaged over and what was not; shown with every result."""

    queries: int
    """Queries in the means."""
    missing: int
    """Queries of the gold for which the run has no results."""
    ignored: int
    """Queries of the run that the gold does not have."""
    no_relevant: int
    """Queries in the means whose gold has nothing relevant: they score 0 whatever the run."""
    self_dropped: int
    """Results dropped because their id was the query's."""
    outside: int
    """Gold items known to be outside the corpus."""
    flattened: int = 0
    """Gold items judged for several subtopics, where a metric was asked for that reads only their highest grade."""
    missing_queries: tuple[str, ...] = ()
    """The ids of the missing queries."""
    deepest: int = 0
    """How many results the longest ranking has."""


@dataclass(frozen=True, eq=False)
class Score:
    """One metric of one run: its value over all queries, its interval, and the value of each query."""

    metric: Metric
    queries: list[str]
    values: Floats
    """One value per query, NaN where the metric is undefined."""
    weights: Floats | None
    _owner: Scores = field(repr=False)

    @property
    def sample(self) -> stats.Sample:
        """The values as the statistics take them."""
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
        """The value, where it is the mean over the queries; other metrics have no ``mean``."""
        aggregate = self.metric.definition.aggregate
        if aggregate != "mean":
            raise AttributeError(f"{self.metric} is not a mean over queries but {AGGREGATES[aggregate]}; read .value")
        return self.value

    @property
    def interval(self) -> stats.Interval | None:
        """The confidence interval of the value; None for counts and for fewer than two queries."""
        return self._owner.intervals[self.index]

    @cached_property
    def index(self) -> int:
        """The position among the metrics of its Scores."""
        return [str(metric) for metric in self._owner.metrics].index(str(self.metric))

    @property
    def per_query(self) -> dict[str, float]:
        """The value of each query."""
        return dict(zip(self.queries, self.values.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"Score({self.metric}, value={self.value:.4f}, {len(self.queries)} queries)"


class RunSource:
    """The gold and the run behind some scores, kept until their ids were looked at."""

    def __init__(self, gold: Gold, run: Run, hits: Hits, name: str) -> None:
        self.gold = gold
        self._open: tuple[Run, Hits] | None = (run, hits)
        self._name = name
        self._warnings: tuple[DataWarning, ...] = ()
        self._items: dict[str, list[str]] = {}

    def look(self) -> None:
        """Look at the ids, and let the run go."""
        if self._open is not None:
            run, hits = self._open
            self._warnings = tuple(id_warnings(self.gold, run, hits, self._name))
            self._items = run.listed(SAMPLE_ROWS)
            self._open = None

    @property
    def warnings(self) -> tuple[DataWarning, ...]:
        """Ids that match in all but the way they are written."""
        self.look()
        return self._warnings

    @property
    def items(self) -> dict[str, list[str]]:
        """The items of each query, in the first rows of the run."""
        self.look()
        return self._items


@dataclass(frozen=True, eq=False)
class Scores(Mapping[str, Score]):
    """All metrics of one run, by name, with the conventions that were followed.

    >>> scores = score({"q1": {"d3": 1}}, {"q1": {"d1": 0.9, "d3": 0.4}}, ["mrr", "recall@1"])
    >>> scores["mrr"].mean
    0.5
    """

    name: str
    profile: Profile
    conventions: Conventions
    metrics: list[Metric]
    """The metrics as asked for; ``applied`` holds them with the profile's parameters filled in."""
    applied: list[Metric]
    placement: Placement = field(repr=False)
    counts: Counts
    bootstrap: Bootstrap = Bootstrap()
    found_warnings: tuple[DataWarning, ...] = field(default=(), repr=False)
    """What was found while counting; ``warnings`` has all there is to say."""
    source: RunSource | None = field(default=None, repr=False)
    """The gold and the run, where these scores were computed from them."""

    @cached_property
    def warnings(self) -> tuple[DataWarning, ...]:
        """What makes these scores misleading, the gravest first; empty if nothing was found."""
        if self.source is None:
            return self.found_warnings
        kept = self.conventions.self_matches == "keep"
        if self.source.gold.is_by_position:
            own = self_matches_by_position(self.source.items, self.counts.self_dropped, self.name, kept=kept)
        else:
            own = self_matches(self.source.items, self.name) if kept else []
        return (*self.found_warnings, *self.source.warnings, *own)

    @cached_property
    def _scores(self) -> dict[str, Score]:
        scores = {}
        for asked, applied in zip(self.metrics, self.applied, strict=True):
            result = applied.compute(self.placement)
            scores[str(asked)] = Score(asked, self.placement.queries, result.values, result.weights, self)
        return scores

    @cached_property
    def intervals(self) -> list[stats.Interval | None]:
        """The interval of every metric, from one set of resampled queries."""
        return self.bootstrap.intervals([score.sample for score in self.values()])

    def __getitem__(self, metric: str) -> Score:
        if metric in self._scores:
            return self._scores[metric]
        return self._scores[str(Metric.parse(metric))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self.metrics)

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={score.value:.4f}" for name, score in self.items())
        return f"Scores({self.name}: {means}; profile {self.profile.name}, {self.counts.queries} queries)"


def all_warnings(all_scores: Sequence[Scores]) -> tuple[DataWarning, ...]:
    """What makes the scores of some runs misleading, each by itself and side by side."""
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
        # It names the missing queries of every run.
        by_run = [warning for warning in by_run if warning.code != "missing-queries"]
    return (*by_run, *between)


def _judged_shares(all_scores: Sequence[Scores]) -> dict[str, float]:
    """The share of judged items among the top results of each run; empty where the gold lists relevant items only."""
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
    """Return the scores of several runs, the best run by *metric* (by default the first) first, undefined ones last."""
    metric = metric or next(iter(next(iter(scores.values()))))
    direction = Metric.parse(metric).definition.direction
    values = {name: one[metric].value for name, one in scores.items()}
    return {name: scores[name] for name in stats.best_first(values, lower_is_better=direction == "lower")}


def have_same_queries(all_scores: Sequence[Scores]) -> bool:
    """Whether the means of some runs are over the same queries, so that they can be compared."""
    return all(scores.placement.queries == all_scores[0].placement.queries for scores in all_scores)


def score(
    gold: Any,
    run: Any,
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    corpus: int | Collection[str] | None = None,
    name: str = "run",
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    **conventions: Any,
) -> Scores:
    """Score a run against the gold.

    Args:
        gold: a Gold, a file, or anything a Gold is built from: a dict of dicts or of lists, a table, or a list with the
            relevant items of one query after the other, whose queries are "0", "1", ….
        run: a Run, a file, or anything a Run is built from: the same forms, where lists are rankings, best first, or
            the arrays of scores and labels that a search of faiss returns.
        metrics: such as ``"ndcg@10"`` or ``["mrr", "map(denominator=hits)@10"]``; by default the profile's.
        profile: a named set of conventions.
        corpus: how many items could have been ranked, or their ids.
        name: what to call the run in the results.
        bootstrap: how the intervals are made; they are computed when first asked for.
        conventions: single conventions that differ from the profile's, such as ``ties="expected"``, or
            ``relevance_level=2`` for the smallest grade that counts as relevant.

    >>> score({"q1": {"d3": 1}}, {"q1": {"d3": 0.4, "d1": 0.4}}, "mrr", ties="expected")["mrr"].mean
    0.75
    >>> score([[11, 1], [4]], [[1, 3, 11], [9, 4]], ["mrr", "recall@1"])["mrr"].mean
    0.75
    """
    chosen = find_profile(profile)
    asked = parse_all(chosen.metrics if metrics is None else metrics)
    agreed = agree(chosen, conventions)
    judged, (ranked,) = read_all(gold, [run])
    scores = HitCounter(judged, ranked, corpus).score(asked, chosen, agreed, name, bootstrap)
    if not isinstance(run, (Run, dict)) and scores.source is not None:
        scores.source.look()  # Nobody else holds this run, and the scores should not.
    return scores


def score_hits(
    hits: Hits,
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    name: str = "run",
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    **conventions: Any,
) -> Scores:
    """Score hits that are already counted; arguments as in :func:`score`."""
    chosen = find_profile(profile)
    asked = parse_all(chosen.metrics if metrics is None else metrics)
    agreed = agree(chosen, conventions)
    if agreed.precision != hits.precision:
        raise InputError(
            f"these hits were counted at {hits.precision}, the conventions ask for {agreed.precision}",
            remedy="count them again from the run, or set the precision",
        )
    if (agreed.scores or "similarity") != hits.scores:
        raise InputError(
            f"these hits were counted with scores={hits.scores}, the conventions ask for {agreed.scores}",
            remedy="count them again from the run, or leave scores out",
        )
    return score_counted(hits, asked, chosen, agreed, name, bootstrap)


class HitCounter:
    """Counts where the gold landed in one run, once for all conventions that count alike."""

    def __init__(self, gold: Gold, run: Run, corpus: int | Collection[str] | None = None) -> None:
        self.gold, self.run, self.corpus = gold, run, corpus
        self._hits: dict[tuple[Precision, str, bool], Hits] = {}

    def count(self, conventions: Conventions) -> Hits:
        """Return the hits under *conventions*, of which the precision, self-matches and scores bear on the counting."""
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
        """Score the run; the scores keep the gold and the run until their warnings were looked for."""
        hits = add_confidence(self.count(conventions), self.run, metrics, conventions)
        source = RunSource(self.gold, self.run, hits, name)
        return score_counted(hits, metrics, profile, conventions, name, bootstrap, source)


def add_confidence(hits: Hits, run: Run, metrics: Iterable[Metric], conventions: Conventions) -> Hits:
    """The hits with the run's confidence in each query, if a metric asks for it."""
    if all(metric.definition.aggregate != "nauc" for metric in metrics):
        return hits
    drop_self = conventions.self_matches in ("drop", "drop_results")
    return replace(hits, confidence=confidences(run, hits.queries, drop_self=drop_self))


def read_all(gold: Any, runs: Iterable[Any]) -> tuple[Gold, list[Run]]:
    """Gold and runs from whatever stands for them.

    A list of lists of three numbers may hold (query, item, value) rows or the items of one query after the other; it is
    read as the other lists among *gold* and *runs* are.
    """
    given = [gold, *runs]
    readings = [s.is_by_position or None if isinstance(s, (Gold, Run)) else is_by_position(s) for s in given]
    has_rows = any(reading is False and isinstance(s, list) for s, reading in zip(given, readings, strict=True))
    for at, source in enumerate(given):
        if readings[at] is None and isinstance(source, list) and True in readings:
            of = Run if at else Gold
            given[at] = of.from_columns(columns_by_position(source, "run" if at else "gold"))
        elif readings[at] is None and isinstance(source, list) and has_rows:
            given[at] = [tuple(row) for row in source]
    return as_gold(given[0]), [as_run(run) for run in given[1:]]


def as_gold(gold: Any) -> Gold:
    """A Gold from whatever stands for one."""
    if isinstance(gold, Gold):
        return gold
    return Gold.read(gold) if isinstance(gold, (str, PathLike)) else Gold(gold)


def as_run(run: Any) -> Run:
    """A Run from whatever stands for one; a dict is used as it is, without a copy."""
    if isinstance(run, Run):
        return run
    return Run.read(run) if isinstance(run, (str, PathLike)) else Run.view(run)


def agree(profile: Profile, changes: Mapping[str, Any]) -> Conventions:
    """The conventions of *profile* with single ones changed."""
    unknown = [name for name in changes if name not in profile.conventions.as_dict()]
    if unknown:
        known = ", ".join(profile.conventions.as_dict())
        raise InputError(f"there is no convention {unknown[0]!r}", remedy=f"the conventions are: {known}")
    return replace(profile.conventions, **changes)


def score_counted(
    hits: Hits,
    asked: list[Metric],
    profile: Profile,
    conventions: Conventions,
    name: str,
    bootstrap: Bootstrap,
    source: RunSource | None = None,
) -> Scores:
    """Score *hits* under conventions they were counted for; *source* is the gold and the run they came from."""
    if conventions.scores is None:
        hits.order.refuse(name)
    level = conventions.relevance_level
    applied = [apply_inner(profile.apply(metric, level), profile, level) for metric in asked]
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
    found = tuple(run_warnings(hits, conventions, name))
    counts = _count(hits, placement, asked, level)
    scores = Scores(name, profile, conventions, asked, applied, placement, counts, bootstrap, found, source)
    scores._scores  # noqa: B018 - computed now, so that a metric the data cannot give is refused here
    return scores


def _count(hits: Hits, placement: Placement, asked: list[Metric], relevance_level: float | None) -> Counts:
    flat = hits.subtopics is not None and any(not metric.definition.subtopics for metric in asked)
    return Counts(
        queries=placement.count,
        missing=int((hits.depth == 0).sum()),
        ignored=hits.ignored_queries,
        no_relevant=int((placement.relevant_count(relevance_level) == 0).sum()),
        self_dropped=hits.dropped_self,
        outside=int(hits.outside.sum()),
        flattened=sum(len(judged) > 1 for judged in hits.subtopics or []) if flat else 0,
        missing_queries=tuple(missing_queries(hits)),
        deepest=int(placement.depth.max(initial=0)),
    )
