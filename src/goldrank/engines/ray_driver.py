"""The driver process, which talks to Ray, and the functions that workers run; started by `ray_cluster`.

Ray ends the process that talks to it when the head node is lost, writes to its standard streams, and changes signal
handlers and logging. Therefore a separate process does this: it reads messages from a socket and sends results back,
both as pickled bytes that it does not load, and it can be ended at any time.
"""

from __future__ import annotations

import pickle
import queue
import shutil
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import ray
from ray import cloudpickle

from goldrank.engines.base import WorkerFailure
from goldrank.engines.ray_cluster import ONE_THREAD, ClusterSettings, Message

_STORE_BYTES = 200_000_000
_WAIT_SECONDS = 0.05
_COUNT_SECONDS = 2.0
_CONNECT_ATTEMPTS = 3
# The environment of the workers; that of the nodes of a cluster cannot be set. It is set for each task and not for the
# whole job, because for a job the head waits for an agent to start before it serves a client.
_WORKER_ENVIRONMENT = {"env_vars": ONE_THREAD}

_loaded: dict[str, Callable[[Any], Any]] = {}


def main() -> None:
    """Serve the process at the other end of the socket until the socket is closed."""
    connection = Connection(int(sys.argv[1]))
    settings: ClusterSettings = connection.recv()
    try:
        try:
            _join(settings, lambda: connection.send(("again", 0, None)))
            connection.send(("ready", 0, (_head_address(settings), cpus())))
        except Exception as error:
            connection.send(("refused", 0, _one_line(error)))
            return
        Driver(connection, settings.retries).serve()
    except (EOFError, OSError):
        pass  # The other process has ended.
    finally:
        ray.shutdown()
        if settings.folder:
            shutil.rmtree(settings.folder, ignore_errors=True)


def _join(settings: ClusterSettings, report_attempt: Callable[[], None]) -> None:
    if settings.address.startswith("ray://"):
        _join_as_client(settings.address, report_attempt)
        return
    ours: dict[str, Any] = {
        "num_cpus": settings.workers,
        "include_dashboard": False,
        "object_store_memory": _STORE_BYTES,
        "_temp_dir": settings.folder,
    }
    options = ours if settings.folder else {}
    ray.init(settings.address, log_to_driver=False, configure_logging=False, **options)


def _join_as_client(address: str, report_attempt: Callable[[], None]) -> None:
    # The head forks a process for every client, which sometimes dies at once or never answers.
    for _ in range(_CONNECT_ATTEMPTS - 1):
        try:
            ray.init(address)
        except ConnectionAbortedError:
            report_attempt()
        else:
            return
    ray.init(address)


def _head_address(settings: ClusterSettings) -> str:
    """Return an address that is reachable while the head node is alive."""
    if settings.address.startswith("ray://"):
        return settings.address.removeprefix("ray://")
    return str(ray.get_runtime_context().gcs_address)


def cpus() -> int:
    """Return the current number of CPUs of the cluster."""
    return int(ray.cluster_resources().get("CPU", 0))


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    # A colon announces the traceback of the head, which says in its last line what happened.
    message = lines[-1] if lines[0].endswith(":") else lines[0]
    return f"{type(error).__name__}: {message}".removesuffix(": ").rstrip(".")[:300]


class Driver:
    """Read messages, run their tasks on the cluster, and send back the results."""

    def __init__(self, connection: Connection, retries: int) -> None:
        self._connection, self._retries = connection, retries
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._jobs: dict[int, TaskJob | PoolJob] = {}
        self._cpus, self._counted = cpus(), time.monotonic()

    def serve(self) -> None:
        """Run until the other end closes the socket."""
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            pending = {reference: number for number, job in self._jobs.items() for reference in job.pending}
            for message in self._new_messages(0.0001 if pending else _COUNT_SECONDS):
                if message is None:
                    return
                self._handle(*message)
            if pending:
                self._send_results(pending)
            self._count_cpus()

    def _listen(self) -> None:
        # In a separate thread: if messages were read only between results, both ends could block while they write.
        try:
            while True:
                self._messages.put(self._connection.recv())
        except (EOFError, OSError):
            self._messages.put(None)

    def _new_messages(self, timeout: float) -> Iterator[Message | None]:
        try:
            yield self._messages.get(timeout=timeout)
            while True:
                yield self._messages.get_nowait()
        except queue.Empty:
            return

    def _handle(self, kind: str, number: int, content: Any) -> None:
        if kind == "work":
            self._jobs[number] = TaskJob(content, self._retries)
        elif kind == "pool":
            make, accelerated = content
            self._jobs[number] = PoolJob(make, accelerated, self._retries)
        elif kind == "task":
            self._jobs[number].add(content)
        else:
            self._jobs.pop(number).end()

    def _send_results(self, pending: dict[ray.ObjectRef, int]) -> None:
        ready, rest = ray.wait(list(pending), num_returns=1, timeout=_WAIT_SECONDS)
        if ready and rest:
            ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for reference in ready:
            number = pending[reference]
            if number not in self._jobs:
                continue
            try:
                result = self._jobs[number].complete(reference)
            except ray.exceptions.RayError as error:
                self._connection.send(("lost", number, self._reason(error)))
            else:
                if result is not None:
                    self._connection.send(("result", number, result))

    def _reason(self, error: ray.exceptions.RayError) -> str:
        kinds = ray.exceptions
        died = (kinds.WorkerCrashedError, kinds.NodeDiedError, kinds.ActorDiedError, kinds.ActorUnavailableError)
        cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
        if isinstance(error, died) or isinstance(cause, died):
            return f"the worker died, and so did those that tried it again, {self._retries} times"
        if isinstance(error, ray.exceptions.OutOfMemoryError):
            return "the memory of the node was too small for it"
        return _one_line(cause)

    def _count_cpus(self) -> None:
        if time.monotonic() - self._counted < _COUNT_SECONDS:
            return
        self._counted, before = time.monotonic(), self._cpus
        self._cpus = cpus()
        if self._cpus != before:
            self._connection.send(("cpus", 0, self._cpus))


