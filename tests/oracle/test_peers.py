"""Test equality with ir_measures, ranx and scikit-learn under their conventions, and each difference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from profiles import examples

pytestmark = pytest.mark.oracle

ITEMS = [f"d{i}" for i in range(12)]
QUERIES = ["1", "2", "3"]


@st.composite
def collections_without_ties(draw):
    gold, run = {}, {}
    for query in QUERIES:
        grades = draw(st.dictionaries(st.sampled_from(ITEMS), st.integers(0, 3), min_size=1))
        gold[query] = {**grades, draw(st.sampled_from(ITEMS)): draw(st.integers(1, 3))}
        ranking = draw(st.permutations(ITEMS))[: draw(st.integers(1, len(ITEMS)))]
        run[query] = {item: float(len(ranking) - place) for place, item in enumerate(ranking)}
    return gold, run


@given(collections_without_ties())
@examples(0.3)
def test_equal_to_ir_measures(case):
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    names = {
        "nDCG@5": "ndcg@5", "nDCG": "ndcg", "AP": "map", "AP@5": "map@5", "AP(rel=2)": "map(rel=2)", "RR": "mrr",
        "RR@2": "mrr@2", "P@3": "precision@3", "R@3": "recall@3", "Success@1": "hit_rate@1", "Rprec": "r_precision",
        "Bpref": "bpref", "IPrec@0.2": "iprec@0.2", "ERR@5": "err(max=4)@5",
        "Judged@3": "judged@3", "SetP": "set_precision", "SetR": "set_recall", "SetF": "set_f",
        "NumRet": "num_ret", "NumRel": "num_rel", "nDCG(dcg='exp-log2')@5": "ndcg(gain=exp)@5",
    }  # fmt: skip
    gold, run = case
    ours = gr.score(gold, run, list(names.values()))
    measures = {ir_measures.parse_measure(name): metric for name, metric in names.items()}
    for entry in ir_measures.iter_calc(list(measures), gold, run):
        metric = measures[entry.measure]
        # gdeval, behind ERR and the exponential gain, works with five decimal digits.
        tolerance = 1e-5 if metric.startswith(("err", "ndcg(gain")) else 1e-9
        assert ours[metric].per_query[entry.query_id] == pytest.approx(entry.value, abs=tolerance), metric


@pytest.mark.slow
@given(collections_without_ties())
@examples(0.1)
def test_equal_to_ranx(case):
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    names = {
        "ndcg@5": "ndcg@5", "ndcg_burges@5": "ndcg(gain=exp)@5", "map": "map", "map@5": "map@5", "mrr": "mrr",
        "mrr@2": "mrr@2", "precision@3": "precision@3", "recall@3": "recall@3", "hit_rate@2": "hit_rate@2",
        "f1@3": "f1@3", "r-precision": "r_precision", "dcg@3": "dcg@3",
    }  # fmt: skip
    gold, run = case
    theirs = ranx.evaluate(ranx.Qrels(gold), ranx.Run(run), list(names))
    ours = gr.score(gold, run, list(names.values()), profile="ranx")
    for name, metric in names.items():
        assert ours[metric].value == pytest.approx(theirs[name], abs=1e-9), metric


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 3)), min_size=2, max_size=10))
def test_equal_to_sklearn_with_ties_averaged(rows):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    scores, grades = (np.array(column, float) for column in zip(*rows, strict=True))
    gold = {"q": {f"d{i}": grade for i, grade in enumerate(grades)}}
    run = {"q": {f"d{i}": score for i, score in enumerate(scores)}}
    ours = gr.score(gold, run, ["ndcg@3", "ndcg", "dcg@4", "auc(unfound=skip)"], profile="sklearn")
    assert ours["ndcg@3"].mean == pytest.approx(metrics.ndcg_score([grades], [scores], k=3), abs=1e-12)
    assert ours["ndcg"].mean == pytest.approx(metrics.ndcg_score([grades], [scores]), abs=1e-12)
    assert ours["dcg@4"].mean == pytest.approx(metrics.dcg_score([grades], [scores], k=4), abs=1e-12)
    if 0 < (grades > 0).sum() < len(grades):
        auc = metrics.roc_auc_score(grades > 0, scores)
        assert ours["auc(unfound=skip)"].mean == pytest.approx(auc, abs=1e-12)


def test_sklearn_does_not_see_gold_that_was_not_retrieved():
    gold, run = {"q": {"a": 1, "missing": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    assert gr.score(gold, run, "ndcg", profile="sklearn")["ndcg"].mean == 1.0
    assert gr.score(gold, run, "ndcg")["ndcg"].mean < 0.5


def test_ir_measures_answers_rr_and_rr_at_10_differently_on_one_tie():
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    gold, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    values = {
        str(entry.measure): entry.value
        for entry in ir_measures.iter_calc([ir_measures.RR, ir_measures.RR @ 10], gold, run)
    }
    assert values == {"RR": 0.5, "RR@10": 1.0}
    ours = gr.score(gold, run, ["mrr", "mrr@10"])
    assert ours["mrr"].mean == ours["mrr@10"].mean == 0.5


@pytest.mark.slow
def test_ranx_weighs_rank_biased_precision_by_the_grade_against_its_own_definition():
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    gold, run = {"q": {"a": 3}}, {"q": {"a": 1.0}}
    assert ranx.evaluate(ranx.Qrels(gold), ranx.Run(run), "rbp.80") == pytest.approx(3 * 0.2)
    assert gr.score(gold, run, "rbp(p=0.8)")["rbp(p=0.8)"].mean == pytest.approx(0.2)


@pytest.mark.slow
def test_ranx_refuses_a_query_without_results_where_goldrank_counts_it():
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    gold, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}}
    with pytest.raises(AssertionError):
        ranx.evaluate(ranx.Qrels(gold), ranx.Run(run), "mrr")
    with pytest.raises(gr.InputError, match="no results"):
        gr.score(gold, run, "mrr", profile="ranx")
    assert gr.score(gold, run, "mrr")["mrr"].mean == 0.5


@given(collections_without_ties())
@examples(0.3)
def test_compat_equals_ir_measures(case):
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    names = ["Compat(p=0.95)", "Compat(p=0.8)", "Compat(p=0.95, normalize=False)"]
    gold, run = case
    ours = gr.score(gold, run, [name.replace(" ", "") for name in names])
    for name in names:
        for entry in ir_measures.iter_calc([ir_measures.parse_measure(name)], gold, run):
            value = ours[name.replace(" ", "")].per_query[entry.query_id]
            assert value == pytest.approx(entry.value, abs=1e-9), name
