"""Stores for tests: a folder, and a database of a real PostgreSQL server if one is installed."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pwd

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgresql_server():
    """The URL of a server on loopback that runs as long as the tests; tests are skipped if it cannot be started."""
    psycopg = pytest.importorskip("psycopg", reason="PostgreSQL stores need the package psycopg")
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (initdb and postgres are not in PATH or /usr/lib/postgresql)")
    owner = server_user()
    # Not below the folder of pytest, which the unprivileged user may not enter, and short: sockets have a limit.
    home = Path(tempfile.mkdtemp(prefix="goldrank-pg-"))
    home.chmod(0o755)
    data = home / "data"
    data.mkdir(mode=0o700)
    if owner:
        os.chown(data, owner.pw_uid, owner.pw_gid)
    flags = ["-D", data, "-U", "goldrank", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    process = subprocess.run(
        [*run_as(owner), programs / "initdb", *flags], capture_output=True, text=True, check=False, cwd="/"
    )
    if process.returncode:
        shutil.rmtree(home)
        pytest.skip(f"initdb failed: {process.stderr.strip()[-200:]}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (home / "log").open("wb") as log:
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"]
        server = subprocess.Popen(
            [*run_as(owner), programs / "postgres", "-D", data, "-p", str(port), *settings],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
    url = f"postgresql://goldrank@127.0.0.1:{port}"
    try:
        for _ in range(3000):
            try:
                psycopg.connect(f"{url}/postgres").close()
                break
            except psycopg.OperationalError:
                assert server.poll() is None, (home / "log").read_text()
                time.sleep(0.1)
        yield url
    finally:
        server.send_signal(2)  # the fast way to shut down
        server.wait(300)
        shutil.rmtree(home, ignore_errors=True)


def _programs() -> Path | None:
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if config := shutil.which("pg_config"):
        output = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False).stdout.strip()
        folders.append(Path(output))
    return next((f for f in folders if (f / "initdb").is_file() and (f / "postgres").is_file()), None)


def server_user() -> pwd.struct_passwd | None:
    """Return the user to run PostgreSQL as, which refuses to run as root; None if this process does not run as root."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("a PostgreSQL server does not run as root, and there is no other user here")


def run_as(user: pwd.struct_passwd | None) -> list[str]:
    """Return the prefix of a command that runs it as *user*.

    The `user` of subprocess would copy the page tables of this process, which can be large when this is called.
    """
    if user is None:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("setpriv of util-linux, which starts a server as another user than root, is not installed")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path) -> str:
    """The location of a store that does not exist yet, once for each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "store")
    import psycopg

    server, name = request.getfixturevalue("postgresql_server"), f"test{next(_NUMBERS)}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}?tables={tmp_path / 'tables'}"
