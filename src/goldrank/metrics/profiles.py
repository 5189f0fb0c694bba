"""Profiles: named sets of conventions that reproduce the numbers of known tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from goldrank.errors import InputError, unknown_name
from goldrank.metrics.conventions import Conventions
from goldrank.metrics.definition import Metric, Setting


@dataclass(frozen=True)
class Profile:
    """The conventions of one tool: how hits become ranks, and which variant of each metric it computes."""

    name: str
    title: str
    conventions: Conventions = field(default_factory=Conventions)
    settings: Mapping[str, Mapping[str, Setting]] = field(default_factory=dict)
    metrics: tuple[str, ...] = ("ndcg@10", "map", "mrr@10", "recall@100", "precision@10")
    """The metrics that the tool prints, and that are scored by default."""
    notes: str = ""

    other_meanings: Mapping[str, str] = field(default_factory=dict)
    """Metrics of goldrank whose name means another metric in this tool, each with what to write instead."""

    def apply(self, metric: Metric, relevance_level: float | None = None) -> Metric:
        """Return the metric as this tool computes it; parameters that are set in *metric* stay.

        Args:
            metric: The requested metric.
            relevance_level: The smallest grade that is relevant, for metrics with binary relevance.

        Raises:
            InputError: The tool uses the name for another metric.
        """
        if metric.name in self.other_meanings:
            raise InputError(
                f"{metric.name} means another metric in {self.name}", remedy=self.other_meanings[metric.name]
            )
        applied = metric.with_defaults(self.settings.get(metric.name, {}))
        binary = "rel" in applied.parameters and applied.parameters.get("gain", "binary") == "binary"
        return applied.with_defaults({"rel": relevance_level}) if binary and relevance_level is not None else applied


_TREC9_SETTINGS: dict[str, dict[str, Setting]] = {
    "bpref": {"negative": "unjudged"},
    "infap": {"negative": "unjudged"},
}
_TREC_SETTINGS: dict[str, dict[str, Setting]] = {
    **_TREC9_SETTINGS,
    "iprec": {"rounding": "nearest"},
    "11pt": {"rounding": "nearest"},
    "rbp": {"p": 0.9, "gain": "relative"},
    "rbp_residual": {"p": 0.9, "negative": "unjudged", "tail": "if_unjudged"},
}
_TREC_METRICS = ("map", "gmap", "r_precision", "bpref", "mrr", "ndcg@10", "precision@10", "recall@100")

_SDR_MEANINGS = {
    "hit_rate": "the hit_rate_k of SDR, its HR@k, is the share of the gold in the top k: write recall@k or HR@k; "
    "whether any gold is in the top k is hit_rate@k of other profiles"
}

_ALL = (
    Profile(
        "standard",
        "The default: 1-based exact ranks, every gold query counted, textbook denominators.",
    ),
    Profile(
        "trec_eval",
        "trec_eval 10: double-precision scores, recall levels rounded to the nearest item; queries without results are "
        "dropped from the mean.",
        Conventions(missing="skip", scores="similarity"),
        _TREC_SETTINGS,
        _TREC_METRICS,
        "`trec_eval -c` counts queries without results as 0: missing=zero; `-J` drops unjudged results: unjudged=drop; "
        "`-l N` is relevance_level=N (with `-c`, its num_rel ignores that); `-M N` is depth=N. Grades below 0 count as "
        "unjudged members of the pool. Its rbp scales grades above 1 by a highest gain that it does not initialise, so "
        "that its value for graded gold may depend on the build; goldrank takes the highest grade of the query.",
    ),
    Profile(
        "trec_eval9",
        "trec_eval up to 9.0.8 and pytrec_eval: scores rounded to float32, which makes further ties.",
        Conventions(missing="skip", precision="float32", scores="similarity"),
        _TREC9_SETTINGS,
        _TREC_METRICS,
        "Two scores that differ only beyond float32 are tied here and ordered by id.",
    ),
    Profile(
        "ir_measures",
        "ir_measures through pytrec_eval: as trec_eval9, with queries without results counted as 0.",
        Conventions(precision="float32", scores="similarity"),
        _TREC9_SETTINGS,
        ("ndcg@10", "map", "mrr", "recall@100", "precision@10"),
        "RR@k, Judged@k, ERR@k and the exponential gain of nDCG come from other programs there, which order ties "
        "in ways of their own; here every metric has the one order of trec_eval.",
    ),
    Profile(
        "sdr",
        "SDR's Wikipedia evaluation (Ginzburg et al., 2021): 0-based ranks after the first result is dropped.",
        Conventions(ties="input", missing="skip", self_matches="first", outside="drop_queries"),
        {
            "mrr": {"origin": 0, "unfound": "skip", "worst": "queries"},
            "mpr": {"origin": 0, "over": "list", "weights": "grade", "unfound": "skip"},
        },
        ("mrr", "mpr", "recall@10", "recall@100"),
        "The first result is assumed to be the query without a check; ranks 0 and 1 both have reciprocal 1; HR@k "
        "(hit_rate_k in its code) is recall with gold outside the corpus counted as missed; the paper prints "
        "1 − MPR.",
        _SDR_MEANINGS,
    ),
    Profile(
        "tde",
        "transformer_document_embedding, 2023 tables: as SDR, lists cut at 1000, gold outside the corpus removed.",
        Conventions(ties="input", missing="skip", self_matches="first", outside="drop", depth=1000),
        {"mrr": {"origin": 0}, "mpr": {"origin": 0, "over": 1000, "unfound": "skip"}},
        ("mrr", "mpr", "recall@10", "recall@100"),
        "MPR is over the gold found in the top 1000 only. Its 2024 tables use 1-based ranks: profile standard.",
        _SDR_MEANINGS,
    ),
    Profile(
        "evalrank",
        "EvalRank (Wang et al., Just Rank, 2022): optimistic ties, the query itself not excluded.",
        Conventions(ties="optimistic", self_matches="implied"),
        {"mrr": {"of": "all"}, "mean_rank": {"of": "all"}},
        ("mean_rank", "mrr", "hits@1", "hits@3"),
        "The rank is the number of items with a strictly higher score, at least 1: the query itself is one of them. "
        "A model that gives all items the same score gets 1.0. The rounding error of the reference, by which the gold "
        "can beat itself, is not reproduced.",
    ),
    Profile(
        "bge",
        "The BGE evaluation tutorial: recall over min(k, R), MAP over the relevant items retrieved.",
        Conventions(ties="input"),
        {"recall": {"cap": "k"}, "map": {"denominator": "hits"}},
        ("recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10", "precision@10", "map@10"),
        "Its printed nDCG comes from document ids passed as scores, an error in its input and not a convention; "
        "nDCG is correct here.",
    ),
    Profile(
        "beir",
        "BEIR through pytrec_eval: float32 scores, results with the query's id dropped.",
        Conventions(missing="skip", precision="float32", self_matches="drop_results", scores="similarity"),
        {},
        ("ndcg@10", "map@100", "recall@100", "precision@10"),
        "The query's id is dropped from the results but not from the gold, so a perfect run can score below 1. "
        "Its MRR@k, R_cap@k = recall(cap=k)@k and Accuracy@k = hit_rate@k keep the input order of ties, compare the "
        "scores as they are, and divide by all queries of the gold.",
    ),
    Profile(
        "mteb",
        "mteb 2 through pytrec_eval: float32 scores, results with the query's id kept.",
        Conventions(missing="skip", precision="float32", scores="similarity"),
        {},
        ("ndcg@10", "map@10", "recall@10", "precision@10", "mrr@10", "hit_rate@10"),
        "Tasks that set ignore_identical_ids, such as ArguAna, Quora and FEVER, drop the query's id from the results: "
        "add self_matches=drop_results for them. Its MRR@k compares the scores as they are. It rounds to five digits.",
    ),
    Profile(
        "sentence-transformers",
        "InformationRetrievalEvaluator: binary nDCG, MAP over min(k, R).",
        Conventions(ties="input"),
        {"ndcg": {"gain": "binary"}, "map": {"denominator": "min"}},
        ("hit_rate@10", "precision@10", "recall@10", "mrr@10", "ndcg@10", "map@100"),
        "Gold is a set there: every grade above 0 counts 1. goldrank keeps the input order of ties: that of the "
        "predictions which version 6 writes, where tied items ascend by id. Earlier versions have the order of a heap, "
        "which is not reproducible.",
    ),
    Profile(
        "ranx",
        "ranx: linear nDCG, MAP over R; queries without results are refused.",
        Conventions(ties="input", missing="error"),
        {"rbp": {"gain": "linear"}},
        ("ndcg@10", "map@100", "mrr@10", "recall@100", "precision@10"),
        "Its rbp weighs each item by its grade. Its sort is unstable, so tied scores come in any order there; goldrank "
        "keeps the input order.",
        {
            "hits": "for ranx's hits@k, the mean number of relevant items in the top k, write num_rel_ret@k and "
            "divide by the number of queries"
        },
    ),
    Profile(
        "sklearn",
        "sklearn.metrics.ndcg_score and dcg_score: tied scores averaged, the ideal order of the scored items only.",
        Conventions(ties="expected"),
        {"ndcg": {"gain": "linear", "ideal": "retrieved"}, "dcg": {"gain": "linear"}},
        ("ndcg@10", "ndcg", "dcg@10", "auc(unfound=skip)"),
        "sklearn sees only the items that were scored: gold that was not retrieved does not count against a run.",
    ),
)

PROFILES: dict[str, Profile] = {entry.name: entry for entry in _ALL}


def find_profile(name: str | Profile) -> Profile:
    """Return the profile of that name."""
    if isinstance(name, Profile):
        return name
    if name not in PROFILES:
        raise unknown_name("profile", name, PROFILES, "goldrank list profiles")
    return PROFILES[name]
