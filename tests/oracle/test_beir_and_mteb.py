"""Profiles beir and mteb compared with the packages."""

import copy
import random

import pytest

import goldrank as gr

pytestmark = [pytest.mark.oracle, pytest.mark.heavy]

CUTOFFS = [1, 3, 5, 10]


def documents_that_ask():
    """Return graded gold and a run; some documents are also queries, so that a query can retrieve itself."""
    rng = random.Random(5)
    items = [f"d{i}" for i in range(40)]
    gold, run = {}, {}
    for query in items[:12]:
        gold[query] = {item: rng.randint(0, 3) for item in rng.sample(items, 10)} | {rng.choice(items): 1}
        ranking = [query, *rng.sample([item for item in items if item != query], 20)]
        rng.shuffle(ranking)
        run[query] = {item: 1.0 - place / 100 for place, item in enumerate(ranking)}
    return gold, run


def test_profile_beir_equals_beir():
    evaluation = pytest.importorskip("beir.retrieval.evaluation", reason="beir is not installed")
    gold, run = documents_that_ask()
    results = copy.deepcopy(run)
    measured = evaluation.EvaluateRetrieval.evaluate(gold, results, CUTOFFS)
    # The first call has removed the query's own id from the results.
    custom = [
        evaluation.EvaluateRetrieval.evaluate_custom(gold, results, CUTOFFS, metric)
        for metric in ("mrr", "r_cap", "accuracy")
    ]
    theirs = {name: value for values in (*measured, *custom) for name, value in values.items()}
    assert len(theirs) == 7 * len(CUTOFFS)
    # In ir_measures, the capitalised name is another metric.
    written = {name: name.replace("Accuracy", "accuracy") for name in theirs}
    ours = gr.score(gold, run, list(written.values()), profile="beir")
    for name, value in theirs.items():
        assert ours[written[name]].value == pytest.approx(value, abs=6e-6), name
    with_self = gr.score(gold, run, "ndcg@10", profile="mteb")["ndcg@10"].mean
    assert with_self != pytest.approx(theirs["NDCG@10"], abs=1e-3)


@pytest.mark.parametrize("ignore_identical_ids", [False, True])
def test_profile_mteb_equals_mteb(ignore_identical_ids):
    evaluator = pytest.importorskip("mteb._evaluators.retrieval_evaluator", reason="mteb is not installed")
    metrics = pytest.importorskip("mteb._evaluators.retrieval_metrics", reason="mteb is not installed")
    gold, run = documents_that_ask()
    result = evaluator.RetrievalEvaluator.evaluate(
        None, gold, copy.deepcopy(run), CUTOFFS, ignore_identical_ids=ignore_identical_ids
    )
    theirs = metrics.make_score_dict(
        ndcg=result.ndcg,
        _map=result.map,
        recall=result.recall,
        precision=result.precision,
        mrr=result.mrr,
        naucs={},
        naucs_mrr={},
        hit_rate=result.hit_rate,
        task_scores={},
    )
    assert len(theirs) == 6 * len(CUTOFFS) + 1
    conventions = {"self_matches": "drop_results"} if ignore_identical_ids else {}
    ours = gr.score(gold, run, list(theirs), profile="mteb", **conventions)
    for name, value in theirs.items():
        assert ours[name].value == pytest.approx(value, abs=6e-6), name


def test_tasks_of_mteb_keep_the_id_of_the_query_unless_they_say_otherwise():
    mteb = pytest.importorskip("mteb", reason="mteb is not installed")
    assert mteb.get_task("SciFact").ignore_identical_ids is False
    assert mteb.get_task("ArguAna").ignore_identical_ids is True
