"""Similarity tasks: correlate the similarities of a model with human scores of the same pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from goldrank.data.scored_pairs import PairSets, ScoredPairs, built_in_pairs, read_scored_pairs
from goldrank.data.similarity_sets import (
    ALL_SENTENCES,
    ALL_WORDS,
    BUILT_IN,
    SENTENCE_SETS,
    WORD_SETS,
    PairSet,
    read_all,
)
from goldrank.data.sources import DatasetDescription
from goldrank.encoders.base import Encoder
from goldrank.errors import counts
from goldrank.stats import compare_correlations, correlation, correlation_interval, williams
from goldrank.tasks.measurement import MeasuredValue, Measurement, MeasurementTask
from goldrank.tasks.ranking.encoding import transformed_vectors
from goldrank.tasks.settings import Settings
from goldrank.vectors.similarity import rowwise

KINDS = ("spearman", "pearson", "kendall")
"""The correlations that are measured, the headline first."""
_RESAMPLES = 1000
# No difference is certain, even where a float cannot hold how uncertain it is.
_SMALLEST_P = 1e-300
_BECOME = {
    "keep": "compared by the vector that the model gives such texts",
    "mean": "which are given the mean vector",
    "skip": "left out",
}
# What the settings call l2 is a distance; people's scores are higher for what is more alike.
_MEASURES = {"l2": "euclidean_similarity"}


@runtime_checkable
class Covering(Protocol):
    """An encoder that knows which texts it has a vector for."""

    def covers(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each text has a word that is known."""


def measure(
    encoder: Encoder,
    data: ScoredPairs | PairSets,
    settings: Settings,
    *,
    interval: str = "fisher",
) -> Measurement:
    """Correlate the similarities of a model with people's.

    The headline is Spearman's correlation. Where a set has subsets it is the mean of theirs, weighted by size, and
    beside it stand the plain mean (``spearman_unweighted``) and the correlation over all pairs at once
    (``spearman_pooled``); over several sets it is the plain mean of theirs. Limits of a mean are combined from those of
    its parts as if these were independent samples [1]_. A correlation that is undefined, because no two
    similarities differ, counts as 0.

    ``coverage`` is the share of pairs of which both texts have a known word. Unless ``oov`` says otherwise, pairs of
    words are left out where one is unknown, and sentences have the vector that the model gives them.

    Args:
        encoder: the model.
        data: the pairs.
        settings: similarity, transform, what that is fitted on, and what becomes of texts without a known word.
        interval: ``fisher``, or ``bootstrap``, which takes far longer for Kendall.

    References:
        .. [1] G. Y. Zou, "Toward using confidence intervals to compare correlations", Psychological Methods 12 (2007).
    """
    if isinstance(data, PairSets):
        return _over_sets([measure_set(encoder, one, settings, interval) for one in data.sets], data)
    return measure_set(encoder, data, settings, interval)


def measure_set(encoder: Encoder, data: ScoredPairs, settings: Settings, interval: str) -> Measurement:
    """The measurement of one set."""
    scored = _scored(encoder, data, settings)
    remarks, gold, predicted = list(scored.remarks), data.scores[scored.rows], scored.predicted
    subsets = [data.subset[row] for row in scored.rows] if data.subset else []
    parts = {name: np.array([subset == name for subset in subsets]) for name in dict.fromkeys(subsets)}
    whole = {kind: _correlated(kind, gold, predicted, interval) for kind in KINDS}
    values = dict(whole)
    undefined = [data.name] if _undefined(whole["spearman"]) else []
    if parts:
        each = {
            name: {kind: _correlated(kind, gold[rows], predicted[rows], interval) for kind in KINDS}
            for name, rows in parts.items()
        }
        sizes = [float(rows.sum()) for rows in parts.values()]
        values = {kind: _mean([one[kind] for one in each.values()], sizes, "subset") for kind in KINDS}
        for kind in KINDS:
            values[f"{kind}_unweighted"] = _mean([one[kind] for one in each.values()], [1.0] * len(each), "subset")
            values[f"{kind}_pooled"] = whole[kind]
        values |= {f"{kind}:{name}": one[kind] for name, one in each.items() for kind in KINDS}
        undefined = [name for name, one in each.items() if _undefined(one["spearman"])]
    if undefined:
        remarks.append(f"no two similarities differ in {', '.join(undefined)}: the correlation counts as 0")
    if scored.coverage is not None:
        values["coverage"] = scored.coverage
    columns: dict[str, Sequence[Any]] = {
        "id": [data.ids[row] for row in scored.rows],
        "set": [data.name] * len(gold),
        "subset": subsets or [""] * len(gold),
        "gold": gold.tolist(),
        "predicted": predicted.tolist(),
    }
    return Measurement(values, columns, tuple(remarks))


