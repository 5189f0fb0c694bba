"""From gold and a run to Scores: every metric per query, its mean and its interval, with the conventions used."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.errors import InputError
from goldrank.hits import Floats, Gold, Hits, Run
from goldrank.metrics import Conventions, Metric, Placement, Profile, parse_all, place
from goldrank.metrics import profile as find_profile

Metrics = str | Metric | Iterable[str | Metric] | None


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are made."""

    resamples: int = 10_000
    level: float = 0.95
    method: str = "bca"
    seed: int = 0


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


@dataclass(frozen=True, eq=False)
class Score:
    """One metric of one run: the mean, its interval, and the value of each query."""

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
    def mean(self) -> float:
        """The value over all queries (for counts the sum, for a median rank the median)."""
        return stats.aggregate(self.values, self.weights, self.metric.definition.aggregate)

    @property
    def interval(self) -> stats.Interval | None:
        """The confidence interval of the mean; None for counts and for fewer than two queries."""
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
        return f"Score({self.metric}, mean={self.mean:.4f}, {len(self.queries)} queries)"


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
        how = self.bootstrap
        return stats.intervals(
            [score.sample for score in self.values()],
            resamples=how.resamples,
            level=how.level,
            method=how.method,
            seed=how.seed,
        )

    def __getitem__(self, metric: str) -> Score:
        if metric in self._scores:
            return self._scores[metric]
        return self._scores[str(Metric.parse(metric))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self.metrics)

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={score.mean:.4f}" for name, score in self.items())
        return f"Scores({self.name}: {means}; profile {self.profile.name}, {self.counts.queries} queries)"


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
        gold: a Gold, a file, or anything a Gold is built from (a dict of dicts, a table).
        run: a Run, a file, or anything a Run is built from.
        metrics: such as ``"ndcg@10"`` or ``["mrr", "map(denominator=hits)@10"]``; by default the profile's.
        profile: a named set of conventions.
        corpus: how many items could have been ranked, or their ids.
        name: what to call the run in the results.
        bootstrap: how the intervals are made; they are computed when first asked for.
        conventions: single conventions that differ from the profile's, such as ``ties="expected"``.

    >>> score({"q1": {"d3": 1}}, {"q1": {"d3": 0.4, "d1": 0.4}}, "mrr", ties="expected")["mrr"].mean
    0.75
    """
    chosen = find_profile(profile)
    asked = parse_all(chosen.metrics if metrics is None else metrics)
    agreed = _agree(chosen, conventions)
    hits = find_hits(as_gold(gold), as_run(run), agreed, corpus)
    return _score(hits, asked, chosen, agreed, name, bootstrap)


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
    agreed = _agree(chosen, conventions)
    if agreed.precision != hits.precision:
        raise InputError(
            f"these hits were counted at {hits.precision}, the conventions ask for {agreed.precision}",
            remedy="count them again from the run, or set the precision",
        )
    return _score(hits, asked, chosen, agreed, name, bootstrap)


def find_hits(gold: Gold, run: Run, conventions: Conventions, corpus: int | Collection[str] | None = None) -> Hits:
    """Count where the gold landed, as far as the conventions bear on the counting."""
    return run.hits(
        gold,
        precision="float32" if conventions.precision == "float32" else "float64",
        drop_self=conventions.self_matches in ("drop", "drop_results"),
        corpus=corpus,
    )


def as_gold(gold: Any) -> Gold:
    """A Gold from whatever stands for one."""
    if isinstance(gold, Gold):
        return gold
    return Gold.read(gold) if isinstance(gold, (str, PathLike)) else Gold(gold)


def as_run(run: Any) -> Run:
    """A Run from whatever stands for one."""
    if isinstance(run, Run):
        return run
    return Run.read(run) if isinstance(run, (str, PathLike)) else Run(run)


def _agree(profile: Profile, changes: Mapping[str, Any]) -> Conventions:
    unknown = [name for name in changes if name not in profile.conventions.as_dict()]
    if unknown:
        known = ", ".join(profile.conventions.as_dict())
        raise InputError(f"there is no convention {unknown[0]!r}", remedy=f"the conventions are: {known}")
    return replace(profile.conventions, **changes)


def _score(
    hits: Hits,
    asked: list[Metric],
    profile: Profile,
    conventions: Conventions,
    name: str,
    bootstrap: Bootstrap,
) -> Scores:
    applied = [profile.apply(metric) for metric in asked]
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
    scores = Scores(name, profile, conventions, asked, applied, placement, _count(hits, placement), bootstrap)
    scores._scores  # noqa: B018 - computed now, so that a metric the data cannot give is refused here
    return scores


def _count(hits: Hits, placement: Placement) -> Counts:
    return Counts(
        queries=placement.count,
        missing=int((hits.depth == 0).sum()),
        ignored=hits.ignored_queries,
        no_relevant=int((placement.relevant_count(None) == 0).sum()),
        self_dropped=hits.dropped_self,
        outside=int(hits.outside.sum()),
    )


@dataclass(frozen=True)
class Pair:
    """One metric of two runs, compared query by query: *b* minus *a*."""

    metric: str
    a: str
    b: str
    queries: int
    difference: float
    interval: stats.Interval | None
    p: float
    """NaN where the metric has no paired test; ``note`` then says why."""
    adjusted: float
    """p after the correction for several comparisons."""
    effect: float
    detectable: float
    """The smallest difference this many queries could show with power 0.8."""
    wins: int
    ties: int
    losses: int
    note: str = ""

    def winner(self, alpha: float, direction: str) -> str | None:
        """The run that is significantly better, if either is."""
        if math.isnan(self.adjusted) or self.adjusted > alpha or self.difference == 0 or direction == "neither":
            return None
        return self.b if (self.difference > 0) == (direction == "higher") else self.a


@dataclass(frozen=True)
class Comparison:
    """Several runs on the same queries: their scores, and every pair of them tested."""

    scores: dict[str, Scores]
    pairs: list[Pair]
    test: str
    correction: str
    family: str
    alpha: float
    reduced_to_common: int | None = None
    """How many queries were left out because some run had no results for them."""

    def better_than(self, metric: str, run: str) -> list[str]:
        """The runs that *run* significantly beats on *metric*."""
        direction = Metric.parse(metric).definition.direction
        return [
            pair.a if pair.b == run else pair.b
            for pair in self.pairs
            if pair.metric == metric and run in (pair.a, pair.b) and pair.winner(self.alpha, direction) == run
        ]


def compare(
    gold: Any,
    runs: Mapping[str, Any],
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    corpus: int | Collection[str] | None = None,
    common: bool = False,
    test: str = "randomisation",
    correction: str = "holm",
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    **conventions: Any,
) -> Comparison:
    """Compare runs query by query: is a difference real, and could this many queries have shown one?

    Args:
        gold, metrics, profile, corpus, bootstrap, conventions: as in :func:`score`.
        runs: two or more runs by name.
        common: reduce the comparison to the queries for which every run has results.
        test: ``randomisation``, ``t``, ``wilcoxon`` or ``mcnemar`` (hit metrics only).
        correction: ``holm``, ``bh`` (Benjamini-Hochberg) or ``none``.
        family: correct over the pairs of each ``metric``, or over ``all`` pairs and metrics together.
        alpha: the level at which a difference is called significant.
    """
    if len(runs) < 2:
        raise InputError("a comparison needs two runs or more", remedy="name at least two")
    chosen = find_profile(profile)
    asked = parse_all(chosen.metrics if metrics is None else metrics)
    agreed = _agree(chosen, conventions)
    judged = as_gold(gold)
    hits = {name: find_hits(judged, as_run(run), agreed, corpus) for name, run in runs.items()}
    return compare_hits(
        hits,
        asked,
        profile=chosen,
        common=common,
        test=test,
        correction=correction,
        family=family,
        alpha=alpha,
        bootstrap=bootstrap,
        **conventions,
    )


def compare_hits(
    hits: Mapping[str, Hits],
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    common: bool = False,
    test: str = "randomisation",
    correction: str = "holm",
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    **conventions: Any,
) -> Comparison:
    """Compare hits of several runs on the same gold; arguments as in :func:`compare`."""
    left_out = None
    if common:
        answered = np.logical_and.reduce([one.depth > 0 for one in hits.values()])
        left_out = int((~answered).sum())
        hits = {name: one.keep_queries(answered) for name, one in hits.items()}
    scores = {
        name: score_hits(one, metrics, profile=profile, name=name, bootstrap=bootstrap, **conventions)
        for name, one in hits.items()
    }
    _refuse_different_queries(scores)
    pairs = _adjust(_pairs(scores, test, bootstrap), correction, family)
    return Comparison(scores, pairs, test, correction, family, alpha, left_out)


def _refuse_different_queries(scores: Mapping[str, Scores]) -> None:
    (first, reference), *others = scores.items()
    for name, other in others:
        if other.placement.queries != reference.placement.queries:
            difference = set(reference.placement.queries) ^ set(other.placement.queries)
            raise InputError(
                f"{first} and {name} are scored on different queries ({len(difference)} are in one only)",
                remedy="compare on the common ones (--common), or count missing ones as 0 (missing=zero)",
            )


def _pairs(scores: Mapping[str, Scores], test: str, bootstrap: Bootstrap) -> list[Pair]:
    names = list(scores)
    pairs = []
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            for metric in scores[first]:
                pairs.append(
                    _pair(metric, scores[first][metric], scores[second][metric], first, second, test, bootstrap)
                )
    return pairs


def _pair(metric: str, a: Score, b: Score, first: str, second: str, test: str, how: Bootstrap) -> Pair:
    both = ~(np.isnan(a.values) | np.isnan(b.values))
    raw = (b.values - a.values)[both]
    differences, note = _differences(a, b, both)
    wins, ties, losses = stats.wins_ties_losses(raw if a.metric.definition.direction != "lower" else -raw)
    pair = Pair(
        metric, first, second, int(both.sum()), b.mean - a.mean, None, math.nan, math.nan, math.nan, math.nan,
        wins, ties, losses, note,
    )  # fmt: skip
    if differences is None:
        return pair
    (interval,) = stats.intervals(
        [stats.Sample(differences)],
        resamples=how.resamples,
        level=how.level,
        method=how.method,
        seed=how.seed,
    )
    geometric = a.metric.definition.aggregate == "geometric"
    return replace(
        pair,
        interval=None if geometric else interval,
        p=stats.paired_test(test, differences, a.values[both], b.values[both], seed=how.seed).p,
        effect=stats.effect_size(differences),
        detectable=math.nan if geometric else stats.smallest_detectable(differences),
    )


def _differences(a: Score, b: Score, both: Any) -> tuple[Floats | None, str]:
    """Per-query differences whose mean is the difference of the two scores, or why there are none."""
    how = a.metric.definition.aggregate
    if how in ("sum", "median"):
        return None, f"a {how} over queries has no paired test of means"
    if how == "geometric":
        logs = [np.log(np.maximum(score.values[both], stats.GEOMETRIC_FLOOR)) for score in (a, b)]
        return logs[1] - logs[0], "tested on the logarithms, which the geometric mean averages"
    if a.weights is None or b.weights is None:
        return b.values[both] - a.values[both], ""
    if not np.array_equal(a.weights, b.weights):
        return None, "the two runs average over different gold items; rank unfound gold last to compare them"
    weights = a.weights[both]
    return (b.values - a.values)[both] * weights / weights.mean(), ""


def _adjust(pairs: list[Pair], correction: str, family: str) -> list[Pair]:
    corrections: dict[str, Callable[[Floats], Floats]] = {
        "holm": stats.holm,
        "bh": stats.benjamini_hochberg,
        "none": np.asarray,
    }
    if correction not in corrections:
        raise InputError(f"there is no correction {correction!r}", remedy=f"use one of {', '.join(corrections)}")
    if family not in ("metric", "all"):
        raise InputError(f"there is no family {family!r}", remedy="use metric or all")
    adjusted = np.full(len(pairs), np.nan)
    keys = np.array([pair.metric if family == "metric" else "" for pair in pairs])
    p = np.array([pair.p for pair in pairs])
    for key in set(keys.tolist()):
        adjusted[keys == key] = corrections[correction](p[keys == key])
    return [replace(pair, adjusted=float(value)) for pair, value in zip(pairs, adjusted, strict=True)]
