"""Test that metric names of other tools are translated to the same metric or rejected with the reason."""

import pytest

import goldrank as gr
from goldrank.metrics import REGISTRY, parse_all
from goldrank.metrics.unsupported import REFUSED

READ = {
    "trec_eval": {
        "map": "map", "gm_map": "gmap", "Rprec": "r_precision", "bpref": "bpref", "recip_rank": "mrr", "infAP": "infap",
        "iprec_at_recall_0.10": "iprec@0.1", "iprec_at_recall.0.1": "iprec@0.1", "P_5": "precision@5",
        "P.5": "precision@5", "recall_100": "recall@100", "recall.100": "recall@100", "11pt_avg": "11pt",
        "ndcg": "ndcg", "ndcg.1=3.5,2=9.0": "ndcg(gains=1:3.5/2:9)",
        "ndcg_1=3.5,2=9.0": "ndcg(gains=1:3.5/2:9)", "rbp_p=0.95": "rbp(p=0.95)", "ndcg_cut_10": "ndcg@10",
        "ndcg_cut.10": "ndcg@10", "map_cut_10": "map@10", "map_cut.10": "map@10", "success_1": "hit_rate@1",
        "success.5": "hit_rate@5", "set_P": "set_precision", "set_recall": "set_recall",
        "set_relative_P": "set_relative_precision", "set_map": "set_map", "set_F": "set_f",
        "set_F.4": "set_f(beta=2.0)", "set_F_4.0": "set_f(beta=2.0)", "num_q": "num_q", "num_ret": "num_ret",
        "num_rel": "num_rel", "num_rel_ret": "num_rel_ret", "rbp": "rbp", "rbp.p=0.95": "rbp(p=0.95)",
        "rbp_resid": "rbp_residual", "rbp_resid.p=0.5": "rbp_residual(p=0.5)", "dcg": "dcg",
    },
    "ir_measures": {
        "AP": "map", "MAP@5": "map@5", "AP(rel=2)": "map(rel=2.0)", "AP(cutoff=5)": "map@5",
        "AP(judged_only=False)": "map", "nDCG@10": "ndcg@10", "NDCG": "ndcg", "nDCG(dcg='exp-log2')": "ndcg(gain=exp)",
        'nDCG(dcg="log2")@5': "ndcg(gain=linear)@5", "nDCG(gains={0:0,1:1})@10": "ndcg(gains=0:0/1:1)@10",
        "nDCG(dcg='log2', gains={0: 0, 2: 7})@10": "ndcg(gain=linear,gains=0:0/2:7)@10",
        "RBP(p=0.9)": "rbp(gain=linear,p=0.9)", "RBP(p=0.9,rel=1)@10": "rbp(p=0.9,rel=1.0)@10", "P@5": "precision@5",
        "P(rel=2)@5": "precision(rel=2.0)@5", "Precision@5": "precision@5", "R@100": "recall@100",
        "Recall@100": "recall@100", "RR": "mrr", "MRR@10": "mrr@10", "RR(rel=2)": "mrr(rel=2.0)",
        "Success@5": "hit_rate@5", "Rprec": "r_precision", "RPrec": "r_precision", "Judged@10": "judged@10",
        "IPrec@0.1": "iprec@0.1", "IPrec(recall=0.1)": "iprec@0.1", "infAP": "infap",
        "Bpref": "bpref(negative=unjudged)", "BPref(rel=2)": "bpref(negative=unjudged,rel=2.0)",
        "ERR@20": "err(max=4.0)@20", "Accuracy": "auc(unfound=skip)", "SetP": "set_precision",
        "SetP(relative=True)": "set_relative_precision", "SetP(relative=False)": "set_precision",
        "SetRelP": "set_relative_precision", "SetR": "set_recall", "SetF": "set_f", "SetF(beta=4.)": "set_f(beta=2.0)",
        "SetAP": "set_map", "NumQ": "num_q", "NumRet": "num_ret", "NumRet(rel=2)": "num_rel_ret(rel=2.0)",
        "NumRel": "num_rel", "NumRelRet": "num_rel_ret",
    },
    "ranx": {
        "hit_rate@10": "hit_rate@10", "precision@10": "precision@10", "recall": "recall", "f1@10": "f1@10",
        "r-precision": "r_precision", "mrr@10": "mrr@10", "map@100": "map@100", "dcg@10": "dcg@10",
        "dcg_burges@10": "dcg(gain=exp)@10", "ndcg@10": "ndcg@10", "ndcg_burges@10": "ndcg(gain=exp)@10",
        "bpref": "bpref", "rbp.50": "rbp(p=0.5,gain=linear)", "rbp.95": "rbp(p=0.95,gain=linear)",
        "rbp.95-l2": "rbp(rel=2.0,p=0.95,gain=linear)", "map@100-l2": "map(rel=2.0)@100", "mrr-l3": "mrr(rel=3.0)",
        "ndcg@10-l3": "ndcg(gains=1:0/2:0)@10", "ndcg@10-l1": "ndcg@10", "r-precision-l2": "r_precision(rel=2.0)",
    },
    "sentence-transformers": {
        "accuracy@1": "hit_rate@1", "precision@3": "precision@3", "recall@5": "recall@5", "mrr@10": "mrr@10",
        "ndcg@10": "ndcg@10", "map@100": "map@100", "cosine_accuracy@1": "hit_rate@1", "cosine_ndcg@10": "ndcg@10",
        "dot_mrr@10": "mrr@10", "nano-beir_cosine_map@100": "map@100", "cos_sim-Accuracy@3": "hit_rate@3",
        "cosine-Recall@5": "recall@5", "my_set_dot_score_precision@1": "precision@1", "euclidean_ndcg@10": "ndcg@10",
    },
    "mteb": {
        "ndcg_at_10": "ndcg@10", "map_at_100": "map@100", "recall_at_5": "recall@5", "precision_at_1": "precision@1",
        "mrr_at_10": "mrr@10", "hit_rate_at_3": "hit_rate@3", "accuracy": "recall@1", "R_cap_at_10": "recall(cap=k)@10",
        "HitRate@3": "hit_rate@3",
    },
    "BEIR": {
        "NDCG@10": "ndcg@10", "MAP@10": "map@10", "Recall@10": "recall@10", "P@10": "precision@10", "MRR@10": "mrr@10",
        "R_cap@10": "recall(cap=k)@10", "recall_cap@10": "recall(cap=k)@10", "top_k_accuracy@10": "hit_rate@10",
    },
    "torchmetrics": {
        "RetrievalMAP": "map(denominator=hits)", "RetrievalMAP(top_k=5)": "map(denominator=hits)@5",
        "RetrievalMRR(top_k=None)": "mrr", "RetrievalPrecision(top_k=2)": "precision@2", "RetrievalHitRate": "hit_rate",
        "RetrievalNormalizedDCG": "ndcg(ideal=retrieved)", "RetrievalAUROC": "auc(unfound=skip)",
        "retrieval_average_precision": "map(denominator=hits)", "retrieval_reciprocal_rank": "mrr",
        "retrieval_precision(top_k=3)": "precision@3", "retrieval_hit_rate(top_k=3)": "hit_rate@3",
        "retrieval_normalized_dcg(top_k=3)": "ndcg(ideal=retrieved)@3", "retrieval_auroc": "auc(unfound=skip)",
    },
    "scikit-learn": {
        "ndcg_score": "ndcg(ideal=retrieved)", "ndcg_score(k=5)": "ndcg(ideal=retrieved)@5", "dcg_score(k=5)": "dcg@5",
        "roc_auc_score": "auc(unfound=skip)",
    },
}  # fmt: skip