@dataclass(frozen=True, eq=False)
class _Scored:
    """The similarities of the pairs that a model can compare."""

    rows: list[int]
    predicted: NDArray[np.float64]
    coverage: MeasuredValue | None
    remarks: tuple[str, ...]


def _scored(encoder: Encoder, data: ScoredPairs, settings: Settings) -> _Scored:
    texts, pairs = [*data.first, *data.second], len(data)
    if data.level == "word":
        texts = [text.lower() for text in texts]
    made = transformed_vectors(encoder, texts, settings, training=data.training or None)
    vectors, remarks, policy = made.vectors, made.remarks, settings.oov or data.oov
    told = isinstance(encoder, Covering)
    known = encoder.covers(texts) if isinstance(encoder, Covering) else np.ones(len(texts), np.bool_)
    covered = known[:pairs] & known[pairs:]
    rows = np.arange(pairs)
    if policy == "mean" and not known.all():
        # Each text once, however many pairs it is in.
        place = {text: row for row, text in enumerate(texts) if known[row]}
        vectors[np.flatnonzero(~known)] = made.mean(list(place.values()))
    elif policy == "skip":
        rows = rows[covered]
    if not covered.all():
        told_of = _BECOME[policy]
        what = "a word out of vocabulary" if data.level == "word" else "a text of unknown words only"
        remarks = (*remarks, f"{counts(int((~covered).sum()), 'pair')} of {pairs} with {what}, {told_of}")
    predicted = _similarities(vectors[rows], vectors[rows + pairs], settings.similarity)
    coverage = MeasuredValue(float(covered.mean()), pairs) if told else None
    return _Scored(rows.tolist(), predicted, coverage, remarks)


def _similarities(first: Any, second: Any, name: str) -> NDArray[np.float64]:
    values = rowwise(first.astype(np.float64), second.astype(np.float64), _MEASURES.get(name, name))
    if name == "cosine":
        # The rounding of a vector's product with itself must not put pairs of equal texts into an order.
        differ = first != second
        same = ~differ.any(axis=1) if isinstance(differ, np.ndarray) else differ.getnnz(axis=1) == 0
        values[same & (values > 0)] = 1.0
    return np.asarray(values, np.float64)


def _correlated(kind: str, gold: NDArray[np.float64], predicted: NDArray[np.float64], interval: str) -> MeasuredValue:
    value = correlation(gold, predicted, kind)
    if math.isnan(value):
        return MeasuredValue(0.0, len(gold), method="undefined")
    limits = correlation_interval(gold, predicted, kind, method=interval, resamples=_RESAMPLES)
    return MeasuredValue(value, len(gold), limits.low, limits.high, limits.method)


def _undefined(value: MeasuredValue) -> bool:
    return value.low is None


def _mean(scores: Sequence[MeasuredValue], weights: Sequence[float], part: str) -> MeasuredValue:
    """The weighted mean; its limits lie as far away as the root of the summed squares of the parts' distances."""
    shares = np.array(weights) / sum(weights)
    values = np.array([score.value for score in scores])
    low = np.array([-1.0 if score.low is None else score.low for score in scores])
    high = np.array([1.0 if score.high is None else score.high for score in scores])
    mean = float(shares @ values)
    below, above = (math.sqrt(float((shares**2) @ (values - limit) ** 2)) for limit in (low, high))
    methods = " and ".join(sorted({score.method.partition(",")[0] for score in scores}))
    method = f"{methods}, combined over {counts(len(scores), part)}"
    return MeasuredValue(mean, sum(score.count for score in scores), mean - below, mean + above, method)


def _over_sets(each: Sequence[Measurement], data: PairSets) -> Measurement:
    names = [one.name for one in data.sets]
    values = {kind: _mean([one.scores[kind] for one in each], [1.0] * len(each), "set") for kind in KINDS}
    for name, one in zip(names, each, strict=True):
        values |= {f"{kind}:{name}": one.scores[kind] for kind in KINDS}
    if all("coverage" in one.scores for one in each):
        known = sum(one.scores["coverage"].value * one.scores["coverage"].count for one in each)
        values["coverage"] = MeasuredValue(known / len(data), len(data))
    columns = {column: [cell for one in each for cell in one.predictions[column]] for column in each[0].predictions}
    remarks = [
        remark if len(names) == 1 else f"{name}: {remark}"
        for name, one in zip(names, each, strict=True)
        for remark in one.remarks
    ]
    return Measurement(values, columns, tuple(remarks))


