"""Estimate a job on one machine, with and without a GPU."""

from __future__ import annotations

from dataclasses import replace

from goldrank.planning.constants import RankingCost
from goldrank.planning.job import (
    BYTES_PER_WORD,
    FLOAT,
    HELD_ID_BYTES,
    HELD_RESULT_BYTES,
    HELD_TEXT_BYTES,
    ID_BYTES,
    EnginePlan,
    Setting,
    Stage,
    slowest,
)
from goldrank.units import format_bytes

# Queries that the exact index searches in one pass over the items, and that the GPU searches at most.
QUERIES_A_PASS = 1024
_GPU_QUERIES, _GPU_PAIRS = 8192, 2**25
# Passes over the items for exact ranks: one that checks them and one that counts.
_COUNTING_PASSES = 2
# Products of blocks and their buffers (45 MB as measured in docs/guide/speed.md).
_SCRATCH = 60e6
# The GPU fills this share of its memory with items, each as float32, as float16 and with 8 further bytes.
_GPU_SHARE, _GPU_BESIDE = 0.8, 8


def local_plan(setting: Setting) -> EnginePlan:
    """Estimate every stage on the cores of one machine, one after the other."""
    job, constants = setting.job, setting.constants
    held = constants.process + job.vector_bytes + job.items * HELD_ID_BYTES
    mapped = setting.exceeds_memory(held)
    if mapped:
        held -= job.vector_bytes
    passes = -(-job.queries // QUERIES_A_PASS)
    stages = [
        Stage("start"),
        *_encoding_stages(setting),
        Stage("gather gold"),
        _ranked(setting, "exact ranks", _COUNTING_PASSES * mapped, held),
        _ranked(setting, "top k", passes * mapped, held),
        Stage("merge"),
        setting.scoring_stage(),
    ]
    notes = []
    if mapped:
        size = format_bytes(job.vector_bytes)
        notes.append(
            f"local: vectors of {size} and ids do not fit into {format_bytes(setting.memory)} of memory; the times "
            "are those with vectors in a memory-mapped file, read from disk in every pass "
            f"({_COUNTING_PASSES} for exact ranks, {passes:,} for the top k)."
        )
    return EnginePlan("local", tuple(stages), tuple(notes))


def _encoding_stages(setting: Setting) -> list[Stage]:
    """Return the stages from texts to vectors on disk, which are the same with and without a GPU."""
    job, constants = setting.job, setting.constants
    texts = constants.process + job.items * (job.words * BYTES_PER_WORD + HELD_TEXT_BYTES)
    encoding, load = setting.encoding_seconds(job.items + job.queries), job.encoding.load if job.encoding else 0.0
    seconds = None if encoding is None else load + encoding / setting.cores
    reading = setting.reading_seconds(job.items)
    return [
        Stage("read texts", reading, "compute", texts, storage=job.text_bytes),
        Stage("encode", seconds, "" if seconds is None else "compute", texts + job.vector_bytes),
        Stage(
            "write vectors",
            job.vector_bytes / constants.disk_rate.write,
            "disk",
            constants.process + job.vector_bytes,
            storage=job.vector_bytes + job.items * ID_BYTES,
        ),
    ]


def _ranked(setting: Setting, name: str, passes: int, held: float) -> Stage:
    """Return the stage of exact ranks or the top k; *passes* is how often all vectors are read from disk."""
    job, constants = setting.job, setting.constants
    core_seconds = sum(setting.ranking_parts(name, job.items))
    if not core_seconds:
        return Stage(name)
    disk = passes * job.vector_bytes / constants.disk_rate.read
    seconds, limit = slowest({setting.ranking_limit(name, job.items): core_seconds / setting.cores, "disk": disk})
    memory = held + _SCRATCH + job.counting_bytes
    if name == "top k":
        return Stage(name, seconds, limit, memory + job.results * HELD_RESULT_BYTES, storage=job.run_bytes)
    return Stage(name, seconds, limit, memory)


def gpu_plan(setting: Setting) -> EnginePlan:
    """Estimate every stage on one machine whose GPU counts and searches."""
    job, gpu = setting.job, setting.constants.gpu
    item = job.dimension * FLOAT + 2 * (-(-job.dimension // 64) * 64) + _GPU_BESIDE
    room, needed = _GPU_SHARE * gpu.memory, job.items * item
    resident = needed <= room
    held = setting.constants.process + job.vector_bytes + job.items * HELD_ID_BYTES
    on_disk = setting.exceeds_memory(held)
    host = held - job.vector_bytes * on_disk
    size = min(_GPU_QUERIES, max(128, _GPU_PAIRS // (4 * max(job.depth, 1))))

    def ranked(name: str, cost: RankingCost, passes: int) -> Stage:
        seconds = sum(setting.ranking_parts(name, job.items, cost))
        if not seconds:
            return Stage(name)
        streamed = 0 if resident else passes * job.vector_bytes
        from_disk = streamed / setting.constants.disk_rate.read if on_disk else 0.0
        usual = setting.ranking_limit(name, job.items, cost)
        seconds, limit = slowest({usual: seconds, "PCIe": streamed / gpu.stream, "disk": from_disk})
        results = job.results * HELD_RESULT_BYTES if name == "top k" else 0
        storage = job.run_bytes if name == "top k" else 0.0
        return Stage(
            name, seconds, limit, host + job.counting_bytes + results, device=min(needed, room), storage=storage
        )

    loading = job.vector_bytes / gpu.load if resident else 0.0
    stages = [
        Stage("start", loading, "PCIe" if resident else "", host, device=min(needed, room)),
        *_encoding_stages(setting),
        Stage("gather gold"),
        ranked("exact ranks", gpu.counting, 1),
        ranked("top k", gpu.top_k, -(-job.queries // size)),
        Stage("merge"),
        replace(setting.scoring_stage(), head=0.0),
    ]
    notes = []
    if not resident:
        source = "disk" if on_disk else "the machine's memory"
        notes.append(
            f"one GPU: items need {format_bytes(needed)} and {gpu.name} has room for {format_bytes(room)}; "
            f"they are streamed from {source} in every pass, 1 for exact ranks and "
            f"{-(-job.queries // size):,} for the top k."
        )
    return EnginePlan("one GPU", tuple(stages), tuple(notes))
