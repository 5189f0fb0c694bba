"""The headline score of one model on one task, with the per-query or per-pair values that it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank import stats
from goldrank.errors import InputError
from goldrank.hits import Hits
from goldrank.metrics import Metric
from goldrank.progress import Progress
from goldrank.runs.evaluate import Outcome
from goldrank.runs.run import Measures, score_outcome
from goldrank.scoring import Bootstrap, Score, Scores
from goldrank.stats.resampling import Floats
from goldrank.store import ResultKind, StoredRun
from goldrank.store.rescoring import count_under
from goldrank.tasks.measurement import MeasurementData, stored_values
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.task import TaskData


@dataclass(frozen=True)
class HeadlineReading:
    """The score of a model by one evaluator, with its interval and the key of the stored run."""

    value: float
    low: float | None
    high: float | None
    key: str


@dataclass(frozen=True, eq=False)
class ScoredPairColumns:
    """The pairs of a similarity task that a model could compare: their group, gold score and similarity."""

    keys: list[tuple[str, str, str]]
    """Set, subset and id of each pair."""
    gold: Floats
    predicted: Floats

    def groups(self) -> dict[tuple[str, str], NDArray[np.intp]]:
        """Return the rows of each set and subset; each is correlated on its own."""
        rows: dict[tuple[str, str], list[int]] = {}
        for row, key in enumerate(self.keys):
            rows.setdefault(key[:2], []).append(row)
        return {group: np.array(members, np.intp) for group, members in rows.items()}

    def weights(self) -> dict[tuple[str, str], float]:
        """Return the weight of each group: subsets are weighted by their pairs, sets equally."""
        sizes = {group: len(rows) for group, rows in self.groups().items()}
        names = {name for name, _ in sizes}
        whole = {name: sum(size for group, size in sizes.items() if group[0] == name) for name in names}
        return {group: size / whole[group[0]] / len(names) for group, size in sizes.items()}


Source = Score | stats.Sample | ScoredPairColumns
"""The per-query scores of a ranking task, the correct answers of a probe, or scored pairs."""


@dataclass(frozen=True, eq=False)
class Headline:
    """The first metric or measured value of one model under one setting."""

    evaluator: str
    reading: HeadlineReading
    lower_is_better: bool
    source: Source
    scores: Scores | None = None
    stored: StoredRun | None = None
    data: RankingData | None = None

    @property
    def units(self) -> str:
        """The unit of resampling."""
        if isinstance(self.source, Score):
            return "queries"
        return "pairs" if isinstance(self.source, ScoredPairColumns) else "examples"

    def hits(self) -> Hits:
        """Return the hits from which the score of a ranking task was computed."""
        assert self.stored is not None
        assert self.scores is not None
        return count_under(self.stored, self.scores.conventions).hits


def headline_of(data: TaskData, outcome: Outcome, measures: Measures) -> Headline:
    """Return the headline of a stored result."""
    return _HEADLINES[data.task.result_kind](data, outcome, measures)


def _measured_headline(data: MeasurementData, outcome: Outcome, measures: Measures) -> Headline:
    (name, score), *_ = stored_values(outcome.stored).items()
    source = stored_source(outcome.stored)
    assert source is not None
    reading = HeadlineReading(score.value, score.low, score.high, outcome.stored.key)
    return Headline(f"{data.task.name} {name}", reading, False, source)


def stored_source(stored: StoredRun) -> Source | None:
    """Return the predictions of a stored measurement; None if they were not stored or cannot be resampled."""
    if stored.predictions_checksum is None:
        return None
    columns = stored.predictions()
    if "predicted" in columns and "subset" in columns:
        return _pairs(columns)
    return stats.Sample(np.asarray(columns["correct"], np.float64)) if "correct" in columns else None


def _ranked_headline(data: RankingData, outcome: Outcome, measures: Measures) -> Headline:
    scoring = measures.scoring(data)
    # Only the first metric is read; resampling the others would be wasted.
    scores = score_outcome(outcome, replace(scoring, metrics=scoring.metrics[:1]))
    (name, score), *_ = scores.items()
    interval = score.interval
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    lower = Metric.parse(name).definition.direction == "lower"
    reading = HeadlineReading(score.value, low, high, outcome.stored.key)
    return Headline(f"{data.task.name} {name}", reading, lower, score, scores, outcome.stored, data)


_HEADLINES: dict[ResultKind, Callable[..., Headline]] = {"ranked": _ranked_headline, "measured": _measured_headline}


def _pairs(columns: Any) -> ScoredPairColumns:
    keys = [(str(a), str(b), str(c)) for a, b, c in zip(*(columns[n] for n in ("set", "subset", "id")), strict=True)]
    gold, predicted = (np.asarray(columns[name], np.float64) for name in ("gold", "predicted"))
    return ScoredPairColumns(keys, gold, predicted)


def resample(headlines: Sequence[Headline], how: Bootstrap) -> Floats:
    """Compute every headline over the same resamples of queries, pairs or examples.

    Args:
        headlines: headlines of one evaluator, for any models and settings.
        how: the number of resamples and the seed.

    Returns:
        An array (resamples, headlines).
    """
    return resample_sources([headline.source for headline in headlines], headlines[0].evaluator, how)


def resample_sources(sources: Sequence[Source], evaluator: str, how: Bootstrap) -> Floats:
    """Compute the headlines of these sources over the same resamples, as (resamples, sources)."""
    pairs = [source for source in sources if isinstance(source, ScoredPairColumns)]
    if pairs:
        return _resampled_correlations(pairs, how)
    scores = [source for source in sources if isinstance(source, Score)]
    if any(score.queries != scores[0].queries for score in scores[1:]):
        raise InputError(
            f"the models have results for different queries of {evaluator}",
            remedy="count queries without results as 0 (a profile with missing=zero)",
        )
    samples = [source.sample if isinstance(source, Score) else source for source in sources]
    return stats.bootstrap_aggregates(
        [sample for sample in samples if isinstance(sample, stats.Sample)], resamples=how.resamples, seed=how.seed
    )


def _resampled_correlations(columns: Sequence[ScoredPairColumns], how: Bootstrap) -> Floats:
    """Compute Spearman's correlation of every column; the pairs of each subset are resampled on their own.

    A pair that a model could not compare is resampled like the others, and left out for that model.
    """
    union = dict.fromkeys(key for column in columns for key in column.keys)
    groups: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for key in union:
        groups.setdefault(key[:2], []).append(key)
    resampled = np.zeros((how.resamples, len(columns)))
    weights = [column.weights() for column in columns]
    places = [{key: row for row, key in enumerate(column.keys)} for column in columns]
    total = len(union) * len(columns)
    with Progress("resampling pairs", total=total, unit="similarity") as progress:
        for group, keys in groups.items():
            for rows, members in _same_rows(keys, places):
                x = np.column_stack([_column(columns[at].predicted, places[at], keys) for at in members])
                y = _column(columns[members[0]].gold, places[members[0]], keys)[:, None]
                part = stats.bootstrap_correlations(
                    x, y, "spearman", resamples=how.resamples, seed=how.seed, rows=rows
                )[:, :, 0]
                for place, at in enumerate(members):
                    # As in the headline, an undefined correlation counts as 0.
                    resampled[:, at] += weights[at].get(group, 0.0) * np.nan_to_num(part[:, place])
                progress.advance(len(keys) * len(members))
    return resampled


def _same_rows(
    keys: Sequence[tuple[str, str, str]], places: Sequence[dict[tuple[str, str, str], int]]
) -> list[tuple[NDArray[np.bool_], list[int]]]:
    """Group columns that have the same of these pairs: a mask of pairs with each group; empty masks are left out."""
    groups: dict[bytes, list[int]] = {}
    for at, place in enumerate(places):
        groups.setdefault(np.array([key in place for key in keys]).tobytes(), []).append(at)
    shared = [(np.frombuffer(packed, np.bool_), members) for packed, members in groups.items()]
    return [(rows, members) for rows, members in shared if rows.any()]


def _column(values: Floats, place: dict[tuple[str, str, str], int], keys: Sequence[tuple[str, str, str]]) -> Floats:
    return np.array([values[place[key]] if key in place else 0.0 for key in keys])
