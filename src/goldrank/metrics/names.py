"""Translate the names of metrics that other tools use, or reject them with the reason.

A name that two tools use for different metrics is distinguished by its exact spelling, or rejected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from goldrank.errors import InputError, shorten
from goldrank.metrics.unsupported import REFUSED
from goldrank.specs import parse_options

_MOST_LEVELS = 100


@dataclass(frozen=True)
class Written:
    """The parts of a written metric, not yet checked: the name, the options in parentheses and the cutoff."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    cut: str | None = None
    level: int | None = None
    """The relevance level of ranx's notation ``map@10-l2``."""

    def renamed(self, name: str, **options: str) -> Written:
        """Return it with another name, and with *options* that are not written."""
        return replace(self, name=name, options={**options, **self.options})

    def without(self, *options: str) -> Written:
        """Return it without some options."""
        return replace(self, options={name: value for name, value in self.options.items() if name not in options})

    def cut_at(self, cut: str) -> Written:
        """Return it with a cutoff; raise if it already has one."""
        if self.cut is not None:
            raise InputError(f"{self.name} has two cutoffs, {cut} and {self.cut}", remedy=f"write {self.name}@{cut}")
        return replace(self, cut=cut)


_FORM = (
    r"(?P<name>\w[\w.\-]*?)(?P<dotted>(?:[._]\w+=|\.[-+\d.]*,)[^()@]*)?\s*"
    r"(?:\((?P<inside>[^()]*)\))?\s*(?:@(?P<cut>[^@()]*?))?"
)
_NAUC = r"nauc_(?P<metric>map|ndcg|recall|precision|mrr)_at_(?P<cut>\d+)_(?P<confidence>max|std|diff1)"
_SIMILARITY = (
    r"(?:.+[_-])?(?P<similarity>cosine|cos_sim|dot_score|dot|euclidean|manhattan)[_-]"
    r"(?P<metric>accuracy|precision|recall|mrr|ndcg|map)"
)
"""A metric name of sentence-transformers: the name of the evaluator, if any, the similarity and the metric."""
_LEVEL = r"(?P<rest>.+[^\W_])-l(?P<level>\d+)"


_RANKS = "5,10,15,20,30,100,200,500,1000"
_LEVELS = ",".join(f"{level / 10}" for level in range(11))
# What trec_eval prints for the name of a family of measures, and by default (official).
_FAMILIES: dict[str, tuple[str, ...]] = {
    "P": (f"P@{_RANKS}",),
    "map_cut": (f"map@{_RANKS}",),
    "ndcg_cut": (f"ndcg@{_RANKS}",),
    "success": ("success@1,5,10",),
    "iprec_at_recall": (f"iprec@{_LEVELS}",),
    "official": (
        "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
        f"iprec@{_LEVELS}", f"P@{_RANKS}",
    ),
}  # fmt: skip


def expand(metric: object) -> list[str]:
    """Return the metrics that one entry of a list of metrics means, as text.

    An entry may have several cutoffs (``ndcg@1,5,10``, trec_eval's ``P.5,10``), be a list separated by commas or
    blanks, a family of trec_eval (``P``, ``official``) or a measure object of ir_measures.

    >>> expand("P.5,10"), expand("success")
    (['P.5', 'P.10'], ['success@1', 'success@5', 'success@10'])
    >>> expand("ndcg@5,10, mrr map(denominator=hits)@10")
    ['ndcg@5', 'ndcg@10', 'mrr', 'map(denominator=hits)@10']
    """
    text = as_text(metric).strip()
    if len(listed := split_list(text)) > 1:
        return [name for part in listed for name in expand(part)]
    if text in _FAMILIES:
        return [name for part in _FAMILIES[text] for name in expand(part)]
    head, at, cuts = text.rpartition("@")
    if at and "," in cuts and ")" not in cuts:
        return [f"{head}@{cut.strip()}" for cut in cuts.split(",")]
    if dotted := re.fullmatch(r"(?P<name>\w+)\.(?P<cuts>\d[\d.]*(?:,\d[\d.]*)+)", text):
        return [f"{dotted['name']}.{cut}" for cut in dotted["cuts"].split(",")]
    return [text]


