"""Curves of ranked runs: a metric over its cutoff, and precision over recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from goldrank.hits import Floats, Hits
from goldrank.metrics import Metric, Placement, place
from goldrank.reporting.figures.captions import describe_conventions, describe_intervals, describe_queries
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series
from goldrank.reporting.figures.ranks import FIGURE_BOOTSTRAP, TOO_SHALLOW, score_series
from goldrank.scoring import Bootstrap, Scores, score_hits
from goldrank.stats import Sample, aggregate

_CUTOFFS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
LEVELS = tuple(level / 10 for level in range(11))
"""The recall levels of a precision–recall curve."""


def metric_by_cutoff(
    scores: Mapping[str, Scores], hits: Mapping[str, Hits], how: Bootstrap = FIGURE_BOOTSTRAP
) -> Figure | LeftOut:
    """Plot the first metric with a cutoff at cutoffs from 1 to the end of the rankings, a line for each run.

    Args:
        scores: the scores of the runs, whose conventions are used.
        hits: the hits of the same runs.
        how: the bootstrap of the intervals.
    """
    name, first = "metric-by-cutoff", next(iter(scores.values()))
    chosen = next((applied for applied in first.applied if isinstance(applied.cutoff, int)), None)
    if chosen is None:
        return LeftOut(name, "no metric was scored with a cutoff")
    if chosen.name == "hits":
        return LeftOut(name, "the share of gold within a cutoff is the gold-rank curve")
    deepest = max(int(run_hits.depth.max(initial=0)) for run_hits in hits.values())
    ks = [k for k in _CUTOFFS if k <= deepest]
    if len(ks) < 2:
        return LeftOut(name, TOO_SHALLOW)
    series = []
    metrics = [Metric(chosen.definition, k, chosen.settings) for k in ks]
    for run, of_run in scores.items():
        conventions = of_run.conventions.as_dict()
        at_cutoffs = score_hits(hits[run], metrics, profile=of_run.profile, bootstrap=how, **conventions)
        series.append(score_series(run, ks, at_cutoffs))
    whole = Metric(chosen.definition, None, chosen.settings)
    return Figure(
        name,
        f"How deep does one have to look? {whole} by cutoff",
        f"Means over {describe_queries(first)} with each ranking cut at k; {describe_conventions(first)}. Bands are "
        f"{describe_intervals(how)}.",
        Axis("cutoff k", "log", low=1),
        Axis(f"{whole}@k"),
        tuple(series),
    )


def precision_recall(
    scores: Mapping[str, Scores], hits: Mapping[str, Hits], how: Bootstrap = FIGURE_BOOTSTRAP
) -> Figure | LeftOut:
    """Plot interpolated precision at 11 levels of recall; arguments as in `metric_by_cutoff`."""
    name, first = "precision-recall", next(iter(scores.values()))
    relevant = first.placement.relevant_count(None)
    if relevant.max(initial=0) < 2:
        return LeftOut(name, "no query has two relevant items: precision is the reciprocal rank at every recall")
    series = []
    for run, of_run in scores.items():
        conventions = of_run.conventions
        ties = "docid" if conventions.ties == "expected" else conventions.ties
        rel = of_run.profile.apply(Metric.parse("iprec@0"), conventions.relevance_level).parameters["rel"]
        placement = place(hits[run], replace(conventions, ties=ties))
        columns = interpolated_precision(placement, rel if isinstance(rel, (int, float)) else None).T
        intervals = how.intervals([Sample(column) for column in columns])
        series.append(Series.with_intervals(run, LEVELS, map(aggregate, columns), intervals))
    return Figure(
        name,
        "How precise is a ranking by the time it has found that much?",
        f"The best precision at any rank where recall is at least that high (0 where it is never reached), mean over "
        f"{describe_queries(first)}; profile {first.profile.name}, ties {ties}. Bands are {describe_intervals(how)}.",
        Axis("recall", percent=True, low=0, high=1),
        Axis("interpolated precision", percent=True, low=0),
        tuple(series),
    )


def interpolated_precision(placement: Placement, rel: float | None) -> Floats:
    """Return queries by recall levels: the values of the metric ``iprec``, computed for all levels at once."""
    groups, gold = placement.groups(rel), placement.relevant_count(rel)
    precision = (groups.before + 1) / (groups.start + 1)
    # A running maximum from the end of each query: an offset that grows towards the front keeps queries apart.
    apart = 2.0 * (placement.count - groups.query)
    best = np.maximum.accumulate((precision + apart)[::-1])[::-1] - apart
    heads = np.searchsorted(groups.query, np.arange(placement.count))
    relevant = np.searchsorted(groups.query, np.arange(placement.count), side="right") - heads
    # As trec_eval rounds the number of items that make up a recall level.
    needed = np.maximum((np.outer(gold, LEVELS) + 0.9).astype(np.int64), 1)
    reached = needed <= relevant[:, None]
    rows = np.where(reached, heads[:, None] + needed - 1, 0)
    return np.where(reached, best[rows] if len(best) else 0.0, 0.0)
