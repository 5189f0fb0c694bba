"""The engine that runs tasks one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from goldrank.engines.base import Engine, Result, Task
from goldrank.progress import Progress


class LocalEngine(Engine):
    """An Engine that runs all tasks in this process, in order.

    >>> list(LocalEngine().map(abs, [-1, 2], what="example", total=2))
    [1, 2]
    """

    name = "local"
    workers = 1

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task], *, what: str, total: int) -> Iterator[Result]:
        """Yield the results; see Engine."""
        with Progress(what, total=total, unit="shard") as progress:
            for task in tasks:
                result = work(task)
                progress.advance()
                yield result

    def map_with(
        self,
        make: Callable[[], Callable[[Task], Result]],
        tasks: Sequence[Task],
        *,
        what: str,
        total: int,
        accelerated: bool = False,
    ) -> Iterator[Result]:
        """Map tasks with the result of *make*; see Engine."""
        yield from self.map(make(), tasks, what=what, total=total)

    def close(self) -> None:
        """Do nothing: there is nothing to stop."""
