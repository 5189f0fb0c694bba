"""Runs and gold of the size the benchmarks ask for, made up from a seed."""

from __future__ import annotations

import random
from pathlib import Path


def write_collection(folder: Path, name: str, queries: int, depth: int, judged: int, grades: int) -> tuple[Path, Path]:
    """Write a TREC run in ranked order and its qrels; about half of the judged items are retrieved."""
    run, qrels = folder / f"{name}.run", folder / f"{name}.qrels"
    if run.exists() and qrels.exists():
        return qrels, run
    rng = random.Random(1)
    with run.open("w") as run_file, qrels.open("w") as qrels_file:
        for number in range(queries):
            query = str(1_000_000 + 13 * number)
            items = rng.sample(range(8_841_823), depth)
            score = 30.0
            for rank, item in enumerate(items, 1):
                score -= rng.random() * 0.02
                run_file.write(f"{query} Q0 {item} {rank} {score:.6f} bench\n")
            relevant = set(rng.sample(items, judged // 2 or rng.randrange(2)))
            while len(relevant) < judged:
                relevant.add(rng.randrange(8_841_823))
            for item in sorted(relevant):
                qrels_file.write(f"{query} 0 {item} {rng.randint(0, grades) if grades > 1 else 1}\n")
    return qrels, run
