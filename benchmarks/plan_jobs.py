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

from goldrank.index.dataset import load_encoder
from goldrank.io.texts import read_texts
from goldrank.planning.calibrating import calibrate
from goldrank.planning.constants import Constants, read_constants, write_constants
from goldrank.planning.estimating import estimate
from goldrank.planning.job import SHARD, Job
from goldrank.planning.made import MadeJob, made_job
from goldrank.planning.measured_texts import made_texts, write_texts
from goldrank.planning.sizes import duration
from goldrank.planning.stopwatch import best, timed_by
from goldrank.scoring import score_hits
from goldrank.vectors.stored import write_vectors

MODEL = "wordllama"


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

    def job(self, constants: Constants) -> Job:
        """The same as a job to plan."""
        encoding = constants.encoding_of(MODEL)
        return Job(self.items, self.dimension, self.queries, self.judged, self.depth, self.words, encoding=encoding)


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
    options.add_argument("--cpu", action="store_true", help="compare CPU seconds, on a machine that others use too")
    options.add_argument("--repeats", type=int, default=2, help="take the best of so many goes (default 2)")
    args = options.parse_args()
    with timed_by(time.process_time if args.cpu else time.perf_counter):
        constants = _constants(args.constants)
        seconds = "CPU seconds" if args.cpu else "seconds"
        print(f"Measured on {constants.machine}, {constants.measured}; {seconds}, best of {args.repeats}.\n")
        print("| job | stage | estimated | measured | ratio |\n| :-- | :-- | --: | --: | --: |", flush=True)
        for size in SIZES:
            for stage, estimated, measured in check(size, constants, repeats=args.repeats):
                shown = f"{duration(estimated)} | {duration(measured)} | {estimated / measured:.2f}"
                print(f"| {size} | {stage} | {shown} |", flush=True)


def _constants(path: Path | None) -> Constants:
    if path is not None and path.exists():
        return read_constants(path)
    started = time.perf_counter()
    made = calibrate([MODEL], say=print)
    print(f"Calibrated in {time.perf_counter() - started:.0f} s.")
    if path is not None:
        write_constants(made, path)
    return made


def check(
    size: Size, constants: Constants, *, engine: str = "local", repeats: int = 2
) -> Iterator[tuple[str, float, float]]:
    """The stages of one job and their sum: estimated seconds and measured ones."""
    run = RUNS[engine]
    planned = estimate(size.job(constants), constants).engine({"local": "local"}[engine])
    sums = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        for stage, measured in run(size, Path(folder), repeats):
            estimated = planned.stage(stage).seconds or 0.0
            sums = [sums[0] + estimated, sums[1] + measured]
            yield stage, estimated, measured
    yield "total", sums[0], sums[1]


def run_locally(size: Size, folder: Path, repeats: int) -> Iterator[tuple[str, float]]:
    """Every stage of a job on this machine, and its seconds."""
    path = folder / "corpus.jsonl"
    write_texts(path, made_texts(size.items, size.words))
    yield "read texts", best(lambda: read_texts(path), repeats)
    yield "encode", _encoding_seconds(size)
    path.unlink()
    job = made_job(size.items, size.dimension, size.queries, size.judged, seed=23)
    yield "write vectors", best(lambda: _write(job, folder), repeats)
    hits = job.count()
    yield "exact ranks", best(job.count, repeats)
    yield "top k", best(lambda: job.search(size.depth), repeats)
    yield "score, intervals", best(lambda: [score.interval for score in score_hits(hits).values()], repeats)


def _encoding_seconds(size: Size) -> float:
    """Once is enough: it takes long, and loading counts."""
    texts, asked = made_texts(size.items, size.words), made_texts(size.queries, size.words, seed=2)

    def work() -> None:
        encoder = load_encoder(MODEL, texts)
        encoder.encode_items(texts)
        encoder.encode_queries(asked)

    return best(work, 1)


def _write(job: MadeJob, folder: Path) -> None:
    for start in range(0, len(job.items), SHARD):
        part = slice(start, start + SHARD)
        write_vectors(str(folder / f"{start}.parquet"), job.ids[part], job.items[part])


RUNS: dict[str, Callable[[Size, Path, int], Iterator[tuple[str, float]]]] = {"local": run_locally}

if __name__ == "__main__":
    main()
