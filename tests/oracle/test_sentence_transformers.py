"""Profile sentence-transformers compared with InformationRetrievalEvaluator on the same rankings."""

import random

import pytest

import goldrank as gr

pytestmark = [pytest.mark.oracle, pytest.mark.heavy]


def test_equal_to_the_information_retrieval_evaluator():
    evaluation = pytest.importorskip(
        "sentence_transformers.evaluation", reason="sentence-transformers is not installed"
    )
    rng = random.Random(11)
    items = [f"d{i}" for i in range(40)]
    gold, run = {}, {}
    for query in [f"q{i}" for i in range(25)]:
        gold[query] = dict.fromkeys(rng.sample(items, rng.randint(1, 12)), 1)
        ranking = rng.sample(items, 30)
        run[query] = {item: 1.0 - place / 100 for place, item in enumerate(ranking)}
    cutoffs = [1, 3, 5, 10]
    evaluator = evaluation.InformationRetrievalEvaluator(
        queries=dict.fromkeys(gold, "text"),
        corpus=dict.fromkeys(items, "text"),
        relevant_docs={query: set(judged) for query, judged in gold.items()},
        accuracy_at_k=cutoffs,
        precision_recall_at_k=cutoffs,
        mrr_at_k=cutoffs,
        ndcg_at_k=cutoffs,
        map_at_k=cutoffs,
    )
    theirs = evaluator.compute_metrics(
        [[{"corpus_id": item, "score": score} for item, score in run[query].items()] for query in gold]
    )
    names = {
        "accuracy@k": "hit_rate", "precision@k": "precision", "recall@k": "recall", "mrr@k": "mrr", "ndcg@k": "ndcg",
        "map@k": "map",
    }  # fmt: skip
    metrics = [f"{metric}@{k}" for metric in names.values() for k in cutoffs]
    ours = gr.score(gold, run, metrics, profile="sentence-transformers")
    for theirs_name, metric in names.items():
        for k in cutoffs:
            assert ours[f"{metric}@{k}"].value == pytest.approx(theirs[theirs_name][k], abs=1e-12), (metric, k)
