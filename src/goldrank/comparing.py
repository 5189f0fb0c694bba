"""Compare runs query by query: differences with intervals, paired tests, corrections, and detectable differences."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from goldrank import stats
from goldrank.data_warnings import name_some
from goldrank.errors import DataWarning, InputError
from goldrank.hits import Floats, Hits, Run
from goldrank.metrics import Conventions, Metric, Profile, find_profile, parse_all
from goldrank.presentation import Result
from goldrank.scoring import (
    Bootstrap,
    HitCounter,
    Metrics,
    RunSource,
    Score,
    Scores,
    add_confidence,
    all_warnings,
    conventions_of,
    read_all,
    resolve_conventions,
    score_counted,
    score_hits,
)


@dataclass(frozen=True)
class Pair:
    """One metric of two runs, compared query by query; differences are *b* minus *a*."""

    metric: str
    a: str
    b: str
    queries: int
    difference: float
    interval: stats.Interval | None
    p: float
    """The p-value; NaN if the metric has no paired test, for the reason in ``note``."""
    adjusted: float
    """The p-value after the correction for multiple comparisons."""
    effect: float
    """Cohen's d_z of the differences."""
    detectable: float
    """The smallest difference that this many queries can show with power 0.8."""
    wins: int
    ties: int
    losses: int
    note: str = ""

    def winner(self, alpha: float, direction: str) -> str | None:
        """Return the run that is significantly better, or None."""
        if math.isnan(self.adjusted) or self.adjusted > alpha or self.difference == 0 or direction == "neither":
            return None
        return self.b if (self.difference > 0) == (direction == "higher") else self.a


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Several runs on the same queries: their scores, and a test of every pair."""

    scores: dict[str, Scores]
    pairs: list[Pair]
    test: str
    correction: str
    family: str
    alpha: float
    reduced_to_common: int | None = None
    """How many queries were left out because some run has no results for them."""
    prior_warnings: tuple[DataWarning, ...] = ()
    """Warnings that were known before the runs were compared; ``warnings`` includes them."""

    @cached_property
    def warnings(self) -> tuple[DataWarning, ...]:
        """Everything known that makes the comparison misleading, the most serious first."""
        return (*self.prior_warnings, *all_warnings(list(self.scores.values())))

    def better_than(self, metric: str, run: str) -> list[str]:
        """Return the runs that *run* significantly beats on *metric*."""
        direction = Metric.parse(metric).definition.direction
        return [
            pair.a if pair.b == run else pair.b
            for pair in self.pairs
            if pair.metric == metric and run in (pair.a, pair.b) and pair.winner(self.alpha, direction) == run
        ]


def compare(
    gold: Any,
    runs: Mapping[str, Any] | Sequence[Any],
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    corpus: int | Collection[str] | None = None,
    common: bool = False,
    test: str = "randomisation",
    correction: str | None = None,
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Comparison:
    """Compare runs query by query: test whether differences are significant, and find the smallest detectable ones.

    Args:
        gold, metrics, profile, corpus, bootstrap, conventions, keywords: As in `score`.
        runs: Two or more runs by name, or a list of files or of runs with a ``name``, such as those of ranx.
        common: Compare only on the queries for which every run has results.
        test: ``randomisation``, ``t``, ``wilcoxon``, ``mcnemar`` (metrics that are 0 or 1 only), or ``tukey``: Tukey's
            honestly significant differences, which compares all runs at once and needs no correction.
        correction: ``holm`` (the default), ``bh`` (Benjamini-Hochberg) or ``none``.
        family: Correct over the pairs of each ``metric``, or over ``all`` pairs and metrics together.
        alpha: The significance level.

    >>> runs = {"first": {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}, "second": {"q1": {"b": 2, "a": 1}, "q2": {"c": 1}}}
    >>> [pair] = compare({"q1": ["b"], "q2": ["c"]}, runs, "mrr").pairs
    >>> pair.b, pair.difference, pair.wins, pair.ties, pair.losses
    ('second', 0.25, 1, 1, 0)
    """
    if isinstance(runs, Run) or len(runs) < 2:
        raise InputError("a comparison needs two runs or more", remedy='give a dict: {"bm25": run, "dense": other}')
    chosen = find_profile(profile)
    requested = parse_all(chosen.metrics if metrics is None else metrics)
    resolved = resolve_conventions(chosen, conventions_of(compare, conventions, keywords))
    named = runs if isinstance(runs, Mapping) else _named(runs)
    judged, read = read_all(gold, named.values())
    if test == "tukey":
        _refuse_correction_of_tukey(correction, family)
    ranked = dict(zip(named, read, strict=True))
    hits = {
        name: add_confidence(HitCounter(judged, run, corpus).count(resolved), run, requested, resolved)
        for name, run in ranked.items()
    }
    sources = {name: RunSource(judged, ranked[name], run_hits, name) for name, run_hits in hits.items()}
    hits, left_out = _common(hits) if common else (hits, None)
    scores = {
        name: score_counted(run_hits, requested, chosen, resolved, name, bootstrap, sources[name])
        for name, run_hits in hits.items()
    }
    return compare_scores(scores, left_out, test, correction, family, alpha, bootstrap)


def _named(runs: Sequence[Any]) -> dict[str, Any]:
    """Return the runs of a list by their names, and files by their paths; raise if a name is missing or repeated."""
    named: dict[str, Any] = {}
    for number, run in enumerate(runs, start=1):
        name = os.fspath(run) if isinstance(run, (str, os.PathLike)) else getattr(run, "name", None)
        if not isinstance(name, str) or name in named:
            what = f"has the same name as another, {name!r}" if name in named else "has no name"
            raise InputError(f"run {number} of the list {what}", remedy='give a dict: {"bm25": run, "dense": other}')
        named[name] = run
    return named


def compare_hits(
    hits: Mapping[str, Hits],
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    common: bool = False,
    test: str = "randomisation",
    correction: str | None = None,
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Comparison:
    """Compare the hits of several runs on the same gold; the arguments are those of `compare`.

    >>> from goldrank.hits import Gold
    >>> gold = Gold({"q1": {"b": 1}, "q2": {"c": 1}})
    >>> runs = {"first": {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}, "second": {"q1": {"b": 2, "a": 1}, "q2": {"c": 1}}}
    >>> compare_hits({name: Run(run).hits(gold) for name, run in runs.items()}, "mrr").pairs[0].difference
    0.25
    """
    if test == "tukey":
        _refuse_correction_of_tukey(correction, family)
    changes = conventions_of(compare_hits, conventions, keywords)
    hits, left_out = _common(hits) if common else (hits, None)
    scores = {
        name: score_hits(run_hits, metrics, profile=profile, name=name, bootstrap=bootstrap, **changes)
        for name, run_hits in hits.items()
    }
    return compare_scores(scores, left_out, test, correction, family, alpha, bootstrap)


def _common(hits: Mapping[str, Hits]) -> tuple[dict[str, Hits], int]:
    """Return the hits of the queries for which all runs have results, and the number of other queries."""
    answered = np.logical_and.reduce([run_hits.depth > 0 for run_hits in hits.values()])
    return {name: run_hits.keep_queries(answered) for name, run_hits in hits.items()}, int((~answered).sum())


def compare_scores(
    scores: dict[str, Scores],
    left_out: int | None = None,
    test: str = "randomisation",
    correction: str | None = None,
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> Comparison:
    """Compare runs that are already scored.

    Args:
        scores: The scores of each run.
        left_out: How many queries were left out to compare on common ones only; None if that was not requested.
        test, correction, family, alpha, bootstrap: As in `compare`.
    """
    _refuse_different_queries(scores)
    pairs = _pairs(scores, test, bootstrap)
    if test == "tukey":
        return Comparison(scores, _tukey(pairs, scores), test, "tukey", family, alpha, left_out)
    correction = correction or "holm"
    return Comparison(scores, _adjust(pairs, correction, family), test, correction, family, alpha, left_out)


def _refuse_different_queries(scores: Mapping[str, Scores]) -> None:
    (first, reference), *others = scores.items()
    for name, other in others:
        if other.placement.queries != reference.placement.queries:
            difference = sorted(set(reference.placement.queries) ^ set(other.placement.queries))
            raise InputError(
                f"{first} and {name} are scored on different queries "
                f"({len(difference)} are in one only: {name_some(difference)})",
                remedy="compare on the common ones (--common), or count missing ones as 0 (missing=zero)",
            )


def _pairs(scores: Mapping[str, Scores], test: str, bootstrap: Bootstrap) -> list[Pair]:
    tested = [
        _pair(metric, scores[first][metric], scores[second][metric], first, second, test, bootstrap.seed)
        for first, second in combinations(scores, 2)
        for metric in scores[first]
    ]
    intervals = _intervals([differences for _, differences in tested if differences is not None], bootstrap)
    pairs = []
    for pair, differences in tested:
        interval = None if differences is None else next(intervals)
        geometric = scores[pair.a][pair.metric].metric.definition.aggregate == "geometric"
        pairs.append(pair if geometric else replace(pair, interval=interval))
    return pairs


def _intervals(columns: Sequence[Floats], bootstrap: Bootstrap) -> Iterator[stats.Interval | None]:
    """Return the interval of each column; columns over equally many queries share their resamples."""
    results: dict[int, stats.Interval | None] = {}
    for size in {len(column) for column in columns}:
        positions = [position for position, column in enumerate(columns) if len(column) == size]
        samples = [stats.Sample(columns[position]) for position in positions]
        results.update(zip(positions, bootstrap.intervals(samples), strict=True))
    return (results[position] for position in range(len(columns)))


def _pair(metric: str, a: Score, b: Score, first: str, second: str, test: str, seed: int) -> tuple[Pair, Floats | None]:
    """Return a pair without its interval, and the differences whose interval that is, if any."""
    both = ~(np.isnan(a.values) | np.isnan(b.values))
    raw = (b.values - a.values)[both]
    differences, note = _differences(a, b, both)
    signs = stats.wins_ties_losses(raw if a.metric.definition.direction != "lower" else -raw)
    p = effect = detectable = math.nan
    if differences is not None:
        effect = stats.effect_size(differences)
        if test != "tukey":
            p = stats.paired_test(test, differences, a.values[both], b.values[both], seed).p
        if a.metric.definition.aggregate != "geometric":
            detectable = stats.smallest_detectable(differences)
    pair = Pair(
        metric=metric,
        a=first,
        b=second,
        queries=int(both.sum()),
        difference=b.value - a.value,
        interval=None,
        p=p,
        adjusted=math.nan,
        effect=effect,
        detectable=detectable,
        **signs._asdict(),
        note=note,
    )
    return pair, differences


def _differences(a: Score, b: Score, both: Any) -> tuple[Floats | None, str]:
    """Return per-query differences whose mean is the difference of the two scores, or None and the reason."""
    aggregate = a.metric.definition.aggregate
    if aggregate in _NO_MEANS:
        return None, f"{_NO_MEANS[aggregate]} has no paired test of means"
    if aggregate == "geometric":
        logs = [np.log(np.maximum(score.values[both], stats.GEOMETRIC_FLOOR)) for score in (a, b)]
        return logs[1] - logs[0], "tested on the logarithms, which the geometric mean averages"
    if a.weights is None or b.weights is None:
        return b.values[both] - a.values[both], ""
    if not np.array_equal(a.weights, b.weights):
        return None, "the two runs average over different gold items; rank unfound gold last to compare them"
    weights = a.weights[both]
    return (b.values - a.values)[both] * weights / weights.mean(), ""


_NO_MEANS = {
    "sum": "a sum over queries",
    "median": "a median over queries",
    "nauc": "an area under the abstention curve",
}


def _refuse_correction_of_tukey(correction: str | None, family: str) -> None:
    if correction is not None:
        raise InputError("Tukey's test corrects for all pairs itself", remedy="leave the correction out")
    if family != "metric":
        raise InputError("Tukey's test corrects over the pairs of one metric", remedy="leave the family out")


def _tukey(pairs: list[Pair], scores: Mapping[str, Scores]) -> list[Pair]:
    """Add the p-values of Tukey's test; pairs of a metric that has no test of means stay untested."""
    column = {name: number for number, name in enumerate(scores)}
    results = {
        metric: _test_by_tukey([run_scores[metric] for run_scores in scores.values()])
        for metric in {pair.metric for pair in pairs}
    }
    tested = []
    for pair in pairs:
        result, cell = results[pair.metric], (column[pair.a], column[pair.b])
        tested.append(replace(pair, p=float(result.p[cell]), adjusted=float(result.adjusted[cell])) if result else pair)
    return tested


def _test_by_tukey(columns: list[Score]) -> stats.TukeyResult | None:
    """Apply Tukey's test to one metric, over the queries for which it is defined in every run."""
    first = columns[0]
    defined = ~np.isnan([column.values for column in columns]).any(axis=0)
    # Subtracting the values of the first run changes only the effects of the queries, which the test removes.
    differences = [_differences(first, column, defined)[0] for column in columns]
    if any(column is None for column in differences):
        return None
    return stats.tukey_hsd(np.column_stack([column for column in differences if column is not None]))


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