def compare(one: Measurement, other: Measurement) -> float:
    """The p-value of the difference between two models' headlines, two-sided, over the pairs that both compared.

    Williams' test of two correlations with the same gold. Where the headline is a mean, its parts are tested one by
    one and the results combined by Stouffer's method with the weights that they have in the mean.
    """
    found = [_by_pair(measured.predictions) for measured in (one, other)]
    both = [pair for pair in found[0] if pair in found[1]]
    groups: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for pair in both:
        gold, predicted = found[0][pair]
        groups.setdefault(pair[:2], []).append((gold, predicted, found[1][pair][1]))
    sizes: dict[str, int] = {}
    for (name, _), rows in groups.items():
        sizes[name] = sizes.get(name, 0) + len(rows)
    tested = [(len(rows) / sizes[name], *_tested(np.array(rows).T)) for (name, _), rows in groups.items()]
    if not tested:
        return 1.0
    if len(tested) == 1:
        return tested[0][2]
    normal = NormalDist()
    scores = [math.copysign(-normal.inv_cdf(p / 2), difference) for _, difference, p in tested]
    weights = [weight for weight, _, _ in tested]
    combined = sum(w * z for w, z in zip(weights, scores, strict=True)) / math.sqrt(sum(w * w for w in weights))
    return min(max(2 * normal.cdf(-abs(combined)), _SMALLEST_P), 1.0)


def _by_pair(columns: Mapping[str, Sequence[Any]]) -> dict[tuple[str, str, str], tuple[float, float]]:
    rows: Iterable[tuple[Any, ...]] = zip(
        *(columns[name] for name in ("set", "subset", "id", "gold", "predicted")), strict=True
    )
    return {(str(a), str(b), str(c)): (float(gold), float(predicted)) for a, b, c, gold, predicted in rows}


def _tested(rows: NDArray[np.float64]) -> tuple[float, float]:
    """By how much the first model's correlation is higher, and the p-value of that."""
    gold, first, second = rows
    pairs = ((gold, first), (gold, second), (first, second))
    of_first, of_second, between = (np.nan_to_num(np.array(correlation(*pair, KINDS[0]))) for pair in pairs)
    p = float(williams(of_first, of_second, between, len(gold)))
    if math.isnan(p) and len(gold) > 3:
        # Two models that order in exactly opposite ways leave Williams' formula without an answer.
        p = compare_correlations(gold, first, second, KINDS[0], method="bootstrap", resamples=_RESAMPLES)
    return float(of_first - of_second), 1.0 if math.isnan(p) else max(p, _SMALLEST_P)


def _of(one: PairSet) -> MeasurementTask:
    return _task(one.name, one.read, one.read_at, one.summary, one.about)


def _over(name: str, sets: Sequence[PairSet], summary: str, about: DatasetDescription) -> MeasurementTask:
    def read(split: str | None) -> PairSets:
        return read_all(name, sets, None, split)

    def read_at(path: Path, split: str | None) -> PairSets:
        return read_all(name, sets, path, split)

    return _task(name, read, read_at, summary, about)


def _task(
    name: str,
    read: Callable[[str | None], ScoredPairs | PairSets],
    read_at: Callable[[Path, str | None], ScoredPairs | PairSets],
    summary: str,
    about: DatasetDescription,
) -> MeasurementTask:
    uses = ("similarity", "transform", "fit_on", "oov")
    return MeasurementTask(
        name, "similarity", read, measure, compare, read_at, summary, about=about, settings_used=uses
    )


SIMILARITY_TASKS: tuple[MeasurementTask, ...] = (
    _task(
        "sentence-pairs",
        built_in_pairs,
        read_scored_pairs,
        "150 pairs of sentences, scored from 0 to 5; or any file of scored pairs, by path",
        BUILT_IN,
    ),
    *map(_of, SENTENCE_SETS),
    _over("sts", SENTENCE_SETS, "mean over sts12 to sts16, sts-b, sick-r and str", ALL_SENTENCES),
    *map(_of, WORD_SETS),
    _over("word-similarity", WORD_SETS, "mean over 13 sets of word pairs", ALL_WORDS),
)
"""All similarity tasks, in the order in which they are listed."""