NOT_COMPUTED = {
    "trec_eval": [
        "runid", "relstring", "Rprec_mult", "Rprec_mult_0.20", "Rprec_mult.0.2", "relative_P", "relative_P_5",
        "relative_P.5", "utility", "utility.1,-1,0,0", "G", "G.1=3", "binG", "Rndcg", "ndcg_rel", "ndcg_p", "ideal_dcg",
        "yaap", "gm_bpref", "num_nonrel_judged_ret", "num_nonjudged_ret", "unj_5", "Runj", "map_avgjg", "P_avgjg",
        "P_avgjg_5", "Rprec_mult_avgjg_0.20", "prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel",
        "prefs_simp_ret", "prefs_pair_imp", "prefs_num_prefs_poss", "prefs_num_prefs_ful_ret", "set",
        "all_trec", "all_prefs", "prefs", "qrels_jg",
    ],
    "ir_measures": ["BPM@5", "INST", "INSQ", "NERR8@5", "NERR9@5", "NERR10", "NERR11", "SDCG@5", "SDCG(max_rel=3)@5"],
    "BEIR": ["Hole@10", "hole_at_10"],
    "mteb": ["main_score", "p-MRR"],
    "sentence-transformers": ["cosine_accuracy", "dot_precision", "spearman_cosine", "manhattan_f1", "cosine_ap"],
    "torchmetrics": [
        "RetrievalFallOut", "RetrievalRecall", "RetrievalRPrecision", "RetrievalPrecisionRecallCurve",
        "RetrievalRecallAtFixedPrecision", "retrieval_fall_out", "retrieval_recall", "retrieval_r_precision",
        "retrieval_precision_recall_curve",
    ],
    "scikit-learn": [
        "average_precision_score", "label_ranking_average_precision_score", "label_ranking_loss", "coverage_error",
        "top_k_accuracy_score", "accuracy_score", "precision_score", "recall_score", "f1_score",
    ],
    "SDR's": ["1-MPR"],
    "recommenders'": ["ARHR@10"],
    "scipy's": ["spearman", "pearson", "kendall"],
}  # fmt: skip


