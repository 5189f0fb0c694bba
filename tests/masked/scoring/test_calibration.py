"""Test the calibration of predictions: the agreement of confidence and accuracy."""

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.hits import Hits
from goldrank.masked.scoring.calibration import calibration
from goldrank.masked.scoring.levels import Level


def level(confidence, right, pages=None):
    rows = len(confidence)
    pages = np.arange(rows) if pages is None else np.asarray(pages)
    counts = np.bincount(pages)
    zeros = np.zeros(rows, np.int64)
    hits = Hits(
        queries=[str(page) for page in range(len(counts))],
        starts=np.concatenate(([0], np.cumsum(counts))),
        items=[str(row) for row in range(rows)],
        grade=np.ones(rows),
        above=zeros, tied=zeros, tied_docid=zeros, tied_input=zeros,
        depth=np.ones(len(counts), np.int64),
    )  # fmt: skip
    return Level("mask", hits, np.asarray(right, bool), np.zeros(rows), np.asarray(confidence, float), zeros)


def test_the_error_is_the_mean_gap_between_confidence_and_accuracy():
    result = calibration(level([0.9, 0.9, 0.3, 0.3], [1, 0, 0, 0]), bins=2)
    assert [(bucket.count, bucket.confidence, bucket.accuracy) for bucket in result.bins] == [
        (2, pytest.approx(0.3), 0.0),
        (2, pytest.approx(0.9), 0.5),
    ]
    assert result.ece == pytest.approx((2 * 0.3 + 2 * 0.4) / 4)


def test_a_bin_holds_its_lower_edge_and_the_last_one_both():
    result = calibration(level([0.0, 0.5, 1.0], [0, 1, 1]), bins=2)
    assert [bucket.count for bucket in result.bins] == [1, 2]
    assert [(bucket.low, bucket.high) for bucket in result.bins] == [(0.0, 0.5), (0.5, 1.0)]


def test_an_empty_bin_has_no_mean():
    result = calibration(level([0.9, 0.95], [1, 1]), bins=2)
    assert result.bins[0].count == 0
    assert np.isnan([result.bins[0].confidence, result.bins[0].accuracy]).all()


def test_rows_without_an_answer_and_scores_that_are_no_probabilities_are_left_out_and_counted():
    result = calibration(level([np.nan, 12.5, -0.4, 0.5], [0, 1, 1, 1]))
    assert (result.answers, result.unanswered, result.outside) == (1, 1, 2)
    assert result.ece == 0.5


def test_rounding_above_one_is_no_reason_to_leave_an_answer_out():
    result = calibration(level([1 + 1e-9], [1]))
    assert (result.answers, result.ece) == (1, 0.0)


def test_without_any_answer_there_is_no_error():
    result = calibration(level([np.nan, np.nan], [0, 0]))
    assert np.isnan(result.ece)
    assert result.interval is None


def test_the_interval_resamples_pages_and_not_rows():
    rng = np.random.default_rng(1)
    confidence = np.repeat(rng.uniform(size=100), 50)
    right = np.repeat(rng.uniform(size=100) < 0.5, 50)
    clustered = calibration(level(confidence, right, np.repeat(np.arange(100), 50))).interval
    alone = calibration(level(confidence, right)).interval
    assert clustered.high - clustered.low > 3 * (alone.high - alone.low)


def test_the_interval_is_that_of_resamples_drawn_one_by_one():
    rng = np.random.default_rng(2)
    pages = np.repeat(np.arange(60), 3)
    confidence = rng.uniform(size=180)
    right = rng.uniform(size=180) < 0.4
    result = calibration(level(confidence, right, pages), bins=5, resamples=4000).interval
    errors = []
    for _ in range(2000):
        rows = (rng.integers(60, size=60)[:, None] * 3 + np.arange(3)).ravel()
        gaps = np.bincount((confidence[rows] * 5).astype(int), right[rows] - confidence[rows], minlength=5)
        errors.append(np.abs(gaps).sum() / 180)
    assert (result.low, result.high) == pytest.approx(np.quantile(errors, (0.025, 0.975)), abs=0.015)


def test_no_bins_are_refused():
    with pytest.raises(InputError, match="bins=0 is not"):
        calibration(level([0.5], [1]), bins=0)


def test_an_interval_level_that_is_no_share_is_refused():
    with pytest.raises(InputError, match="not between 0 and 1"):
        calibration(level([0.5, 0.5], [1, 0]), confidence_level=95)