def split_list(text: str) -> list[str]:
    """Split a list of metrics at commas and blanks outside of brackets; further cutoffs and parameters stay.

    >>> split_list("ndcg@5,10 mrr, map(denominator=min, rel=2)")
    ['ndcg@5,10', 'mrr', 'map(denominator=min, rel=2)']
    """
    parts: list[str] = []
    for separator, piece in _pieces(text):
        if parts and (piece[0] in "@(" or parts[-1].endswith("@")):
            # A blank before a cutoff or parameters, as in "ndcg @10".
            parts[-1] += piece
        elif parts and "," in separator and re.fullmatch(r"[\d.]+|[^(]+=[^)]+", piece):
            parts[-1] += f",{piece}"
        else:
            parts.append(piece)
    return parts


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of *text* between commas and blanks outside of brackets, each with the separator before it."""
    depth, separator, piece = 0, "", ""
    for character in text:
        if depth == 0 and (character == "," or character.isspace()):
            if piece:
                yield separator, piece
                separator, piece = "", ""
            separator += character
        else:
            depth = max(depth + (character in "([{") - (character in ")]}"), 0)
            piece += character
    if piece:
        yield separator, piece


def as_text(metric: object) -> str:
    """Return a string unchanged, and a measure object of ir_measures as its name and parameters."""
    if isinstance(metric, str):
        return metric
    if is_measure(metric):
        # str(metric) leaves out gains that equal the grade.
        parameters = ",".join(f"{name}={value!r}" for name, value in metric.params.items())  # type: ignore[attr-defined]
        return f"{metric.NAME}({parameters})"  # type: ignore[attr-defined]
    raise InputError(
        f"{shorten(metric)} of type {type(metric).__name__} is not a metric", remedy='write its name, such as "ndcg@10"'
    )


def is_measure(metric: object) -> bool:
    """Return True for a measure object of ir_measures, without importing that package."""
    return type(metric).__module__.partition(".")[0] == "ir_measures" and hasattr(metric, "params")


def split(text: str) -> Written:
    """Split a written metric into its parts: ``name``, ``name@k``, ``name(option=value, …)@k``.

    >>> split("nDCG(dcg='exp-log2', gains={0:0,1:1})@10").options
    {'dcg': 'exp-log2', 'gains': '{0:0,1:1}'}
    """
    rest, level = text.strip(), None
    if ranx := re.fullmatch(_LEVEL, rest):
        rest, level = ranx["rest"], min(int(ranx["level"]), _MOST_LEVELS + 1)
    match = re.fullmatch(_FORM, rest)
    if match is None:
        raise InputError(
            f"{shorten(text)} is not a valid metric", remedy="write name, name@k or name(parameter=value)@k"
        )
    if level is not None and not 1 <= level <= _MOST_LEVELS:
        raise InputError(
            f"the relevance level of {shorten(text)} is not a grade",
            remedy=f"write a whole number from 1 to {_MOST_LEVELS}, as in map@10-l2",
        )
    options = parse_options(match["inside"] or "", text, "parameter")
    if match["dotted"]:
        options = {**_trec_parameters(match["name"], match["dotted"][1:]), **options}
    return Written(match["name"], options, match["cut"], level)


def _trec_parameters(name: str, written: str) -> dict[str, str]:
    """Parse the parameters of trec_eval's ``ndcg.1=3.5,2=9`` and ``rbp.p=0.9``: gains of grades, and named ones."""
    if "=" not in written:
        _refuse(Written(name), name.lower())
        raise InputError(f"{name} has no parameters {shorten(written)}", remedy=f"write {name}(parameter=value)")
    pairs = [pair.partition("=")[::2] for pair in written.split(",")]
    gains = ",".join(f"{key}:{value}" for key, value in pairs if re.fullmatch(r"[+-]?\d+", key))
    named = {key: value for key, value in pairs if not re.fullmatch(r"[+-]?\d+", key)}
    return {**named, **({"gains": gains} if gains else {})}


