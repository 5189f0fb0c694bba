"""The peers: each reads gold and a run with its own reader or takes them as dicts, and gives nDCG@10 or a recall."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import logging
import math
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.traps.trap import Outcome, Peers, Trap, working_folder

PEERS = {
    "pytrec_eval": "pytrec_eval",
    "ranx": "ranx",
    "ir_measures": "ir_measures",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
    "mteb": "mteb",
}
"""Each peer with the module that must be installed."""
READERS = frozenset({"pytrec_eval", "ranx", "ir_measures"})
"""Peers with a reader of TREC files of their own; the others are given the rows that `line.split()` yields."""
TOLERANCE = 1e-5
"""mteb rounds its numbers to five digits."""


def installed() -> list[str]:
    """The peers that can be imported here."""
    return [name for name, module in PEERS.items() if importlib.util.find_spec(module) is not None]


def ask(name: str, trap: Trap) -> Outcome:
    """What the peer does about the planted error."""
    sources = trap.peers
    if sources is None or name in sources.without:
        return "–"
    if (sources.texts or sources.vectors) and name != "sentence-transformers":
        return "–"
    _warm_up(name)
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setLevel(logging.WARNING)
    root = logging.getLogger()
    with working_folder(trap) as folder, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        root.addHandler(handler)
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                values = _measure(name, sources, folder)
        except Exception:
            return "caught"
        finally:
            root.removeHandler(handler)
    about_data = [entry for entry in seen if not issubclass(entry.category, (DeprecationWarning, FutureWarning))]
    if about_data or output.getvalue().strip() or any(map(math.isnan, values)):
        return "warned"
    if sources.truth is not None and all(abs(value - sources.truth) <= TOLERANCE for value in values):
        return "right"
    return "SILENT"


@cache
def _warm_up(name: str) -> None:
    """Import and compile what the peer needs, so that the warnings of that are not taken for warnings about data."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        _FROM_DICTS[name]({"q": {"d": 1}}, {"q": {"d": 1.0, "e": 0.5}}, "ndcg@10")


def _measure(name: str, given: Peers, folder: Path) -> list[float]:
    if given.texts or given.vectors:
        return [_evaluate_collection(folder, from_files=given.vectors)]
    if given.load is not None:
        gold, runs = given.load(folder)
        return [_FROM_DICTS[name](gold, run, given.metric) for run in runs]
    if name in READERS:
        return [_FROM_FILES[name](folder / "qrels.txt", folder / run, given.metric) for run in given.runs]
    gold = _split(folder / "qrels.txt", 0, 2, 3, int)
    return [_FROM_DICTS[name](gold, _split(folder / run, 0, 2, 4, float), given.metric) for run in given.runs]


def _split(path: Path, query: int, item: int, value: int, number: Callable[[str], Any]) -> dict[str, dict[str, Any]]:
    """The loader that most scripts have."""
    rows: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        cells = line.split()
        rows.setdefault(cells[query], {})[cells[item]] = number(cells[value])
    return rows


def _pytrec_dicts(gold: Any, run: Any, metric: str) -> float:
    import pytrec_eval

    name = metric.replace("ndcg@", "ndcg_cut_").replace("recall@", "recall_")
    rows = pytrec_eval.RelevanceEvaluator(gold, {name}).evaluate(run)
    return float(sum(row[name] for row in rows.values()) / len(rows))


def _pytrec_files(gold: Path, run: Path, metric: str) -> float:
    import pytrec_eval

    with gold.open() as judged, run.open() as ranked:
        return _pytrec_dicts(pytrec_eval.parse_qrel(judged), pytrec_eval.parse_run(ranked), metric)


def _ranx_dicts(gold: Any, run: Any, metric: str) -> float:
    from ranx import Qrels, Run, evaluate

    return float(evaluate(Qrels(gold), Run(run), metric))


def _ranx_files(gold: Path, run: Path, metric: str) -> float:
    from ranx import Qrels, Run, evaluate

    return float(evaluate(Qrels.from_file(str(gold), kind="trec"), Run.from_file(str(run), kind="trec"), metric))


def _ir_measures_dicts(gold: Any, run: Any, metric: str) -> float:
    import ir_measures

    measure = ir_measures.parse_measure(metric.replace("ndcg", "nDCG").replace("recall", "R"))
    return float(ir_measures.calc_aggregate([measure], gold, run)[measure])


