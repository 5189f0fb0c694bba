"""Compare runs query by query: differences with intervals, paired tests, corrections, and detectable differences."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from goldrank import stats
from goldrank.data_warnings import name_some
from goldrank.errors import DataWarning, InputError
from goldrank.hits import Floats, Gold, Hits, Run
from goldrank.metrics import Conventions, Metric, Profile, find_profile, parse_all
from goldrank.presentation import Result
from goldrank.scoring import (
    Bootstrap,
    Coverage,
    HitCounter,
    Metrics,
    RunSource,
    Score,
    Scores,
    add_confidence,
    all_warnings,
    best_first,
    conventions_of,
    read_all,
    resolve_conventions,
    score_counted,
    score_hits,
    share_resamples,
)

MOST_MISSING = 0.05
"""A run without results for a larger share of the queries is broken, which is reported before any verdict."""


@dataclass(frozen=True)
class Flaw:
    """A broken run: it has no results for many queries, or none of its results is judged."""

    run: str
    answered: int
    """The number of queries for which the run has results."""
    queries: int
    """The number of queries of the gold."""
    judged: int
    """The number of judged items of the gold."""
    none_judged: bool
    """Whether no judged item is among the results."""
    unfit: bool
    """Whether the run cannot be compared: it is from a file, and the user did not choose how missing queries count."""

    @property
    def missing(self) -> int:
        """The number of queries without results."""
        return self.queries - self.answered

    @property
    def lacks_queries(self) -> bool:
        """Whether too many queries have no results."""
        return self.missing > MOST_MISSING * self.queries


Outcome = Literal["a_better", "b_better", "equal", "cannot_tell", "not_compared"]
"""What a test of two runs says; ``not_compared`` if a run is broken or no direction of the metric is better."""


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
    unfit: bool = False
    """Whether one of the runs is broken, so that neither is called better."""

    def reverse(self) -> Pair:
        """Return the same pair with its two runs exchanged."""
        interval = self.interval
        if interval is not None:
            interval = replace(interval, low=0.0 - interval.high, high=0.0 - interval.low)  # never -0.0
        return replace(
            self,
            a=self.b,
            b=self.a,
            difference=0.0 - self.difference,
            interval=interval,
            effect=0.0 - self.effect,
            wins=self.losses,
            losses=self.wins,
        )

    def winner(self, alpha: float, direction: str) -> str | None:
        """Return the run that is significantly better, or None."""
        if self.unfit or not self.adjusted <= alpha or self.difference == 0 or direction == "neither":
            return None
        return self.b if (self.difference > 0) == (direction == "higher") else self.a

    def outcome(self, alpha: float, direction: str) -> Outcome:
        """Return which run is significantly better, or why neither is."""
        if self.unfit or direction == "neither":
            return "not_compared"
        winner = self.winner(alpha, direction)
        if winner is not None:
            return "a_better" if winner == self.a else "b_better"
        return "equal" if self.difference == 0 and self.ties == self.queries else "cannot_tell"


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
    """How many queries were left out because some run has no results for them; None if missing queries count as 0."""
    prior_warnings: tuple[DataWarning, ...] = ()
    """Warnings that were known before the runs were compared; ``warnings`` includes them."""
    flaws: tuple[Flaw, ...] = ()
    """The broken runs."""

    @cached_property
    def warnings(self) -> tuple[DataWarning, ...]:
        """Everything known that makes the comparison misleading, the most serious first."""
        return (*self.prior_warnings, *all_warnings(list(self.scores.values())))

    @cached_property
    def unfit(self) -> frozenset[str]:
        """The broken runs that are not compared with the others."""
        return frozenset(flaw.run for flaw in self.flaws if flaw.unfit)

    @cached_property
    def verdict(self) -> dict[str, str]:
        """What the data show, in a sentence for each metric; a broken run is named first.

        >>> runs = {"a": {"q1": {"x": 2, "b": 1}, "q2": {"c": 1}}, "b": {"q1": {"b": 2, "x": 1}, "q2": {"c": 1}}}
        >>> print(compare({"q1": ["b"], "q2": ["c"]}, runs, "mrr").verdict["mrr"].partition(":")[0])
        b and a cannot be told apart on mrr
        """
        # The wording belongs to a higher layer, so it is loaded by its name.
        sentences: dict[str, str] = import_module("goldrank.reporting.text.verdicts").verdicts(self)
        return sentences

    def order(self, metric: str) -> list[str]:
        """Return the runs that can be compared, the best by *metric* first."""
        fit = {name: scores for name, scores in self.scores.items() if name not in self.unfit}
        return list(best_first(fit, metric)) if fit else []

    def pair(self, metric: str, first: str, second: str) -> Pair:
        """Return the pair of two runs, whichever of them comes first in it."""
        return self._pairs[metric, frozenset((first, second))]

    @cached_property
    def _pairs(self) -> dict[tuple[str, frozenset[str]], Pair]:
        return {(pair.metric, frozenset((pair.a, pair.b))): pair for pair in self.pairs}

    def main_pairs(self, metric: str) -> list[Pair]:
        """Return the best run against each other one, and the pairs of neighbours among the others, best first."""
        order = self.order(metric)
        names = [(order[0], other) for other in order[1:]] + list(pairwise(order[1:])) if order else []
        return [self.pair(metric, better, worse) for better, worse in names]

    def groups(self, metric: str) -> list[list[str]]:
        """Return the largest groups of runs in which no two differ significantly on *metric*, best first.

        A run that differs from all others is in no group. Runs that are not compared are in none either.
        """
        order, direction = self.order(metric), Metric.parse(metric).definition.direction
        alike = {
            run: {
                other
                for other in order
                if other != run and self.pair(metric, run, other).winner(self.alpha, direction) is None
            }
            for run in order
        }
        return group_alike(order, alike)

    def better_than(self, metric: str, run: str) -> list[str]:
        """Return the runs that *run* significantly beats on *metric*."""
        direction = Metric.parse(metric).definition.direction
        return [
            pair.a if pair.b == run else pair.b
            for pair in self.pairs
            if pair.metric == metric and run in (pair.a, pair.b) and pair.winner(self.alpha, direction) == run
        ]


def group_alike(order: Sequence[str], alike: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the largest groups in which any two are alike, each in the given order, without groups of one.

    >>> group_alike(["a", "b", "c"], {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}})
    [['a', 'b'], ['b', 'c']]
    """
    place = {run: at for at, run in enumerate(order)}
    groups = [sorted(clique, key=place.__getitem__) for clique in _cliques(alike) if len(clique) > 1]
    return sorted(groups, key=lambda group: [place[run] for run in group])


