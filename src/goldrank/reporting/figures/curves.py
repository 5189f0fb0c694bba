"""Curves of ranked runs: a metric as its cutoff moves down the ranking, and precision against recall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from goldrank.hits import Floats, Hits
from goldrank.metrics import Metric, Placement, place
from goldrank.reporting.figures.captions import conventions_of, intervals_of, queries_of
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series
from goldrank.reporting.figures.ranks import DRAWN, ends, shares
from goldrank.scoring import Bootstrap, Scores, score_hits
from goldrank.stats import Sample, aggregate

_CUTOFFS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
LEVELS = tuple(level / 10 for level in range(11))
"""The recall levels of a precision–recall curve."""


def metric_by_cutoff(
    scores: Mapping[str, Scores], hits: Mapping[str, Hits], metric: Metric | None = None, how: Bootstrap = DRAWN
) -> Figure | LeftOut:
    """A metric at cutoffs from 1 to the end of the rankings, a line with its band for each run.

    Args:
        scores: the runs as they were scored; their conventions are followed.
        hits: the same runs.
        metric: by default the first that was scored with a cutoff.
        how: how the intervals are made.
    """
    name, first = "metric-by-cutoff", next(iter(scores.values()))
    chosen = metric or next((one for one in first.applied if isinstance(one.cutoff, int)), None)
    if chosen is None:
        return LeftOut(name, "no metric was scored with a cutoff")
    if chosen.name == "hits":
        return LeftOut(name, "the share of gold within a cutoff is the gold-rank curve")
    deepest = max(int(one.depth.max(initial=0)) for one in hits.values())
    ks = [k for k in _CUTOFFS if k <= deepest]
    if len(ks) < 2:
        return LeftOut(name, "the rankings hold one item at most")
    series = []
    for run, one in scores.items():
        asked = [Metric(chosen.definition, k, chosen.settings) for k in ks]
        made = score_hits(hits[run], asked, profile=one.profile, bootstrap=how, **one.conventions.as_dict())
        series.append(shares(run, ks, made))
    whole = Metric(chosen.definition, None, chosen.settings)
    return Figure(
        name,
        f"How deep does one have to look? {whole} by cutoff",
        f"Means over {queries_of(first)} with each ranking cut at k; {conventions_of(first)}. Bands are "
        f"{intervals_of(how)}.",
        Axis("cutoff k", "log", low=1),
        Axis(f"{whole}@k"),
        tuple(series),
    )


def precision_recall(
    scores: Mapping[str, Scores], hits: Mapping[str, Hits], how: Bootstrap = DRAWN
) -> Figure | LeftOut:
    """Interpolated precision at 11 levels of recall, a line with its band for each run; arguments as above."""
    name, first = "precision-recall", next(iter(scores.values()))
    relevant = first.placement.relevant_count(None)
    if relevant.max(initial=0) < 2:
        return LeftOut(name, "no query has two relevant items: precision is the reciprocal rank at every recall")
    series = []
    for run, one in scores.items():
        ties = "docid" if one.conventions.ties == "expected" else one.conventions.ties
        rel = one.profile.apply(Metric.parse("iprec@0"), one.conventions.relevance_level).parameters["rel"]
        placement = place(hits[run], replace(one.conventions, ties=ties))
        columns = interpolated_precision(placement, rel if isinstance(rel, (int, float)) else None).T
        low, high = ends(how.intervals([Sample(column) for column in columns]))
        series.append(Series(run, LEVELS, tuple(aggregate(column) for column in columns), low, high))
    return Figure(
        name,
        "How precise is a ranking by the time it has found that much?",
        f"The best precision at any rank where recall is at least that high (0 where it is never reached), mean over "
        f"{queries_of(first)}; profile {first.profile.name}, ties {ties}. Bands are {intervals_of(how)}.",
        Axis("recall", percent=True, low=0, high=1),
        Axis("interpolated precision", percent=True, low=0),
        tuple(series),
    )


def interpolated_precision(placement: Placement, rel: float | None) -> Floats:
    """Queries by recall levels: what the metric ``iprec`` gives one level at a time, all at once."""
    groups, gold = placement.groups(rel), placement.relevant_count(rel)
    precision = (groups.before + 1) / (groups.start + 1)
    # A running maximum from the end of each query: an offset that grows towards the front keeps queries apart.
    apart = 2.0 * (placement.count - groups.query)
    best = np.maximum.accumulate((precision + apart)[::-1])[::-1] - apart
    heads = np.searchsorted(groups.query, np.arange(placement.count))
    found = np.searchsorted(groups.query, np.arange(placement.count), side="right") - heads
    # As trec_eval rounds the number of items that make up a recall level.
    needed = np.maximum((np.outer(gold, LEVELS) + 0.9).astype(np.int64), 1)
    reached = needed <= found[:, None]
    rows = np.where(reached, heads[:, None] + needed - 1, 0)
    return np.where(reached, best[rows] if len(best) else 0.0, 0.0)
