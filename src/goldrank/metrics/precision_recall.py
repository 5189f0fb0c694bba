"""Metrics of the top k: precision, recall, hit rate, hits, F1, R-precision and the share of judged items."""

from __future__ import annotations

import numpy as np

from goldrank.hits import Floats
from goldrank.metrics.definition import AVERAGE, RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.expectation import none_in_sample, share_within
from goldrank.metrics.placement import Placement


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Compute ``top / bottom``, and 0 where the divisor is 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def found_within(p: Placement, k: int | None, rel: float | None) -> Floats:
    """Count the relevant items in the top *k* of each query; under ``expected`` ties, the expected number."""
    relevant = p.is_relevant(p.grade, rel)
    query = p.query[relevant]
    return p.total(query, share_within(p.start[relevant], p.size[relevant], k))


def _length(p: Placement, k: int | None) -> Floats:
    return p.depth.astype(np.float64) if k is None else np.full(p.count, float(k))


def _precision(p: Placement, k: int | None, rel: float | None) -> Values:
    return Values(ratio(found_within(p, k, rel), _length(p, k)))


def _recall(p: Placement, k: int | None, cap: str, rel: float | None) -> Values:
    relevant = p.relevant_count(rel)
    bottom = np.minimum(relevant, k) if cap == "k" and k is not None else relevant
    return Values(ratio(found_within(p, k, rel), bottom))


def _hit_rate(p: Placement, k: int | None, rel: float | None) -> Values:
    first = p.groups(rel).of_first()
    chance = np.ones(len(first.query))
    if k is not None:
        chance = np.where(first.start < k, 1.0, 0.0)
        cut = np.flatnonzero((first.start < k) & (first.start + first.size > k))
        chance[cut] = 1.0 - none_in_sample(first.size[cut], first.relevant[cut], k - first.start[cut])
    values = np.zeros(p.count)
    values[first.query] = chance
    return Values(values)


def _hits(p: Placement, k: int | None, average: str, rel: float | None) -> Values:
    relevant = p.is_relevant(p.grade, rel)
    found = p.total(p.query[relevant], share_within(p.alone[relevant], p.alone_size[relevant], k))
    return averaged(found, p.relevant_count(rel), average)


def averaged(total: Floats, gold: Floats, average: str) -> Values:
    """Average over the gold items of each query, and weight each query by its number of gold items, or all equally."""
    if average == "items":
        return Values(ratio(total, gold), weights=gold)
    return Values(np.where(gold > 0, ratio(total, gold), np.nan))


def _f1(p: Placement, k: int | None, rel: float | None) -> Values:
    return Values(ratio(2 * found_within(p, k, rel), _length(p, k) + p.relevant_count(rel)))


def _r_precision(p: Placement, k: None, rel: float | None) -> Values:
    gold = p.relevant_count(rel)
    relevant = p.is_relevant(p.grade, rel)
    query = p.query[relevant]
    share = share_within(p.start[relevant], p.size[relevant], gold[query])
    return Values(ratio(p.total(query, share), gold))


def _judged(p: Placement, k: int | None) -> Values:
    length = np.minimum(_length(p, k), p.depth)
    return Values(ratio(p.total(p.query, share_within(p.start, p.size, k)), length))


