"""A job to be estimated: its size, its machines, and its stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from goldrank.planning.constants import Constants, EncodingCost, RankingCost

SHARD = 65_536
"""Items of one shard, and so of one task."""
FLOAT, WIDE = 4, 8
# Bytes of a word of the demonstration data (persons.jsonl), including a blank.
BYTES_PER_WORD = 6.0
# {"_id": "…", "text": "…"} with an id of ten characters.
RECORD_BYTES = 36
ID_BYTES = 10
# In CPython a string of ten characters takes 59 bytes, its list entry 8, and its dict entry with a number about 100.
HELD_ID_BYTES = 59 + 8 + 100
# In CPython a string takes 49 bytes besides its characters, and its list entry 8.
HELD_TEXT_BYTES = 57
# A result in a Python ranking: a dict entry and a float; ids are shared.
HELD_RESULT_BYTES = 100
COUNT_BYTES = 4 * 8
"""The four counts of a judged item that a shard returns."""
RESULT_BYTES = 16
"""The number and the score of a result that a shard returns."""
# Above this share of a machine's memory, too little is left for the system and its page cache.
FILLED = 0.9


@dataclass(frozen=True)
class PlannedJob:
    """The size of an evaluation, and the machines it runs on.

    >>> job = PlannedJob(items=1_000_000, dimension=768, queries=1000)
    >>> job.vector_bytes, job.shards, job.judged_items
    (3072000000, 16, 1000)
    """

    items: int
    dimension: int
    queries: int
    judged: int = 1
    """Judged items of a query; 0 leaves exact ranks out."""
    depth: int = 1000
    """Results kept of a query; 0 leaves the top k out."""
    words: float = 100.0
    """Mean words of a text."""
    nodes: int = 1
    cores: int | None = None
    """Cores of each machine; None for as many as the constants were measured on."""
    memory: float | None = None
    """Bytes of memory of each machine; None for that of the constants."""
    disk: float | None = None
    """Free bytes of storage; None for those of the constants."""
    network: float = 1.25e9
    """Bytes per second of each machine; 10 Gbit/s by default, because one machine alone cannot measure it."""
    encoding: EncodingCost | None = None
    """What the model costs; None leaves encoding out."""

    @property
    def vector_bytes(self) -> int:
        """All item vectors in float32."""
        return self.items * self.dimension * FLOAT

    @property
    def query_bytes(self) -> int:
        """All query vectors in float32."""
        return self.queries * self.dimension * FLOAT

    @property
    def text_bytes(self) -> float:
        """The texts as JSON lines."""
        return self.items * (self.words * BYTES_PER_WORD + RECORD_BYTES)

    @property
    def judged_items(self) -> int:
        """Judged items of all queries."""
        return self.queries * self.judged

    @property
    def results(self) -> int:
        """Results kept of all queries."""
        return self.queries * min(self.depth, self.items)

    @property
    def run_bytes(self) -> float:
        """The stored results of all queries."""
        return float(self.results * (RESULT_BYTES + ID_BYTES))

    @property
    def shards(self) -> int:
        """The number of shards."""
        return -(-self.items // SHARD)

    @property
    def shard_items(self) -> float:
        """Mean items of a shard; the last one may be smaller."""
        return self.items / self.shards

    @property
    def counting_bytes(self) -> float:
        """Memory of the queries while hits are counted: float64 values and packed float32 operands."""
        return self.queries * self.dimension * (WIDE + FLOAT) + self.judged_items * (COUNT_BYTES + 2 * WIDE)


@dataclass(frozen=True)
class Stage:
    """The cost of one stage; bytes are peaks for memory and sums for network and storage."""

    name: str
    seconds: float | None = 0.0
    """None if unknown; 0 if there is nothing to do, or another stage does it."""
    limit: str = ""
    """The bottleneck: compute, memory (its bandwidth), re-scoring, disk, network, task overhead or PCIe."""
    memory: float = 0.0
    """Bytes of the machine, or of one worker in a cluster."""
    head: float = 0.0
    device: float = 0.0
    network: float = 0.0
    storage: float = 0.0


@dataclass(frozen=True)
class EnginePlan:
    """All stages on one engine."""

    name: str
    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def total(self) -> Stage:
        """The sums of times, network and storage, and the highest memory."""
        known = [stage.seconds for stage in self.stages if stage.seconds is not None]
        longest = max(self.stages, key=lambda stage: stage.seconds or 0.0)
        return Stage(
            "total",
            sum(known),
            longest.limit,
            *(max(getattr(stage, name) for stage in self.stages) for name in ("memory", "head", "device")),
            *(sum(getattr(stage, name) for stage in self.stages) for name in ("network", "storage")),
        )

    def stage(self, name: str) -> Stage:
        """Return the stage of that name."""
        return next(stage for stage in self.stages if stage.name == name)


def slowest(times: Mapping[str, float]) -> tuple[float, str]:
    """Return the time of concurrent activities, and which of them is the bottleneck.

    >>> slowest({"compute": 3.0, "disk": 5.0})
    (5.0, 'disk')
    """
    limit = max(times, key=lambda name: times[name])
    return times[limit], limit if times[limit] else ""


@dataclass(frozen=True)
class Setting:
    """A job with the constants of its machines."""

    job: PlannedJob
    constants: Constants

    @property
    def cores(self) -> int:
        """Cores of each machine."""
        return self.job.cores or self.constants.cores

    @property
    def memory(self) -> float:
        """Bytes of memory of each machine; 0 if unknown."""
        return self.constants.memory if self.job.memory is None else self.job.memory

    @property
    def disk(self) -> float:
        """Free bytes of storage; 0 if unknown."""
        return self.constants.disk if self.job.disk is None else self.job.disk

    def exceeds_memory(self, size: float) -> bool:
        """Return True if so many bytes do not fit into the memory of a machine; False if that is unknown."""
        return self.memory > 0 and size > FILLED * self.memory

    def ranking_parts(self, name: str, items: float, cost: RankingCost | None = None) -> list[float]:
        """Return the core-seconds of exact ranks or the top k of this many items, for each part of a RankingCost.

        They are 0 if the job does not have that stage. With a *cost* of a GPU they are seconds of wall-clock time.
        """
        job, constants = self.job, self.constants
        if name == "exact ranks":
            usual, entries, compared = constants.counting, float(job.judged), job.judged
        else:
            usual, entries, compared = constants.search, min(job.depth, items), 1
        parts = (cost or usual).parts(items, job.dimension, job.queries, entries, compared)
        return [(1 if cost else constants.cores) * part if entries else 0.0 for part in parts]

    def ranking_limit(self, name: str, items: float, cost: RankingCost | None = None) -> str:
        """Return the bottleneck: products and their comparison, moving the items, or exact re-scoring."""
        start, query, number, multiply, pair, *entries = self.ranking_parts(name, items, cost)
        return slowest({"compute": query + multiply + pair, "memory": start + number, "re-scoring": sum(entries)})[1]

    def reading_seconds(self, items: float) -> float:
        """Return the core-seconds of reading so many texts."""
        cost = self.constants.reading
        return items * cost.text + items / self.job.items * self.job.text_bytes * cost.byte

    def encoding_seconds(self, texts: float) -> float | None:
        """Return the core-seconds of encoding so many texts, without loading the model."""
        cost = self.job.encoding
        return None if cost is None else self.constants.cores * texts * (cost.text + self.job.words * cost.word)

    def scoring_stage(self) -> Stage:
        """Return the stage of scoring, which one process does on every engine."""
        cost, judged = self.constants.scoring, self.job.judged_items
        size = self.constants.process + 100 * judged
        return Stage("score, intervals", cost.start + self.job.queries * cost.query, "compute", size, head=size)
