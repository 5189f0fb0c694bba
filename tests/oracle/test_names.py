"""Test that every metric name of a peer has the same value in goldrank, or is rejected."""

import math
import random

import numpy as np
import pytest

import goldrank as gr

pytestmark = pytest.mark.oracle

# Metrics over subtopics and the overlap of rankings, whose values test_diversity.py and test_peers.py compare.
COMPARED_ELSEWHERE = {
    "Compat", "ERR_IA", "nERR_IA", "alpha_DCG", "α_DCG", "alpha_nDCG", "α_nDCG", "NRBP", "nNRBP", "AP_IA", "MAP_IA",
    "P_IA", "StRecall",
}  # fmt: skip


def make(seed, grades, queries=8, items=30):
    """Return graded gold and a run without ties; every query has relevant items, some of them not retrieved."""
    rng = random.Random(seed)
    names = [f"d{i}" for i in range(items)]
    gold, run = {}, {}
    for query in (f"{i}" for i in range(queries)):
        gold[query] = {item: rng.choice(grades) for item in rng.sample(names, 14)} | {rng.choice(names): max(grades)}
        ranking = rng.sample(names, rng.randint(8, 25))
        run[query] = {item: 100.0 - place for place, item in enumerate(ranking)}
    return gold, run


GOLD, RUN = make(3, (0, 0, 1, 2, 3))
POOLED_GOLD, _ = make(3, (-1, 0, 0, 1, 2, 3))


def is_refused(name):
    """Return True if goldrank knows the name and rejects it, without suggesting another metric."""
    try:
        gr.Metric.parse(name, needs_cutoff=False)
    except gr.InputError as error:
        return "did you mean" not in str(error) and "see the list" not in str(error)
    return False


# These are the measures of the providers that are installed with ir_measures, with all their parameters.
IR_MEASURES = [
    "AP", "MAP", "AP@5", "AP(rel=2)", "AP(rel=2)@5", "AP(cutoff=5)", "nDCG", "NDCG", "nDCG@5", "nDCG(dcg='log2')@5",
    "nDCG(dcg='exp-log2')@5", "nDCG(gains={0:0,1:1})@5", "nDCG(gains={0:1,1:5,2:3})", "nDCG(gains={3:1})@10",
    "P@5", "P(rel=2)@5", "Precision@3", "R@5", "R(rel=3)@5", "Recall@5", "RR", "MRR", "RR(rel=2)", "RR@5",
    "RR(rel=2)@3", "Success@1", "Success(rel=3)@5", "Rprec", "RPrec(rel=2)", "Bpref", "BPref(rel=2)", "infAP",
    "infAP(rel=2)", "IPrec@0.1", "IPrec@0.25", "IPrec(rel=2)@0.5", "ERR@5", "ERR@20", "Judged@5", "Judged@40", "SetP",
    "SetP(rel=2)", "SetP(relative=True)", "SetRelP", "SetR", "SetR(rel=2)", "SetF", "SetF(beta=2.0)",
    "SetF(beta=0.5,rel=2)", "SetAP", "SetAP(rel=3)", "NumQ", "NumRet", "NumRet(rel=2)", "NumRelRet", "NumRel",
    "Accuracy", "Accuracy(rel=2)",
]  # fmt: skip


@pytest.mark.parametrize("name", IR_MEASURES)
def test_a_name_of_ir_measures_has_its_value(name):
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    # Only measures of trec_eval know grades below 0.
    gold = GOLD if name.startswith(("ERR", "nDCG(dcg='exp", "Judged", "Accuracy")) else POOLED_GOLD
    theirs = {
        entry.query_id: entry.value for entry in ir_measures.iter_calc([ir_measures.parse_measure(name)], gold, RUN)
    }
    ours = gr.score(gold, RUN, name, profile="trec_eval9", missing="zero")[name].per_query
    # gdeval, behind ERR and the exponential gain, prints five digits.
    tolerance = 1e-5 if name.startswith(("ERR", "nDCG(dcg='exp")) else 1e-9
    assert theirs
    assert {query: ours[query] for query in theirs} == pytest.approx(theirs, abs=tolerance)


def test_every_measure_of_ir_measures_is_read_or_refused():
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    tested = {name.partition("(")[0].partition("@")[0] for name in IR_MEASURES}
    for name in set(ir_measures.measures.registry) - COMPARED_ELSEWHERE - {"RBP"}:
        assert (name in tested) != is_refused(name), name
    for name in COMPARED_ELSEWHERE:
        gr.Metric.parse(name, needs_cutoff=False)


