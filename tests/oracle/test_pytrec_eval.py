"""Profile trec_eval9 compared with pytrec_eval, query by query, on runs with ties and other edge cases."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr

pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
import pytrec_eval

pytestmark = pytest.mark.oracle

NAMES = {
    "map": "map", "map_cut_5": "map@5", "P_5": "precision@5", "recall_5": "recall@5", "ndcg": "ndcg",
    "ndcg_cut_5": "ndcg@5", "recip_rank": "mrr", "Rprec": "r_precision", "bpref": "bpref", "infAP": "infap",
    "iprec_at_recall_0.00": "iprec@0", "iprec_at_recall_0.30": "iprec@0.3", "iprec_at_recall_1.00": "iprec@1",
    "11pt_avg": "11pt", "success_1": "hit_rate@1", "success_5": "hit_rate@5", "set_P": "set_precision",
    "set_recall": "set_recall", "set_F": "set_f", "set_map": "set_map", "set_relative_P": "set_relative_precision",
    "num_ret": "num_ret", "num_rel": "num_rel", "num_rel_ret": "num_rel_ret", "num_q": "num_q",
}  # fmt: skip
MEASURES = {
    "map", "map_cut.5", "P.5", "recall.5", "ndcg", "ndcg_cut.5", "recip_rank", "Rprec", "bpref", "infAP",
    "iprec_at_recall", "11pt_avg", "success.1,5", "set_P", "set_recall", "set_F", "set_map", "set_relative_P",
    "num_ret", "num_rel", "num_rel_ret", "num_q",
}  # fmt: skip

ITEMS = [f"d{i}" for i in range(20)] + ["é1", "Ωmega", "zz"]
# 1 + 1e-9 and 0.1 + 1e-12 are equal to their neighbours in float32 and not in float64.
SCORES = st.one_of(
    st.sampled_from([1.0, 1.0 + 1e-9, 2.0, 0.1, 0.1 + 1e-12, -3.0, 0.0, -0.0, 1e30, 1e-30]),
    st.floats(-100, 100, allow_nan=False, width=64),
)
RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "unknown"]),
    st.dictionaries(st.sampled_from(ITEMS), SCORES, min_size=1),
    min_size=1,
).filter(lambda run: set(run) - {"unknown"})
# pytrec_eval reads beyond its arrays, and may crash or hang, on a query without any grade of 0 or more.
GOLD = st.fixed_dictionaries(
    {
        query: st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([-2, -1, 0, 1, 1, 2, 3])).map(
            lambda grades: {**grades, "d0": 1}
        )
        for query in ("q1", "q2", "q3", "q4")
    }
)


@given(GOLD, RUNS, st.randoms())
def test_profile_trec_eval9_equals_pytrec_eval_on_every_query(gold, run, random):
    theirs = pytrec_eval.RelevanceEvaluator(gold, MEASURES).evaluate(run)
    shuffled = {query: dict(random.sample(list(items.items()), len(items))) for query, items in run.items()}
    ours = gr.score(gold, shuffled, list(NAMES.values()), profile="trec_eval9")
    assert set(ours.placement.queries) == set(theirs)
    for name, metric in NAMES.items():
        per_query = ours[metric].per_query
        for query, values in theirs.items():
            assert per_query[query] == pytest.approx(values[name], abs=1e-12), (name, query)


@given(GOLD, RUNS)
def test_means_equal_pytrec_evals_aggregates(gold, run):
    theirs = pytrec_eval.RelevanceEvaluator(gold, MEASURES | {"gm_map"}).evaluate(run)
    ours = gr.score(gold, run, ["map", "num_ret", "gmap"], profile="trec_eval9")
    for name, metric in (("map", "map"), ("num_ret", "num_ret")):
        values = [values[name] for values in theirs.values()]
        assert ours[metric].value == pytest.approx(pytrec_eval.compute_aggregated_measure(name, values), abs=1e-12)
    logs = [values["gm_map"] for values in theirs.values()]
    assert ours["gmap"].value == pytest.approx(float(np.exp(np.mean(logs))), rel=1e-9)


def test_a_near_tie_in_float32_is_ordered_by_id_in_trec_eval_9_and_by_score_in_10():
    gold, run = {"q": {"a": 1}}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    assert gr.score(gold, run, "mrr", profile="trec_eval9")["mrr"].mean == 0.5
    assert gr.score(gold, run, "mrr", profile="trec_eval")["mrr"].mean == 1.0
    assert pytrec_eval.RelevanceEvaluator(gold, {"recip_rank"}).evaluate(run)["q"]["recip_rank"] == 0.5


@given(GOLD, RUNS, st.sampled_from([1, 2, 3]), st.booleans())
def test_every_option_of_trec_eval_equals_pytrec_evals_on_every_metric(gold, run, level, judged_only):
    """Option -l is relevance_level, and -J is unjudged=drop."""
    # A query without judged items in its results has no precision (0 / 0).
    run = {query: {**items, "d0": 5.0} for query, items in run.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(
        gold, MEASURES, relevance_level=level, judged_docs_only_flag=judged_only
    )  # fmt: skip
    theirs = evaluator.evaluate(run)
    conventions = {"relevance_level": level, "unjudged": "drop" if judged_only else "nonrelevant"}
    ours = gr.score(gold, run, list(NAMES.values()), profile="trec_eval9", **conventions)
    for name, metric in NAMES.items():
        for query, values in theirs.items():
            assert ours[metric].per_query[query] == pytest.approx(values[name], abs=1e-12), (name, query)


def test_a_grade_below_0_is_unjudged_to_the_option_that_drops_unjudged_items():
    gold, run = {"q": {"a": 1, "pooled": -1}}, {"q": {"pooled": 3.0, "unjudged": 2.0, "a": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(gold, {"map"}, judged_docs_only_flag=True).evaluate(run)["q"]["map"]
    assert gr.score(gold, run, "map", unjudged="drop")["map"].mean == theirs == 1.0


@given(GOLD, RUNS, st.sampled_from([1, 2]))
def test_missing_zero_counts_all_queries_as_the_option_c_does(gold, run, level):
    theirs = pytrec_eval.RelevanceEvaluator(gold, {"map"}, relevance_level=level).evaluate(run)
    mean = sum(values["map"] for values in theirs.values()) / len(gold)
    ours = gr.score(gold, run, "map", profile="trec_eval9", missing="zero", relevance_level=level)["map"].mean
    assert ours == pytest.approx(mean, abs=1e-12)


def test_a_metric_with_a_level_of_its_own_keeps_it():
    gold = {"q": {"a": 1, "b": 2, "c": 3, "d": 0}}
    for order in itertools.permutations("abcd"):
        run = {"q": {item: 4.0 - place for place, item in enumerate(order)}}
        for level in (1, 2, 3):
            theirs = pytrec_eval.RelevanceEvaluator(gold, {"map", "P.2"}, relevance_level=level).evaluate(run)["q"]
            ours = gr.score(gold, run, [f"map(rel={level})", f"precision(rel={level})@2"], relevance_level=2)
            assert [score.value for score in ours.values()] == pytest.approx([theirs["map"], theirs["P_2"]], abs=1e-12)


@given(GOLD, RUNS)
def test_profile_beir_equals_pytrec_eval_on_results_without_the_query_itself(gold, run):
    """BEIR drops the query's own id from the results only, and passes the rest to pytrec_eval."""
    renamed = {
        query: {("q1" if item == "d1" else item): g for item, g in judged.items()} for query, judged in gold.items()
    }
    results = {
        query: {("q1" if item == "d1" else item): s for item, s in items.items()} for query, items in run.items()
    }
    filtered = {query: {item: s for item, s in items.items() if item != query} for query, items in results.items()}
    filtered = {query: items for query, items in filtered.items() if items}
    if not set(filtered) & set(gold):
        return
    theirs = pytrec_eval.RelevanceEvaluator(renamed, {"ndcg_cut.5", "map_cut.5", "recall.5", "P.5"}).evaluate(filtered)
    names = {"ndcg_cut_5": "ndcg@5", "map_cut_5": "map@5", "recall_5": "recall@5", "P_5": "precision@5"}
    ours = gr.score(renamed, results, list(names.values()), profile="beir")
    for name, metric in names.items():
        assert ours[metric].per_query == pytest.approx({q: values[name] for q, values in theirs.items()}, abs=1e-12)
