"""What `goldrank run` adds to a model: the whole command with a run file as the model, less what the file itself takes.

The command reads the collection, looks for leaks, counts, scores, stores rankings and texts, and prints the table. The
file holds 1,000 random items for each query. One job per process.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import peak_memory

DEPTH = 1000


def write_run(collection: Path, path: Path) -> Path:
    """Write a TREC run of random items of a BEIR collection, unless it is there."""
    if not path.exists():
        rng = np.random.default_rng(0)
        items, queries = _ids(collection / "corpus.jsonl"), _ids(collection / "queries.jsonl")
        with path.open("w") as file:
            for query in queries:
                ranked = zip(rng.choice(len(items), DEPTH, replace=False), -np.sort(-rng.random(DEPTH)), strict=True)
                file.writelines(
                    f"{query} Q0 {items[row]} {rank} {score:.9f} bench\n" for rank, (row, score) in enumerate(ranked, 1)
                )
    return path


def _ids(path: Path) -> list[str]:
    with path.open() as lines:
        return [json.loads(line)["_id"] for line in lines]


def run_file_alone(collection: str, path: str) -> float:
    """Load the file and rank with it, as the command does."""
    from goldrank import encoders

    items, queries = _ids(Path(collection) / "corpus.jsonl"), _ids(Path(collection) / "queries.jsonl")
    started = time.process_time()
    model = encoders.load(f"run:{path}")
    assert isinstance(model, encoders.Searcher)
    model.index(items, items)
    model.search(queries, queries, DEPTH)
    return time.process_time() - started


JOBS = {job.__name__: job for job in (run_file_alone,)}

if __name__ == "__main__":
    seconds = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory()}))