@pytest.mark.parametrize(
    "name", ["AP", "AP(rel=2)@5", "nDCG(gains={0:0,1:1,2:5})@5", "P(rel=2)@5", "SetF(beta=2.0)", "IPrec@0.1", "RR"]
)
def test_a_measure_object_and_named_tuples_of_ir_measures_have_its_value(name):
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    measure = ir_measures.parse_measure(name)
    qrels = [ir_measures.Qrel(q, d, grade) for q, judged in POOLED_GOLD.items() for d, grade in judged.items()]
    qrels.append(ir_measures.Qrel("unanswered", "d1", 1))
    run = [ir_measures.ScoredDoc(q, d, score) for q, ranking in RUN.items() for d, score in ranking.items()]
    theirs = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    for metrics in (measure, [measure]):
        assert gr.score(iter(qrels), run, metrics, profile="ir_measures")[measure].value == pytest.approx(theirs)


def test_rank_biased_precision_is_weighed_by_the_grade_as_ir_measures_says_unless_a_level_makes_it_binary():
    ours = gr.score(GOLD, RUN, ["RBP(p=0.9)@5", "RBP(p=0.9,rel=2)@5"])
    for query, ranking in RUN.items():
        top = [GOLD[query].get(item, 0) for item in list(ranking)[:5]]
        graded = sum(grade * 0.1 * 0.9**place for place, grade in enumerate(top))
        binary = sum((grade >= 2) * 0.1 * 0.9**place for place, grade in enumerate(top))
        assert ours["RBP(p=0.9)@5"].per_query[query] == pytest.approx(graded)
        assert ours["RBP(p=0.9,rel=2)@5"].per_query[query] == pytest.approx(binary)


RANX = [
    "hit_rate", "hit_rate@2", "precision", "precision@3", "recall", "recall@3", "f1", "f1@3", "r-precision", "mrr",
    "mrr@2", "map", "map@5", "dcg", "dcg@3", "dcg_burges@3", "ndcg", "ndcg@5", "ndcg_burges", "ndcg_burges@5", "bpref",
    "rbp.50", "rbp.8", "rbp.95", "rbp.95-l2", "map@5-l2", "ndcg@5-l3", "ndcg_burges@5-l2", "recall@3-l3", "bpref-l2",
    "r-precision-l3",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RANX)
def test_a_name_of_ranx_has_its_value(name):
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    run = {query: dict(items) for query, items in RUN.items()}
    theirs = ranx.evaluate(ranx.Qrels(GOLD), ranx.Run(run), [name], return_mean=False)
    ours = gr.score(GOLD, run, name, profile="ranx")[name]
    queries = list(ranx.Run(run).keys())
    values = theirs[name] if isinstance(theirs, dict) else theirs
    assert ours.per_query == pytest.approx(dict(zip(queries, map(float, values), strict=True)), abs=1e-9)


def test_every_metric_of_ranx_is_read_or_refused():
    metrics = pytest.importorskip("ranx.metrics", reason="ranx is not installed")
    tested = {name.partition("-l")[0].partition("@")[0].partition(".")[0] for name in RANX}
    names = [
        "hits", "hit_rate", "precision", "recall", "f1", "r-precision", "mrr", "map", "dcg", "dcg_burges", "ndcg",
        "ndcg_burges", "bpref", "rbp",
    ]  # fmt: skip
    assert all(metrics.metric_switch(name) for name in names)
    assert set(names) - tested == {"hits"}
    with pytest.raises(gr.InputError, match="another metric in ranx"):
        gr.PROFILES["ranx"].apply(gr.Metric.parse("hits@10"))


TREC_EVAL = {
    "map": "map", "gm_map": None, "Rprec": "Rprec", "bpref": "bpref", "recip_rank": "recip_rank",
    "iprec_at_recall": "iprec_at_recall_0.30", "P": "P_5", "recall": "recall_10", "infAP": "infAP",
    "11pt_avg": "11pt_avg", "ndcg": "ndcg", "ndcg_cut": "ndcg_cut_10", "map_cut": "map_cut_10", "success": "success_5",
    "set_P": "set_P", "set_recall": "set_recall", "set_relative_P": "set_relative_P", "set_map": "set_map",
    "set_F": "set_F", "num_q": "num_q", "num_ret": "num_ret", "num_rel": "num_rel", "num_rel_ret": "num_rel_ret",
}  # fmt: skip


@pytest.mark.parametrize("printed", [name for name in TREC_EVAL.values() if name])
def test_a_name_that_trec_eval_prints_has_its_value(printed):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    measures = set(TREC_EVAL) - {"gm_map"}
    theirs = pytrec_eval.RelevanceEvaluator(POOLED_GOLD, measures).evaluate(RUN)
    ours = gr.score(POOLED_GOLD, RUN, printed, profile="trec_eval9")[printed].per_query
    assert ours == pytest.approx({query: values[printed] for query, values in theirs.items()}, abs=1e-12)


