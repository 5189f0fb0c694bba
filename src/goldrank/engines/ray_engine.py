"""The engine on a Ray cluster: Ray tasks for `map`, a pool of Ray actors for `map_with`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, cast

from goldrank.engines.base import Engine, Result, Task
from goldrank.engines.ray_cluster import Cluster
from goldrank.errors import GoldrankError
from goldrank.progress import Progress

RETRIES = 20


class RayEngine(Engine):
    """An Engine on a Ray cluster, which it joins, or starts on this machine if *address* is ``local``.

    Every task takes one CPU. Twice as many tasks as CPUs are submitted at a time, so that no CPU waits for its next
    task. If the caller stops reading results, the engine leaves the cluster; it joins or starts it again for the next
    work.
    """

    def __init__(self, name: str, address: str, *, workers: int = 0, retries: int = RETRIES) -> None:
        self.name = name
        self._join = partial(Cluster, address, workers, retries)
        self._cluster = self._join()
        self._closed = False

    @property
    def workers(self) -> int:
        """The number of CPUs of the cluster when it was last reported."""
        return self._cluster.workers

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task], *, what: str, total: int) -> Iterator[Result]:
        """Yield the results as they complete; see Engine."""
        return cast(Iterator[Result], self._results("work", _packed(work), map(_packed, tasks), what, total))

    def map_with(
        self,
        make: Callable[[], Callable[[Task], Result]],
        tasks: Sequence[Task],
        *,
        what: str,
        total: int,
        accelerated: bool = False,
    ) -> Iterator[Result]:
        """Map tasks with workers that each call *make* once; see Engine."""
        content = (_packed(make), accelerated)
        return cast(Iterator[Result], self._results("pool", content, map(_packed, tasks), what, total))

    def _results(self, kind: str, content: Any, tasks: Iterator[bytes], what: str, total: int) -> Iterator[object]:
        submitted = 0
        cluster = self._joined()
        job = cluster.open_job()
        try:
            cluster.send(kind, job, content)
            with Progress(what, total=total, unit="shard") as progress:
                while True:
                    while submitted < 2 * cluster.workers and (task := next(tasks, None)) is not None:
                        cluster.send("task", job, task)
                        submitted += 1
                    if not submitted:
                        return
                    outcome = cluster.receive(job)
                    submitted -= 1
                    result = _unpacked(*outcome, what)
                    progress.advance()
                    yield result
        finally:
            cluster.end_job(job)
            if submitted and cluster.idle:
                cluster.close()

    def _joined(self) -> Cluster:
        if self._closed:
            raise GoldrankError(f"the engine {self.name} is closed")
        if self._cluster.closed:
            self._cluster = self._join()
        return self._cluster

    def close(self) -> None:
        """Leave the cluster; one that was started for this engine ends."""
        self._closed = True
        self._cluster.close()


def _packed(value: object) -> bytes:
    from ray import cloudpickle

    return bytes(cloudpickle.dumps(value))


def _unpacked(kind: str, content: Any, what: str) -> object:
    if kind == "lost":
        raise GoldrankError(f"{what}: a part could not be done ({content})")
    done, result = pickle.loads(content)
    if not done:
        raise result.error(what)
    return result
