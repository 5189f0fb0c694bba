"""The client side of a Ray cluster: start the driver process, exchange messages with it, and monitor the head node.

The process that talks to Ray (`ray_driver`) can be lost at any time, with the cluster or alone. This side therefore
waits for a message only as long as the driver process runs and the head node accepts connections.
"""

from __future__ import annotations

import os
import queue
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from goldrank.errors import GoldrankError, InputError

Message = tuple[str, int, Any]
"""The kind of message, the number of its job (0 for none), and its content."""

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Under `uv run` Ray would send the working folder to every node.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}
# With clusters of many machines off, Ray listens on the loopback interface only.
_LOCAL_ONLY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
_POLL_SECONDS, _HEAD_CHECKS = 1.0, 3
_HEAD_TIMEOUT = 5.0
_CONNECT_TIMEOUT = 3.0
_JOIN_TIMEOUT, _START_TIMEOUT, _END_TIMEOUT = 120.0, 120.0, 15.0
_LONGEST_FOLDER = 26
_OVER: Message = ("over", 0, None)


@dataclass(frozen=True)
class ClusterSettings:
    """The cluster that the driver process joins or starts."""

    address: str
    workers: int
    retries: int
    """How often a task is retried after its worker or node was lost."""
    folder: str
    """The folder of a cluster that goldrank starts; empty for an existing cluster."""


