"""`goldrank run` over more vectors than should be held in memory: ``python -m benchmarks.scale_jobs run 5000000``.

Writes clustered vectors, texts, queries and gold into a temporary folder, runs the command as a user would, and samples
its memory while it works. The kernel counts a process's resident pages by kind: those of mapped files are a cache that
it takes back when others need memory, so what a run costs beyond the map is the rest, anonymous pages and shared ones
without a file. Prints one line of JSON with the peaks in MB and the seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from goldrank.store import Store

Rows = NDArray[np.float32]
_CLUSTERS, _BLOCK, _EVERY_SECONDS = 2000, 1 << 15, 0.02
_WORDS = ("river", "stone", "cloud", "lantern", "harvest", "meadow", "copper", "signal", "winter", "garden", "mirror")


@dataclass(frozen=True)
class Size:
    """How much is written."""

    items: int
    queries: int
    dimension: int
    shuffled: bool
    """Whether the vectors lie in another order than the texts."""


@dataclass
class Peaks:
    """The most memory seen of each kind, in MB."""

    anonymous: float = 0.0
    mapped: float = 0.0

    def take(self, process: int) -> None:
        """Look once; a process that is just ending has nothing to show."""
        kinds = dict.fromkeys(("RssAnon", "RssShmem", "RssFile"), 0.0)
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            return
        for line in status.splitlines():
            name, _, value = line.partition(":")
            if name in kinds:
                kinds[name] = int(value.split()[0]) / 1024
        self.anonymous = max(self.anonymous, kinds["RssAnon"] + kinds["RssShmem"])
        self.mapped = max(self.mapped, kinds["RssFile"])


def write_data(folder: Path, size: Size) -> Path:
    """A folder of corpus, queries and gold with the vectors of both beside it, written block by block."""
    rng = np.random.default_rng(5)
    wanted = rng.choice(size.items, size.queries, replace=False)
    order = rng.permutation(size.items) if size.shuffled else np.arange(size.items)
    task = folder / "task"
    (task / "qrels").mkdir(parents=True)
    vectors = open_memmap(folder / "vectors.npy", "w+", np.float32, (size.items + size.queries, size.dimension))
    query_vectors = np.empty((size.queries, size.dimension), np.float32)
    place = {int(item): query for query, item in enumerate(wanted)}
    with (folder / "vectors.ids").open("w") as ids:
        for start, rows in _clustered(size, rng):
            vectors[start : start + len(rows)] = rows
            for at, item in enumerate(order[start : start + len(rows)].tolist()):
                ids.write(f"d{item}\n")
                if item in place:
                    query_vectors[place[item]] = rows[at]
        vectors[size.items :] = query_vectors + 3 * rng.standard_normal(query_vectors.shape, np.float32)
        ids.writelines(f"q{query}\n" for query in range(size.queries))
    vectors.flush()
    with (task / "corpus.jsonl").open("w") as corpus:
        corpus.writelines(f'{{"_id": "d{item}", "title": "", "text": "{_text(item)}"}}\n' for item in range(size.items))
    with (task / "queries.jsonl").open("w") as queries:
        queries.writelines(f'{{"_id": "q{query}", "text": "{_text(query)}"}}\n' for query in range(size.queries))
    with (task / "qrels" / "test.tsv").open("w") as qrels:
        qrels.write("query-id\tcorpus-id\tscore\n")
        qrels.writelines(f"q{query}\td{item}\t1\n" for query, item in enumerate(wanted.tolist()))
    return task


def _clustered(size: Size, rng: np.random.Generator) -> Iterator[tuple[int, Rows]]:
    centres = rng.standard_normal((_CLUSTERS, size.dimension), np.float32)
    for start in range(0, size.items, _BLOCK):
        count = min(_BLOCK, size.items - start)
        rows = rng.standard_normal((count, size.dimension), np.float32)
        rows *= 0.5
        rows += centres[rng.integers(0, _CLUSTERS, count)]
        yield start, rows


def _text(number: int) -> str:
    return " ".join(_WORDS[(number * step + step) % len(_WORDS)] for step in range(1, 13))


def run(size: Size, options: list[str]) -> dict[str, Any]:
    """The command over fresh data: its peaks, its seconds, and the size of the map."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        started = time.perf_counter()
        task = write_data(folder, size)
        written = time.perf_counter() - started
        model = f"vectors:{folder / 'vectors.npy'}(ids={folder / 'vectors.ids'})"
        command = [sys.executable, "-m", "goldrank", "run", "-m", model, "-t", str(task), *options]
        own = {"GOLDRANK_STORE": str(folder / "store"), "GOLDRANK_CACHE": str(folder / "cache")}
        peaks, started = Peaks(), time.perf_counter()
        process = subprocess.Popen(command, stdout=sys.stderr, env={**os.environ, **own})
        while process.poll() is None:
            peaks.take(process.pid)
            time.sleep(_EVERY_SECONDS)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(process.returncode)
        (stored,) = Store.open(folder / "store").list()
        return {
            "items": size.items,
            "queries": size.queries,
            "dimension": size.dimension,
            "shuffled": size.shuffled,
            "options": options,
            "map_mb": round((folder / "vectors.npy").stat().st_size / 2**20),
            "peak_anonymous_mb": round(peaks.anonymous),
            "peak_mapped_mb": round(peaks.mapped),
            "seconds": round(seconds, 1),
            "seconds_to_write_the_data": round(written, 1),
            "means": {name: values["value"] for name, values in stored.summary.items()},
        }


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.scale_jobs", description=__doc__)
    options.add_argument("job", choices=("run",))
    options.add_argument("items", type=int)
    options.add_argument("--queries", type=int, default=1000)
    options.add_argument("--dimension", type=int, default=384)
    options.add_argument("--shuffled", action="store_true", help="vectors in another order than the texts")
    args, rest = options.parse_known_args()
    print(json.dumps(run(Size(args.items, args.queries, args.dimension, args.shuffled), rest)))


if __name__ == "__main__":
    main()