def rows(by_tool):
    return [pytest.param(name, *rest, id=f"{tool}: {name}") for tool, names in by_tool.items() for name, *rest in names]


@pytest.mark.parametrize(
    ("name", "expected"), rows({tool: list(names.items()) for tool, names in READ.items()})
)  # fmt: skip
def test_a_name_is_read_as_its_tool_means_it(name, expected):
    metric = gr.Metric.parse(name)
    assert str(metric) == expected
    assert gr.Metric.parse(str(metric)) == metric


@pytest.mark.parametrize(
    ("name", "tool"), rows({tool: [(name, tool) for name in names] for tool, names in NOT_COMPUTED.items()})
)  # fmt: skip
def test_a_metric_that_stays_out_is_refused_with_whose_it_is_and_why(name, tool):
    with pytest.raises(gr.InputError) as caught:
        parse_all(name)
    assert caught.value.what.split(" is ", 1)[1].startswith(tool)
    assert "did you mean" not in str(caught.value)
    assert caught.value.remedy


def test_every_remedy_of_a_refusal_names_only_metrics_that_exist():
    for name, (_, remedy) in REFUSED.items():
        words = [word.strip(",.;") for word in remedy.replace("@k", "@10").split()]
        named = [word for word in words if "@" in word or word.partition("(")[0] in REGISTRY]
        assert named or "--" in remedy or "output" in remedy, name
        for word in named:
            gr.Metric.parse(word, needs_cutoff=False)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Accuracy@5", r"hit rate in BEIR and another metric in ir_measures.*hit_rate@5.*auc\(unfound=skip\)"),
        ("AP(judged_only=True)", r"convention.*unjudged=drop"),
        ("rbp_80", r"cutoff or the persistence.*rbp@80 or rbp\(p=…\)"),
        ("rbp_residual.80", "cutoff or the persistence"),
        ("mrr.10", "cannot be a cutoff.*mrr@10"),
        ("nDCG(dcg='linear')", "log2 or exp-log2"),
        ("P_5@10", "two cutoffs"),
        ("map@10-l0", "relevance level.*from 1"),
        ("map@10-l999999999999", "relevance level.*from 1 to 100"),
        ("num_q-l2", "no relevance level"),
        ("SetF(beta=x)", "number from 0"),
        ("set_F.1,2,3,x", "no parameters"),
        ("nDCG(gains={1:x})", "grade:gain"),
        ("", "is not a valid metric"),
        ("@10", "is not a valid metric"),
        ("ndgc@10", "did you mean 'ndcg'"),
    ],
)
def test_what_cannot_be_read_for_sure_is_refused(name, reason):
    with pytest.raises(gr.InputError, match=reason):
        gr.Metric.parse(name)


