"""The meta-evaluation at the size of the paper: many models, many evaluators, all intervals; one job per process."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from benchmarks.measure import peak_memory


def goldrank_meta(models: str, evaluators: str) -> tuple[float, dict[str, float]]:
    """Half of the evaluators are intrinsic, the others downstream; Spearman with 10,000 resamples of the models."""
    from goldrank.analysis.meta import ScoreRow, Table, meta

    rng = np.random.default_rng(3)
    quality = rng.normal(size=int(models))
    half = int(evaluators) // 2
    rows = [
        ScoreRow(f"model {model}", f"{kind} {number}", float(value), kind)
        for kind, count in (("intrinsic", half), ("downstream", int(evaluators) - half))
        for number in range(count)
        for model, value in enumerate(quality + rng.normal(size=len(quality)))
    ]
    table = Table.of(rows, "benchmark")
    cpu, wall = time.process_time(), time.perf_counter()
    result = meta(table)
    wall = time.perf_counter() - wall
    return time.process_time() - cpu, {"wall": wall, "cells": float(len(result.cells))}


JOBS = {"goldrank_meta": goldrank_meta}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
