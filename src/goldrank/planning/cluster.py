"""Estimate a job on a Ray cluster: shards of items as Parquet files, one task per shard, and a head node."""

from __future__ import annotations

import math

from goldrank.planning.job import (
    BYTES_PER_WORD,
    COUNT_BYTES,
    FLOAT,
    HELD_ID_BYTES,
    HELD_RESULT_BYTES,
    HELD_TEXT_BYTES,
    ID_BYTES,
    RESULT_BYTES,
    WIDE,
    EnginePlan,
    Setting,
    Stage,
    slowest,
)
from goldrank.units import format_bytes

# A shard as it is read and as a matrix.
_COPIES = 2
# Tasks that are handed out to a worker at a time.
_UNDER_WAY = 2
# Rows of a Parquet row group, which is read whole for a single row.
_GROUP = 4096
# Results of a shard in a worker: as found, in one piece, and as the bytes of a file.
_RESULT_COPIES = 3


def results_sent(depth: int, shards: int, workers: int) -> float:
    """Results of one query that all shards send together.

    A task is told the score that the best so far have reached, as known when it is handed out. Two tasks of every
    worker are under way before the first comes back, and send all their best; of the n-th shard after them only about
    one in n is still good enough.

    >>> results_sent(100, 1, 8), round(results_sent(100, 1000, 8))
    (100.0, 2014)
    """
    first = min(_UNDER_WAY * workers, shards)
    return depth * (first + math.log(shards / first))


def _share_touched(parts: float, drawn: int) -> float:
    """The share of equal parts in which at least one of so many things lies that were put there at random."""
    return 1.0 if parts <= 1 else 1 - math.exp(drawn * math.log1p(-1 / parts))


