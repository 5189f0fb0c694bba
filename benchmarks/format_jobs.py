"""Score one run in every file format, and TREC runs in an unusual order; one job per process."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import peak_memory, warm_up

FORMATS = ("run", "csv", "parquet", "json")
ORDERS = ("crlf", "shuffled")


def write(run: str) -> dict[str, float]:
    """Write a TREC run again in every format, with Windows line ends, and with its lines shuffled."""
    import goldrank as gr

    started = time.process_time()
    for suffix in FORMATS[1:]:
        gr.Run.read(run).write(Path(run).with_suffix(f".{suffix}"))
    lines = Path(run).read_bytes().split(b"\n")[:-1]
    Path(run).with_suffix(".crlf").write_bytes(b"".join(line + b"\r\n" for line in lines))
    random.Random(1).shuffle(lines)
    Path(run).with_suffix(".shuffled").write_bytes(b"".join(line + b"\n" for line in lines))
    return {"seconds": time.process_time() - started}


def score(qrels: str, run: str, metrics: str, threads: str = "1") -> dict[str, float]:
    """Score a run on comma-separated metrics: CPU seconds, wall seconds and the values."""
    import goldrank as gr

    # The modules that load when they are first used, as a peer's load with its import.
    gr.score(gr.Gold({"q": {"d": 1}}), gr.Run.view({"q": {"d": 1.0}}), ["mrr"])
    warm_up()
    wall, before = time.perf_counter(), time.process_time()
    scores = gr.score(gr.Gold.read(qrels), gr.Run.read(run, threads=int(threads)), metrics.split(","))
    values = {f"result:{name}": score.value for name, score in scores.items()}
    return {"seconds": time.process_time() - before, "result:wall": time.perf_counter() - wall, **values}


if __name__ == "__main__":
    jobs: dict[str, Callable[..., dict[str, float]]] = {"write": write, "score": score}
    job = jobs[sys.argv[1]]
    print(json.dumps({**job(*sys.argv[2:]), "peak_mb": peak_memory()}))