# Metric names in papers, notes and code on Wikipedia similarities.
SIMILARITIES = {
    "HR@10": "recall@10", "hr@10": "recall@10", "HitRatio@10": "recall@10", "hit_ratio@10": "recall@10",
    "Hit_Ratio@10": "recall@10", "hit-ratio@100": "recall@100", "HitRatio_10": "recall@10", "MPR": "mpr", "mpr": "mpr",
    "mean_percentile_rank": "mpr", "MeanPercentileRank": "mpr", "percentile-rank": "mpr", "MRR": "mrr",
    "mean_reciprocal_rank": "mrr", "MeanReciprocalRank": "mrr", "reciprocal_rank@10": "mrr@10", "MAP": "map",
    "mean_average_precision": "map", "average_rank": "mean_rank", "MeanRank": "mean_rank",
    # SDR's code prints these names; a test below covers their meaning in its profile.
    "hit_rate_10": "hit_rate@10", "hit_rate_1000": "hit_rate@1000",
}  # fmt: skip


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_name_of_the_similarity_papers_is_read_as_they_mean_it(name):
    assert str(gr.Metric.parse(name)) == SIMILARITIES[name]


@pytest.mark.parametrize("profile", ["sdr", "tde"])
def test_the_hit_rate_of_sdr_is_refused_with_the_right_name_under_its_profile(profile):
    gold, run = {"a": {"b": 1, "c": 1}}, {"a": {"a": 3.0, "b": 2.0, "x": 1.0}}
    with pytest.raises(gr.InputError) as caught:
        gr.score(gold, run, "hit_rate_10", profile=profile)
    assert str(caught.value) == (
        f"hit_rate means another metric in {profile}; the hit_rate_k of SDR, its HR@k, is the share of the gold in the "
        "top k: write recall@k or HR@k; whether any gold is in the top k is hit_rate@k of other profiles"
    )
    assert gr.score(gold, run, "HitRatio@10", profile=profile)["HitRatio@10"].mean == 0.5
    assert gr.score(gold, run, "hit_rate_10")["hit_rate_10"].mean == 1.0


GUESSED = {
    "ndgc@10": "ndcg", "nddcg": "ndcg", "percision": "precision", "precison": "precision", "recal": "recall",
    "sucess": "success", "mean_rnk": "mean_rank", "medain_rank": "median_rank",
}  # fmt: skip
# Each of these is close to the name of a different metric, or to the names of two.
NOT_GUESSED = [
    "mmr", "mrp", "mpp", "mar", "mae", "acc@10", "roc", "lrap", "idcg", "cg@10", "rank", "hit_rato@10", "mapr", "hita",
    "hist@10", "fallout", "coverage@10", "percentile",
]  # fmt: skip


@pytest.mark.parametrize("name", GUESSED)
def test_a_slip_of_the_keyboard_is_recognised(name):
    with pytest.raises(gr.InputError) as caught:
        gr.Metric.parse(name)
    assert caught.value.remedy == f"did you mean {GUESSED[name]!r}? (goldrank list metrics)"