def _ir_measures_files(gold: Path, run: Path, metric: str) -> float:
    import ir_measures

    return _ir_measures_dicts(
        list(ir_measures.read_trec_qrels(str(gold))), list(ir_measures.read_trec_run(str(run))), metric
    )


def _sklearn_dicts(gold: Any, run: Any, metric: str) -> float:
    from sklearn.metrics import ndcg_score

    values = []
    for query, judged in gold.items():
        items = sorted({*judged, *run[query]})
        low = min(run[query].values()) - 1
        truth, scores = [[judged.get(item, 0) for item in items]], [[run[query].get(item, low) for item in items]]
        values.append(ndcg_score(truth, scores, k=int(metric.partition("@")[2])))
    return float(sum(values) / len(values))


def _sentence_transformers_dicts(gold: Any, run: Any, metric: str) -> float:
    from sentence_transformers.evaluation import InformationRetrievalEvaluator

    name, _, cutoff = metric.partition("@")
    relevant = {query: {item for item, grade in judged.items() if grade > 0} for query, judged in gold.items()}
    corpus = {item: "" for rows in (gold, run) for ranking in rows.values() for item in ranking}
    evaluator = InformationRetrievalEvaluator(
        dict.fromkeys(gold, ""), corpus, relevant, ndcg_at_k=[int(cutoff)], precision_recall_at_k=[int(cutoff)]
    )
    rankings = [
        [{"corpus_id": item, "score": score} for item, score in run.get(query, {}).items()]
        for query in evaluator.queries_ids
    ]
    return float(evaluator.compute_metrics(rankings)[f"{name}@k"][int(cutoff)])


def _evaluate_collection(folder: Path, *, from_files: bool) -> float:
    """The evaluator of sentence-transformers on a collection in the layout of BEIR."""
    import numpy as np
    import torch
    from sentence_transformers.evaluation import InformationRetrievalEvaluator
    from sentence_transformers.util import cos_sim

    from goldrank.encoders.wordllama import WordLlama
    from goldrank.specs import Spec

    def read(name: str) -> dict[str, str]:
        records = map(json.loads, (folder / "data" / name).read_text().splitlines())
        return {record["_id"]: record["text"] for record in records}

    class Model:
        def encode_query(self, texts: list[str], **_: object) -> object:
            return self._vectors("queries.npy", texts)

        def encode_document(self, texts: list[str], **_: object) -> object:
            return self._vectors("items.npy", texts)

        def _vectors(self, name: str, texts: list[str]) -> object:
            array = np.load(folder / name) if from_files else WordLlama(Spec.parse("wordllama")).encode_items(texts)
            return torch.from_numpy(np.ascontiguousarray(array[: len(texts)]))

    queries, corpus = read("queries.jsonl"), read("corpus.jsonl")
    relevant: dict[str, set[str]] = {}
    for line in (folder / "data" / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, item, _ = line.split("\t")
        relevant.setdefault(query, set()).add(item)
    evaluator = InformationRetrievalEvaluator(queries, corpus, relevant, score_functions={"cosine": cos_sim})
    return float(evaluator.compute_all_metrics(Model(), corpus_embeddings=None)["cosine"]["ndcg@k"][10])


def _mteb_dicts(gold: Any, run: Any, metric: str) -> float:
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    name, _, cutoff = metric.partition("@")
    result = calculate_retrieval_scores(run, gold, [int(cutoff)])
    return float(result.ndcg[f"NDCG@{cutoff}"] if name == "ndcg" else result.recall[f"Recall@{cutoff}"])


_FROM_DICTS: dict[str, Callable[[Any, Any, str], float]] = {
    "pytrec_eval": _pytrec_dicts,
    "ranx": _ranx_dicts,
    "ir_measures": _ir_measures_dicts,
    "scikit-learn": _sklearn_dicts,
    "sentence-transformers": _sentence_transformers_dicts,
    "mteb": _mteb_dicts,
}
_FROM_FILES: dict[str, Callable[[Path, Path, str], float]] = {
    "pytrec_eval": _pytrec_files,
    "ranx": _ranx_files,
    "ir_measures": _ir_measures_files,
}
