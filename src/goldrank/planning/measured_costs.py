"""Measure the costs of ranking, of reading and encoding texts, of a Ray cluster and of a GPU on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

from goldrank.encoders.base import Encoder
from goldrank.engines import Engine, open_engine
from goldrank.errors import InputError, MissingExtraError
from goldrank.index.exact.index import ExactIndex
from goldrank.planning.constants import (
    REFERENCE,
    EncodingCost,
    GpuCost,
    RankingCost,
    RayCost,
    ReadingCost,
    ranking_features,
)
from goldrank.planning.workloads import SyntheticJob, best, fit_costs, synthetic_job, synthetic_texts, write_texts

_REPEATS = 3
# Items, dimension, queries, and judged items or results of a query.
Size = tuple[int, int, int, int]
COUNTING: tuple[Size, ...] = (
    (8_000, 64, 128, 1),
    (50_000, 64, 1_500, 1),
    (50_000, 256, 128, 1),
    (10_000, 1024, 1_200, 1),
    (40_000, 256, 2_500, 1),
    (25_000, 512, 600, 4),
    (12_000, 128, 6_000, 1),
    (250_000, 256, 1_500, 1),
    (60_000, 1024, 1_500, 1),
)
SEARCH: tuple[Size, ...] = (
    (8_000, 64, 128, 10),
    (50_000, 64, 600, 100),
    (50_000, 256, 100, 10),
    (12_000, 1024, 500, 50),
    (30_000, 256, 1_200, 200),
    (15_000, 64, 128, 300),
    (50_000, 256, 100, 1_000),
    (12_000, 1024, 500, 400),
    (60_000, 256, 600, 1_000),
    (120_000, 128, 400, 400),
    (250_000, 256, 500, 1_000),
    (60_000, 1024, 1_500, 500),
)
ALL_PARTS = tuple(part.name for part in fields(RankingCost))
COUNTING_PARTS = ("start", "number", "multiply", "pair", "entry")
# Words of the short and of the long texts.
_SHORT, _LONG = 20, 160
_READ = 20_000
_FITTED = 2000
_FIRST_TEXTS, _MOST_TEXTS = 32, 8192
_SECONDS = 1.5
_TASKS = 500
# Items, dimension, queries, and judged items or results of a query; large enough to keep a GPU busy.
_GPU_COUNTING: tuple[Size, ...] = (
    (100_000, 512, 1_000, 1),
    (100_000, 512, 8_192, 1),
    (1_000_000, 256, 3_000, 1),
    (1_000_000, 512, 8_192, 1),
)
_GPU_TOP_K: tuple[Size, ...] = (
    (100_000, 256, 500, 100),
    (100_000, 512, 4_096, 50),
    (1_000_000, 512, 4_096, 50),
    (300_000, 256, 1_000, 1_000),
    (300_000, 128, 2_000, 500),
)
# The items are already on the GPU, and the CPU work for a query or a result costs as much as the products.
_GPU_PARTS = ("start", "multiply", "entry")
_GPU_LOADED = (1_000_000, 512, 256)


def ranking_cost(
    sizes: Sequence[Size],
    stage: str,
    *,
    index: Callable[[SyntheticJob], ExactIndex] | None = None,
    parts: Sequence[str] = ALL_PARTS,
    repeats: int = _REPEATS,
) -> RankingCost:
    """Measure the cost of exact ranks or of the top k with jobs of these sizes.

    Args:
        sizes: the jobs.
        stage: ``exact ranks`` or ``top k``.
        index: builds the index, which is not timed; by default the exact index, whose construction is timed.
        parts: the parts of a RankingCost to fit; the others are 0.
        repeats: how often each job is run; the shortest time counts.
    """
    rows, seconds = [], []
    for items, dimension, queries, entries in sizes:
        counts = stage == "exact ranks"
        job = synthetic_job(items, dimension, queries, entries if counts else 1)
        rows.append(ranking_features(items, dimension, queries, entries, entries if counts else 1))
        built = index(job) if index is not None else None
        depth = 0 if counts else entries
        seconds.append(best(partial(job.search, depth, built) if depth else partial(job.count, built), repeats))
    chosen = [list(ALL_PARTS).index(part) for part in parts]
    costs = fit_costs([[row[part] for part in chosen] for row in rows], seconds)
    return RankingCost(**{**dict.fromkeys(ALL_PARTS, 0.0), **dict(zip(parts, costs, strict=True))})


def reading_cost(folder: Path, count: int = _READ) -> ReadingCost:
    """Measure reading of short and long texts."""
    from goldrank.data.texts import read_texts

    sizes, seconds = [], []
    for words in (_SHORT, _LONG):
        path = folder / f"texts-{words}.jsonl"
        write_texts(path, synthetic_texts(count, words))
        sizes.append(path.stat().st_size)
        seconds.append(best(partial(read_texts, path), _REPEATS))
    byte = max(0.0, (seconds[1] - seconds[0]) / (sizes[1] - sizes[0]))
    return ReadingCost(max(0.0, seconds[0] - sizes[0] * byte) / count, byte)


def encoding_cost(model: str, *, seconds: float = _SECONDS) -> EncodingCost:
    """Measure loading a model, and encoding short and long texts for about so many seconds each."""
    from goldrank.index.encoding import load_encoder

    fitting, first = synthetic_texts(_FITTED, _LONG, seed=2), synthetic_texts(1, _SHORT, seed=3)
    load = best(lambda: load_encoder(model, fitting).encode_items(first), 1)
    encoder = load_encoder(model, fitting)
    encoder.encode_items(first)
    short, long = (_text_seconds(encoder, words, seconds) for words in (_SHORT, _LONG))
    word = max(0.0, (long - short) / (_LONG - _SHORT))
    text = max(0.0, short - _SHORT * word)
    if text + word <= 0:
        raise InputError(f"the model {model} took no time to encode", remedy="measure another model")
    return EncodingCost(load, text, word)


def _text_seconds(encoder: Encoder, words: int, seconds: float) -> float:
    """Return the seconds per text; more and more texts are encoded until they take long enough to measure."""
    count = _FIRST_TEXTS
    while True:
        elapsed = best(partial(encoder.encode_items, texts := synthetic_texts(count, words)), 1)
        if elapsed > seconds / 3 or count >= _MOST_TEXTS:
            return min(elapsed, best(partial(encoder.encode_items, texts), 2)) / count
        count = min(_MOST_TEXTS, max(2 * count, int(count * seconds / max(elapsed, 1e-6) / 2)))


def ray_cost() -> RayCost | None:
    """Measure starting a cluster on this machine and running empty tasks; None if Ray is not installed.

    The memory of an idle cluster is that of the reference.
    """
    start = time.perf_counter()
    try:
        engine = open_engine("ray")
    except MissingExtraError:
        return None
    assert engine is not None
    with engine:
        _run_empty_tasks(engine, 1)
        started = time.perf_counter() - start
        _run_empty_tasks(engine, _TASKS)
        task = best(lambda: _run_empty_tasks(engine, _TASKS), _REPEATS) / _TASKS
        return RayCost(started, task, REFERENCE.ray.idle)


def _run_empty_tasks(engine: Engine, tasks: int) -> None:
    for _ in engine.map(_empty_task, range(tasks), what="empty tasks", total=tasks):
        pass


def _empty_task(task: int) -> None:
    pass


def gpu_cost() -> GpuCost | None:
    """Measure loading, counting, searching and streaming on the first GPU; None if torch finds none."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    from goldrank.index.cuda.index import CudaIndex

    def prepared(job: SyntheticJob) -> ExactIndex:
        return CudaIndex(job.items, job.ids, "dot").prepare()

    counting = ranking_cost(_GPU_COUNTING, "exact ranks", index=prepared, parts=_GPU_PARTS)
    top_k = ranking_cost(_GPU_TOP_K, "top k", index=prepared, parts=_GPU_PARTS)
    job = synthetic_job(*_GPU_LOADED)
    size = job.items.nbytes
    loading = best(lambda: prepared(job), _REPEATS)
    streamed = CudaIndex(job.items, job.ids, "dot", memory=size // 4)
    # The first repeat pins the memory; with few queries, the time of the others is that of streaming.
    streaming = best(lambda: job.count(streamed), _REPEATS)
    properties = torch.cuda.get_device_properties(0)
    return GpuCost(
        str(properties.name), float(properties.total_memory), counting, top_k, size / loading, size / streaming
    )
