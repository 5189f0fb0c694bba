"""Measure the constants of this machine in about a minute, with the same code that runs the jobs.

Each cost is measured at several sizes, the best of a few repeats each, so that interruptions do not count. The parts of
a cost are fitted by non-negative least squares of the relative errors.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from importlib import import_module
from pathlib import Path

import numpy as np

from goldrank.engines.base import usable_cores
from goldrank.io.formats.vector_shards import read_vectors, write_vectors
from goldrank.planning.constants import REFERENCE, Constants, DiskCost, ScoringCost
from goldrank.planning.measured_costs import (
    COUNTING,
    COUNTING_PARTS,
    SEARCH,
    encoding_cost,
    gpu_cost,
    ranking_cost,
    ray_cost,
    reading_cost,
)
from goldrank.planning.workloads import best, synthetic_hits
from goldrank.progress import Progress

_REPEATS = 3
# If other processes use more than this share of the cores, the measured times are too long.
_BUSY = 0.5
_SHARD = (65_536, 256)
_SCORED_QUERIES = (500, 20_000)
STEPS = ("encoding", "exact ranks", "top k", "vectors on disk", "reading", "scoring", "Ray", "GPU")


def calibrate(
    models: Sequence[str] = ("wordllama",),
    *,
    folder: Path | None = None,
    warn: Callable[[str], object] = lambda line: None,
) -> Constants:
    """Measure this machine.

    Args:
        models: the models whose encoding is measured.
        folder: the folder of temporary files; the system's by default.
        warn: called with a line about each thing that could not be measured.
    """
    elsewhere: dict[str, str] = {}
    cores = usable_cores()
    if (others := _load()) > _BUSY * cores:
        warn(f"The machine was busy with other work ({others:.1f} processes at once): measure again when it is quiet.")
    process = _process_bytes()
    with (
        tempfile.TemporaryDirectory(dir=folder) as scratch,
        Progress("measuring", total=len(STEPS), unit="step") as bar,
    ):
        place = Path(scratch)
        # First, so that a model that does not exist is reported at once.
        encoding = {model: encoding_cost(model) for model in models}
        bar.advance()
        counting = ranking_cost(COUNTING, "exact ranks", parts=COUNTING_PARTS)
        bar.advance()
        search = ranking_cost(SEARCH, "top k")
        bar.advance()
        disk_rate = disk_cost(place)
        bar.advance()
        reading = reading_cost(place)
        bar.advance()
        scoring = scoring_cost()
        bar.advance()
        ray = ray_cost()
        bar.advance()
        gpu = gpu_cost()
        bar.advance()
        free = shutil.disk_usage(place).free
    if ray is None:
        warn("Ray is not installed: its start and its tasks are those of the reference machine.")
        elsewhere["Ray"] = REFERENCE.machine
    if gpu is None:
        warn(f"torch finds no CUDA device: the GPU rates are those of {REFERENCE.gpu.name}.")
        elsewhere["GPU"] = REFERENCE.elsewhere["GPU"]
    for name, cost in (("exact ranks", counting), ("the top k", search)):
        if not cost.multiply:
            warn(f"The time of {name} did not grow with the job, so large jobs cannot be estimated: measure again.")
    return Constants(
        machine=f"{cores} core{'s' * (cores > 1)} of {processor_name()}",
        measured=date.today().isoformat(),
        cores=cores,
        memory=_memory_bytes(),
        disk=float(free),
        process=process,
        counting=counting,
        search=search,
        reading=reading,
        disk_rate=disk_rate,
        scoring=scoring,
        ray=ray or REFERENCE.ray,
        gpu=gpu or REFERENCE.gpu,
        encoding=encoding,
        elsewhere=elsewhere,
    )


def disk_cost(folder: Path) -> DiskCost:
    """Measure the bytes per second of writing a shard to disk, and of reading it when it is not in the page cache."""
    vectors = np.random.default_rng(3).standard_normal(_SHARD, dtype=np.float32)
    ids = [f"d{row:09}" for row in range(len(vectors))]
    path = folder / "vectors.parquet"
    writing = best(lambda: write_vectors(str(path), ids, vectors), _REPEATS)
    reading = best(lambda: read_vectors(str(path)), _REPEATS, before=lambda: drop_from_page_cache(path))
    return DiskCost(vectors.nbytes / writing, vectors.nbytes / reading)


def drop_from_page_cache(path: Path) -> None:
    """Drop the file from the page cache if the system supports it, so that it is next read from disk."""
    if not hasattr(os, "posix_fadvise"):
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def scoring_cost() -> ScoringCost:
    """Measure the default metrics with intervals at two sizes, and merging the results of shards."""
    few, many = _SCORED_QUERIES
    few_seconds, many_seconds = (best(_scoring(queries), _REPEATS) for queries in (few, many))
    each = max(0.0, (many_seconds - few_seconds) / (many - few))
    rng = np.random.default_rng(5)
    counts, more = (rng.integers(0, 1000, 2_000_000) for _ in range(2))
    adding = best(lambda: np.add(counts, more, out=counts), _REPEATS) / len(counts)
    best_results, shard_results = rng.random((500, 1000)), rng.random((500, 500))
    numbers = np.arange(1500)

    def merge() -> None:
        for row, added in zip(best_results, shard_results, strict=True):
            both = np.concatenate((row, added))
            chosen = np.argpartition(both, len(both) - len(row))[len(both) - len(row) :]
            numbers[chosen], both[chosen]

    merging = best(merge, _REPEATS) / shard_results.size
    return ScoringCost(max(0.0, few_seconds - few * each), each, adding, merging)


def _scoring(queries: int) -> Callable[[], object]:
    from goldrank.scoring import score_hits

    hits = synthetic_hits(queries, items=50 * queries)

    def work() -> object:
        scores = score_hits(hits)
        return [score.interval for score in scores.values()]

    return work


def _load() -> float:
    """Return the load average of the last minute; 0 if the system does not report it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def processor_name() -> str:
    """Return the model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return name or platform.processor() or platform.machine() or "an unnamed processor"


def _memory_bytes() -> float:
    """Return the bytes of memory of this machine; 0 if the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 0.0


def _process_bytes() -> float:
    """Return the memory of this process with its libraries but without data; 0 if the system does not report it."""
    for name in ("faiss", "pyarrow.parquet", "scipy.optimize"):
        with suppress(ImportError):
            import_module(name)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return 0.0
