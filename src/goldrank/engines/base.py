"""The engine protocol, the parser of engine specs, and the transport of errors from workers."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from goldrank.errors import GoldrankError, InputError, MissingExtraError, shorten

if TYPE_CHECKING:
    from typing_extensions import Self

Task = TypeVar("Task")
Result = TypeVar("Result")

_ADDRESS = re.compile(r"(ray://)?(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):([0-9]{1,5})")
_LARGEST_PORT = 65535


class Engine(Protocol):
    """Runs tasks in this process, in other processes of this machine or on a cluster, and is closed after its block."""

    name: str
    """The spec, for messages."""

    @property
    def workers(self) -> int:
        """The number of tasks that run at once; it may change while nodes join and leave."""

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task], *, what: str, total: int) -> Iterator[Result]:
        """Yield the results as they complete, in no particular order.

        A task is read from *tasks* only when a worker can take it, in the thread that requests the next result. A
        generator may therefore use earlier results for later tasks, and memory stays bounded. If a worker or node is
        lost, its tasks are run again elsewhere. A GoldrankError that *work* raises is raised unchanged.

        Args:
            work: The function applied to each task; it is sent once, not with every task.
            tasks: The tasks; each is small, such as the path of a shard.
            what: The name of the work, for the progress bar and for messages.
            total: The number of tasks, for the progress bar.
        """

    def map_with(
        self,
        make: Callable[[], Callable[[Task], Result]],
        tasks: Sequence[Task],
        *,
        what: str,
        total: int,
        accelerated: bool = False,
    ) -> Iterator[Result]:
        """Map tasks with workers that each call *make* once, for example to load a model, and reuse its result.

        With *accelerated*, each worker is assigned a GPU if there are any.
        """

    def close(self) -> None:
        """Stop what the engine started; a cluster that existed before keeps running."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_engine(spec: str) -> Engine | None:
    """Return the engine that *spec* names; None for this process alone.

    Args:
        spec: ``local``; ``ray`` or ``ray:4``, a cluster on this machine (of 4 workers), ended with the engine;
            ``HOST:PORT`` or ``auto``, a cluster that this machine is part of; ``ray://HOST:PORT``, any other cluster.

    >>> open_engine("local")
    >>> open_engine("spark")
    Traceback (most recent call last):
    goldrank.errors.InputError: there is no engine 'spark'; write local, ray, ray:WORKERS, HOST:PORT, auto or ray://HOST:PORT
    """
    if spec == "local":
        return None
    workers = re.fullmatch(r"ray(?::([1-9][0-9]{0,3}))?", spec)
    address = _ADDRESS.fullmatch(spec)
    if (
        workers is None
        and spec != "auto"
        and (address is None or address[2] == "ray" or not 0 < int(address[3]) <= _LARGEST_PORT)
    ):
        raise InputError(
            f"there is no engine {shorten(spec)}",
            remedy="write local, ray, ray:WORKERS, HOST:PORT, auto or ray://HOST:PORT",
        )
    try:
        import ray  # noqa: F401 - whether it is there
    except ImportError as error:
        raise MissingExtraError(f"the engine {shorten(spec)}", "ray", "ray") from error
    from goldrank.engines.ray_engine import RayEngine

    if workers is None:
        return RayEngine(spec, spec)
    return RayEngine(spec, "local", workers=int(workers[1] or usable_cores()))


def usable_cores() -> int:
    """Return the number of cores this process may use, which a container or scheduler may limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerTraceback(Exception):  # noqa: N818 - no error of its own: where in a worker one was raised
    """The traceback of an error in a worker, as text; shown by ``--debug``."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(frozen=True)
class WorkerFailure:
    """An error of a worker in parts, so that it can be rebuilt without calling its constructor."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    state: dict[str, Any]
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> WorkerFailure:
        """Create a failure from an error."""
        return cls(type(error), error.args, dict(vars(error)), "".join(traceback.format_exception(error)))

    def without_details(self) -> WorkerFailure:
        """Return the failure as a RuntimeError, for an error that cannot be pickled."""
        message = next(iter(str(self.args[0]).splitlines()), "") if self.args else ""
        return WorkerFailure(RuntimeError, (f"{self.kind.__name__}: {message}",), {}, self.trace)

    def error(self, what: str) -> GoldrankError:
        """Return the error to raise: a GoldrankError unchanged, any other as the cause of one that names *what*."""
        original = self.kind.__new__(self.kind, *self.args)
        original.args = self.args
        vars(original).update(self.state)
        original.__cause__ = WorkerTraceback(self.trace)
        if isinstance(original, GoldrankError):
            return original
        message = next(iter(str(original).strip().splitlines()), "")
        named = (
            message if self.kind is RuntimeError and message else f"{self.kind.__name__}: {message}".removesuffix(": ")
        )
        raised = GoldrankError(f"{what} failed in a worker ({named})")
        raised.__cause__ = original
        return raised
