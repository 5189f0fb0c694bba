"""Metrics of queries of whose pooled items a random sample was judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goldrank.encoders.rankings import top_items
from goldrank.errors import InputError
from goldrank.hits import Floats, Run
from goldrank.judging.plans import Unit, item_strata
from goldrank.judging.pools import Pool
from goldrank.metrics import Metric
from goldrank.metrics.ndcg import gains_of
from goldrank.stats.sampling_estimators import (
    Ints,
    inferred_ap,
    sampled_dcg,
    sampled_ndcg,
    sampled_precision,
    sampled_recall,
    stat_ap,
)

_SETTINGS = {
    **{name: {"rel"} for name in ("precision", "recall", "map", "infap")},
    **{name: {"gain", "gains"} for name in ("dcg", "ndcg")},
}
"""The metrics that can be estimated, and the parameters that may be set."""
_RATIOS = ("recall", "map", "infap", "ndcg")
_MOST_EMPTY = 0.1
"""Ratios are refused if a larger share of the queries has no relevant item in the sample."""


@dataclass(frozen=True, eq=False)
class _Sample:
    """The pooled items of a query, and what was drawn of them."""

    items: list[str]
    grade: Floats
    """NaN for items that were not drawn."""
    probability: Floats
    stratum: Ints

    @property
    def joint(self) -> Floats:
        """The probabilities that two items were both drawn."""
        joint = np.outer(self.probability, self.probability)
        for number in np.unique(self.stratum):
            members = np.flatnonzero(self.stratum == number)
            size = len(members)
            expected = float(self.probability[members].max()) * size
            whole = math.floor(expected + 1e-9)
            # The number drawn is one of two neighbours, with this mean.
            pairs = whole * (whole - 1) + (expected - whole) * 2 * whole
            joint[np.ix_(members, members)] = pairs / (size * (size - 1)) if size > 1 else expected
        return joint


def sampled_values(
    pool: Pool,
    units: Sequence[Unit],
    human: Mapping[tuple[str, str], int],
    rankings: Mapping[str, Run],
    metrics: Sequence[Metric],
) -> dict[str, Floats]:
    """Estimate the values of each metric as (units, systems).

    Recall, nDCG and average precision are ratios of estimates for each query. They are 0 where no relevant item was
    sampled, so that they are refused if this is the case for many queries.

    Raises:
        InputError: A metric cannot be estimated from a sample of the items, or not from this one.
    """
    for metric in metrics:
        allowed = _SETTINGS.get(metric.name)
        if allowed is None or set(metric.settings) - allowed or (metric.name == "map" and metric.cutoff is not None):
            raise InputError(
                f"{metric} cannot be estimated from a sample of the items of each query",
                remedy="choose precision@k, recall@k, ndcg@k, map or infap, or start a project with --sample queries",
            )
    samples = [_read(pool, unit, human) for unit in units]
    empty = sum(not (sample.grade > 0).any() for sample in samples)
    if empty > _MOST_EMPTY * len(samples) and (ratios := [m for m in metrics if m.name in _RATIOS]):
        raise InputError(
            f"{ratios[0]} would be far too low: of {empty} of {len(samples)} queries no relevant item was sampled",
            remedy="estimate precision@k, or start a project with --sample queries",
        )
    result = {str(metric): np.zeros((len(units), len(rankings))) for metric in metrics}
    for column, run in enumerate(rankings.values()):
        answered = set(run)
        for row, (unit, sample) in enumerate(zip(units, samples, strict=True)):
            ranks = (
                {item: rank for rank, item in enumerate(top_items(run[unit.query]), 1)}
                if unit.query in answered
                else {}
            )
            rank = np.array([ranks.get(item, 0) for item in sample.items], np.int64)
            for metric in metrics:
                result[str(metric)][row, column] = _value(metric, rank, sample)
    return result


def _read(pool: Pool, unit: Unit, human: Mapping[tuple[str, str], int]) -> _Sample:
    inclusion = dict(zip(unit.items, unit.inclusion, strict=True))
    strata = item_strata(pool.items[unit.query])
    items = [entry.item for stratum in strata for entry in stratum]
    number = [at for at, stratum in enumerate(strata) for _ in stratum]
    # An item that no judge could judge counts as not relevant.
    grades = [human.get((unit.query, item), 0) if item in inclusion else math.nan for item in items]
    return _Sample(
        items,
        np.array(grades, dtype=np.float64),
        np.array([inclusion.get(item, 0.0) for item in items]),
        np.array(number, np.int64),
    )


def _gains(metric: Metric, grade: Floats) -> Floats:
    gains = metric.settings.get("gains")
    return gains_of(grade, str(metric.settings.get("gain", "linear")), None if gains is None else str(gains))


def _value(metric: Metric, rank: Ints, sample: _Sample) -> float:
    k = None if metric.cutoff is None else int(metric.cutoff)
    if metric.name in ("dcg", "ndcg"):
        gains = np.where(np.isnan(sample.grade), np.nan, _gains(metric, sample.grade))
        estimate = sampled_dcg if metric.name == "dcg" else sampled_ndcg
        return estimate(rank, gains, sample.probability, k)
    least = metric.settings.get("rel")
    relevant = sample.grade >= (1 if least is None else float(least))
    gain = np.where(np.isnan(sample.grade), np.nan, relevant)
    if metric.name == "precision":
        return sampled_precision(rank, gain, sample.probability, k or len(rank))
    if metric.name == "recall":
        return sampled_recall(rank, gain, sample.probability, k)
    if metric.name == "infap":
        return inferred_ap(rank, gain, sample.stratum)
    return stat_ap(rank, gain, sample.probability, sample.joint)
