"""Similarity tasks: correlate the similarities of a model with human scores of the same pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

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
# A p-value is never 0, even if a float cannot represent it.
_SMALLEST_P = 1e-300
_OOV_REMARKS = {
    "keep": "compared by the vector that the model gives such texts",
    "mean": "which are given the mean vector",
    "skip": "left out",
}
# The l2 of the settings is a distance, and human scores are similarities.
_MEASURES = {"l2": "euclidean_similarity"}


def measure(
    encoder: Encoder,
    data: ScoredPairs | PairSets,
    settings: Settings,
    *,
    interval: str = "fisher",
) -> Measurement:
    """Correlate the similarities of a model with human scores.

    The headline is Spearman's correlation. For a set with subsets it is the mean over the subsets, weighted by size;
    the unweighted mean (``spearman_unweighted``) and the correlation over all pairs at once (``spearman_pooled``) are
    given as well. For several sets it is the unweighted mean over the sets. The interval of a mean is combined from
    those of its parts as if these were independent samples [1]_. A correlation that is undefined, because no two
    similarities differ, counts as 0.

    ``coverage`` is the share of pairs in which both texts have a known word. Unless ``oov`` says otherwise, pairs of
    words are left out if one is unknown, and sentences have the vector that the model gives them.

    Args:
        encoder: the model.
        data: the pairs.
        settings: similarity, transform, what the transform is fitted on, and how texts without a known word are
            treated.
        interval: ``fisher``, or ``bootstrap``, which is much slower for Kendall.

    References:
        .. [1] G. Y. Zou, "Toward using confidence intervals to compare correlations", Psychological Methods 12 (2007).
    """
    if isinstance(data, PairSets):
        return _over_sets([_measure_set(encoder, pairs, settings, interval) for pairs in data.sets], data)
    return _measure_set(encoder, data, settings, interval)


def _measure_set(encoder: Encoder, data: ScoredPairs, settings: Settings, interval: str) -> Measurement:
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
        values = {kind: _mean([part[kind] for part in each.values()], sizes, "subset") for kind in KINDS}
        for kind in KINDS:
            values[f"{kind}_unweighted"] = _mean([part[kind] for part in each.values()], [1.0] * len(each), "subset")
            values[f"{kind}_pooled"] = whole[kind]
        values |= {f"{kind}:{name}": part[kind] for name, part in each.items() for kind in KINDS}
        undefined = [name for name, part in each.items() if _undefined(part["spearman"])]
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
    encoded = transformed_vectors(encoder, texts, settings, training=data.training or None)
    vectors, remarks, policy = encoded.vectors, encoded.remarks, settings.oov or data.oov
    covers = getattr(encoder, "covers", None)
    known = np.ones(len(texts), np.bool_) if covers is None else covers(texts)
    covered = known[:pairs] & known[pairs:]
    rows = np.arange(pairs)
    if policy == "mean" and not known.all():
        # Each text counts once, even if it is in several pairs.
        row_of = {text: row for row, text in enumerate(texts) if known[row]}
        vectors[np.flatnonzero(~known)] = encoded.mean(list(row_of.values()))
    elif policy == "skip":
        rows = rows[covered]
    if not covered.all():
        what = "a word out of vocabulary" if data.level == "word" else "a text of unknown words only"
        remarks = (*remarks, f"{counts(int((~covered).sum()), 'pair')} of {pairs} with {what}, {_OOV_REMARKS[policy]}")
    predicted = _similarities(vectors[rows], vectors[rows + pairs], settings.similarity)
    coverage = None if covers is None else MeasuredValue(float(covered.mean()), pairs)
    return _Scored(rows.tolist(), predicted, coverage, remarks)


def _similarities(first: Any, second: Any, name: str) -> NDArray[np.float64]:
    values = rowwise(first.astype(np.float64), second.astype(np.float64), _MEASURES.get(name, name))
    if name == "cosine":
        # Pairs of equal texts must be tied, although the product of a vector with itself is rounded.
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
    """Return the weighted mean; the distance of each limit is the root of the sum of the parts' squared distances."""
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
    names = [pairs.name for pairs in data.sets]
    values = {kind: _mean([part.scores[kind] for part in each], [1.0] * len(each), "set") for kind in KINDS}
    for name, part in zip(names, each, strict=True):
        values |= {f"{kind}:{name}": part.scores[kind] for kind in KINDS}
    if all("coverage" in part.scores for part in each):
        known = sum(part.scores["coverage"].value * part.scores["coverage"].count for part in each)
        values["coverage"] = MeasuredValue(known / len(data), len(data))
    columns = {column: [cell for part in each for cell in part.predictions[column]] for column in each[0].predictions}
    remarks = [
        remark if len(names) == 1 else f"{name}: {remark}"
        for name, part in zip(names, each, strict=True)
        for remark in part.remarks
    ]
    return Measurement(values, columns, tuple(remarks))


def compare(first: Measurement, second: Measurement) -> float:
    """Return the two-sided p-value of the difference between two headlines, over the pairs that both models compared.

    This is Williams' test of two correlations with the same gold. If the headline is a mean, its parts are tested one
    by one and the results are combined by Stouffer's method with the weights of the mean.
    """
    of_first, of_second = _by_pair(first.predictions), _by_pair(second.predictions)
    groups: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for pair, (gold, predicted) in of_first.items():
        if pair in of_second:
            groups.setdefault(pair[:2], []).append((gold, predicted, of_second[pair][1]))
    sizes: dict[str, int] = {}
    for (name, _), rows in groups.items():
        sizes[name] = sizes.get(name, 0) + len(rows)
    tested = [(len(rows) / sizes[name], *_williams_test(np.array(rows).T)) for (name, _), rows in groups.items()]
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


def _williams_test(rows: NDArray[np.float64]) -> tuple[float, float]:
    """Return by how much the correlation of the first model is higher, and the p-value of the difference."""
    gold, first, second = rows
    pairs = ((gold, first), (gold, second), (first, second))
    of_first, of_second, between = (np.nan_to_num(np.array(correlation(*pair, KINDS[0]))) for pair in pairs)
    p = float(williams(of_first, of_second, between, len(gold)))
    if math.isnan(p) and len(gold) > 3:
        # Williams' formula is undefined for two models with exactly opposite orders.
        p = compare_correlations(gold, first, second, KINDS[0], method="bootstrap", resamples=_RESAMPLES)
    return float(of_first - of_second), 1.0 if math.isnan(p) else max(p, _SMALLEST_P)


def _of(pairs: PairSet) -> MeasurementTask:
    return _task(pairs.name, pairs.read, pairs.read_at, pairs.summary, pairs.about)


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
