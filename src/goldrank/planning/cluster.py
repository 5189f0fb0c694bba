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

# Copies of a shard in memory: as read and as a matrix.
_COPIES = 2
# Tasks that a worker has in flight.
_IN_FLIGHT = 2
# Rows of a Parquet row group, which is read whole even for a single row.
_GROUP = 4096
# Copies of a shard's results in a worker: as computed, concatenated, and as the bytes of a file.
_RESULT_COPIES = 3


def results_sent(depth: int, shards: int, workers: int) -> float:
    """Return the number of results of one query that all shards send together.

    A task gets the lowest score of the best results so far, as known when it is submitted. Two tasks of every worker
    are submitted before the first returns, and send all their results; of the n-th shard after them, only about one
    result in n is above that score.

    >>> results_sent(100, 1, 8), round(results_sent(100, 1000, 8))
    (100.0, 2014)
    """
    first = min(_IN_FLIGHT * workers, shards)
    return depth * (first + math.log(shards / first))


def _share_touched(parts: float, items: int) -> float:
    """Return the expected share of equal parts that hold at least one of this many items at random positions."""
    return 1.0 if parts <= 1 else 1 - math.exp(items * math.log1p(-1 / parts))


class _Cluster:
    """The stages of one job on one cluster."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.job, self.constants = setting, setting.job, setting.constants
        self.workers = self.job.nodes * setting.cores
        self.shard_bytes = self.job.shard_items * self.job.dimension * FLOAT
        self.head_memory = self.constants.process + self.job.items * HELD_ID_BYTES

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
        """Return a stage of tasks of *core_seconds* each; all machines transfer *moved* bytes, the head *returned*."""
        job, rates = self.job, self.constants.disk_rate
        tasks = job.shards if tasks is None else tasks
        rounds, has_network = -(-tasks // self.workers), job.nodes > 1
        times = {
            limit: rounds * core_seconds,
            "disk": (written / rates.write + read / rates.read) / job.nodes,
            "network": has_network * max(moved / job.nodes, returned) / job.network,
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
            network=has_network * (moved + returned),
            storage=storage,
        )

    def read_texts(self) -> Stage:
        job = self.job
        texts = job.shard_items * (job.words * BYTES_PER_WORD + HELD_TEXT_BYTES)
        seconds = self.setting.reading_seconds(job.shard_items)
        return self.stage(
            "read texts", seconds, moved=job.text_bytes, memory=texts, head=self.head_memory, storage=job.text_bytes
        )

    def encode(self) -> Stage:
        job = self.job
        each = self.setting.encoding_seconds(job.shard_items + job.queries / job.shards)
        texts = job.shard_items * (job.words * BYTES_PER_WORD + HELD_TEXT_BYTES)
        if each is None or job.encoding is None:
            memory = self.constants.process + texts + self.shard_bytes
            return Stage("encode", None, memory=memory, head=self.head_memory)
        stage = self.stage("encode", each, memory=texts + self.shard_bytes, head=self.head_memory)
        assert stage.seconds is not None
        # Every worker loads the model once.
        return Stage("encode", stage.seconds + job.encoding.load, stage.limit, stage.memory, stage.head)

    def write_vectors(self) -> Stage:
        job = self.job
        size = job.vector_bytes + job.items * ID_BYTES
        memory = _COPIES * self.shard_bytes
        return self.stage(
            "write vectors", 0.0, moved=size, written=size, memory=memory, head=self.head_memory, storage=float(size)
        )

    def gather_gold(self) -> Stage:
        """Return the stage that reads every row group with a judged item."""
        job = self.job
        if not job.judged:
            return Stage("gather gold")
        groups = max(1, job.items / min(_GROUP, job.items))
        read = job.vector_bytes * _share_touched(groups, job.judged_items)
        tasks = math.ceil(job.shards * _share_touched(job.shards, job.judged_items))
        gold = job.judged_items * job.dimension * FLOAT
        memory, head = self.shard_bytes * min(1.0, _GROUP / job.shard_items) + gold / tasks, self.head_memory + gold
        return self.stage(
            "gather gold", 0.0, tasks=tasks, moved=read, returned=gold, read=read, memory=memory, head=head
        )

    def exact_ranks(self) -> Stage:
        job = self.job
        if not job.judged:
            return Stage("exact ranks")
        sent = float(job.shards * job.judged_items * COUNT_BYTES)
        # Each worker reads the queries, and the vectors and positions of their gold.
        inputs = job.query_bytes + job.judged_items * (job.dimension * FLOAT + 3 * WIDE)
        memory = _COPIES * self.shard_bytes + inputs + job.counting_bytes
        head = self.head_memory + 2 * inputs + 2 * job.judged_items * COUNT_BYTES
        return self._ranked("exact ranks", self.workers * inputs, sent, memory, head)

    def top_k(self) -> Stage:
        job = self.job
        if not job.depth:
            return Stage("top k")
        sent = job.queries * results_sent(min(job.depth, job.items), job.shards, self.workers) * RESULT_BYTES
        results = job.results * RESULT_BYTES
        memory = _COPIES * self.shard_bytes + job.query_bytes + _RESULT_COPIES * results
        head = self.head_memory + job.query_bytes + 2 * results
        # Every task gets the lowest useful score of each query.
        inputs = min(self.workers, job.shards) * job.query_bytes + job.shards * job.queries * WIDE
        return self._ranked("top k", inputs, sent, memory, head)

    def _ranked(self, name: str, inputs: float, sent: float, memory: float, head: float) -> Stage:
        job, setting = self.job, self.setting
        seconds, limit = sum(setting.ranking_parts(name, job.shard_items)), setting.ranking_limit(name, job.shard_items)
        vectors = float(job.vector_bytes)
        return self.stage(
            name,
            seconds,
            limit=limit,
            moved=vectors + inputs,
            returned=sent,
            read=vectors,
            memory=memory,
            head=head,
            # Every result is also written to a file, from which a second start resumes.
            storage=sent,
        )

    def merge(self) -> Stage:
        """Return the stage in which the head adds up the counts and selects the best results."""
        job, cost = self.job, self.constants.scoring
        counts = job.shards * job.judged_items * COUNT_BYTES / WIDE
        results = job.queries * results_sent(job.depth, job.shards, self.workers) if job.depth else 0.0
        seconds = counts * cost.merged_count + results * cost.merged_result
        head = self.head_memory + job.results * HELD_RESULT_BYTES
        return Stage("merge", seconds, "compute" if seconds else "", head=head, storage=job.run_bytes)


def cluster_plan(setting: Setting) -> EnginePlan:
    """Estimate every stage on all workers of a cluster, one after the other."""
    cluster, ray, job = _Cluster(setting), setting.constants.ray, setting.job
    stages = (
        Stage("start", ray.start, "start", ray.idle, ray.idle),
        cluster.read_texts(),
        cluster.encode(),
        cluster.write_vectors(),
        cluster.gather_gold(),
        cluster.exact_ranks(),
        cluster.top_k(),
        cluster.merge(),
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
