"""The timed work of each peer, one job per process; prints its CPU seconds, peak memory and a result to compare."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import write_collection
from benchmarks.measure import peak_memory, warm_up

METRICS = ["ndcg@10", "map", "mrr@10", "recall@100", "precision@10"]
Job = Callable[[str, str], tuple[float, dict[str, float]]]


def _timed(work: Callable[[], dict[str, float]]) -> tuple[float, dict[str, float]]:
    warm_up()
    before = time.process_time()
    result = work()
    return time.process_time() - before, result


def goldrank_file(qrels: str, run: str) -> tuple[float, dict[str, float]]:
    import goldrank as gr

    # Warm: the modules that load when they are first used, as a peer's load with its import.
    with TemporaryDirectory() as folder:
        small_gold, small_run = write_collection(Path(folder), "small", 50, 100, 2, 1)
        gr.score(gr.Gold.read(small_gold), gr.Run.read(small_run), METRICS)

    def work() -> dict[str, float]:
        scores = gr.score(gr.Gold.read(qrels), gr.Run.read(run, threads=1), METRICS)
        return {name: score.value for name, score in scores.items()}

    return _timed(work)


def pytrec_file(qrels: str, run: str) -> tuple[float, dict[str, float]]:
    import pytrec_eval

    def work() -> dict[str, float]:
        with Path(qrels).open() as gold_file, Path(run).open() as run_file:
            gold, results = pytrec_eval.parse_qrel(gold_file), pytrec_eval.parse_run(run_file)
        return _pytrec(gold, results)

    return _timed(work)


def _pytrec(gold: dict[str, dict[str, int]], results: dict[str, dict[str, float]]) -> dict[str, float]:
    import pytrec_eval

    measures = {"ndcg_cut.10", "map", "recip_rank", "recall.100", "P.10"}
    values = pytrec_eval.RelevanceEvaluator(gold, measures).evaluate(results)
    return {name: sum(v[name] for v in values.values()) / len(values) for name in ("ndcg_cut_10", "map", "P_10")}


def ranx_file(qrels: str, run: str) -> tuple[float, dict[str, float]]:
    import ranx

    names = ["ndcg@10", "map", "mrr@10", "recall@100", "precision@10"]

    def evaluate(gold_path: str, run_path: str) -> dict[str, float]:
        gold, results = ranx.Qrels.from_file(gold_path, kind="trec"), ranx.Run.from_file(run_path, kind="trec")
        return {name: float(value) for name, value in ranx.evaluate(gold, results, names).items()}

    # Warm: everything that is timed is compiled on a small collection first.
    with TemporaryDirectory() as folder:
        small_gold, small_run = write_collection(Path(folder), "small", 50, 100, 2, 1)
        evaluate(str(small_gold), str(small_run))
    return _timed(lambda: evaluate(qrels, run))


def ir_measures_file(qrels: str, run: str) -> tuple[float, dict[str, float]]:
    import ir_measures
    from ir_measures import AP, RR, P, R, nDCG

    def work() -> dict[str, float]:
        gold: Any = ir_measures.read_trec_qrels(qrels)
        results: Any = ir_measures.read_trec_run(run)
        values = ir_measures.calc_aggregate([nDCG @ 10, AP, RR @ 10, R @ 100, P @ 10], gold, results)
        return {str(name): float(value) for name, value in values.items()}

    return _timed(work)


def _as_dicts(qrels: str, run: str) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    import pytrec_eval

    with Path(qrels).open() as gold_file, Path(run).open() as run_file:
        return pytrec_eval.parse_qrel(gold_file), pytrec_eval.parse_run(run_file)


def goldrank_dicts(qrels: str, run: str) -> tuple[float, dict[str, float]]:
    import goldrank as gr

    gold, results = _as_dicts(qrels, run)

    def work() -> dict[str, float]:
        return {name: score.value for name, score in gr.score(gold, results, METRICS).items()}

    return _timed(work)


def pytrec_dicts(qrels: str, run: str) -> tuple[float, dict[str, float]]:
    gold, results = _as_dicts(qrels, run)
    return _timed(lambda: _pytrec(gold, results))


def goldrank_bootstrap(queries: str, metrics: str) -> tuple[float, dict[str, float]]:
    from goldrank import stats

    values = _per_query_values(int(queries), int(metrics))

    def work() -> dict[str, float]:
        intervals = stats.intervals([stats.Sample(column) for column in values], resamples=10_000)
        return {str(i): interval.high for i, interval in enumerate(intervals) if interval is not None}

    return _timed(work)


def scipy_bootstrap(queries: str, metrics: str) -> tuple[float, dict[str, float]]:
    from scipy import stats

    values = _per_query_values(int(queries), int(metrics))

    def work() -> dict[str, float]:
        limits = {}
        for i, column in enumerate(values):
            # The batch that was fastest of 30, 50, 100, 200 and 1000 on the machines tried.
            result = stats.bootstrap((column,), np.mean, n_resamples=10_000, vectorized=True, batch=50, method="BCa")
            limits[str(i)] = float(result.confidence_interval.high)
        return limits

    return _timed(work)


def goldrank_randomisation(queries: str, metrics: str) -> tuple[float, dict[str, float]]:
    from goldrank import stats

    values = [column - 0.4 for column in _per_query_values(int(queries), int(metrics))]

    def work() -> dict[str, float]:
        return {str(i): test.p for i, test in enumerate(stats.randomisation_tests(values, resamples=10_000))}

    return _timed(work)


def numpy_randomisation(queries: str, metrics: str) -> tuple[float, dict[str, float]]:
    """A matrix product with random signs, shared by all metrics."""
    values = np.column_stack([column - 0.4 for column in _per_query_values(int(queries), int(metrics))])

    def work() -> dict[str, float]:
        rng, sums = np.random.default_rng(0), []
        for _ in range(100):
            signs = rng.integers(0, 2, (100, len(values)), dtype=np.int8) * np.int8(2) - np.int8(1)
            sums.append(signs.astype(np.float64) @ values)
        reached = (np.abs(np.concatenate(sums)) >= np.abs(values.sum(axis=0))).sum(axis=0)
        return {str(i): (1 + int(count)) / 10_001 for i, count in enumerate(reached)}

    return _timed(work)


def _per_query_values(queries: int, metrics: int) -> list[NDArray[np.float64]]:
    rng = np.random.default_rng(7)
    return [rng.beta(0.4, 0.6, queries) for _ in range(metrics)]


JOBS: dict[str, Job] = {
    name: job
    for name, job in globals().items()
    if callable(job)
    and name.partition("_")[2] in ("file", "dicts", "bootstrap", "randomisation")
    and not name.startswith("_")
}
JOBS["ir_measures_file"] = ir_measures_file

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
