"""Probe tasks: how well logistic regression on frozen vectors predicts the labels of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goldrank.data.labelled_sets import LABELLED_SETS, refuse_split
from goldrank.data.labelled_texts import LabelledTexts, read_labelled
from goldrank.data.sources import DatasetDescription
from goldrank.encoders.base import Encoder, Fitted
from goldrank.errors import InputError
from goldrank.io.files import PathLike, nearest_path
from goldrank.stats import Sample, bootstrap_means, intervals, mcnemar, randomisation_test
from goldrank.tasks.measurement import MeasuredValue, Measurement, MeasurementTask
from goldrank.tasks.probe_fitting import (
    FOLDS,
    STRENGTHS,
    Codes,
    Features,
    Probe,
    Rows,
    best_penalty,
    check_folds,
    draw_folds,
    fit_paths,
)
from goldrank.tasks.ranking.encoding import transformed_vectors
from goldrank.tasks.settings import Settings

SEEDS = 3
"""How many times cross-validation is repeated with other folds."""
_RESAMPLES = 2000


def measure(encoder: Encoder, data: LabelledTexts, settings: Settings, draws: int = SEEDS) -> Measurement:
    """Measure accuracy and macro-F1 of a classifier on the vectors of *data*.

    Data without splits is evaluated by nested 5-fold cross-validation: inner folds of each training part choose the
    penalty. With train and test, five folds of train choose the penalty, and a model fitted on all of train is tested.
    With dev, dev chooses the penalty. Cross-validation is repeated *draws* times with seeds that follow that of the
    settings, and the results are averaged. Texts are encoded once. Fitting sees nothing of a test part, not even its
    scale or mean.
    """
    nested, chosen_by_dev = not data.has_splits, "dev" in (data.splits or ())
    train = np.arange(len(data)) if nested else data.rows("train")
    if not chosen_by_dev:
        check_folds([data.labels[row] for row in train.tolist()], nested=nested, where=data.source)
    probe, remarks = _encoded(encoder, data, settings, None if nested else train)
    seeds = [settings.seed] if chosen_by_dev else [settings.seed + number for number in range(draws)]
    if nested:
        result = _cross_validate_nested(probe, train, seeds)
    elif chosen_by_dev:
        result = _validate_on_dev(probe, train, data.rows("dev"), data.rows("test"))
    else:
        result = _cross_validate(probe, train, data.rows("test"), seeds)
    if not result.converged:
        remarks = (*remarks, "some fits stopped before they converged")
    rows = result.rows
    right = result.codes == probe.codes[rows]
    values = {
        "accuracy": _accuracy(right, settings.seed),
        "macro_f1": _macro_f1(probe.codes[rows], result.codes, settings.seed),
    }
    predictions = {
        "id": [str(row) for row in rows.tolist()],
        "gold": [data.labels[row] for row in rows.tolist()],
        "predicted": np.array(data.classes, dtype=object)[result.codes[0]].tolist(),
        "correct": right.mean(axis=0).tolist(),
    }
    return Measurement(values, predictions, (*remarks, _penalty_remark(result, len(seeds))))


@dataclass(frozen=True, eq=False)
class _ProbeResult:
    rows: Rows
    """The tested rows."""
    codes: Codes
    """The predicted labels, of shape (seeds, rows)."""
    penalties: Sequence[int]
    """The chosen penalties, as positions in STRENGTHS."""
    converged: bool


def _encoded(
    encoder: Encoder, data: LabelledTexts, settings: Settings, train: Rows | None
) -> tuple[Probe, tuple[str, ...]]:
    texts = [*data.texts, *(data.seconds or ())]
    training = None
    if train is not None:
        training = [column[row] for column in (data.texts, data.seconds) if column for row in train.tolist()]
    encoded = transformed_vectors(encoder, texts, settings, training=training)
    vectors, remarks = encoded.vectors, encoded.remarks
    if training is None and isinstance(encoder, Fitted):
        remarks = (*remarks, "the model learned from all texts, without their labels, as none are set apart")
    first, second = vectors[: len(data)], vectors[len(data) :] if data.seconds else None
    codes = np.searchsorted(np.array(data.classes), np.array(data.labels)).astype(np.int64)
    return Probe(Features.of(first, second), codes), remarks


def _cross_validate_nested(probe: Probe, rows: Rows, seeds: Sequence[int]) -> _ProbeResult:
    outer = [(seed, fold) for seed in seeds for fold in draw_folds(probe.codes, rows, seed)]
    jobs = [job for seed, fold in outer for job in (fold, *draw_folds(probe.codes, fold[0], seed))]
    paths = fit_paths(probe, jobs)
    codes, penalties = np.empty((len(seeds), len(rows)), np.int64), []
    for number in range(len(outer)):
        tested, *inner = paths[number * (FOLDS + 1) : (number + 1) * (FOLDS + 1)]
        penalties.append(best_penalty([path.accuracies for path in inner]))
        codes[number // FOLDS, tested.rows] = tested.codes[penalties[-1]]
    return _ProbeResult(rows, codes, penalties, all(path.converged for path in paths))


def _cross_validate(probe: Probe, train: Rows, test: Rows, seeds: Sequence[int]) -> _ProbeResult:
    jobs = [(train, test), *(fold for seed in seeds for fold in draw_folds(probe.codes, train, seed))]
    tested, *inner = paths = fit_paths(probe, jobs)
    penalties = [
        best_penalty([path.accuracies for path in inner[number * FOLDS : (number + 1) * FOLDS]])
        for number in range(len(seeds))
    ]
    return _ProbeResult(test, tested.codes[penalties], penalties, all(path.converged for path in paths))


def _validate_on_dev(probe: Probe, train: Rows, dev: Rows, test: Rows) -> _ProbeResult:
    # One fit predicts both parts, because it is the same model.
    [path] = fit_paths(probe, [(train, np.concatenate([dev, test]))])
    penalty = best_penalty([(path.codes[:, : len(dev)] == probe.codes[dev]).mean(axis=1)])
    return _ProbeResult(test, path.codes[[penalty], len(dev) :], [penalty], path.converged)


def _penalty_remark(result: _ProbeResult, seeds: int) -> str:
    """Return the chosen penalties, which show whether the grid is wide enough."""
    times = Counter(STRENGTHS[number] for number in sorted(result.penalties))
    chosen = [f"{strength:g}" + (f" ({count}×)" if count > 1 else "") for strength, count in times.items()]
    return f"penalty chosen: {', '.join(chosen)}" + (f"; mean of {seeds} draws of the folds" if seeds > 1 else "")


def _accuracy(right: NDArray[np.bool_], seed: int) -> MeasuredValue:
    shares = right.mean(axis=0)
    # Wilson's interval if all repetitions agree on every example, else a bootstrap over the examples.
    [interval] = intervals([Sample(shares, proportion=True)], seed=seed)
    value, count = float(right.mean()), right.shape[1]
    if interval is None:
        return MeasuredValue(value, count)
    return MeasuredValue(value, count, interval.low, interval.high, interval.method)


def _macro_f1(gold: Codes, predicted: Codes, seed: int) -> MeasuredValue:
    """Return the mean of 2·both / (gold + predicted) over classes and repetitions, resampled by examples."""
    classes = np.union1d(gold, predicted).tolist()
    both = [((gold == code) & (row == code)) * 2.0 for row in predicted for code in classes]
    either = [(gold == code) * 1.0 + (row == code) for row in predicted for code in classes]
    sums = np.column_stack([*both, *either])
    value = float(np.mean(sums.mean(axis=0)[: len(both)] / sums.mean(axis=0)[len(both) :]))
    if len(gold) < 2:
        return MeasuredValue(value, len(gold))
    means = bootstrap_means(sums, resamples=_RESAMPLES, seed=seed)
    above, below = means[:, : len(both)], means[:, len(both) :]
    # The mean of a resample leaves out classes that are not in it.
    shares = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    low, high = np.quantile(np.nanmean(shares, axis=1), (0.025, 0.975)).tolist()
    return MeasuredValue(value, len(gold), low, high, "percentile")


def compare(first: Measurement, second: Measurement) -> float:
    """Return the p-value of the difference in accuracy, paired over the examples.

    This is McNemar's exact test if each example is right or wrong. If repetitions of cross-validation disagree on some
    examples, it is a randomisation test of the shares of repetitions that are right.
    """
    if any(list(first.predictions[column]) != list(second.predictions[column]) for column in ("id", "gold")):
        raise InputError("the two results are not of the same examples", remedy="measure both on the same data")
    shares = [np.asarray(result.predictions["correct"], dtype=np.float64) for result in (first, second)]
    if all(np.isin(values, (0, 1)).all() for values in shares):
        return mcnemar(*shares).p
    return randomisation_test(shares[0] - shares[1]).p


def _task(
    name: str,
    read: Callable[[str | None], LabelledTexts],
    read_at: Callable[[Path, str | None], LabelledTexts] | None,
    summary: str,
    about: DatasetDescription | None = None,
) -> MeasurementTask:
    uses = ("transform", "fit_on", "seed")
    return MeasurementTask(name, "probe", read, measure, compare, read_at, summary, about=about, settings_used=uses)


PROBE_TASKS: tuple[MeasurementTask, ...] = tuple(
    _task(f"probe-{name}", known.read, known.read_at, known.summary, known.description)
    for name, known in LABELLED_SETS.items()
)


def probe_of(path: PathLike) -> MeasurementTask:
    """Return the task of probing with a labelled file, or with a folder that has one file per split."""
    place = Path(path).expanduser()
    if not place.exists():
        raise InputError("there is no such file or folder", where=str(path), remedy=nearest_path(path))

    def read(split: str | None) -> LabelledTexts:
        refuse_split(split)
        return read_labelled(place)

    name = place.resolve().name.partition(".")[0]
    return _task(f"probe:{name}", read, None, "labelled texts")