def translate(written: Written, known: Collection[str]) -> Written:
    """Translate a name of another tool to the name and options that mean the same metric here.

    Args:
        written: The written metric.
        known: The names and aliases of goldrank in lower case.

    Returns:
        The metric under one of the *known* names, or under a name that no tool is known to use.

    Raises:
        InputError: A known tool has this metric and goldrank does not compute it, or two tools mean different metrics.
    """
    if nauc := re.fullmatch(_NAUC, written.name, re.IGNORECASE):
        inner = f"{nauc['metric'].lower()}@{nauc['cut']}"
        return written.renamed("nauc", of=inner, confidence=nauc["confidence"].lower())
    if written.cut is not None and (named := re.fullmatch(_SIMILARITY, written.name, re.IGNORECASE)):
        # The run is already ranked by that similarity.
        written = replace(written, name=named["metric"].lower())
    if written.name in _EXACT:
        return _EXACT[written.name](_shared_options(written))
    written = _read_cutoff(written, known)
    name = written.name.lower()
    _refuse(written, name)
    if name not in known and name not in _FOREIGN:
        # MeanRank, hit-ratio and rprecision differ from a known name only in the separators of words.
        name = next((other for other in (*known, *_FOREIGN) if _joined(other) == _joined(name)), name)
    if name in _FOREIGN:
        return _FOREIGN[name](_shared_options(written))
    return _shared_options(replace(written, name=name))


def unknown_metric(name: str, known: Mapping[str, str]) -> InputError:
    """Return the error for a name that no metric has.

    It suggests a metric only if all names at edit distance 1, or with the same letters in another order, mean that
    metric, because users would believe a wrong suggestion; names of three letters are too short for one.

    Args:
        name: The written name in lower case.
        known: The names and aliases of goldrank, each with the name of its metric.
    """
    from rapidfuzz.distance import OSA

    listing = "goldrank list metrics"
    glued = re.fullmatch(r"(?P<base>.*[a-z])[-_]?(?P<cut>\d+)", name)
    if glued and (glued["base"] in known or glued["base"] in _FOREIGN):
        return InputError(
            f"there is no metric {shorten(name)}", remedy=f"write {glued['base']}@{glued['cut']} ({listing})"
        )
    meanings = {**{other: reading(Written(other)).name for other, reading in _FOREIGN.items()}, **known}
    near = [
        other
        for other in meanings
        if OSA.distance(_joined(name), _joined(other), score_cutoff=1) <= 1
        or sorted(_joined(name)) == sorted(_joined(other))
    ]
    sure = len(_joined(name)) > 3 and len({meanings[other] for other in near}) == 1
    meant = f"did you mean {near[-1]!r}?" if sure else "see the list"
    return InputError(f"there is no metric {shorten(name)}", remedy=f"{meant} ({listing})")


def _joined(name: str) -> str:
    return re.sub("[-_]", "", name)


def _read_cutoff(written: Written, known: Container[str]) -> Written:
    """Parse a cutoff or parameter that is part of the name, as in ``P_10``, ``ndcg_at_10``, ``P.10`` and ``rbp.80``."""
    lower = written.name.lower()
    if lower in known or lower in _FOREIGN or lower in REFUSED:
        return written
    if mteb := re.fullmatch(r"(?P<name>.+)_at_(?P<cut>\d+)", written.name):
        return replace(written, name=mteb["name"]).cut_at(mteb["cut"])
    match = re.fullmatch(r"(?P<name>.*?[A-Za-z])(?P<mark>[_.])(?P<number>\d+(?:\.\d+)?)", written.name)
    if match is None:
        return written
    base, mark, number = match["name"].lower(), match["mark"], match["number"]
    if base in ("rbp", "rbp_resid", "rbp_residual"):
        return _read_persistence(written, base, mark, number)
    if base == "set_f":
        return _set_f(replace(written, options={"beta": number}))
    if mark == "." and base not in _TREC_CUTOFFS and base not in REFUSED:
        raise InputError(
            f"the number in {shorten(written.name)} cannot be a cutoff: after a dot, trec_eval writes one only for "
            f"{', '.join(_TREC_CUTOFFS)}",
            remedy=f"write {match['name']}@{number} if {number} is the cutoff",
        )
    return replace(written, name=match["name"]).cut_at(number)


def _read_persistence(written: Written, name: str, mark: str, number: str) -> Written:
    """Parse ranx's ``rbp.80``, where the digits are the decimals of p and the weight of an item is its grade."""
    if name == "rbp" and mark == "." and number.isdecimal():
        return written.renamed("rbp", p=f"0.{number}", gain="linear")
    raise InputError(
        f"{shorten(written.name)} does not say whether {number} is a cutoff or the persistence",
        remedy=f"write {name}@{number} or {name}(p=…)",
    )