def _cliques(neighbours: Mapping[str, set[str]]) -> Iterator[frozenset[str]]:
    """Yield the maximal cliques of a graph, by the algorithm of Bron and Kerbosch with pivots."""

    def extend(clique: set[str], candidates: set[str], excluded: set[str]) -> Iterator[frozenset[str]]:
        if not candidates and not excluded:
            yield frozenset(clique)
            return
        pivot = max(candidates | excluded, key=lambda name: len(candidates & neighbours[name]))
        for name in candidates - neighbours[pivot]:
            yield from extend(clique | {name}, candidates & neighbours[name], excluded & neighbours[name])
            candidates = candidates - {name}
            excluded = excluded | {name}

    return extend(set(), set(neighbours), set())


def compare(
    gold: Any,
    runs: Mapping[str, Any] | Sequence[Any],
    metrics: Metrics = None,
    *,
    profile: str | Profile = "standard",
    corpus: int | Collection[str] | None = None,
    test: str = "randomisation",
    correction: str | None = None,
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Comparison:
    """Compare runs query by query: test whether differences are significant, and find the smallest detectable ones.

    Queries for which a run has no results count as 0 (``missing="zero"``), or are left out for every run
    (``missing="skip"``). If a run lacks more than ``MOST_MISSING`` of them and ``missing`` is not given, or if none of
    its results is judged, it is not compared: no run is called better or worse than it.

    Args:
        gold, metrics, profile, corpus, bootstrap, conventions, keywords: As in `score`.
        runs: Two or more runs by name, or a list of files or of runs with a ``name``, such as those of ranx.
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
    changes = conventions_of(compare, conventions, keywords)
    resolved = resolve_conventions(chosen, changes)
    named = runs if isinstance(runs, Mapping) else _named(runs)
    judged, read = read_all(gold, named.values())
    if test == "tukey":
        _refuse_correction_of_tukey(correction, family)
    hits, sources = count_runs(judged, dict(zip(named, read, strict=True)), requested, resolved, corpus)
    compared_hits, left_out, flaws = _inspect(hits, resolved, decided="missing" in changes)
    scores = {
        name: score_counted(run_hits, requested, chosen, resolved, name, bootstrap, sources[name])
        for name, run_hits in compared_hits.items()
    }
    return compare_scores(scores, left_out, test, correction, family, alpha, bootstrap, flaws)


def count_runs(
    gold: Gold,
    runs: Mapping[str, Run],
    metrics: Sequence[Metric],
    conventions: Conventions,
    corpus: int | Collection[str] | None = None,
) -> tuple[dict[str, Hits], dict[str, RunSource]]:
    """Return the hits of each run with what *metrics* need, and the gold with the run for their warnings."""
    hits = {
        name: add_confidence(_count(gold, run, corpus, conventions, name), run, metrics, conventions)
        for name, run in runs.items()
    }
    return hits, {name: RunSource(gold, runs[name], run_hits, name) for name, run_hits in hits.items()}


def _count(gold: Gold, run: Run, corpus: int | Collection[str] | None, conventions: Conventions, name: str) -> Hits:
    """Return the hits of a run; an error names the run."""
    try:
        return HitCounter(gold, run, corpus).count(conventions)
    except InputError as error:
        raise error if error.where else InputError(error.what, where=name, remedy=error.remedy) from None


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
    evaluated: Collection[str] = (),
    test: str = "randomisation",
    correction: str | None = None,
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Comparison:
    """Compare the hits of several runs on the same gold.

    Args:
        hits: The hits of each run.
        evaluated: The runs of models that were given every query, so that a query without results is their answer;
            other runs may come from incomplete files.
        metrics, profile, test, correction, family, alpha, bootstrap, conventions, keywords: As in `compare`.

    >>> from goldrank.hits import Gold
    >>> gold = Gold({"q1": {"b": 1}, "q2": {"c": 1}})
    >>> runs = {"first": {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}, "second": {"q1": {"b": 2, "a": 1}, "q2": {"c": 1}}}
    >>> compare_hits({name: Run(run).hits(gold) for name, run in runs.items()}, "mrr").pairs[0].difference
    0.25
    """
    if test == "tukey":
        _refuse_correction_of_tukey(correction, family)
    changes = conventions_of(compare_hits, conventions, keywords)
    resolved = resolve_conventions(find_profile(profile), changes)
    hits, left_out, flaws = _inspect(hits, resolved, decided="missing" in changes, evaluated=evaluated)
    scores = {
        name: score_hits(run_hits, metrics, profile=profile, name=name, bootstrap=bootstrap, **changes)
        for name, run_hits in hits.items()
    }
    return compare_scores(scores, left_out, test, correction, family, alpha, bootstrap, flaws)


def _inspect(
    hits: Mapping[str, Hits], conventions: Conventions, *, decided: bool, evaluated: Collection[str] = ()
) -> tuple[Mapping[str, Hits], int | None, tuple[Flaw, ...]]:
    """Return the hits to compare, how many queries were left out for that, and the broken runs."""
    coverage = {name: Coverage.of(run_hits) for name, run_hits in hits.items()}
    flaws = find_flaws(coverage, decided=decided, evaluated=evaluated)
    if conventions.missing != "skip":
        return hits, None, flaws
    return (*common_queries(hits, () if decided else flaws), flaws)


def find_flaws(
    coverage: Mapping[str, Coverage], *, decided: bool = False, evaluated: Collection[str] = ()
) -> tuple[Flaw, ...]:
    """Return the broken runs.

    Args:
        coverage: How much of the gold each run covers.
        decided: Whether the caller chose how missing queries count.
        evaluated: The runs of models that were given every query.
    """
    flaws = []
    for name, (answered, queries, retrieved, judged) in coverage.items():
        none_judged = judged > 0 and retrieved == 0
        flaw = Flaw(name, answered, queries, judged, none_judged, unfit=False)
        if flaw.lacks_queries or none_judged:
            flaws.append(replace(flaw, unfit=name not in evaluated and (none_judged or not decided)))
    return tuple(flaws)


def common_queries(hits: Mapping[str, Hits], flaws: Sequence[Flaw] = ()) -> tuple[dict[str, Hits], int]:
    """Return the hits of the queries that all runs answer, for ``missing=skip``, and the number of other queries.

    Args:
        hits: The hits of each run.
        flaws: The broken runs, if ``missing=skip`` comes from a profile and not from the user.

    Raises:
        InputError: A broken run would take its missing queries from all others, or no query is left.
    """
    for flaw in flaws:
        if flaw.unfit and flaw.lacks_queries:
            raise InputError(
                f"{flaw.run} answered {flaw.answered} of {flaw.queries} queries, and under this profile the others "
                "would be left out for every run",
                remedy="leave that run out, or say how they count with --missing zero (as 0) or --missing skip (left "
                "out for every run)",
            )
    if any(run_hits.queries != next(iter(hits.values())).queries for run_hits in hits.values()):
        return dict(hits), 0  # another gold, which `compare_scores` refuses
    answered = np.logical_and.reduce([run_hits.depth > 0 for run_hits in hits.values()])
    if not answered.any():
        raise InputError(
            f"no query has results in every run ({', '.join(hits)}), and missing=skip leaves out all others",
            remedy="compare runs of the same queries, or count missing ones as 0 with --missing zero",
        )
    return {name: run_hits.keep_queries(answered) for name, run_hits in hits.items()}, int((~answered).sum())


def compare_scores(
    scores: dict[str, Scores],
    left_out: int | None = None,
    test: str = "randomisation",
    correction: str | None = None,
    family: str = "metric",
    alpha: float = 0.05,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    flaws: tuple[Flaw, ...] = (),
) -> Comparison:
    """Compare runs that are already scored.

    Args:
        scores: The scores of each run.
        left_out: How many queries were left out because some run lacks them; None if missing ones count as 0.
        test, correction, family, alpha, bootstrap: As in `compare`.
        flaws: The broken runs (see `find_flaws`).
    """
    stats.check_alpha(alpha)
    refuse_different_queries(scores)
    unfit = {flaw.run for flaw in flaws if flaw.unfit}
    pairs = [replace(pair, unfit=bool(unfit & {pair.a, pair.b})) for pair in _pairs(scores, test, bootstrap)]
    # Pairs that are not compared do not weaken the others by being corrected for.
    fit = [pair for pair in pairs if not pair.unfit]
    correction = "tukey" if test == "tukey" else correction or "holm"
    if test == "tukey":
        tested = iter(_tukey(fit, {name: run_scores for name, run_scores in scores.items() if name not in unfit}))
    else:
        tested = iter(adjust_pairs(fit, correction, family))
    pairs = [pair if pair.unfit else next(tested) for pair in pairs]
    return Comparison(scores, pairs, test, correction, family, alpha, left_out, flaws=flaws)


def refuse_different_queries(scores: Mapping[str, Scores]) -> None:
    """Raise InputError if the runs are scored on different queries."""
    (first, reference), *others = scores.items()
    for name, other in others:
        if other.placement.queries != reference.placement.queries:
            difference = sorted(set(reference.placement.queries) ^ set(other.placement.queries))
            raise InputError(
                f"{first} and {name} are scored on different queries "
                f"({len(difference)} are in one only: {name_some(difference)})",
                remedy="compare the runs with missing=skip, or count missing ones as 0 (missing=zero)",
            )


def _pairs(scores: Mapping[str, Scores], test: str, bootstrap: Bootstrap) -> list[Pair]:
    tested = [
        pair_scores(metric, scores[first][metric], scores[second][metric], first, second, test, bootstrap.seed)
        for first, second in combinations(scores, 2)
        for metric in scores[first]
    ]
    known = [differences for _, differences in tested if differences is not None]
    intervals = iter(share_resamples(scores.values(), [stats.Sample(values) for values in known], bootstrap))
    random = iter(stats.randomisation_tests(known, seed=bootstrap.seed) if test == "randomisation" else ())
    pairs = []
    for pair, differences in tested:
        if differences is None:
            pairs.append(pair)
            continue
        geometric = scores[pair.a][pair.metric].metric.definition.aggregate == "geometric"
        interval, p = next(intervals), next(random).p if test == "randomisation" else pair.p
        pairs.append(replace(pair, interval=None if geometric else interval, p=p))
    return pairs


def pair_scores(
    metric: str, a: Score, b: Score, first: str, second: str, test: str, seed: int
) -> tuple[Pair, Floats | None]:
    """Return a pair without its interval and without its p-value where all pairs share it, and its differences."""
    both = ~(np.isnan(a.values) | np.isnan(b.values))
    raw = (b.values - a.values)[both]
    differences, note = _differences(a, b, both)
    signs = stats.wins_ties_losses(raw if a.metric.definition.direction != "lower" else -raw)
    p = effect = detectable = math.nan
    if differences is not None:
        effect = stats.effect_size(differences)
        if test not in ("randomisation", "tukey"):  # which are computed for all pairs at once
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


def paired_differences(a: Score, b: Score) -> Floats | None:
    """Return the difference of each query, whose mean is that of the scores, NaN if undefined; None without such."""
    both = ~(np.isnan(a.values) | np.isnan(b.values))
    differences, _ = _differences(a, b, both)
    if differences is None:
        return None
    column = np.full(len(both), np.nan)
    column[both] = differences
    return column


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


def adjust_pairs(pairs: list[Pair], correction: str, family: str) -> list[Pair]:
    """Return the pairs with their p-values corrected, over the pairs of each metric or over all."""
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
