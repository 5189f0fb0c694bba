"""Break the scores of one model down by bands of gold scores, with their paired changes between settings.

The gold scores are the same under every setting, so that no change is an artefact of the choice of pairs.

For scored pairs each band has three quantities:

- ``spearman``: the correlation within the band. Because the range of gold scores is restricted, it is lower than over
  all pairs for any model; only its changes between settings, within one band, are meaningful.
- ``similarity rank``: the mean percentile of the band's similarities among all pairs, 0 being the least similar. It
  shows in which direction a setting moves the band, not whether that is right.
- ``lost``: the band's share of 1 − Spearman. With z the standardised ranks, Spearman's correlation is
  1 − Σ(z_gold − z_predicted)² / 2n, and each band has its part of the sum. The bands add up to 1 − Spearman, and their
  changes to the negated change of Spearman: a setting helps the bands that lose less.

For retrieval tasks the bands are grades, and the quantity is the metric itself with only the items of that grade
relevant. EvalRank's pairs have no grades; their scores are looked up in the similarity data of the pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank import stats
from goldrank.analysis.headline import Headline, ScoredPairColumns
from goldrank.comparing import compare_hits
from goldrank.errors import InputError
from goldrank.hits import Hits
from goldrank.runs.run import Measures
from goldrank.scoring import Bootstrap, Score
from goldrank.stats.correlation import mean_ranks
from goldrank.stats.resampling import Floats
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.ranking.data import RankingData

_MOST_GRADES = 10
"""More different grades than this are cut into bands, as scores are."""
_FEWEST = 3
"""The correlation of a subset with fewer pairs in a band is left out."""


@dataclass(frozen=True)
class BandReading:
    """One quantity of one model in one band of gold scores, under one setting."""

    evaluator: str
    model: str
    band: str
    count: int
    """The pairs in the band; for graded judgments the queries with an item in it."""
    variant: str
    quantity: str
    value: float
    low: float | None
    high: float | None
    change: float | None
    """The paired difference from the first setting; None for that setting itself."""
    change_low: float | None
    change_high: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON; numbers that are not finite become None."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class Bands:
    """The bands of gold scores: their edges, or their number, where each has about equally many pairs."""

    edges: tuple[float, ...] | None
    number: int | None

    @classmethod
    def of(cls, given: int | Sequence[float]) -> Bands:
        """Check and return a number of bands, or the edges of bands."""
        if isinstance(given, int):
            if not 2 <= given <= 20:
                raise InputError(
                    f"{given} is not a usable number of bands", remedy="give a number from 2 to 20, or edges"
                )
            return cls(None, given)
        edges = tuple(map(float, given))
        if len(edges) < 3 or not all(map(math.isfinite, edges)) or any(np.diff(edges) <= 0):
            written = ", ".join(f"{edge:g}" for edge in edges)
            raise InputError(
                f"{written} are not edges of bands",
                remedy="give three or more numbers in ascending order, as in 0,1,2,3,4,5",
            )
        return cls(edges, None)

    def cut(self, scores: Floats) -> dict[str, NDArray[np.bool_]]:
        """Return the mask of scores in each band, the lowest first; empty bands are left out.

        >>> bands = Bands.of([0, 1, 5]).cut(np.array([0.0, 1.0, 5.0]))
        >>> {name: rows.tolist() for name, rows in bands.items()}
        {'[0, 1)': [True, False, False], '[1, 5]': [False, True, True]}
        """
        if self.edges is not None:
            if scores.min() < self.edges[0] or scores.max() > self.edges[-1]:
                raise InputError(
                    f"gold scores go from {scores.min():g} to {scores.max():g}, beyond the edges "
                    f"{self.edges[0]:g} and {self.edges[-1]:g} of the bands",
                    remedy="choose a first and a last edge that enclose all scores",
                )
            edges = np.array(self.edges)
        else:
            assert self.number is not None
            # Equal scores stay in one band, so that there can be fewer bands, of different sizes.
            edges = np.unique(np.quantile(scores, np.linspace(0, 1, self.number + 1), method="higher"))
        if len(edges) < 3:
            return {}
        place = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, len(edges) - 2)
        last = len(edges) - 2
        names = [
            f"[{low:.4g}, {high:.4g}{']' if at == last else ')'}"
            for at, (low, high) in enumerate(pairwise(edges.tolist()))
        ]
        bands = {name: place == at for at, name in enumerate(names)}
        return {name: rows for name, rows in bands.items() if rows.any()}


@dataclass(frozen=True, eq=False)
class PairScores:
    """Scores of pairs of texts; the order within a pair does not matter."""

    name: str
    scores: dict[tuple[str, str], float]

    @classmethod
    def of(cls, task: str) -> PairScores:
        """Read all splits of a similarity task."""
        source = find_task(task)
        if source.kind != "similarity":
            raise InputError(f"{source.name} has no scored pairs", remedy="name a similarity task, such as sts-b")
        scores: dict[tuple[str, str], float] = {}
        for split in (None, "dev", "train"):
            try:
                pairs = source.read(split)
            except InputError:
                if split is None:
                    raise
                continue  # the task has no such split
            for part in getattr(pairs, "sets", (pairs,)):
                for first, second, score in zip(part.first, part.second, part.scores.tolist(), strict=True):
                    scores.setdefault((first.strip(), second.strip()), score)
        return cls(source.name, scores)

    def of_hits(self, hits: Hits, data: RankingData) -> Floats:
        """Return the score of every judged item with its query; NaN for pairs without a score."""
        documents = data.collection.items, data.collection.queries
        texts = {document.id: document.text.strip() for part in documents for document in part}
        pairs = [
            (texts.get(query, ""), texts.get(item, "")) for query, item in zip(hits.query, hits.items, strict=True)
        ]
        scores = [self.scores.get(pair, self.scores.get(pair[::-1], math.nan)) for pair in pairs]
        if np.isnan(scores).all():
            raise InputError(
                f"no pair of {data.task.name} has a score in {self.name}",
                remedy="name the similarity task that its pairs were taken from",
            )
        return np.array(scores)

    def note(self, headline: Headline) -> str:
        """Report how many pairs of an EvalRank task have a score."""
        assert headline.data is not None
        scores = self.of_hits(headline.hits(), headline.data)
        scored = int((~np.isnan(scores)).sum())
        return (
            f"{scored} of {len(scores)} pairs of {headline.data.task.name} have a score in {self.name}; the others are "
            "in no band."
        )


def band_readings(
    model: str,
    variants: Sequence[str],
    headlines: Sequence[Sequence[Headline]],
    bands: Bands,
    measures: Measures,
    scores: PairScores | None = None,
) -> list[BandReading]:
    """Break down the headlines of one model; tasks whose gold scores are all equal have no bands.

    Args:
        model: the name of the model.
        variants: the names of the settings.
        headlines: the headlines by setting and task.
        bands: how gold scores are cut.
        measures: bootstrap and level.
        scores: the scores by which the pairs of EvalRank tasks are cut.
    """
    readings: list[BandReading] = []
    for at in range(len(headlines[0])):
        column = [row[at] for row in headlines]
        if isinstance(column[0].source, ScoredPairColumns):
            readings += _of_pairs(model, variants, column, bands, measures.bootstrap)
        elif isinstance(column[0].source, Score):
            readings += _of_grades(model, variants, column, bands, measures, scores)
    return readings


def _of_pairs(
    model: str, variants: Sequence[str], headlines: Sequence[Headline], bands: Bands, how: Bootstrap
) -> list[BandReading]:
    columns = [headline.source for headline in headlines if isinstance(headline.source, ScoredPairColumns)]
    first = columns[0]
    groups, weights = first.groups(), first.weights()
    if bands.edges is not None and len({name for name, _ in groups}) > 1:
        raise InputError(
            f"{headlines[0].evaluator} is over several sets, whose scores have different scales",
            remedy="give a number of bands, which are then cut in each set, or give one set",
        )
    rank, lost = (np.empty((len(columns), len(first.gold))) for _ in range(2))
    for group, rows in groups.items():
        right = _standardised(first.gold[rows])
        for at, column in enumerate(columns):
            predicted = column.predicted[rows]
            rank[at, rows] = 100 * (mean_ranks(predicted) - 0.5) / len(rows)
            # If all scores or all similarities tie, the correlation counts as 0, and every pair loses equally.
            tied = np.ptp(predicted) == 0 or np.ptp(first.gold[rows]) == 0
            error = np.full(len(rows), 2.0) if tied else (right - _standardised(predicted)) ** 2
            lost[at, rows] = weights[group] * error / (2 * len(rows))
    readings = []
    for name, members in _cut_sets(first, bands).items():
        quantities = {
            "spearman": _within(columns, groups, members, how),
            "similarity rank": _means(rank[:, members], how),
            # A sum over the band, as the mean over all pairs times their number.
            "lost": _means(np.where(members, lost, 0.0) * lost.shape[1], how),
        }
        for quantity, estimates in quantities.items():
            for variant, estimate in zip(variants, estimates, strict=True):
                count = int(members.sum())
                readings.append(estimate.reading(headlines[0].evaluator, model, name, count, variant, quantity))
    return readings


def _cut_sets(pairs: ScoredPairColumns, bands: Bands) -> dict[str, NDArray[np.bool_]]:
    """Return the mask of pairs in each band; several sets, whose scales differ, are cut one by one."""
    sets = np.array([key[0] for key in pairs.keys])
    names = dict.fromkeys(sets.tolist())
    if len(names) == 1:
        return bands.cut(pairs.gold)
    cut: dict[str, NDArray[np.bool_]] = {}
    for name in names:
        rows = np.flatnonzero(sets == name)
        for at, inside in enumerate(bands.cut(pairs.gold[rows]).values(), 1):
            members = cut.setdefault(f"band {at} of each set", np.zeros(len(sets), np.bool_))
            members[rows[inside]] = True
    return cut


@dataclass(frozen=True)
class _Estimate:
    """A value under one setting, and its paired change from the first setting."""

    value: float
    interval: stats.Interval | None = None
    change: float | None = None
    change_interval: stats.Interval | None = None

    def reading(self, evaluator: str, model: str, band: str, count: int, variant: str, quantity: str) -> BandReading:
        own, moved = self.interval, self.change_interval
        low, high = (None, None) if own is None else (own.low, own.high)
        change_low, change_high = (None, None) if moved is None else (moved.low, moved.high)
        return BandReading(
            evaluator, model, band, count, variant, quantity,
            self.value, low, high, self.change, change_low, change_high,
        )  # fmt: skip


def _means(values: Floats, how: Bootstrap) -> list[_Estimate]:
    """Estimate the mean of every row, and its change from the first row; the ranks are not computed again."""
    changes = values[1:] - values[0]
    intervals = how.intervals([stats.Sample(row) for row in (*values, *changes)])
    own, moved = intervals[: len(values)], intervals[len(values) :]
    first, *others = values.mean(axis=1).tolist()
    estimates = [_Estimate(first, own[0])]
    for mean, interval, change_interval in zip(others, own[1:], moved, strict=True):
        estimates.append(_Estimate(mean, interval, mean - first, change_interval))
    return estimates


def _within(
    columns: Sequence[ScoredPairColumns],
    groups: dict[tuple[str, str], NDArray[np.intp]],
    members: NDArray[np.bool_],
    how: Bootstrap,
) -> list[_Estimate]:
    """Estimate Spearman's correlation within a band: the mean over the subsets, weighted by their pairs."""
    total = np.zeros((how.resamples, len(columns)))
    observed, weight = np.zeros(len(columns)), 0
    for rows in groups.values():
        inside = rows[members[rows]]
        gold = columns[0].gold[inside]
        if len(inside) < _FEWEST or np.ptp(gold) == 0:
            continue
        x = np.column_stack([column.predicted[inside] for column in columns])
        resampled = stats.bootstrap_correlations(x, gold[:, None], "spearman", resamples=how.resamples, seed=how.seed)
        # As in the headline, an undefined correlation counts as 0.
        total += len(inside) * np.nan_to_num(resampled[:, :, 0])
        observed += len(inside) * np.array([np.nan_to_num(stats.correlation(gold, predicted)) for predicted in x.T])
        weight += len(inside)
    if not weight:
        return [_Estimate(math.nan)] * len(columns)
    total, observed = total / weight, observed / weight
    estimates = []
    for at, value in enumerate(observed.tolist()):
        interval = stats.resampled_interval(value, total[:, at], None, how.level, "percentile")
        if at == 0:
            estimates.append(_Estimate(value, interval))
            continue
        change = float(value - observed[0])
        moved = stats.resampled_interval(change, total[:, at] - total[:, 0], None, how.level, "percentile")
        estimates.append(_Estimate(value, interval, change, moved))
    return estimates


