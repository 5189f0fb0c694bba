"""Which pairs does a setting help? The readings of one model broken down by gold score, and their paired changes.

Bands are drawn on the gold, which no setting moves, so that no change is an artefact of the choice of pairs.

Of scored pairs three quantities are given for each band:

- ``spearman``: the correlation within the band. Its range of gold is restricted, so that it is lower than over all
  pairs for any model; only its change from setting to setting, in the same band, can be read.
- ``similarity rank``: the mean percentile of the band's similarities among all pairs, 0 being the least similar. It
  says where a setting moves the band, up or down, not whether that is right.
- ``lost``: what the pairs of the band take from a correlation of 1. With z the standardised ranks, Spearman's
  correlation is 1 − Σ(z_gold − z_predicted)² / 2n, and a band has its part of the sum. The bands add up to
  1 − Spearman, and their changes to the change of Spearman with the opposite sign: a band that loses less is one that
  the setting helps.

Of retrieval tasks the bands are grades, and the quantity is the metric itself with only the items of that grade
relevant. EvalRank's pairs have no grades; their scores are looked up in the similarity data that they were taken from.
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
from goldrank.stats.resampling import Floats
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.measurement import MeasurementTask
from goldrank.tasks.ranking.data import RankingData

_MOST_GRADES = 10
"""More different grades than this are cut into bands as scores are."""
_FEWEST = 3
"""Pairs of a subset in a band, below which their correlation is left out."""


@dataclass(frozen=True)
class BandReading:
    """One quantity of one model in one band of gold scores, under one setting."""

    evaluator: str
    model: str
    band: str
    count: int
    """Pairs in the band; of graded judgments the queries with an item in it."""
    variant: str
    quantity: str
    value: float
    low: float | None
    high: float | None
    change: float | None
    """From the first setting, paired; None for that one itself."""
    change_low: float | None
    change_high: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        shown = asdict(self)
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in shown.items()
        }


@dataclass(frozen=True)
class Bands:
    """How gold scores are cut: at edges, or into so many bands of about equally many pairs."""

    edges: tuple[float, ...] | None
    number: int | None

    @classmethod
    def of(cls, given: int | Sequence[float]) -> Bands:
        """Check a number of bands, or edges."""
        if isinstance(given, int):
            if not 2 <= given <= 20:
                raise InputError(f"{given} bands of gold scores", remedy="give a number from 2 to 20, or edges")
            return cls(None, given)
        edges = tuple(map(float, given))
        if len(edges) < 3 or not all(map(math.isfinite, edges)) or any(np.diff(edges) <= 0):
            written = ", ".join(f"{edge:g}" for edge in edges)
            raise InputError(
                f"the edges of the bands are {written}",
                remedy="give three or more in ascending order, as in 0,1,2,3,4,5",
            )
        return cls(edges, None)

    def cut(self, scores: Floats) -> dict[str, NDArray[np.bool_]]:
        """Return which scores lie in each band, the lowest first; bands without any are left out.

        >>> bands = Bands.of([0, 1, 5]).cut(np.array([0.0, 1.0, 5.0]))
        >>> {name: rows.tolist() for name, rows in bands.items()}
        {'[0, 1)': [True, False, False], '[1, 5]': [False, True, True]}
        """
        if self.edges is not None:
            if scores.min() < self.edges[0] or scores.max() > self.edges[-1]:
                raise InputError(
                    f"gold scores go from {scores.min():g} to {scores.max():g}, beyond the edges "
                    f"{self.edges[0]:g} and {self.edges[-1]:g} of the bands",
                    remedy="let the first and the last edge enclose all scores",
                )
            edges = np.array(self.edges)
        else:
            assert self.number is not None
            # Scores that many pairs share lie on one side of an edge, so that bands can be fewer and not of one size.
            edges = np.unique(np.quantile(scores, np.linspace(0, 1, self.number + 1), method="higher"))
        if len(edges) < 3:
            return {}
        place = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, len(edges) - 2)
        last = len(edges) - 2
        names = [
            f"[{low:.4g}, {high:.4g}{']' if at == last else ')'}"
            for at, (low, high) in enumerate(pairwise(edges.tolist()))
        ]
        found = {name: place == at for at, name in enumerate(names)}
        return {name: rows for name, rows in found.items() if rows.any()}


@dataclass(frozen=True, eq=False)
class PairScores:
    """Scores of pairs of texts, in whatever direction."""

    name: str
    scores: dict[tuple[str, str], float]

    @classmethod
    def of(cls, task: str) -> PairScores:
        """Read all splits of a similarity task."""
        found = find_task(task)
        if not isinstance(found, MeasurementTask) or found.kind != "similarity":
            raise InputError(f"{found.name} has no scored pairs", remedy="name a task of similarity, such as sts-b")
        scores: dict[tuple[str, str], float] = {}
        for split in (None, "dev", "train"):
            try:
                pairs = found.read(split)
            except InputError:
                if split is None:
                    raise
                continue  # a task without such a split
            for one in getattr(pairs, "sets", (pairs,)):
                for first, second, score in zip(one.first, one.second, one.scores.tolist(), strict=True):
                    scores.setdefault((first.strip(), second.strip()), score)
        return cls(found.name, scores)

    def of_hits(self, hits: Hits, data: RankingData) -> Floats:
        """Return the score of every judged item with its query; NaN where there is none."""
        documents = data.collection.items, data.collection.queries
        texts = {document.id: document.text.strip() for part in documents for document in part}
        pairs = [
            (texts.get(query, ""), texts.get(item, "")) for query, item in zip(hits.query, hits.items, strict=True)
        ]
        found = [self.scores.get(pair, self.scores.get(pair[::-1], math.nan)) for pair in pairs]
        if np.isnan(found).all():
            raise InputError(
                f"no pair of {data.task.name} has a score in {self.name}",
                remedy="name the similarity task that its pairs were taken from",
            )
        return np.array(found)

    def note(self, headline: Headline) -> str:
        """Say how many pairs of an EvalRank task have a score."""
        assert headline.data is not None
        found = self.of_hits(headline.hits(), headline.data)
        task = headline.data.task.name
        return (
            f"{int((~np.isnan(found)).sum())} of {len(found)} pairs of {task} have a score in {self.name}; the others "
            "are in no band."
        )


def band_readings(
    model: str,
    variants: Sequence[str],
    headlines: Sequence[Sequence[Headline]],
    bands: Bands,
    measures: Measures,
    scores: PairScores | None = None,
) -> list[BandReading]:
    """Break down the headlines of one model, by setting and task; tasks whose gold has one score give nothing.

    Args:
        model: its name.
        variants: the names of the settings.
        headlines: by setting and task.
        bands: how gold is cut.
        measures: bootstrap and level.
        scores: what the pairs of EvalRank tasks are cut by.
    """
    made: list[BandReading] = []
    for at in range(len(headlines[0])):
        column = [row[at] for row in headlines]
        if isinstance(column[0].source, ScoredPairColumns):
            made += _of_pairs(model, variants, column, bands, measures.bootstrap)
        elif isinstance(column[0].source, Score):
            made += _of_grades(model, variants, column, bands, measures, scores)
    return made


def _of_pairs(
    model: str, variants: Sequence[str], headlines: Sequence[Headline], bands: Bands, how: Bootstrap
) -> list[BandReading]:
    columns = [one.source for one in headlines if isinstance(one.source, ScoredPairColumns)]
    first = columns[0]
    groups, weights = first.groups(), first.weights()
    if bands.edges is not None and len({name for name, _ in groups}) > 1:
        raise InputError(
            f"{headlines[0].evaluator} is over several sets, whose scores have different scales",
            remedy="give a number of bands, which are then drawn in each set, or one set",
        )
    rank, lost = (np.empty((len(columns), len(first.gold))) for _ in range(2))
    for group, rows in groups.items():
        right = _standardised(first.gold[rows])
        for at, column in enumerate(columns):
            predicted = column.predicted[rows]
            rank[at, rows] = 100 * (_ranks(predicted) - 0.5) / len(rows)
            # Where all scores or all similarities tie, the correlation counts as 0 and every pair loses as much.
            tied = np.ptp(predicted) == 0 or np.ptp(first.gold[rows]) == 0
            error = np.full(len(rows), 2.0) if tied else (right - _standardised(predicted)) ** 2
            lost[at, rows] = weights[group] * error / (2 * len(rows))
    made = []
    for name, members in _cut_sets(first, bands).items():
        quantities = {
            "spearman": _within(columns, groups, members, how),
            "similarity rank": _means(rank[:, members], how),
            # A sum over the band, as the mean over all pairs times their number.
            "lost": _means(np.where(members, lost, 0.0) * lost.shape[1], how),
        }
        for quantity, found in quantities.items():
            for variant, values in zip(variants, found, strict=True):
                count = int(members.sum())
                made.append(BandReading(headlines[0].evaluator, model, name, count, variant, quantity, *values))
    return made


def _cut_sets(pairs: ScoredPairColumns, bands: Bands) -> dict[str, NDArray[np.bool_]]:
    """The pairs of each band; over several sets, whose scales differ, the bands are those of the same place in each."""
    sets = np.array([key[0] for key in pairs.keys])
    names = dict.fromkeys(sets.tolist())
    if len(names) == 1:
        return bands.cut(pairs.gold)
    made: dict[str, NDArray[np.bool_]] = {}
    for name in names:
        rows = np.flatnonzero(sets == name)
        for at, inside in enumerate(bands.cut(pairs.gold[rows]).values(), 1):
            members = made.setdefault(f"band {at} of each set", np.zeros(len(sets), np.bool_))
            members[rows[inside]] = True
    return made


Values = tuple[float, float | None, float | None, float | None, float | None, float | None]


def _means(values: Floats, how: Bootstrap) -> list[Values]:
    """The mean of every row with its interval, and its paired change from the first row; the ranks taken as given."""
    samples = [stats.Sample(row) for row in values] + [stats.Sample(row - values[0]) for row in values[1:]]
    found = how.intervals(samples)
    ends = [_ends(one) for one in found]
    means = values.mean(axis=1)
    made: list[Values] = []
    for at, mean in enumerate(means.tolist()):
        change = None if at == 0 else float(mean - means[0])
        made.append((mean, *ends[at], change, *(ends[len(values) + at - 1] if at else (None, None))))
    return made


def _within(
    columns: Sequence[ScoredPairColumns],
    groups: dict[tuple[str, str], NDArray[np.intp]],
    members: NDArray[np.bool_],
    how: Bootstrap,
) -> list[Values]:
    """Spearman's correlation within a band, over subsets their mean weighted by pairs, and its changes; percentiles."""
    total = np.zeros((how.resamples, len(columns)))
    observed, weight = np.zeros(len(columns)), 0
    for rows in groups.values():
        inside = rows[members[rows]]
        gold = columns[0].gold[inside]
        if len(inside) < _FEWEST or np.ptp(gold) == 0:
            continue
        x = np.column_stack([column.predicted[inside] for column in columns])
        drawn = stats.bootstrap_correlations(x, gold[:, None], "spearman", resamples=how.resamples, seed=how.seed)
        # As in the headline, an undefined correlation counts as 0.
        total += len(inside) * np.nan_to_num(drawn[:, :, 0])
        observed += len(inside) * np.array([np.nan_to_num(stats.spearman(gold, one)) for one in x.T])
        weight += len(inside)
    if not weight:
        return [(math.nan, None, None, None, None, None)] * len(columns)
    total, observed = total / weight, observed / weight
    made: list[Values] = []
    for at, value in enumerate(observed.tolist()):
        around = stats.resampled_interval(value, total[:, at], None, how.level, "percentile")
        if at == 0:
            made.append((value, around.low, around.high, None, None, None))
            continue
        change = float(value - observed[0])
        moved = stats.resampled_interval(change, total[:, at] - total[:, 0], None, how.level, "percentile")
        made.append((value, around.low, around.high, change, moved.low, moved.high))
    return made