_TREC_CUTOFFS = ("p", "recall", "map_cut", "ndcg_cut", "success", "iprec_at_recall", "relative_p", "rprec_mult", "unj")


def _shared_options(written: Written) -> Written:
    """Translate the options that many measures of ir_measures share: cutoff, recall, judged_only and dcg."""
    for option in ("cutoff", "recall"):
        if option in written.options:
            written = written.without(option).cut_at(written.options[option])
    if "judged_only" in written.options:
        if written.options["judged_only"] != "False":
            raise InputError(
                f"judged_only={written.options['judged_only']} of {written.name} is a convention here, for all metrics",
                remedy="leave it out and choose unjudged=drop (--unjudged drop)",
            )
        written = written.without("judged_only")
    if "dcg" in written.options:
        formulas = {"log2": "linear", "exp-log2": "exp"}
        formula = written.options["dcg"]
        if formula not in formulas:
            raise InputError(f"{written.name} has no dcg={shorten(formula)}", remedy="use log2 or exp-log2")
        written = written.without("dcg").renamed(written.name, gain=formulas[formula])
    return written


def _as(name: str, cutoff_option: str | None = None, **settings: str) -> Callable[[Written], Written]:
    """Return a translation to another name with settings; *cutoff_option* is the option that holds the cutoff."""

    def read(written: Written) -> Written:
        if cutoff_option is not None and cutoff_option in written.options:
            value = written.options[cutoff_option]
            written = written.without(cutoff_option)
            written = written if value == "None" else written.cut_at(value)
        return written.renamed(name, **settings)

    return read


def _accuracy(written: Written) -> Written:
    """Translate ``accuracy`` of mteb, which is recall@1, and ``accuracy@k`` of sentence-transformers, the hit rate."""
    return written.renamed("recall").cut_at("1") if written.cut is None else written.renamed("hit_rate")


def _ir_measures_accuracy(written: Written) -> Written:
    if written.cut is not None:
        k = written.cut
        raise InputError(
            f"Accuracy@{k} is the hit rate in BEIR and another metric in ir_measures, the chance that a relevant "
            f"result is ranked above one that is not among the top {k}",
            remedy=f"write hit_rate@{k}, or auc(unfound=skip) with depth={k}",
        )
    return written.renamed("auc", unfound="skip")


def _rank_biased_precision(written: Written) -> Written:
    """Translate RBP of ir_measures, which weighs by the grade unless a relevance level makes it binary."""
    return written.renamed("rbp") if "rel" in written.options else written.renamed("rbp", gain="linear")


def _set_f(written: Written) -> Written:
    """Translate the parameter of trec_eval, which ir_measures calls beta: it is beta squared."""
    squared = written.options.get("beta")
    written = written.without("beta").renamed("set_f")
    if squared is None:
        return written
    try:
        beta = math.sqrt(float(squared))
    except ValueError:
        raise InputError(f"set_F has no parameter {shorten(squared)}", remedy="write a number from 0 up") from None
    return written.renamed("set_f", beta=repr(beta))


def _set_precision(written: Written) -> Written:
    relative = written.options.get("relative", "False") != "False"
    return written.without("relative").renamed("set_relative_precision" if relative else "set_precision")


def _number_retrieved(written: Written) -> Written:
    return written.renamed("num_rel_ret" if "rel" in written.options else "num_ret")


_EXACT: dict[str, Callable[[Written], Written]] = {
    "ERR": _as("err", max="4"),
    "RBP": _rank_biased_precision,
    "Accuracy": _ir_measures_accuracy,
    "Bpref": _as("bpref", negative="unjudged"),
    "BPref": _as("bpref", negative="unjudged"),
    "SetF": _set_f,
}
"""Names that have this meaning only in this spelling."""

