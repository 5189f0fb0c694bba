"""Scores and comparisons by slice: every metric with its interval, corrected tests, and reversed orders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

from goldrank.comparing import Comparison, Pair, adjust_pairs, compare_scores
from goldrank.errors import DataWarning, InputError, counts
from goldrank.hits import Gold
from goldrank.metrics import Metric
from goldrank.presentation import Result
from goldrank.scoring import Scores, share_resamples
from goldrank.slices.attributes import SMALLEST, Attributes, Slice, read_attributes
from goldrank.slices.derived import PlainTexts, SliceSource
from goldrank.slices.search import SliceSearch, find_slices


@dataclass(frozen=True, eq=False, repr=False)
class SlicedScores(Result):
    """The scores of runs on all queries and on every slice."""

    whole: tuple[Scores, ...]
    slices: tuple[Slice, ...]
    parts: tuple[tuple[Scores, ...], ...]
    """The scores of the runs on each slice, in the order of ``slices``."""

    @property
    def warnings(self) -> tuple[DataWarning, ...]:
        """Everything known that makes the scores misleading."""
        return tuple(dict.fromkeys(warning for scores in self.whole for warning in scores.warnings))


@dataclass(frozen=True)
class Reversal:
    """Two runs whose order on all queries is the opposite of their order on most slices of an attribute.

    The slices of an attribute are disjoint and contain all queries. A slice counts if it is not too small and the two
    runs differ there; the order is reversed if more than half of the slices that count, and at least two, have the
    opposite order. As both runs answer the same queries, a difference of means is the average of the differences of
    the slices, so that it can be opposite to most slices, but not to all; a metric that pools over gold items, or is
    undefined for some queries, can be opposite to all, which is Simpson's paradox in the strict sense.
    """

    metric: str
    better: str
    """The run that is better on all queries."""
    worse: str
    attribute: str
    opposite: tuple[str, ...]
    """The values of the slices on which the other run is better."""
    slices: int
    """The number of slices that count."""
    significant: int
    """On how many of the opposite slices the other run is significantly better."""

    @property
    def strict(self) -> bool:
        """Whether the order is opposite on all slices."""
        return len(self.opposite) == self.slices

    def __str__(self) -> str:
        where = "all" if self.strict else f"{len(self.opposite)} of"
        shown = ", ".join(self.opposite[:5]) + ", …" * (len(self.opposite) > 5)
        tested = f"significantly on {self.significant}" if self.significant else "on none of them significantly"
        return (
            f"{self.better} is better than {self.worse} on {self.metric} over all queries, but worse on {where} "
            f"{counts(self.slices, 'slice')} of {self.attribute} ({shown}), {tested}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class SlicedComparison(Result):
    """A comparison of runs on all queries and on every slice."""

    whole: Comparison
    slices: tuple[Slice, ...]
    parts: tuple[Comparison, ...]
    """The comparison on each slice, in the order of ``slices``; p-values are corrected over all slices together."""
    search: SliceSearch | None = None
    """The slices on which two runs differ most, if they were searched for."""

    @cached_property
    def reversals(self) -> tuple[Reversal, ...]:
        """The pairs of runs whose order on all queries is the opposite of that on most slices."""
        return tuple(
            reversal
            for pair in self.whole.pairs
            for attribute in dict.fromkeys(part.attribute for part in self.slices)
            if not pair.unfit and (reversal := self._reversal(pair, attribute)) is not None
        )

    def _reversal(self, pair: Pair, attribute: str) -> Reversal | None:
        direction = Metric.parse(pair.metric).definition.direction
        if direction == "neither" or not pair.difference:
            return None
        if (pair.difference < 0) == (direction == "higher"):
            pair = pair.reverse()  # now b is better
        opposite, total, significant = [], 0, 0
        for part, compared in zip(self.slices, self.parts, strict=True):
            if part.attribute != attribute or part.too_small:
                continue
            here = compared.pair(pair.metric, pair.a, pair.b)
            here = here if here.b == pair.b else here.reverse()
            if not here.difference or math.isnan(here.difference):
                continue
            total += 1
            if (here.difference > 0) != (pair.difference > 0):
                opposite.append(part.value)
                significant += here.winner(compared.alpha, direction) == pair.a
        if len(opposite) < 2 or 2 * len(opposite) <= total:
            return None
        return Reversal(pair.metric, pair.b, pair.a, attribute, tuple(opposite), total, significant)

    @cached_property
    def warnings(self) -> tuple[DataWarning, ...]:
        """Everything known that makes the comparison misleading, reversed orders among it."""
        reversed_orders = tuple(
            DataWarning(
                "simpson" if reversal.strict else "reversed-order",
                str(reversal),
                remedy="Report the slices apart, or say which mixture of them the queries stand for.",
            )
            for reversal in self.reversals
        )
        return (*self.whole.warnings, *reversed_orders)


def slice_scores(all_scores: Sequence[Scores], slices: Sequence[Slice], *, intervals: bool = True) -> SlicedScores:
    """Return the scores of runs by slice; a slice without any scored query is left out.

    Args:
        all_scores: The scores of each run.
        slices: The slices.
        intervals: Whether intervals are computed now, for all slices together.
    """
    pairs = [
        (part, tuple(scores.restrict(part.queries) for scores in all_scores)) for part in _scored(all_scores, slices)
    ]
    if intervals:
        share_resamples([scores for _, parts in pairs for scores in parts])
    return SlicedScores(tuple(all_scores), tuple(part for part, _ in pairs), tuple(scores for _, scores in pairs))


def _scored(all_scores: Sequence[Scores], slices: Sequence[Slice]) -> list[Slice]:
    """Return the slices in which every run has a scored query; some may be too small only because of the others."""
    scored = [set(scores.placement.queries) for scores in all_scores]
    fewest = {part: min(len(queries.intersection(part.queries)) for queries in scored) for part in slices}
    return [replace(part, too_small=part.too_small or few < SMALLEST) for part, few in fewest.items() if few]


def slice_comparison(
    comparison: Comparison, slices: Sequence[Slice], search: SliceSearch | None = None
) -> SlicedComparison:
    """Compare runs by slice; the p-values of a family are corrected over all its slices and pairs together.

    Args:
        comparison: The comparison on all queries.
        slices: The slices.
        search: The result of a search for slices, to be shown too.

    Raises:
        InputError: The test corrects for all pairs itself, and therefore not for several slices.
    """
    if comparison.test == "tukey":
        raise InputError("Tukey's test does not correct over slices", remedy="choose another test")
    parts = []
    shown = _scored(list(comparison.scores.values()), slices)
    for part in shown:
        scores = {name: run_scores.restrict(part.queries) for name, run_scores in comparison.scores.items()}
        bootstrap = next(iter(scores.values())).bootstrap
        part_comparison = compare_scores(
            scores, None, comparison.test, "none", comparison.family, comparison.alpha, bootstrap, comparison.flaws
        )
        if part.too_small:
            untested = [replace(pair, p=math.nan, interval=None, detectable=math.nan) for pair in part_comparison.pairs]
            part_comparison = replace(part_comparison, pairs=untested)
        parts.append(part_comparison)
    pairs = [pair for compared in parts for pair in compared.pairs if not pair.unfit]
    adjusted = iter(adjust_pairs(pairs, comparison.correction, comparison.family))
    corrected = tuple(
        replace(
            compared,
            pairs=[pair if pair.unfit else next(adjusted) for pair in compared.pairs],
            correction=comparison.correction,
            reduced_to_common=comparison.reduced_to_common,
        )
        for compared in parts
    )
    return SlicedComparison(comparison, tuple(shown), corrected, search)


_Texts = Mapping[str, str] | None
_Names = Sequence[str] | None


@overload
def by_slice(
    result: Scores,
    slices: Any = ...,
    *,
    names: _Names = ...,
    texts: _Texts = ...,
    item_texts: _Texts = ...,
    find: bool = ...,
) -> SlicedScores: ...
@overload
def by_slice(
    result: Comparison,
    slices: Any = ...,
    *,
    names: _Names = ...,
    texts: _Texts = ...,
    item_texts: _Texts = ...,
    find: bool = ...,
) -> SlicedComparison: ...
def by_slice(
    result: Scores | Comparison,
    slices: Any = None,
    *,
    names: _Names = None,
    texts: _Texts = None,
    item_texts: _Texts = None,
    find: bool = False,
) -> SlicedScores | SlicedComparison:
    """Show the scores or the comparison of runs by slice: groups of queries with the same value of an attribute.

    Args:
        result: What `score` or `compare` returned.
        slices: Attributes of the queries: a file (CSV, TSV, JSON Lines, Parquet), a data frame, a list of records or
            a mapping ``{"language": {"q1": "de"}}``; or `goldrank.slices.Slice` objects; None for derived attributes.
        names: The attributes to use, given or derived (``goldrank list slices``); by default all that are given.
        texts: The text of each query, for attributes that are derived from it.
        item_texts: The texts of items, for those that are derived from both.
        find: Of a comparison of two runs, find the slices on which they differ most, corrected for the search.

    Returns:
        The result on every slice; `to_dict`, `to_pandas` and `repr` show it.

    Raises:
        InputError: An attribute is unknown, does not fit the queries, or needs texts that are not given.

    >>> from goldrank import score
    >>> gold = {f"q{number}": ["d"] for number in range(10)}
    >>> run = {query: {"d": 2, "e": 1} if at % 2 else {"d": 1, "e": 2} for at, query in enumerate(gold)}
    >>> parity = {"parity": {query: "odd" if at % 2 else "even" for at, query in enumerate(gold)}}
    >>> sliced = by_slice(score(gold, run, "mrr"), parity)
    >>> [(part.value, scores["mrr"].mean) for part, (scores,) in zip(sliced.slices, sliced.parts)]
    [('even', 0.5), ('odd', 1.0)]
    """
    whole = [result] if isinstance(result, Scores) else list(result.scores.values())
    if find and isinstance(result, Scores):
        raise InputError("find compares two runs, and these are scores of one", remedy="give the result of compare")
    chosen = _given_slices(whole[0], slices, names, PlainTexts(texts or {}, item_texts or {}), derive=find)
    if isinstance(result, Scores):
        return slice_scores(whole, chosen)
    return slice_comparison(result, chosen, find_slices(result, chosen) if find else None)


def _given_slices(scores: Scores, slices: Any, names: _Names, texts: PlainTexts, *, derive: bool) -> tuple[Slice, ...]:
    if isinstance(slices, (list, tuple)) and slices and all(isinstance(part, Slice) for part in slices):
        return tuple(slices)
    if slices is None and names is None and not derive:
        raise InputError("there is nothing to cut by", remedy='give attributes, or names=["relevant_items"]')
    attributes = Attributes({}) if slices is None else read_attributes(slices)
    source = SliceSource(scored_gold(scores), attributes, texts)
    attributes.refuse_unknown(source.gold.queries)
    return source.slices(names, derive=derive)


def scored_gold(scores: Scores) -> Gold:
    """Return the gold of the queries that are scored or missing, as far as the scores hold it."""
    if scores.source is not None:
        return scores.source.gold
    placement = scores.placement
    gold: dict[str, dict[str, float]] = {query: {} for query in (*placement.queries, *scores.counts.missing_queries)}
    for query, item, grade in zip(
        placement.gold_query.tolist(), placement.gold_items, placement.gold_grade.tolist(), strict=True
    ):
        gold[placement.queries[query]][item] = grade
    return Gold(gold)
