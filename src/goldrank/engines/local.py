"""The engine that runs tasks one after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType

from goldrank.engines.base import Result, Task
from goldrank.progress import Progress


class LocalEngine:
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

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
