"""The public sample of masked Wikipedia pages: what it holds, and what the built-in predictors reach on it."""

import pytest

from goldrank.masked_runs import Order, predict_run, scores_of
from goldrank.report.masked_results import scored_levels
from goldrank.scoring import Bootstrap
from goldrank.store import Store
from goldrank.tasks.masked.checking import check_chunks
from goldrank.tasks.masked.levels import Rules
from goldrank.tasks.masked.predictors import load_predictor
from goldrank.tasks.masked.reading import read_chunks

pytestmark = pytest.mark.conformance

# Accuracy per mask and per page, as the guide says it.
MEASURED = {
    ("names:random", "masked"): (0.002, 0.002),
    ("names:majority", "masked"): (0.034, 0.037),
    ("retrieve:wordllama", "masked"): (0.182, 0.160),
    ("retrieve:tfidf(tokens=words)", "masked"): (0.223, 0.207),
    ("names:random", "revealed"): (0.002, 0.002),
    ("names:majority", "revealed"): (0.034, 0.037),
    ("retrieve:wordllama", "revealed"): (0.517, 0.345),
    ("retrieve:tfidf(tokens=words)", "revealed"): (0.667, 0.485),
}


@pytest.fixture(scope="module")
def chunks(shared_data):
    return list(read_chunks(shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl"))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store.open(tmp_path_factory.mktemp("store"))


def test_the_sample_holds_what_was_counted_before(chunks):
    report = check_chunks(chunks)
    assert (report.pages, report.chunks, report.masks) == (374, 374, 698)
    assert report.count("adjacent masks") == 91
    assert report.count("surnames inside words") == 98
    assert report.count("mask counts") == 0


@pytest.mark.parametrize(("spec", "context"), MEASURED)
def test_every_mask_is_predicted_and_scored_at_three_levels(chunks, store, spec, context):
    stored, fresh = predict_run(Order("sample", chunks, spec, load_predictor(spec), context=context), store)
    assert fresh
    scores = scores_of(stored)
    assert (scores.counts.masks, scores.counts.examples, scores.counts.pages) == (698, 374, 374)
    made = scored_levels(scores, spec, Bootstrap(resamples=1000))
    for level, expected in zip(("mask", "page"), MEASURED[spec, context], strict=True):
        accuracy = made[level].scores["hits@1"]
        assert accuracy.mean == pytest.approx(expected, abs=0.002)
        assert accuracy.interval.low <= accuracy.mean <= accuracy.interval.high


def test_pooling_by_the_gold_never_scores_below_pooling_alike(chunks, store):
    stored, _ = predict_run(Order("sample", chunks, "names:majority", load_predictor("names:majority"), k=20), store)
    alike, gold = (scores_of(stored, Rules(pool=pool)).levels["example"].right.mean() for pool in ("alias", "gold"))
    assert alike <= gold