@pytest.mark.parametrize("family", ["P", "ndcg_cut", "map_cut", "success", "iprec_at_recall"])
def test_a_family_of_trec_eval_has_its_values(family):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    theirs = pytrec_eval.RelevanceEvaluator(GOLD, {family}).evaluate(RUN)
    ours = gr.score(GOLD, RUN, {family}, profile="trec_eval9")
    names = list(next(iter(theirs.values())))
    assert len(names) == len(ours)
    for name in names:
        assert ours[name].per_query == pytest.approx({query: values[name] for query, values in theirs.items()})


@pytest.mark.parametrize("squared", [0.25, 1.0, 2.0, 4.0])
def test_the_parameter_of_set_f_is_beta_squared(squared):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    theirs = pytrec_eval.RelevanceEvaluator(GOLD, {f"set_F_{squared}"}).evaluate(RUN)
    ours = gr.score(GOLD, RUN, [f"set_F_{squared}", f"set_f(beta={math.sqrt(squared)!r})"], profile="trec_eval9")
    for score in ours.values():
        assert score.per_query == pytest.approx({query: values["set_F"] for query, values in theirs.items()})


def test_every_measure_and_group_of_trec_eval_is_read_or_refused():
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    groups = pytrec_eval.supported_nicknames
    for name in {*pytrec_eval.supported_measures, *groups, *(name for names in groups.values() for name in names)}:
        assert (name in TREC_EVAL) != is_refused(name), name


def test_what_is_refused_as_the_same_number_is_the_same_number():
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    theirs = pytrec_eval.RelevanceEvaluator(GOLD, {"relative_P.5"}).evaluate(RUN)
    ours = gr.score(GOLD, RUN, "recall(cap=k)@5")["recall(cap=k)@5"].per_query
    assert ours == pytest.approx({query: values["relative_P_5"] for query, values in theirs.items()})


def whole_ranking():
    """Return one query whose gold items are all scored, as arrays and as gold and run."""
    rng = np.random.default_rng(8)
    # torchmetrics treats an item with a score of at most 0 as not retrieved.
    grades, scores = rng.integers(0, 4, 20), (1 + rng.permutation(20)) / 20
    items = [f"d{i}" for i in range(20)]
    gold = {"q": dict(zip(items, grades.tolist(), strict=True))}
    run = {"q": dict(zip(items, scores.tolist(), strict=True))}
    return grades, scores, gold, run


@pytest.mark.parametrize("name", ["ndcg_score", "ndcg_score(k=5)", "dcg_score", "dcg_score(k=5)", "roc_auc_score"])
def test_a_name_of_scikit_learn_has_its_value(name):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    grades, scores, gold, run = whole_ranking()
    function = getattr(metrics, name.partition("(")[0])
    if name == "roc_auc_score":
        theirs = function(grades > 0, scores)
    else:
        theirs = function([grades], [scores], k=5 if "k=5" in name else None)
    assert gr.score(gold, run, name, profile="sklearn")[name].value == pytest.approx(theirs, abs=1e-12)


TORCHMETRICS = [
    "RetrievalMAP", "RetrievalMRR", "RetrievalPrecision", "RetrievalHitRate", "RetrievalNormalizedDCG",
    "RetrievalAUROC", "RetrievalMAP(top_k=4)", "RetrievalMRR(top_k=4)", "RetrievalPrecision(top_k=4)",
    "RetrievalHitRate(top_k=4)", "RetrievalNormalizedDCG(top_k=4)",
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", TORCHMETRICS)
def test_a_name_of_torchmetrics_has_its_value(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    retrieval = pytest.importorskip("torchmetrics.retrieval", reason="torchmetrics is not installed")
    grades, scores, gold, run = whole_ranking()
    graded = name.startswith("RetrievalNormalizedDCG")
    target = torch.tensor(grades if graded else (grades > 0).astype(int))
    measure = getattr(retrieval, name.partition("(")[0])(**({"top_k": 4} if "top_k" in name else {}))
    theirs = measure(torch.tensor(scores), target, indexes=torch.zeros(len(scores), dtype=torch.long))
    assert gr.score(gold, run, name)[name].value == pytest.approx(float(theirs), abs=1e-6)


@pytest.mark.heavy
def test_every_retrieval_metric_of_torchmetrics_is_read_or_refused():
    retrieval = pytest.importorskip("torchmetrics.retrieval", reason="torchmetrics is not installed")
    tested = {name.partition("(")[0] for name in TORCHMETRICS}
    for name in retrieval.__all__:
        assert (name in tested) != is_refused(name), name
