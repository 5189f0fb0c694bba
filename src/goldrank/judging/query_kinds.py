"""Measure how much queries made from documents favour systems that match words, by comparing kinds of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from goldrank.data.collections.collection import Document
from goldrank.encoders.tokens import words
from goldrank.hits import Gold, Run
from goldrank.judging.known_items import LLM, RULES, KnownItemQuery
from goldrank.scoring import score
from goldrank.stats.intervals import Interval, Sample, intervals, wilson
from goldrank.stats.resampling import Floats

METRIC = "mrr"


@dataclass(frozen=True)
class Mean:
    """A mean over queries."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class KindMeasures:
    """The measurements on the queries of one kind."""

    kind: str
    queries: int
    overlap: Mean
    """The share of the words of a query that its document has, after what the query repeats was removed."""
    scores: dict[str, Mean]
    """The mean reciprocal rank of the document by system."""


@dataclass(frozen=True)
class KindDifference:
    """The differences between two kinds of queries."""

    first: str
    second: str
    overlap: Mean
    """The overlap of the first less that of the second."""
    advantages: dict[str, Mean]
    """For each two systems "a - b", how much greater the advantage of a over b is on the first kind."""
    reversed: tuple[str, ...]
    """The pairs of systems "a - b" whose order is the other way round on the second kind."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The pairs of systems whose difference is shown to depend on the kind: the interval excludes 0."""
        return tuple(
            pair
            for pair, mean in self.advantages.items()
            if mean.interval is not None and not mean.interval.low <= 0 <= mean.interval.high
        )


def overlap(query: str, document: Document) -> float:
    """Return the share of the different words of a query that a document has.

    >>> overlap("sweet red wine", Document.plain("d", "A red wine of France."))
    0.6666666666666666
    """
    wanted = set(words(query))
    parts = [document.title, *(part for section in document.sections for part in section)]
    return len(wanted & set(words(" ".join(parts)))) / max(1, len(wanted))


def measure_kinds(
    queries: Sequence[KnownItemQuery], documents: Mapping[str, Document], rankings: Mapping[str, Run]
) -> tuple[list[KindMeasures], list[KindDifference]]:
    """Return the measures of each kind of queries and the differences of each two kinds.

    Args:
        queries: The queries.
        documents: The documents that the queries were made from, as they are searched.
        rankings: The rankings of some systems, by name.
    """
    kinds = [kind for kind in (*RULES, LLM) if any(query.kind == kind for query in queries)]
    shares = np.array([overlap(query.text, documents[query.document]) for query in queries])
    gold = Gold({query.id: {query.document: 1} for query in queries})
    values: dict[str, Floats] = {}
    for name, run in rankings.items():
        per_query = score(gold, run, [METRIC], missing="zero")[METRIC].per_query
        values[name] = np.array([per_query[query.id] for query in queries])
    of_kind = {kind: np.array([query.kind == kind for query in queries]) for kind in kinds}
    measures = [
        KindMeasures(
            kind,
            int(of_kind[kind].sum()),
            _mean(shares[of_kind[kind]]),
            {name: _mean(column[of_kind[kind]]) for name, column in values.items()},
        )
        for kind in kinds
    ]
    differences = [_difference(first, second, of_kind, shares, values) for first, second in combinations(kinds, 2)]
    return measures, differences


def _difference(
    first: str, second: str, of_kind: Mapping[str, np.ndarray], shares: Floats, values: Mapping[str, Floats]
) -> KindDifference:
    advantages, opposite = {}, []
    for a, b in combinations(values, 2):
        gap = values[a] - values[b]
        on_first, on_second = gap[of_kind[first]], gap[of_kind[second]]
        advantages[f"{a} - {b}"] = _welch(on_first, on_second)
        if on_first.mean() * on_second.mean() < 0:
            opposite.append(f"{a} - {b}")
    return KindDifference(
        first, second, _welch(shares[of_kind[first]], shares[of_kind[second]]), advantages, tuple(opposite)
    )


def _mean(values: Floats) -> Mean:
    [interval] = intervals([Sample(values)], resamples=2000)
    if interval is not None and interval.method == "constant" and values[0] in (0, 1):
        # The same for all queries, so that resampling shows no variation.
        interval = wilson(int(values.sum()), len(values))
    return Mean(float(values.mean()), interval)


def _welch(first: Floats, second: Floats) -> Mean:
    """Return the difference of two means with Welch's interval; none for fewer than two queries of a kind."""
    value = float(first.mean() - second.mean())
    if min(len(first), len(second)) < 2:
        return Mean(value, None)
    from scipy.special import stdtrit

    parts = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    error = float(np.sqrt(sum(parts)))
    if error == 0:
        return Mean(value, None)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1))
    half = float(stdtrit(freedom, 0.975)) * error
    return Mean(value, Interval(value - half, value + half, 0.95, "welch"))
