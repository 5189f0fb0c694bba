"""Metrics of the ranks of gold items: mean rank, median rank, mean percentile rank, AUC."""

from __future__ import annotations

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats
from goldrank.metrics.definition import RELEVANT, Definition, Parameter, Setting, Values, register
from goldrank.metrics.placement import Placement
from goldrank.metrics.precision_recall import ratio

UNFOUND = Parameter(
    "unfound",
    "gold that is not in the ranking: refuse; skip it; last = rank it behind everything",
    "refuse",
    ("refuse", "skip", "last"),
)


def _refuse_unfound(p: Placement, metric: str, unfound: str, rel: float | None) -> Floats:
    """Count the unranked relevant gold items of each query that count as ranked last; raise if *unfound* is refuse."""
    relevant = p.is_relevant(p.grade, rel)
    absent = p.relevant_count(rel) - p.total(p.query[relevant])
    if unfound == "refuse" and absent.any():
        total = int(p.relevant_count(rel).sum())
        why = "they are not in the corpus" if p.exhaustive else "the rankings are cut or the corpus lacks them"
        raise InputError(
            f"{metric} needs the rank of every gold item, but {int(absent.sum())} of {total} are not ranked ({why})",
            remedy=f"say what they count as: {metric}(unfound=skip) or {metric}(unfound=last)",
        )
    return absent if unfound == "last" else np.zeros(p.count)


def _last_rank(p: Placement) -> Floats:
    """Return the rank of an item after all others: one below the ranking if the corpus is not known."""
    return (p.depth + 1 if p.candidates is None else p.candidates).astype(np.float64)


def _summed_ranks(p: Placement, rel: float | None, absent: Floats) -> tuple[Floats, Floats]:
    relevant = p.is_relevant(p.grade, rel)
    query = p.query[relevant]
    ranks = p.alone[relevant] + (p.alone_size[relevant] + 1) / 2
    return p.total(query, ranks) + absent * _last_rank(p), p.total(query) + absent


def _undefined_where_empty(total: Floats, count: Floats) -> Floats:
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _first_rank(p: Placement, rel: float | None, absent: Floats) -> Floats:
    first = p.groups(rel).of_first()
    values = np.where(absent > 0, _last_rank(p), np.nan)
    # The first of m items at random positions among t is at (t + 1) / (m + 1) on average.
    values[first.query] = first.start + (first.size + 1) / (first.relevant + 1)
    return values


def _mean_rank(p: Placement, k: None, of: str, unfound: str, rel: float | None) -> Values:
    absent = _refuse_unfound(p, "mean_rank", unfound, rel)
    if of == "first":
        return Values(_first_rank(p, rel, absent))
    total, count = _summed_ranks(p, rel, absent)
    return Values(_undefined_where_empty(total, count), weights=count)


def _median_rank(p: Placement, k: None, unfound: str, rel: float | None) -> Values:
    return Values(_first_rank(p, rel, _refuse_unfound(p, "median_rank", unfound, rel)))


def _mpr(
    p: Placement,
    k: None,
    origin: int,
    over: Setting,
    average: str,
    weights: str,
    unfound: str,
    rel: float | None,
) -> Values:
    absent = _refuse_unfound(p, "mpr", unfound, rel)
    relevant = p.is_relevant(p.grade, rel)
    query = p.query[relevant]
    scale = _scale(p, over, rel)
    weight = p.grade[relevant] if weights == "grade" else np.ones(len(query))
    places = p.alone[relevant] + (p.alone_size[relevant] - 1) / 2 + origin
    total = p.total(query, weight * ratio(places, scale[query])) + absent * ratio(_last_rank(p) - 1 + origin, scale)
    count = p.total(query, weight) + absent
    return Values(_undefined_where_empty(total, count), weights=count if average == "pairs" else None)


def _scale(p: Placement, over: Setting, rel: float | None) -> Floats:
    if isinstance(over, (int, float)):
        return np.full(p.count, float(over))
    if over == "list":
        return p.depth.astype(np.float64)
    if over == "gold":
        return p.relevant_count(rel)
    if over == "queries":
        return np.full(p.count, float(p.count))
    if p.candidates is None:
        raise InputError(
            "mpr divides by the size of the corpus, which a run does not contain",
            remedy="give it (--corpus N, or a file of ids), or use mpr(over=list) if rankings are complete",
        )
    return p.candidates.astype(np.float64) - (over == "items-1")