class _Cluster:
    """The stages of one job on one cluster."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.job, self.constants = setting, setting.job, setting.constants
        self.workers = self.job.nodes * setting.cores
        self.shard_bytes = self.job.shard_items * self.job.dimension * FLOAT
        self.held = self.constants.process + self.job.items * HELD_ID_BYTES

    def stage(
        self,
        name: str,
        core_seconds: float,
        *,
        limit: str = "compute",
        tasks: int | None = None,
        moved: float = 0.0,
        returned: float = 0.0,
        written: float = 0.0,
        read: float = 0.0,
        memory: float = 0.0,
        head: float = 0.0,
        storage: float = 0.0,
    ) -> Stage:
        """Tasks of *core_seconds* each; *moved* bytes come and go over all machines, *returned* ones at the head."""
        job, rates = self.job, self.constants.disk_rate
        tasks = job.shards if tasks is None else tasks
        turns, apart = -(-tasks // self.workers), job.nodes > 1
        times = {
            limit: turns * core_seconds,
            "disk": (written / rates.write + read / rates.read) / job.nodes,
            "network": apart * max(moved / job.nodes, returned) / job.network,
            "task overhead": tasks * self.constants.ray.task,
        }
        seconds, slow = slowest(times)
        process = self.constants.process
        return Stage(
            name,
            seconds,
            slow,
            process + memory,
            max(head, process),
            network=apart * (moved + returned),
            storage=storage,
        )

    def read_texts(self) -> Stage:
        job = self.job
        held = job.shard_items * (job.words * BYTES_PER_WORD + HELD_TEXT_BYTES)
        seconds = self.setting.reading_seconds(job.shard_items)
        return self.stage(
            "read texts", seconds, moved=job.text_bytes, memory=held, head=self.held, storage=job.text_bytes
        )

    def encode(self) -> Stage:
        job = self.job
        each = self.setting.encoding_seconds(job.shard_items + job.queries / job.shards)
        texts = job.shard_items * (job.words * BYTES_PER_WORD + HELD_TEXT_BYTES)
        if each is None or job.encoding is None:
            return Stage("encode", None, memory=self.constants.process + texts + self.shard_bytes, head=self.held)
        made = self.stage("encode", each, memory=texts + self.shard_bytes, head=self.held)
        assert made.seconds is not None
        # Every worker loads the model once.
        return Stage("encode", made.seconds + job.encoding.load, made.limit, made.memory, made.head)

    def write_vectors(self) -> Stage:
        job = self.job
        size = job.vector_bytes + job.items * ID_BYTES
        memory = _COPIES * self.shard_bytes
        return self.stage(
            "write vectors", 0.0, moved=size, written=size, memory=memory, head=self.held, storage=float(size)
        )

    def gather_gold(self) -> Stage:
        """Every row group in which a judged item lies is read."""
        job = self.job
        if not job.judged:
            return Stage("gather gold")
        groups = max(1, job.items / min(_GROUP, job.items))
        read = job.vector_bytes * _share_touched(groups, job.judged_items)
        tasks = math.ceil(job.shards * _share_touched(job.shards, job.judged_items))
        found = job.judged_items * job.dimension * FLOAT
        memory, head = self.shard_bytes * min(1.0, _GROUP / job.shard_items) + found / tasks, self.held + found
        return self.stage(
            "gather gold", 0.0, tasks=tasks, moved=read, returned=found, read=read, memory=memory, head=head
        )

    def exact_ranks(self) -> Stage:
        job = self.job
        if not job.judged:
            return Stage("exact ranks")
        sent = float(job.shards * job.judged_items * COUNT_BYTES)
        # Each worker reads the queries, the vectors of their gold and where they belong.
        told = job.query_bytes + job.judged_items * (job.dimension * FLOAT + 3 * WIDE)
        memory = _COPIES * self.shard_bytes + told + job.counting_bytes
        head = self.held + 2 * told + 2 * job.judged_items * COUNT_BYTES
        return self._ranked("exact ranks", self.workers * told, sent, memory, head)

    def top_k(self) -> Stage:
        job = self.job
        if not job.depth:
            return Stage("top k")
        sent = job.queries * results_sent(min(job.depth, job.items), job.shards, self.workers) * RESULT_BYTES
        kept = job.results * RESULT_BYTES
        memory = _COPIES * self.shard_bytes + job.query_bytes + _RESULT_COPIES * kept
        head = self.held + job.query_bytes + 2 * kept
        # Every task is told a floor for each query.
        told = min(self.workers, job.shards) * job.query_bytes + job.shards * job.queries * WIDE
        return self._ranked("top k", told, sent, memory, head)

    def _ranked(self, name: str, told: float, sent: float, memory: float, head: float) -> Stage:
        job, setting = self.job, self.setting
        seconds, limit = sum(setting.ranking_parts(name, job.shard_items)), setting.ranking_limit(name, job.shard_items)
        vectors = float(job.vector_bytes)
        return self.stage(
            name,
            seconds,
            limit=limit,
            moved=vectors + told,
            returned=sent,
            read=vectors,
            memory=memory,
            head=head,
            # Every result also lies in a file, so that a second start finds it.
            storage=sent,
        )

    def merge(self) -> Stage:
        """The head adds up counts and keeps the best results."""
        job, cost = self.job, self.constants.scoring
        counts = job.shards * job.judged_items * COUNT_BYTES / WIDE
        results = job.queries * results_sent(job.depth, job.shards, self.workers) if job.depth else 0.0
        seconds = counts * cost.merged_count + results * cost.merged_result
        head = self.held + job.results * HELD_RESULT_BYTES
        return Stage("merge", seconds, "compute" if seconds else "", head=head, storage=self._run_bytes())

    def _run_bytes(self) -> float:
        return float(self.job.results * (RESULT_BYTES + ID_BYTES))


def cluster_plan(setting: Setting) -> EnginePlan:
    """Every stage on all workers of a cluster, one after the other."""
    made, ray, job = _Cluster(setting), setting.constants.ray, setting.job
    stages = (
        Stage("start", ray.start, "start", ray.idle, ray.idle),
        made.read_texts(),
        made.encode(),
        made.write_vectors(),
        made.gather_gold(),
        made.exact_ranks(),
        made.top_k(),
        made.merge(),
        setting.scoring_stage(),
    )
    notes = []
    worker, head = max(stage.memory for stage in stages), max(stage.head for stage in stages) + ray.idle
    node = setting.cores * worker + ray.idle
    if setting.exceeds_memory(node):
        notes.append(
            f"Ray: {setting.cores} workers of {format_bytes(worker)} each do not fit into "
            f"{format_bytes(setting.memory)} of a machine; let fewer work at once, or ask fewer queries at a time."
        )
    if setting.exceeds_memory(head):
        notes.append(
            f"Ray: the head needs {format_bytes(head)}, a machine has {format_bytes(setting.memory)}; it holds all ids "
            f"({format_bytes(job.items * HELD_ID_BYTES)}) and what the shards send."
        )
    return EnginePlan("Ray", stages, tuple(notes))
