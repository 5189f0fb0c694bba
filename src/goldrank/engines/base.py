"""What every engine offers, how one is named, and how an error travels from a worker to the one who waits for it."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, TypeVar

from goldrank.errors import GoldrankError, InputError, MissingExtraError, shorten

Task = TypeVar("Task")
Result = TypeVar("Result")

_ADDRESS = re.compile(r"(ray://)?(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):([0-9]{1,5})")
_LARGEST_PORT = 65535


class Engine(Protocol):
    """Who does work that is cut into parts: other processes, on this machine or on many."""

    name: str
    """As it was asked for, for messages."""

    @property
    def workers(self) -> int:
        """How many parts it works on at once; this may change while machines come and go."""

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task], *, what: str, total: int) -> Iterator[Result]:
        """The results as they come, in no particular order.

        A task is drawn from *tasks* only when there is room for it, in the thread that asks for the next result: by
        then whoever asks has seen all results handed out before, so a generator may put what was learnt from them into
        later tasks, and memory stays bounded. A worker or node that is lost costs only the tasks it held, which are
        done again elsewhere. A GoldrankError that *work* raises comes out as it is.

        Args:
            work: What is done to each task; it travels once, not with every task.
            tasks: What to do; each is small, such as the path of a shard.
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
        """The same where every worker first makes something dear, such as a loaded model, and keeps it.

        Where that is *accelerated* by a GPU and there are some, each worker is given one of them.
        """

    def close(self) -> None:
        """Give back what was started; a cluster that was there before stays."""

    def __enter__(self) -> Engine: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_engine(spec: str) -> Engine | None:
    """The engine that *spec* names, None for this process alone.

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
    if workers is None and spec != "auto" and (address is None or address[2] == "ray" or not _is_port(address[3])):
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


def _is_port(digits: str) -> bool:
    return 0 < int(digits) <= _LARGEST_PORT


def usable_cores() -> int:
    """Return the number of cores this process may use, which a container or scheduler may limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerTraceback(Exception):  # noqa: N818 - no error of its own: where in a worker one was raised
    """Where in a worker an error was raised, as text; shown by ``--debug``."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(frozen=True)
class WorkerFailure:
    """An error of a worker, taken apart so that it can be put together elsewhere whatever its constructor asks for."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    state: dict[str, Any]
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> WorkerFailure:
        """Take *error* apart."""
        return cls(type(error), error.args, dict(vars(error)), "".join(traceback.format_exception(error)))

    def without_details(self) -> WorkerFailure:
        """The same as a plain error, for one whose class or content cannot travel."""
        message = next(iter(str(self.args[0]).splitlines()), "") if self.args else ""
        return WorkerFailure(RuntimeError, (f"{self.kind.__name__}: {message}",), {}, self.trace)

    def error(self, what: str) -> GoldrankError:
        """The error to raise: a GoldrankError as it was, any other as the cause of one that names *what* failed."""
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
