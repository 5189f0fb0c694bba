"""Estimate time, memory, network and storage of every stage of a job on every engine."""

from __future__ import annotations

from dataclasses import dataclass

from goldrank.planning.cluster import cluster_plan
from goldrank.planning.constants import Constants
from goldrank.planning.job import EnginePlan, PlannedJob, Setting
from goldrank.planning.one_machine import gpu_plan, local_plan
from goldrank.units import format_bytes


@dataclass(frozen=True)
class Estimate:
    """The cost of a job on each engine, with notes about limits and missing values."""

    job: PlannedJob
    constants: Constants
    engines: tuple[EnginePlan, ...]
    notes: tuple[str, ...]

    def engine(self, name: str) -> EnginePlan:
        """Return the plan of one engine: local, Ray or one GPU."""
        return next(plan for plan in self.engines if plan.name == name)


def estimate(job: PlannedJob, constants: Constants) -> Estimate:
    """Estimate a job on all engines; nothing is measured or read.

    >>> from goldrank.planning.constants import REFERENCE
    >>> plan = estimate(PlannedJob(items=1_000_000, dimension=768, queries=10_000), REFERENCE)
    >>> [engine.name for engine in plan.engines]
    ['local', 'Ray', 'one GPU']
    """
    setting = Setting(job, constants)
    engines = (local_plan(setting), cluster_plan(setting), gpu_plan(setting))
    notes = [note for engine in engines for note in engine.notes]
    stored = max(engine.total.storage for engine in engines)
    if setting.disk and stored > setting.disk:
        notes.append(f"storage: {format_bytes(stored)} are needed and {format_bytes(setting.disk)} are free.")
    if job.encoding is None:
        notes.append("encode is left out of the totals: name a model with --model, or give --encode-rate.")
    if not setting.memory:
        notes.append("whether the job fits into memory was not checked: give the memory of a machine with --memory.")
    return Estimate(job, constants, engines, tuple(notes))