register(
    Definition(
        "precision",
        "Precision",
        "relevant in the top k / k  (without a cutoff: / results)",
        _precision,
        parameters=(RELEVANT,),
        aliases=("p", "prec"),
        cite="Kent et al., 1955",
        tools=(
            ("trec_eval", "P_k: divides by k even when fewer results were returned"),
            ("ranx", "precision@k: the same"),
            ("sentence-transformers", "precision@k: the same"),
            ("BGE tutorial", "precision@k: the same"),
        ),
    )
)
register(
    Definition(
        "recall",
        "Recall",
        "relevant in the top k / relevant in the gold  (cap=k: / min(k, relevant in the gold))",
        _recall,
        parameters=(
            Parameter("cap", "k divides by min(k, R): the best a top k can reach is then 1", "none", ("none", "k")),
            RELEVANT,
        ),
        aliases=("r", "hr"),
        cite="Kent et al., 1955; capped: Thakur et al., BEIR, 2021",
        tools=(
            ("trec_eval", "recall_k: cap=none"),
            ("ranx, ir_measures, sentence-transformers", "recall@k: cap=none"),
            ("BEIR", "Recall@k: cap=none; R_cap@k: cap=k"),
            ("mteb", "recall_at_k: cap=none; R_cap_at_k: cap=k; accuracy is recall@1"),
            ("BGE tutorial", "recall@k: cap=k"),
            (
                "SDR",
                "HR@k, which its code prints as hit_rate_k, is this recall, gold outside the corpus counted as missed",
            ),
            ("transformer_document_embedding", "HR@k is this recall, gold outside the corpus taken out"),
            ("Long-Document-Similarity", "HR@k (Hit Ratio at k) is this recall"),
        ),
        notes="HR@k and HitRatio@k are this recall, averaged per query, as in the Wikipedia-similarities papers; "
        "pooled over all gold it is `hits`. The hit rate of recommenders, any gold in the top k, is `hit_rate`; the "
        "profiles sdr and tde refuse that name because SDR means this recall by it.",
    )
)
register(
    Definition(
        "hit_rate",
        "Hit rate (success)",
        "1 if any relevant item is in the top k, else 0",
        _hit_rate,
        parameters=(RELEVANT,),
        proportion=True,
        aliases=("success", "hit"),
        cite="Deshpande & Karypis, 2004",
        tools=(
            ("trec_eval", "success_k"),
            ("ir_measures", "Success@k"),
            ("ranx", "hit_rate@k"),
            ("sentence-transformers", "accuracy@k"),
            ("mteb", "hit_rate_at_k; its accuracy is recall@1"),
            ("BEIR", "Accuracy@k; ir_measures' Accuracy@k is another metric, so that the capital name is refused"),
        ),
    )
)
register(
    Definition(
        "hits",
        "Hits@k, pooled over gold items",
        "gold items in the top k / gold items, over all queries together",
        _hits,
        parameters=(AVERAGE, RELEVANT),
        cite="Bordes et al., 2013; Wang et al., Just Rank, 2022",
        tools=(
            ("EvalRank", "Hits@k over positive pairs"),
            ("PyKEEN and other link predictors", "Hits@k over triples"),
            ("ranx", "hits@k is something else: the number of relevant items in the top k"),
        ),
        notes="Each gold item is ranked on its own: under optimistic ties all tied gold items share the best rank. "
        "The interval resamples queries, so that gold items of one query stay together.",
    )
)
register(
    Definition(
        "f1",
        "F1 of precision and recall",
        "2PR / (P + R) = 2·relevant in the top k / (k + relevant in the gold)",
        _f1,
        parameters=(RELEVANT,),
        cite="van Rijsbergen, 1979",
        tools=(("ranx", "f1@k"), ("trec_eval", "set_F is this without a cutoff")),
    )
)
register(
    Definition(
        "r_precision",
        "R-precision",
        "precision at k = R, the number of relevant items in the gold",
        _r_precision,
        cutoff="none",
        parameters=(RELEVANT,),
        aliases=("rprec", "r-precision"),
        cite="Buckley & Voorhees, 2005",
        tools=(("trec_eval", "Rprec"), ("ir_measures", "Rprec"), ("ranx", "r-precision")),
    )
)
register(
    Definition(
        "judged",
        "Share of judged results",
        "judged items in the top k / items in the top k",
        _judged,
        direction="neither",
        aliases=("judged_at",),
        cite="MacAvaney et al., ir_measures, 2022",
        tools=(
            ("ir_measures", "Judged@k"),
            ("BEIR", "Hole@k = 1 − this, against the items judged for any query"),
        ),
        notes="Low values mean that the scores rest on few judgments: unjudged items count as not relevant.",
    )
)