def _auc(p: Placement, k: None, unfound: str, rel: float | None) -> Values:
    absent = _refuse_unfound(p, "auc", unfound, rel)
    relevant = p.is_relevant(p.grade, rel)
    query = p.query[relevant]
    ranks = p.total(query, p.start[relevant] + (p.size[relevant] + 1) / 2)
    ranked = p.total(query)
    others = p.depth - ranked
    # Ranks sum to R(R+1)/2 if every relevant item leads; each inversion with another item adds one. Unranked gold
    # is ranked after every other item.
    inversions = ranks - ranked * (ranked + 1) / 2 + absent * others
    pairs = (ranked + absent) * others
    return Values(np.where(pairs > 0, 1.0 - ratio(inversions, pairs), np.nan))


register(
    Definition(
        "mean_rank",
        "Mean rank",
        "mean of the ranks of the gold items",
        _mean_rank,
        range="[1, corpus]",
        direction="lower",
        cutoff="none",
        parameters=(
            Parameter("of", "all gold items, or the first of each query", "all", ("all", "first")),
            UNFOUND,
            RELEVANT,
        ),
        aliases=("mr",),
        cite="Bordes et al., 2013",
        tools=(("EvalRank", "MR over positive pairs"),),
    )
)
register(
    Definition(
        "median_rank",
        "Median rank",
        "median over queries of the rank of the first relevant item",
        _median_rank,
        range="[1, corpus]",
        direction="lower",
        cutoff="none",
        parameters=(UNFOUND, RELEVANT),
        aggregate="median",
        aliases=("medr",),
        cite="Frome et al., DeViSE, 2013",
        tools=(("cross-modal retrieval papers", "MedR"),),
    )
)
register(
    Definition(
        "mpr",
        "Mean percentile rank",
        "mean over gold items of (rank − 1 + origin) / over",
        _mpr,
        direction="lower",
        cutoff="none",
        parameters=(
            Parameter("origin", "what the first place counts as", 0, (0, 1)),
            Parameter(
                "over",
                "what ranks are divided by: items or items-1 that could be ranked, the list's length, the number of "
                "gold documents, the number of queries, or a number",
                "items-1",
                ("items-1", "items", "list", "gold", "queries"),
                number="float",
                low=1,
            ),
            Parameter("average", "over all (query, gold) pairs, or per query first", "pairs", ("pairs", "queries")),
            Parameter("weights", "grade weighs each pair by its grade", "none", ("none", "grade")),
            UNFOUND,
            RELEVANT,
        ),
        cite="Hu et al., 2008; Ginzburg et al., SDR, 2021",
        tools=(
            (
                "SDR",
                "mpr(over=list, weights=grade, unfound=skip) after dropping the first result; the paper prints 1 − MPR",
            ),
            (
                "transformer_document_embedding, 2023",
                "mpr(over=1000, unfound=skip) after dropping the first result",
            ),
            ("transformer_document_embedding, 2024", "mpr: (r − 1) / (max − 1)"),
            ("its project note", "mpr(over=gold): hit index / number of gold documents, which can exceed 1"),
            ("its other note", "mpr(over=items): hit index / number of samples"),
        ),
        notes="0 is best. For rankings that do not contain the whole corpus, `unfound` and `over` must be set.",
    )
)
register(
    Definition(
        "auc",
        "Area under the ROC curve",
        "probability that a relevant item is ranked above another item, where a tie counts half",
        _auc,
        cutoff="none",
        parameters=(UNFOUND, RELEVANT),
        aliases=("roc_auc",),
        cite="Hanley & McNeil, 1982",
        tools=(("sklearn", "roc_auc_score of one query's ranked items, with ties=expected"),),
        notes="Items without a judgment count as not relevant. Undefined for a query whose ranking is all relevant "
        "or contains no relevant item.",
    )
)
