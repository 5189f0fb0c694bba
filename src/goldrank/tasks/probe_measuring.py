"""Measure how well logistic regression on frozen vectors predicts the labels of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldrank.data.labelled_texts import LabelledTexts
from goldrank.encoders.base import Encoder, Fitted
from goldrank.errors import InputError
from goldrank.stats import Sample, bootstrap_means, intervals, mcnemar, randomisation_test
from goldrank.tasks.measurement import MeasuredValue, Measurement
from goldrank.tasks.probe_fitting import (
    FOLDS,
    STRENGTHS,
    Codes,
    Features,
    Probe,
    Rows,
    Said,
    best_penalty,
    check_folds,
    folds_of,
    side_by_side,
)
from goldrank.tasks.ranking.encoding import transformed_vectors
from goldrank.tasks.settings import Settings

SEEDS = 3
"""How often the folds are drawn, where there are folds to draw."""
_RESAMPLES = 2000


def measure(encoder: Encoder, data: LabelledTexts, settings: Settings, draws: int = SEEDS) -> Measurement:
    """Accuracy and macro-F1 of a classifier on the vectors of *data*.

    Without splits: nested 5-fold cross-validation, in which inner folds of each training part choose the penalty.
    With train and test: five folds of train choose it, then a model of all of train is tested. With dev as well, dev
    chooses it. Folds are drawn several times, from the seed on, and results averaged over that. A model's vectors are
    made once; nothing of a test part, scale and mean included, is seen in fitting.
    """
    nested, chosen_by_dev = not data.has_splits, "dev" in (data.splits or ())
    train = np.arange(len(data)) if nested else data.rows("train")
    if not chosen_by_dev:
        check_folds([data.labels[row] for row in train.tolist()], nested=nested, where=data.source)
    probe, remarks = _encoded(encoder, data, settings, None if nested else train)
    seeds = [settings.seed] if chosen_by_dev else [settings.seed + number for number in range(draws)]
    if nested:
        answers = _nested(probe, train, seeds)
    elif chosen_by_dev:
        answers = _by_dev(probe, train, data.rows("dev"), data.rows("test"))
    else:
        answers = _by_folds(probe, train, data.rows("test"), seeds)
    if not answers.converged:
        remarks = (*remarks, "some fits stopped before they converged")
    rows, classes = answers.rows, data.classes
    said = np.array(classes, dtype=object)[answers.codes[0]]
    right = answers.codes == probe.codes[rows]
    values = {
        "accuracy": _accuracy(right, settings.seed),
        "macro_f1": _macro_f1(probe.codes[rows], answers.codes, settings.seed),
    }
    predictions = {
        "id": [str(row) for row in rows.tolist()],
        "gold": [data.labels[row] for row in rows.tolist()],
        "predicted": said.tolist(),
        "correct": right.mean(axis=0).tolist(),
    }
    return Measurement(values, predictions, (*remarks, _how(answers, len(seeds))))


@dataclass(frozen=True, eq=False)
class _Answers:
    rows: Rows
    codes: Codes
    """(seeds, rows)"""
    chosen: Sequence[int]
    converged: bool


def _encoded(
    encoder: Encoder, data: LabelledTexts, settings: Settings, train: Rows | None
) -> tuple[Probe, tuple[str, ...]]:
    texts = [*data.texts, *(data.seconds or ())]
    training = None
    if train is not None:
        training = [column[row] for column in (data.texts, data.seconds) if column for row in train.tolist()]
    made = transformed_vectors(encoder, texts, settings, training=training)
    vectors, remarks = made.vectors, made.remarks
    if training is None and isinstance(encoder, Fitted):
        remarks = (*remarks, "the model learned from all texts, without their labels, as none are set apart")
    first, second = vectors[: len(data)], vectors[len(data) :] if data.seconds else None
    codes = np.searchsorted(np.array(data.classes), np.array(data.labels)).astype(np.int64)
    return Probe(Features.of(first, second), codes), remarks


def _nested(probe: Probe, rows: Rows, seeds: Sequence[int]) -> _Answers:
    outer = [(seed, fold) for seed in seeds for fold in folds_of(probe.codes, rows, seed)]
    jobs = [job for seed, fold in outer for job in (fold, *folds_of(probe.codes, fold[0], seed))]
    made = side_by_side(probe, jobs)
    codes, chosen = np.empty((len(seeds), len(rows)), np.int64), []
    for number in range(len(outer)):
        tested, *inner = made[number * (FOLDS + 1) : (number + 1) * (FOLDS + 1)]
        chosen.append(best_penalty([said.accuracies for said in inner]))
        codes[number // FOLDS, tested.rows] = tested.codes[chosen[-1]]
    return _Answers(rows, codes, chosen, _converged(made))


def _by_folds(probe: Probe, train: Rows, test: Rows, seeds: Sequence[int]) -> _Answers:
    jobs = [(train, test), *(fold for seed in seeds for fold in folds_of(probe.codes, train, seed))]
    tested, *inner = made = side_by_side(probe, jobs)
    chosen = [
        best_penalty([said.accuracies for said in inner[number * FOLDS : (number + 1) * FOLDS]])
        for number in range(len(seeds))
    ]
    return _Answers(test, tested.codes[chosen], chosen, _converged(made))


def _by_dev(probe: Probe, train: Rows, dev: Rows, test: Rows) -> _Answers:
    # One model is asked for both parts: it is the same model.
    [said] = side_by_side(probe, [(train, np.concatenate([dev, test]))])
    chosen = best_penalty([(said.codes[:, : len(dev)] == probe.codes[dev]).mean(axis=1)])
    return _Answers(test, said.codes[[chosen], len(dev) :], [chosen], said.converged)


def _converged(made: Sequence[Said]) -> bool:
    return all(said.converged for said in made)


def _how(answers: _Answers, seeds: int) -> str:
    """What was chosen, for who wants to see whether the grid was wide enough."""
    times = Counter(STRENGTHS[number] for number in sorted(answers.chosen))
    found = [f"{strength:g}" + (f" ({count}×)" if count > 1 else "") for strength, count in times.items()]
    return f"penalty chosen: {', '.join(found)}" + (f"; mean of {seeds} draws of the folds" if seeds > 1 else "")


def _accuracy(right: NDArray[np.bool_], seed: int) -> MeasuredValue:
    shares = right.mean(axis=0)
    # Wilson's interval where every draw says the same of an example, else a bootstrap over the examples.
    [interval] = intervals([Sample(shares, proportion=True)], seed=seed)
    value, count = float(right.mean()), right.shape[1]
    if interval is None:
        return MeasuredValue(value, count)
    return MeasuredValue(value, count, interval.low, interval.high, interval.method)


def _macro_f1(gold: Codes, said: Codes, seed: int) -> MeasuredValue:
    """The mean over the classes of 2·both / (gold + predicted), and over the draws; resampled by examples."""
    found = [
        code for code in range(int(max(gold.max(), said.max())) + 1) if (gold == code).any() or (said == code).any()
    ]
    both = [((gold == code) & (row == code)) * 2.0 for row in said for code in found]
    either = [(gold == code) * 1.0 + (row == code) for row in said for code in found]
    sums = np.column_stack([*both, *either])
    value = float(np.mean(sums.mean(axis=0)[: len(both)] / sums.mean(axis=0)[len(both) :]))
    if len(gold) < 2:
        return MeasuredValue(value, len(gold))
    drawn = bootstrap_means(sums, resamples=_RESAMPLES, seed=seed)
    above, below = drawn[:, : len(both)], drawn[:, len(both) :]
    # A class of which a resample holds nothing is left out of its mean.
    shares = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    low, high = np.quantile(np.nanmean(shares, axis=1), (0.025, 0.975)).tolist()
    return MeasuredValue(value, len(gold), low, high, "percentile")


def compare(one: Measurement, other: Measurement) -> float:
    """The p-value of the difference in accuracy, paired over the examples.

    McNemar's exact test where each example is right or wrong; where draws of the folds disagree on some, a
    randomisation test of the shares of draws that are right.
    """
    if list(one.predictions["id"]) != list(other.predictions["id"]) or list(one.predictions["gold"]) != list(
        other.predictions["gold"]
    ):
        raise InputError("the two results are not of the same examples", remedy="measure both on the same data")
    shares = [np.asarray(made.predictions["correct"], dtype=np.float64) for made in (one, other)]
    if all(np.isin(values, (0, 1)).all() for values in shares):
        return mcnemar(*shares).p
    return randomisation_test(shares[0] - shares[1]).p
