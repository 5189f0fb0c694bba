"""The process that talks to Ray, and what it sends to the workers; run by `ray_cluster`, never imported there.

Ray ends the process that talks to it when the head of the cluster is lost, writes on its outputs, and takes over
signals and logging. So a process of its own does the talking: it takes orders from a socket and hands results back,
all as bytes that it need not understand, and may be ended at any time.
"""

from __future__ import annotations

import pickle
import queue
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import ray
from ray import cloudpickle

from goldrank.engines.base import WorkerFailure
from goldrank.engines.ray_cluster import ONE_THREAD, ClusterSettings, Message

_STORE_BYTES = 200_000_000
_GLANCE = 0.05
_COUNTING = 2.0
_ASKING = 3
# A share of what only the head node has: whoever wants it runs there.
_ON_HEAD = {"node:__internal_head__": 0.001}
# The environment of the nodes of a cluster is not ours to set, that of our own workers is. It goes with the work, not
# with the whole job: for that, the head asks an agent before it serves a client, again and again while that starts.
_OURS = {"env_vars": ONE_THREAD}

_loaded: dict[str, Callable[[Any], Any]] = {}


def main() -> None:
    """Serve the process at the other end of the socket until the socket is closed."""
    connection = Connection(int(sys.argv[1]))
    settings: ClusterSettings = connection.recv()
    try:
        try:
            _join(settings, lambda: connection.send(("again", 0, None)))
            connection.send(("ready", 0, (_watched(settings), cpus())))
        except Exception as error:
            connection.send(("refused", 0, _in_a_line(error)))
            return
        Driver(connection, settings.retries).serve()
    except (EOFError, OSError):
        pass  # The other end is gone: nobody is left to tell.
    finally:
        ray.shutdown()
        if settings.folder:
            shutil.rmtree(settings.folder, ignore_errors=True)


def _join(settings: ClusterSettings, tell_again: Callable[[], None]) -> None:
    if settings.address.startswith("ray://"):
        _join_as_client(settings.address, tell_again)
        return
    ours: dict[str, Any] = {
        "num_cpus": settings.workers,
        "include_dashboard": False,
        "object_store_memory": _STORE_BYTES,
        "_temp_dir": settings.folder,
    }
    options = ours if settings.folder else {}
    ray.init(settings.address, log_to_driver=False, configure_logging=False, **options)


def _join_as_client(address: str, tell_again: Callable[[], None]) -> None:
    # The head forks a process for every client, and now and then that dies at once or is waited for in vain.
    for _ in range(_ASKING - 1):
        try:
            ray.init(address)
        except ConnectionAbortedError:
            tell_again()
        else:
            return
    ray.init(address)


def _watched(settings: ClusterSettings) -> str:
    """Return an address that is reachable while the head node is alive."""
    if settings.address.startswith("ray://"):
        return settings.address.removeprefix("ray://")
    return str(ray.get_runtime_context().gcs_address)


def cpus() -> int:
    """Return the current number of CPUs of the cluster."""
    return int(ray.cluster_resources().get("CPU", 0))


def _in_a_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    # A colon announces the traceback of the head, which says in its last line what happened.
    message = lines[-1] if lines[0].endswith(":") else lines[0]
    return f"{type(error).__name__}: {message}".removesuffix(": ").rstrip(".")[:300]