@pytest.mark.parametrize("name", NOT_GUESSED)
def test_no_other_metric_is_guessed(name):
    with pytest.raises(gr.InputError) as caught:
        gr.Metric.parse(name)
    assert caught.value.remedy == "see the list (goldrank list metrics)"


def test_a_cutoff_without_its_mark_is_told():
    with pytest.raises(
        gr.InputError, match=r"^there is no metric 'recall10'; write recall@10 \(goldrank list metrics\)$"
    ):
        gr.Metric.parse("recall10")


def test_a_refused_name_is_never_one_that_is_computed():
    assert not set(REFUSED) & {name.lower() for d in REGISTRY.values() for name in (d.name, *d.aliases)}


def test_several_cutoffs_are_read_as_trec_eval_takes_them():
    assert [str(metric) for metric in parse_all(["P.5,10", "iprec_at_recall.0.1,0.2", "ndcg@1,3"])] == [
        "precision@5", "precision@10", "iprec@0.1", "iprec@0.2", "ndcg@1", "ndcg@3",
    ]  # fmt: skip


def test_a_family_of_trec_eval_has_the_cutoffs_that_trec_eval_prints():
    ranks = [5, 10, 15, 20, 30, 100, 200, 500, 1000]
    precision, levels = [f"precision@{k}" for k in ranks], [f"iprec@{tenth / 10:g}" for tenth in range(11)]
    families = {
        "P": precision, "ndcg_cut": [f"ndcg@{k}" for k in ranks], "map_cut": [f"map@{k}" for k in ranks],
        "success": ["hit_rate@1", "hit_rate@5", "hit_rate@10"], "iprec_at_recall": levels,
        "official": ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gmap", "r_precision", "bpref", "mrr",
                     *levels, *precision],
    }  # fmt: skip
    for name, metrics in families.items():
        assert [str(metric) for metric in parse_all(name)] == metrics


def test_a_set_of_metrics_has_one_order():
    names = {"recip_rank", "map", "ndcg", "P_5", "bpref"}
    assert [str(metric) for metric in parse_all(names)] == ["precision@5", "bpref", "map", "ndcg", "mrr"]


def test_what_is_no_name_of_a_metric_is_refused():
    with pytest.raises(gr.InputError) as caught:
        parse_all([10])
    assert str(caught.value) == '10 of type int is not a metric; write its name, such as "ndcg@10"'


@pytest.mark.parametrize(
    ("name", "metric", "similarity"),
    [("dot_ndcg@10", "ndcg@10", "dot"), ("my_euclidean_accuracy@1", "accuracy@1", "euclidean")],
)
def test_a_similarity_in_the_name_of_a_metric_is_refused_where_another_ranks(name, metric, similarity):
    with pytest.raises(gr.InputError) as caught:
        gr.evaluate("wordllama", "questions", metrics=[name], limit=2)
    assert str(caught.value) == (
        f"{name!r} names the similarity {similarity}, but the items are ranked by cosine; "
        f"write {metric}, or choose the similarity"
    )
    other = {"dot": "dot", "euclidean": "l2"}[similarity]
    assert gr.evaluate("wordllama", "questions", metrics=name, limit=2, similarity=other).scores[metric]


def test_persistence_in_the_notation_of_ranx_is_no_cutoff():
    gold = {"q": {"a": 1, "b": 1}}
    run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    assert gr.score(gold, run, "rbp.50")["rbp.50"].mean == pytest.approx(0.5 * (1 + 0.25))


def test_hits_is_refused_under_the_profile_of_ranx_which_means_a_count():
    with pytest.raises(gr.InputError, match=r"another metric in ranx.*num_rel_ret@k"):
        gr.score({"q": {"a": 1}}, {"q": {"a": 1.0}}, "hits@1", profile="ranx")