def perform(key: str, work: list[Any], task: bytes) -> bytes:
    """Run one task in a worker, which caches the function for the next task."""

    def work_on_task() -> object:
        if key not in _loaded:
            _loaded.clear()
            _loaded[key] = pickle.loads(ray.get(work[0]))
        return _loaded[key](pickle.loads(task))

    return outcome(work_on_task)


def outcome(make: Callable[[], object]) -> bytes:
    """Return the result of *make* or the error it raised, pickled; Ray does not see the error, so it does not retry."""
    try:
        return bytes(cloudpickle.dumps((True, make())))
    except (Exception, SystemExit) as error:
        return failed_outcome(error)


def failed_outcome(error: BaseException) -> bytes:
    """Return the outcome of work that raised *error*."""
    failure = WorkerFailure.of(error)
    try:
        content = bytes(cloudpickle.dumps((False, failure)))
        pickle.loads(content)[1].error("")
    except Exception:
        content = bytes(cloudpickle.dumps((False, failure.without_details())))
    return content


class TaskJob:
    """Tasks that any worker can run; Ray itself retries them if a worker or node is lost."""

    def __init__(self, work: bytes, retries: int) -> None:
        options = {"num_cpus": 1, "max_retries": retries, "retry_exceptions": False, "runtime_env": _WORKER_ENVIRONMENT}
        self._perform = partial(ray.remote(**options)(perform).remote, uuid.uuid4().hex, [ray.put(work)])
        self.pending: set[ray.ObjectRef] = set()

    def add(self, task: bytes) -> None:
        """Submit *task*."""
        self.pending.add(self._perform(task))

    def complete(self, reference: ray.ObjectRef) -> bytes:
        """Return the outcome of a task that is done; raise a RayError if it was lost."""
        self.pending.remove(reference)
        return bytes(ray.get(reference))

    def end(self) -> None:
        """Do nothing: running tasks finish, and their results are ignored.

        `ray.cancel` of a task that is being sent to its worker aborts this process. To stop the tasks at once, end this
        process.
        """


class PreparedWorker:
    """An actor that prepares something expensive, such as a model, once and then runs one task at a time."""

    def prepare(self, make: bytes) -> bytes | None:
        """Prepare for tasks; return None, or the outcome if *make* raised an error."""
        try:
            self._work = pickle.loads(make)()
        except (Exception, SystemExit) as error:
            return failed_outcome(error)
        return None

    def perform(self, task: bytes) -> bytes:
        """Return the outcome of *task*."""
        return outcome(lambda: self._work(pickle.loads(task)))


@dataclass(eq=False)
class _Task:
    content: bytes = b""
    losses: int = 0


class PoolJob:
    """Tasks for workers that each prepare something expensive, such as a model, once.

    A worker gets one task at a time, and none before it is prepared, so that no task waits behind another one or for a
    node that does not return. Therefore this class replaces lost workers itself instead of letting Ray restart them.
    """

    def __init__(self, make: bytes, accelerated: bool, retries: int) -> None:
        gpus = int(ray.cluster_resources().get("GPU", 0)) if accelerated else 0
        # Without one, Ray hides the GPUs of a node.
        options = {"num_cpus": 1, "num_gpus": 1 if gpus else 0, "runtime_env": _WORKER_ENVIRONMENT}
        self._start_worker = ray.remote(**options)(PreparedWorker).remote
        self._make = ray.put(make)
        self._size = max(1, gpus or cpus())
        self._retries = retries
        self._preparation = _Task()
        self._waiting: deque[_Task] = deque()
        self._idle: list[Any] = []
        self.pending: dict[ray.ObjectRef, tuple[Any, _Task]] = {}

    def add(self, task: bytes) -> None:
        """Run *task* as soon as a worker is free."""
        self._waiting.append(_Task(task))
        self._assign()

    def _assign(self) -> None:
        while self._waiting and self._idle:
            worker, task = self._idle.pop(), self._waiting.popleft()
            self.pending[worker.perform.remote(task.content)] = worker, task
        preparing = sum(task is self._preparation for _, task in self.pending.values())
        for _ in range(min(len(self._waiting) - preparing, self._size - len(self.pending))):
            worker = self._start_worker()
            self.pending[worker.prepare.remote(self._make)] = worker, self._preparation

    def complete(self, reference: ray.ObjectRef) -> bytes | None:
        """Return the outcome of a task, or None if it must be done again or a worker is prepared.

        Raises:
            ray.exceptions.RayError: The task was lost once more than it may be retried.
        """
        worker, task = self.pending.pop(reference)
        result: bytes | None = None
        try:
            result = ray.get(reference)
            # Also if its preparation failed: the job then ends with that outcome.
            self._idle.append(worker)
            self._preparation.losses = 0
        except ray.exceptions.RayError as error:
            # It may be alive but unreachable.
            ray.kill(worker)
            task.losses += 1
            if isinstance(error, ray.exceptions.RayTaskError) or task.losses > self._retries:
                raise
            if task is not self._preparation:
                self._waiting.appendleft(task)
        self._assign()
        return result

    def end(self) -> None:
        """Kill the workers; a worker that has not started yet does not start."""
        for worker in [*self._idle, *(worker for worker, _ in self.pending.values())]:
            ray.kill(worker)