class Driver:
    """Take orders, have the cluster carry them out, and send back the results."""

    def __init__(self, connection: Connection, retries: int) -> None:
        self._connection, self._retries = connection, retries
        self._orders: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._jobs: dict[int, Callable[[Any], Any]] = {}
        self._pools: dict[int, Any] = {}
        self._pending: dict[Any, int] = {}
        self._perform = ray.remote(num_cpus=1, max_retries=retries, retry_exceptions=False, runtime_env=_OURS)(perform)
        self._cpus, self._counted = cpus(), time.monotonic()

    def serve(self) -> None:
        """Run until the other end closes the socket."""
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            for order in self._new_orders():
                if order is None:
                    return
                self._obey(*order)
            if self._pending:
                self._hand_over()
            self._count_cpus()

    def _listen(self) -> None:
        # A thread that does nothing else: were orders read only between results, both ends could wait to be read.
        try:
            while True:
                self._orders.put(self._connection.recv())
        except (EOFError, OSError):
            self._orders.put(None)

    def _new_orders(self) -> Iterator[Message | None]:
        try:
            yield self._orders.get(timeout=0.0001 if self._pending else _COUNTING)
            while True:
                yield self._orders.get_nowait()
        except queue.Empty:
            return

    def _obey(self, kind: str, job: int, content: Any) -> None:
        if kind == "work":
            work, key = [ray.put(content)], uuid.uuid4().hex
            self._jobs[job] = lambda task: self._perform.remote(key, work, task)
        elif kind == "pool":
            make, tasks, workers, accelerated = content
            gpus = int(ray.cluster_resources().get("GPU", 0)) if accelerated else 0
            pool = ray.remote(num_cpus=0, resources=_ON_HEAD)(Pool).remote(make, tasks, workers, gpus, self._retries)
            self._pools[job] = pool
            self._jobs[job] = lambda _: pool.next_outcome.remote()
        elif kind == "task":
            self._pending[self._jobs[job](content)] = job
        else:
            self._end(job)

    def _end(self, job: int) -> None:
        # What is still under way runs out, unseen: `ray.cancel` of a task that is just being sent to its worker aborts
        # this process. Whoever wants to be rid of it at once ends this process instead.
        self._jobs.pop(job, None)
        pool = self._pools.pop(job, None)
        if pool is not None:
            # Its workers end with it.
            ray.kill(pool)

    def _hand_over(self) -> None:
        ready, rest = ray.wait(list(self._pending), num_returns=1, timeout=_GLANCE)
        if ready and rest:
            ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for reference in ready:
            job = self._pending.pop(reference)
            if job not in self._jobs:
                continue
            try:
                self._connection.send(("result", job, ray.get(reference)))
            except ray.exceptions.RayError as error:
                self._connection.send(("lost", job, self._reason(error)))

    def _reason(self, error: ray.exceptions.RayError) -> str:
        kinds = ray.exceptions
        died = (kinds.WorkerCrashedError, kinds.NodeDiedError, kinds.ActorDiedError, kinds.ActorUnavailableError)
        cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
        if isinstance(error, died) or isinstance(cause, died):
            return f"the worker died, and so did those that tried it again, {self._retries} times"
        if isinstance(error, ray.exceptions.OutOfMemoryError):
            return "the memory of the node was too small for it"
        return _in_a_line(cause)

    def _count_cpus(self) -> None:
        if time.monotonic() - self._counted < _COUNTING:
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
        failure = WorkerFailure.of(error)
    try:
        content = bytes(cloudpickle.dumps((False, failure)))
        pickle.loads(content)[1].error("")
    except Exception:
        content = bytes(cloudpickle.dumps((False, failure.without_details())))
    return content


class PreparedWorker:
    """A worker of a pool: prepares something expensive, such as a model, once and then does one task at a time."""

    def __init__(self, make: bytes) -> None:
        self._failed: bytes | None = None
        self._work: Callable[[Any], Any] | None = None

        def prepare() -> None:
            self._work = pickle.loads(make)()

        prepared = outcome(prepare)
        if self._work is None:
            # An error raised here would look to Ray like a lost worker.
            self._failed = prepared

    def __call__(self, batch: Any) -> Any:
        """Return a table with the outcomes of the tasks of *batch*."""
        import pyarrow as pa

        outcomes = [self._perform(task) for task in batch["task"].to_pylist()]
        return pa.table({"outcome": pa.array(outcomes, pa.large_binary())})

    def _perform(self, task: bytes) -> bytes:
        work = self._work
        if work is None:
            assert self._failed is not None
            return self._failed
        return outcome(lambda: work(pickle.loads(task)))


class Pool:
    """Ray Data at work, on the head node: there it also serves drivers that are outside of the cluster."""

    def __init__(self, make: bytes, tasks: list[bytes], workers: int, gpus: int, retries: int) -> None:
        from ray.data import ActorPoolStrategy, DataContext, from_items

        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        # A part may take long, and a node that starts again after a loss too.
        context.execution_no_progress_timeout_s = -1
        context.max_consecutive_actor_init_deaths = retries
        size = max(1, min(gpus or workers, len(tasks)))
        dataset = from_items([{"task": task} for task in tasks], override_num_blocks=len(tasks)).map_batches(
            PreparedWorker,
            fn_constructor_args=(make,),
            batch_size=1,
            batch_format="pyarrow",
            compute=ActorPoolStrategy(min_size=1, max_size=size, initial_size=size),
            num_cpus=1,
            # Without one, Ray hides the GPUs of a node.
            num_gpus=1 if gpus else 0,
            runtime_env=_OURS,
            max_restarts=-1,
            max_task_retries=retries,
        )
        batches = dataset.iter_batches(batch_size=None, prefetch_batches=0, batch_format="pyarrow")
        self._outcomes: Iterator[bytes] = (each for batch in batches for each in batch["outcome"].to_pylist())

    def next_outcome(self) -> bytes:
        """Wait for the next outcome and return it."""
        return next(self._outcomes)