class Cluster:
    """A connection to a cluster through the driver process; it cannot be reopened once lost or closed."""

    def __init__(self, address: str, workers: int, retries: int) -> None:
        self.workers = workers
        self._head_address = "" if address in ("local", "auto") else address.removeprefix("ray://")
        if self._head_address and not accepts_connections(self._head_address):
            raise InputError(f"no Ray cluster answers at {self._head_address}", remedy=self._remedy())
        self._folder = tempfile.mkdtemp(prefix="goldrank-", dir=_short_folder()) if address == "local" else ""
        self._queues: dict[int, queue.SimpleQueue[Message]] = {}
        self._last_job = 0
        self._lock = threading.Lock()
        self._unreachable_since: float | None = None
        self.closed = self._over = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._socket, theirs = socket.socketpair()
        self._connection = Connection(os.dup(self._socket.fileno()))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *_SAFE_PATH, "-c", _MAIN, str(theirs.fileno())],
                env=self._environment(),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                # Ctrl-C is for this process; the other one ends when its socket is closed.
                start_new_session=True,
            )
        try:
            self._connection.send(ClusterSettings(address, workers, retries, self._folder))
            self._wait_until_ready()
        except BaseException:
            self.close(at_once=True)
            raise

    def _environment(self) -> dict[str, str]:
        environment = {**os.environ, **_QUIET}
        if self._folder:
            environment |= {**ONE_THREAD, **_LOCAL_ONLY, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        return environment

    def _wait_until_ready(self) -> None:
        messages = self._queues[0] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        message: Message = ("again", 0, None)
        try:
            while message[0] == "again":
                message = messages.get(timeout=_START_TIMEOUT if self._folder else _JOIN_TIMEOUT)
        except queue.Empty:
            message = ("refused", 0, "it does not answer as Ray does")
        finally:
            del self._queues[0]
        kind, _, content = message
        if kind == "over":
            kind, content = "refused", self._last_log_line()
        if kind == "refused" and self._folder:
            raise GoldrankError(f"a Ray cluster on this machine could not be started ({content})")
        if kind == "refused":
            where = f"at {self._head_address}" if self._head_address else "of this machine"
            raise InputError(f"the Ray cluster {where} could not be joined ({content})", remedy=self._remedy())
        self._head_address, self.workers = content
        if not self.workers:
            raise InputError(
                f"the Ray cluster at {self._head_address} has no CPU to work with",
                remedy="join a node to it with: ray start --address=HOST:PORT",
            )

    def _remedy(self) -> str:
        return "start one with `ray start --head`, or write ray for one that lasts as long as this command"

    def open_job(self) -> int:
        """Return the number of a new job."""
        with self._lock:
            self._last_job += 1
            self._queues[self._last_job] = queue.SimpleQueue()
            if self._over:
                self._queues[self._last_job].put(_OVER)
            return self._last_job

    def end_job(self, job: int) -> None:
        """End *job* and drop its messages."""
        del self._queues[job]
        with suppress(GoldrankError):
            self.send("end", job, None)

    @property
    def idle(self) -> bool:
        """Whether no job is open."""
        return not self._queues

    def send(self, kind: str, job: int, content: Any) -> None:
        """Send a message to the driver process."""
        try:
            with self._lock:
                self._connection.send((kind, job, content))
        except OSError:
            self._raise_lost()

    def receive(self, job: int) -> tuple[str, Any]:
        """Return the next message of *job*; wait as long as the head node is reachable."""
        messages = self._queues[job]
        while True:
            try:
                kind, _, content = messages.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                self._check_head()
                continue
            if kind == "over" or (kind == "lost" and self._is_head_lost()):
                self._raise_lost()
            self._unreachable_since = None
            return kind, content

    def _listen(self) -> None:
        # A separate thread: a read interrupted by Ctrl-C would corrupt all following messages.
        with suppress(EOFError, OSError):
            while True:
                message: Message = self._connection.recv()
                if message[0] == "cpus":
                    self.workers = max(1, message[2])
                elif messages := self._queues.get(message[1]):
                    messages.put(message)
        self._connection.close()
        with self._lock:
            self._over = True
            for messages in list(self._queues.values()):
                messages.put(_OVER)

    def _is_head_lost(self) -> bool:
        """Return True if the head node is lost too: the loss of its tasks may be reported first."""
        for _ in range(_HEAD_CHECKS):
            if not accepts_connections(self._head_address):
                return True
            time.sleep(_POLL_SECONDS)
        return False

    def _check_head(self) -> None:
        if accepts_connections(self._head_address):
            self._unreachable_since = None
            return
        now = time.monotonic()
        self._unreachable_since = self._unreachable_since or now
        if now - self._unreachable_since >= _HEAD_TIMEOUT:
            self._raise_lost()

    def _raise_lost(self) -> NoReturn:
        if self.closed:
            raise GoldrankError("the Ray cluster was left while it was in use")
        self.close(at_once=True)
        if not accepts_connections(self._head_address):
            raise GoldrankError(
                f"the head node of the Ray cluster at {self._head_address} is gone; "
                "start it again and run the same command: what is done is kept"
            )
        raise GoldrankError(
            f"the process that talks to the Ray cluster at {self._head_address} ended "
            f"(exit code {self._process.returncode}); run the same command again: what is done is kept"
        )

    def _last_log_line(self) -> str:
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1][:200] if lines else f"exit code {self._process.poll()}"

    def close(self, *, at_once: bool = False) -> None:
        """End the driver process and any cluster that it started."""
        if self.closed:
            return
        self.closed = True
        # While the listener reads, closing alone would not be noticed at the other end.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        try:
            self._process.wait(0 if at_once else _END_TIMEOUT)
        except subprocess.TimeoutExpired:
            # All processes of a cluster that it started are in its group.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


_MAIN = "from goldrank.engines.ray_driver import main; main()"
# Keeps modules in the working directory from shadowing installed packages.
_SAFE_PATH = ["-P"] if sys.version_info >= (3, 11) else []


def _short_folder() -> str:
    """Return the folder of temporary files, or /tmp if its path is too long for the sockets that Ray creates in it."""
    usual = tempfile.gettempdir()
    return usual if len(usual) <= _LONGEST_FOLDER or not Path("/tmp").is_dir() else "/tmp"


def accepts_connections(address: str) -> bool:
    """Return True if *address*, HOST:PORT, accepts connections."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT):
            return True
    except OSError:
        return False
