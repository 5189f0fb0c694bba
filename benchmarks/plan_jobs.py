"""Whether plans come true: jobs of three sizes, estimated and then really run, stage by stage.

`python -m benchmarks.plan_jobs check` measures the constants of this machine, or reads them from a file with
``--constants``, and prints a Markdown table. The sizes of the jobs are not those that the constants are measured at.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from goldrank.data.texts import read_texts
from goldrank.engines import open_engine
from goldrank.engines.local import LocalEngine
from goldrank.index.encoding import load_encoder
from goldrank.index.sharded.index import ShardedIndex
from goldrank.io.formats.vector_shards import VectorShard, write_vectors
from goldrank.planning import workloads
from goldrank.planning.calibration import calibrate
from goldrank.planning.constants import Constants, read_constants, write_constants
from goldrank.planning.estimate import estimate
from goldrank.planning.job import SHARD, PlannedJob
from goldrank.planning.workloads import SyntheticJob, best, synthetic_job, synthetic_texts, write_texts
from goldrank.scoring import score_hits
from goldrank.tasks.ranking.shard_encoding import encode_files, files_at
from goldrank.units import format_duration

MODEL = "wordllama"
# The names of stages that were measured together, and their seconds.
Measured = tuple[tuple[str, ...], float]


@dataclass(frozen=True)
class Size:
    """A job to check, with its texts."""

    items: int
    dimension: int
    queries: int
    depth: int
    words: int
    judged: int = 1

    def __str__(self) -> str:
        return f"{self.items:,} × {self.dimension}, {self.queries:,} queries, top {self.depth:,}, {self.words} words"

    def job(self, constants: Constants) -> PlannedJob:
        """The same as a job to plan."""
        encoding = constants.encoding_of(MODEL)
        return PlannedJob(
            self.items, self.dimension, self.queries, self.judged, self.depth, self.words, encoding=encoding
        )


SIZES = (
    Size(20_000, 384, 5_000, 100, 60),
    Size(100_000, 768, 2_000, 1_000, 120),
    Size(400_000, 384, 3_000, 1_000, 40),
)


def main() -> None:
    """Check, and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.plan_jobs", description=__doc__)
    options.add_argument("action", choices=("check",))
    options.add_argument("--constants", type=Path, help="read the constants there, or write them if there is no file")
    options.add_argument("--engine", choices=tuple(RUNS), default="local", help="whose plan is checked")
    options.add_argument("--cpu", action="store_true", help="compare CPU seconds, on a machine that others use too")
    options.add_argument("--repeats", type=int, default=2, help="take the best of so many goes (default 2)")
    args = options.parse_args()
    if args.cpu:
        workloads.clock = time.process_time
    constants = _constants(args.constants)
    seconds = "CPU seconds" if args.cpu else "seconds"
    print(f"Measured on {constants.machine}, {constants.measured}; {seconds}, best of {args.repeats}.\n")
    print("| job | stage | estimated | measured | ratio |\n| :-- | :-- | --: | --: | --: |", flush=True)
    for size in SIZES:
        for stage, estimated, measured in check(size, constants, engine=args.engine, repeats=args.repeats):
            cells = f"{format_duration(estimated)} | {format_duration(measured)} | {estimated / measured:.2f}"
            print(f"| {size} | {stage} | {cells} |", flush=True)


def _constants(path: Path | None) -> Constants:
    if path is not None and path.exists():
        return read_constants(path)
    started = time.perf_counter()
    constants = calibrate([MODEL], warn=print)
    print(f"Calibrated in {time.perf_counter() - started:.0f} s.")
    if path is not None:
        write_constants(constants, path)
    return constants


def check(
    size: Size, constants: Constants, *, engine: str = "local", repeats: int = 2
) -> Iterator[tuple[str, float, float]]:
    """The stages of one job and their sum: estimated seconds and measured ones."""
    run, name = RUNS[engine]
    planned = estimate(size.job(constants), constants).engine(name)
    sums = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        for stages, measured in run(size, Path(folder), repeats):
            estimated = sum(planned.stage(stage).seconds or 0.0 for stage in stages)
            sums = [sums[0] + estimated, sums[1] + measured]
            yield ", ".join(stages), estimated, measured
    yield "total", sums[0], sums[1]


def run_locally(size: Size, folder: Path, repeats: int) -> Iterator[Measured]:
    """Every stage of a job on this machine, and its seconds."""
    path = folder / "corpus.jsonl"
    write_texts(path, synthetic_texts(size.items, size.words))
    yield ("read texts",), best(lambda: read_texts(path), repeats)
    yield ("encode",), _encoding_seconds(size)
    path.unlink()
    job = synthetic_job(size.items, size.dimension, size.queries, size.judged, seed=23)
    yield ("write vectors",), best(lambda: _write(job, folder), repeats)
    hits = job.count()
    yield ("exact ranks",), best(job.count, repeats)
    yield ("top k",), best(lambda: job.search(size.depth), repeats)
    yield ("score, intervals",), best(lambda: [score.interval for score in score_hits(hits).values()], repeats)


def _encoding_seconds(size: Size) -> float:
    """Once is enough: it takes long, and loading counts."""
    texts, queries = synthetic_texts(size.items, size.words), synthetic_texts(size.queries, size.words, seed=2)

    def work() -> None:
        encoder = load_encoder(MODEL, texts)
        encoder.encode_items(texts)
        encoder.encode_queries(queries)

    return best(work, 1)


def _write(job: SyntheticJob, folder: Path) -> None:
    for start in range(0, len(job.items), SHARD):
        part = slice(start, start + SHARD)
        write_vectors(str(folder / f"{start}.parquet"), job.ids[part], job.items[part])


def run_on_ray(size: Size, folder: Path, repeats: int) -> Iterator[Measured]:
    """The stages of a cluster of as many workers as there are cores; what goes on at once is measured together."""
    (folder / "texts").mkdir()
    for first in range(0, size.items, SHARD):
        texts = synthetic_texts(min(SHARD, size.items - first), size.words, seed=first)
        write_texts(folder / "texts" / f"{first:09}.jsonl", texts)
    with open_engine("ray") or LocalEngine() as engine:
        # Starting is a stage of its own, which is not looked at here.
        list(engine.map(abs, range(4), what="warm", total=4))
        encoder, files = load_encoder(MODEL, []), files_at([str(folder / "texts")])
        yield (
            ("read texts", "encode", "write vectors"),
            best(lambda: encode_files(encoder, files, str(folder / "encoded"), engine), 1),
        )
        job = synthetic_job(size.items, size.dimension, size.queries, size.judged, seed=23)
        _write(job, folder)
        starts = range(0, size.items, SHARD)
        shards = [VectorShard(str(folder / f"{at}.parquet"), at, min(SHARD, size.items - at)) for at in starts]

        def fresh() -> ShardedIndex:
            return ShardedIndex(shards, job.ids, "dot", engine=engine, folder=str(folder / uuid4().hex))

        yield ("gather gold", "exact ranks"), best(lambda: job.count(fresh()), repeats)
        yield ("top k", "merge"), best(lambda: job.search(size.depth, fresh()), repeats)


Run = Callable[[Size, Path, int], Iterator[Measured]]
RUNS: dict[str, tuple[Run, str]] = {"local": (run_locally, "local"), "ray": (run_on_ray, "Ray")}

if __name__ == "__main__":
    main()
