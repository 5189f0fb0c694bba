"""The stages of a job, what each takes on one engine, and the machine they are reckoned for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from goldrank.planning.constants import Constants, RankingCost
from goldrank.planning.job import Job

STAGES = (
    "start",
    "read texts",
    "encode",
    "write vectors",
    "gather gold",
    "exact ranks",
    "top k",
    "merge",
    "score, intervals",
)
# A machine whose memory is filled beyond this share has none left for the system and its file cache.
FILLED = 0.9


@dataclass(frozen=True)
class Stage:
    """What one stage takes; bytes are peaks for memory and sums for network and storage."""

    name: str
    seconds: float | None = 0.0
    """None where it cannot be told; 0 where there is nothing to do, or another stage does it."""
    limit: str = ""
    """What the time is spent on: compute, memory (its bandwidth), re-scoring, disk, network, task overhead, PCIe."""
    memory: float = 0.0
    """Of the machine; of one worker in a cluster."""
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
        """Times and bytes moved or kept added up, and the highest memory."""
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
        """One stage by its name."""
        return next(stage for stage in self.stages if stage.name == name)


def slowest(times: Mapping[str, float]) -> tuple[float, str]:
    """The time of things that go on at once, and which of them it is that all wait for.

    >>> slowest({"compute": 3.0, "disk": 5.0})
    (5.0, 'disk')
    """
    limit = max(times, key=lambda name: times[name])
    return times[limit], limit if times[limit] else ""


@dataclass(frozen=True)
class Setting:
    """A job with the constants of the machines that do it."""

    job: Job
    constants: Constants

    @property
    def cores(self) -> int:
        """Cores of each machine."""
        return self.job.cores or self.constants.cores

    @property
    def memory(self) -> float:
        """Bytes of each machine, 0 where nobody said."""
        return self.constants.memory if self.job.memory is None else self.job.memory

    @property
    def disk(self) -> float:
        """Free bytes of storage, 0 where nobody said."""
        return self.constants.disk if self.job.disk is None else self.job.disk

    def exceeds_memory(self, size: float) -> bool:
        """Whether so many bytes are more than a machine has room for, as far as is known."""
        return self.memory > 0 and size > FILLED * self.memory

    def ranking_parts(self, name: str, items: float, cost: RankingCost | None = None) -> list[float]:
        """Core-seconds of exact ranks or the top k of so many items, part by part as in RankingCost; none unasked.

        With a *cost* of its own, such as that of a GPU, they are seconds as they pass.
        """
        job, constants = self.job, self.constants
        if name == "exact ranks":
            usual, entries, compared = constants.counting, float(job.judged), job.judged
        else:
            usual, entries, compared = constants.search, min(job.depth, items), 1
        parts = (cost or usual).parts(items, job.dimension, job.queries, entries, compared)
        return [(1 if cost else constants.cores) * part if entries else 0.0 for part in parts]

    def ranking_limit(self, name: str, items: float, cost: RankingCost | None = None) -> str:
        """What takes most of the time: products and their comparison, moving the items, or scoring some again."""
        start, query, number, multiply, pair, *entries = self.ranking_parts(name, items, cost)
        return slowest({"compute": query + multiply + pair, "memory": start + number, "re-scoring": sum(entries)})[1]

    def reading_seconds(self, items: float) -> float:
        """Core-seconds of reading so many texts."""
        cost = self.constants.reading
        return items * cost.text + items / self.job.items * self.job.text_bytes * cost.byte

    def encoding_seconds(self, texts: float) -> float | None:
        """Core-seconds of encoding so many texts, without loading the model."""
        cost = self.job.encoding
        return None if cost is None else self.constants.cores * texts * (cost.text + self.job.words * cost.word)

    def scoring_stage(self) -> Stage:
        """Scoring is done by one process on every engine."""
        cost, judged = self.constants.scoring, self.job.judged_items
        size = self.constants.process + 100 * judged
        return Stage("score, intervals", cost.start + self.job.queries * cost.query, "compute", size, head=size)
