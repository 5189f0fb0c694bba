"""Two runs or more, query by query: differences with intervals, tests, corrections, and what could be shown."""

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
from goldrank.metrics import Metric, Profile, find_profile, parse_all
from goldrank.scoring import (
    Bootstrap,
    HitCounter,
    Metrics,
    RunSource,
    Score,
    Scores,
    add_confidence,
    agree,
    all_warnings,
    read_all,
    score_counted,
    score_hits,
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
    found_warnings: tuple[DataWarning, ...] = ()
    """What was known to be misleading before the runs were compared; ``warnings`` has all there is to say."""

    @cached_property
    def warnings(self) -> tuple[DataWarning, ...]:
        """What makes the comparison misleading, the gravest first; empty if nothing was found."""
        return (*self.found_warnings, *all_warnings(list(self.scores.values())))

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
    **conventions: Any,
) -> Comparison:
    """Compare runs query by query: is a difference real, and could this many queries have shown one?

    Args:
        gold, metrics, profile, corpus, bootstrap, conventions: as in :func:`score`.
        runs: two or more runs by name, or a list of files or of runs that have a name, as ranx's have.
        common: reduce the comparison to the queries for which every run has results.
        test: ``randomisation``, ``t``, ``wilcoxon``, ``mcnemar`` (hit metrics only), or ``tukey``: Tukey's honestly
            significant differences, which compares all runs at once and needs no correction.
        correction: ``holm`` (if not given), ``bh`` (Benjamini-Hochberg) or ``none``.
        family: correct over the pairs of each ``metric``, or over ``all`` pairs and metrics together.
        alpha: the level at which a difference is called significant.
    """
    if isinstance(runs, Run) or len(runs) < 2:
        raise InputError("a comparison needs two runs or more", remedy='give a dict: {"bm25": run, "dense": other}')
    chosen = find_profile(profile)
    asked = parse_all(chosen.metrics if metrics is None else metrics)
    agreed = agree(chosen, conventions)
    named = runs if isinstance(runs, Mapping) else _named(runs)
    judged, read = read_all(gold, named.values())
    if test == "tukey":
        _refuse_correction_of_tukey(correction, family)
    ranked = dict(zip(named, read, strict=True))
    hits = {
        name: add_confidence(HitCounter(judged, run, corpus).count(agreed), run, asked, agreed)
        for name, run in ranked.items()
    }
    sources = {name: RunSource(judged, ranked[name], one, name) for name, one in hits.items()}
    hits, left_out = _common(hits) if common else (hits, None)
    scores = {
        name: score_counted(one, asked, chosen, agreed, name, bootstrap, sources[name]) for name, one in hits.items()
    }
    return compare_scores(scores, left_out, test, correction, family, alpha, bootstrap)


def _named(runs: Sequence[Any]) -> dict[str, Any]:
    """Runs by the name that each has, files by their own; all of these must differ."""
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
    **conventions: Any,
) -> Comparison:
    """Compare hits of several runs on the same gold; arguments as in :func:`compare`."""
    if test == "tukey":
        _refuse_correction_of_tukey(correction, family)
    hits, left_out = _common(hits) if common else (hits, None)
    scores = {
        name: score_hits(one, metrics, profile=profile, name=name, bootstrap=bootstrap, **conventions)
        for name, one in hits.items()
    }
    return compare_scores(scores, left_out, test, correction, family, alpha, bootstrap)


def _common(hits: Mapping[str, Hits]) -> tuple[dict[str, Hits], int]:
    """The hits of the queries that all runs answer, and how many others there are."""
    answered = np.logical_and.reduce([one.depth > 0 for one in hits.values()])
    return {name: one.keep_queries(answered) for name, one in hits.items()}, int((~answered).sum())


def compare_scores(
    scores: dict[str, Scores],
    left_out: int | None = None,
    test: str = "randomisation",
    correction: str | None = None,
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
) -> Comparison:
    """Compare runs that are scored already; arguments as in :func:`compare`."""
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


def _pairs(scores: Mapping[str, Scores], test: str, how: Bootstrap) -> list[Pair]:
    found = [
        _pair(metric, scores[first][metric], scores[second][metric], first, second, test, how.seed)
        for first, second in combinations(scores, 2)
        for metric in scores[first]
    ]
    bounds = _intervals([differences for _, differences in found if differences is not None], how)
    pairs = []
    for pair, differences in found:
        interval = None if differences is None else next(bounds)
        geometric = scores[pair.a][pair.metric].metric.definition.aggregate == "geometric"
        pairs.append(pair if geometric else replace(pair, interval=interval))
    return pairs


def _intervals(columns: Sequence[Floats], how: Bootstrap) -> Iterator[stats.Interval | None]:
    """The interval of each column, from one set of resamples for all columns over as many queries."""
    made: dict[int, stats.Interval | None] = {}
    for size in {len(column) for column in columns}:
        places = [place for place, column in enumerate(columns) if len(column) == size]
        intervals = how.intervals([stats.Sample(columns[place]) for place in places])
        made.update(zip(places, intervals, strict=True))
    return (made[place] for place in range(len(columns)))


def _pair(metric: str, a: Score, b: Score, first: str, second: str, test: str, seed: int) -> tuple[Pair, Floats | None]:
    """Everything of a pair but its interval, and the differences that gives, if any."""
    both = ~(np.isnan(a.values) | np.isnan(b.values))
    raw = (b.values - a.values)[both]
    differences, note = _differences(a, b, both)
    wins, ties, losses = stats.wins_ties_losses(raw if a.metric.definition.direction != "lower" else -raw)
    pair = Pair(
        metric, first, second, int(both.sum()), b.value - a.value, None, math.nan, math.nan, math.nan, math.nan,
        wins, ties, losses, note,
    )  # fmt: skip
    if differences is None:
        return pair, None
    geometric = a.metric.definition.aggregate == "geometric"
    tested = replace(
        pair,
        p=math.nan if test == "tukey" else stats.paired_test(test, differences, a.values[both], b.values[both], seed).p,
        effect=stats.effect_size(differences),
        detectable=math.nan if geometric else stats.smallest_detectable(differences),
    )
    return tested, differences


def _differences(a: Score, b: Score, both: Any) -> tuple[Floats | None, str]:
    """Per-query differences whose mean is the difference of the two scores, or why there are none."""
    how = a.metric.definition.aggregate
    if how in ("sum", "median", "nauc"):
        return None, f"{_NO_MEANS[how]} has no paired test of means"
    if how == "geometric":
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
    """The pairs with p-values of Tukey's test; those of a metric without a test of means stay untested."""
    place = {name: at for at, name in enumerate(scores)}
    results = {
        metric: _tukey_of([one[metric] for one in scores.values()]) for metric in {pair.metric for pair in pairs}
    }
    tested = []
    for pair in pairs:
        result, at = results[pair.metric], (place[pair.a], place[pair.b])
        tested.append(replace(pair, p=float(result.p[at]), adjusted=float(result.adjusted[at])) if result else pair)
    return tested


def _tukey_of(columns: list[Score]) -> stats.TukeyResult | None:
    """Tukey's test of one metric, over the queries for which it is defined in every run."""
    first = columns[0]
    defined = ~np.isnan([column.values for column in columns]).any(axis=0)
    # Differences to the first run, which has none to itself: what they have in common is an effect of the query.
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
