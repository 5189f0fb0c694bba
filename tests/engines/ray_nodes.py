"""Real Ray clusters on loopback for tests: nodes of one machine, each started, killed and ended by its own session.

`ray stop` is not used, because it ends every Ray process of the machine.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from goldrank.engines.ray_cluster import accepts_connections
from vector_servers import free_port

# Not 127.0.0.1, which Ray replaces by the address of the machine in its network.
HOST = "127.0.0.2"
SMALL = ["--object-store-memory=80000000", "--block", "--disable-usage-stats", "--include-log-monitor=false"]
# A lost node is noticed within seconds instead of most of a minute.
WATCHFUL = {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "4"}
# With gRPC's fork handlers, one in three of the processes that a new head forks for a client dies at once.
NODE_ENVIRONMENT = {**WATCHFUL, "GRPC_ENABLE_FORK_SUPPORT": "0"}


def wait_until(condition: Callable[[], object], otherwise: Callable[[], object]) -> None:
    """Wait for an event; the test fails after a limit far beyond the time that any machine needs."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(otherwise())


def processes_of_session(session: int) -> list[int]:
    """Return the running processes of a session, in which workers of a node have their own process groups."""
    pids = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            state, _, _, its_session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state not in "ZX":
                pids.append(int(folder.name))
    return pids


def kill_session(session: int) -> None:
    """Kill all processes of a session, including those that it starts meanwhile."""

    def none_is_left() -> bool:
        processes = processes_of_session(session)
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not processes

    wait_until(none_is_left, lambda: f"processes {processes_of_session(session)} outlive SIGKILL")


class Node:
    """One node, which is the session of a `ray start --block`."""

    def __init__(self, home: Path, arguments: list[str]) -> None:
        self.home = Path(tempfile.mkdtemp(dir=home, prefix="n"))
        self.log = self.home / "log"
        program = Path(sys.executable).parent / "ray"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [program, "start", f"--node-ip-address={HOST}", f"--temp-dir={self.home}", *arguments, *SMALL],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                env=os.environ | NODE_ENVIRONMENT,
            )  # fmt: skip

    @property
    def started(self) -> bool:
        return "Ray runtime started" in self.log.read_text()

    def wait(self) -> None:
        wait_until(lambda: self.started or self.process.poll() is not None, self.log.read_text)
        assert self.process.poll() is None, self.log.read_text()[-2000:]

    def kill(self) -> None:
        kill_session(self.process.pid)
        self.process.wait(300)


class Nodes:
    """A head node and the workers that joined it."""

    def __init__(self, home: Path, head_cpus: int) -> None:
        self.home, self.port, self.client_port = home, free_port(), free_port()
        self.workers: list[Node] = []
        flags = [f"--num-cpus={head_cpus}", f"--port={self.port}", f"--ray-client-server-port={self.client_port}"]
        self.head = Node(home, ["--head", "--include-dashboard=false", *flags])

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def client_address(self) -> str:
        return f"ray://{HOST}:{self.client_port}"

    def wait_for_head(self) -> None:
        """Wait until the head serves clients, which is its last step."""
        self.head.wait()
        wait_until(
            lambda: accepts_connections(f"{HOST}:{self.client_port}"),
            lambda: f"nothing serves clients at {self.client_address}",
        )

    def add_worker(self, *options: str) -> None:
        self.workers.append(Node(self.home, [f"--address={self.address}", "--num-cpus=1", *options]))

    def kill_a_worker(self, choice) -> None:
        """Kill a worker that has started, and start another in its place."""
        wait_until(lambda: any(worker.started for worker in self.workers), lambda: "no worker has started")
        victim = choice([worker for worker in self.workers if worker.started])
        self.workers.remove(victim)
        victim.kill()
        self.add_worker()

    def kill(self) -> None:
        for node in [self.head, *self.workers]:
            node.kill()


@contextmanager
def ray_cluster(head_cpus: int, workers: int):
    """Start a cluster with its own token, which is in the environment while the cluster runs."""
    pytest.importorskip("ray", reason="the Ray engine needs the package ray")
    home = Path(tempfile.mkdtemp(prefix="gr-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32))
        nodes = Nodes(home, head_cpus)
        try:
            nodes.wait_for_head()
            for _ in range(workers):
                nodes.add_worker()
            for worker in nodes.workers:
                worker.wait()
            yield nodes
        finally:
            nodes.kill()
            shutil.rmtree(home, ignore_errors=True)
