"""The abstention metric nauc: whether the scores of a run predict which queries it answers well."""

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
"""The measures of confidence, in the order of the rows of `Hits.confidence`."""


@dataclass(frozen=True)
class _MetricParameter(Parameter):
    """A parameter whose value is a metric."""

    def parse(self, text: str, metric: str) -> Setting:
        """Return the metric that *text* names in its normal form."""
        inner = Metric.parse(text)
        if inner.definition.aggregate != "mean":
            raise InputError(
                f"{metric} cannot be computed for {inner.name}, whose value over all queries is not a mean",
                remedy=f"use {self.allowed}",
            )
        return str(inner)

    @property
    def allowed(self) -> str:
        """The allowed values, for people."""
        return "a metric without parameters, such as ndcg@10"


def confidences(run: Run, queries: Sequence[str], *, drop_self: bool) -> Floats:
    """Compute the confidence of a run in each query from its scores: one row for each of `CONFIDENCES`.

    These are the highest score, the standard deviation of the scores, and the difference between the two highest
    scores. All are 0 for a query without results.
    """
    result = np.zeros((len(CONFIDENCES), len(queries)))
    columns = run.columns
    positions = {query: position for position, query in enumerate(columns.queries)}
    for number, query in enumerate(queries):
        if query not in positions:
            continue
        rows = slice(*columns.starts[positions[query] : positions[query] + 2].tolist())
        scores = columns.values[rows]
        if drop_self:
            scores = scores[[item != query for item in columns.items[rows]]]
        if len(scores):
            highest = np.sort(scores)[::-1][:2]
            result[:, number] = highest[0], np.std(scores), highest[0] - highest[-1]
    return result


def apply_inner(metric: Metric, profile: Profile, relevance_level: float | None) -> Metric:
    """Apply the profile and the relevance level to the inner metric of nauc; return other metrics unchanged."""
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
        raise InputError(f"nauc cannot be computed for {of}, which pools gold items", remedy="use one such as ndcg@10")
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
        notes="0 if the confidence is uninformative, 1 if it orders the queries as the metric does. Scores count as "
        "the run has them, to its full depth; a query without results has confidence 0.",
    )
)