def _of_grades(
    model: str,
    variants: Sequence[str],
    headlines: Sequence[Headline],
    bands: Bands,
    measures: Measures,
    pair_scores: PairScores | None,
) -> list[BandReading]:
    hits = [headline.hits() for headline in headlines]
    scores, data = headlines[0].scores, headlines[0].data
    assert scores is not None
    assert data is not None
    metric = str(scores.metrics[0])
    looked_up = pair_scores is not None and data.task.kind == "evalrank"
    grades = pair_scores.of_hits(hits[0], data) if pair_scores is not None and looked_up else hits[0].grade
    relevant = ~np.isnan(grades) & (hits[0].grade > 0)
    distinct = np.unique(grades[relevant])
    if len(distinct) < 2:
        return []
    if looked_up or len(distinct) > _MOST_GRADES:
        rows_by_band = {name: np.flatnonzero(relevant)[rows] for name, rows in bands.cut(grades[relevant]).items()}
    else:
        rows_by_band = {f"grade {grade:g}": np.flatnonzero(grades == grade) for grade in distinct}
    conventions = scores.conventions.as_dict()
    readings = []
    for name, rows in rows_by_band.items():
        keep = np.zeros(len(grades), np.bool_)
        keep[rows] = True
        restricted = [of_variant.restrict_gold(keep) for of_variant in hits]
        count = len(restricted[0].queries)
        for variant, of_variant in zip(variants, restricted, strict=True):
            # The first setting alone, and every other one compared with it.
            runs = {variants[0]: restricted[0], variant: of_variant}
            compared = compare_hits(runs, [metric], profile=scores.profile, bootstrap=measures.bootstrap, **conventions)
            score = compared.scores[variant][metric]
            changes = [(pair.difference, pair.interval) for pair in compared.pairs]
            estimate = _Estimate(score.value, score.interval, *(changes[0] if changes else ()))
            readings.append(estimate.reading(headlines[0].evaluator, model, name, count, variant, metric))
    return readings


def _standardised(values: Floats) -> Floats:
    """Return ranks with mean 0 and variance 1, or 0 if all values tie."""
    ranks = mean_ranks(values)
    standardised: Floats = (ranks - ranks.mean()) / (float(ranks.std()) or 1.0)
    return standardised
