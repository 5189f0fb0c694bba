"""Metrics of known tools that goldrank does not compute, each with the reason and an alternative."""

from __future__ import annotations


def _because(what: str, reason: str) -> str:
    return f"{what}; goldrank does not compute it because {reason}"


_NO_USE = "hardly any publication reports it"
_EXPERIMENT = "trec_eval itself calls it experimental"
_GROUPS = "the gold has one set of judgments, not those of several groups"
_NAME_METRICS = "name the metrics you need, or score with --profile trec_eval"
_CLASSIFIER = "it scores the labels of a classifier, not a ranking"
_MODEL = "its model of the user needs the largest grade of the scale and has no closed form for ties"
_SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
REFUSED: dict[str, tuple[str, str]] = {
    name.lower(): (f"{tool} {what}", remedy)
    for tool, rows in {
        "trec_eval's": (
            ("runid", "name of the run, which is not a metric", "see the names of the runs in the output"),
            ("relstring", "string of grades, which is not a number", "goldrank score --per-query shows every query"),
            ("Rprec_mult", _because("precision at multiples of R", _NO_USE), "use r_precision or precision@k"),
            (
                "relative_P",
                _because("precision over the highest precision possible", "recall(cap=k) is the same number"),
                "write recall(cap=k)@k",
            ),
            ("utility", _because("weighted sum over a set", "its weights differ by track"), "use num_rel_ret"),
            ("G", _because("normalised gain", _EXPERIMENT), "use ndcg"),
            ("binG", _because("normalised gain of binary grades", _EXPERIMENT), "use ndcg(gain=binary)"),
            ("Rndcg", _because("nDCG averaged over the sizes of the grades", _EXPERIMENT), "use ndcg"),
            ("ndcg_rel", _because("nDCG averaged over the relevant items", _EXPERIMENT), "use ndcg"),
            ("ndcg_p", _because("nDCG with another discount", _NO_USE), "use ndcg"),
            ("ideal_dcg", _because("DCG of the ideal ranking", "no run changes it"), "use ndcg or dcg"),
            ("yaap", _because("logit of average precision", _NO_USE), "use map"),
            ("gm_bpref", _because("geometric mean of bpref", _NO_USE), "use bpref or gmap"),
            ("num_nonrel_judged_ret", _because("count", "judged@k contains the same information"), "use judged@k"),
            ("num_nonjudged_ret", _because("count", "judged@k contains the same information"), "use judged@k"),
            ("Runj", _because("share of unjudged results among R", "1 − judged@k is the same"), "use judged@k"),
            ("unj", _because("share of unjudged results", "1 − judged@k is that share"), "use judged@k"),
            ("map_avgjg", _because("map over judgment groups", _GROUPS), "use map"),
            ("P_avgjg", _because("precision over judgment groups", _GROUPS), "use precision@k"),
            ("Rprec_mult_avgjg", _because("Rprec_mult over judgment groups", _GROUPS), "use r_precision"),
            ("official", "group of measures, which is not a metric", _NAME_METRICS),
            ("set", "group of measures, which is not a metric", _NAME_METRICS),
            ("all_trec", "group of measures, which is not a metric", _NAME_METRICS),
            ("all_prefs", "group of measures, which is not a metric", _NAME_METRICS),
            ("prefs", "group of measures, which is not a metric", _NAME_METRICS),
            ("qrels_jg", "group of measures, which is not a metric", _NAME_METRICS),
        ),
        "SDR's": (
            ("1-MPR", "complement of mpr, as its paper prints it", "write mpr, and subtract it from 1"),
        ),
        "recommenders'": (
            ("ARHR", _because("average reciprocal hit rank", "it sums over all gold found, and may exceed 1"),
             "write mrr, the same where a query has one gold item"),
        ),
        "scipy's": tuple(
            (name, "correlation of two lists of numbers, which is not a metric of a ranking",
             "goldrank run --task sts-b reports it; to compare two rankings use goldrank diff")
            for name in ("spearman", "pearson", "kendall", "kendalltau", "kendall_tau")
        ),
        "ir_measures'": (
            ("BPM", _because("Bejeweled Player Model", _MODEL), "use rbp or err"),
            ("INST", _because("INST", _MODEL), "use rbp or err"),
            ("INSQ", _because("INSQ", _MODEL), "use rbp or err"),
            ("NERR8", _because("approximation of ERR", "err is computed exactly"), "use err@k"),
            ("NERR9", _because("approximation of ERR", "err is computed exactly"), "use err@k"),
            ("NERR10", _because("approximation of ERR", "err is computed exactly"), "use err@k"),
            ("NERR11", _because("approximation of ERR", "err is computed exactly"), "use err@k"),
            ("SDCG", _because("scaled DCG", "it divides by gold that was never judged"), "use ndcg@k or dcg@k"),
        ),
        "BEIR's": (
            ("hole", _because("share of results judged for no query", "hits know only the judgments of their own "
             "query"), "use judged@k"),
        ),
        "mteb's": (
            ("main_score", "main score, a different metric for each task", "name the metric, such as ndcg@10"),
            ("p-mrr", _because("p-MRR", "it compares two runs under changed instructions"), "use mrr@k"),
        ),
        "sentence-transformers'": (
            *((f"{correlation}_{similarity}", "correlation of similarities with ratings, not a score of rankings",
               "for rated pairs run the task sentence-pairs (goldrank run --task sentence-pairs:FILE)")
              for correlation in ("pearson", "spearman") for similarity in _SIMILARITIES),
            *((f"{similarity}_{metric}", "score of pairs with labels, not of rankings", "use map or f1@k")
              for similarity in _SIMILARITIES for metric in ("ap", "f1", "mcc")),
        ),
        "torchmetrics'": (
            *((name, _because("fall-out", "a run does not tell how many items are irrelevant"), "use precision@k")
              for name in ("RetrievalFallOut", "retrieval_fall_out")),
            *((name, _because("recall", "it divides by the relevant among the scored items"), "write recall@k")
              for name in ("RetrievalRecall", "retrieval_recall")),
            *((name, _because("R-precision", "its R counts the relevant among the scored items"),
               "write r_precision") for name in ("RetrievalRPrecision", "retrieval_r_precision")),
            *((name, _because("curve", "a metric is one number"), "use iprec at several levels, or 11pt")
              for name in ("RetrievalPrecisionRecallCurve", "retrieval_precision_recall_curve")),
            ("RetrievalRecallAtFixedPrecision", _because("recall at a fixed precision", _NO_USE), "use recall@k"),
        ),
        "scikit-learn's": (
            ("average_precision_score", _because("average precision", "it takes tied scores as one threshold"),
             "write map(denominator=hits), the same where no scores are tied"),
            ("label_ranking_average_precision_score", _because("average precision", "it ranks tied items at their last "
             "place"), "write map(denominator=hits), the same where no scores are tied"),
            ("label_ranking_loss", _because("share of wrongly ordered pairs", "auc is its complement"),
             "write auc(unfound=skip)"),
            ("coverage_error", _because("depth that contains all relevant items", _NO_USE), "use mean_rank"),
            ("top_k_accuracy_score", _because("top-k accuracy", _CLASSIFIER), "for rankings write hit_rate@k"),
            ("accuracy_score", _because("accuracy", _CLASSIFIER), "for rankings write hit_rate@1"),
            ("precision_score", _because("precision", _CLASSIFIER), "for rankings write precision@k"),
            ("recall_score", _because("recall", _CLASSIFIER), "for rankings write recall@k"),
            ("f1_score", _because("F1", _CLASSIFIER), "for rankings write f1@k"),
        ),
    }.items()
    for name, what, remedy in rows
}  # fmt: skip
"""By name in lower case: the tool and the reason, and the remedy, in which @k stands for the cutoff."""
