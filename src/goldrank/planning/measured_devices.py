"""Measuring what may not be there: a local Ray cluster and a GPU."""

from __future__ import annotations

import time

from goldrank.engines import Engine, open_engine
from goldrank.errors import MissingExtraError
from goldrank.index.exact.index import ExactIndex
from goldrank.planning.constants import GpuCost, RayCost
from goldrank.planning.measured_ranking import Size, ranking_cost
from goldrank.planning.reference_constants import REFERENCE
from goldrank.planning.synthetic_jobs import MadeJob, made_job
from goldrank.planning.timing import best

_TASKS = 500
_REPEATS = 3
# Items, dimension, queries, and judged items or results of a query; large enough to keep a GPU busy.
_COUNTING: tuple[Size, ...] = (
    (100_000, 512, 1_000, 1),
    (100_000, 512, 8_192, 1),
    (1_000_000, 256, 3_000, 1),
    (1_000_000, 512, 8_192, 1),
)
_TOP_K: tuple[Size, ...] = (
    (100_000, 256, 500, 100),
    (100_000, 512, 4_096, 50),
    (1_000_000, 512, 4_096, 50),
    (300_000, 256, 1_000, 1_000),
    (300_000, 128, 2_000, 500),
)
# The items lie ready, and what the processor does for a query or a result costs as much as the products.
_PARTS = ("start", "multiply", "entry")
_LOADED = (1_000_000, 512, 256)


def ray_cost() -> RayCost | None:
    """Starting a cluster on this machine and giving it empty tasks; None where Ray is not installed.

    The memory of an idle cluster is that of the reference.
    """
    start = time.perf_counter()
    try:
        engine = open_engine("ray")
    except MissingExtraError:
        return None
    assert engine is not None
    with engine:
        _give(engine, 1)
        started = time.perf_counter() - start
        _give(engine, _TASKS)
        return RayCost(started, best(lambda: _give(engine, _TASKS), _REPEATS) / _TASKS, REFERENCE.ray.idle)


def _give(engine: Engine, tasks: int) -> None:
    for _ in engine.map(_nothing, range(tasks), what="empty tasks", total=tasks):
        pass


def _nothing(task: int) -> None:
    """An empty task."""


def gpu_cost() -> GpuCost | None:
    """Loading, counting, searching and streaming on the first GPU; None where torch finds none."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    from goldrank.index.cuda.index import CudaIndex

    def prepared(job: MadeJob) -> ExactIndex:
        return CudaIndex(job.items, job.ids, "dot").prepare()

    counting = ranking_cost(_COUNTING, "exact ranks", index=prepared, parts=_PARTS)
    top_k = ranking_cost(_TOP_K, "top k", index=prepared, parts=_PARTS)
    job = made_job(*_LOADED)
    size = job.items.nbytes
    loading = best(lambda: prepared(job), _REPEATS)
    streamed = CudaIndex(job.items, job.ids, "dot", memory=size // 4)
    # The first go pins the memory; with few queries the others wait for nothing but the items.
    streaming = best(lambda: job.count(streamed), _REPEATS)
    properties = torch.cuda.get_device_properties(0)
    return GpuCost(
        str(properties.name), float(properties.total_memory), counting, top_k, size / loading, size / streaming
    )
