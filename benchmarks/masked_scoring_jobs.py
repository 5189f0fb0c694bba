"""Scoring masked predictions of a whole encyclopaedia from one Parquet file; one job per process.

The persons are synthetic: syllables make given names and surnames, a page has some examples, an example some masks and
a mask five guesses that are now the name or a part of it, now another person's, now a word. Other persons come from
a population in which the n-th is named about as often as 1/n, as models name the famous more than the others. The rows
are shuffled over the whole file, so that no page stands together.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

GUESSES = 5
_BATCH = 1 << 16
_MASKS_PER_PAGE = 10
_POPULATION = 200_000


def goldrank_masked(masks: str, workers: str) -> tuple[float, dict[str, float]]:
    """Make the file, then score it at all three levels."""
    from goldrank.masked.scoring.levels import score_predictions

    with tempfile.TemporaryDirectory(prefix="goldrank-benchmark-") as folder:
        path = Path(folder) / "predictions.parquet"
        # In a process of its own: what making the file takes must not count as the memory of scoring.
        in_child(make_predictions, path, int(masks))
        with Sampler() as memory:
            cpu, wall = _cpu_seconds(), time.perf_counter()
            scores = score_predictions(path, workers=int(workers))
            wall = time.perf_counter() - wall
            cpu = _cpu_seconds() - cpu
    counts = scores.counts
    return cpu, {
        "wall": wall,
        "masks": float(counts.masks),
        "masks_per_minute": counts.masks / wall * 60,
        "tree_peak_mb": memory.peak,
        "examples": float(counts.examples),
        "pages": float(counts.pages),
        **{f"accuracy_{name}": float(level.right.mean()) for name, level in scores.levels.items()},
    }


class Sampler:
    """The largest sum of the proportional memory of this process and its descendants, looked at once a second.

    Each look takes some ten milliseconds of CPU time for every GB.
    """

    def __init__(self) -> None:
        self.peak = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(1.0):
            self.peak = max(self.peak, sum(map(_resident, _tree(os.getpid()))))


def _tree(root: int) -> list[int]:
    processes = [root]
    for process in processes:
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                processes += map(int, task.read_text().split())
            except OSError:
                continue  # it ended in between
    return processes


def _resident(process: int) -> float:
    """Memory in MB; pages shared between processes count once, in equal shares."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def in_child(function: Any, *arguments: object) -> None:
    from multiprocessing import get_context

    child = get_context("spawn").Process(target=function, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        raise SystemExit(f"making the predictions failed with {child.exitcode}")


def make_predictions(path: Path, masks: int) -> None:
    """Write *masks* rows with keys in a shuffled order."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(5)
    given_names, surnames = _names(rng, 4000), _names(rng, 60_000)
    chosen = rng.integers(len(given_names), size=_POPULATION), rng.integers(len(surnames), size=_POPULATION)
    others = [f"{given_names[a]} {surnames[b]}" for a, b in zip(*chosen, strict=True)]
    pages = max(masks // _MASKS_PER_PAGE, 1)
    person = rng.integers(len(given_names), size=pages), rng.integers(len(surnames), size=pages)
    sizes = rng.integers(1, 5, size=pages)  # masks of each example of the page
    writer = None
    order = rng.permutation(masks)
    for start in range(0, masks, _BATCH):
        rows = order[start : start + _BATCH]
        page, within = rows % pages, rows // pages
        sequence, mask = within // sizes[page], within % sizes[page]
        names = [f"{given_names[a]} {surnames[b]}" for a, b in zip(person[0][page], person[1][page], strict=True)]
        scores = -np.sort(-rng.dirichlet(np.ones(GUESSES + 1), len(rows))[:, :GUESSES], axis=1)
        table = pyarrow.table(
            {
                "page": [str(number) for number in page.tolist()],
                "sequence": sequence,
                "mask": mask,
                "title": names,
                "hidden": names,
                "guesses": _guesses(rng, names, others),
                "scores": scores.tolist(),
                "masks": sizes[page],
                "length": 200 + 300 * sizes[page],
                "type": ["original"] * len(rows),
            }
        )
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _names(rng: np.random.Generator, count: int) -> list[str]:
    starts = ("b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br", "st", "kr")
    ends = ("an", "el", "in", "or", "us", "e", "a", "ick", "ov", "sen", "ley", "man")
    names = {""}
    while len(names) <= count:
        parts = rng.integers(len(starts), size=3), rng.integers(len(ends), size=3)
        size = int(rng.integers(2, 4))
        names.add("".join(starts[a] + ends[b] for a, b in zip(parts[0][:size], parts[1][:size], strict=True)).title())
    return sorted(names - {""})


def _guesses(rng: np.random.Generator, names: list[str], others: list[str]) -> list[list[str]]:
    shape = len(names), GUESSES
    kinds = rng.integers(8, size=shape).tolist()
    # A rank that is uniform on a log scale has a probability of about 1/rank.
    ranks = (len(others) ** rng.uniform(size=shape)).astype(np.int64).tolist()
    words = ("he", "she", "the", "his", "they", "it", "who", "then")

    def guess(name: str, kind: int, rank: int) -> str:
        if kind < 2:
            return name if kind == 0 else name.split()[1]
        if kind < 6:
            other = others[rank - 1]
            return other if kind < 4 else other.split()[kind - 4]
        return words[rank % len(words)]

    return [list(map(guess, [name] * GUESSES, *row)) for name, *row in zip(names, kinds, ranks, strict=True)]


JOBS = {"goldrank_masked": goldrank_masked}

if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    seconds, result = JOBS[sys.argv[1]](given.get(2, "10000000"), given.get(3, "2"))
    peak = result["tree_peak_mb"]
    print(json.dumps({"seconds": seconds, "peak_mb": peak, **{f"result:{k}": v for k, v in result.items()}}))