_ANY_CASE: dict[str, Callable[[Written], Written]] = {
    "accuracy": _accuracy,
    "top_k_accuracy": _as("hit_rate"),
    "HitRate": _as("hit_rate"),
    # In work on Wikipedia similarities: the share of the gold in the top k, averaged over queries.
    "HitRatio": _as("recall"),
    "mean_percentile_rank": _as("mpr"),
    "percentile_rank": _as("mpr"),
    "mean_reciprocal_rank": _as("mrr"),
    "reciprocal_rank": _as("mrr"),
    "mean_average_precision": _as("map"),
    "average_precision": _as("map"),
    "average_rank": _as("mean_rank"),
    "avg_rank": _as("mean_rank"),
    "R_cap": _as("recall", cap="k"),
    "recall_cap": _as("recall", cap="k"),
    "ndcg_burges": _as("ndcg", gain="exp"),
    "dcg_burges": _as("dcg", gain="exp"),
    "SetP": _set_precision,
    "NumRet": _number_retrieved,
    # scikit-learn reads only the items that were scored.
    "ndcg_score": _as("ndcg", "k", ideal="retrieved"),
    "dcg_score": _as("dcg", "k"),
    "roc_auc_score": _as("auc", unfound="skip"),
    "RetrievalMAP": _as("map", "top_k", denominator="hits"),
    "RetrievalMRR": _as("mrr", "top_k"),
    "RetrievalPrecision": _as("precision", "top_k"),
    "RetrievalHitRate": _as("hit_rate", "top_k"),
    "RetrievalNormalizedDCG": _as("ndcg", "top_k", ideal="retrieved"),
    "RetrievalAUROC": _as("auc", unfound="skip"),
    "retrieval_average_precision": _as("map", "top_k", denominator="hits"),
    "retrieval_reciprocal_rank": _as("mrr", "top_k"),
    "retrieval_precision": _as("precision", "top_k"),
    "retrieval_hit_rate": _as("hit_rate", "top_k"),
    "retrieval_normalized_dcg": _as("ndcg", "top_k", ideal="retrieved"),
    "retrieval_auroc": _as("auc", unfound="skip"),
}
_FOREIGN = {name.lower(): reading for name, reading in _ANY_CASE.items()}


def refuse_other_similarity(metrics: Iterable[object], similarity: str) -> None:
    """Raise if a metric name of sentence-transformers contains another similarity than the one that ranks."""
    same = {"cos_sim": "cosine", "dot_score": "dot", "euclidean": "l2"}
    for text in (name for metric in metrics if isinstance(metric, str) for name in expand(metric)):
        head, _, cut = text.rpartition("@")
        named = re.fullmatch(_SIMILARITY, head.strip(), re.IGNORECASE)
        if named and same.get(named["similarity"].lower(), named["similarity"].lower()) != similarity:
            raise InputError(
                f"{shorten(text)} names the similarity {named['similarity']}, but the items are ranked by {similarity}",
                remedy=f"write {named['metric'].lower()}@{cut}, or choose the similarity",
            )


def foreign_names(metric: str) -> dict[str, str]:
    """Return the names of other tools for variants of *metric*, each with the variant."""
    readings = {name: reading(Written(name)) for name, reading in {**_ANY_CASE, **_EXACT}.items()}
    return {name: _shown(reading) for name, reading in readings.items() if reading.name == metric}


def _shown(reading: Written) -> str:
    options = ",".join(f"{option}={value}" for option, value in reading.options.items())
    return reading.name + (f"({options})" if options else "") + (f"@{reading.cut}" if reading.cut else "")


def _refuse(written: Written, name: str) -> None:
    """Raise if a known tool has a metric of that name and goldrank does not compute it."""
    if name in REFUSED:
        what, remedy = REFUSED[name]
        raise InputError(
            f"{shorten(written.name)} is {what}",
            remedy=remedy.replace("@k", f"@{written.cut}") if (written.cut or "").isdecimal() else remedy,
        )
    if name.startswith("prefs_"):
        raise InputError(
            f"{shorten(written.name)} is trec_eval's, and goldrank does not compute it because it needs judgments "
            "that prefer one item to another",
            remedy="with graded gold, use bpref or ndcg",
        )
    if re.fullmatch(_SIMILARITY, written.name, re.IGNORECASE) is not None:
        raise InputError(
            f"{shorten(written.name)} is sentence-transformers' score of labelled pairs or triplets, not of rankings, "
            "where it has no cutoff",
            remedy="for rankings write it with a cutoff, as in cosine_accuracy@1",
        )
