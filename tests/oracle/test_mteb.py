"""Abstention metrics compared with mteb."""

import numpy as np
import pytest

import goldrank as gr

pytestmark = [pytest.mark.oracle, pytest.mark.heavy]


@pytest.mark.parametrize("seed", range(3))
def test_nauc_equals_mteb_under_its_own_names(seed):
    metrics = pytest.importorskip("mteb._evaluators.retrieval_metrics", reason="mteb is not installed")
    rng = np.random.default_rng(seed)
    queries, items = [f"q{i}" for i in range(47)], [f"d{i}" for i in range(60)]
    gold = {
        query: {str(item): int(grade) for item, grade in zip(rng.choice(items, 5, False), [1, 2, 1, 3, 1], strict=True)}
        for query in queries
    }
    run = {
        query: {str(item): float(np.float32(rng.random())) for item in rng.choice(items, rng.integers(1, 40), False)}
        for query in queries
    }
    theirs = metrics.calculate_retrieval_scores(run, gold, [1, 3, 10, 100])
    names = {
        name.replace("@", "_at_").replace("_P_", "_precision_").lower(): value
        for name, value in {**theirs.naucs, **theirs.naucs_mrr}.items()
    }
    assert len(names) == 60
    ours = gr.score(gold, run, list(names), profile="trec_eval9")
    for name, value in names.items():
        assert ours[name].value == pytest.approx(value, abs=1e-9), name
