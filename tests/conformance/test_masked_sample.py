"""The public sample of masked Wikipedia pages: its contents, and the scores of the built-in predictors."""

import pytest

from goldrank.masked.examples.checks import check_chunks
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.predictors import load_predictor
from goldrank.masked.scoring.level_scores import score_levels
from goldrank.masked.scoring.levels import Rules
from goldrank.runs.masked import PredictionJob, predict_run, score_stored_run
from goldrank.scoring import Bootstrap
from goldrank.store import Store

pytestmark = pytest.mark.conformance

# Accuracy per mask and per page in the readings source and strict, as in the guide.
MEASURED = {
    ("names:random", "masked"): ((0.0067, 0.0100), (0.0023, 0.0022)),
    ("names:majority", "masked"): ((0.0344, 0.0374), (0.0344, 0.0374)),
    ("retrieve:wordllama", "masked"): ((0.1948, 0.1872), (0.1819, 0.1604)),
    ("retrieve:tfidf(tokens=words)", "masked"): ((0.2271, 0.2206), (0.2228, 0.2072)),
    ("retrieve:wordllama", "revealed"): ((0.5330, 0.3797), (0.5172, 0.3449)),
    ("retrieve:tfidf(tokens=words)", "revealed"): ((0.6741, 0.5013), (0.6669, 0.4853)),
}


@pytest.fixture(scope="module")
def chunks(shared_data):
    return list(read_chunks(shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl"))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store.open(tmp_path_factory.mktemp("store"))


def test_the_sample_holds_what_was_counted_before(chunks):
    report = check_chunks(chunks)
    counts = {finding.name: finding.count for finding in report.findings}
    assert (report.pages, report.chunks, report.masks) == (374, 374, 698)
    assert counts.get("adjacent masks", 0) == 91
    assert counts.get("surnames inside words", 0) == 98
    assert counts.get("mask counts", 0) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "context"), MEASURED)
def test_every_mask_is_predicted_and_scored_at_three_levels(chunks, store, spec, context):
    outcome = predict_run(PredictionJob("sample", chunks, spec, load_predictor(spec), context=context), store)
    stored, fresh = outcome.stored, outcome.fresh
    assert fresh
    scores = score_stored_run(stored)
    assert (scores.counts.masks, scores.counts.examples, scores.counts.pages) == (698, 374, 374)
    for reading, measured in zip(scores.readings, MEASURED[spec, context], strict=True):
        results = score_levels(reading, spec, Bootstrap(resamples=1000))
        for level, expected in zip(("mask", "page"), measured, strict=True):
            accuracy = results[level].scores["hits@1"]
            # Vectors differ in their last bits between processors, which may reorder a few guesses.
            assert accuracy.value == pytest.approx(expected, abs=0.002)
            assert accuracy.interval.low <= accuracy.value <= accuracy.interval.high


def test_pooling_by_the_gold_never_scores_below_pooling_alike(chunks, store):
    stored = predict_run(
        PredictionJob("sample", chunks, "names:majority", load_predictor("names:majority"), k=20), store
    ).stored
    alike, gold = (
        score_stored_run(stored, Rules(matcher="names", pool=pool)).levels["example"].right.mean()
        for pool in ("alias", "gold")
    )
    assert alike <= gold
