"""Abstention: does the run's confidence in a query, taken from its scores, tell how well it answers the query?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats, Run
from goldrank.metrics.definition import Definition, Metric, Parameter, Setting, Values, register
from goldrank.metrics.placement import Placement

if TYPE_CHECKING:
    from goldrank.metrics.profiles import Profile

CONFIDENCES = ("max", "std", "diff1")
"""The confidences, in the order of the rows of `Hits.confidence`."""


@dataclass(frozen=True)
class _MetricParameter(Parameter):
    """A parameter whose value is a metric."""

    def parse(self, text: str, metric: str) -> Setting:
        """The metric that *text* names, written in full."""
        inner = Metric.parse(text)
        if inner.definition.aggregate != "mean":
            raise InputError(
                f"{metric} cannot be taken of {inner.name}, whose value over all queries is no mean",
                remedy=f"use {self.allowed}",
            )
        return str(inner)

    @property
    def allowed(self) -> str:
        """The allowed values, for people."""
        return "a metric without parameters, such as ndcg@10"


def confidences(run: Run, queries: Sequence[str], *, drop_self: bool) -> Floats:
    """How sure the run is of each query, by the scores of its results: one row for each of `CONFIDENCES`.

    They are the highest score, the standard deviation of the scores, and how far the highest is from the second.
    A query without results has 0.
    """
    found = np.zeros((len(CONFIDENCES), len(queries)))
    columns = run.columns
    place = {query: at for at, query in enumerate(columns.queries)}
    for at, query in enumerate(queries):
        if query not in place:
            continue
        rows = slice(*columns.starts[place[query] : place[query] + 2].tolist())
        scores = columns.values[rows]
        if drop_self:
            scores = scores[[item != query for item in columns.items[rows]]]
        if len(scores):
            highest = np.sort(scores)[::-1][:2]
            found[:, at] = highest[0], np.std(scores), highest[0] - highest[-1]
    return found


def apply_inner(metric: Metric, profile: Profile, relevance_level: float | None) -> Metric:
    """A metric whose inner metric has the parameters of the profile and the level; other metrics as they are."""
    if metric.definition is not _NAUC:
        return metric
    inner = profile.apply(Metric.parse(str(metric.parameters["of"])), relevance_level)
    return Metric(metric.definition, metric.cutoff, {**metric.settings, "of": str(inner)})


def _nauc(placement: Placement, k: None, of: str, confidence: str) -> Values:
    if placement.confidence is None:
        raise InputError(
            "nauc needs the scores of the run's results, and only the ranks of the gold are known here",
            remedy="score a run file, or a stored run with its rankings",
        )
    result = Metric.parse(of).compute(placement)
    if result.weights is not None:
        raise InputError(f"nauc cannot be taken of {of}, which pools gold items", remedy="use one such as ndcg@10")
    return Values(result.values, placement.confidence[CONFIDENCES.index(confidence)])


_NAUC = register(
    Definition(
        "nauc",
        "Normalised area under the abstention curve: do the scores of the run tell which queries it answers well?",
        "(area of the curve − constant) / (area of the oracle − constant), the curve being the mean of the metric over "
        "the queries left when 0, 10, … 90% of them, the least confident, are not answered",
        _nauc,
        range="(−∞, 1]",
        cutoff="none",
        parameters=(
            _MetricParameter("of", "the metric that is averaged", "ndcg@10"),
            Parameter(
                "confidence",
                "max: the highest score; std: the standard deviation of the scores; diff1: the highest less the second",
                "max",
                CONFIDENCES,
            ),
        ),
        aggregate="nauc",
        expected=False,
        cite="Gisserot-Boukhlef et al., 2024",
        tools=(("mteb", "nauc_ndcg_at_10_max: nauc(of=ndcg@10,confidence=max)"),),
        notes="0 where the confidence says nothing, 1 where it orders the queries as the metric does. Scores count as "
        "the run has them, to its full depth; a query without results has confidence 0.",
    )
)