def _of_grades(
    model: str,
    variants: Sequence[str],
    headlines: Sequence[Headline],
    bands: Bands,
    measures: Measures,
    pair_scores: PairScores | None,
) -> list[BandReading]:
    hits = [one.hits() for one in headlines]
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
        places = {name: np.flatnonzero(relevant)[rows] for name, rows in bands.cut(grades[relevant]).items()}
    else:
        places = {f"grade {grade:g}": np.flatnonzero(grades == grade) for grade in distinct}
    conventions = scores.conventions.as_dict()
    made = []
    for name, rows in places.items():
        keep = np.zeros(len(grades), np.bool_)
        keep[rows] = True
        inside = [_only(one, keep) for one in hits]
        count = len(inside[0].queries)
        for at, (variant, one) in enumerate(zip(variants, inside, strict=True)):
            runs = {variants[0]: inside[0], variant: one} if at else {variant: one}
            compared = compare_hits(runs, [metric], profile=scores.profile, bootstrap=measures.bootstrap, **conventions)
            score = compared.scores[variant][metric]
            around = score.interval
            change, moved = (compared.pairs[0].difference, compared.pairs[0].interval) if at else (None, None)
            made.append(
                BandReading(
                    headlines[0].evaluator, model, name, count, variant, metric,
                    score.value, *_ends(around), change, *_ends(moved),
                )
            )  # fmt: skip
    return made


def _only(hits: Hits, keep: NDArray[np.bool_]) -> Hits:
    """The hits with these items as the only gold, and the queries that have any of them."""
    rows = hits.keep_rows(keep)
    return rows.keep_queries(np.diff(rows.starts) > 0)


def _ends(interval: stats.Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), np.float64)


def _standardised(values: Floats) -> Floats:
    """Ranks with mean 0 and variance 1, or 0 where all values tie."""
    ranks = _ranks(values)
    standardised: Floats = (ranks - ranks.mean()) / (float(ranks.std()) or 1.0)
    return standardised
